"""Private database servers for tests and benchmarks, on a Unix socket in a new folder. They refuse to run as root, so a test of root runs them as another user."""
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

PATIENCE = 300  # Seconds; only ends what hangs.


class Server:
    """KINDS has the subclasses. Each has the URL of an empty database 'jobs', and statements in its own language."""

    def __init__(self, users):
        self.folder = tempfile.mkdtemp(prefix="rondo-database-")
        self.user = None
        if os.geteuid() == 0:
            names = {entry.pw_name for entry in pwd.getpwall()}
            self.user = next(name for name in users if name in names)
            shutil.chown(self.folder, self.user)
        self.data = os.path.join(self.folder, "data")
        self.log = os.path.join(self.folder, "log")

    def run(self, *command, user=None):
        said = subprocess.run(command, user=user, cwd="/", capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert said.returncode == 0, said
        return said.stdout.strip()

    def start_process(self, command, question):
        """Starts the server, and returns when it answers 'question', another command."""
        with open(self.log, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(command, user=self.user, cwd="/", stdout=log, stderr=log)
        deadline = time.monotonic() + PATIENCE
        while subprocess.run(question, capture_output=True, timeout=PATIENCE, check=False).returncode != 0:
            assert self.process.poll() is None and time.monotonic() < deadline, open(self.log, encoding="utf-8").read()
            time.sleep(0.05)  # The condition decides, not this pause: it leaves the processor to the other processes.

    def crash(self):
        """Ends the server as a crash does."""
        self.process.send_signal(signal.SIGQUIT if self.KIND == "postgresql" else signal.SIGKILL)
        self.process.wait(PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.crash()
        shutil.rmtree(self.folder)


class PostgresqlServer(Server):
    KIND = "postgresql"
    NOW = "clock_timestamp()"
    SLEEP = "pg_sleep"
    TEXT_OF_NOTE = "convert_from(note, 'UTF8')"
    IDLE_TRANSACTIONS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'rondo' AND state LIKE 'idle in transaction%'"
    SOCKET_NAME = ".s.PGSQL.5432"

    @staticmethod
    def why_missing():
        return None if PostgresqlServer.programs() else "no PostgreSQL server; install Debian's package postgresql-15"

    @staticmethod
    def programs():
        """The newest folder with the server's programs; None if there is none."""
        return next(iter(sorted((os.path.dirname(path) for path in glob.glob("/usr/lib/postgresql/*/bin/postgres")), reverse=True)), None)

    def __init__(self, port=None, settings=("fsync=off",)):
        """With 'port' it listens on that port of 127.0.0.1, too. 'settings' are those of postgresql.conf."""
        super().__init__(["postgres", "nobody"])
        self.port = port or 5432  # It also names the socket.
        self.settings = [f"listen_addresses={'127.0.0.1' if port else ''}", f"port={self.port}", *settings]
        self.run(self.path("initdb"), "--no-sync", "--auth=trust", "--username=rondo", "--encoding=UTF8", "--locale=C", "-D", self.data, user=self.user)
        self.start()
        self.sql("CREATE DATABASE jobs", "postgres")
        self.url = self.url_at(self.folder)

    def path(self, program):
        return os.path.join(self.programs(), program)

    def url_at(self, folder):
        """For a socket of the server's name in another folder."""
        return f"postgresql://rondo@/jobs?host={folder}"

    def start(self):
        options = [word for setting in self.settings for word in ("-c", setting)]
        self.start_process([self.path("postgres"), "-D", self.data, "-k", self.folder, *options],
                           [self.path("pg_isready"), "-q", "-h", self.folder, "-p", str(self.port)])

    def sql(self, statement, database="jobs"):
        """What a statement returns: lines of values."""
        return self.run(self.path("psql"), "-h", self.folder, "-p", str(self.port), "-U", "rondo", "-d", database, "-Atc", statement)

    def empty(self):
        self.sql("DROP SCHEMA IF EXISTS rondo CASCADE")

    def end_connections(self):
        self.sql("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'jobs' AND pid <> pg_backend_pid()")


class MariadbServer(Server):
    KIND = "mariadb"
    NOW = "UTC_TIMESTAMP(6)"
    SLEEP = "SLEEP"
    TEXT_OF_NOTE = "CONVERT(note USING utf8mb4)"
    IDLE_TRANSACTIONS = ("SELECT trx_mysql_thread_id FROM information_schema.innodb_trx JOIN information_schema.processlist "
                         "ON processlist.id = trx_mysql_thread_id WHERE processlist.user = 'rondo' AND processlist.command = 'Sleep'")
    SOCKET_NAME = "socket"
    PATH = os.environ.get("PATH", "") + ":/usr/sbin"

    @staticmethod
    def why_missing():
        programs = ("mariadbd", "mariadb-install-db", "mariadb")
        return None if all(map(MariadbServer.path, programs)) else "no MariaDB server; install Debian's package mariadb-server"

    @staticmethod
    def path(program):
        return shutil.which(program, path=MariadbServer.PATH)

    def __init__(self, settings=("innodb-flush-log-at-trx-commit=2",)):
        """'settings' are options of the server."""
        super().__init__(["mysql", "nobody"])
        self.settings = settings
        self.socket = os.path.join(self.folder, self.SOCKET_NAME)
        # A server that starts removes the temporary tables of all others in its folder for them.
        self.run(self.path("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}", f"--tmpdir={self.folder}",
                 "--auth-root-authentication-method=normal", "--skip-test-db", user=self.user)
        self.start()
        self.sql("CREATE DATABASE jobs; CREATE USER rondo@localhost IDENTIFIED BY 'a secret'; GRANT ALL ON jobs.* TO rondo@localhost", "mysql")
        self.passfile = os.path.join(self.folder, "password")
        with open(os.open(self.passfile, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as file:
            file.write("a secret\n")
        self.url = self.url_at(self.folder)

    def url_at(self, folder):
        """For a socket of the server's name in another folder."""
        return f"mariadb://rondo@/jobs?socket={folder}/{self.SOCKET_NAME}&passfile={self.passfile}"

    def client(self, *arguments):
        return [self.path("mariadb"), "--no-defaults", f"--socket={self.socket}", "--user=root", "-N", "-B", *arguments]

    def start(self):
        self.start_process([self.path("mariadbd"), "--no-defaults", f"--datadir={self.data}", f"--tmpdir={self.folder}", f"--socket={self.socket}", f"--pid-file={self.folder}/pid",
                            "--skip-networking", *(f"--{setting}" for setting in self.settings)], self.client("-e", "SELECT 1"))

    def sql(self, statement, database="jobs"):
        """What a statement returns: lines of values."""
        return self.run(*self.client("-D", database, "-e", statement.replace("rondo.", "")))

    def empty(self):
        self.sql("DROP DATABASE jobs; CREATE DATABASE jobs")

    def end_connections(self):
        self.sql("KILL USER rondo@localhost")


KINDS = {server.KIND: server for server in (PostgresqlServer, MariadbServer)}
