#!/usr/bin/env python3
"""The picture of the policies in docs/guide/policies.md: how long an urgent source waits, and what is left for the lowest priority, both under
floods. It is drawn from docs/guide/policies.csv; nothing but Python is needed.

  build/bench/bench/bench_peer_loops --only Rondo flood starvation | python3 tools/policy_picture.py --record "2 CPUs, quiet"
                                             writes the figures and the picture
  python3 tools/policy_picture.py            the picture alone
  python3 tools/policy_picture.py --check    ends with 1 if it is not that of the figures

The figures: a line for each policy, its name, the urgent wait's median and 99th percentile in microseconds, the percentage of time that
priority 0 had, and the percentage of its budget (empty: it has none). The policy `floor` is the urgent wait where nothing floods: what
it takes to wake a loop that sleeps. A loop that is busy needs no waking, so that a wait can be shorter than the floor. Lines
that begin with # are notes; the picture shows them below.
"""
import argparse
import csv
import math
import os
import re
import sys
from xml.sax.saxutils import escape

GUIDE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "docs", "guide")
FIGURES = os.path.join(GUIDE, "policies.csv")
PICTURE = os.path.join(GUIDE, "policies.svg")
COLUMNS = ["policy", "urgent_p50_us", "urgent_p99_us", "lowest_share_percent", "budget_share_percent"]
FLOOR = "floor"

NAMES, WAITS, SHARES = 170, (180, 530), (600, 830)  # Where the names end, and the two charts lie.
TOP, ROW, WIDTH = 84, 46, 860
DARK, LIGHT, GRID, MARK = "#1d3557", "#7fb3d5", "#d9dde2", "#c1440e"


def fail(message):
    print(f"policy_picture: {message}", file=sys.stderr)
    sys.exit(2)


def read_bench(text):
    """What bench_peer_loops prints of our policies: the table of the flood (floor p50, p99, p50, p99, ...) and that of starvation (turns, share,
    promised share, ...), each below a line that names its columns."""
    waits, shares, floors, columns = {}, {}, [], []
    for line in text.splitlines():
        if re.match(r" +(floor p50|turns/s) ", line):
            columns = line.split()
        found = re.match(r"  Rondo, (\w[\w ]*?)  +(\S.*)$", line)
        if not found or not columns:
            continue
        values = [None if value == "-" else float(value) for value in found.group(2).split()]
        if columns[0] == "floor":
            floors.append((values[0], values[1]))
            waits[found.group(1)] = (values[2], values[3])
        else:
            shares[found.group(1)] = (values[1], values[2])
    if not floors or set(shares) != set(waits):
        fail("what came is not the output of 'bench_peer_loops --only Rondo flood starvation': waits of " + (", ".join(waits) or "nobody") +
             "; shares of " + (", ".join(shares) or "nobody"))
    floor = (min(p50 for p50, _ in floors), min(p99 for _, p99 in floors))
    return [(FLOOR, *floor, None, None)] + [(name, *waits[name], *shares[name]) for name in waits]


def record(rows, note):
    with open(FIGURES, "w", encoding="utf-8", newline="") as out:
        if note:
            out.write(f"# {note}\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow(["" if value is None else value for value in row])


def read_figures():
    """The rows, and the notes."""
    with open(FIGURES, encoding="utf-8") as file:
        lines = file.read().splitlines()
    notes = [line[1:].strip() for line in lines if line.startswith("#")]
    rows = list(csv.reader(line for line in lines if not line.startswith("#")))
    if not rows or rows[0] != COLUMNS:
        fail(f"{FIGURES}: the first line must be {','.join(COLUMNS)}")
    figures = []
    for row in rows[1:]:
        try:
            name, p50, p99, share, budget = row
            figures.append((name, float(p50), float(p99), float(share) if share else None, float(budget) if budget else None))
        except ValueError as error:
            fail(f"{FIGURES}: '{','.join(row)}': {error}")
        if figures[-1][1] <= 0 or figures[-1][2] < figures[-1][1]:
            fail(f"{FIGURES}: '{','.join(row)}': a wait must be above 0, and its 99th percentile not below its median")
    if len(figures) < 2 or figures[0][0] != FLOOR:
        fail(f"{FIGURES}: the first policy must be '{FLOOR}', others must follow")
    return figures, notes


def time_text(us):
    return f"{us:.0f} us" if us < 1000 else f"{us / 1000:.3g} ms"


class Picture:
    def __init__(self, height):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
                      'font-family="sans-serif" font-size="13">',
                      "<title>What each policy does under a flood</title>",
                      f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>']

    def text(self, x, y, words, anchor="start", size=13, fill="#222222"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}">{escape(words)}</text>')

    def line(self, x1, y1, x2, y2, color=GRID, more=""):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{color}"{more}/>')

    def bar(self, x, y, width, height, fill):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height}" fill="{fill}"/>')

    def finish(self):
        return "\n".join(self.parts) + "\n</svg>\n"


def draw_waits(picture, floor, policies, bottom):
    """The median and the 99th percentile on a logarithmic scale of whole decades."""
    left, right = WAITS
    waits = [(max(row[1], 1), max(row[2], 1)) for row in policies]
    high = math.ceil(math.log10(max(wait for pair in waits for wait in pair) * 1.6))

    def at(us):
        return left + (right - left) * math.log10(us) / high

    picture.text(left, 40, "An urgent message waits", size=15)
    picture.text(left, 58, "priority 7, each millisecond; 100 sources flood priority 0", size=11, fill="#666666")
    for decade in range(high + 1):
        picture.line(at(10**decade), TOP - 10, at(10**decade), bottom)
        picture.text(at(10**decade), bottom + 16, time_text(10**decade), "middle", 11, "#666666")
    for i, (median, rare) in enumerate(waits):
        y = TOP + ROW * i
        for wait, where, color in ((median, y + 4, DARK), (rare, y + 19, LIGHT)):
            picture.bar(left, where, at(wait) - left, 13, color)
            picture.text(at(wait) + 5, where + 11, time_text(wait), size=11)
    picture.bar(left, bottom + 26, 10, 10, DARK)
    picture.text(left + 15, bottom + 35, "median", size=11)
    picture.bar(left + 80, bottom + 26, 10, 10, LIGHT)
    picture.text(left + 95, bottom + 35, f"99th percentile; where nothing floods {time_text(floor[1])} and {time_text(floor[2])}", size=11)


def draw_shares(picture, policies, bottom):
    left, right = SHARES
    most = max(value for row in policies for value in row[3:5] if value is not None)
    whole = max(5, 5 * math.ceil(most * 1.25 / 5))

    def at(percent):
        return left + (right - left) * percent / whole

    picture.text(left, 40, "The lowest priority has", size=15)
    picture.text(left, 58, "priority 0 of the time; 1 to 7 flood, too", size=11, fill="#666666")
    for percent in range(0, whole + 1, 5):
        picture.line(at(percent), TOP - 10, at(percent), bottom)
        picture.text(at(percent), bottom + 16, f"{percent} %", "middle", 11, "#666666")
    for i, (_, _, _, share, budget) in enumerate(policies):
        y = TOP + ROW * i
        picture.bar(left, y + 8, at(share) - left, 20, DARK)
        picture.text(at(max(share, budget or 0)) + 6, y + 23, f"{share:.1f} %" if share > 0 else "nothing: it starves", size=11)
        if budget is not None:
            picture.line(at(budget), y + 4, at(budget), y + 32, MARK, ' stroke-width="2"')
    picture.line(left + 5, bottom + 24, left + 5, bottom + 38, MARK, ' stroke-width="2"')
    picture.text(left + 15, bottom + 35, "share of its budget", size=11)


def draw(figures, notes):
    floor, policies = figures[0], figures[1:]
    for row in policies:
        if row[3] is None:
            fail(f"{FIGURES}: policy '{row[0]}' has no share")
    bottom = TOP + ROW * len(policies)
    picture = Picture(bottom + 52 + 16 * len(notes))
    for i, row in enumerate(policies):
        picture.text(NAMES, TOP + ROW * i + 22, row[0], "end")
    draw_waits(picture, floor, policies, bottom)
    draw_shares(picture, policies, bottom)
    for i, note in enumerate(notes):
        picture.text(16, bottom + 58 + 16 * i, note, size=11, fill="#666666")
    return picture.finish()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", metavar="NOTE", help="read the output of bench_peer_loops, and write the figures first")
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if the picture is not that of the figures")
    options = parser.parse_args()
    if options.record is not None:
        record(read_bench(sys.stdin.read()), options.record)
    drawn = draw(*read_figures())
    if options.check:
        with open(PICTURE, encoding="utf-8") as file:
            same = file.read() == drawn
        if not same:
            print("policy_picture: docs/guide/policies.svg is not the picture of docs/guide/policies.csv: run tools/policy_picture.py")
        sys.exit(0 if same else 1)
    with open(PICTURE, "w", encoding="utf-8") as out:
        out.write(drawn)


if __name__ == "__main__":
    main()
