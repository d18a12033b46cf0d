"""A real rondod with the simulated data plane, or with none, in a new folder, for tests in Python, which start it, call it with the real rondo, and end it."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

PATIENCE = 30  # Seconds; only bounds a hanging program.
# Becomes the program of its further arguments, with the descriptor of the first one as the service manager passes a socket named "http".
PASS_SOCKET = ("import os, sys; os.dup2(int(sys.argv[1]), 3); "
               "os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1', LISTEN_FDNAMES='http'); os.execv(sys.argv[2], sys.argv[2:])")


class Rondod:
    """'jobs': it runs jobs, which are in a file of its folder, or in a store of this name. 'ports': of the simulated data plane."""

    def __init__(self, rondod, rondo, store="", closed=(), plane="simulated", jobs=False, passed=None, ports=("swp1",)):
        self.rondo = rondo
        self.folder = tempfile.mkdtemp(prefix="rondo-cli-")
        self.socket = os.path.join(self.folder, "socket")
        self.config = os.path.join(self.folder, "toml")
        self.rondod = rondod
        self.closed = closed
        self.passed = passed  # A listening socket.
        ports = f"simulated_ports = {list(ports)}\n" if plane == "simulated" else ""
        if jobs:
            place = f"{self.folder}/jobs.db" if jobs is True else jobs
            store += f'[jobs]\nenabled = true\nstore = "{place}"\n'
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(f'[admin]\nsocket = "{self.socket}"\n[dataplane]\nkind = "{plane}"\n{ports}[journal]\nfile = "{self.folder}/day.journal"\n[store]\n{store}')
        self.launch()

    def launch(self):
        """Starts the process, and returns when it serves."""
        notify = os.path.join(self.folder, "notify")
        if os.path.exists(notify):
            os.unlink(notify)
        told = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        told.bind(notify)
        told.settimeout(PATIENCE)
        self.log = open(os.path.join(self.folder, "log"), "a", encoding="utf-8")
        command = [self.rondod, "--config", self.config]
        if self.passed is not None:
            command = [sys.executable, "-c", PASS_SOCKET, str(self.passed.fileno()), *command]
        self.process = subprocess.Popen(command, stderr=self.log, pass_fds=[self.passed.fileno()] if self.passed is not None else [],
                                        env={**os.environ, "NOTIFY_SOCKET": notify},
                                        preexec_fn=lambda: [os.close(one) for one in self.closed])
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
