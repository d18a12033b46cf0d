"""The daemon of examples/load_balancer as an operator uses it: with the command line rondo, its tables in a file and on a real Redis, killed and
started again. Its health checks are real: a backend is a socket that listens on 127.0.0.1."""
import json
import os
import socket
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
sys.dont_write_bytecode = True
from with_redis import server_program, start_server  # noqa: E402

PATIENCE = 60
SERVICE = "192.0.2.1:443"


class Daemon:
    def __init__(self, program, rondo, folder, store):
        self.words = [program, "--store", store, "--socket", os.path.join(folder, "socket"), "--device", os.path.join(folder, "device")]
        self.rondo = rondo
        self.device = os.path.join(folder, "device")
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.words, stderr=subprocess.PIPE, text=True)
        while " serving " not in self.process.stderr.readline():
            assert self.process.poll() is None, self.words

    def kill(self):
        self.process.kill()
        self.process.wait(PATIENCE)

    def end(self):
        self.process.terminate()
        code = self.process.wait(PATIENCE)
        assert code == 0, f"the daemon ended with {code}"

    def run(self, *words):
        said = subprocess.run([self.rondo, "--socket", self.words[4], *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert said.returncode == 0, (words, said.stdout, said.stderr)
        return said.stdout

    def members(self):
        try:
            with open(os.path.join(self.device, SERVICE), encoding="utf-8") as file:
                return file.read().split()
        except FileNotFoundError:
            return []

    def becomes(self, members):
        end = time.monotonic() + PATIENCE
        while self.members() != members:
            assert time.monotonic() < end, f"the device has {self.members()} and not {members}: {self.run('why', 'SERVICE', SERVICE)}"
            time.sleep(0.01)

    def why(self):
        return json.loads(self.run("--json", "why", "SERVICE", SERVICE))["chain"]


class Server:
    """A backend that answers health checks until it is closed."""

    def __init__(self, port=0):
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen(1000)
        self.port = self.listener.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"

    def close(self):
        self.listener.close()


def check_store(program, rondo, folder, store):
    os.mkdir(folder)
    daemon = Daemon(program, rondo, folder, store)
    try:
        first, second = Server(), Server()
        daemon.run("set", "SERVICE", SERVICE, "pool=web")
        daemon.run("set", "POOL", "web", "backends=b1,b2")
        daemon.run("set", "BACKEND", "b1", f"address={first.address}")
        daemon.becomes([first.address])
        daemon.run("set", "BACKEND", "b2", f"address={second.address}")
        daemon.becomes([first.address, second.address])
        assert daemon.why()[0]["state"] == "done", daemon.why()

        daemon.run("call", "drain", "backend=b1")
        daemon.becomes([second.address])
        second.close()  # The health check detects this.
        daemon.becomes([])
        chain = daemon.why()
        assert chain[0]["state"] == "parked" and "health check" in json.dumps(chain) and "drained" in json.dumps(chain), chain

        daemon.kill()
        second = Server(second.port)
        daemon.start()  # It still has all writes; b1 is still drained.
        daemon.becomes([second.address])
        daemon.run("call", "undrain", "backend=b1")
        daemon.becomes([first.address, second.address])
        daemon.kill()
        daemon.start()
        daemon.run("del", "SERVICE", SERVICE)
        daemon.becomes([])
        daemon.end()
    finally:
        daemon.kill()


def check(program, rondo, folder):
    said = subprocess.run([program, "--store", "nowhere"], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert said.returncode == 1 and "--store is memory, file:PATH or the address of a Redis" in said.stderr, said
    check_store(program, rondo, os.path.join(folder, "in a file"), "file:" + os.path.join(folder, "tables.rondo"))
    print("the daemon with its tables in a file: ok")
    if server_program() is None:
        print("SKIPPED: the daemon with its tables on Redis; install Debian's package redis-tools")
        return
    redis = os.path.join(folder, "redis.sock")
    server = start_server(server_program(), "--port", "0", "--unixsocket", redis, "--save", "", "--dir", folder, stdout=subprocess.DEVNULL)
    try:
        check_store(program, rondo, os.path.join(folder, "on redis"), "unix://" + redis)
        print("the daemon with its tables on Redis: ok")
    finally:
        server.terminate()
        server.wait()
