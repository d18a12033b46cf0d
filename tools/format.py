#!/usr/bin/env python3
"""Checks (or with --fix applies) .clang-format on every C++ file. clang-format 14, Debian 12's: other versions differ in details.

Exit status: 0 clean, 1 something differs, 77 no clang-format 14 here.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ("apps", "bench", "examples", "fuzz", "include", "src", "tests")
VERSION = "14"


def find_program():
    for name in ("clang-format-" + VERSION, "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        found = re.search(r"version (\d+)", text)
        if found and found.group(1) == VERSION:
            return path
    return None


def sources():
    for folder in FOLDERS:
        for directory, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith((".h", ".cc")):
                    yield os.path.join(directory, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="format in place")
    parser.add_argument("files", nargs="*", help="only these")
    arguments = parser.parse_args()
    program = find_program()
    if program is None:
        print("format: no clang-format " + VERSION + " here (Debian 12: apt-get install clang-format)", file=sys.stderr)
        return 77
    files = sorted(arguments.files or sources())
    mode = ["-i"] if arguments.fix else ["--dry-run", "--Werror"]

    def check(path):
        return subprocess.run([program, *mode, path], capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, files))
    wrong = [path for path, result in zip(files, results) if result.returncode != 0]
    for path, result in zip(files, results):
        if result.returncode != 0:
            lines = [line for line in result.stderr.splitlines() if ": " in line][:3]
            print("\n".join(line.replace(ROOT + os.sep, "") for line in lines))
    if wrong:
        print(f"format: {len(wrong)} of {len(files)} files differ from .clang-format; `make format` puts them right")
        return 1
    print(f"format: {len(files)} files are formatted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
