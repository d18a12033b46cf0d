"""A rondod that gives runs to executors, and what the tests of this folder ask it: groups with tokens, runs, executors and figures."""
import http.client
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "command_line"))
from rondod_process import Rondod  # noqa: E402

PATIENCE = 300  # Seconds; only ends what hangs.
TOKEN = "a-token-of-24-characters"


def poll(what, condition, patience=PATIENCE):
    """Returns the first true value of condition()."""
    deadline = time.monotonic() + patience
    while not (value := condition()):
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.05)  # The condition decides, not this pause: it leaves the processor to the other processes.
    return value


class Scheduler:
    """A rondod with an HTTP port and groups of executors. 'groups': name to the further lines of its section. 'tokens': those that are not
    TOKEN; an empty one is none. 'is_handed_over': the listening socket is the test's, and each rondod gets it. 'http':
    further lines of its section. 'store': [jobs] store, if it is no file."""

    def __init__(self, rondo, rondod, groups, tokens=None, is_handed_over=False, http="", store=None):
        self.folder = tempfile.mkdtemp(prefix="rondo-executors-")
        # This socket stays bound, so no other program gets the port while rondod is down. If it does not listen, rondod shares the port with
        # SO_REUSEADDR.
        self.reserved = socket.socket()
        self.reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.reserved.bind(("127.0.0.1", 0))
        self.port = self.reserved.getsockname()[1]
        if is_handed_over:
            self.reserved.listen(512)
        self.url = f"http://127.0.0.1:{self.port}"
        sections = f"[http]\nenabled = true\nport = {self.port}\n{http}"
        for name, lines in groups.items():
            sections += f'[[executors.group]]\nname = "{name}"\n{self.token_line((tokens or {}).get(name, TOKEN))}{lines}\n'
        self.daemon = Rondod(rondod, rondo, plane="none", jobs=store or True, store=sections, passed=self.reserved if is_handed_over else None)

    def token_line(self, token):
        if not token:
            return ""
        path = os.path.join(self.folder, f"token-{len(os.listdir(self.folder))}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(token + "\n")
        return f'token_file = "{path}"\n'

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            with open(os.path.join(self.daemon.folder, "log"), encoding="utf-8") as log:
                print("the end of rondod's log:\n" + log.read()[-4000:], file=sys.stderr)
        self.daemon.__exit__()
        self.reserved.close()
        shutil.rmtree(self.folder)
        assert kind is not None or self.daemon.process.returncode == 0, f"rondod ended with {self.daemon.process.returncode}"

    def kill(self):
        """Ends rondod as a crash does."""
        self.daemon.process.kill()
        self.daemon.process.wait(PATIENCE)
        self.daemon.log.close()

    def stop(self):
        self.daemon.process.terminate()
        assert self.daemon.process.wait(PATIENCE) == 0
        self.daemon.log.close()

    def start(self):
        self.daemon.launch()

    def ask(self, *words):
        said = self.daemon.run("--json", *words)
        assert said.returncode == 0, (words, said)
        return json.loads(said.stdout)

    def add_job(self, name, handler, *options):
        self.ask("job", "add", name, "--handler", handler, "--manual", "--retries", "0", *options)

    def trigger(self, job):
        return self.ask("job", "trigger", job)["run"]

    def run_of(self, job, number):
        runs = self.ask("job", "runs", job, "--count", "200")["rows"]
        found = [run for run in runs if run["run"] == number]
        assert len(found) == 1, (number, runs)
        return found[0]

    def wait_for_end(self, job, number, state):
        run = poll(f"the end of run {number}", lambda: (row := self.run_of(job, number))["ended"] and row)
        assert run["state"] == state, run
        return run

    def wait_until_running(self, job, number):
        return poll(f"run {number} is running", lambda: (row := self.run_of(job, number))["state"] == "running" and row["begun"] and row)

    def executors(self, group):
        return [row for row in self.ask("executors")["rows"] if row["group"] == group]

    def usable(self, group):
        return [row["address"] for row in self.executors(group) if row["usable"]]

    def figures(self):
        return self.ask("stats")["executors"]

    def writes_in_log(self, *commands):
        """For each such write, who made it. Beyond a rate, rondod sums writes instead of a line for each, so a test counts both."""
        writers = []
        with open(os.path.join(self.daemon.folder, "log"), encoding="utf-8") as log:
            for line in log:
                found = re.search(r"Z info (?:write command=(\S+)|writes command=(\S+) calls=(\d+)) .*user=(\"[^\"]*\"|\S+) uid=", line)
                if found and (found[1] or found[2]) in commands:
                    writers += [found[4]] * int(found[3] or 1)
        return writers

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def post(self, path, body, token=TOKEN, headers=None):
        """Posts as an executor does. Returns the status and the answer, which is JSON except for refusals by the HTTP server itself."""
        connection = self.connect()
        all_headers = {"Content-Type": "application/json", **({"XXL-JOB-ACCESS-TOKEN": token} if token is not None else {}), **(headers or {})}
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request("POST", path, body, all_headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, json.loads(content) if answer.getheader("Content-Type", "").startswith("application/json") else content

    def register(self, group, address, token=TOKEN, path="/api/registry", headers=None):
        return self.post(path, {"registryGroup": "EXECUTOR", "registryKey": group, "registryValue": address}, token, headers)


def run_cases(cases, *given, only=(), of=""):
    """Runs the functions, or those that 'only' names, and prints the name of each before it begins, so that a failure has a name. 'of': a
    text before the names."""
    wanted = [case for case in cases if not only or case.__name__ in only]
    before = of + ": " if of else ""
    for case in wanted:
        print(f"{before}{case.__name__} ...", flush=True)
        case(*given)
    print(f"{before}{len(wanted)} of {len(cases)} cases passed", flush=True)
