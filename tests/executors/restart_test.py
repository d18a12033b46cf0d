#!/usr/bin/env python3
"""A rondod whose listening socket belongs to the service manager, here to the test: while rondod is killed or restarted under load, no
connection is refused, and no run is lost. The clients give up at their first refused connection, as npm's xxl-job does. Usage:
restart_test.py RONDO RONDOD [CASE ...]."""
import http.client
import os
import sys
import threading

sys.dont_write_bytecode = True
from executor_kit import Scheduler, run_cases  # noqa: E402
from imitated_executors import GoExecutor  # noqa: E402

GROUP = "restarts"
JOBS = [f"job-{number}" for number in range(4)]
ROUNDS = 3


def until_answered(send):
    """Repeats a call whose connection was accepted and then broken by the end of rondod. ConnectionRefusedError leaves it."""
    while True:
        try:
            return send()
        except ConnectionRefusedError:
            raise
        except (ConnectionError, http.client.HTTPException):
            pass


class Beats:
    """Threads that register the executor without a pause until the end of the context."""

    def __init__(self, executor):
        self.executor = executor
        self.answered = 0
        self.failed = []
        self.is_done = threading.Event()
        self.threads = [threading.Thread(target=self.beat) for _ in range(2)]

    def beat(self):
        try:
            while not self.is_done.is_set():
                status, _ = until_answered(lambda: self.executor.scheduler.register(GROUP, self.executor.address))
                assert status in (200, 503), status  # 503: a request in the moment of the stop.
                self.answered += status == 200
        except Exception as error:  # pylint: disable=broad-except; the test reports it
            self.failed.append(repr(error))

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.is_done.set()
        for thread in self.threads:
            thread.join()


def restart_with(scheduler, executor, end):
    """Rounds in which rondod ends by end() while the executor has runs, and the executor reports them before rondod is there again."""
    with Beats(executor) as beats:
        for _ in range(ROUNDS):
            known = len(executor.orders)
            runs = {job: scheduler.trigger(job) for job in JOBS}
            executor.next_order(known + len(JOBS))
            for job, run in runs.items():
                scheduler.wait_until_running(job, run)
            end()
            codes = []
            reports = [threading.Thread(target=lambda order=order: codes.append(until_answered(
                lambda: executor.call_back((order["logId"], 200, "done"))))) for order in executor.orders[known:]]
            for report in reports:
                report.start()
            scheduler.start()
            for report in reports:
                report.join()
            assert codes == [200] * len(JOBS), codes
            for job, run in runs.items():
                assert "done" in scheduler.wait_for_end(job, run, "succeeded")["note"]
    assert beats.failed == [], beats.failed
    assert beats.answered > 0
    assert len(executor.orders) == known + len(JOBS), "an order was sent twice"


def no_connection_is_refused_while_rondod_is_killed(scheduler, executor):
    restart_with(scheduler, executor, scheduler.kill)


def no_connection_is_refused_while_rondod_is_restarted(scheduler, executor):
    restart_with(scheduler, executor, scheduler.stop)


def rondod_names_the_socket_in_its_log(scheduler, _):
    with open(os.path.join(scheduler.daemon.folder, "log"), encoding="utf-8") as file:
        lines = [line for line in file if "listening for HTTP" in line]
    assert lines and all(f"127.0.0.1:{scheduler.port}" in line and "service manager" in line for line in lines), lines


CASES = [no_connection_is_refused_while_rondod_is_killed, no_connection_is_refused_while_rondod_is_restarted,
         rondod_names_the_socket_in_its_log]


def main():
    rondo, rondod, *only = sys.argv[1:]
    with Scheduler(rondo, rondod, {GROUP: ""}, is_handed_over=True) as scheduler, GoExecutor(scheduler, GROUP) as executor:
        for job in JOBS:
            scheduler.add_job(job, f"executor/{GROUP}/works")
        executor.register()
        run_cases(CASES, scheduler, executor, only=only)


if __name__ == "__main__":
    main()
