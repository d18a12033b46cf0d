#!/usr/bin/env python3
"""The executors of examples/executors/, which the guide shows, unchanged, each through a real rondod: registration, success, failure, kill,
log, and a result for a rondod that was away. Usage: examples_test.py RONDO RONDOD [CASE ...]. Exit status 77, with a message, without node."""
import contextlib
import http.client
import json
import os
import shutil
import socket
import subprocess
import sys

sys.dont_write_bytecode = True
from executor_kit import PATIENCE, TOKEN, Scheduler, poll, run_cases  # noqa: E402

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "executors")


class Example:
    """A process of an example, which rondod knows when it is made."""

    def __init__(self, scheduler, words, token=TOKEN):
        with socket.socket() as free:  # Bound and not listening, so the port stays free until the program has it.
            free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        environment = {**os.environ, "RONDOD": scheduler.url, "TOKEN": token, "HOST": "127.0.0.1", "PORT": str(self.port)}
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL)
        self.scheduler = scheduler

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(PATIENCE)
        with contextlib.suppress(ConnectionError):  # A case that failed may have left no rondod.
            self.scheduler.register("demo", self.address, path="/api/registryRemove")

    def is_known(self):
        assert self.process.poll() is None, "the example has ended"
        return self.address in self.scheduler.usable("demo")


def run(scheduler, job, state):
    return scheduler.wait_for_end(job, scheduler.trigger(job), state)


def log_of(scheduler, number):
    said = scheduler.daemon.run("job", "log", str(number))
    assert said.returncode == 0, said
    return said.stdout


def registers_and_succeeds(scheduler, words):
    with Example(scheduler, words) as example:
        poll("the example has registered", example.is_known)
        ended = run(scheduler, "greet", "succeeded")
        assert "greeted" in ended["note"], ended
        assert log_of(scheduler, ended["run"]) == "hello w\u00f6rld\n"


def shares_the_runs(scheduler, words):
    """Two processes: the runs of a job with the route ROUND go to both."""
    with Example(scheduler, words) as one, Example(scheduler, words) as two:
        poll("both have registered", lambda: one.is_known() and two.is_known())
        places = []
        for _ in range(4):
            number = run(scheduler, "greet", "succeeded")["run"]
            said = scheduler.daemon.run("--json", "job", "log", str(number))
            assert "hello w" in said.stdout, said
            places.append(json.loads(said.stdout.splitlines()[0])["worker"])
        assert sorted(places) == sorted([one.address, two.address] * 2), places


def fails(scheduler, words):
    with Example(scheduler, words) as example:
        poll("the example has registered", example.is_known)
        ended = run(scheduler, "fails", "failed")
        assert "no greeting" in ended["note"], ended
        failures = scheduler.ask("job", "failures")["rows"]
        assert [(row["job"], row["run"]) for row in failures][:1] == [("fails", ended["run"])], failures
        assert "no greeting" in run(scheduler, "fails", "failed")["note"], "it works on"
        assert "no such path or handler" in run(scheduler, "unknown", "failed")["note"]


def is_killed(scheduler, words):
    """A kill ends the run, and the executor reports its end itself."""
    with Example(scheduler, words) as example:
        poll("the example has registered", example.is_known)
        callbacks = scheduler.figures()["callbacks"]
        number = scheduler.trigger("waits")
        scheduler.wait_until_running("waits", number)
        assert log_of(scheduler, number) == "hello wait\n"
        scheduler.ask("job", "kill", str(number))
        scheduler.wait_for_end("waits", number, "killed")
        assert scheduler.figures()["callbacks"] == callbacks + 1, scheduler.figures()
        run(scheduler, "greet", "succeeded")


def reports_when_rondod_is_back(scheduler, words):
    """The run ends while rondod is away: the result is repeated until rondod has it."""
    with Example(scheduler, words) as example:
        poll("the example has registered", example.is_known)
        number = scheduler.trigger("waits")
        scheduler.wait_until_running("waits", number)
        scheduler.kill()
        assert call(example, "/idleBeat", {"jobId": 2**31 - 1})["code"] == 200, "it does nothing for another job"
        busy = [job for job in range(1, 10) if call(example, "/idleBeat", {"jobId": job})["code"] != 200]
        assert len(busy) == 1 and call(example, "/kill", {"jobId": busy[0]})["code"] == 200, busy
        assert call(example, "/idleBeat", {"jobId": busy[0]})["code"] == 500, "it keeps the result"
        scheduler.start()
        ended = scheduler.wait_for_end("waits", number, "failed")
        assert "no greeting" in ended["note"], ended
        poll("it has nothing more to report", lambda: call(example, "/idleBeat", {"jobId": busy[0]})["code"] == 200)


def answers_only_with_the_token(scheduler, words):
    with Example(scheduler, words, "another-token-of-32-characters-x") as example:
        poll("it listens", lambda: is_listening(example))
        for token in (None, TOKEN):
            assert call(example, "/beat", {}, token)["code"] == 500
        assert example.address not in scheduler.usable("demo")
        assert scheduler.register("demo", example.address)[1]["code"] == 200
        assert "wrong token" in run(scheduler, "greet", "failed")["note"]


def is_listening(example):
    with contextlib.suppress(ConnectionError):
        call(example, "/beat", {})
        return True
    return False


def call(example, path, body, token=TOKEN):
    """Calls the example as rondod does."""
    connection = http.client.HTTPConnection("127.0.0.1", example.port, timeout=PATIENCE)
    headers = {} if token is None else {"XXL-JOB-ACCESS-TOKEN": token}
    connection.request("POST", path, json.dumps(body), headers)
    with contextlib.closing(connection):
        return json.loads(connection.getresponse().read())


CASES = (registers_and_succeeds, shares_the_runs, fails, is_killed, reports_when_rondod_is_back, answers_only_with_the_token)


def main(rondo, rondod, *only):
    node = shutil.which("node")
    for words in ([sys.executable, os.path.join(FOLDER, "executor.py")], [node, os.path.join(FOLDER, "executor.mjs")]):
        if words[0] is None:
            print("skipped: there is no node, so executor.mjs was not run")
            sys.exit(77)
        with Scheduler(rondo, rondod, {"demo": ""}) as scheduler:
            for job, parameters in (("greet", "w\u00f6rld"), ("fails", "fail"), ("waits", "wait")):
                scheduler.add_job(job, "executor/demo/greet", "--parameters", parameters, "--route", "round")
            scheduler.add_job("unknown", "executor/demo/absent")
            run_cases(CASES, scheduler, words, only=only, of=os.path.basename(words[1]))


if __name__ == "__main__":
    main(*sys.argv[1:])
