"""Executors that behave on the wire as those of other projects do, in threads of the test. The test decides when a run ends.

Each class states the deviations of its client: GoExecutor (xxl-job-executor-go), PhpExecutor (hyperf), JavaExecutor (xxl-job core) and
PyxxlExecutor (pyxxl). They imitate the wire alone: what a client does inside is not imitated.
"""
import contextlib
import http.client
import http.server
import json
import threading

from executor_kit import TOKEN, poll


class Executor:
    """What the clients have in common. 'busy': it refuses runs in the way of its client."""
    name = "plain"
    base = ""  # The path of its address.
    trailing_slash = ""
    content_type = "application/json"
    token_header = "XXL-JOB-ACCESS-TOKEN"

    def __init__(self, scheduler, group, token=TOKEN):
        self.scheduler = scheduler
        self.group = group
        self.token = token
        self.busy = False
        self.orders = []  # In the order of their arrival; dicts.
        self.traces = []  # Of each order: the header fields traceparent and tracestate.
        self.kills = []  # Job numbers.
        self.probes = []  # Paths of beat and idleBeat.
        self.tokens = []  # What the scheduler shows, one a request.
        self.answers = []  # To callbacks.
        self.working = {}  # By job number: the orders without an end.
        self.lock = threading.Lock()
        executor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):  # noqa: N802, the name is http.server's
                body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
                status, answer = executor.answer(self.path, self.headers, body)
                content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", executor.content_type)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # The scheduler takes no answer that is too long.
                    self.wfile.write(content)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}{self.base}"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05})
        self.thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.thread.is_alive():
            self.server.shutdown()
            self.thread.join()
            self.server.server_close()

    # --- what the scheduler asks

    def answer(self, path, headers, body):
        with self.lock:
            self.tokens.append(headers.get("XXL-JOB-ACCESS-TOKEN"))
            refused = self.check_token(headers)
            if refused:
                return refused
            if not path.startswith(self.base + "/"):
                return 404, {"code": 500, "msg": "no such path"}
            call = path[len(self.base) + 1:]
            content = json.loads(body)
            if call in ("beat", "idleBeat"):
                self.probes.append(call)
                idle = call == "beat" or not self.working.get(content["jobId"])
                return 200, {"code": 200} if idle else {"code": 500, "msg": "job thread is running or has trigger queue."}
            if call == "run":
                self.traces.append((headers.get("traceparent"), headers.get("tracestate")))
                return self.take(content)
            if call == "kill":
                self.kills.append(content["jobId"])
                return self.kill(content["jobId"])
            return 404, {"code": 500, "msg": f"invalid request, uri-mapping(/{call}) not found."}

    def check_token(self, headers):
        if headers.get("XXL-JOB-ACCESS-TOKEN") != self.token:
            return 200, {"code": 500, "msg": "The access token is wrong."}
        return None

    def take(self, order):
        if self.busy:
            return self.refuse(order)
        self.orders.append(order)
        self.working.setdefault(order["jobId"], []).append(order)
        return 200, {"code": 200, "msg": None}

    def refuse(self, _order):
        return 200, {"code": 500, "msg": "block strategy effect\uff1aDiscard Later"}

    def kill(self, job):
        return 200, {"code": 200, "msg": None if self.working.get(job) else "job thread already killed."}

    # --- what it reports

    def item(self, log_id, code, message):
        return {"logId": log_id, "logDateTim": 1, "handleCode": code, "handleMsg": message}

    def headers(self):
        return {}

    def post(self, path, body):
        return self.scheduler.post(path, body, self.token, self.headers())

    def register(self):
        answer = self.post("/api/registry", {"registryGroup": "EXECUTOR", "registryKey": self.group,
                                             "registryValue": self.address + self.trailing_slash})
        assert answer[0] == 200 and answer[1]["code"] == 200, answer

    def call_back(self, *ends):
        """Reports ends: tuples of a log id, a code and a message, in one request."""
        answer = self.post("/api/callback", [self.item(*end) for end in ends])
        assert answer[0] == 200, answer
        self.answers.append(answer[1]["code"])
        return answer[1]["code"]

    def end(self, order, code, message):
        """Ends a run that it has, and reports that."""
        with self.lock:
            self.working[order["jobId"]].remove(order)
        return self.call_back((order["logId"], code, message))

    def next_order(self, number=1):
        """Waits until it has had so many orders, and returns the last one."""
        return poll(f"order {number} at {self.name}", lambda: len(self.orders) >= number and self.orders[number - 1])


class GoExecutor(Executor):
    """Answers are text/plain, a refusal is a list of one callback item, results have executeResult beside handleCode, and killing an idle
    job fails. It checks no token. A killed run ends as a success."""
    name = "go"
    content_type = "text/plain; charset=utf-8"

    def check_token(self, _headers):
        return None

    def item(self, log_id, code, message):
        return {**super().item(log_id, code, message), "executeResult": {"code": code, "msg": message}}

    def refuse(self, order):
        return 200, [self.item(order["logId"], 500, "There are tasks running")]

    def kill(self, job):
        return 200, {"code": 200} if self.working.get(job) else {"code": 500, "msg": "Task kill err"}


class PhpExecutor(Executor):
    """The HTTP status repeats the code: 401 without the token, 500 for a refusal. Its address has a path."""
    name = "php"
    base = "/php-xxl-job"
    trailing_slash = "/"

    def check_token(self, headers):
        if headers.get("XXL-JOB-ACCESS-TOKEN") != self.token:
            return 401, {"code": 401, "msg": "The access token is wrong."}
        return None

    def refuse(self, order):
        return 500, {"code": 500, "msg": f"job handler [{order['executorHandler']}] not found.", "data": None}


class JavaExecutor(Executor):
    """Several results in one request. A result that was not answered with 200 is kept, and sent again by repeat(): in place of its 30
    seconds the test decides when. It takes leave when it ends in an orderly way."""
    name = "java"
    trailing_slash = "/"
    content_type = "text/html;charset=UTF-8"

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.kept = []

    def call_back(self, *ends):
        try:
            code = super().call_back(*ends)
        except (OSError, http.client.HTTPException):
            code = None
        if code != 200:
            self.kept.append(ends)
        return code

    def repeat(self):
        kept, self.kept = self.kept, []
        for ends in kept:
            self.call_back(*ends)

    def leave(self):
        answer = self.post("/api/registryRemove", {"registryGroup": "EXECUTOR", "registryKey": self.group, "registryValue": self.address + "/"})
        assert answer[1]["code"] == 200, answer


class PyxxlExecutor(Executor):
    """Sends its token in two headers. If the answer to a success is not 200, it calls back again with 500. A kill ends the running run of
    the job with a report, and drops those that wait behind it without one. It checks no token."""
    name = "pyxxl"

    def check_token(self, _headers):
        return None

    def headers(self):
        return {"XXL-RPC-ACCESS-TOKEN": self.token}

    def item(self, log_id, code, message):
        return {**super().item(log_id, code, message), "executeResult": {"code": code, "msg": message}}

    def call_back(self, *ends):
        code = super().call_back(*ends)
        if code != 200 and all(end[1] == 200 for end in ends):
            super().call_back(*[(log_id, 500, f"callback failed: {code}") for log_id, _, _ in ends])
        return code

    def take(self, order):
        waits = len(self.working.get(order["jobId"], []))
        status, answer = super().take(order)
        if waits and answer.get("code") == 200:
            answer["msg"] = f"job {order['jobId']} is in queue, logId {order['logId']} ranked {waits}th"
        return status, answer

    def refuse(self, order):
        return 200, {"code": 500, "msg": f"job {order['jobId']} is executing, discard this one"}

    def kill(self, job):
        del self.working.get(job, [])[1:]
        return 200, {"code": 200, "msg": "Running"}


ALL = (GoExecutor, PhpExecutor, JavaExecutor, PyxxlExecutor)
