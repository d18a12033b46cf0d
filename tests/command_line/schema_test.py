#!/usr/bin/env python3
"""Each command's --json against its schema in docs/schema.

Runs the real rondo against a real rondod (simulated data plane) that holds rows of every state. Each command that rondo offers has a schema,
and each has been run here or says why not. Exit status 77, aloud, without python3-jsonschema.
"""
import json
import os
import socket
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples"))
from rondod_process import PATIENCE, Rondod  # noqa: E402
from with_redis import server_program, start_server  # noqa: E402

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is not installed, so --json was NOT checked against docs/schema", file=sys.stderr)
    sys.exit(77)

# Commands that a daemon cannot answer, or whose output is no JSON.
ELSEWHERE = {"completion": "prints a script", "worker": "prints no answer: tests/worker", "workers": "nobody runs jobs here: job_test.py", "executors": "there are none here: job_test.py", "executor-drain": "there are none here: job_test.py", "tokens": "there is no API here: api_test.py", "token-add": "the same", "token-remove": "the same", "confirm": "nothing is held here: tests/system/safety_linux_test.cc"}
GROUPS = ("cron", "feed", "job", "journal")  # Words before a command.
PASSWORD = "correct-horse"


class Checker:
    def __init__(self, folder):
        self.schemas = {}
        self.checked = set()
        for name in sorted(os.listdir(folder)):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                schema = json.load(file)
            jsonschema.Draft202012Validator.check_schema(schema)
            self.schemas[name.removesuffix(".json")] = jsonschema.Draft202012Validator(schema)

    def check(self, name, text, command=None):
        """Checks 'text' against the schema 'name', and that the schema names all its members. 'command': its command, if named otherwise."""
        value = json.loads(text)
        errors = [f"{name}: {error.json_path}: {error.message}" for error in self.schemas[name].iter_errors(value)]
        assert not errors, "\n".join(errors) + "\n" + text[:2000]
        # A member that no schema describes would become a promise by accident, so it is an error.
        described = self.schemas[name].schema.get("properties")
        if described and isinstance(value, dict) and name != "export":
            assert set(value) <= set(described), f"{name}: not described: {set(value) - set(described)}"
        self.checked.add(command or name)
        return value


def offered(daemon):
    """Every command that rondo offers to a shell."""
    def words(*line):
        said = subprocess.run([daemon.rondo, "complete", "--", *line, ""], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
        return [one.split("\t")[0] for one in said.splitlines()]
    return [name for name in words() if name not in GROUPS] + [f"{group}-{name}" for group in GROUPS for name in words(group)]


def fill(daemon, checker):
    """Rows that are done, parked on several facts, parked on a missing row, rejected; and a large one."""
    # A write with --wait: the state of the row, and the exit code.
    for code, state, words in ((0, "done", ("set", "PORT_TABLE", "swp1", "mtu=9100")), (4, "parked", ("set", "ROUTE_TABLE", "10.9.0.0/24", "nexthop_group=109")),
                               (1, "rejected", ("set", "PORT_TABLE", "swp1", "mtu=many")), (0, "done", ("del", "ROUTE_TABLE", "10.9.0.0/24"))):
        said = daemon.run("--json", *words, "--wait")
        assert said.returncode == code and checker.check(words[0], said.stdout)["state"] == state, (words, said)
    checker.check("set", daemon.run("--json", "set", "ROUTE_TABLE", "10.0.0.0/24", "nexthop_group=102").stdout)
    for words in (("NEIGH_TABLE", "swp1:10.0.0.2", "neigh=02:00:00:00:00:02"), ("INTF_TABLE", "swp1:10.0.0.1/24"), ("INTF_TABLE", "swp1"),
                  ("NEXTHOP_GROUP_TABLE", "7", "nexthop=10.0.0.8,10.0.0.9", "ifname=swp1,swp1"),
                  ("NEIGH_TABLE", "swp9:10.9.0.2", "neigh=02:00:00:00:09:02"), ("PORT_TABLE", "swp1", f"mtu=redis://user:{PASSWORD}@host"),
                  ("PORT_TABLE", "swp1", "admin_status=up", "mtu=9100"), ("PORT_TABLE", "swp7", "note=" + "x" * 100_000)):
        said = daemon.run("set", *words)
        assert said.returncode == 0, said.stderr


def check_calls(daemon, checker):
    for name in ("tables", "parked", "rejected", "sources", "ports", "stats", "config", "log", "commands", "version",
                 "diff", "verify", "resync", "resources"):
        said = daemon.run("--json", name)
        assert said.returncode == 0 and said.stdout.count("\n") == 1, (name, said)
        checker.check(name, said.stdout)
    check_turns(daemon, checker)
    checker.check("schema", daemon.run("--json", "schema", "ROUTE_TABLE").stdout)
    checker.check("health", daemon.run("--json", "health").stdout)
    checker.check("restart-check", daemon.run("--json", "restart-check").stdout)
    assert checker.check("get", daemon.run("--json", "get", "PORT_TABLE", "swp7").stdout)["fields"] == [["note", "x" * 100_000]]
    assert checker.check("get", daemon.run("--json", "get", "PORT_TABLE", "swp1").stdout)["plane"] == "installed"
    assert "installed" in daemon.run("get", "PORT_TABLE", "swp1").stdout
    assert len(checker.check("keys", daemon.run("--json", "keys", "PORT_TABLE", "swp*", "--count", "1").stdout)["rows"]) == 1
    shown = {row["key"]: row for row in checker.check("show", daemon.run("--json", "show", "PORT_TABLE", "swp*").stdout)["rows"]}
    assert shown["swp1"]["state"] == "done" and shown["swp1"]["plane"] == "installed" and ["mtu", "9100"] in shown["swp1"]["fields"] and shown["swp7"]["large"], shown
    assert checker.check("show", daemon.run("--json", "show", "ROUTE_TABLE").stdout)["rows"][0]["plane"] == "waiting"
    # The backup of a running daemon restores everything, including a large row and a waiting row.
    rows = {key: value for row in checker.check("export", daemon.run("--json", "export").stdout) for key, value in row.items() if key != "OP"}
    assert rows["PORT_TABLE:swp7"]["note"] == "x" * 100_000 and rows["ROUTE_TABLE:10.0.0.0/24"] == {"nexthop_group": "102"}, rows.keys()
    assert checker.check("parked", daemon.run("--json", "parked", "ROUTE_TABLE").stdout)["rows"]
    # A row that lacks several facts is counted once.
    rows = json.loads(daemon.run("--json", "parked", "NEIGH_TABLE").stdout)["rows"]
    counted = [row["rows"] for row in json.loads(daemon.run("--json", "parked").stdout)["rows"] if row["table"] == "NEIGH_TABLE"]
    assert any(len(row["facts"]) > 1 for row in rows) and sum(counted) == len(rows), (rows, counted)
    why = checker.check("why", daemon.run("--json", "why", "ROUTE_TABLE", "10.0.0.0/24").stdout)
    assert [link["table"] for link in why["chain"]] == ["ROUTE_TABLE", "NEXTHOP_GROUP_TABLE"], why
    several = checker.check("why", daemon.run("--json", "why", "NEXTHOP_GROUP_TABLE", "7").stdout)
    assert several["chain"][0]["missing"] >= 1, several
    checker.check("call", daemon.run("--json", "call", "get", "table=PORT_TABLE", "key=swp1").stdout)
    # The journal's thread writes within some milliseconds.
    changes = poll_history(daemon, checker, "swp1", 4)
    newest = {field["name"]: field["after"] for change in reversed(changes) for field in change["fields"]}
    assert newest["mtu"] == "9100" and newest["admin_status"] == "up", changes
    assert any(change.get("by", "").startswith(f"user {os.getuid()} process ") for change in changes), changes
    for words in (("why", "PORT_TABLE", "swp1"), ("why", "ROUTE_TABLE", "none")):
        checker.check("why", daemon.run("--json", *words).stdout)
    checker.check("del", daemon.run("--json", "del", "ROUTE_TABLE", "10.0.0.0/24").stdout)
    said = daemon.run("--json", "get", "ROUTE_TABLE", "none")
    assert said.returncode == 1 and not said.stdout
    checker.check("error", said.stderr)
    for words in (("get", "ROUTE_TABLE"), ("sorces",), ("stats", "--timeout", "0"), ("--store", "file:///t", "watch", "T"), ("--store", "sqlite:///t", "keys", "T")):
        said = daemon.run("--json", *words)
        assert said.returncode == 2 and not said.stdout, (words, said)
        checker.check("error", said.stderr)


def poll_history(daemon, checker, key, count):
    """The newest changes of a row of PORT_TABLE, when the journal has so many."""
    for _ in range(1000):
        changes = checker.check("history", daemon.run("--json", "history", "PORT_TABLE", key).stdout)["rows"]
        if len(changes) >= count:
            return changes
    raise AssertionError(changes)


def check_turns(daemon, checker):
    """The newest turns, in order; the turns of the asking connections are among them."""
    for _ in range(100):  # A machine that stands still for ten seconds ends the record between two calls.
        turns = checker.check("turns", daemon.run("--json", "turns").stdout)
        assert daemon.run("set", "PORT_TABLE", "swp1", "mtu=9100", "--wait").returncode == 0
        later = json.loads(daemon.run("--json", "call", "turns", f"since={turns['next']}").stdout)
        if later["recorded_us"] > turns["recorded_us"] >= 1e6:
            break
    assert turns["missed"] == 0 and turns["rows"], turns
    numbers = [row["sequence"] for row in later["rows"]]
    assert numbers == sorted(numbers) and numbers[0] > turns["next"] and numbers[-1] == later["next"] and later["missed"] == 0, later
    assert sum(row["turns"] for row in later["rows"]) == later["next"] - turns["next"], later
    assert any(row["source"] == "PORT_TABLE" and row["items"] > 0 for row in later["rows"]), later
    assert all(row["start_us"] + row["span_us"] <= later["at_us"] and row["ran_us"] <= row["span_us"] for row in later["rows"]), later
    text = daemon.run("turns", "--count", "2", "--for", "0").stdout.splitlines()
    assert len(text) in (2, 3) and text[0].split()[:3] == ["ago", "ms", "source"], text
    assert daemon.run("turns", "--count", "8193").returncode == 2, "the record has 8192"


def check_writes(daemon, checker):
    path = os.path.join(daemon.folder, "rows.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('[{"PORT_TABLE:swp1": {"mtu": "9000"}, "OP": "SET"}]')
    checker.check("load", daemon.run("--json", "load", path).stdout)
    with open(path, "w", encoding="utf-8") as file:
        file.write('[{"PORT_TABLE:swp1": {"mtu": "9001"}, "OP": "SET"}, {"PORT_TABLE:swp8": {"mtu": "many"}, "OP": "SET"}]')
    said = daemon.run("load", "--atomic", path)
    assert said.returncode == 1 and ":1:" in said.stderr and "nothing was written" in said.stderr, said
    with open(path, "w", encoding="utf-8") as file:
        file.write('[{"PORT_TABLE:swp1": {"mtu": "9001"}, "OP": "SET"}, {"PORT_TABLE:swp8": {"mtu": "1500"}, "OP": "SET"}]')
    said = daemon.run("--json", "load", "--atomic", path)
    assert said.returncode == 0 and checker.check("load", said.stdout)["accepted"] == 2, said
    assert checker.check("load", daemon.run("--json", "load", "--atomic", path).stdout)["rows"] == 0, "nothing differs"
    # As many rows as one request takes, and more.
    for count, code, words in ((1030, 2, "nothing was written: 1030 changes"), (1023, 0, "1023 rows")):
        said = daemon.run("load", "--atomic", "-", input=json.dumps([{f"PORT_TABLE:many{i}": {"mtu": "1500"}, "OP": "SET"} for i in range(count)]))
        assert said.returncode == code and words in said.stdout + said.stderr, said
    assert daemon.run("load", "--changes", "-", input='[{"PORT_TABLE:swp1": {"mtu": "9000"}, "OP": "SET"}, {"PORT_TABLE:swp8": {}, "OP": "DEL"}]').returncode == 0
    diff = checker.check("load-diff", daemon.run("--json", "load", "--diff", path).stdout, "load")
    assert [(row["key"], row["change"]) for row in diff["rows"]] == [("swp1", "changed"), ("swp8", "added")], diff
    assert checker.check("load", daemon.run("--json", "load", "--changes", path).stdout)["rows"] == 2
    checker.check("feed-routes", daemon.run("--json", "feed", "routes", "--synthetic", "100").stdout)
    # A dry run prints the rows as export does.
    checker.check("export", daemon.run("--json", "load", "--dry-run", path).stdout)
    assert len(checker.check("export", daemon.run("--json", "feed", "routes", "--synthetic", "100", "--dry-run").stdout)) == 100


def check_streams(daemon, checker):
    """watch and trace end after --timeout; top prints the requested number of frames."""
    readers = [("watch", daemon.start("--json", "watch", "PORT_TABLE", "swp*", "--count", "2", "--timeout", str(PATIENCE))),
               ("trace", daemon.start("--json", "trace", "PORT_TABLE", "swp1", "--count", "3", "--timeout", str(PATIENCE)))]
    while json.loads(daemon.run("--json", "top", "--once").stdout)["watchers"] < 2:
        pass
    for mtu in ("1500", "1600"):
        assert daemon.run("set", "PORT_TABLE", "swp1", "mtu=" + mtu).returncode == 0
    for name, reader in readers:
        out, errors = reader.communicate(timeout=PATIENCE)
        assert reader.returncode == 0, errors
        lines = out.splitlines()
        assert len(lines) == {"watch": 2, "trace": 3}[name], out
        for line in lines:
            checker.check(name, line)
    frames = daemon.run("--json", "top", "--batch", "2", "--every", "0.1").stdout.splitlines()
    assert len(frames) == 2
    for frame in frames:
        checker.check("top", frame)
    assert "SOURCE" in daemon.run("top").stdout, "without a terminal: a frame as text"


def check_cron(daemon, checker):
    for words in (("0 0 * * *",), ("0 0 30 2 *",), ("0 0 0 1 1 ? 2030", "--zone", "Europe/Berlin")):
        checker.check("cron-next", daemon.run("--json", "cron", "next", *words).stdout)
    checker.check("cron-explain", daemon.run("--json", "cron", "explain", "0 0 * * *").stdout)
    said = daemon.run("--json", "cron", "next", "0 24 * * *")
    assert said.returncode == 2 and not said.stdout, said
    checker.check("error", said.stderr)


def check_journal(daemon, checker):
    """The daemon's own journal so far; the daemon keeps running."""
    path = os.path.join(daemon.folder, "day.journal")
    for words in (("tail", "--lines", "50"), ("grep", "PORT_TABLE"), ("export", "--swss"), ("export", "--retry")):
        lines = daemon.run("--json", "journal", *words, path).stdout.splitlines()
        assert lines, words
        for line in lines:
            checker.check("journal", line, "journal-" + words[0])
    assert checker.check("journal", daemon.run("--json", "journal", "explain", "swp1", path).stdout, "journal-explain")["events"]
    assert checker.check("journal", daemon.run("--json", "journal", "check", path).stdout, "journal-check")["records"] > 0
    audited = checker.check("journal", daemon.run("--json", "journal", "audit", path).stdout, "journal-audit")
    assert audited["waits"] > 0 and audited["violations"] == 0, audited
    assert checker.check("replay", daemon.run("--json", "replay", path).stdout)["same"]


def check_dump(daemon, checker):
    # A rejected row has left a password in the figures and in the log, which must be hidden.
    assert PASSWORD in daemon.run("--json", "stats").stdout
    path = os.path.join(daemon.folder, "bundle.tar")
    said = daemon.run("--json", "dump", path)
    assert said.returncode == 0, said.stderr
    listed = checker.check("dump", said.stdout)["files"]
    assert os.stat(path).st_mode & 0o777 == 0o600
    assert daemon.run("dump", path).returncode == 1, "a file that is there is not written over"
    hidden = 0
    with tarfile.open(path) as bundle:
        names = {os.path.basename(name) for name in bundle.getnames()}
        assert names == set(listed) | {"contents.json"}, names
        for member in bundle.getmembers():
            text = bundle.extractfile(member).read().decode()
            assert PASSWORD not in text, member.name
            hidden += text.count("redis://user:***@host")
            name = os.path.basename(member.name).removesuffix(".json")
            if name not in ("contents", "version"):
                checker.check(name, text)
    assert hidden >= 2, "the log and the figures name the row, without its password"


def check_fpm(daemon, checker, rondod):
    """The command `fpm`, which needs an FPM server."""
    check = daemon.run("--json", "fpm")
    assert check.returncode == 1 and "[fpm]" in check.stderr, check
    with socket.socket() as reserved:  # It stays bound, so that no other program gets the port. rondod binds it with SO_REUSEADDR.
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        port = reserved.getsockname()[1]
        check_fpm_at(daemon, checker, rondod, port)


def check_fpm_at(daemon, checker, rondod, port):
    with Rondod(rondod, daemon.rondo, f"[fpm]\nenabled = true\nport = {port}\n") as other:
        fpm = checker.check("fpm", other.run("--json", "fpm").stdout)
        assert fpm["endpoint"] == f"127.0.0.1:{port}" and fpm["resync"] == "no session" and fpm["routes"] == 0, fpm
        assert f"127.0.0.1:{port}" in other.run("fpm").stdout


def check_file(daemon, checker, rondod):
    """The commands that read the file of a stopped daemon, if this rondod supports one."""
    if "?durability" not in subprocess.run([rondod, "--manual", "rondod.toml"], capture_output=True, text=True, check=True).stdout:
        return
    path = os.path.join(daemon.folder, "tables")
    with Rondod(rondod, daemon.rondo, f'url = "file://{path}?durability=every-batch"\n') as other:
        assert other.run("set", "ROUTE_TABLE", "10.0.0.0/24", "nexthop_group=1").returncode == 0
        assert other.run("set", "NEIGH_TABLE", "swp1:10.0.0.2", "neigh=02:00:00:00:00:02").returncode == 0
    for words in (("doctor",), ("export",), ("tables",), ("keys", "ROUTE_TABLE"), ("pending", "ROUTE_TABLE"), ("get", "NEIGH_TABLE", "swp1:10.0.0.2"), ("version",)):
        check_store(daemon, checker, "file://" + path, *words)
    for words in (("get", "ROUTE_TABLE", "none"), ("keys", "NO_TABLE")):
        check_store_error(daemon, checker, "file://" + path, *words)


def check_store(daemon, checker, url, *words):
    said = subprocess.run([daemon.rondo, "--json", "--store", url, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert said.returncode == 0, (words, said.stderr)
    return checker.check(words[0], said.stdout)


def check_store_error(daemon, checker, url, *words):
    said = subprocess.run([daemon.rondo, "--json", "--store", url, *words], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert said.returncode != 0 and not said.stdout, (words, said)
    checker.check("error", said.stderr)


def check_redis(daemon, checker):
    """The commands that only a Redis answers, if one is installed and this rondo supports it. Returns true if so."""
    server = server_program()
    path = os.path.join(daemon.folder, "redis")
    url = "unix://" + path
    unable = subprocess.run([daemon.rondo, "--store", url, "keys", "T"], capture_output=True, text=True, timeout=PATIENCE, check=False).stderr
    if server is None or "without Redis" in unable:
        print("SKIPPED: no Redis here (Debian's package redis-tools), or none in this rondo, so `clear` and `pending` on one were NOT checked", file=sys.stderr)
        return False
    process = start_server(server, "--port", "0", "--unixsocket", path, "--save", "", "--appendonly", "no", stdout=subprocess.PIPE, text=True)
    try:
        for line in process.stdout:  # Ends when the server does.
            if "ready to accept connections" in line.lower():
                break
        for words in (("set", "T", "k", "f=v"), ("pending", "T"), ("keys", "T"), ("del", "T", "k"), ("pending", "T"), ("clear", "T", "--yes"), ("send", "EVENTS", "op", "data", "f=v")):
            check_store(daemon, checker, url, *words)
        check_store_error(daemon, checker, url, "clear", "T")
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    return True


def main():
    rondo, rondod, schemas = sys.argv[1:4]
    checker = Checker(schemas)
    with Rondod(rondod, rondo) as daemon:
        names = offered(daemon)
        # One schema describes all commands that read a journal.
        missing = [name for name in names if name not in checker.schemas and name not in ("completion", "worker") and not name.startswith("journal-")]
        assert not missing, f"no schema for {missing}"
        fill(daemon, checker)
        check_calls(daemon, checker)
        check_writes(daemon, checker)
        check_streams(daemon, checker)
        check_cron(daemon, checker)
        check_journal(daemon, checker)
        check_dump(daemon, checker)
        check_file(daemon, checker, rondod)
        check_fpm(daemon, checker, rondod)
        if not check_redis(daemon, checker):
            ELSEWHERE["clear"] = ELSEWHERE["send"] = "a Redis is asked"
        # job_test.py runs all commands of jobs.
        unchecked = [name for name in names if name not in checker.checked and name not in ELSEWHERE and not name.startswith("job-")]
        assert not unchecked, f"never run: {unchecked}"
    print(f"schema: {len(checker.checked)} kinds of output are as described")


if __name__ == "__main__":
    main()
