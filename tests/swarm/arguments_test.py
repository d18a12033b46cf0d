#!/usr/bin/env python3
"""rondo-sim refuses arguments with which it would report a success without running a turn."""
import subprocess
import sys

LARGEST = str(2**64 - 1)
REFUSED = ((("--seed", "-1"), "--seed '-1'"), (("--seeds", "0"), "--seeds"), (("--seeds", "-5"), "--seeds '-5'"), (("--turns", "0"), "--turns"),
           (("--seed", LARGEST), "beyond"), (("--seed", "1", "--seeds", LARGEST), "beyond"), (("--seed", " 7"), "--seed ' 7'"),
           (("--seed", "1x"), "'1x'"), (("--seed",), "needs a value"), (("--jobs", "0"), "--jobs"), (("--program", "none"), "'none'"),
           (("--speed", "1"), "'--speed'"))


def main():
    for words, part in REFUSED:
        said = subprocess.run([sys.argv[1], *words], capture_output=True, text=True, timeout=60, check=False)
        assert said.returncode == 2 and not said.stdout and part in said.stderr.splitlines()[0], (words, said)
    for words in (("--help",), ("-h",), ("--seed", "7", "--help")):
        said = subprocess.run([sys.argv[1], *words], capture_output=True, text=True, timeout=60, check=False)
        assert said.returncode == 0 and said.stdout.startswith("Usage: rondo-sim") and not said.stderr, (words, said)
    said = subprocess.run([sys.argv[1], "--program", "tables", "--seed", "7", "--turns", "50"], capture_output=True, text=True, timeout=60, check=False)
    assert said.returncode == 0 and "1 seeds from 7" in said.stdout, said
    print("rondo-sim: wrong arguments are refused by name")


if __name__ == "__main__":
    main()
