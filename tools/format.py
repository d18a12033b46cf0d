#!/usr/bin/env python3
"""Checks (or with --fix applies) .clang-format on every C++ file. clang-format 14, Debian 12's: other versions differ in details.

What was found formatted is remembered by its content in .cache/format, beside the style and the version, so that only what changed is looked at.
Exit status: 0 clean, 1 something differs, 77 no clang-format 14 here.
"""
import argparse
import concurrent.futures
import hashlib
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ("apps", "bench", "examples", "fuzz", "include", "src", "tests")
VERSION = "14"
BATCH = 50
CACHE = os.path.join(ROOT, ".cache", "format")


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


def digest(path, style):
    with open(path, "rb") as file:
        return hashlib.sha256(style + file.read()).hexdigest()


def remembered():
    try:
        with open(CACHE, encoding="ascii") as file:
            return set(file.read().split())
    except OSError:
        return set()


def remember(digests):
    """Only those of this run: the file does not grow. Nothing depends on it, so a folder that cannot be written is no error."""
    try:
        os.makedirs(os.path.dirname(CACHE), exist_ok=True)
        with open(CACHE + f".{os.getpid()}", "w", encoding="ascii") as file:
            file.write("\n".join(sorted(digests)) + "\n")
        os.replace(CACHE + f".{os.getpid()}", CACHE)
    except OSError:
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="format in place")
    parser.add_argument("files", nargs="*", help="only these")
    arguments = parser.parse_args()
    program = find_program()
    if program is None:
        print("format: no clang-format " + VERSION + " here (Debian 12: apt-get install clang-format)", file=sys.stderr)
        return 77
    with open(os.path.join(ROOT, ".clang-format"), "rb") as file:
        style = VERSION.encode() + file.read()
    files = sorted(arguments.files or sources())
    known = remembered()
    changed = [path for path in files if digest(path, style) not in known]
    mode = ["-i"] if arguments.fix else ["--dry-run", "--Werror"]

    def check(paths):
        return subprocess.run([program, *mode, *paths], capture_output=True, text=True, check=False)

    # The start of the program costs 20 times what a file costs, so each process is given many.
    batches = [changed[i:i + BATCH] for i in range(0, len(changed), BATCH)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, batches))
    wrong = {}  # The path of a file that differs, and the first lines about it.
    for batch, result in zip(batches, results):
        if result.returncode == 0:
            continue
        for line in result.stderr.splitlines():
            path = re.split(r":\d+:\d+: ", line)[0]
            if path != line:
                wrong.setdefault(path, []).append(line)
        if not wrong.keys() & set(batch):
            print(f"format: clang-format ended with {result.returncode}: {result.stderr.strip()[:500]}", file=sys.stderr)
            return 1
    for lines in wrong.values():
        print("\n".join(line.replace(ROOT + os.sep, "") for line in lines[:3]))
    if not arguments.files:
        remember(digest(path, style) for path in files if path not in wrong)
    if wrong:
        print(f"format: {len(wrong)} of {len(files)} files differ from .clang-format; `make format` puts them right")
        return 1
    print(f"format: {len(files)} files are formatted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
