#!/usr/bin/env python3
"""rondo when the other end is away: a daemon that does not answer or dies under a dump, and a standard output that nobody reads or that is full."""
import os
import signal
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
from rondod_process import PATIENCE, Rondod  # noqa: E402


def check_dump_without_answer(rondo, rondod):
    """No answer, no bundle, and the exit code of what is wrong."""
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
    """A daemon that dies while it has the question."""
    with Rondod(rondod, rondo) as daemon:
        path = os.path.join(daemon.folder, "bundle.tar")
        os.kill(daemon.process.pid, signal.SIGSTOP)
        asking = daemon.start("dump", path)
        # The question waits in the socket as soon as there is a connection.
        while asking.poll() is None and not connected(daemon.socket):
            pass
        daemon.process.kill()
        out, errors = asking.communicate(timeout=PATIENCE)
        assert asking.returncode == 69 and errors and not out, (asking.returncode, out, errors)
        assert not os.path.exists(path), "a bundle with nothing in it"


def connected(path):
    """Somebody has connected to the socket at 'path' and is not accepted yet."""
    with open("/proc/net/unix", encoding="utf-8") as file:
        return sum(line.split()[-1] == path for line in file) > 1


def check_dump_to_full(rondo, rondod):
    with Rondod(rondod, rondo) as daemon, open("/dev/full", "wb") as full:
        said = subprocess.run(daemon.command(["dump", "-"]), stdout=full, stderr=subprocess.PIPE, text=True, timeout=PATIENCE, check=False)
        assert said.returncode == 1 and said.stderr, said
        path = os.path.join(daemon.folder, "bundle.tar")
        assert daemon.run("dump", path).returncode == 0
        with tarfile.open(path) as bundle:
            assert len(bundle.getnames()) > 10


def check_streams_that_nobody_reads(rondo, rondod):
    """watch and trace end at the first line that cannot be written; a parent may have SIGPIPE ignored, as Python and service managers do."""
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
    for check in (check_dump_without_answer, check_dump_of_a_dying_daemon, check_dump_to_full, check_streams_that_nobody_reads):
        check(rondo, rondod)
    print("away: a dump says what it lacks, and streams end with their reader")


if __name__ == "__main__":
    main()
