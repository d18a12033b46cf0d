#!/usr/bin/env python3
"""rondo with a daemon that is not rondod: examples/13_admin_socket.cc, which has tables and a command of its own. Each command works there, and its
--json matches docs/schema. Exit status 77, with a message, without python3-jsonschema."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from schema_test import Checker  # noqa: E402
from rondod_process import PATIENCE  # noqa: E402


class OwnDaemon:
    def __init__(self, program, rondo):
        self.rondo = rondo
        self.folder = tempfile.mkdtemp(prefix="rondo-own-")
        self.socket = os.path.join(self.folder, "socket")
        self.process = subprocess.Popen([program, self.socket])
        while self.run("version").stdout.find("balancer 1.0") < 0:
            assert self.process.poll() is None, "it ended"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        try:
            assert self.process.wait(PATIENCE) == 0
        finally:
            self.process.kill()
            shutil.rmtree(self.folder)

    def end(self):
        self.run("call", "quit")

    def run(self, *words):
        return subprocess.run([self.rondo, "--socket", self.socket, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)

    def done(self, *words):
        said = self.run(*words)
        assert said.returncode == 0, (words, said)
        return said.stdout

    def refused(self, *words):
        said = self.run(*words)
        assert said.returncode != 0 and not said.stdout, (words, said)
        return said.stderr

    def state(self, key, wanted):
        """The answer of why when the row has this state: a row is handled in a later turn than the one that accepts it."""
        for _ in range(1000):
            text = self.done("--json", "why", "SERVICE", key)
            if json.loads(text)["chain"][0]["state"] == wanted:
                break
        assert json.loads(text)["chain"][0]["state"] == wanted, text
        return text


def check_rows(daemon, checker):
    checker.check("set", daemon.done("--json", "set", "SERVICE", "web", "backend=b1"))
    chain = checker.check("why", daemon.state("web", "parked"))["chain"]
    assert [(link["table"], link["state"]) for link in chain] == [("SERVICE", "parked"), ("BACKEND", "absent")], chain
    checker.check("parked", daemon.done("--json", "parked"))
    checker.check("parked", daemon.done("--json", "parked", "SERVICE"))
    path = os.path.join(daemon.folder, "rows.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('[{"BACKEND:b1": {"port": "80"}, "OP": "SET"}, {"BACKEND:b2": {}, "OP": "SET"}]')
    checker.check("load", daemon.done("--json", "load", path))
    checker.check("why", daemon.state("web", "done"))
    checker.check("why", daemon.state("none", "absent"))
    assert checker.check("get", daemon.done("--json", "get", "BACKEND", "b1"))["fields"] == [["port", "80"]]
    assert len(checker.check("keys", daemon.done("--json", "keys", "BACKEND"))["rows"]) == 2
    checker.check("del", daemon.done("--json", "del", "BACKEND", "b2"))
    assert "did you mean 'SERVICE'" in daemon.refused("get", "SERVISE", "web")


def offers(daemon, *words):
    """A shell waits for at most 300 ms: on a busy machine it is offered nothing, and the user presses Tab again."""
    for _ in range(1000):
        said = subprocess.run([daemon.rondo, "complete", "--", "--socket", daemon.socket, *words], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
        if said:
            break
    return said


def check_own_commands(daemon, checker):
    assert "drain" in daemon.done("commands")
    assert "usage: rondo call drain backend=TEXT" in daemon.refused("call", "drain")
    assert "did you mean 'backend'" in daemon.refused("call", "drain", "backnd=b1")
    assert "did you mean 'drain'" in daemon.refused("call", "drian", "backend=b1")
    assert "no backend 'b9' is up" in daemon.refused("call", "drain", "backend=b9")
    assert checker.check("call", daemon.done("--json", "call", "drain", "backend=b1")) == {"backend": "b1", "drained": True}
    daemon.state("web", "parked")
    daemon.done("call", "set", "table=BACKEND", "key=b1", "fields.port=81")
    daemon.state("web", "done")
    assert "drained" in daemon.done("call", "drain", "backend=b1")
    assert json.loads(daemon.done("--json", "call", "get", "table=BACKEND", "key=b1"))["fields"] == [["port", "81"]]
    assert json.loads(daemon.done("--json", "call", "keys", "table=BACKEND", "count=1"))["rows"] == [{"key": "b1"}]
    assert "must be an integer" in daemon.refused("call", "keys", "table=BACKEND", "count=many")
    assert offers(daemon, "call", "dr").startswith("drain\t")
    assert offers(daemon, "call", "drain", "").startswith("backend=\t")


def check_figures(daemon, checker):
    for name in ("tables", "sources", "stats", "log", "commands", "version"):
        checker.check(name, daemon.done("--json", name))
        daemon.done(name)
    assert checker.check("turns", daemon.done("--json", "turns", "--for", "0.1"))["rows"]
    assert checker.check("health", daemon.done("--json", "health"))["healthy"]
    for frame in daemon.done("--json", "top", "--batch", "2", "--every", "0.1").splitlines():
        checker.check("top", frame)
    assert "SOURCE" in daemon.done("top") and "data plane" not in daemon.done("top")
    checker.check("dump", daemon.done("--json", "dump", os.path.join(daemon.folder, "bundle.tar")))
    assert "unknown command 'ports'" in daemon.refused("ports"), "a switch has ports"


def check_streams(daemon, checker):
    readers = [(name, subprocess.Popen([daemon.rondo, "--socket", daemon.socket, "--json", name, "BACKEND", "b5", "--count", "2", "--timeout", str(PATIENCE)],
                                       stdout=subprocess.PIPE, text=True)) for name in ("watch", "trace")]
    while json.loads(daemon.done("--json", "top", "--once"))["watchers"] < 2:
        pass
    for port in ("1", "2"):
        daemon.done("set", "BACKEND", "b5", "port=" + port)
    for name, reader in readers:
        lines = reader.communicate(timeout=PATIENCE)[0].splitlines()
        assert reader.returncode == 0 and len(lines) == 2, (name, lines)
        for line in lines:
            checker.check(name, line)


class EndedBySignal(OwnDaemon):
    """The way of docs/guide/writing-orchs.md to end on SIGTERM: it ends with 0, as it does with `quit`."""

    def end(self):
        self.process.terminate()


def main():
    rondo, program, schemas = sys.argv[1:4]
    checker = Checker(schemas)
    with OwnDaemon(program, rondo) as daemon:
        check_rows(daemon, checker)
        check_own_commands(daemon, checker)
        check_figures(daemon, checker)
        check_streams(daemon, checker)
    with EndedBySignal(program, rondo) as daemon:
        daemon.done("set", "BACKEND", "b1")
    print(f"own daemon: {len(checker.checked)} kinds of output are as described")


if __name__ == "__main__":
    main()
