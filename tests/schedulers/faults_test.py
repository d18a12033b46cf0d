#!/usr/bin/env python3
"""Three rondods with their jobs on one real database server, and an executor that knows all of them, while faults of each kind follow one another in a
random order. At the end each instant has one row, each run has succeeded, and no attempt was ordered twice.
Usage: faults_test.py postgresql|mariadb RONDO RONDOD [--seconds S] [--pause S] [--seed N]: faults go on for S seconds, and until each kind was there."""
import argparse
import contextlib
import itertools
import os
import queue
import random
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "executors"))
from executor_kit import PATIENCE, Scheduler, poll  # noqa: E402
from imitated_executors import Executor  # noqa: E402
from database_servers import KINDS  # noqa: E402

OWN_JOBS, JOBS_OF_EXECUTOR = 30, 10
PERIOD_MS = 200


class Wire:
    """A socket between one scheduler and the server. cut() keeps its connections, and carries nothing any more; heal() ends them."""

    def __init__(self, server):
        self.server = os.path.join(server.folder, server.SOCKET_NAME)
        self.folder = tempfile.mkdtemp(prefix="rondo-wire-")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(os.path.join(self.folder, server.SOCKET_NAME))
        self.listener.listen()
        self.url = server.url_at(self.folder)
        self.is_cut = threading.Event()
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.carry)
        self.thread.start()

    def cut(self):
        self.is_cut.set()

    def heal(self):
        self.is_cut.clear()

    def carry(self):
        peers = {}
        with selectors.DefaultSelector() as watched:
            watched.register(self.listener, selectors.EVENT_READ)

            def end(one):
                for side in (one, peers.pop(one, None)):
                    if side is not None and peers.pop(side, one) is not None:
                        watched.unregister(side)
                        side.close()
            while not self.is_over.is_set():
                if self.is_cut.is_set():
                    while self.is_cut.is_set() and not self.is_over.wait(0.02):
                        pass
                    for one in list(peers):
                        if one in peers:
                            end(one)
                for key, _ in watched.select(0.02):
                    one = key.fileobj
                    if one is self.listener:
                        near, far = one.accept()[0], socket.socket(socket.AF_UNIX)
                        try:
                            far.connect(self.server)
                        except OSError:
                            near.close()
                            far.close()
                            continue
                        peers.update({near: far, far: near})
                        watched.register(near, selectors.EVENT_READ)
                        watched.register(far, selectors.EVENT_READ)
                    elif one in peers:
                        try:
                            data = one.recv(65536)
                            peers[one].sendall(data)
                        except OSError:
                            data = b""
                        if not data:
                            end(one)
            for one in [*peers, self.listener]:
                one.close()

    def close(self):
        self.is_over.set()
        self.thread.join()
        shutil.rmtree(self.folder)


class PatientExecutor(Executor):
    """Registers and reports at whichever scheduler takes it, and goes on until one does."""

    def __init__(self, schedulers):
        super().__init__(schedulers[0], "plain")
        self.schedulers = itertools.cycle(schedulers)
        self.ends = queue.Queue()
        self.is_over = threading.Event()
        self.reporter = threading.Thread(target=self.report)
        self.reporter.start()

    def take(self, order):
        answer = super().take(order)
        self.ends.put(order)
        return answer

    def report(self):
        registered = 0.0
        orders = []
        while not self.is_over.is_set():
            with contextlib.suppress(queue.Empty):
                orders.append(self.ends.get(timeout=0.02))
            try:
                if time.monotonic() - registered > 2:
                    self.register()
                    registered = time.monotonic()
                if orders and self.call_back(*[(order["logId"], 200, "well") for order in orders]) == 200:
                    with self.lock:
                        for order in orders:
                            self.working[order["jobId"]].remove(order)
                    orders.clear()
                elif orders:
                    self.next_scheduler()
            except (OSError, AssertionError, ValueError):  # It is away, or a standby.
                self.next_scheduler()

    def next_scheduler(self):
        registered_at = self.scheduler
        self.scheduler = next(self.schedulers)
        if self.scheduler is registered_at:
            self.scheduler = next(self.schedulers)
        self.is_over.wait(0.02)

    def close(self):
        self.is_over.set()
        self.reporter.join()
        super().close()


class Schedulers:
    def __init__(self, stack, rondo, rondod, server, pause, seed):
        self.server, self.pause, self.random = server, pause, random.Random(seed)
        self.wires = [Wire(server) for _ in range(3)]
        for wire in self.wires:
            stack.callback(wire.close)
        self.all = [stack.enter_context(Scheduler(rondo, rondod, {"plain": ""}, store=wire.url)) for wire in self.wires]
        self.executor = stack.enter_context(PatientExecutor(self.all))
        self.owner = poll("one of them runs the jobs", self.find_owner)
        for number in range(OWN_JOBS + JOBS_OF_EXECUTOR):
            self.owner.ask("job", "add", f"job{number}", "--handler", "none" if number < OWN_JOBS else f"executor/plain/work{number}", "--every",
                           f"{PERIOD_MS}ms", "--misfire", "fire-all", "--retries", "5")
        self.wait_for_runs()

    def count(self, condition):
        return int(self.server.sql(f"SELECT count(*) FROM rondo.runs WHERE {condition}"))

    def wait_for_runs(self):
        """The jobs of both kinds go on."""
        for kind in ("worker = ''", "worker <> ''"):
            ended = f"ended IS NOT NULL AND {kind}"
            before = self.count(ended)
            poll(f"further runs with {kind}", lambda ended=ended, before=before: self.count(ended) >= before + 50)

    def find_owner(self):
        """By the name in the table: a stopped scheduler answers no question."""
        name = self.server.sql(f"SELECT name FROM rondo.shards WHERE shard = 0 AND until > {self.server.NOW}")
        return next((one for one in self.all if f"process {one.daemon.process.pid} " in name), None)

    def wait_for_other_owner(self, before):
        poll("another one has the jobs", lambda: self.find_owner() not in (None, before))

    # --- faults

    def owner_is_killed(self, owner):
        owner.kill()
        self.wait_for_other_owner(owner)
        owner.start()

    def owner_is_ended(self, owner):
        owner.stop()
        self.wait_for_other_owner(owner)
        owner.start()

    def owner_is_stopped(self, owner):
        owner.daemon.process.send_signal(signal.SIGSTOP)
        self.wait_for_other_owner(owner)
        self.stay(self.pause)
        owner.daemon.process.send_signal(signal.SIGCONT)

    def owner_is_stopped_in_a_transaction(self, owner):
        """Its locks must not hold up the others."""
        process = owner.daemon.process

        def is_in_one():
            process.send_signal(signal.SIGSTOP)
            self.stay(0.15)  # MariaDB reads its list of transactions at most each 100 ms.
            if self.server.sql(self.server.IDLE_TRANSACTIONS):
                return True
            process.send_signal(signal.SIGCONT)
            return False
        poll("it is in a transaction", is_in_one)
        self.wait_for_other_owner(owner)
        self.stay(self.pause)
        process.send_signal(signal.SIGCONT)

    def wire_of_owner_is_cut(self, owner):
        wire = self.wires[self.all.index(owner)]
        wire.cut()
        self.wait_for_other_owner(owner)
        wire.heal()

    def server_crashes(self, _owner):
        self.server.crash()
        self.server.start()

    def connections_are_ended(self, _owner):
        for _ in range(5):
            self.server.end_connections()

    def someone_holds_the_rows(self, _owner):
        """An administrator has locked all rows of the owner for longer than a lease."""
        self.server.sql(f"BEGIN; SELECT shard FROM rondo.shards FOR UPDATE; SELECT {self.server.SLEEP}(8); COMMIT")

    @staticmethod
    def stay(seconds):
        """The length of a fault is a part of the fault; nothing is expected at its end."""
        time.sleep(seconds)

    def suffer(self, seconds):
        faults = [self.owner_is_killed, self.owner_is_ended, self.owner_is_stopped, self.owner_is_stopped_in_a_transaction, self.wire_of_owner_is_cut,
                  self.server_crashes, self.connections_are_ended, self.someone_holds_the_rows]
        begun, count = time.monotonic(), 0
        while count == 0 or time.monotonic() < begun + seconds:
            self.random.shuffle(faults)
            for fault in faults:
                owner = poll("one of them runs the jobs", self.find_owner)
                fault(owner)
                self.wait_for_runs()
                count += 1
                print(f"  {time.monotonic() - begun:5.1f} s {fault.__name__}", flush=True)
        return count

    # --- what must hold at the end

    def check(self):
        # A job that is stopped has runs that are to come, or wait for a further attempt. Those of the faults end by themselves before.
        of_faults = f"scheduled < {time.time_ns()}"
        # An executor in Python has one run after the other of each job, and on a slow machine it has fallen behind by minutes.
        poll("the runs of the faults have ended", lambda: self.count(f"ended IS NULL AND {of_faults}") == 0, patience=3 * PATIENCE)
        for number in range(OWN_JOBS + JOBS_OF_EXECUTOR):
            poll("the job is stopped", lambda number=number: any(one.daemon.run("job", "stop", f"job{number}").returncode == 0 for one in self.all))
        poll("all runs have ended", lambda: self.count("ended IS NULL") == 0)
        gaps = self.server.sql("SELECT count(*) FROM (SELECT scheduled - lag(scheduled) OVER (PARTITION BY job ORDER BY scheduled) AS step FROM rondo.runs) "
                               f"AS steps WHERE step <> {PERIOD_MS * 1_000_000}")
        assert gaps == "0", f"{gaps} gaps or doubled instants"
        others = self.server.sql(f"SELECT state, {self.server.TEXT_OF_NOTE}, count(*) FROM rondo.runs WHERE state <> 1 AND "
                                 f"({of_faults} OR {self.server.TEXT_OF_NOTE} NOT LIKE 'the job was stopped%') GROUP BY 1, 2")
        assert not others, others
        orders = [order["logId"] for order in self.executor.orders]
        assert len(orders) == len(set(orders)), "an attempt was ordered twice"
        return self.count("true"), len(orders)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("kind", choices=KINDS)
    options.add_argument("rondo")
    options.add_argument("rondod")
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--pause", type=float, default=1)
    options.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    given = options.parse_args()
    if KINDS[given.kind].why_missing():
        print(f"SKIPPED: {KINDS[given.kind].why_missing()}")
        sys.exit(77)
    print(f"seed {given.seed}", flush=True)
    with KINDS[given.kind]() as server, contextlib.ExitStack() as stack:
        schedulers = Schedulers(stack, given.rondo, given.rondod, server, given.pause, given.seed)
        faults = schedulers.suffer(given.seconds)
        runs, orders = schedulers.check()
        print(f"{faults} faults, {runs} runs, {orders} orders: no gap, nothing doubled, nothing lost")


if __name__ == "__main__":
    main()
