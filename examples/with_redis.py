#!/usr/bin/env python3
"""with_redis.py PROGRAM: runs it with the address of a Redis of its own, which listens on a Unix socket in a temporary folder. The exit code
is that of the program; 77 where there is no Redis."""
import os
import shutil
import subprocess
import sys
import tempfile


def server_program():
    """The redis-server of this machine, or None. redis-tools has the same program under the name redis-check-rdb; it goes by the name it is called."""
    return shutil.which("redis-server") or shutil.which("redis-check-rdb")


def start_server(program, *options, **how):
    return subprocess.Popen(["redis-server", *options], executable=program, **how)


def main():
    server = server_program()
    if server is None:
        print("SKIPPED: no Redis here; install Debian's package redis-tools")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "redis.sock")
        process = start_server(server, "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder, stdout=subprocess.DEVNULL)
        try:
            # The program connects again by itself until the server is there.
            return subprocess.run([sys.argv[1], "unix://" + path], check=False).returncode
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
