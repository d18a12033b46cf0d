#!/usr/bin/env python3
"""rondo without its other end: a daemon that does not answer or dies during a dump, and a standard output that is unread, full or closed."""
import os
import signal
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
from rondod_process import PATIENCE, Rondod  # noqa: E402


def check_dump_without_answer(rondo, rondod):
    """Without an answer there is no bundle, and the exit code shows the reason."""
    with Rondod(rondod, rondo) as daemon:
        path = os.path.join(daemon.folder, "bundle.tar")
        os.kill(daemon.process.pid, signal.SIGSTOP)
        try:
            said = daemon.run("--timeout", "0.5", "dump", path)
        finally:
            os.kill(daemon.process.pid, signal.SIGCONT)
        assert said.returncode == 75 and "did not answer" in said.stderr and not said.stdout, said
        assert not os.path.exists(path), "a bundle with nothing in it"


def check_dump_of_a_dying_daemon(rondo, rondod):
    """The daemon dies before it answers a request."""
    with Rondod(rondod, rondo) as daemon:
        path = os.path.join(daemon.folder, "bundle.tar")
        os.kill(daemon.process.pid, signal.SIGSTOP)
        asking = daemon.start("dump", path)
        # The request waits in the socket as soon as the connection exists.
        while asking.poll() is None and not connected(daemon.socket):
            pass
        daemon.process.kill()
        out, errors = asking.communicate(timeout=PATIENCE)
        assert asking.returncode == 69 and errors and not out, (asking.returncode, out, errors)
        assert not os.path.exists(path), "a bundle with nothing in it"


def connected(path):
    """True if a client has connected to the socket at 'path' and is not accepted yet."""
    with open("/proc/net/unix", encoding="utf-8") as file:
        return sum(line.split()[-1] == path for line in file) > 1


def check_dump_to_full(rondo, rondod):
    with Rondod(rondod, rondo) as daemon, open("/dev/full", "wb") as full:
        said = subprocess.run(daemon.command(["dump", "-"]), stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        assert said.returncode == 1 and said.stderr == f"rondo: {FULL}\n", said
        path = os.path.join(daemon.folder, "bundle.tar")
        assert daemon.run("dump", path).returncode == 0
        with tarfile.open(path) as bundle:
            assert len(bundle.getnames()) > 10


FULL = "write to standard output: No space left on device"


def check_two_dumps_at_once(rondo, rondod):
    """Bundles of the same second get different names, and a tar file is not written to a terminal."""
    with Rondod(rondod, rondo) as daemon:
        for _ in range(5):
            said = daemon.run("dump", cwd=daemon.folder)
            assert said.returncode == 0 and os.path.exists(os.path.join(daemon.folder, said.stdout.split(":")[0])), said
        assert sum(name.endswith(".tar") for name in os.listdir(daemon.folder)) == 5
        taken = os.path.join(daemon.folder, "taken.tar")
        assert daemon.run("dump", taken).returncode == 0
        said = daemon.run("dump", taken)
        assert said.returncode == 1 and "File exists" in said.stderr, "a name that was given is taken as it is"
        terminal, end = os.openpty()
        said = subprocess.run(daemon.command(["dump", "-"]), stdout=end, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        os.close(end)
        os.close(terminal)
        assert said.returncode == 2 and "a terminal" in said.stderr, said


def check_full_disk(rondo, rondod):
    """A command whose output cannot be written reports that and fails. If its reader is gone, it reports nothing."""
    with Rondod(rondod, rondo) as daemon:
        journal = os.path.join(daemon.folder, "day.journal")
        rows = os.path.join(daemon.folder, "rows.json")
        with open(rows, "w", encoding="utf-8") as file:
            file.write('[{"PORT_TABLE:swp1": {"mtu": "9100"}, "OP": "SET"}]')
        commands = [["tables"], ["--json", "stats"], ["top", "--once"], ["--json", "top", "--once"], ["journal", "tail", journal],
                    ["journal", "check", journal], ["health"], ["completion", "zsh"], ["version"], ["--help"], ["--version"], ["dump", "-"],
                    ["feed", "routes", "--synthetic", "20000", "--dry-run"], ["load", rows, "--dry-run"], ["load", rows]]
        for words in commands:
            with open("/dev/full", "wb") as full:
                said = subprocess.run(daemon.command(words), stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
            assert said.returncode == 1 and FULL in said.stderr and said.stderr.count("\n") == 1, (words, said)
        reads, writes = os.pipe()
        os.close(reads)
        said = subprocess.run(daemon.command(["tables"]), stdout=writes, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False,
                              restore_signals=False)
        os.close(writes)
        assert said.returncode == 1 and not said.stderr, said


def check_closed_descriptors(rondo, rondod):
    """Output must not go to a socket that has the number of a closed standard output."""
    with Rondod(rondod, rondo) as daemon:
        assert daemon.run("set", "PORT_TABLE", "swp1", "mtu=9100").returncode == 0

        def run(words, *closed):
            return subprocess.run(daemon.command(words), stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False,
                                  preexec_fn=lambda: [os.close(one) for one in closed])
        said = run(["tables"], 1)
        assert said.returncode == 1 and said.stderr == "rondo: write to standard output: Bad file descriptor\n", said
        assert run(["tables"], 0, 1, 2).returncode == 1
        assert run(["load", "-"], 0).returncode == 1, "nothing to read is no empty file"
        assert run(["version"], 0).returncode == 0
    with Rondod(rondod, rondo, closed=(0, 1, 2)) as daemon:
        files = f"/proc/{daemon.process.pid}/fd"
        assert {os.readlink(f"{files}/{one}") for one in (0, 1, 2)} == {"/dev/null"}
        assert daemon.run("version").returncode == 0


def check_streams_that_nobody_reads(rondo, rondod):
    """watch and trace end at the first line that cannot be written; the parent may ignore SIGPIPE, as Python and service managers do."""
    with Rondod(rondod, rondo) as daemon:
        def begin(words, output):
            return subprocess.Popen(daemon.command(words), stdout=output, stderr=subprocess.PIPE, text=True, restore_signals=False)
        reads, writes = os.pipe()
        os.close(reads)
        with open("/dev/full", "wb") as full:
            readers = [begin(words, output) for words in (["watch", "PORT_TABLE"], ["trace", "PORT_TABLE", "swp1"]) for output in (writes, full)]
        os.close(writes)
        while '"watchers":4' not in daemon.run("--json", "top", "--once").stdout:
            assert all(reader.poll() is None for reader in readers)
        assert daemon.run("set", "PORT_TABLE", "swp1", "mtu=9100").returncode == 0
        for reader in readers:
            _, errors = reader.communicate(timeout=PATIENCE)
            assert reader.returncode == 1 and "standard output" in errors, (reader.args, reader.returncode, errors)


def main():
    rondo, rondod = sys.argv[1:3]
    for check in (check_dump_without_answer, check_dump_of_a_dying_daemon, check_dump_to_full, check_two_dumps_at_once, check_full_disk,
                  check_closed_descriptors, check_streams_that_nobody_reads):
        check(rondo, rondod)
    print("away: a dump says what it lacks, and streams end with their reader")


if __name__ == "__main__":
    main()
