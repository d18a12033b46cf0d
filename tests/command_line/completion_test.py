#!/usr/bin/env python3
"""The completion scripts in real shells on a pseudo terminal: after Tab the line has one more word, which is the offered key, whatever characters
it contains. A stand-in for rondo offers the keys and records the words that it received, so any key can be tested."""
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import tempfile

PATIENCE = 30  # Seconds; only bounds a hanging program.
KEYS = ["zz", "fc00:1::2", "a;reboot", "b$(touch gone)", "c`touch gone`", "Vlan100|Ethernet0", "d e", "g'g", 'h"i', "j\\x5ck", "l&m", "n>o", "p!q", "r*",
        "~s", "#t", "u{v,w}", "x=y:z", "Ethernet0:10.0.0.1/24", "'1", '"2', "!3", "$4", "ü5"]
# `complete -- WORDS` offers the keys that begin with the last word; every other call records its words. The shells start it some 300 times: -IS
# and a late import halve the time of each start.
STAND_IN = """#!{python} -IS
import sys
words = sys.argv[1:]
if words[:2] == ["complete", "--"]:
    for key in {keys!r}:
        if key.startswith(words[-1]) and words[2:-1] == ["get", "A TABLE"]:
            print(key + "\\tkey")
else:
    import json
    with open({told!r}, "w", encoding="utf-8") as told:
        told.write(json.dumps(words))
"""
SHELLS = {"bash": (["bash", "--norc", "--noprofile", "-i"], 'shopt -u checkwinsize; bind "set enable-bracketed-paste off"; bind "set bell-style none"'),
          "zsh": (["zsh", "-f", "-i"], "autoload -Uz compinit; compinit -D -u; unsetopt beep zle_bracketed_paste")}


class Shell:
    """An interactive shell with typed commands, in a new folder."""

    def __init__(self, name, rondo):
        self.folder = tempfile.mkdtemp(prefix="rondo-completion-")
        self.told = os.path.join(self.folder, "told")
        os.mkfifo(self.told)
        stand_in = os.path.join(self.folder, "rondo")
        with open(stand_in, "w", encoding="utf-8") as file:
            file.write(STAND_IN.format(python=sys.executable, keys=KEYS, told=self.told))
        os.chmod(stand_in, 0o755)
        script = os.path.join(self.folder, "script")
        with open(script, "wb") as file:
            file.write(subprocess.run([rondo, "completion", name], check=True, capture_output=True).stdout)
        command, settings = SHELLS[name]
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}", "TERM": "xterm", "HOME": self.folder, "LC_ALL": "C.UTF-8",
                       "PS1": "ready> "}
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(self.folder)
            os.execvpe(command[0], command, environment)
        self.wait_for("ready> ")
        self.type(f"{settings}; . ./script; PS1='go''on> '\n")
        self.wait_for("goon> ")

    def type(self, text):
        os.write(self.terminal, text.encode())

    def wait_for(self, wanted):
        seen = ""
        while wanted not in seen:
            ready, _, _ = select.select([self.terminal], [], [], PATIENCE)
            assert ready, f"{wanted!r} never came; the last was {seen[-2000:]!r}"
            seen += os.read(self.terminal, 65536).decode(errors="replace")

    def words_after(self, typed):
        """Returns the words that the program receives when this is typed and the line is sent."""
        told = os.open(self.told, os.O_RDONLY | os.O_NONBLOCK)
        try:
            self.type(typed + "\n")
            said = b""
            while True:
                ready, _, _ = select.select([told, self.terminal], [], [], PATIENCE)
                assert ready, f"{typed!r}: the program was never called"
                if self.terminal in ready:
                    os.read(self.terminal, 65536)  # Its echo.
                if told in ready:
                    part = os.read(told, 65536)
                    if not part:
                        break
                    said += part
        finally:
            os.close(told)
        self.wait_for_silence()
        return json.loads(said)

    def wait_for_silence(self):
        self.type("\x15echo 'ne''xt'\n")  # Discards the rest of the line.
        self.wait_for("next\r\n")

    def end(self):
        os.kill(self.process, signal.SIGHUP)
        os.close(self.terminal)
        os.waitpid(self.process, 0)
        assert not os.path.exists(os.path.join(self.folder, "gone")), "a key was run"
        shutil.rmtree(self.folder)


def beginnings(shell, key):
    """Ways to type a prefix that only this key has."""
    safe = key[0] if key[0].isalnum() else "\\" + key[0]
    yield safe
    if key[0] not in "'!":  # Within quotes a shell may expand an exclamation mark from its history.
        yield "'" + key[0]
    if key[0] not in "\"!$`":
        yield '"' + key[0]
    if ":" in key and shell == "bash":
        yield key[:key.index(":") + 1]


def check(name, rondo):
    shell = Shell(name, rondo)
    for key in KEYS:
        for beginning in beginnings(name, key):
            words = shell.words_after(f"rondo get 'A TABLE' {beginning}\t")
            assert words == ["get", "A TABLE", key], f"{name}: {beginning!r} and Tab became {words}, not {key!r}"
    shell.end()


def main():
    found = [name for name in SHELLS if shutil.which(name)]
    for name in found:
        check(name, sys.argv[1])
    print(f"completion: {len(KEYS)} keys are words in {' and '.join(found)}")
    missing = [name for name in SHELLS if name not in found]
    if missing:
        print(f"not tried: {' and '.join(missing)} is not installed")
    return 0 if found else 77


if __name__ == "__main__":
    sys.exit(main())
