#!/usr/bin/env python3
"""What an audit of a full table costs.

`rondo-demo` programs a full table into the kernel and goes on serving; then `rondo verify` has everything audited N times: read back and
compared. Printed: the CPU time of rondod for one audit (kernel included), its share of a core at the default period, and the longest
turn of the comparison.  bench/audit.py [--audits N] [--ipv4 N] [--ipv6 N] [--apps FOLDER]
"""

import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import time

PERIOD_S = 300  # [dataplane] audit_s


def cpu_seconds(pid):
    """CPU time of all threads, user and kernel."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def serving_demo(arguments):
    demo = subprocess.Popen([f"{arguments.apps}/rondo-demo/rondo-demo", "--no-baseline", "--flap", "3600000", "--ipv4", str(arguments.ipv4), "--ipv6",
                             str(arguments.ipv6)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    daemon = None
    for line in demo.stdout:
        daemon = re.search(r"rondod runs \(pid (\d+)\), socket (\S+)", line) or daemon
        if "serving until" in line:
            return demo, int(daemon.group(1)), daemon.group(2)
    raise SystemExit("rondo-demo ended before its table was programmed")


def ask(arguments, socket, *words):
    said = subprocess.run([f"{arguments.apps}/rondo/rondo", "--socket", socket, "--json", "--timeout", "60", *words],
                          capture_output=True, text=True, check=True)
    return json.loads(said.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--apps", default="build/bench/apps")
    parser.add_argument("--audits", type=int, default=10)
    parser.add_argument("--ipv4", type=int, default=434_000)
    parser.add_argument("--ipv6", type=int, default=200_000)
    arguments = parser.parse_args()
    demo, pid, socket = serving_demo(arguments)
    try:
        costs, times = [], []
        for _ in range(arguments.audits):
            before, began = cpu_seconds(pid), time.monotonic()
            told = ask(arguments, socket, "verify")
            times.append(time.monotonic() - began)
            costs.append(cpu_seconds(pid) - before)
            if told["differences"] != 0:
                raise SystemExit(f"the audit found differences: {told}")
        routes = ask(arguments, socket, "stats")["audit"]["routes"]["objects"]
        turns = [one for one in ask(arguments, socket, "sources")["rows"] if one["name"] == "audit"][0]
        cost = statistics.median(costs)
        print(f"{routes} routes: {1000 * cost:.0f} ms of CPU time an audit ({1000 * min(costs):.0f} to {1000 * max(costs):.0f}),"
              f" {1000 * statistics.median(times):.0f} ms long; {100 * cost / PERIOD_S:.3f} % of a core at a period of {PERIOD_S} s;"
              f" longest turn of the comparison {turns['longest_us']:.0f} us")
    finally:
        demo.send_signal(signal.SIGTERM)
        demo.wait()


if __name__ == "__main__":
    main()
