#!/usr/bin/env python3
"""with_redis.py PROGRAM: runs it with the address of a Redis of its own, which listens on a Unix socket in a temporary folder. The exit code
is that of the program; 77 where there is no redis-server."""
import os
import shutil
import subprocess
import sys
import tempfile


def main():
    server = shutil.which("redis-server")
    if server is None:
        print("SKIPPED: no redis-server; install Debian's package redis-tools or redis-server")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "redis.sock")
        process = subprocess.Popen([server, "--port", "0", "--unixsocket", path, "--save", "", "--dir", folder], stdout=subprocess.DEVNULL)
        try:
            # The program connects again by itself until the server is there.
            return subprocess.run([sys.argv[1], "unix://" + path], check=False).returncode
        finally:
            process.terminate()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
