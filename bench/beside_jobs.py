#!/usr/bin/env python3
"""What runs of jobs beside the routes cost the main job.

Runs `rondo-demo --exit` with and without them, in turn, so that what else the machine does meets both. Prints the routes a second and the
CPU time of rondod of each run, and the medians of the ratios of the pairs.  bench/beside_jobs.py [--pairs N] [--runs RATE] [--executors N] [--apps FOLDER]
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import tempfile


def cpu_seconds(pid):
    """CPU time of all threads, user and kernel."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run(arguments, runs):
    with tempfile.NamedTemporaryFile() as figures:
        demo = subprocess.Popen([f"{arguments.apps}/rondo-demo/rondo-demo", "--exit", "--no-baseline", "--json", figures.name, "--job-runs", str(runs),
                             *(["--executors", str(arguments.executors)] if runs and arguments.executors else [])],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        daemon, cpu, jobs = None, 0, ""
        for line in demo.stdout:
            daemon = re.search(r"rondod runs \(pid (\d+)\)", line) or daemon
            if "comparing the data plane" in line:
                cpu = cpu_seconds(int(daemon.group(1)))
            if line.startswith("jobs beside them"):
                jobs = line.partition("them")[2].strip()
        if demo.wait() != 0:
            raise SystemExit("rondo-demo failed")
        return json.load(figures)["routes_per_second"], cpu, jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--apps", default="build/bench/apps")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--executors", type=int, default=0, help="carry the runs out at so many executors over HTTP")
    arguments = parser.parse_args()
    rates, costs = [], []
    for pair in range(arguments.pairs):
        results = {}
        for runs in (0, arguments.runs) if pair % 2 == 0 else (arguments.runs, 0):
            results[runs] = run(arguments, runs)
            rate, cpu, jobs = results[runs]
            print(f"{runs:5} runs a second: {rate:.0f} routes/s, {cpu:.2f} s of CPU of rondod; {jobs}", flush=True)
        rates.append(results[arguments.runs][0] / results[0][0])
        costs.append(results[arguments.runs][1] / results[0][1])
    print(f"medians of {arguments.pairs} pairs: {statistics.median(rates):.3f} of the routes/s ({min(rates):.3f} to {max(rates):.3f}),"
          f" {statistics.median(costs):.3f} of the CPU time ({min(costs):.3f} to {max(costs):.3f})")


if __name__ == "__main__":
    main()
