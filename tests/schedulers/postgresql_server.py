"""A private PostgreSQL server for tests, on a Unix socket in a new folder. It refuses to run as root, so a test of root runs it as postgres or nobody."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

PATIENCE = 300  # Seconds; only ends what hangs.


def program_folder():
    """The newest folder with the server's programs; None if there is none."""
    return next(iter(sorted((os.path.dirname(path) for path in glob.glob("/usr/lib/postgresql/*/bin/postgres")), reverse=True)), None)


class PostgresqlServer:
    def __init__(self):
        self.programs = program_folder()
        self.folder = tempfile.mkdtemp(prefix="rondo-postgresql-")
        self.user = None
        if os.geteuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            self.user = "postgres" if "postgres" in names else "nobody"
            shutil.chown(self.folder, self.user)
        self.data = os.path.join(self.folder, "data")
        self.log = os.path.join(self.folder, "log")
        made = subprocess.run([self.path("initdb"), "--no-sync", "--auth=trust", "--username=rondo", "--encoding=UTF8", "--locale=C", "-D", self.data],
                              user=self.user, cwd="/", capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert made.returncode == 0, made
        self.start()
        self.sql("CREATE DATABASE jobs", "postgres")
        self.url = f"postgresql://rondo@/jobs?host={self.folder}"

    def path(self, program):
        return os.path.join(self.programs, program)

    def start(self):
        """Starts the server, and returns when it answers."""
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([self.path("postgres"), "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off"],
                                            user=self.user, cwd="/", stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while subprocess.run([self.path("pg_isready"), "-q", "-h", self.folder], timeout=PATIENCE, check=False).returncode != 0:
            assert self.process.poll() is None and time.monotonic() < deadline, open(self.log, encoding="utf-8").read()
            time.sleep(0.05)  # The condition decides, not this pause: it leaves the processor to the other processes.

    def crash(self):
        """Ends the server as a crash does."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(PATIENCE)

    def sql(self, statement, database="jobs"):
        """What psql prints for a statement: lines of values with | between them."""
        said = subprocess.run([self.path("psql"), "-h", self.folder, "-U", "rondo", "-d", database, "-Atc", statement],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert said.returncode == 0, said
        return said.stdout.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.crash()
        shutil.rmtree(self.folder)
