#!/usr/bin/env python3
"""What hostile executors, users and definitions of jobs can try at a real rondod: addresses, rights, secrets, schedules, searches, imports,
certificates, crashes, the log of changes, and guessed tokens. attacks_test.py has what comes over HTTP. Usage: attacks_on_jobs_test.py RONDO
RONDOD [CASE ...]."""
import concurrent.futures
import contextlib
import json
import os
import re
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from executor_kit import PATIENCE, TOKEN, Scheduler, poll, run_cases  # noqa: E402
from imitated_executors import Executor  # noqa: E402

OTHER_TOKEN = "another-token-of-32-characters-x"
WRONG = {"code": 500, "msg": "The access token is wrong.", "content": None, "data": None}
GOOD = {"code": 200, "msg": None, "content": None, "data": None}
NOBODY = 65534


def reconfigure(scheduler, before, line):
    """Restarts rondod with a line more before a line of its configuration."""
    scheduler.stop()
    with open(scheduler.daemon.config, encoding="utf-8") as file:
        text = file.read()
    assert before in text, text
    with open(scheduler.daemon.config, "w", encoding="utf-8") as file:
        file.write(text.replace(before, line + "\n" + before, 1))
    scheduler.start()


@contextlib.contextmanager
def listening(host, answer=None):
    """A server that counts its connections, and calls answer(connection) for each."""
    with socket.create_server((host, 0)) as server:
        seen = []

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return  # It was closed.
                with connection:
                    seen.append(connection)
                    if answer is not None:
                        with contextlib.suppress(OSError):
                            answer(connection)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield server.getsockname()[1], seen
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextlib.contextmanager
def held(scheduler, job="works", group="plain"):
    """An executor of the group with a run that goes on."""
    with Executor(scheduler, group) as executor:
        executor.register()
        number = scheduler.trigger(job)
        order = executor.next_order()
        scheduler.wait_until_running(job, number)
        yield executor, number, order
        scheduler.register(group, executor.address, path="/api/registryRemove")


def finish(scheduler, executor, number, order, job="works"):
    assert executor.end(order, 200, "well") == 200
    scheduler.wait_for_end(job, number, "succeeded")


def refused(scheduler, *words, **options):
    """rondo refuses; returns what it prints."""
    said = scheduler.daemon.run(*words, **options)
    assert said.returncode != 0 and said.stderr and "\x1b" not in said.stderr, (words, said)
    return said.stderr


# --- G4: addresses that people give

def addresses_of_the_configuration(scheduler):
    """An address of the configuration is held to the networks, as is one that registers: no connection is made, and the run waits or fails."""
    with listening("127.0.0.2") as (port, seen), listening("127.0.0.1") as (allowed, seen_allowed):
        groups = {"far": f'addresses = ["http://127.0.0.2:{port}"]', "near": f'addresses = ["http://127.0.0.1:{allowed}"]'}
        with Scheduler(scheduler.daemon.rondo, scheduler.daemon.rondod, groups) as other:
            poll("both are probed while both are allowed", lambda: seen and seen_allowed)
            reconfigure(other, "[[executors.group]]", '[executors]\nnetworks = ["127.0.0.1/32"]')
            seen.clear()
            seen_allowed.clear()
            other.add_job("far", "executor/far/works")
            number = other.trigger("far")
            poll("the reason", lambda: "in no allowed network" in json.dumps(other.executors("far")))
            poll("the near one is probed", lambda: seen_allowed)
            run = other.run_of("far", number)
            assert not seen and run["state"] in ("due", "running"), (seen, run)
            assert "in no allowed network" in json.dumps(other.ask("why", "JOB_RUN_8", f"far#{number}")), run
    # A user can only name an address that the group has.
    assert "has no executor" in refused(scheduler, "executor-drain", "plain", "http://169.254.169.254/")
    for address in ("file:///etc/passwd", "http://a@127.0.0.1:1/", "http://127.0.0.1:1/\r\nX: y", ""):
        refused(scheduler, "executor-drain", "plain", address)


# --- G7: who may do what

READING = {"executors", "job", "job-export", "job-failures", "job-forecast", "job-load", "job-log", "job-next", "job-preview",
           "job-runs", "job-schedulers", "job-stats", "jobs", "workers"}


def users_who_may_read(scheduler):
    """A user of the read group sees the jobs, and changes nothing, by any command."""
    rows = scheduler.ask("call", "commands")["rows"]
    of_jobs = {row["name"]: row["writes"] for row in rows if row["name"].startswith(("job", "executor", "worker"))}
    reads = {name for name, writes in of_jobs.items() if not writes}
    assert reads <= READING, f"decide who may use these: {sorted(reads - READING)}"
    assert {"executor-drain", "worker-orders", "worker-report"} <= of_jobs.keys() - reads, of_jobs
    if os.geteuid() != 0:
        print("  skipped in part: only root can be another user")
        return
    with Scheduler(scheduler.daemon.rondo, scheduler.daemon.rondod, {"plain": ""}) as other:
        reconfigure(other, "[dataplane]", f'read_group = "{NOBODY}"')
        other.add_job("works", "executor/plain/works")
        os.chmod(other.daemon.folder, 0o755)
        before = other.ask("job", "export")

        with connection_of(NOBODY, other.daemon.socket) as connection:
            seen = call(connection, "job", name="works")
            assert seen["ok"], seen
            for row in rows:
                given = {argument["name"]: VALUES.get(argument["kind"], "works") for argument in row["arguments"] if argument["required"]}
                answer = call(connection, row["name"], **given) if row["writes"] else {"ok": False, "error": {"code": "permission-denied"}}
                assert not answer["ok"] and answer["error"]["code"] == "permission-denied", (row, answer)
        assert other.ask("job", "export") == before and other.ask("job", "runs", "works")["rows"] == []


VALUES = {"integer": 1, "flag": True, "rows": [], "fields": []}


@contextlib.contextmanager
def connection_of(user, path):
    """A connection that another user has made."""
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(user)
    os.seteuid(user)
    try:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE)
        connection.connect(path)
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)
    with connection:
        yield connection


def call(connection, command, **arguments):
    """One call of the admin protocol, which the command line would check before. Returns its end."""
    body = json.dumps({"id": 1, "command": command, **arguments}).encode()
    connection.sendall(struct.pack("<I", len(body) + 1) + b"J" + body)
    while True:
        length, kind = struct.unpack("<Ic", connection.recv(5, socket.MSG_WAITALL))
        answer = json.loads(connection.recv(length - 1, socket.MSG_WAITALL))
        if kind == b"J":
            return answer


def job_of_another_group(scheduler):
    """A job is moved to another group while an executor has its run. The new group cannot end that run, before and after a restart, and the old
    executor learns no token of the new group."""
    scheduler.add_job("moves", "executor/plain/works")
    with held(scheduler, "moves") as (executor, number, order):
        scheduler.ask("job", "edit", "moves", "--handler", "executor/other/works")
        foreign = [executor.item(order["logId"], 200, "foreign")]
        assert scheduler.post("/api/callback", foreign, OTHER_TOKEN) == (200, GOOD)
        assert scheduler.run_of("moves", number)["state"] == "running"
        scheduler.daemon.run("job", "log", str(number))
        assert set(executor.tokens) <= {TOKEN, None}, executor.tokens
        finish(scheduler, executor, number, order, "moves")
        scheduler.ask("job", "edit", "moves", "--handler", "executor/plain/works")
        executor.register()
        number = scheduler.trigger("moves")
        order = executor.next_order(2)
        scheduler.wait_until_running("moves", number)
        scheduler.ask("job", "edit", "moves", "--handler", "executor/other/works")
        scheduler.stop()
        scheduler.start()
        scheduler.ask("job", "kill", str(number))
        poll("it is told to stop", lambda: order["jobId"] in executor.kills or scheduler.run_of("moves", number)["ended"])
        scheduler.wait_for_end("moves", number, "killed")
        assert OTHER_TOKEN not in executor.tokens, executor.tokens
    scheduler.ask("job", "remove", "moves", "--yes")


# --- G10: secrets

def secrets(scheduler):
    """No token, right or wrong, is in the log, in a file that rondod writes, or in an answer."""
    guess = "a-secret-of-another-program-0123"
    assert scheduler.register("plain", "http://127.0.0.1:1/", guess)[1] == WRONG
    assert scheduler.post("/api/callback", [], guess)[1] == WRONG
    assert scheduler.post(f"/api/registry?accessToken={guess}", {}, guess)[1]["code"] == 500
    with held(scheduler) as (executor, number, order):
        answers = [scheduler.daemon.run(*words).stdout for words in (
            ("executors",), ("health",), ("stats",), ("config",), ("--json", "config"), ("log",), ("--json", "log"), ("job", "show", "works"),
            ("--json", "job", "runs", "works"), ("why", "JOB_RUN_8", f"works#{number}"), ("job", "export"))]
        finish(scheduler, executor, number, order)
    assert any("token_file" in answer for answer in answers), "the configuration is there"
    for path in os.listdir(scheduler.daemon.folder):
        if os.path.isfile(os.path.join(scheduler.daemon.folder, path)):
            with open(os.path.join(scheduler.daemon.folder, path), "rb") as file:
                answers.append(file.read().decode("latin-1"))
    for token in (TOKEN, OTHER_TOKEN, guess):
        assert not [answer for answer in answers if token in answer], token


# --- G11: schedules

NEVER = ("0 0 0 30 2 ?", "0 0 0 31 2,4,6,9,11 ?", "0 0 0 29 2 ? 2099", "0 0 0 1 1 ? 1970-2000")
WRONG_CRON = ("0 0 0 L-32 * ?", "0 0 0 L-30-30 * ?", "0 0 0 32 * ?", "0/0 * * * * ?", "* * * * * * * *", "0 0 0 ? * 6#6", "@every 1ns", "",
              ",".join(["0"] * 30_000) + " * * * * ?", "0 0 0 1-31/0 * ?", "0 0 0 99999999999999999999 * ?", "\x00", "0 0 0 1W,2W-L * ?")


def schedules(scheduler):
    """Expressions without an instant, too long ones, and intervals below the limit are refused; the rest is previewed in bounded pieces."""
    for expression in NEVER:
        said = refused(scheduler, "job", "add", "bomb", "--handler", "log", "--cron", expression, "--dialect", "quartz")
        assert "would never run" in said or "never fires" in said, (expression, said)
    for expression in WRONG_CRON:
        if "\x00" not in expression:
            refused(scheduler, "job", "add", "bomb", "--handler", "log", "--cron", expression, "--dialect", "quartz")
    for every in ("0ms", "1ms", "9ms", "-1s", "1e9d", "99999999999999999999s", "9223372036854775807d", "NaN"):
        refused(scheduler, "job", "add", "bomb", "--handler", "log", "--every", every)
    for at in ("2026-02-30T00:00:00Z", "99999-01-01T00:00:00Z", "2026-01-01T25:00:00Z", "now"):
        refused(scheduler, "job", "add", "bomb", "--handler", "log", "--at", at)
    refused(scheduler, "job", "show", "bomb")
    # Sparse but possible: the last days of a month, and the next leap day that is a certain day of the week.
    for expression in ("0 0 0 L-30 * ?", "0 0 0 29 2 ? 2096", "59 59 23 31 12 ? 2099"):
        scheduler.ask("job", "add", "sparse", "--handler", "log", "--cron", expression, "--dialect", "quartz", "--stopped")
        rows = scheduler.ask("job", "next", "sparse", "--count", "100")["rows"]
        assert 1 <= len(rows) <= 100, (expression, rows)
        scheduler.ask("job", "remove", "sparse", "--yes")


def backfills(scheduler):
    """Ten years of seconds are refused, also as a preview, and add no run."""
    scheduler.ask("job", "add", "seconds", "--handler", "none", "--every", "1s", "--from", "2010-01-01T00:00:00Z", "--stopped")
    years = ("job", "backfill", "seconds", "--from", "2010-01-01T00:00:00Z", "--to", "2020-01-01T00:00:00Z")
    assert "more than 10000 instants" in refused(scheduler, *years, "--yes")
    hour = (*years[:-1], "2010-01-01T01:00:00Z")
    assert "more than the limit of 100" in refused(scheduler, *hour, "--yes")
    for limit in ("1001", "1000000000", "-1", "99999999999999999999"):
        refused(scheduler, *hour, "--yes", "--limit", limit)
    assert "more than the limit of 1000" in refused(scheduler, *hour, "--yes", "--limit", "1000")
    refused(scheduler, *years, "--dry-run")
    assert scheduler.ask("job", "runs", "seconds")["rows"] == []
    said = scheduler.daemon.run("--json", "job", "next", "seconds", "--count", "1000000000000")
    assert said.returncode != 0 or len(json.loads(said.stdout)["rows"]) <= 10_000, said.stdout[:200]
    scheduler.ask("job", "remove", "seconds", "--yes")


def many_jobs_each_second(scheduler):
    """500 jobs that are due each second: runs at executors go on beside them, and commands are answered."""
    jobs = [{"name": f"bomb/{i}", "handler": "none", "schedule": "every 1s"} for i in range(500)]
    said = scheduler.daemon.run("job", "import", "-", input=json.dumps(jobs))
    assert said.returncode == 0, said.stderr[:500]
    fired = scheduler.ask("stats")["jobs"]["fired"]
    poll("they run", lambda: scheduler.ask("stats")["jobs"]["fired"] > fired + 500)
    with held(scheduler) as (executor, number, order):
        finish(scheduler, executor, number, order)
    said = scheduler.daemon.run("job", "import", "-", input=json.dumps([{**job, "running": False} for job in jobs]))
    assert said.returncode == 0, said.stderr[:500]


# --- G14: searches

SEARCHES = ("' OR '1'='1", "%", "_", "works'; DROP TABLE jobs; --", '" OR ""="', "wor\\ks", "[!x]*'", "*" * 500, "works\x1b", "\u202eworks", "NULL")


def searches(scheduler):
    """SQL, patterns of LIKE, and long patterns in each text that a command looks for: nothing is found by them, and the tables stay."""
    before = scheduler.ask("job", "export")
    for text in SEARCHES:
        for words in (("job", "list", "--tag", text), ("job", "list", "--owner", text), ("job", "runs", text), ("job", "show", text),
                      ("job", "next", text), ("job", "trigger", text), ("job", "remove", text, "--yes"), ("job", "list", text)):
            said = scheduler.daemon.run("--json", *words)
            found = said.returncode == 0 and json.loads(said.stdout).get("rows", [said.stdout])
            assert not found or (words[1] == "list" and set(text) == {"*"}), (words, said)
    for name in ("a' b", "../../etc/passwd", "a\nb", "a\x1bb", "", "x" * 5000, "a*b", "/a", "a//b"):
        refused(scheduler, "job", "add", name, "--handler", "log", "--manual")
    for before_run in ("-1", "0", "1 OR 1=1", "9223372036854775808", "x"):
        said = scheduler.daemon.run("--json", "job", "runs", "works", "--before", before_run)
        assert said.returncode != 0 or json.loads(said.stdout)["rows"] == [], said
    for count in ("-1", "0", "1000000000000", "1 UNION SELECT 1"):
        said = scheduler.daemon.run("--json", "job", "runs", "works", "--count", count)
        assert said.returncode != 0, (count, said)
    assert scheduler.ask("job", "export") == before
    with contextlib.closing(sqlite3.connect(os.path.join(scheduler.daemon.folder, "jobs.db"), timeout=PATIENCE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert database.execute("SELECT count(*) FROM jobs").fetchone()[0] == len(before)


# --- G15: imports

def imports(scheduler):
    """Definitions with fields of other programs, with a name twice, or of a size without sense: none of the file is stored."""
    good = {"name": "imported", "handler": "log"}
    wrong = ([good, good], [good, {**good, "name": "x", "glueType": "GLUE_SHELL", "glueSource": "id"}], [good, {**good, "name": "x", "glue_type": "BEAN"}],
             [good, {**good, "name": "x", "id": 1}], [good, {**good, "name": "x", "running": "yes"}], [good, {**good, "name": "x", "handler": ""}],
             [good, {**good, "name": "x", "schedule": "cron * * * * * *; rm"}], [good, 1], [good, None], {"jobs": [good]}, "x", None,
             [good, {**good, "name": "x", "parents": ["x"]}], [good, {**good, "name": "x", "parents": ["y"]}, {**good, "name": "y", "parents": ["x"]}],
             [good, {**good, "name": "x", "retries": -1}], [good, {**good, "name": "x", "retries": 10**30}])
    for jobs in wrong:
        refused(scheduler, "job", "import", "-", input=json.dumps(jobs))
        refused(scheduler, "job", "show", "imported")
    for text in ("", "[", "[" * 100_000, '[{"name":"imported","handler":"log","handler":"command/shell"}]', "\x00", "[NaN]"):
        refused(scheduler, "job", "import", "-", input=text)
    # A group that nobody has: the job is stored with a warning, its run waits, and nothing is sent anywhere.
    said = scheduler.daemon.run("job", "import", "-", input=json.dumps([{**good, "handler": "executor/nobody/works"}]))
    assert said.returncode == 0 and "executor/nobody/works" in said.stderr, said
    number = scheduler.trigger("imported")
    assert not scheduler.run_of("imported", number)["ended"]
    scheduler.ask("job", "kill", str(number))
    # What an executor gets is never a script, whatever the definition has.
    body = "GLUE_SHELL\n#!/bin/sh\nid"
    said = scheduler.daemon.run("job", "import", "-", input=json.dumps([{**good, "handler": "executor/plain/../../GLUE_SHELL", "parameters": body}]))
    assert said.returncode == 0, said
    with held(scheduler, "imported") as (executor, number, order):
        assert (order["glueType"], order["glueSource"]) == ("BEAN", ""), order
        assert (order["executorHandler"], order["executorParams"]) == ("../../GLUE_SHELL", body), order
        finish(scheduler, executor, number, order, "imported")
    scheduler.ask("job", "remove", "imported", "--yes")


# --- G17: certificates

def certificates(scheduler):
    """An executor with https and a certificate of its own making gets neither a run nor a token: its certificate is checked."""
    folder = scheduler.folder
    key, certificate = os.path.join(folder, "key"), os.path.join(folder, "certificate")
    made = subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2", "-subj",
                           "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"], capture_output=True, check=False, timeout=PATIENCE)
    assert made.returncode == 0, made
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    received = []

    def answer(connection):
        connection.settimeout(PATIENCE)
        with context.wrap_socket(connection, server_side=True) as secure:
            received.append(secure.recv(65536))

    with listening("127.0.0.1", answer) as (port, seen):
        assert scheduler.register("secure", f"https://127.0.0.1:{port}/")[1] == GOOD
        number = scheduler.trigger("secure")
        poll("it was tried", lambda: seen and "certificate" in json.dumps(scheduler.executors("secure")))
        assert not any(received), received
        assert not scheduler.run_of("secure", number)["ended"], "it waits for an executor that can be trusted"
        # Plain HTTP at the same port does not get a TLS executor's run either.
        scheduler.ask("job", "kill", str(number))
        scheduler.wait_for_end("secure", number, "killed")
        scheduler.register("secure", f"https://127.0.0.1:{port}/", path="/api/registryRemove")


# --- G18: crashes, and a second scheduler

class Held(Executor):
    """It answers an order when it may."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.may_answer = threading.Event()

    def take(self, order):
        taken = super().take(order)
        self.lock.release()  # Others may call it meanwhile.
        self.may_answer.wait(PATIENCE)
        self.lock.acquire()
        return taken


def crash_before_the_answer(scheduler):
    """rondod is killed after it sent an order, and before it has the answer: the run is linked, is sent once, and ends with its result."""
    with Held(scheduler, "plain") as executor:
        executor.register()
        number = scheduler.trigger("works")
        order = executor.next_order()
        scheduler.kill()
        executor.may_answer.set()
        scheduler.start()
        assert executor.end(order, 200, "once") == 200
        run = scheduler.wait_for_end("works", number, "succeeded")
        assert "once" in run["note"] and len(executor.orders) == 1, (run, executor.orders)
        scheduler.register("plain", executor.address, path="/api/registryRemove")


def crashes_at_any_time(scheduler):
    """rondod is killed again and again while orders and results are under way: each run that succeeds was sent once for each of its attempts,
    and no run is lost."""
    scheduler.add_job("often", "executor/plain/works", "--overlap", "concurrent", "--concurrency", "64")
    with Executor(scheduler, "plain") as executor, concurrent.futures.ThreadPoolExecutor(2) as pool:
        executor.register()
        numbers = []

        def report(orders):
            """Reports the ends of runs as often as it takes. Until one has arrived, the executor counts as busy."""
            for order in orders:
                with contextlib.suppress(OSError):
                    if executor.call_back((order["logId"], 200, "well")) == 200:
                        with executor.lock, contextlib.suppress(ValueError):
                            executor.working[order["jobId"]].remove(order)
        for _ in range(5):
            executor.register()
            numbers += [scheduler.trigger("often") for _ in range(6)]
            reporting = pool.submit(report, list(executor.orders)[::2])
            scheduler.kill()
            reporting.result()
            scheduler.start()
        executor.register()

        def all_have_ended():
            report([order for orders in list(executor.working.values()) for order in list(orders)])
            return all(run["ended"] for run in scheduler.ask("job", "runs", "often", "--count", "200")["rows"])
        poll("all runs have ended", all_have_ended)
        runs = {run["run"]: run for run in scheduler.ask("job", "runs", "often", "--count", "200")["rows"]}
        assert sorted(runs) == sorted(numbers), (sorted(runs), numbers)
        log_ids = [order["logId"] for order in executor.orders]
        assert len(log_ids) == len(set(log_ids)), "an order was sent twice"
        lost = [run for run in runs.values() if run["state"] != "succeeded"]
        sent = {log_id // 100_000 for log_id in log_ids}
        assert all("says that it does nothing" in run["note"] and run["run"] not in sent for run in lost), lost
        scheduler.register("plain", executor.address, path="/api/registryRemove")


def second_scheduler(scheduler):
    """A second rondod with the same database does not run, and disturbs nothing."""
    said = subprocess.run([scheduler.daemon.rondod, "--config", scheduler.daemon.config, "--socket", scheduler.daemon.socket + "2"],
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert said.returncode != 0 and "another process runs the jobs" in said.stderr, said
    with held(scheduler) as (executor, number, order):
        finish(scheduler, executor, number, order)


# --- G20: the log of changes

def changes_are_logged(scheduler):
    """Each change by a command is in the log with its user, and no text of a user or an executor can imitate such a line."""
    path = os.path.join(scheduler.daemon.folder, "log")
    with open(path, encoding="utf-8") as log:
        begin = len(log.read())
    forged = "x\n2026-01-01T00:00:00.000Z info write command=forged user=root uid=0\r\n\x1b[2J\u2028\u0085y"
    with held(scheduler) as (executor, number, order):
        changes = ((("job", "add", "audited", "--handler", "log", "--manual", "--parameters", forged, "--note", forged), "job-put"),
                   (("job", "edit", "audited", "--retries", "1"), "job-put"), (("job", "stop", "audited", "--note", forged), "job-stop"),
                   (("job", "start", "audited"), "job-start"), (("job", "trigger", "audited"), "job-trigger"),
                   (("executor-drain", "plain", executor.address), "executor-drain"),
                   (("executor-drain", "plain", executor.address, "--resume"), "executor-drain"), (("job", "remove", "audited", "--yes"), "job-remove"))
        for words, command in changes:
            if command == "job-remove":
                poll("its run has ended", lambda: all(run["ended"] for run in scheduler.ask("job", "runs", "audited")["rows"]))
            before = len(scheduler.writes_in_log(command))
            scheduler.ask(*words)
            poll(f"the line of {command}", lambda: len(scheduler.writes_in_log(command)) == before + 1)  # noqa: B023
        assert scheduler.register(forged, "http://127.0.0.1:1/")[1]["code"] == 500
        assert scheduler.register("plain", "http://127.0.0.1:1/" + forged)[1]["code"] == 500
        assert executor.end(order, 500, forged) == 200
        scheduler.wait_for_end("works", number, "failed")
    with open(path, encoding="utf-8", newline="") as log:
        lines = log.read()[begin:]
    assert "command=forged" in lines, "the job logs its parameters"
    for line in lines.split("\n"):
        assert not line.startswith("2026-01-01") and not any(c in line for c in "\r\x1b\u2028\u0085"), line
        if " info write command=executor-drain " in line:
            assert re.search(r' before="drained=(true|false)" after="drained=(true|false)" user=', line), line
        assert line.split(" ")[1:3] != ["info", "write"] or "command=forged" not in line.split(" what=")[0], line


# --- guessed tokens

def guessed_tokens(scheduler):
    """3,000 guesses from four programs: all are refused, and counted; the log and the health name the caller without filling the disk, and the
    executor of the group works on."""
    path = os.path.join(scheduler.daemon.folder, "log")
    before = scheduler.figures()["refused_calls"], os.path.getsize(path)
    guesses = [TOKEN[:i] for i in range(len(TOKEN))] + [TOKEN[:i] + "?" + TOKEN[i + 1:] for i in range(len(TOKEN))]
    guesses += [f"guess-{i:020}" for i in range(750 - len(guesses))]
    with held(scheduler) as (executor, number, order):
        forged = [executor.item(order["logId"], 200, "forged")]

        def guess(_):
            return [scheduler.post("/api/callback", forged, token) for token in guesses]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            answers = [answer for part in pool.map(guess, range(4)) for answer in part]
        assert answers == [(200, WRONG)] * 3000
        assert scheduler.run_of("works", number)["state"] == "running"
        executor.register()
        health = scheduler.daemon.run("health").stdout
        assert "127.0.0.1" in health and "The access token is wrong" in health, health
        finish(scheduler, executor, number, order)
    assert scheduler.figures()["refused_calls"] > before[0], scheduler.figures()
    assert os.path.getsize(path) - before[1] < 100_000, "refusals fill the log"


def weak_tokens(scheduler):
    """Tokens that can be guessed, and none at all: rondod does not start."""
    with open(scheduler.daemon.config, encoding="utf-8") as file:
        config = file.read()
    for number, token in enumerate(("", "\n" + TOKEN, "default_token", "x" * 15, "x" * 20 + "\x07")):
        paths = [os.path.join(scheduler.folder, f"{name}-{number}") for name in ("weak", "toml")]
        with open(paths[0], "w", encoding="utf-8") as file:
            file.write(token)
        with open(paths[1], "w", encoding="utf-8") as file:
            file.write(config.replace(scheduler.daemon.folder, scheduler.folder) + f'[[executors.group]]\nname = "weak"\ntoken_file = "{paths[0]}"\n')
        words = [scheduler.daemon.rondod, "--config", paths[1], "--socket", scheduler.daemon.socket + "2"]
        said = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert said.returncode != 0 and "token" in said.stderr and (len(token) < 10 or token not in said.stderr), (token, said)


CASES = (addresses_of_the_configuration, users_who_may_read, job_of_another_group, secrets, schedules, backfills, many_jobs_each_second, searches,
         imports, certificates, crash_before_the_answer, crashes_at_any_time, second_scheduler, changes_are_logged, guessed_tokens, weak_tokens)


def main(rondo, rondod, *only):
    groups = {name: "" for name in ("plain", "other", "secure")}
    with Scheduler(rondo, rondod, groups, tokens={"other": OTHER_TOKEN}) as scheduler:
        scheduler.add_job("works", "executor/plain/works")
        scheduler.add_job("secure", "executor/secure/works")
        run_cases(CASES, scheduler, only=only)
        assert scheduler.daemon.process.poll() is None


if __name__ == "__main__":
    main(*sys.argv[1:])
