#!/usr/bin/env python3
"""Runs the tests of build/coverage, and says which lines, functions and branches of the product they ran: a table by folder and the files below
--least percent of lines on standard output, each file's lines in build/coverage/index.html, and all figures in build/coverage/summary.json.

Only code that runs in a program counts: src, apps and include without tests, benchmarks, test kits (headers that only tests include) and generated
files.
Branches that only an exception of the library takes (no memory) do not count. What a killed process ran is not counted: it wrote nothing down.
Exit status: that of the tests; 2 when there is nothing to measure.
"""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True
import tidy  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "coverage")
KINDS = ("line", "function", "branch")


def run_tests(jobs):
    """The tiers quick (in few processes), full and system; those that lack rights are skipped and say so."""
    for left in glob.glob(os.path.join(BUILD, "**", "*.gcda"), recursive=True):
        os.remove(left)  # Of an earlier run.
    return subprocess.run(["ctest", "--test-dir", BUILD, "--build-config", "quick", "--label-regex", "^(quick|full|corpus|system)$", "--parallel",
                           str(jobs), "--timeout", "600", "--output-on-failure", "--no-tests=error"], check=False).returncode


def product_files():
    """The files that count, relative to the root."""
    tree = tidy.Tree(ROOT)
    return {path for path in tree.code if tree.is_product(path) and not path.endswith("_bench.cc")}


def measure(jobs):
    command = ["gcovr", "--root", ".", "--object-directory", "build/coverage", "-j", str(jobs), "--filter", "src/", "--filter", "apps/",
               "--filter", "include/", "--exclude", r".*_(test|bench)\.cc", "--exclude-throw-branches", "--exclude-unreachable-branches",
               "--html-details", "build/coverage/index.html", "--html-title", "Rondo", "--json-summary", "build/coverage/summary.json"]
    command += [f"--exclude={re.escape(path)}" for path in sorted(tidy.Tree(ROOT).test_kits)]
    return subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL).returncode


def folder_of(path):
    parts = path.split("/")
    if parts[0] == "include":
        return "src/" + parts[2] if len(parts) > 3 else "include"
    return "/".join(parts[:2])


def share(covered, total):
    return f"{100 * covered / total:.1f} %" if total else "-"


class Sums:
    """Covered and total of lines, functions and branches."""

    def __init__(self):
        self.sums = {kind: [0, 0] for kind in KINDS}

    def add(self, figures):
        for kind in KINDS:
            self.sums[kind][0] += figures[f"{kind}_covered"]
            self.sums[kind][1] += figures[f"{kind}_total"]

    def row(self, name):
        return f"| {name} | " + " | ".join(f"{share(*self.sums[kind])} of {self.sums[kind][1]:,}" for kind in KINDS) + " |"


def table(files):
    """The lines of the table by folder. Public headers count with their layer."""
    folders = {}
    whole = Sums()
    for figures in files:
        folders.setdefault(folder_of(figures["filename"]), Sums()).add(figures)
        whole.add(figures)
    yield "| folder | lines | functions | branches |"
    yield "|---|---|---|---|"
    for name in sorted(folders):
        yield folders[name].row(f"`{name}`")
    yield whole.row("**all**")


def thin_files(files, least):
    for figures in sorted(files, key=lambda one: one["line_covered"] / max(one["line_total"], 1)):
        if figures["line_total"] and 100 * figures["line_covered"] / figures["line_total"] < least:
            yield f"{share(figures['line_covered'], figures['line_total']):>8}  {figures['line_total'] - figures['line_covered']:4} lines " \
                  f"not run  {figures['filename']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="tests at a time")
    parser.add_argument("--least", type=float, default=85, help="files with fewer percent of their lines are listed")
    parser.add_argument("--no-tests", action="store_true", help="only count what ran before")
    arguments = parser.parse_args()
    if shutil.which("gcovr") is None or not os.path.isdir(BUILD):
        print("coverage: no gcovr, or no build/coverage: `make coverage` makes both", file=sys.stderr)
        return 2
    status = 0 if arguments.no_tests else run_tests(arguments.jobs)
    if measure(arguments.jobs) != 0:
        print("coverage: gcovr failed; its own words are above", file=sys.stderr)
        return 2
    with open(os.path.join(BUILD, "summary.json"), encoding="utf-8") as file:
        summary = json.load(file)
    counted = product_files()
    files = [one for one in summary["files"] if one["filename"] in counted]
    if not files:
        print("coverage: nothing of the product was run", file=sys.stderr)
        return 2
    print("\n".join(table(files)))
    thin = list(thin_files(files, arguments.least))
    if thin:
        print(f"\nBelow {arguments.least:g} % of lines:")
        print("\n".join(thin))
    print(f"\ncoverage: {summary['line_covered']:,} of {summary['line_total']:,} lines; each file in build/coverage/index.html")
    if status != 0:
        print("coverage: there were tests that failed; the figures are of what ran", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
