#!/usr/bin/env python3
"""The rendered manual pages of rondo and rondod have no warning and lose no text; the guide must name every command and option. Exit
status 77, with a message, without groff and mandoc."""
import shutil
import subprocess
import sys


def check_guide(rondo, guide):
    """The guide names each command and each option that rondo offers to a shell."""
    def words(*line):
        said = subprocess.run([rondo, "complete", "--", *line], capture_output=True, text=True, check=True).stdout
        return [one.split("\t")[0] for one in said.splitlines()]
    with open(guide, encoding="utf-8") as file:
        text = file.read()
    commands = words("")
    assert len(commands) > 20, commands
    missing = [name for name in commands if f"`rondo {name}" not in text]
    for name in commands:
        below = words(name, "") if name in ("cron", "feed", "job", "journal") else [None]
        for sub in below:
            line = (name, sub) if sub else (name,)
            missing += [f"{name} {option}" for option in words(*line, "--") if option not in text]
    assert not missing, f"{guide} does not name {sorted(set(missing))}"


def main():
    rondo, rondod, guide = sys.argv[1:4]
    check_guide(rondo, guide)
    pages = {"rondo(1)": [rondo, "manual"], "rondod(8)": [rondod, "--manual", "rondod"], "rondod.toml(5)": [rondod, "--manual", "rondod.toml"]}
    tools = [tool for tool in (["groff", "-man", "-Tutf8", "-ww", "-z"], ["mandoc", "-T", "lint", "-W", "warning"]) if shutil.which(tool[0])]
    if not tools:
        print("SKIPPED: neither groff nor mandoc is installed, so the manual pages were NOT rendered", file=sys.stderr)
        return 77
    for name, command in pages.items():
        page = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for tool in tools:
            said = subprocess.run(tool, input=page, capture_output=True, text=True, check=False)
            assert said.returncode == 0 and not said.stderr and not said.stdout, f"{name}: {tool[0]}: {said.stderr}{said.stdout}"
        if shutil.which("groff"):
            text = subprocess.run(["groff", "-man", "-Tascii", "-P-c", "-P-b", "-P-u"], input=page, capture_output=True, text=True, check=True).stdout
            for heading in ("NAME", "DESCRIPTION", "SEE ALSO"):
                assert f"\n{heading}\n" in text, f"{name} has no {heading}"
            assert "\\" not in text.replace("\\xHH", ""), f"{name}: a sequence of roff is left in the text"
    print(f"manual: {len(pages)} pages, rendered by {', '.join(tool[0] for tool in tools)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
