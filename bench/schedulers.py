#!/usr/bin/env python3
"""The throughput of one scheduler of jobs on a database server, without and with standbys, beside the bare rate of its statements.

For each server, in each round: 'bench_job_servers URL waiting' with no, one and two processes that stand by (1, 2 and 3 schedulers), and then
'bench_job_servers URL bare': the statements that store the ends of as many runs, in batches of the same mean size, in a loop by one connection.
A run counts from the time it is due to its stored end. Each has an empty database on the same private server, which writes each commit to the disk.
Prints runs a second, and the medians of the ratios of figures of one round. A server that is not installed is skipped, with the reason.

bench/schedulers.py [--pairs K] [--runs N] [--only SERVER] [--bench PROGRAM]     default: 3 rounds, 50,000 runs, build/bench/bench/bench_job_servers
"""

import argparse
import os
import signal
import statistics
import subprocess
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "tests", "schedulers"))
from database_servers import MariadbServer, PostgresqlServer  # noqa: E402

PATIENCE = 900  # Seconds; only ends what hangs.
TOO_LATE = 3  # The exit status of a program that has not stored all runs in time.
TRIES = 4
SCHEDULERS = (1, 2, 3)
DURABLE = {PostgresqlServer: ["fsync=on", "synchronous_commit=on"], MariadbServer: ["innodb-flush-log-at-trx-commit=1"]}
STATISTICS = {"postgresql": "VACUUM ANALYZE", "mariadb": "ANALYZE TABLE jobs, runs"}


class Program:
    """bench_job_servers with these arguments. It is killed if it hangs, or if it is left over."""

    left = []

    def __init__(self, bench, *arguments):
        self.process = subprocess.Popen([bench, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.timer = threading.Timer(PATIENCE, self.process.kill)
        self.timer.start()
        Program.left.append(self)
        self.words = {}  # The last line that begins with a word, by that word.

    def wait_for(self, word):
        """False: it has ended before."""
        for line in self.process.stdout:
            self.words[line.split()[0]] = line.split()
            if line.startswith(word):
                return True
        return False

    def end(self):
        """Ends its input, and returns its exit status."""
        self.process.stdin.close()
        while self.wait_for("\n"):
            pass
        self.timer.cancel()
        Program.left.remove(self)
        return self.process.wait()

    @staticmethod
    def end_all():
        for program in Program.left:
            program.process.kill()
            program.timer.cancel()

    def rate(self):
        return int(self.words["runs"][1]) / float(self.words["runs"][3])


def throughput(server, bench, schedulers, runs, lead):
    """Returns (runs a second, runs in a batch), or None if the runs were stored too late."""
    server.empty()
    owner = Program(bench, server.url, "waiting", str(runs), str(lead))
    standbys = []
    if owner.wait_for("planned"):
        server.sql(STATISTICS[server.KIND])
        if owner.wait_for("warm"):  # So it owns the jobs.
            standbys = [Program(bench, server.url, "standby") for _ in range(schedulers - 1)]
            for standby in standbys:
                assert standby.wait_for("stands by"), "a standby has ended"
            assert "runs" not in owner.words
            owner.wait_for("runs")
            assert all(standby.end() == 0 for standby in standbys), "a standby runs the jobs"
    status = owner.end()
    if status == TOO_LATE:
        return None
    if status != 0:
        raise SystemExit(f"bench_job_servers failed with exit status {status}")
    return owner.rate(), runs / int(owner.words["batches"][1])


def bare(server, bench, runs, batch):
    server.empty()
    program = Program(bench, server.url, "bare", str(runs), str(max(1, round(batch))))
    assert program.wait_for("planned")
    server.sql(STATISTICS[server.KIND])
    if program.end() != 0:
        raise SystemExit("bench_job_servers bare failed")
    return program.rate()


def measure_round(server, bench, runs, order):
    """Returns {number of schedulers, or "bare": runs a second}."""
    found, batches = {}, []
    for schedulers in order:
        lead = 14 + runs // 5000
        for _ in range(TRIES):
            figures = throughput(server, bench, schedulers, runs, lead)
            if figures is not None:
                break
            lead *= 2
        else:
            raise SystemExit(f"the runs were stored too late {TRIES} times")
        found[schedulers] = figures[0]
        batches.append(figures[1])
    batch = statistics.median(batches)
    found["bare"] = bare(server, bench, runs, batch)
    print(f"{server.KIND:12}" + "".join(f" {found[n]:10,.0f}" for n in (*SCHEDULERS, "bare")) + f" {batch:10,.0f}", flush=True)
    return found


def ratio_text(rounds, above, below):
    ratios = [found[above] / found[below] for found in rounds]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=3, help="rounds; every second one in the other order")
    parser.add_argument("--runs", type=int, default=50_000)
    parser.add_argument("--bench", default="build/bench/bench/bench_job_servers")
    parser.add_argument("--only", choices=list(STATISTICS), help="on this server")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # So that the server ends, too.
    for kind, settings in DURABLE.items():
        if arguments.only not in (None, kind.KIND):
            continue
        if kind.why_missing():
            print(f"SKIPPED: {kind.KIND}: {kind.why_missing()}")
            continue
        with kind(settings=settings) as server:
            print(f"{'runs/s':12}" + "".join(f" {n:>10}" for n in ("1", "2", "3", "bare", "in a batch")))
            try:
                rounds = [measure_round(server, os.path.abspath(arguments.bench), arguments.runs, SCHEDULERS[::-1 if number % 2 else 1])
                          for number in range(arguments.pairs)]
            finally:
                Program.end_all()
            print(f"{kind.KIND}: 2 to 1: {ratio_text(rounds, 2, 1)}; 3 to 1: {ratio_text(rounds, 3, 1)}; 1 to bare: {ratio_text(rounds, 1, 'bare')}; "
                  f"3 to bare: {ratio_text(rounds, 3, 'bare')}; medians of {len(rounds)}, lowest and highest", flush=True)


if __name__ == "__main__":
    main()
