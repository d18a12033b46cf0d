#!/usr/bin/env python3
"""Two rondods with their jobs on one real database server: one runs the jobs, the other one waits and takes over when the first one is killed, stopped,
or ended, and no instant is lost or doubled. Usage: takeover_test.py postgresql|mariadb RONDO RONDOD [CASE ...]."""
import contextlib
import datetime
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "executors"))
from executor_kit import Scheduler, poll, run_cases  # noqa: E402
from imitated_executors import Executor  # noqa: E402
from database_servers import KINDS  # noqa: E402

PERIOD = datetime.timedelta(milliseconds=200)


class Pair:
    """Two schedulers on the database of 'server', of which one runs the jobs."""

    def __init__(self, stack, rondo, rondod, server):
        self.server = server
        self.rondo = rondo
        self.folder = stack.enter_context(tempfile.TemporaryDirectory())
        server.empty()
        tokens = f'api = true\ntokens = "{self.folder}/tokens"\n'  # One file for both, so that a token is good at each.
        self.all = [stack.enter_context(Scheduler(rondo, rondod, {"plain": ""}, store=server.url, http=tokens)) for _ in range(2)]
        self.owner = poll("one of them runs the jobs", self.runs_jobs)
        self.other = next(one for one in self.all if one is not self.owner)
        poll("the other one stands by", lambda: "standby: another scheduler runs the jobs" in self.other.daemon.run("health").stdout)

    def runs_jobs(self):
        """The scheduler that runs the jobs; None if none does."""
        return next((one for one in self.all if one.daemon.process.poll() is None and self.is_owner(one)), None)

    @staticmethod
    def is_owner(scheduler):
        said = scheduler.daemon.run("--json", "stats")
        return said.returncode == 0 and json.loads(said.stdout)["jobs"]["shards"] == 64

    def wait_for_takeover(self):
        poll("the other one runs the jobs", lambda: self.is_owner(self.other))
        self.owner, self.other = self.other, self.owner

    def add_often(self):
        self.owner.ask("job", "add", "often", "--handler", "none", "--every", "200ms", "--misfire", "fire-all")
        self.wait_for_runs(10)

    def ended(self):
        return int(self.server.sql("SELECT count(*) FROM rondo.runs WHERE ended IS NOT NULL"))

    def wait_for_runs(self, more):
        before = self.ended()
        poll(f"{more} further runs", lambda: self.ended() >= before + more)

    def check_instants(self):
        """Each instant has one row, and each run has succeeded."""
        rows = self.owner.ask("job", "runs", "often", "--count", "200")["rows"]
        instants = sorted(datetime.datetime.fromisoformat(row["scheduled"].replace("Z", "+00:00")) for row in rows)
        gaps = [(one, two) for one, two in zip(instants, instants[1:]) if two - one != PERIOD]
        assert not gaps, gaps
        wrong = [row for row in rows if row["ended"] and row["state"] != "succeeded"]
        assert not wrong, wrong
        assert self.server.sql("SELECT count(*) FROM (SELECT job, scheduled FROM rondo.runs GROUP BY 1, 2 HAVING count(*) > 1) AS doubled") == "0"


def check_schedulers(pair):
    """Both name the owner, and the standby names itself. Returns since when the owner has the jobs."""
    mine, theirs = (one.ask("job", "schedulers")["rows"] for one in (pair.owner, pair.other))
    assert [(row["shards"], row["state"], row["this"]) for row in mine] == [(64, "owner", True)], mine
    assert [(row["shards"], row["state"], row["this"]) for row in theirs] == [(64, "owner", False), (0, "standby", True)], theirs
    assert mine[0]["name"] == theirs[0]["name"] and mine[0]["name"].startswith(f"process {pair.owner.daemon.process.pid} on "), (mine, theirs)
    assert mine[0]["name"].endswith(f", http://127.0.0.1:{pair.owner.port}"), mine
    assert mine[0]["since"] == theirs[0]["since"] < mine[0]["until"] and theirs[1]["since"] is None, (mine, theirs)
    return mine[0]["since"]


def owner_is_killed(pair):
    """The other one takes over when the lease has run out, and the first one comes back as its standby."""
    pair.add_often()
    said = pair.other.daemon.run("job", "trigger", "often")
    assert said.returncode != 0 and "scheduler" in said.stderr, said
    rows = pair.other.ask("job", "runs", "often")["rows"]
    assert all("another scheduler runs the jobs" in row["activity"] for row in rows if not row["ended"]), rows
    said = pair.other.daemon.run("job", "kill", "1")
    assert said.returncode != 0 and "another scheduler runs the jobs" in said.stderr, said
    health = json.loads(pair.other.daemon.run("--json", "health").stdout)
    assert health["healthy"] and any("standby: another scheduler runs the jobs" in note for note in health["notes"]), health
    before = check_schedulers(pair)
    pair.owner.kill()
    killed = time.monotonic()
    pair.wait_for_takeover()
    print(f"  taken over after {time.monotonic() - killed:.1f} s")
    pair.wait_for_runs(10)
    pair.other.start()
    pair.wait_for_runs(10)
    assert not pair.is_owner(pair.other)
    assert check_schedulers(pair) > before
    figures = [lambda one=one: one.ask("stats")["jobs"] for one in (pair.owner, pair.other)]
    poll("the figures of both", lambda: [(one()["shards"], one()["takeovers"]) for one in figures] == [(64, 1), (0, 0)])
    pair.check_instants()


def owner_is_stopped(pair):
    """A stopped owner goes on after the other one has taken over: it writes nothing, and starts again as the standby."""
    pair.add_often()
    pair.owner.daemon.process.send_signal(signal.SIGSTOP)
    pair.wait_for_takeover()
    pair.wait_for_runs(10)
    pair.other.daemon.process.send_signal(signal.SIGCONT)
    log = os.path.join(pair.other.daemon.folder, "log")
    poll("it starts again as a standby", lambda: open(log, encoding="utf-8").read().count(" serving ") == 2)
    pair.wait_for_runs(10)
    assert not pair.is_owner(pair.other)
    pair.check_instants()


def owner_is_ended(pair):
    """An owner that ends gives the jobs up at once."""
    pair.add_often()
    pair.owner.stop()
    assert pair.server.sql("SELECT count(*) FROM rondo.shards WHERE until > " + pair.server.NOW) in ("0", "64"), "free, or taken already"
    pair.wait_for_takeover()
    pair.wait_for_runs(10)
    pair.check_instants()
    pair.other.start()


def server_is_killed(pair):
    """Without the database nothing is lost, health says why, and both go on when it is back."""
    pair.add_often()
    pair.server.crash()
    for one in pair.all:
        poll("health says so", lambda one=one: "unavailable" in one.daemon.run("health").stdout.lower() + one.daemon.run("health").stderr.lower())
    pair.server.start()
    pair.owner = poll("one of them runs the jobs", pair.runs_jobs)
    pair.wait_for_runs(20)
    pair.check_instants()


def connections_are_ended(pair):
    """An administrator ends the connections, again and again."""
    pair.add_often()
    for _ in range(5):
        pair.server.end_connections()
        pair.wait_for_runs(3)
    pair.owner = poll("one of them runs the jobs", pair.runs_jobs)  # Not while it connects again.
    pair.check_instants()


def executor_outlives_its_scheduler(pair):
    """A run is at an executor when its scheduler is killed: the executor reports to the next one, and has had one order."""
    with Executor(pair.owner, "plain") as executor:
        status, answer = pair.other.register("plain", executor.address)
        assert status == 200 and answer["code"] == 500, "a standby takes no executor"
        executor.register()
        pair.owner.add_job("works", "executor/plain/works")
        number = pair.owner.trigger("works")
        order = executor.next_order()
        pair.owner.wait_until_running("works", number)
        status, answer = pair.other.post("/api/callback", [{"logId": order["logId"], "logDateTim": 1, "handleCode": 200, "handleMsg": "early"}])
        assert status == 200 and answer["code"] == 500 and "another scheduler" in answer["msg"], answer
        pair.owner.kill()
        pair.wait_for_takeover()
        executor.scheduler = pair.owner
        executor.register()
        assert poll("the result is taken", lambda: executor.call_back((order["logId"], 200, "well")) == 200)
        assert pair.owner.wait_for_end("works", number, "succeeded")["attempt"] == 1
        assert len(executor.orders) == 1, executor.orders
        pair.other.start()


@contextlib.contextmanager
def worker_of(pair, command):
    """A `rondo worker` that knows both schedulers, the standby first, with the shell command 'command'."""
    made = pair.owner.daemon.run("token-add", "host1", "worker")
    assert made.returncode == 0, made
    with open(f"{pair.folder}/token", "w", encoding="utf-8") as file:
        file.write(made.stdout)
    with open(f"{pair.folder}/worker.toml", "w", encoding="utf-8") as file:
        file.write(f'[worker]\nurl = ["{pair.other.url}", "{pair.owner.url}"]\ntoken_file = "{pair.folder}/token"\nname = "host1"\n'
                   f'state = "{pair.folder}"\n[command.work]\nprogram = "/bin/sh"\narguments = ["-c", "{command}"]\n')
    with open(f"{pair.folder}/worker.log", "w", encoding="utf-8") as log:
        worker = subprocess.Popen([pair.rondo, "worker", "--config", f"{pair.folder}/worker.toml"], stderr=log)
    try:
        yield
    finally:
        worker.terminate()
        worker.wait()


def worker_outlives_its_scheduler(pair):
    """A run is at a worker when its scheduler is killed: the worker goes to the next one, which has the end of the run, and gives it to nobody
    again."""
    go = f"{pair.folder}/go"
    with worker_of(pair, f"echo >>{pair.folder}/begun; until test -e {go}; do sleep 0.05; done"):
        pair.owner.add_job("works", "command/work")
        number = pair.owner.trigger("works")
        pair.owner.wait_until_running("works", number)
        said = pair.other.daemon.run("workers")
        assert said.returncode != 0 and "another scheduler runs the jobs" in said.stderr, "a standby takes no worker"
        pair.owner.kill()
        pair.wait_for_takeover()
        poll("the worker is there", lambda: any(row["connected"] for row in pair.owner.ask("workers")["rows"]))
        with open(go, "w", encoding="utf-8"):
            pass
        assert pair.owner.wait_for_end("works", number, "succeeded")["attempt"] == 1
        with open(f"{pair.folder}/begun", encoding="utf-8") as file:
            assert file.read() == "\n"
        # The worker serves the new owner, and no run is held for the old one.
        pair.owner.wait_for_end("works", pair.owner.trigger("works"), "succeeded")
    pair.other.start()


CASES = (owner_is_killed, owner_is_stopped, owner_is_ended, server_is_killed, connections_are_ended, executor_outlives_its_scheduler,
         worker_outlives_its_scheduler)


def main(kind, rondo, rondod, *only):
    if KINDS[kind].why_missing():
        print(f"SKIPPED: {KINDS[kind].why_missing()}")
        sys.exit(77)
    with KINDS[kind]() as server:
        for case in CASES:
            if only and case.__name__ not in only:
                continue
            with contextlib.ExitStack() as stack:
                run_cases([case], Pair(stack, rondo, rondod, server))


if __name__ == "__main__":
    main(*sys.argv[1:])
