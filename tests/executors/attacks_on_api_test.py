#!/usr/bin/env python3
"""What hostile programs and holders of a token can try at the API of a real rondod, whose port executors use, too: commands above a role, tokens
in wrong places, paths and methods with two readings, bodies, streams without an end, and secrets. command_line/api_test.py has what works.
Usage: attacks_on_api_test.py RONDO RONDOD [CASE ...]."""
import contextlib
import hashlib
import http.client
import json
import os
import socket
import struct
import sys
import tempfile

sys.dont_write_bytecode = True
from executor_kit import PATIENCE, TOKEN, Scheduler, poll, run_cases  # noqa: E402
from imitated_executors import Executor  # noqa: E402

WRONG = {"code": 500, "msg": "The access token is wrong.", "content": None, "data": None}
VALUES = {"integer": 1, "flag": True, "rows": [], "fields": []}
ROLES = {"viewer": {"reads"}, "worker": {"works"}, "operator": {"reads", "writes", "works"}, "admin": {"reads", "writes", "works", "administers"}}


def post(scheduler, path, body=b"{}", token=None, headers=None, method="POST"):
    """Status and body of a request to the API."""
    connection = http.client.HTTPConnection("127.0.0.1", scheduler.port, timeout=PATIENCE)
    fields = {"Content-Type": "application/json", **({"Authorization": "Bearer " + token} if token else {}), **(headers or {})}
    connection.putrequest(method, path, skip_accept_encoding=True)
    for name, value in fields.items():
        for one in value if isinstance(value, list) else [value]:
            connection.putheader(name, one)
    connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer.status, content


def jobs_of(scheduler):
    return scheduler.ask("job", "export")


def commands_of(scheduler):
    return scheduler.ask("call", "commands")["rows"]


def effect_of(row):
    """What a command does, as its name and its description say."""
    if row["name"] in ("tokens", "token-add", "token-remove"):
        return "administers"
    if row["name"] in ("worker-orders", "worker-report"):
        return "works"
    return "writes" if row["writes"] else "reads"


def arguments_of(row):
    return {argument["name"]: VALUES.get(argument["kind"], "works") for argument in row["arguments"] if argument["required"]}


# --- G7: roles

def commands_above_a_role(scheduler):
    """Each command that a role may not call, as a POST and over a connection with frames: 403, and nothing has changed."""
    before, tokens = jobs_of(scheduler), scheduler.ask("tokens")
    for role, token in scheduler.tokens.items():
        above = [row for row in commands_of(scheduler) if effect_of(row) not in ROLES[role]]
        assert above or role == "admin"
        with connected(scheduler, token) as connection:
            for row in above:
                body = json.dumps(arguments_of(row)).encode()
                status, content = post(scheduler, "/api/v1/" + row["name"], body, token)
                assert status == 403 and json.loads(content)["error"]["code"] == "permission-denied", (role, row["name"], status, content)
                answer = ask(connection, row["name"], **arguments_of(row))
                assert not answer["ok"] and answer["error"]["code"] == "permission-denied", (role, row["name"], answer)
    assert jobs_of(scheduler) == before and scheduler.ask("tokens") == tokens
    # A role may do what it should, so the refusals above are of roles.
    assert post(scheduler, "/api/v1/jobs", token=scheduler.tokens["viewer"])[0] == 200
    assert post(scheduler, "/api/v1/tokens", token=scheduler.tokens["admin"])[0] == 200


@contextlib.contextmanager
def connected(scheduler, token):
    """A connection that speaks the protocol of the admin socket."""
    with socket.create_connection(("127.0.0.1", scheduler.port), timeout=PATIENCE) as connection:
        connection.sendall(b"GET /api/v1/connect HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: rondo-admin\r\nAuthorization: Bearer "
                           + token.encode() + b"\r\n\r\n")
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            piece = connection.recv(1)
            assert piece, head
            head += piece
        assert head.startswith(b"HTTP/1.1 101 "), head
        yield connection


def answer_of(connection):
    """The end of the next answer."""
    while True:
        length, kind = struct.unpack("<Ic", connection.recv(5, socket.MSG_WAITALL))
        answer = json.loads(connection.recv(length - 1, socket.MSG_WAITALL))
        if kind == b"J":
            return answer


def ask(connection, command, **arguments):
    body = json.dumps({"id": 1, "command": command, **arguments}).encode()
    connection.sendall(struct.pack("<I", len(body) + 1) + b"J" + body)
    return answer_of(connection)


def bulk_frame():
    table, key, name, value = b"JOB_RUN_8", b"works#1", b"state", b"x"
    rows = struct.pack("<H", len(table)) + table + struct.pack("<IBI", 1, 0, len(key)) + key
    rows += struct.pack("<HI", 1, len(name)) + name + struct.pack("<I", len(value)) + value
    return struct.pack("<I", len(rows) + 1) + b"W" + rows


def bulk_writes(scheduler):
    """The frame of a bulk write has no command's name. It is refused to those who may not write."""
    for role in ("viewer", "worker"):
        with connected(scheduler, scheduler.tokens[role]) as connection:
            connection.sendall(bulk_frame())
            answer = answer_of(connection)
            assert not answer["ok"] and answer["error"]["code"] == "permission-denied", (role, answer)


# --- G7: tokens of one group

OF_GROUP = {"commands", "version", "executors", "executor-drain", "jobs", "job", "job-load", "job-start", "job-stop", "job-next", "job-trigger", "job-rerun", "job-backfill",
            "job-runs", "job-failures", "job-kill", "job-log"}


def fail_a_run(scheduler, job, group):
    with Executor(scheduler, group) as executor:
        executor.register()
        number = scheduler.trigger(job)
        assert executor.end(executor.next_order(), 500, "broken") == 200
        scheduler.wait_for_end(job, number, "failed")
        assert scheduler.register(group, executor.address, path="/api/registryRemove")[1]["code"] == 200
        return number


def tokens_of_a_group(scheduler):
    """Such a token sees and commands the jobs and executors of its group alone, with the commands for it."""
    def said(command, **arguments):
        status, content = post(scheduler, "/api/v1/" + command, json.dumps(arguments).encode(), token)
        return status, json.loads(content)

    for words in (("a", "operator", "--group", "none"), ("a", "worker", "--group", "plain"), ("a", "admin", "--group", "plain")):
        said_no = scheduler.daemon.run("token-add", *words)
        assert said_no.returncode in (1, 2) and "group" in said_no.stderr, (words, said_no)
    token = scheduler.daemon.run("token-add", "team", "operator", "--group", "team").stdout.strip()
    assert {"name": "team", "role": "operator", "group": "team"} in scheduler.ask("tokens")["rows"]
    scheduler.add_job("theirs", "executor/team/works", "--tags", "metrics")
    scheduler.ask("job", "edit", "works", "--tags", "metrics")
    failed, foreign = fail_a_run(scheduler, "theirs", "team"), fail_a_run(scheduler, "works", "plain")
    rows = commands_of(scheduler)
    assert {row["name"] for row in rows} >= OF_GROUP
    with connected(scheduler, token) as connection:
        for row in (row for row in rows if row["name"] not in OF_GROUP):
            answer = ask(connection, row["name"], **arguments_of(row))
            assert not answer["ok"] and answer["error"]["code"] == "permission-denied", (row["name"], answer)
            assert effect_of(row) == "administers" or "the group 'team' alone" in answer["error"]["message"], (row["name"], answer)
        connection.sendall(bulk_frame())
        assert answer_of(connection)["error"]["code"] == "permission-denied"
    before = jobs_of(scheduler)
    times = {"from": "2026-01-01T00:00:00Z", "to": "2026-01-02T00:00:00Z"}
    for job in ("works", "logs", "none"):
        for command in ("job", "job-start", "job-stop", "job-next", "job-trigger", "job-runs"):
            assert said(command, name=job)[0] == 404, (command, job)
        assert said("job-backfill", name=job, **times)[0] == 404, job
    for command in ("job-rerun", "job-kill", "job-log"):
        answers = [said(command, run=run) for run in (foreign, 2**40)]
        assert [answer[0] for answer in answers] == [404, 404], command
        # A run of another group looks like none.
        assert [answer[1]["error"]["message"] for answer in answers] == [f"group 'team' has no run {run}" for run in (foreign, 2**40)], answers
    assert said("executor-drain", group="plain", address="http://127.0.0.1:1")[0] == 403
    assert jobs_of(scheduler) == before
    # Its own.
    scheduler.register("team", "http://127.0.0.1:1")
    scheduler.register("plain", "http://127.0.0.1:1")
    assert [row["name"] for row in said("jobs")[1]["rows"]] == ["theirs"]
    scheduler.ask("job", "add", "later", "--handler", "executor/plain/works", "--at", "2030-01-01T00:00:30Z")
    hour = {"from": "2030-01-01T00:00:00Z", "to": "2030-01-01T01:00:00Z"}
    assert said("job-load", **hour)[1]["jobs_counted"] == 0
    assert scheduler.ask("call", "job-load", *(f"{name}={value}" for name, value in hour.items()))["minutes"][0] == 1
    scheduler.ask("job", "remove", "later", "--yes")
    assert {row["group"] for row in said("executors")[1]["rows"]} == {"team"}
    status, content = post(scheduler, "/metrics/jobs", b"", token, method="GET")
    assert status == 200 and b'job_name="theirs"' in content and b'"works"' not in content, (status, content)
    assert post(scheduler, "/metrics", b"", token, method="GET")[0] == 403
    assert [row["run"] for row in said("job-failures", since="2026-01-01T00:00:00Z")[1]["rows"]] == [failed]
    assert {failed, foreign} <= {row["run"] for row in scheduler.ask("job", "failures", "--since", "2026-01-01T00:00:00Z")["rows"]}
    status, drained = said("executor-drain", group="team", address="http://127.0.0.1:1")
    assert status == 200 and drained["drained"], drained
    again = said("job-rerun", run=failed)
    assert again[0] == 200 and [row["run"] for row in said("job-runs", name="theirs")[1]["rows"]] == [again[1]["run"], failed]
    assert said("job-kill", run=again[1]["run"])[0] == 200 and said("job-stop", name="theirs")[0] == 200
    assert scheduler.daemon.run("token-remove", "team").returncode == 0 and said("jobs")[0] == 401
    scheduler.ask("job", "remove", "theirs", "--yes")
    for group in ("plain", "team"):
        assert scheduler.register(group, "http://127.0.0.1:1", path="/api/registryRemove")[1]["code"] == 200


# --- G2, G8: tokens in wrong places, and requests of web pages

def tokens_in_wrong_places(scheduler):
    """A token counts in one field, once. Tokens of executors are none of the API, and the other way round."""
    token, before = scheduler.tokens["admin"], jobs_of(scheduler)
    body = b'{"name":"works"}'
    wrong = ({"Authorization": ["Bearer " + token, "Bearer " + token]}, {"Authorization": ["Bearer x", "Bearer " + token]}, {"Authorization": token},
             {"Authorization": "Basic " + token}, {"Authorization": "Bearer"}, {"Authorization": "Bearer  " + token}, {"Authorization": "Bearer " + token + "x"},
             {"Authorization": "Bearer " + token.upper()}, {"Authorization": f"Bearer {token}, Bearer {token}"}, {"Cookie": "Authorization=Bearer " + token},
             {"X-Authorization": "Bearer " + token}, {"Proxy-Authorization": "Bearer " + token}, {"XXL-JOB-ACCESS-TOKEN": token},
             {"Authorization": "Bearer " + TOKEN}, {"X-Forwarded-User": "root"}, {"X-Forwarded-For": "127.0.0.1"})
    for fields in wrong:
        for path in ("/api/v1/job-remove", f"/api/v1/job-remove?token={token}&access_token={token}", "/api/v1/openapi.json", "/api/v1/nothing"):
            status, content = post(scheduler, path, body, headers=fields)
            assert status == 401 and token.encode() not in content, (fields, path, status, content)
    for fields in ({"Origin": "https://evil.example", "Content-Type": "text/plain"}, {"Content-Type": "application/x-www-form-urlencoded"},
                   {"Content-Type": "multipart/form-data"}, {"Content-Type": "text/plain; application/json"}):
        assert post(scheduler, "/api/v1/job-remove", body, token, fields)[0] == 400, fields
    status, _ = post(scheduler, "/api/v1/job-remove", b"", None, {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}, "OPTIONS")
    assert status in (401, 405), status
    for secret in scheduler.tokens.values():
        assert scheduler.register("plain", "http://127.0.0.1:1/", secret) == (200, WRONG)
        assert scheduler.register("plain", "http://127.0.0.1:1/", None, headers={"Authorization": "Bearer " + secret}) == (200, WRONG)
    assert jobs_of(scheduler) == before


# --- paths, methods and bodies

def paths_and_methods(scheduler):
    """Other spellings of a path, and other methods, carry out no command."""
    token, before = scheduler.tokens["admin"], jobs_of(scheduler)
    body = b'{"name":"works"}'
    for path in ("/api/v1//job-remove", "/api/v1/job-remove/", "/api/v1/./job-remove", "/api/v1/x/../job-remove", "/api/v1/job%2Dremove", "/api/v1/job-remove%00",
                 "/API/V1/job-remove", "/api/v1", "/api/v1/", "/api/v2/job-remove", "/xxl-job-admin/api/v1/job-remove", "//api/v1/job-remove", "/api/job-remove",
                 "/api/v1/JOB-REMOVE", "/api/v1/job-remove;x", "/api/v1/" + "a" * 4000, "/api/v1/connect", "/api/v1/openapi.json", "/api/registry/../v1/job-remove"):
        status, content = post(scheduler, path, body, token)
        assert status in (400, 404, 405), (path, status, content)
    for method in ("GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "post"):
        status, content = post(scheduler, "/api/v1/job-remove", body, token, method=method)
        assert status in (400, 405, 501), (method, status, content)
    for fields in ({"X-HTTP-Method-Override": "POST"}, {"X-HTTP-Method": "POST"}):
        assert post(scheduler, "/api/v1/job-remove", body, token, fields, "GET")[0] == 405, fields
    assert jobs_of(scheduler) == before


def bodies(scheduler):
    """Bodies that are no object, that name another command, or that are too large or too deep."""
    token, before = scheduler.tokens["viewer"], jobs_of(scheduler)
    for body in (b"[]", b"1", b'"x"', b"null", b"{", b"{}{}", b"{}\x00", b"\xff\xfe{}", b"NaN", b'{"a":NaN}', b"[" * 100_000, b'{"a":' * 100_000,
                 b'{"name":"works","name":"works"}', b'{"command":"job-remove","name":"works"}', b'{"id":2}', b'{"\\u0063ommand":"job-remove"}',
                 b'{"name":[1]}', b'{"name":"' + b"a" * 300_000 + b'"}', b'{"name":[' + b"1," * 20_000 + b"1]}", b'{"x":1}'):
        status, content = post(scheduler, "/api/v1/job", body, token)
        assert status == 413 or status == 400 and json.loads(content)["error"]["message"], (body[:60], status, content[:200])
    # Frames of the socket in a body are no frames here.
    frame = json.dumps({"id": 1, "command": "job-remove", "name": "works"}).encode()
    assert post(scheduler, "/api/v1/job", struct.pack("<I", len(frame) + 1) + b"J" + frame, token)[0] == 400
    assert jobs_of(scheduler) == before


# --- G19: streams without an end

def streams_without_an_end(scheduler):
    """A viewer opens more streams than there are places: its own are refused or closed, and callers with another token, executors and users of
    this host are served. Streams that are closed give their places back."""
    token = scheduler.tokens["viewer"]
    waiting = scheduler.trigger("works")  # The table that is watched has a row.
    with contextlib.ExitStack() as stack:
        def stream():
            connection = stack.enter_context(contextlib.closing(http.client.HTTPConnection("127.0.0.1", scheduler.port, timeout=PATIENCE)))
            connection.request("POST", "/api/v1/watch", b'{"table":"JOB_RUN_8"}', {"Authorization": "Bearer " + token, "Content-Type": "application/json",
                                                                                   "Accept": "text/event-stream"})
            return connection.getresponse()
        opened = [stream() for _ in range(100)]
        assert post(scheduler, "/api/v1/jobs", token=scheduler.tokens["operator"])[0] == 200
        assert scheduler.post("/api/callback", [])[1]["code"] == 200
        number = scheduler.trigger("logs")
        scheduler.wait_for_end("logs", number, "succeeded")
        events = [(answer.readline(), answer.readline()) for answer in opened]
        refused = [data for event, data in events if event == b"event: error\n"]
        assert all(b"64 connections" in data for data in refused) and len(refused) >= 36, refused
        assert any(event == b"event: row\n" for event, _ in events), events
    poll("the places are free", lambda: post(scheduler, "/api/v1/jobs", token=token)[0] == 200)
    scheduler.ask("job", "kill", str(waiting))


def readers_that_do_not_read(scheduler):
    """Callers that ask for long answers and read nothing: rondod serves others."""
    token = scheduler.tokens["viewer"]
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", scheduler.port), timeout=PATIENCE))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(b"POST /api/v1/commands HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + token.encode() +
                               b"\r\nAccept: text/event-stream\r\nContent-Length: 0\r\n\r\n")
        for _ in range(5):
            assert post(scheduler, "/api/v1/jobs", token=scheduler.tokens["operator"])[0] == 200
            scheduler.ask("executors")


# --- Traces of callers

def traces_of_callers(scheduler):
    """A valid trace goes to the executor with each attempt. The server ignores an invalid trace, and carries out its call."""
    token, trace = scheduler.tokens["operator"], "4bf92f3577b34da6a3ce929d0e0e4736"
    parent = f"00-{trace}-00f067aa0ba902b7-01"
    scheduler.ask("job", "add", "traced", "--handler", "executor/plain/works", "--manual", "--retries", "1", "--backoff", "1ms")

    def call(command, arguments, **fields):
        status, content = post(scheduler, "/api/v1/" + command, json.dumps(arguments).encode(), token, fields)
        assert status == 200, (fields, status, content)
        return json.loads(content)["run"]

    def check_order(executor, orders, state):
        order = executor.next_order(orders)
        seen = [one[0] for one in executor.traces]
        assert executor.traces[-1][0].startswith(f"00-{trace}-") and executor.traces[-1][0].endswith("-01"), executor.traces
        assert executor.traces[-1][1] == state and len(set(seen + [parent])) == len(seen) + 1, executor.traces
        return order
    with Executor(scheduler, "plain") as executor:
        executor.register()
        number = call("job-trigger", {"name": "traced"}, traceparent=parent, tracestate="a=1,b=2")
        order = check_order(executor, 1, "a=1,b=2")
        assert scheduler.run_of("traced", number)["trace"] == trace
        executor.end(order, 500, "no")
        executor.end(check_order(executor, 2, "a=1,b=2"), 500, "no")
        assert "trace" not in scheduler.wait_for_end("traced", number, "failed")
        again = call("job-rerun", {"run": number}, traceparent=parent, tracestate="a=" + 511 * "v")  # The state is too long.
        executor.end(check_order(executor, 3, None), 200, "well")
        scheduler.wait_for_end("traced", again, "succeeded")
        for wrong in ("", "00", parent.upper(), parent + "-00", "ff" + parent[2:], f"00-{32 * '0'}-00f067aa0ba902b7-01", 1000 * "0", [parent, parent],
                      parent.replace("-01", "-\u00e9\u00e9")):
            orders = len(executor.orders)
            number = call("job-trigger", {"name": "traced"}, traceparent=wrong, tracestate="a=1")
            executor.end(executor.next_order(orders + 1), 200, "well")
            assert executor.traces[-1] == (None, None), (wrong, executor.traces)
            scheduler.wait_for_end("traced", number, "succeeded")
        scheduler.register("plain", executor.address, path="/api/registryRemove")


# --- G10, G20: secrets, and who it was

def secrets_and_names(scheduler):
    """The log names the token of each change, and no file of rondod and no answer has a secret."""
    assert post(scheduler, "/api/v1/job-stop", b'{"name":"works"}', scheduler.tokens["operator"])[0] == 200
    assert post(scheduler, "/api/v1/job-start", b'{"name":"works"}', scheduler.tokens["operator"])[0] == 200
    writers = poll("two writes", lambda: len(found := scheduler.writes_in_log("job-stop", "job-start")) >= 2 and found)
    assert writers == ["\"token 'the-operator'\""] * 2, writers
    answers = [post(scheduler, "/api/v1/" + name, token=scheduler.tokens["admin"])[1].decode() for name in ("tokens", "config", "log", "health", "stats", "commands")]
    folders = [scheduler.daemon.folder, scheduler.folder, scheduler.of_tokens]
    for file in [os.path.join(folder, name) for folder in folders for name in os.listdir(folder)]:
        if os.path.isfile(file):
            with open(file, "rb") as content:
                answers.append(content.read().decode("latin-1"))
    with open(os.path.join(scheduler.daemon.folder, "log"), encoding="utf-8") as log:
        lines = log.read()
    for role, secret in scheduler.tokens.items():
        # These are the first writes of this rondod, so each has its line.
        assert f'info write command=token-add what="the-{role} {role}" before=(none) after="role={role}" user=' in lines, lines
        assert hashlib.sha256(secret.encode()).hexdigest() not in lines, role
        assert not [answer for answer in answers if secret in answer], role


CASES = (commands_above_a_role, bulk_writes, tokens_in_wrong_places, paths_and_methods, bodies, streams_without_an_end,
         readers_that_do_not_read, traces_of_callers, secrets_and_names, tokens_of_a_group)  # The last one fills the log of writes.


def main(rondo, rondod, *only):
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="rondo-tokens-"))
        scheduler = stack.enter_context(Scheduler(rondo, rondod, {"plain": "", "team": ""}, http=f'api = true\nmetrics = "token"\ntokens = "{folder}/tokens"\n'))
        scheduler.add_job("works", "executor/plain/works")
        scheduler.add_job("logs", "log")
        scheduler.tokens, scheduler.of_tokens = {}, folder
        for role in ROLES:
            said = scheduler.daemon.run("token-add", "the-" + role, role)
            assert said.returncode == 0, said
            scheduler.tokens[role] = said.stdout.strip()
        run_cases(CASES, scheduler, only=only)
        assert scheduler.daemon.process.poll() is None


if __name__ == "__main__":
    main(*sys.argv[1:])
