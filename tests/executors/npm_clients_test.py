#!/usr/bin/env python3
"""Runs at executors that use the clients `xxl-job` and `@dalongrong/xxl-job-executor` from npm, unchanged, through a real rondod.

Usage: npm_clients_test.py RONDO RONDOD CACHE [CASE ...]. The clients are installed into the folder CACHE once, at the versions of package.json. Exit
status 77, with a message, without node or npm, or if they cannot be installed. npm_client.cjs is the executor.
"""
import json
import os
import subprocess
import sys
import threading

sys.dont_write_bytecode = True
from executor_kit import PATIENCE, TOKEN, Scheduler, poll, run_cases  # noqa: E402
from npm_kit import install  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
FIRST = "xxl-job"
SECOND = "@dalongrong/xxl-job-executor"
GROUPS = {FIRST: "first", SECOND: "second"}
OTHER_TOKEN = "another-token-of-32-characters-x"
HELD = "released"


class Client:
    """A process with the client. 'events' has what it has told."""

    def __init__(self, scheduler, name, cache, token=TOKEN):
        self.scheduler = scheduler
        self.group = GROUPS[name]
        self.events = []
        self.output = []
        environment = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        environment |= {"SCHEDULER": scheduler.url, "GROUP": self.group, "TOKEN": token, "LOGS": os.path.join(scheduler.folder, "logs")}
        self.process = subprocess.Popen(["node", os.path.join(HERE, "npm_client.cjs"), name, cache], stdin=subprocess.PIPE, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, cwd=scheduler.folder)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.address = self.wait_for("listens")["address"]

    def read(self):
        for line in self.process.stdout:
            if line.startswith("@ "):
                self.events.append(json.loads(line[2:]))
            else:
                self.output.append(line)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            print("the client:\n" + "".join(self.output[-40:]), file=sys.stderr)
        self.process.kill()
        self.process.wait(PATIENCE)
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()

    def named(self, event, **fields):
        return [one for one in self.events if one["event"] == event and all(one.get(key) == value for key, value in fields.items())]

    def wait_for(self, event, number=1, **fields):
        def told():
            found = self.named(event, **fields)
            assert len(found) >= number or self.is_alive(), "".join(self.output[-40:])
            return len(found) >= number and found[number - 1]
        return poll(f"event '{event}' number {number}", told)

    def is_alive(self):
        return self.process.poll() is None

    def command(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()

    def beat(self):
        """Has it register again, and waits until rondod knows that."""
        self.command("beat")
        poll("the registration", lambda: self.address in self.scheduler.usable(self.group))

    def forgets_connections(self):
        """Waits until it knows that the connections to a rondod that has ended are closed."""
        def keeps_none():
            number = len(self.named("keeps"))
            self.command("connections")
            return self.wait_for("keeps", number + 1)["connections"] == 0
        poll("the end of its connections", keeps_none)

    def leave(self):
        self.command("leave")
        self.wait_for("left")


def job(client, name):
    return f"{client.group}-{name}"


def run(client, name, state):
    number = client.scheduler.trigger(job(client, name))
    return client.scheduler.wait_for_end(job(client, name), number, state)


def begin_held(client, name="hold"):
    """Begins a run that ends when it is released. Returns its number."""
    begun = len(client.named("begins", name="hold"))
    number = client.scheduler.trigger(job(client, name))
    client.wait_for("begins", begun + 1, name="hold")
    client.scheduler.wait_until_running(job(client, name), number)
    return number


def registers(client):
    client.beat()
    row = next(row for row in client.scheduler.executors(client.group) if row["address"] == client.address)
    assert row["usable"] and row["registers"] and row["address"].endswith("/job"), row


def succeeds(client):
    assert '{"rows":42}' in run(client, "greet", "succeeded")["note"]


def fails(client):
    assert "no disk" in run(client, "fail", "failed")["note"]


def refuses_an_unknown_handler(client):
    note = run(client, "nothing", "failed")["note"]
    assert "did not accept the run" in note and "o matched jobHandler" in note, note


def gets_parameters(client):
    """The first client gives its handlers the text, and the second one what the text is in JSON."""
    parameters = json.loads(run(client, "echo", "succeeded")["note"])["parameters"]
    assert parameters == ('{"text": "a € b"}' if client.group == GROUPS[FIRST] else {"text": "a € b"}), parameters


def stays_killed(client):
    """The first client reports a killed run as a success, and the second one refuses a kill and reports the end of the work."""
    number = begin_held(client)
    client.scheduler.ask("job", "kill", str(number))
    client.command("release")
    client.scheduler.wait_for_end(job(client, "hold"), number, "killed")
    late_result(client, number, "killed")


def old_handler_ends_the_next_run(client):
    """The client xxl-job knows its runs by the number of their job alone. So a handler that works on after a kill ends the next run of the
    job, whose own handler still works. The report does not show that, and rondod takes it. The second client refuses a kill and such a run."""
    if client.group != GROUPS[FIRST]:
        return
    killed = begin_held(client)
    client.scheduler.ask("job", "kill", str(killed))
    client.scheduler.wait_for_end(job(client, "hold"), killed, "killed")
    number = begin_held(client)
    client.command("release")  # The handler of the killed run.
    assert HELD in client.scheduler.wait_for_end(job(client, "hold"), number, "succeeded")["note"]
    client.command("release")
    late_result(client, number, "succeeded")


def times_out(client):
    """Both clients report a failure with a text when the time is over. rondod watches the time too, and stops the run, which the first client
    reports as a success. The run is timed-out if rondod comes first, and failed if the client does. A later report of the second client, a
    success, changes nothing."""
    number = client.scheduler.trigger(job(client, "hold-1s"))
    ended = poll("the end", lambda: (row := client.scheduler.run_of(job(client, "hold-1s"), number))["ended"] and row)
    assert ended["state"] == "timed-out" or (ended["state"] == "failed" and "imeout" in ended["note"]), ended
    client.command("release")
    late_result(client, number, ended["state"])


def late_result(client, number, state):
    """The client still works after its late result, and the run of which it was has not changed."""
    succeeds(client)
    runs = client.scheduler.ask("job", "runs", job(client, "hold"))["rows"] + client.scheduler.ask("job", "runs", job(client, "hold-1s"))["rows"]
    assert [one["state"] for one in runs if one["run"] == number] == [state], runs


def is_linked_after_a_crash(client):
    """rondod is killed while the client has a run. It gets the result afterwards, does not send the run again, and the client lives on.

    The test keeps from the clients what they do not survive, or lose the result by: a request between the two processes
    (beat_while_rondod_is_away()), and one on a kept connection whose end they have not noticed yet ("socket hang up").
    """
    number = begin_held(client)
    begun = len(client.named("begins"))
    client.scheduler.kill()
    client.forgets_connections()
    client.scheduler.start()
    client.command("release")
    ended = client.scheduler.wait_for_end(job(client, "hold"), number, "succeeded")
    assert HELD in ended["note"] and ended["attempt"] == 1 and client.is_alive(), ended
    assert client.scheduler.figures()["linked"] == 1 and len(client.named("begins")) == begun
    client.beat()
    succeeds(client)


def is_linked_after_a_stop(client):
    """The same with an orderly stop: rondod leaves the run at the executor, and ends with 0."""
    number = begin_held(client)
    begun = len(client.named("begins"))
    client.scheduler.stop()
    client.forgets_connections()
    client.scheduler.start()
    client.command("release")
    ended = client.scheduler.wait_for_end(job(client, "hold"), number, "succeeded")
    assert HELD in ended["note"] and ended["attempt"] == 1 and client.is_alive(), ended
    assert len(client.named("begins")) == begun
    client.beat()


def leaves(client):
    client.leave()
    assert client.scheduler.usable(client.group) == []


COMMON = (registers, succeeds, fails, refuses_an_unknown_handler, gets_parameters, stays_killed, old_handler_ends_the_next_run, times_out,
          is_linked_after_a_crash, is_linked_after_a_stop, leaves)


def round_shares_the_runs(scheduler, name, cache):
    with Client(scheduler, name, cache) as one, Client(scheduler, name, cache) as two:
        one.beat()
        two.beat()
        for _ in range(6):
            run(one, "round", "succeeded")
        assert (len(one.named("begins")), len(two.named("begins"))) == (3, 3), (one.events, two.events)
        one.leave()
        two.leave()


def broadcast_gives_index_and_total(scheduler, name, cache):
    with Client(scheduler, name, cache) as one, Client(scheduler, name, cache) as two:
        one.beat()
        two.beat()
        assert "2 shards succeeded" in run(one, "broadcast", "succeeded")["note"]
        told = one.named("begins") + two.named("begins")
        assert len(told) == 2 and len(one.named("begins")) == 1, told
        if name == FIRST:  # The second client does not give these numbers to handlers.
            assert sorted((event["shard"], event["shards"]) for event in told) == [(0, 2), (1, 2)], told
        one.leave()
        two.leave()


def wrong_token_gets_nothing(scheduler, name, cache):
    """rondod refuses the registration, so the job waits, and the client lives on. A client that has the right address and another token
    refuses the run."""
    with Client(scheduler, name, cache, OTHER_TOKEN) as client:
        number = scheduler.trigger(job(client, "greet"))
        client.command("beat")
        poll("why it waits", lambda: "executor" in json.dumps(scheduler.ask("why", "JOB_RUN_8", f"{job(client, 'greet')}#{number}")))
        assert client.address not in [row["address"] for row in scheduler.executors(client.group)]
        scheduler.ask("job", "kill", str(number))
        scheduler.wait_for_end(job(client, "greet"), number, "killed")
        assert scheduler.register(client.group, client.address)[1]["code"] == 200
        assert "ccess token incorrect" in run(client, "greet", "failed")["note"]
        assert not client.named("begins") and client.is_alive(), client.events
        assert scheduler.register(client.group, client.address, path="/api/registryRemove")[1]["code"] == 200


def beat_while_rondod_is_away(scheduler, name, cache):
    """The client xxl-job does not handle a refused connection: its process ends, and its runs with it. The second client lives on.

    rondod cannot prevent that: nothing listens at its port while it is restarted. Its run fails when rondod learns that the executor is
    gone, which takes minutes; here an operator kills the run.
    """
    with Client(scheduler, name, cache) as client:
        client.beat()
        number = begin_held(client)
        scheduler.kill()
        client.forgets_connections()
        client.command("beat")
        if name == FIRST:
            assert client.process.wait(PATIENCE) == 1
            client.reader.join()
            assert "ECONNREFUSED" in "".join(client.output), "".join(client.output[:40])
        scheduler.start()
        if name == FIRST:
            scheduler.ask("job", "kill", str(number))
            scheduler.wait_for_end(job(client, "hold"), number, "killed")
            return
        client.command("release")
        assert HELD in scheduler.wait_for_end(job(client, "hold"), number, "succeeded")["note"] and client.is_alive()
        client.leave()


PAIRS = (round_shares_the_runs, broadcast_gives_index_and_total, wrong_token_gets_nothing, beat_while_rondod_is_away)


def add_jobs(scheduler, group):
    for handler in ("greet", "fail", "hold", "nothing"):
        scheduler.add_job(f"{group}-{handler}", f"executor/{group}/{handler}")
    scheduler.add_job(f"{group}-echo", f"executor/{group}/echo", "--parameters", '{"text": "a € b"}')
    scheduler.add_job(f"{group}-hold-1s", f"executor/{group}/hold", "--attempt-timeout", "1s")
    scheduler.add_job(f"{group}-round", f"executor/{group}/greet", "--route", "round")
    scheduler.add_job(f"{group}-broadcast", f"executor/{group}/echo", "--route", "sharding-broadcast")


def main(rondo, rondod, cache, *only):
    cache = os.path.abspath(cache)
    install(os.path.join(HERE, "package.json"), cache, "the clients from npm were")
    with Scheduler(rondo, rondod, {group: "" for group in GROUPS.values()}) as scheduler:
        for name, group in GROUPS.items():
            add_jobs(scheduler, group)
            with Client(scheduler, name, cache) as client:
                run_cases(COMMON, client, only=only, of=name)
            run_cases(PAIRS, scheduler, name, cache, only=only, of=name)


if __name__ == "__main__":
    main(*sys.argv[1:])
