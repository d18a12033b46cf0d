#!/usr/bin/env python3
"""What an open `rondo top` costs the main job.

Runs `rondo-demo --exit` with and without one beside it, in turn, so that what else the machine does meets both. `top` draws its frames
on a terminal of its own, a frame a second.  bench/open_top.py [--pairs N] [--apps FOLDER]
"""

import argparse
import json
import os
import pty
import re
import signal
import statistics
import subprocess
import tempfile
import threading


def open_top(program, socket):
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(program, [program, "--socket", socket, "top"])
    drawn = [0]

    def read():
        try:
            while chunk := os.read(terminal, 65536):
                drawn[0] += len(chunk)
        except OSError:
            pass  # The other end is closed, which is the end of a pty.

    reader = threading.Thread(target=read)
    reader.start()
    return pid, terminal, reader, drawn


def close_top(top):
    pid, terminal, reader, drawn = top
    os.kill(pid, signal.SIGTERM)  # top waits for its rondod to restart.
    os.waitpid(pid, 0)
    reader.join()
    os.close(terminal)
    return drawn[0]


def run(apps, with_top):
    with tempfile.NamedTemporaryFile() as figures:
        demo = subprocess.Popen([f"{apps}/rondo-demo/rondo-demo", "--exit", "--no-baseline", "--json", figures.name],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        top = None
        for line in demo.stdout:
            found = re.search(r"rondod runs .*socket (\S+)", line)
            if found and with_top:
                top = open_top(f"{apps}/rondo/rondo", found.group(1))
        if demo.wait() != 0:
            raise SystemExit("rondo-demo failed")
        result = json.load(figures)
    if with_top and (top is None or close_top(top) < 1000):
        raise SystemExit("rondo top drew nothing")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--apps", default="build/bench/apps")
    parser.add_argument("--pairs", type=int, default=10)
    arguments = parser.parse_args()
    rates = {False: [], True: []}
    for pair in range(arguments.pairs):
        for with_top in (False, True) if pair % 2 == 0 else (True, False):
            result = run(arguments.apps, with_top)
            rates[with_top].append(result["routes_per_second"])
            print(f"{'with   ' if with_top else 'without'} {result['routes_per_second']:.0f} routes/s,"
                  f" longest turn {result['longest_turn_us']:.0f} us, {result['long_turns']} above 5 ms", flush=True)
    without, beside = statistics.median(rates[False]), statistics.median(rates[True])
    print(f"medians: {without:.0f} routes/s without, {beside:.0f} with: {100 * (1 - beside / without):.1f} % less")


if __name__ == "__main__":
    main()
