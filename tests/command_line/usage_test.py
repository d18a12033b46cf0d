#!/usr/bin/env python3
"""Usage errors of rondod and rondo-demo show the program, the error and the nearest option; --help shows the program's name, not its path."""
import subprocess
import sys


def say(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, timeout=60, check=False)


def check_wrong(program, name, words, wrong):
    said = say(program, *words)
    assert said.returncode == 2 and not said.stdout, (words, said)
    assert said.stderr == f"{name}: {wrong}\nRun '{name} --help' for usage.\n", (words, said)


def main():
    rondod, demo = sys.argv[1:3]
    check_wrong(rondod, "rondod", ["--confg", "f"], "unknown option '--confg'; did you mean '--config'?")
    check_wrong(rondod, "rondod", ["-x"], "unknown option '-x'")
    check_wrong(rondod, "rondod", ["stray"], "unexpected word 'stray'")
    check_wrong(rondod, "rondod", ["--config", ""], "--config: needs the name of a file")
    check_wrong(rondod, "rondod", ["-c", "", "--check-config"], "--config: needs the name of a file")
    check_wrong(rondod, "rondod", ["--socket", ""], "--socket: needs the name of a file")
    check_wrong(demo, "rondo-demo", ["--simulate"], "unknown option '--simulate'; did you mean '--simulated'?")
    for program, name in ((rondod, "rondod"), (demo, "rondo-demo")):
        said = say(program, "--help")
        assert said.returncode == 0 and f"Usage: {name} [OPTIONS]" in said.stdout and not said.stderr, said
    said = say(rondod, "--help").stdout
    assert "--config FILE" in said and "--socket PATH" in said, said
    for words in (["--help"], ["--version"], ["--check-config"]):
        with open("/dev/full", "wb") as full:
            said = subprocess.run([rondod, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        assert said.returncode == 1 and "rondod: write to standard output: No space left on device\n" in said.stderr, (words, said)
    print("usage: rondod and rondo-demo say what is wrong as rondo does")


if __name__ == "__main__":
    main()
