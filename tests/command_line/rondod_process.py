"""A real rondod with the simulated data plane in a new folder, for tests in Python, which start it, call it with the real rondo, and end it."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile

PATIENCE = 30  # Seconds; only bounds a hanging program.


class Rondod:
    def __init__(self, rondod, rondo, store="", closed=()):
        self.rondo = rondo
        self.folder = tempfile.mkdtemp(prefix="rondo-cli-")
        self.socket = os.path.join(self.folder, "socket")
        config = os.path.join(self.folder, "toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(f'[admin]\nsocket = "{self.socket}"\n[dataplane]\nkind = "simulated"\nsimulated_ports = ["swp1"]\n[journal]\nfile = "{self.folder}/day.journal"\n[store]\n{store}')
        told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        told.bind(os.path.join(self.folder, "notify"))
        told.settimeout(PATIENCE)
        self.log = open(os.path.join(self.folder, "log"), "w", encoding="utf-8")
        self.process = subprocess.Popen([rondod, "--config", config], stderr=self.log,
                                        env={**os.environ, "NOTIFY_SOCKET": os.path.join(self.folder, "notify")},
                                        preexec_fn=lambda: [os.close(one) for one in closed])
        assert any(b"READY=1" in told.recv(4096) for _ in range(100)), "it does not say that it is ready"
        told.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE)
        self.log.close()
        shutil.rmtree(self.folder)

    def command(self, words):
        return [self.rondo, "--socket", self.socket, *words]

    def run(self, *words, **options):
        return subprocess.run(self.command(words), capture_output=True, text=True, timeout=PATIENCE, check=False, **options)

    def start(self, *words):
        return subprocess.Popen(self.command(words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
