#!/usr/bin/env python3
"""Where the turns above 5 ms of the main job come from.

Runs `rondo-demo --exit` with perf beside it, takes each "slow turn" of rondod's log, and says what the processor of its scheduler did meanwhile:
  still     a timer of 0.25 ms did not fire on that processor, or found it at the same instruction again: the hypervisor let it, or the
            whole machine, not run
  others    another thread had the processor (its name follows)
  kernel    the kernel's soft interrupts (RCU callbacks, network, timers) ran on top of the turn
  own       the rest: the turn's own code and system calls
A turn's own share is told with the functions that the timer found there. Needs root and perf.  bench/long_turns.py [RUNS [DEMO]]
"""

import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile

EVENTS = ("sched:sched_switch", "irq:softirq_entry", "irq:softirq_exit")
SAMPLE_NS = 250_000
LONG = re.compile(r"slow turn source=(\S+) ms=(\S+) cpu_ms=(\S+) began_s=(\S+)")
LINE = re.compile(r"^\s*(.+?)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+(\d+\.\d+):\s+([\w-]+(?::[\w-]+)?):\s*(.*)$")
SWITCH = re.compile(r"prev_pid=(\d+) .*next_comm=(.+) next_pid=(\d+)")
# If two samples are further apart than this many periods, the processor did not run between them. At one instruction, a little more than one suffices.
HELD_UP = 2
HELD_UP_AT_ONE_PLACE = 1.2


def run_demo(demo, folder):
    data = os.path.join(folder, "perf.data")
    # On processors that the scheduler thread does not use; otherwise perf would measure itself.
    spare = ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))[:-1]) or "0"
    command = ["taskset", "-c", spare, "perf", "record", "-q", "-a", "-k", "CLOCK_MONOTONIC", "-m", "8M", "-o", data]
    command += ["-e", "cpu-clock", "-c", str(SAMPLE_NS)]
    for event in EVENTS:
        command += ["-e", event]
    perf = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        report = os.path.join(folder, "report.json")
        run = subprocess.run([demo, "--exit", "--json", report], capture_output=True, text=True, check=False)
    finally:
        perf.send_signal(signal.SIGINT)
        perf.wait()
    if run.returncode != 0:
        sys.exit(f"{demo} ended with {run.returncode}:\n{run.stderr}")
    with open(report, encoding="utf-8") as file:
        figures = json.load(file)
    turns = [(m[1], float(m[2]), float(m[3]), float(m[4])) for m in LONG.finditer(run.stdout + run.stderr)]
    return figures, turns, data


def read_events(data, begin, end):
    """Events from a little before 'begin' (so that the running thread is known) to 'end', in order."""
    text = subprocess.run(
        ["perf", "script", "-i", data, "--time", f"{begin - 0.1:.6f},{end + 0.02:.6f}", "-F", "comm,pid,tid,cpu,time,event,ip,sym,trace"],
        capture_output=True, text=True, check=True).stdout
    for line in text.splitlines():
        if match := LINE.match(line):
            comm, pid, tid, cpu, time, event, rest = match.groups()
            yield comm, int(pid), int(tid), int(cpu), float(time), event, rest


def scheduler_thread(events, begin, end):
    """rondod's main thread, according to the event nearest to the turn."""
    for comm, pid, tid, cpu, time, _, _ in events:
        if comm == "rondod" and pid == tid and begin - 0.1 <= time <= end + 0.02:
            yield tid, cpu, time


def explain(events, begin, end):
    seen = list(scheduler_thread(events, begin, end))
    if not seen:
        return {}, {}, []
    tid, cpu, _ = min(seen, key=lambda at: abs(at[2] - begin))
    period = SAMPLE_NS / 1e9
    parts = {"still": 0.0, "others": 0.0, "kernel": 0.0}
    names = {}
    found = []          # The functions at the samples of the turn.
    away = None         # When another thread got the processor, and which thread.
    soft = None         # When the running soft interrupt began.
    last_sample = None
    last_place = ""

    def inside(start, stop):
        return max(0.0, min(stop, end) - max(start, begin)) * 1e3

    for _, _, at_tid, at_cpu, time, event, rest in events:
        if at_cpu != cpu:
            continue
        if event == "cpu-clock":
            if at_tid == tid and away:  # The event of its return was lost.
                away = None
                last_sample = None
            # An idle processor has no samples, so the gap counts only if the turn had the processor all the time.
            if last_sample is not None and not away:
                same = rest == last_place
                if time - last_sample > (HELD_UP_AT_ONE_PLACE if same else HELD_UP) * period:
                    parts["still"] += inside(last_sample if same else last_sample + period, time)
            last_sample, last_place = time, rest
            if at_tid == tid and begin <= time <= end:
                found.append(rest.split(maxsplit=1)[-1])
        elif event == "sched:sched_switch" and (match := SWITCH.search(rest)):
            if away:
                had = inside(away[0], time)
                parts["others"] += had
                if had > 0:
                    names[away[1]] = names.get(away[1], 0.0) + had
            away = None if int(match[3]) == tid else (time, match[2])
            if not away:
                last_sample = time
        elif event == "irq:softirq_entry":
            soft = time
        elif event == "irq:softirq_exit" and soft is not None:
            if not away:
                parts["kernel"] += inside(soft, time)
            soft = None
    parts["own"] = max(0.0, (end - begin) * 1e3 - sum(parts.values()))
    return parts, names, found


def main():
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    demo = sys.argv[2] if len(sys.argv) > 2 else os.path.join(root, "build/release/apps/rondo-demo/rondo-demo")
    clean = turns_above = 0
    worst_own = 0.0
    for number in range(1, runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            figures, turns, data = run_demo(demo, folder)
            clean += not figures["long_turns"]
            print(f"run {number}: {figures['turns']} turns, {figures['long_turns']} above 5 ms, longest {figures['longest_turn_us'] / 1e3:.2f} ms, "
                  f"{figures['routes_per_second']:.0f} routes/s", flush=True)
            for source, length, _, began in turns:
                turns_above += 1
                parts, names, found = explain(list(read_events(data, began, began + length / 1e3)), began, began + length / 1e3)
                if not parts:
                    print(f"  {source}: {length:.2f} ms, of which perf has nothing")
                    continue
                worst_own = max(worst_own, parts["own"])
                others = " (" + ", ".join(f"{name} {had:.1f}" for name, had in sorted(names.items(), key=lambda n: -n[1])[:3]) + ")" if names else ""
                print(f"  {source}: {length:.2f} ms = still {parts['still']:.2f} + others {parts['others']:.2f}{others} "
                      f"+ kernel {parts['kernel']:.2f} + own {parts['own']:.2f}"
                      + "".join(f", {count} x {name}" for name, count in collections.Counter(found).most_common(4)), flush=True)
    print(f"{clean} of {runs} runs without a turn above 5 ms; {turns_above} such turns, at most {worst_own:.2f} ms of one its own")


if __name__ == "__main__":
    main()
