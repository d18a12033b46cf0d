#!/usr/bin/env python3
"""Runs clang-tidy-19 with .clang-tidy over the files of src and apps that build/test knows. Arguments: path fragments to choose files."""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "test")


def main():
    program = shutil.which("clang-tidy-19")
    if program is None:
        print("clang_tidy: no clang-tidy-19 here; run tools/install.sh extra", file=sys.stderr)
        return 1
    with open(os.path.join(BUILD, "compile_commands.json"), encoding="utf-8") as file:
        known = {entry["file"] for entry in json.load(file)}
    wanted = sorted(
        path for path in known
        if path.startswith((os.path.join(ROOT, "src") + os.sep, os.path.join(ROOT, "apps") + os.sep))
        and not path.endswith("_test.cc") and (len(sys.argv) < 2 or any(part in path for part in sys.argv[1:])))

    def check(path):
        return subprocess.run([program, "-p", BUILD, "--quiet", path], capture_output=True, text=True, check=False)

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, result in zip(wanted, pool.map(check, wanted)):
            if result.stdout.strip() or result.returncode != 0:
                print(result.stdout, end="")
            if result.returncode != 0:
                print(result.stderr, end="", file=sys.stderr)
                failed += 1
    print(f"clang_tidy: {len(wanted)} files, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
