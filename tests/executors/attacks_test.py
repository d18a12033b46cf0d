#!/usr/bin/env python3
"""What a hostile program can send to the HTTP port of a real rondod, or answer as an executor: each case tries it, and checks what rondod
answers, that no run has changed, and that rondod still serves. Usage: attacks_test.py RONDO RONDOD [CASE ...]."""
import contextlib
import http.client
import http.server
import json
import resource
import socket
import sys
import threading

sys.dont_write_bytecode = True
from executor_kit import PATIENCE, TOKEN, Scheduler, poll, run_cases  # noqa: E402
from imitated_executors import Executor  # noqa: E402

OTHER_TOKEN = "another-token-of-32-characters-x"
WRONG = {"code": 500, "msg": "The access token is wrong.", "content": None, "data": None}
GOOD = {"code": 200, "msg": None, "content": None, "data": None}
CONNECTIONS = 768  # limits::kHttpConnections.
MIB = 1024 * 1024


def exchange(scheduler, sent):
    """Sends bytes, and returns all that rondod sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", scheduler.port), timeout=PATIENCE) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(sent)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while piece := connection.recv(65536):
                answer += piece
        return answer


def request(body, *fields, path="/api/registry", length=None):
    head = [f"POST {path} HTTP/1.1", "Host: x", "Connection: close", f"Content-Length: {len(body) if length is None else length}", *fields]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def registration(group="plain", address="http://127.0.0.1:1/"):
    return json.dumps({"registryGroup": "EXECUTOR", "registryKey": group, "registryValue": address}).encode()


def body_of(answer):
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:300]
    return json.loads(answer.split(b"\r\n\r\n", 1)[1])


def serves(scheduler):
    """rondod answers over HTTP and on its socket."""
    assert scheduler.post("/api/callback", []) == (200, GOOD)
    scheduler.ask("executors")


class Held:
    """A run of 'plain' that an executor has. After the case it is still running, and then succeeds."""

    def __init__(self, scheduler):
        self.scheduler = scheduler

    def __enter__(self):
        self.executor = Executor(self.scheduler, "plain")
        self.executor.register()
        self.number = self.scheduler.trigger("works")
        self.order = self.executor.next_order()
        self.scheduler.wait_until_running("works", self.number)
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None:
                assert self.scheduler.run_of("works", self.number)["state"] == "running"
                serves(self.scheduler)
                assert self.executor.end(self.order, 200, "well") == 200
                self.scheduler.wait_for_end("works", self.number, "succeeded")
                assert self.scheduler.register("plain", self.executor.address, path="/api/registryRemove")[1] == GOOD
        finally:
            self.executor.close()


# --- G2: tokens

def tokens(scheduler):
    """No token, a wrong one, a part of it, that of another group, two fields, and one in another place: refused, and nothing is known."""
    known = scheduler.ask("executors")["rows"]
    with Held(scheduler) as held:
        item = [{"logId": held.order["logId"], "handleCode": 200, "handleMsg": "forged"}]
        refused = [None, "", "x", TOKEN[:-1], TOKEN + "x", TOKEN.upper(), TOKEN + "\t" + TOKEN]
        for token in refused:
            for path, body in (("/api/registry", json.loads(registration())), ("/api/registryRemove", json.loads(registration())),
                               ("/api/callback", item)):
                assert scheduler.post(path, body, token) == (200, WRONG), (path, token)
        assert scheduler.register("plain", "http://127.0.0.1:1/", OTHER_TOKEN) == (200, WRONG)
        assert scheduler.register("no-such-group", "http://127.0.0.1:1/", TOKEN) == (200, WRONG)
        assert scheduler.post("/api/callback", item, OTHER_TOKEN) == (200, GOOD)  # Its group has no such run.
        name = "XXL-JOB-ACCESS-TOKEN: "
        for fields in ((name + TOKEN, name + TOKEN), (name + TOKEN, name + "x"), ("Authorization: Bearer " + TOKEN,), ("Cookie: " + name + TOKEN,)):
            assert body_of(exchange(scheduler, request(registration(), *fields))) == WRONG, fields
            assert body_of(exchange(scheduler, request(json.dumps(item).encode(), *fields, path="/api/callback"))) == WRONG, fields
        assert body_of(exchange(scheduler, request(registration(), path="/api/registry?XXL-JOB-ACCESS-TOKEN=" + TOKEN))) == WRONG
        assert len(scheduler.ask("executors")["rows"]) == len(known) + 1
        assert held.executor.address in scheduler.usable("plain")


def without_tokens(scheduler):
    """Groups that take executors from a network without a token: the sender's address counts, and nothing that it writes into a header."""
    groups = {"near": 'allow_without_token = ["127.0.0.1/32"]', "far": 'allow_without_token = ["10.9.8.0/24", "fd00::/8"]', "plain": ""}
    with Scheduler(scheduler.daemon.rondo, scheduler.daemon.rondod, groups, tokens={"near": "", "far": ""}) as other:
        forged = {name: "10.9.8.1" for name in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "Client-IP", "Host")}
        for token in (None, "", TOKEN):
            for fields in ({}, forged):
                assert other.register("near", "http://127.0.0.1:1/", token, headers=fields) == (200, GOOD)
                assert other.register("far", "http://127.0.0.1:1/", token, headers=fields) == (200, WRONG)
        assert other.register("plain", "http://127.0.0.1:1/", None) == (200, WRONG)
        other.add_job("works", "executor/plain/works")
        with Held(other) as held:
            assert other.post("/api/callback", [{"logId": held.order["logId"], "handleCode": 200}], None) == (200, GOOD)
    serves(scheduler)


def headers(scheduler):
    """Header fields above the limits, and two lengths."""
    for sent in (request(b"{}", "X: " + "a" * 20_000), request(b"{}", "XXL-JOB-ACCESS-TOKEN: " + "a" * 1_000_000),
                 request(b"{}", *[f"X{i}: y" for i in range(200)])):
        assert exchange(scheduler, sent).startswith(b"HTTP/1.1 431 "), sent[:100]
    for sent in (request(b"{}", "Content-Length: 3"), request(b"{}", "Transfer-Encoding: chunked"), request(b"{}", "X : y"),
                 request(b"{}", length=-1), request(b"{}", length="2x"), request(b"{}", "X: a\x00b")):
        assert exchange(scheduler, sent).startswith(b"HTTP/1.1 400 "), (sent, exchange(scheduler, sent))
    serves(scheduler)


# --- G3: addresses

REFUSED_ADDRESSES = (
    "http://169.254.169.254/", "http://169.254.169.254:80/latest/meta-data", "https://10.0.0.1/", "http://8.8.8.8", "http://[fe80::1]:80/",
    "http://[::ffff:169.254.169.254]/", "http://0.0.0.0:1/", "http://[::]:1/", "http://a@127.0.0.1:1/", "http://127.0.0.1:1@169.254.169.254/",
    "http://a:b@127.0.0.1/", "file:///etc/passwd", "file:/etc/passwd", "gopher://127.0.0.1:1/", "javascript:alert(1)", "//127.0.0.1:1/",
    "http://127.0.0.1:1/\r\nX: y", "http://127.0.0.1:1\r\n/", "http://127.0.0.1:1/a b", "http://127.0.0.1:1/?a=b", "http://127.0.0.1:1/#a",
    "http://127.0.0.1:1/../admin", "http://127.0.0.1:1/%2e%2e/", "http://127.0.0.1:1\\@8.8.8.8/", "http://2852039166/", "http://0x7f.1/",
    "http://127.1/", "http://0177.0.0.1/", "http://127.0.0.1:0/", "http://127.0.0.1:65536/", "http://127.0.0.1:1:2/", "http://", "http:///",
    "http://\u2460.example/", "http://127.0.0.1:1/\x00", "http://" + "a" * 300 + "/", "")


def addresses(scheduler):
    """Addresses outside of the networks, and texts with two readings, are refused, and no connection is made to them."""
    known = len(scheduler.ask("executors")["rows"])
    for address in REFUSED_ADDRESSES:
        status, answer = scheduler.register("plain", address)
        assert status == 200 and answer["code"] == 500 and answer["msg"], (address, answer)
        assert "\r" not in answer["msg"] and "\x00" not in answer["msg"], answer
    for value in (None, 1, [], {}, True):
        assert scheduler.register("plain", value)[1]["code"] == 500, value
        assert scheduler.register(value, "http://127.0.0.1:1/")[1]["code"] == 500, value
    assert len(scheduler.ask("executors")["rows"]) == known
    assert scheduler.run_of("waits", scheduler.waiting)["state"] == "due"
    serves(scheduler)


def names(scheduler):
    """A name is checked when it is looked up: one that leads outside of the networks, or nowhere, gets no run and no token."""
    for address in ("http://no-such-host.invalid:1/", "http://another.invalid/"):
        assert scheduler.register("names", address)[1] == GOOD
    number = scheduler.trigger("at-names")
    poll("it was not sent", lambda: scheduler.figures()["unsent"] > 0)
    run = scheduler.run_of("at-names", number)
    assert run["state"] == "due" or "it was not sent" in run["note"], run  # Some resolvers have an address for each name.
    scheduler.daemon.run("job", "kill", str(number))
    serves(scheduler)


def redirects(scheduler):
    """An executor that answers with a redirect: it is not followed, and the target gets neither the order nor the token."""
    seen = []

    class Target(http.server.BaseHTTPRequestHandler):
        def handle_any(self):
            seen.append(self.headers.as_string())
            self.send_response(200)
            self.end_headers()
        do_GET = do_POST = handle_any  # noqa: N815

    with threads_of(Target) as target:
        class Redirects(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(307)
                self.send_header("Location", f"http://127.0.0.1:{target}/run")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        with threads_of(Redirects) as port:
            address = f"http://127.0.0.1:{port}"
            assert scheduler.register("redirects", address)[1] == GOOD
            run = scheduler.wait_for_end("redirected", scheduler.trigger("redirected"), "failed")
            assert "HTTP status 307" in run["note"] and not seen, (run, seen)
            assert scheduler.register("redirects", address, path="/api/registryRemove")[1] == GOOD


def rondod_as_its_own_executor(scheduler):
    """An executor names the port of rondod as its own address: the orders reach paths that rondod does not have, and the runs fail."""
    for path in ("", "/api", "/api/callback", "/xxl-job-admin/api/registry"):
        assert scheduler.register("redirects", scheduler.url + path)[1] == GOOD
        run = scheduler.wait_for_end("redirected", scheduler.trigger("redirected"), "failed")
        assert "HTTP status 404" in run["note"], (path, run)
        assert scheduler.register("redirects", scheduler.url + path, path="/api/registryRemove")[1] == GOOD
    serves(scheduler)


@contextlib.contextmanager
def threads_of(handler):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def addresses_above_the_limit(scheduler):
    """A group has 256 addresses. Further ones are refused with the reason, and known ones can still register."""
    answers = [scheduler.register("many", f"http://127.0.0.1:{port}/")[1] for port in range(1, 301)]
    assert answers[:256] == [GOOD] * 256
    assert all(answer["code"] == 500 and "256 addresses" in answer["msg"] for answer in answers[256:]), answers[256]
    assert scheduler.register("many", "http://127.0.0.1:1")[1] == GOOD
    assert len(scheduler.executors("many")) == 256
    for port in range(1, 257):
        scheduler.register("many", f"http://127.0.0.1:{port}/", path="/api/registryRemove")
    serves(scheduler)


# --- G5: callbacks

def ids(scheduler):
    """Ids that no run has: numbers of no run are ignored, and texts, fractions and numbers out of range refuse the whole request."""
    with Held(scheduler) as held:
        good = {"logId": held.order["logId"], "handleCode": 200}
        for log_id in (1, 999, 10_000, 2**31, 2**53 - 1, str(2**52)):
            assert scheduler.post("/api/callback", [{"logId": log_id, "handleCode": 200}]) == (200, GOOD), log_id
        for log_id in (0, -1, -held.order["logId"], 2**53, 2**63 - 1, 2**63, 2**64 + held.order["logId"], 10**30, 1.5, "x", "", None, [], {}, True):
            status, answer = scheduler.post("/api/callback", [good, {"logId": log_id, "handleCode": 200}])
            assert status == 200 and answer["code"] == 500 and "logId" in answer["msg"], (log_id, answer)
        for code in (2**31, -2**31 - 1, 1e300, "x", None, []):
            status, answer = scheduler.post("/api/callback", [{**good, "handleCode": code}])
            assert status == 200 and answer["code"] == 500, (code, answer)


def bodies(scheduler):
    """What is no JSON, or JSON with two readings."""
    with Held(scheduler) as held:
        item = f'{{"logId":{held.order["logId"]},"handleCode":200'
        for body in ("", " ", "[", "[1]", "[[]]", '"x"', "null", "1", "true", "{}", '{"callbackList":1}', f"[{item},]", f"[{item}}}] x",
                     f'[{item},"handleMsg":NaN}}]', f"[{item}}}/*x*/]", f'[{item},"handleMsg":Infinity}}]', "[" + item + '}]\x00', "\x00",
                     '[{"logId":"' + "9" * 100_000 + '","handleCode":200}]', "\ufeff[]"):
            status, answer = scheduler.post("/api/callback", body.encode())
            assert status == 200 and answer["code"] == 500 and answer["msg"], (body[:80], answer)
        for path in ("/api/registry", "/api/registryRemove"):
            for body in (b"", b"[", b"[]", b"1", b"null", b'{"registryGroup":"EXECUTOR"}', b"\xff\xfe"):
                status, answer = scheduler.post(path, body)
                assert status == 200 and answer["code"] == 500, (path, body, answer)


def deep_json(scheduler):
    with Held(scheduler):
        for opens, closes in (("[", "]"), ('{"a":', "}")):
            for depth in (20, 1000, 400_000):
                body = (opens * depth + "1" + closes * depth).encode()
                status, answer = scheduler.post("/api/callback", body)
                assert status == 200 and answer["code"] == 500, (depth, answer)
            status, answer = scheduler.post("/api/callback", (opens * 400_000).encode())
            assert status == 200 and answer["code"] == 500, answer


def many_items(scheduler):
    """10,000 items are taken, and more are refused as a whole."""
    with Held(scheduler) as held:
        strangers = [{"logId": 20_000_000_000 + i, "handleCode": 200} for i in range(10_000)]
        assert scheduler.post("/api/callback", strangers) == (200, GOOD)
        mine = {"logId": held.order["logId"], "handleCode": 200}
        for items, limit in (([mine] + strangers, "10000 callback items"), ([mine] * 100_000, "200000 values"),
                             ({"callbackList": [mine] * 100_000}, "200000 values")):
            status, answer = scheduler.post("/api/callback", items)
            assert status == 200 and answer["code"] == 500 and limit in answer["msg"], answer


def large_bodies(scheduler):
    """A callback of 5 MiB is read, and a larger one is refused before it is read. Registrations have 64 KiB."""
    with Held(scheduler) as held:
        item = {"logId": held.order["logId"] + 1, "handleCode": 200, "handleMsg": ""}
        item["handleMsg"] = "a" * (5 * MIB - len(json.dumps([item])))
        assert scheduler.post("/api/callback", [item]) == (200, GOOD)
        item["handleMsg"] += "a"
        assert refused_by_length(scheduler, "/api/callback", json.dumps([item]).encode())
        assert refused_by_length(scheduler, "/api/callback", b"", 50 * MIB)
        assert refused_by_length(scheduler, "/api/callback", b"", 2**63)
        assert refused_by_length(scheduler, "/api/registry", b"a" * 65_537)
        chunks = b"10000\r\n" + b"a" * 65_536 + b"\r\n"
        head = b"POST /api/callback HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        assert exchange(scheduler, head + chunks * 100).startswith(b"HTTP/1.1 413 ")


def large_bodies_of_strangers(scheduler):
    """Without a right token a callback has 64 KiB, too: no more is read."""
    for token in ("", TOKEN + "x"):
        assert refused_by_length(scheduler, "/api/callback", b"", 65_537, token)
        answer = exchange(scheduler, request(b"[" + b" " * 65_534 + b"]", "XXL-JOB-ACCESS-TOKEN: " + token, path="/api/callback"))
        assert body_of(answer) == WRONG, answer
    serves(scheduler)


def refused_by_length(scheduler, path, body, length=None, token=TOKEN):
    answer = exchange(scheduler, request(body, "XXL-JOB-ACCESS-TOKEN: " + token, path=path, length=length))
    return answer.startswith((b"HTTP/1.1 413 ", b"HTTP/1.1 400 "))


MESSAGES = (b'"<script>alert(1)</script>"', b'"\\u001b[2J\\u0000\\r\\nx"', b'"\\ud800"', b'"\xff\xfe"', '"{}"'.format("\u20ac" * 50_000).encode(),
            b'"a' + "\u20ac".encode() * 50_000 + b'"', b'"' + b"\xff" * 50_000 + b'"', b'"=cmd()"', b'{"a":[1,null]}', b"null", b"7")


def texts(scheduler):
    """Messages with markup, escapes, NUL, bytes that are no UTF-8, and 50,000 characters: the note is bounded, and safe to display."""
    with Executor(scheduler, "plain") as executor:
        for message in MESSAGES:
            for code in (200, 500):
                executor.register()
                known = len(executor.orders)
                number = scheduler.trigger("works")
                order = executor.next_order(known + 1)
                body = f'[{{"logId":{order["logId"]},"handleCode":{code},"handleMsg":'.encode() + message + b"}]"
                assert scheduler.post("/api/callback", body) == (200, GOOD), message
                note = scheduler.wait_for_end("works", number, "succeeded" if code == 200 else "failed").get("note", "")
                assert len(note.encode()) < 20_000 and not any(c in note for c in "\x1b\x00\r\n"), note
                assert "\u20ac" not in note or "\\x" not in note, "the note is cut within a character: " + note[-40:]
                said = scheduler.daemon.run("job", "runs", "works", "--count", "1")
                assert said.returncode == 0 and "\x1b" not in said.stdout, said
        assert scheduler.register("plain", executor.address, path="/api/registryRemove")[1] == GOOD
    serves(scheduler)


# --- G12: broadcasts

def broadcast_to_many(scheduler):
    """A broadcast to 256 addresses of which one works: the order is sent to each once, and the run fails with the number of failures."""
    with Executor(scheduler, "wide") as executor:
        for port in range(1, 256):
            assert scheduler.register("wide", f"http://127.0.0.1:{port}/")[1] == GOOD
        executor.register()
        number = scheduler.trigger("wide")
        order = executor.next_order()
        assert order["broadcastTotal"] == 256, order
        executor.end(order, 200, "well")
        run = scheduler.wait_for_end("wide", number, "failed")
        assert "255 of 256 shards failed" in run["note"] and len(executor.orders) == 1, run
        shards = scheduler.ask("call", "job-runs", "name=wide", "details=true")["rows"][0]["shards"]
        assert [shard["index"] for shard in shards] == list(range(256)), shards
        assert sorted({shard["state"] for shard in shards}) == ["failed", "succeeded"], shards
        # A result of a shard that was not sent to this executor, and of one beyond the last.
        assert executor.call_back((order["logId"] + 1, 200, "x"), (order["logId"] - order["broadcastIndex"] + 999, 200, "x")) == 200
    serves(scheduler)


# --- G19: what is slow, and what does not end

def idle_connections(scheduler):
    """Connections without a request, up to the limit and beyond: the oldest one gives way, so that a new one is always served."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(socket.create_connection(("127.0.0.1", scheduler.port), timeout=PATIENCE)) for _ in range(CONNECTIONS + 32)]
        serves(scheduler)
        closed = opened[0]
        assert closed.recv(1) == b"", "the oldest connection was not closed"
        assert opened[-1].send(request(b"[]", "XXL-JOB-ACCESS-TOKEN: " + TOKEN, path="/api/callback"))
        assert opened[-1].recv(12) == b"HTTP/1.1 200"
    serves(scheduler)


def slow_headers(scheduler):
    """A header that does not end gets 408, and a body that does not end delays no other request."""
    with contextlib.ExitStack() as stack:
        def connection():
            return stack.enter_context(socket.create_connection(("127.0.0.1", scheduler.port), timeout=PATIENCE))
        headers_only, body_only = [connection() for _ in range(100)], [connection() for _ in range(10)]
        for one in headers_only:
            one.sendall(b"POST /api/callback HTTP/1.1\r\nHost: x\r\nX-")
        for one in body_only:
            one.sendall(request(b"[", "XXL-JOB-ACCESS-TOKEN: " + TOKEN, path="/api/callback", length=5 * MIB))
        with Held(scheduler):
            pass
        for one in headers_only:
            assert one.recv(12) == b"HTTP/1.1 408"
        for one in body_only:
            assert one.recv(12) == b"HTTP/1.1 408"
    serves(scheduler)


def bodies_that_hold_memory(scheduler):
    """Programs with a token send large bodies but for the last byte, more than the server holds at a time: small requests, as each
    connection has room for, are answered meanwhile, and large ones afterwards."""
    body = b"a" * (5 * MIB - 1)
    with contextlib.ExitStack() as stack:
        senders = []
        for _ in range(16):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", scheduler.port), timeout=PATIENCE))
            with contextlib.suppress(ConnectionError):  # The server has no memory for this one.
                connection.sendall(request(body, "XXL-JOB-ACCESS-TOKEN: " + TOKEN, path="/api/callback", length=5 * MIB))
                senders.append(connection)
        with Held(scheduler):
            pass
        for connection in senders:
            with contextlib.suppress(ConnectionError):
                connection.sendall(b"a")
                assert connection.recv(12) in (b"HTTP/1.1 200", b"HTTP/1.1 408", b"HTTP/1.1 503")
    large = [{"logId": 20_000_000_000, "handleCode": 200, "handleMsg": "a" * 4 * MIB}]

    def is_answered():
        with contextlib.suppress(ConnectionError):  # 503, before all is sent: the memory is not free yet.
            return scheduler.post("/api/callback", large)[0] == 200
        return False
    assert poll("a large request is answered", is_answered)


def executors_that_hang(scheduler):
    """Addresses where connections are made and nothing answers, 16 of them, with a run each: other runs go on, and rondod answers."""
    with contextlib.ExitStack() as stack:
        hanging = [f"http://127.0.0.1:{stack.enter_context(socket.create_server(('127.0.0.1', 0))).getsockname()[1]}" for _ in range(16)]
        for address in hanging:
            assert scheduler.register("hangs", address)[1] == GOOD
        numbers = [scheduler.trigger("hangs") for _ in hanging]
        with Held(scheduler):
            pass
        poll("a call has timed out", lambda: "answer" in str(scheduler.run_of("hangs", numbers[0])))
        for number in numbers:
            scheduler.daemon.run("job", "kill", str(number))
        for number in numbers:
            ended = poll("the end", lambda: (row := scheduler.run_of("hangs", number))["ended"] and row)  # noqa: B023
            assert ended["state"] in ("killed", "failed"), ended
        for address in hanging:
            scheduler.register("hangs", address, path="/api/registryRemove")
    serves(scheduler)


def executors_that_answer_nonsense(scheduler):
    """Answers to an order that are no answer, or too long: the attempt fails with the beginning of the answer, and nothing else happens."""
    answers = {b"<html>": 'no usable body', b"": "no usable body", b"[" * 60_000: "no usable body", b'{"code":"x"}': "no usable body",
               b'{"code":2147483648}': "no usable body", b"a" * MIB: "", b"\xff\x00\x1b[2J": "no usable body", b"[{},{}]": "no usable body"}
    answer = [b""]

    class Nonsense(http.server.BaseHTTPRequestHandler):
        def do_POST(self):  # noqa: N802
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Length", str(len(answer[0])))
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(answer[0])

        def log_message(self, *_):
            pass

    with threads_of(Nonsense) as port:
        address = f"http://127.0.0.1:{port}"
        for content, note in answers.items():
            answer[0] = content
            assert scheduler.register("redirects", address)[1] == GOOD
            run = scheduler.wait_for_end("redirected", scheduler.trigger("redirected"), "failed")
            assert note in run["note"] and len(run["note"]) < 2000 and "\x1b" not in run["note"], (content[:40], run)
        scheduler.register("redirects", address, path="/api/registryRemove")
    serves(scheduler)


CASES = (tokens, without_tokens, headers, addresses, names, redirects, rondod_as_its_own_executor, addresses_above_the_limit, ids, bodies,
         deep_json, many_items, large_bodies, large_bodies_of_strangers, texts, broadcast_to_many, idle_connections, bodies_that_hold_memory, executors_that_hang,
         executors_that_answer_nonsense, slow_headers)


def main(rondo, rondod, *only):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard if hard != resource.RLIM_INFINITY and hard < 4096 else 4096, hard))
    groups = {name: "" for name in ("plain", "other", "names", "redirects", "many", "wide", "hangs")}
    with Scheduler(rondo, rondod, groups, tokens={"other": OTHER_TOKEN}) as scheduler:
        for job, group in (("works", "plain"), ("waits", "other"), ("at-names", "names"), ("redirected", "redirects")):
            scheduler.add_job(job, f"executor/{group}/works")
        scheduler.add_job("wide", "executor/wide/works", "--route", "sharding-broadcast")
        scheduler.add_job("hangs", "executor/hangs/works", "--overlap", "concurrent", "--concurrency", "16", "--route", "round")
        scheduler.waiting = scheduler.trigger("waits")
        run_cases(CASES, scheduler, only=only)
        assert scheduler.daemon.process.poll() is None


if __name__ == "__main__":
    main(*sys.argv[1:])
