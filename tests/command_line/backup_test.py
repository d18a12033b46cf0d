#!/usr/bin/env python3
"""`rondo export` of a running rondod is a backup: another rondod that loads it has the same rows, in the same states.

Runs the real rondo against two real rondods (simulated data plane). The rows are of every state and of every shape that JSON can spoil: many
pages, a large value, no fields, bytes that are no text. Usage: backup_test.py RONDO RONDOD
"""
import json
import os
import sys
import time

sys.dont_write_bytecode = True
from rondod_process import PATIENCE, Rondod  # noqa: E402

ROUTES = 3000  # Fills several pages of an answer.


def fill(daemon):
    rows = (("PORT_TABLE", "swp1", "admin_status=up", "mtu=9100"), ("INTF_TABLE", "swp1"), ("INTF_TABLE", "swp1:10.0.0.1/24"),
            ("NEIGH_TABLE", "swp1:10.0.0.2", "neigh=02:00:00:00:00:02"), ("ROUTE_TABLE", "192.168.0.0/16", "nexthop=10.0.0.2", "ifname=swp1"),
            ("ROUTE_TABLE", "192.168.1.0/24", "nexthop_group=102"), ("ROUTE_TABLE", "192.168.2.0/24", "blackhole=perhaps"),
            ("PORT_TABLE", r"odd\x00\xff\u202e", r"note=\x00\xfe\"\\", r"\x1b=quote"), ("PORT_TABLE", "swp7", "note=" + "x" * 100_000))
    for words in rows:
        said = daemon.run("set", *words)
        assert said.returncode == 0, (words[1], said.stderr)
    said = daemon.run("feed", "routes", "--synthetic", str(ROUTES))
    assert said.returncode == 0, said.stderr
    assert daemon.run("set", "--wait", "PORT_TABLE", "swp1", "mtu=9100").returncode == 0
    return len(rows) + ROUTES


def exported(daemon):
    said = daemon.run("export")
    assert said.returncode == 0, said.stderr
    return said.stdout


def sorted_rows(text):
    return sorted(json.dumps(row, sort_keys=True) for row in json.loads(text))


def states(daemon):
    """The rows of all tables with their states, when the agent has handled each: a row that was just written is pending."""
    deadline = time.monotonic() + PATIENCE
    while True:
        rows = []
        for table in ("PORT_TABLE", "INTF_TABLE", "NEIGH_TABLE", "ROUTE_TABLE"):
            said = daemon.run("--json", "show", table)
            assert said.returncode == 0, said.stderr
            rows += [(table, row["key"], row["state"], row.get("plane", "")) for row in json.loads(said.stdout)["rows"]]
        found = {state for _, _, state, _ in rows}
        if found == {"done", "parked", "rejected"} and "pending" not in {plane for *_, plane in rows}:
            return sorted(rows)
        assert time.monotonic() < deadline, found


def main(rondo, rondod):
    with Rondod(rondod, rondo) as first, Rondod(rondod, rondo) as second:
        count = fill(first)
        backup = exported(first)
        path = os.path.join(first.folder, "backup.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write(backup)
        assert len(json.loads(backup)) == count, len(json.loads(backup))

        said = second.run("--json", "load", path)
        assert said.returncode == 0, said.stderr
        assert json.loads(said.stdout)["accepted"] == count, said.stdout
        assert states(second) == states(first)
        assert sorted_rows(exported(second)) == sorted_rows(backup)

        # Loading a backup into its own daemon changes nothing.
        said = first.run("load", "--diff", "--replace", path)
        assert said.returncode == 0 and said.stdout == f"0 added, 0 changed, 0 removed, {count} as they are\n", said
    print(f"{count} rows came back")


if __name__ == "__main__":
    main(*sys.argv[1:])
