#!/usr/bin/env python3
"""The console in Debian's Chromium, beside a real rondod: every page and the main paths, both themes, the width of a telephone, axe-core, and
what a browser may not do.

Usage: console_test.py RONDO RONDOD CACHE [CASE ...]. playwright-core and axe-core are installed into the folder CACHE once. Exit status 77, with a
message, without Chromium, node or npm. With RONDO_CONSOLE_PICTURES=FOLDER the pictures of all pages stay there; those of the documents are in its folder
"guide" (docs/pictures has them).
"""
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "executors"))
from executor_kit import PATIENCE, poll  # noqa: E402
from npm_kit import install, skip  # noqa: E402
from rondod_process import Rondod  # noqa: E402

LEFT_OUT = "the console was"
PORTS = [f"Ethernet{4 * number}" for number in range(8)]
ROUTES = 20000
WORKER = '''[worker]
name = "worker-1"
socket = "{socket}"
state = "{folder}/worker"
[command.fails]
program = "/bin/sh"
arguments = ["-c", "echo begun; echo '<b>bold</b>'; exit 3"]
[command.talks]
program = "/bin/sh"
arguments = ["-c", "echo first line; until [ -e '{folder}/go-on' ]; do sleep 0.1; done; echo last line"]
'''


class Box:
    """A rondod with routes, rows that wait, jobs of which some fail, and tokens of each role."""

    def __init__(self, rondo, rondod):
        self.folder = tempfile.mkdtemp(prefix="rondo-console-")
        sections = (f'[http]\nenabled = true\napi = true\ntokens = "{self.folder}/tokens"\n'
                    '[[executors.group]]\nname = "billing"\nallow_without_token = ["127.0.0.0/8"]\n')
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.daemon = Rondod(rondod, rondo, store=sections, jobs=True, ports=PORTS, passed=self.listener)
        self.tokens = {role: self.ask("token-add", role, role)["token"] for role in ("admin", "operator", "viewer", "worker")}
        self.tokens["team"] = self.ask("token-add", "team", "viewer", "--group", "billing")["token"]

    def ask(self, *words):
        said = self.daemon.run("--json", *words)
        assert said.returncode == 0, (words, said)
        return json.loads(said.stdout) if said.stdout else {}

    def fill(self):
        self.ask("feed", "routes", "--synthetic", str(ROUTES), "--also", "all")
        self.ask("set", "ROUTE_TABLE", "198.51.100.0/24", "nexthop_group=777")
        self.ask("set", "NEXTHOP_GROUP_TABLE", "777", "nexthop=10.254.0.250", "ifname=Ethernet0")
        self.ask("job", "add", "nightly/backup", "--handler", "none", "--cron", "0 2 * * *", "--zone", "Europe/Berlin", "--owner", "platform")
        self.ask("job", "add", "each-second", "--handler", "none", "--every", "1s")
        self.ask("job", "add", "fails", "--handler", "command/fails", "--manual", "--retries", "0")
        self.ask("job", "add", "talks", "--handler", "command/talks", "--manual", "--retries", "0")

    def failed_run(self):
        """The number of a run that has failed."""
        self.ask("job", "trigger", "fails")
        ended = poll("a run has failed", lambda: [run for run in self.ask("job", "runs", "fails")["rows"] if run["state"] == "failed"])
        return ended[0]["run"]

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            with open(os.path.join(self.daemon.folder, "log"), encoding="utf-8") as log:
                print("the end of rondod's log:\n" + log.read()[-4000:], file=sys.stderr)
        self.daemon.__exit__()
        self.listener.close()
        shutil.rmtree(self.folder)


def browser():
    for name in ("chromium", "chromium-browser"):
        if (path := shutil.which(name)) is not None:
            return path
    return skip("Chromium is not installed", LEFT_OUT)


def main(rondo, rondod, cache, *only):
    chromium = browser()
    cache = os.path.abspath(cache)
    install(os.path.join(HERE, "package.json"), cache, LEFT_OUT)
    pictures = os.environ.get("RONDO_CONSOLE_PICTURES")
    with Box(rondo, rondod) as box:
        box.fill()
        poll("the routes are done", lambda: box.ask("tables") and any(
            row["table"] == "ROUTE_TABLE" and row.get("installed", 0) >= ROUTES for row in box.ask("tables")["rows"]))
        config = os.path.join(box.folder, "worker.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(WORKER.format(socket=box.daemon.socket, folder=box.folder))
        with open(os.path.join(box.folder, "worker.log"), "w", encoding="utf-8") as log:
            worker = subprocess.Popen([rondo, "worker", "--config", config], stdout=log, stderr=log)
            try:
                given = {"base": f"http://127.0.0.1:{box.port}", "tokens": box.tokens, "chromium": chromium, "only": only,
                         "pictures": pictures or os.path.join(box.folder, "pictures"), "failed": box.failed_run(), "pid": box.daemon.process.pid, "documents": pictures is not None}
                for name in ("browser.mjs", "kit.mjs"):
                    shutil.copy(os.path.join(HERE, name), cache)  # Beside node_modules, where Node looks for packages.
                subprocess.run(["node", os.path.join(cache, "browser.mjs"), json.dumps(given)], check=True, timeout=PATIENCE * 4)
            finally:
                worker.terminate()
                worker.wait(PATIENCE)


if __name__ == "__main__":
    main(*sys.argv[1:])
