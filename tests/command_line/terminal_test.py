#!/usr/bin/env python3
"""rondo at a terminal: `top` on a pseudo terminal (keys, a change of size, a stop, the end, the screen afterwards), and the completions of a
running daemon, of a silent one and of none."""
import fcntl
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import time

sys.dont_write_bytecode = True
from rondod_process import PATIENCE, Rondod  # noqa: E402


class Screen:
    """A program on its own terminal."""

    def __init__(self, command, lines, columns):
        self.master, slave = pty.openpty()
        self.slave = os.dup(slave)
        self.resize(lines, columns)
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"}, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)
        self.seen = ""

    def resize(self, lines, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def wait_for(self, wanted):
        """Reads until 'wanted' accepts the newest output; returns that output."""
        self.seen = ""
        deadline = time.monotonic() + PATIENCE
        while not wanted(self.seen):
            ready, _, _ = select.select([self.master], [], [], max(0.0, deadline - time.monotonic()))
            assert ready, f"never came; the last was {self.seen[-2000:]!r}"
            self.seen += os.read(self.master, 65536).decode()
        return self.seen

    def frame(self, has):
        """A whole frame that contains this text: from the top of the screen to the erasure of the rest."""
        def whole(text):
            return any(has in part and "\x1b[J" in part for part in text.split("\x1b[H")[1:])
        return next(part for part in self.wait_for(whole).split("\x1b[H")[1:] if has in part and "\x1b[J" in part)

    def read_to_the_end(self):
        """Reads until the program ends, because it blocks while the terminal is full."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, "it does not end"
            if select.select([self.master], [], [], 0.01)[0]:
                os.read(self.master, 65536)

    def end(self):
        self.wait_for(lambda text: "\x1b[?1049l" in text)
        assert self.process.wait(PATIENCE) == 0
        assert termios.tcgetattr(self.slave) == self.before, "the terminal is as it was"
        os.close(self.master)
        os.close(self.slave)


def plain_lines(frame):
    text = frame.split("\x1b[J")[0].replace("\x1b[0m", "").replace("\x1b[7m", "").replace("\x1b[K", "")
    return text.replace("\r", "").split("\n")  # The terminal adds a return to each newline.


def is_sorted_by_name(part):
    lines = plain_lines(part)
    title = next((i for i, line in enumerate(lines) if line.startswith("SOURCE")), None)
    if "\x1b[J" not in part or title is None:
        return False
    names = [line[:lines[title].index("PRIORITY")].strip() for line in lines[title + 1:] if not line.startswith("... ")]
    return len(names) > 3 and names == sorted(names)


def check_top(daemon):
    screen = Screen(daemon.command(["top", "--every", "0.1"]), 30, 100)
    lines = plain_lines(screen.frame("q quits"))
    assert len(lines) <= 30 and max(map(len, lines)) <= 100, lines
    assert any(line.startswith("SOURCE") for line in lines)
    screen.press("n")
    screen.wait_for(lambda text: any(is_sorted_by_name(part) for part in text.split("\x1b[H")[1:]))
    screen.resize(12, 40)
    # The smaller frame is drawn immediately, and stays within the new edges.
    screen.wait_for(lambda text: any("\x1b[J" in part and len(plain_lines(part)) <= 12 and max(map(len, plain_lines(part))) <= 40
                                     for part in text.split("\x1b[H")[1:]))
    screen.press("?")
    screen.frame("t turns, n name")
    screen.press("h")
    screen.frame("q quits")
    screen.press("p")
    screen.frame("paused")
    screen.press("p")
    screen.frame("q quits")
    screen.press("q")
    screen.end()
    small = Screen(daemon.command(["top", "--sort", "name"]), 24, 80)
    first = plain_lines(small.frame("q quits"))
    assert max(map(len, first)) <= 80 and any(line.startswith("... ") and line.endswith(" more") for line in first), first
    title = next(line for line in first if line.startswith("SOURCE"))
    assert title.endswith("  >") and "BUSY" not in title, title
    for _ in range(20):
        small.press("\x1b[C")  # Right
    small.frame("BUSY  <")
    small.press("\x1bOD<<\x1b[5~")
    small.frame("  <>")
    small.press("\x1b[F")  # End
    small.frame(" above")
    small.press("\x1b[H")
    small.frame(" more")
    small.press("\x1b[6~\x1b[B")
    small.frame(" more, ")
    small.press("\x1b[99~q")  # An unknown key, whose bytes must not count as keys.
    small.end()
    for key in ("\x03", "\x1c"):  # Ctrl-C, Ctrl-\\
        interrupted = Screen(daemon.command(["top"]), 24, 80)
        interrupted.frame("q quits")
        interrupted.press(key)
        interrupted.end()


def check_stopped_top(daemon):
    """Ctrl-Z returns the terminal to the shell, and `fg` the screen to top. Needs a shell with job control, without which no process stops."""
    shell = 'set -m; "$0" "$@"; echo "stopped: $?"; read -r go; fg; echo "stopped: $?"; read -r go; fg'
    screen = Screen(["sh", "-c", shell, *daemon.command(["top", "--every", "0.1"])], 32, 80)  # With room for several sources.
    screen.frame("q quits")
    screen.press("\x1a")  # Ctrl-Z
    said = screen.wait_for(lambda text: f"stopped: {128 + signal.SIGTSTP}" in text)
    assert said.index("\x1b[?1049l") < said.index("stopped: "), "the screen is left before it stops"
    assert termios.tcgetattr(screen.slave) == screen.before, "the terminal is as it was"
    screen.press("\n")
    again = screen.frame("q quits")
    assert any(line.startswith("SOURCE") for line in plain_lines(again)), again
    assert "\x1b[?1049h" in screen.seen, "it is on the other screen again"
    screen.press("n")  # Keys work again.
    screen.wait_for(lambda text: any(is_sorted_by_name(part) for part in text.split("\x1b[H")[1:]))
    screen.press("\x1a")
    screen.wait_for(lambda text: "\x1b[?1049l" in text and "stopped: " in text)
    screen.press("\n")
    screen.frame("q quits")
    screen.press("q")
    screen.end()


def check_ended_while_stopped(daemon):
    """`kill %1` ends a stopped top, which leaves the terminal to the shell."""
    shell = 'set -m; "$0" "$@"; echo "stopped: $?"; read -r go; kill -TERM %1; kill -CONT %1; wait -f %1; echo "ended: $?"; read -r go'
    for bring_back in ("", "bg; "):  # Stopped by Ctrl-Z, or by the terminal because it continued in the background.
        screen = Screen(["bash", "-c", shell.replace("kill -TERM", bring_back + "kill -TERM"), *daemon.command(["top", "--every", "0.1"])], 24, 80)
        screen.frame("q quits")
        screen.press("\x1a")  # Ctrl-Z
        screen.wait_for(lambda text: "stopped: " in text)
        screen.press("\n")
        said = screen.wait_for(lambda text: "ended: " in text and text.split("ended: ")[1].endswith("\n"))
        assert said.split("ended: ")[1].split()[0] in ("0", str(128 + signal.SIGTERM)), said
        assert "\x1b[" not in said, "it draws nothing in the background"
        screen.press("\n")
        assert screen.process.wait(PATIENCE) == 0
        assert termios.tcgetattr(screen.slave) == screen.before, "the terminal is as it was"
        os.close(screen.master)
        os.close(screen.slave)


def check_progress(daemon):
    """The progress of a long write stays on one line of a narrow terminal, whatever the name of the file."""
    path = os.path.join(daemon.folder, "a" * 60 + ".json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('[{"PORT_TABLE:swp1": {"mtu": "9100"}, "OP": "SET"}]')
    screen = Screen(daemon.command(["load", path]), 24, 40)
    said = screen.wait_for(lambda text: "refused" in text)
    line = said.split("\r\n")[0].replace("\x1b[K", "")
    assert line.startswith("\r") and max(map(len, line.split("\r"))) < 40, said
    assert screen.process.wait(PATIENCE) == 0
    os.close(screen.master)
    os.close(screen.slave)


def check_progress_of_reading(daemon):
    """A command that reads a whole journal shows its progress, only on a terminal; the answer is below it."""
    journal = os.path.join(daemon.folder, "day.journal")
    for words, answer in ((["journal", "check", journal], "records of 1 run"), (["replay", journal], "records, ")):
        screen = Screen(daemon.command(words), 24, 100)
        said = screen.wait_for(lambda text, answer=answer: text.endswith("\r\n") and answer in text.split("\r\n")[-2])
        progress = said.split("\r\n")[0]
        assert progress.startswith("\r") and " records  " in progress and "[#" in progress, said
        screen.process.wait(PATIENCE)
        os.close(screen.master)
        os.close(screen.slave)
        assert not daemon.run(*words).stderr, "nobody sees it in a pipe"
    # If only the answer matters, the line is removed before it; there is none among lines that are printed meanwhile.
    for words, answer, has_line in ((["explain", "swp1"], "taken", True), (["audit"], "waits held", True), (["tail"], "turn ends", True),
                                    (["grep", "swp1"], "swp1", False), (["export", "--swss"], "|SET|", False)):
        screen = Screen(daemon.command(["journal", words[0], *words[1:], journal]), 24, 100)
        said = screen.wait_for(lambda text, answer=answer: text.endswith("\r\n") and answer in text)
        assert said.startswith("\r") == has_line and ("[#" in said) == has_line, said
        if has_line:
            line, below = said.rsplit("\r\x1b[K", 1)
            assert "\n" not in line and answer in below, said
        screen.read_to_the_end()
        os.close(screen.master)
        os.close(screen.slave)
    # With output to a file the terminal shows the line and then removes it; with a pipe, which may lead to a pager, there is none.
    for where, has_line in (("> " + os.path.join(daemon.folder, "lines"), True), ("| cat > " + os.path.join(daemon.folder, "lines"), False)):
        screen = Screen(["sh", "-c", f'"$@" {where}; echo; echo end', "sh", *daemon.command(["journal", "grep", "swp1", journal])], 24, 100)
        said = screen.wait_for(lambda text: "end\r\n" in text)
        assert ("[#" in said) == has_line and said.split("\r\x1b[K")[-1] == "\r\nend\r\n", said
        screen.read_to_the_end()
        os.close(screen.master)
        os.close(screen.slave)


def check_stuck_top(daemon):
    """A daemon that does not answer: the screen shows for how long, and keys and signals take effect immediately."""
    def begin(leave):
        screen = Screen(daemon.command(["top", "--every", "0.1"]), 24, 80)
        screen.frame("q quits, p")
        os.kill(daemon.process.pid, signal.SIGSTOP)
        try:
            screen.frame("NO ANSWER for 1 s")
            screen.frame("NO ANSWER for 2 s")
            start = time.monotonic()
            leave(screen)
            screen.end()
            # Far below --timeout, the duration of a blocking call.
            assert time.monotonic() - start < PATIENCE / 3
        finally:
            os.kill(daemon.process.pid, signal.SIGCONT)
    begin(lambda screen: screen.press("q"))
    begin(lambda screen: screen.press("\x03"))
    begin(lambda screen: screen.process.send_signal(signal.SIGTERM))
    again = Screen(daemon.command(["top", "--every", "0.1"]), 24, 80)
    again.frame("q quits, p")
    os.kill(daemon.process.pid, signal.SIGSTOP)
    again.frame("NO ANSWER")
    os.kill(daemon.process.pid, signal.SIGCONT)
    again.frame("q quits, p")
    again.press("q")
    again.end()


def offers(daemon, *words, **environment):
    start = time.monotonic()
    said = subprocess.run([daemon.rondo, "complete", "--", *words], capture_output=True, text=True, timeout=PATIENCE, check=False,
                          env={**os.environ, **environment})
    assert said.returncode == 0 and not said.stderr, said
    return [line.split("\t")[0] for line in said.stdout.splitlines()], time.monotonic() - start


def expect_offers(expected, daemon, *words, **environment):
    """A shell waits for at most 300 ms: on a busy machine it is offered nothing, and the user presses Tab again."""
    deadline = time.monotonic() + PATIENCE
    while (said := offers(daemon, *words, **environment)[0]) != expected:
        assert not said and time.monotonic() < deadline, (words, said)


def check_offers(daemon):
    here = {"RONDO_SOCKET": daemon.socket}
    assert daemon.run("feed", "routes", "--synthetic", "3000").returncode == 0
    assert daemon.run("set", "PORT_TABLE", "swp1", "mtu=9100").returncode == 0
    expect_offers(["PORT_TABLE"], daemon, "get", "PORT", **here)
    expect_offers(["swp1"], daemon, "get", "PORT_TABLE", "sw", **here)
    expect_offers(["swp1"], daemon, "--socket", daemon.socket, "get", "PORT_TABLE", "sw")
    deadline = time.monotonic() + PATIENCE
    while not (keys := offers(daemon, "get", "ROUTE_TABLE", "", **here)[0]) and time.monotonic() < deadline:
        pass
    assert len(keys) == 100, "a screen of keys, not a table"
    assert offers(daemon, "get", "NO_TABLE", "", **here)[0] == []
    # A daemon that accepts the connection and never answers.
    silent = os.path.join(daemon.folder, "silent")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(silent)
        listener.listen(1)
        words, seconds = offers(daemon, "get", "", RONDO_SOCKET=silent)
        assert words == [] and seconds < PATIENCE / 2, seconds
    assert offers(daemon, "get", "", RONDO_SOCKET="/nowhere/socket")[0] == []


def main():
    rondo, rondod = sys.argv[1:3]
    with Rondod(rondod, rondo) as daemon:
        check_offers(daemon)
        check_top(daemon)
        check_stopped_top(daemon)
        check_ended_while_stopped(daemon)
        check_progress(daemon)
        check_progress_of_reading(daemon)
        check_stuck_top(daemon)
    print("terminal: top draws, obeys and leaves; shells are offered tables and keys")


if __name__ == "__main__":
    main()
