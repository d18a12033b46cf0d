#!/usr/bin/env python3
"""Rondo beside Quartz (clustered), pg-boss and graphile-worker on one PostgreSQL server: from the time a run is due to its stored end.

Two workloads, the same for all:
  throughput  one-shot runs that are all due at the same time. Runs a second, from that time to the last stored end.
  lateness    1,000 runs a second for some seconds, each with a due time of its own. How late their ends are stored.

All runs are stored before the first one is due, and the workers wait for them. Five seconds before that, 500 others warm the program up. Each peer has
a new database on the same server over TCP, and its own process for each workload. A run counts as ended when the program knows that the statement or
the transaction with its end is committed. The handlers do nothing. A peer whose packages are missing is skipped, with the reason. Only npm installs
something: the versions of package-lock.json, into a temporary folder.

bench/peers/job_databases.py [--pairs K] [--bench PROGRAM]     default: 1 round, build/bench/bench/bench_job_servers
"""

import argparse
import math
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(HERE, "..", "..", "tests", "schedulers"))
from database_servers import PostgresqlServer  # noqa: E402

PATIENCE = 900  # Seconds; only ends what hangs.
TOO_LATE = 3  # The exit status of a program that has not stored all runs in time.
TRIES = 3
DUE_A_SECOND = 1000
START = 9  # Seconds from the start of a program to the first due time, beside the time to store the runs: the warm-up is five seconds before.
WARMUP_RUNS = 500
JARS = ["quartz2", "postgresql", "HikariCP", "slf4j-api", "slf4j-nop"]
RESULT = re.compile(r"^runs (\d+) seconds ([\d.]+) p50_ms ([\d.]+) p99_ms ([\d.]+)$")


class Peer:
    """'missing' says why it cannot run. 'store_ms' is how long it may take to store one run; if it takes longer, it gets more and begins again."""

    def __init__(self, name, settings, store_ms, missing, command):
        self.name = name
        self.settings = settings
        self.store_ms = store_ms
        self.missing = missing
        self.command = command


def rondo(bench):
    missing = None if os.path.exists(bench) else f"{bench} is not built (make bench)"
    settings = ("one connection; the rows of runs are planned at most 5 s ahead, 2,000 jobs in a transaction; all ends that are there when the store is "
                "free in one transaction; handlers in turns")
    return Peer("Rondo", settings, 1.5, missing, lambda port, database: ([bench, f"postgresql://rondo@127.0.0.1:{port}/{database}"], None))


def quartz(folder):
    jars = [f"/usr/share/java/{jar}.jar" for jar in JARS]
    absent = [jar for jar in jars if not os.path.exists(jar)]
    missing = None
    if shutil.which("javac") is None or shutil.which("java") is None:
        missing = "java and javac are not installed (default-jdk-headless)"
    elif absent:
        missing = f"no {', '.join(absent)} (libquartz2-java, libpostgresql-jdbc-java)"
    path = ":".join([*jars, folder])
    if missing is None:
        made = subprocess.run(["javac", "-nowarn", "-cp", path, "-d", folder, os.path.join(HERE, "QuartzJobs.java")],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert made.returncode == 0, made.stderr
    settings = ("JobStoreTX, clustered, 25 threads, batchTriggerAcquisitionMaxCount 25, acquireTriggersWithinLock, 30 connections (HikariCP); up to 25 runs "
                "begin in one transaction, each end is a transaction of its own")
    return Peer("Quartz 2.3.2", settings, 1.5, missing,
                lambda port, database: (["java", "-cp", path, "QuartzJobs", f"jdbc:postgresql://127.0.0.1:{port}/{database}?user=rondo"], None))


def install_node_peers(folder):
    """Returns why the programs on Node cannot run, or None."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node or npm is not installed"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout.strip()
    if int(version.lstrip("v").split(".")[0]) < 20:
        return f"node is {version}, and pg-boss needs Node 20"
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(os.path.join(HERE, name), folder)
    try:
        done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1", "--loglevel=error"], cwd=folder,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return "npm ci did not end"
    return None if done.returncode == 0 else "npm ci failed: " + (done.stderr.strip().splitlines() or ["without a message"])[0]


def node_peers(folder, is_wanted):
    missing = install_node_peers(folder) if is_wanted else "not wanted"

    def command(name):
        return lambda port, database: (["node", os.path.join(HERE, "job_queues.cjs"), name, f"postgresql://rondo@127.0.0.1:{port}/{database}"], folder)

    return [Peer("pg-boss 10.4.2", "4 workers, batchSize 1000, pollingIntervalSeconds 0.5, 10 connections; up to 1,000 runs begin in one statement, and as "
                 "many end in one", 0.15, missing, command("pg-boss")),
            Peer("graphile-worker 0.17.3", "concurrentJobs 24, localQueue.size 500, completeJobBatchDelay 0, pollInterval 500 ms, 25 connections; up to 500 "
                 "runs begin in one statement, and all ends of one turn of its loop are stored in one", 0.15, missing, command("graphile-worker"))]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def sync_ms(folder):
    """The median time of a write of 8 KiB that reaches the disk."""
    times = []
    with tempfile.TemporaryFile(dir=folder) as file:
        for _ in range(100):
            began = time.monotonic()
            os.pwrite(file.fileno(), b"x" * 8192, 0)
            os.fdatasync(file.fileno())
            times.append(1000 * (time.monotonic() - began))
    return statistics.median(times)


def try_once(server, peer, workload, runs, lead):
    """Returns (runs a second, p50, p99) of one process with a new database; None if it stored the runs too late."""
    server.sql("DROP DATABASE IF EXISTS peer WITH (FORCE)", "postgres")
    server.sql("CREATE DATABASE peer", "postgres")
    server.sql("CHECKPOINT", "postgres")
    command, folder = peer.command(server.port, "peer")
    with subprocess.Popen([*command, workload, str(runs), str(lead)], cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        found = None
        for line in process.stdout:
            if line.strip() == "planned":  # What autovacuum does later.
                server.sql("VACUUM ANALYZE", "peer")
            found = RESULT.match(line.strip()) or found
        status = process.wait()
        timer.cancel()
    if status == TOO_LATE:
        return None
    if status != 0 or found is None:
        raise SystemExit(f"{peer.name} failed with exit status {status}")
    assert int(found[1]) == runs, found[0]
    return int(found[1]) / float(found[2]), float(found[3]), float(found[4])


def measure(server, peer, workload, runs):
    for _ in range(TRIES):
        lead = START + math.ceil(peer.store_ms * (runs + WARMUP_RUNS) / 1000)
        figures = try_once(server, peer, workload, runs, lead)
        if figures is not None:
            return figures
        peer.store_ms *= 2
        print(f"  ({peer.name} has not stored its runs within {lead} s: again, with more time)", flush=True)
    raise SystemExit(f"{peer.name} stored its runs too late {TRIES} times")


def measure_round(server, peers, runs):
    """Returns {peer: {workload: figures}}."""
    found = {}
    for peer in peers:
        found[peer.name] = {workload: measure(server, peer, workload, runs[workload]) for workload in ("throughput", "lateness")}
        rate, (_, p50, p99) = found[peer.name]["throughput"][0], found[peer.name]["lateness"]
        kept_up, _, _ = found[peer.name]["lateness"]
        behind = f"  ({kept_up:,.0f} ends a second of {DUE_A_SECOND:,} due ones: the lateness grows with time)" if kept_up < DUE_A_SECOND / 2 else ""
        print(f"{peer.name:24} {rate:12,.0f} {p50:14,.2f} {p99:14,.2f}{behind}", flush=True)
    return found


def print_ratios(peers, rounds):
    """Figures of one round only: the machine may be slower in another one."""
    others = [peer for peer in peers if peer.name != "Rondo"]
    if not others or len(others) == len(peers):
        return
    print(f"\nRondo to each peer in the same round, median of {len(rounds)} (lowest to highest)\n{'':24} {'runs/s':>24} {'late p50':>26} {'late p99':>26}")
    for peer in others:
        cells = []
        for workload, place, width in (("throughput", 0, 24), ("lateness", 1, 26), ("lateness", 2, 26)):
            ratios = [found["Rondo"][workload][place] / found[peer.name][workload][place] for found in rounds]
            text = f"{statistics.median(ratios):.3g} ({min(ratios):.3g} to {max(ratios):.3g})" if len(ratios) > 1 else f"{ratios[0]:.3g}"
            cells.append(f"{text:>{width}}")
        print(f"{peer.name:24} {' '.join(cells)}")


def run(peers, pairs, runs):
    usable = [peer for peer in peers if peer.missing is None]
    with PostgresqlServer(port=free_port(), settings=["fsync=on", "synchronous_commit=on"]) as server:
        print(f"PostgreSQL {server.sql('SHOW server_version', 'postgres')}; fsync and synchronous_commit are on, the other settings are the server's own; "
              f"a write of 8 KiB reaches the disk in {sync_ms(tempfile.gettempdir()):.2f} ms (median)")
        print(f"throughput: {runs['throughput']:,} runs, all due at once. lateness: {runs['lateness']:,} runs, one each millisecond. All are stored before.")
        for peer in usable:
            print(f"  {peer.name}: {peer.settings}")
        rounds = []
        for number in range(pairs):
            print(f"\nround {number + 1:<18} {'runs/s':>12} {'late p50, ms':>14} {'late p99, ms':>14}", flush=True)
            rounds.append(measure_round(server, usable if number % 2 == 0 else usable[::-1], runs))
        print_ratios(usable, rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=1, help="rounds; every second one in the other order")
    parser.add_argument("--bench", default="build/bench/bench/bench_job_servers")
    parser.add_argument("--runs", type=int, default=20_000, help="of the workload throughput")
    parser.add_argument("--seconds", type=int, default=10, help="of the workload lateness")
    parser.add_argument("--only", nargs="+", default=[], help="beginnings of names, such as Rondo")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))  # So that the server ends, too.
    if PostgresqlServer.why_missing():
        print("SKIPPED: no PostgreSQL server is installed (postgresql-15), so nothing was measured")
        return

    def is_wanted(name):
        return not arguments.only or any(name.startswith(only) for only in arguments.only)

    with tempfile.TemporaryDirectory(prefix="rondo-peers-") as folder:
        peers = [rondo(os.path.abspath(arguments.bench)), *([quartz(folder)] if is_wanted("Quartz") else []),
                 *node_peers(folder, is_wanted("pg-boss") or is_wanted("graphile-worker"))]
        peers = [peer for peer in peers if is_wanted(peer.name)]
        skipped = [f"SKIPPED: {peer.name}: {peer.missing}" for peer in peers if peer.missing is not None]
        for line in skipped:
            print(line, flush=True)
        if len(skipped) == len(peers):
            return
        run(peers, arguments.pairs, {"throughput": arguments.runs, "lateness": DUE_A_SECOND * arguments.seconds})
        print("\n".join(["", *skipped] if skipped else []), end="\n" if skipped else "")


if __name__ == "__main__":
    main()
