#!/usr/bin/env python3
"""Compiles each file of a build folder by itself, without making an object file.

Usage: compile_alone.py BUILD [--jobs N]

BUILD is a configured build folder with compile_commands.json. What a unity build hides is an error here: a missing #include, a name that
hides another one. A file that consists of one #include is left out if another file begins with the same #include. Prints what the compiler says about each file that fails. Ends with 1 if a file fails, and with 2 if there is no file.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys


def check(entry):
    """Returns the compiler's exit code and its output."""
    words = shlex.split(entry["command"])
    done = subprocess.run([*words, "-fsyntax-only"], cwd=entry["directory"], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def without_repeated_headers(entries):
    """Returns the entries without files that show nothing new: their only #include is the first one of another file."""
    texts = {}
    for entry in entries:
        with open(os.path.join(entry["directory"], entry["file"]), encoding="utf-8") as file:
            texts[entry["file"]] = file.read()
    only = {name: text.split("//")[0].strip() for name, text in texts.items() if re.fullmatch(r"#include [^\n]*\n?", text)}
    begins = {match[0] for name, text in texts.items() if name not in only
              for match in [re.search(r"^#include \S+", text, re.MULTILINE)] if match}
    return [entry for entry in entries if only.get(entry["file"]) not in begins]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    with open(os.path.join(options.build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    if not entries:
        print(f"{options.build}/compile_commands.json names no file")
        return 2
    entries = without_repeated_headers(entries)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for entry, (code, text) in zip(entries, pool.map(check, entries)):
            if text:
                print(text, end="")
            if code != 0:
                failed += 1
                print(f"FAILED: {entry['file']}", flush=True)
    print(f"{len(entries) - failed} of {len(entries)} files compile, each by itself")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
