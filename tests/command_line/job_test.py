#!/usr/bin/env python3
"""`rondo job` against a real rondod that only schedules: each command with its exit code, its --json against its schema, and what is in the
database after a kill -9. Usage: job_test.py RONDO RONDOD SCHEMAS. Exit status 77, aloud, without python3-jsonschema."""
import json
import os
import socket
import sqlite3
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from rondod_process import PATIENCE, Rondod  # noqa: E402
from schema_test import Checker, offered  # noqa: E402


def expect(daemon, code, *words, **options):
    said = daemon.run(*words, **options)
    assert said.returncode == code, (words, said)
    return said.stdout if code == 0 else said.stderr


def check_definitions(daemon, checker):
    added = checker.check("job-add", expect(daemon, 0, "--json", "job", "add", "night", "--handler", "log", "--parameters", 'a "b" \\x41',
                                            "--cron", "30 2 * * MON-FRI", "--zone", "Europe/Berlin", "--tags", "a,b", "--stopped"))
    assert not added["running"] and added["parameters"] == 'a "b" \\x5cx41' and added["tags"] == ["a", "b"], added
    assert "rondo job edit" in expect(daemon, 1, "job", "add", "night", "--handler", "log", "--every", "1s")
    assert "column 1" in expect(daemon, 2, "job", "add", "bad", "--handler", "log", "--cron", "61 * * * *")
    assert "exclude each other" in expect(daemon, 2, "job", "add", "bad", "--handler", "log", "--every", "1s", "--manual")
    assert "is no duration" in expect(daemon, 2, "job", "add", "bad", "--handler", "log", "--manual", "--backoff", "soon")
    assert "next: 20" in expect(daemon, 0, "job", "add", "dry", "--handler", "log", "--every", "1h", "--dry-run")
    assert "no job 'dry'" in expect(daemon, 1, "job", "show", "dry")
    assert "no job 'dry'" in expect(daemon, 1, "job", "runs", "dry")
    for dry in ((), ("--dry-run",)):
        assert "Mars/Base" in expect(daemon, 2, "job", "add", "bad", "--handler", "log", "--cron", "* * * * *", "--zone", "Mars/Base", *dry)
    # A dry run of an edit shows what the edit then does, and an edit of nothing changes nothing.
    edit = ("job", "edit", "night", "--every", "2h", "--retries", "3", "--route", "last")
    dry = expect(daemon, 0, *edit, "--dry-run")
    assert dry.splitlines() == ["+ retries: 3", "+ route: last", "- schedule: cron 30 2 * * MON-FRI", "+ schedule: every 2h"], dry
    assert checker.check("job-show", expect(daemon, 0, "--json", "job", "show", "night"))["schedule"].startswith("cron")
    assert expect(daemon, 0, *edit) == dry
    assert expect(daemon, 0, *edit) == "nothing changes\n"
    assert checker.check("job-edit", expect(daemon, 0, "--json", "job", "edit", "night", "--note", "x"))["zone"] == "Europe/Berlin"
    assert len(checker.check("job-next", expect(daemon, 0, "--json", "job", "next", "night", "--count", "3"))["rows"]) == 3
    assert expect(daemon, 0, "job", "next", "night", "--count", "2", "--from", "2030-01-01T01:00:00Z") == "2030-01-01T02:00:00Z\n2030-01-01T04:00:00Z\n"
    assert checker.check("job-start", expect(daemon, 0, "--json", "job", "start", "night"))["running"]
    assert checker.check("job-stop", expect(daemon, 0, "--json", "job", "stop", "night", "--note", "disk"))["stop_note"] == "disk"
    assert checker.check("job-show", expect(daemon, 0, "--json", "job", "show", "night"))["note"] == "x", "the job's own note stays"
    assert "stopped: disk; x" in expect(daemon, 0, "job", "list", "night")
    assert expect(daemon, 0, "job", "edit", "night", "--note", "x") == "nothing changes\n"
    # An instant in the past is a mistake, unless the user says otherwise.
    past = ("job", "add", "once", "--handler", "log", "--at", "2020-01-01T00:00:00Z")
    assert "'once' would never run" in expect(daemon, 2, *past)
    assert "'once' would never run" in expect(daemon, 2, *past, "--dry-run")
    assert "no job 'once'" in expect(daemon, 1, "job", "show", "once")
    assert expect(daemon, 0, *past, "--past") == "once: started\n"
    assert "'once' would never run" in expect(daemon, 2, "job", "edit", "once", "--at", "2021-01-01T00:00:00Z")
    expect(daemon, 0, "job", "edit", "once", "--note", "an edit of something else")
    expect(daemon, 0, "job", "remove", "once", "--yes")
    # A handler that is not there is accepted with a warning.
    said = daemon.run("job", "add", "typo", "--handler", "lgo", "--manual")
    assert said.returncode == 0 and "warning: this program has no handler 'lgo'" in said.stderr, said
    said = daemon.run("--json", "job", "edit", "typo", "--handler", "command/bakcup")
    assert "no worker offers command bakcup" in said.stderr and "warning" in checker.check("job-edit", said.stdout), said
    said = daemon.run("job", "edit", "typo", "--handler", "log")
    assert said.returncode == 0 and not said.stderr, said
    expect(daemon, 0, "job", "remove", "typo", "--yes")
    assert "nothing was done without --yes" in expect(daemon, 2, "job", "remove", "night", stdin=subprocess.DEVNULL)
    checker.check("job-remove", expect(daemon, 0, "--json", "job", "remove", "night", "--yes"))
    assert "no job" in expect(daemon, 1, "job", "start", "night")


def runs_of(daemon, checker, job):
    return checker.check("job-runs", expect(daemon, 0, "--json", "job", "runs", job, "--count", "200"))["rows"]


def wait_for(daemon, checker, job, is_right):
    deadline = time.monotonic() + PATIENCE
    while not is_right(runs := runs_of(daemon, checker, job)):
        assert time.monotonic() < deadline, runs
    return runs


def check_runs(daemon, checker):
    expect(daemon, 0, "job", "add", "hand", "--handler", "log", "--manual")
    run = checker.check("job-trigger", expect(daemon, 0, "--json", "job", "trigger", "hand"))
    runs = wait_for(daemon, checker, "hand", lambda runs: runs[0]["state"] == "succeeded")
    assert runs[0]["run"] == run["run"] and runs[0]["band"] == "manual", runs
    details = checker.check("job-runs", expect(daemon, 0, "--json", "call", "job-runs", "name=hand", "details=true"))["rows"]
    assert details == runs, "one attempt, and no shards"
    assert "has ended already, as succeeded at 20" in expect(daemon, 1, "job", "kill", str(run["run"]))
    assert "no run 999999" in expect(daemon, 1, "job", "kill", "999999")
    link = checker.check("why", expect(daemon, 0, "--json", "why", "JOB_RUN_8", f"hand#{run['run']}"))["chain"][0]
    assert link["state"] == "ended" and "as succeeded" in link["note"], link
    assert ": ended: it ended at 20" in expect(daemon, 0, "why", "JOB_RUN_8", f"hand#{run['run']}")
    expect(daemon, 2, "job", "kill", "x")
    # A run that has not begun is killed.
    expect(daemon, 0, "job", "add", "tick", "--handler", "log", "--every", "500ms")
    runs = wait_for(daemon, checker, "tick", lambda runs: any(run["state"] == "succeeded" for run in runs))
    checker.check("job-kill", expect(daemon, 0, "--json", "job", "kill", str(runs[0]["run"])))
    # A handler that does not exist is the reason of a failed run.
    expect(daemon, 0, "job", "add", "lost", "--handler", "nothing", "--manual")
    expect(daemon, 0, "job", "trigger", "lost")
    assert "nothing" in wait_for(daemon, checker, "lost", lambda runs: runs[0]["state"] == "failed")[0]["note"]
    said = daemon.run("health")
    assert said.returncode == 1 and "job 'lost' is started, and this program has no handler 'nothing'" in said.stdout, said
    assert json.loads(expect(daemon, 0, "--json", "stats"))["jobs"]["shards"] == 64, "it runs the jobs, whatever trouble one of them has"
    expect(daemon, 0, "job", "edit", "lost", "--handler", "log")
    assert "no handler 'nothing'" not in daemon.run("health").stdout
    names = [row["name"] for row in checker.check("job-list", expect(daemon, 0, "--json", "job", "list", "*i*"))["rows"]]
    assert names == ["tick"], names
    assert "STATE" in expect(daemon, 0, "job", "list").upper()
    # By tag and owner; both hold together.
    expect(daemon, 0, "job", "add", "owned", "--handler", "log", "--manual", "--owner", "ann", "--tags", "disk,night")
    expect(daemon, 0, "job", "add", "other", "--handler", "log", "--manual", "--owner", "bob", "--tags", "disk")
    for words, expected in ((("--tag", "disk"), ["other", "owned"]), (("--owner", "ann"), ["owned"]), (("--tag", "night", "--owner", "bob"), []),
                            (("--search", "ANN"), ["owned"]), (("--state", "failing", "--owner", "ann"), [])):
        found = checker.check("job-list", expect(daemon, 0, "--json", "job", "list", *words))["rows"]
        assert [row["name"] for row in found] == expected, (words, found)
    for name in ("owned", "other"):
        expect(daemon, 0, "job", "remove", name, "--yes")


def check_requested(daemon, checker):
    """A trigger with parameters of its own, and reruns."""
    expect(daemon, 0, "job", "add", "again", "--handler", "nothing", "--parameters", "of the job", "--manual")
    run = checker.check("job-trigger", expect(daemon, 0, "--json", "job", "trigger", "again", "--parameters", 'own "x" \\x41'))
    assert run["parameters"] == 'own "x" \\x5cx41' and run["band"] == "manual", run
    wait_for(daemon, checker, "again", lambda runs: runs[0]["state"] == "failed")
    expect(daemon, 0, "job", "edit", "again", "--handler", "log")
    new = checker.check("job-rerun", expect(daemon, 0, "--json", "job", "rerun", str(run["run"])))
    assert (new["rerun_of"], new["scheduled"], new["parameters"]) == (run["run"], run["scheduled"], run["parameters"]), new
    runs = wait_for(daemon, checker, "again", lambda runs: runs[0]["state"] == "succeeded")
    assert runs[0]["rerun_of"] == run["run"], runs
    assert f"rerun of {run['run']}" in expect(daemon, 0, "job", "runs", "again")
    assert f"the run {new['run']} has succeeded" in expect(daemon, 1, "job", "rerun", str(new["run"]))
    assert expect(daemon, 0, "job", "rerun", str(run["run"])).endswith(f": runs {run['run']} again\n")
    assert "no run 999999" in expect(daemon, 1, "job", "rerun", "999999")
    assert "is no number of a run" in expect(daemon, 2, "job", "rerun", "x")
    assert "runs at no executor" in expect(daemon, 2, "job", "trigger", "again", "--address", "http://127.0.0.1:1")
    assert "at most 65536 are possible" in expect(daemon, 2, "job", "trigger", "again", "--parameters", "x" * 65537)
    expect(daemon, 0, "job", "remove", "again", "--yes")
    assert f"no run {run['run']}" in expect(daemon, 1, "job", "rerun", str(run["run"]))


def check_failures(daemon, checker):
    """What failed, of all jobs; after a failure that a table refuses."""
    before = len(checker.check("job-failures", expect(daemon, 0, "--json", "job", "failures"))["rows"])
    expect(daemon, 0, "job", "add", "broken", "--handler", "absent", "--manual")
    number = json.loads(expect(daemon, 0, "--json", "job", "trigger", "broken"))["run"]
    wait_for(daemon, checker, "broken", lambda runs: runs[0]["state"] == "failed")
    rows = checker.check("job-failures", expect(daemon, 0, "--json", "job", "failures", "--since", "1h"))["rows"]
    assert (rows[0]["job"], rows[0]["run"]) == ("broken", number) and len(rows) == before + 1, rows
    assert "no handler 'absent'" in expect(daemon, 0, "job", "failures")
    assert expect(daemon, 0, "job", "failures", "--since", "2040-01-01T00:00:00Z") == ""
    assert "since" in expect(daemon, 2, "job", "failures", "--since", "yesterday")
    expect(daemon, 0, "job", "remove", "broken", "--yes")


def check_schedulers(daemon, checker):
    """The jobs of a file are all owned by the rondod that uses it, without a lease."""
    rows = checker.check("job-schedulers", expect(daemon, 0, "--json", "job", "schedulers"))["rows"]
    name = f"process {daemon.process.pid} on {socket.gethostname()}"
    assert rows == [{"name": name, "shards": 64, "state": "owner", "since": None, "until": None, "this": True}], rows
    assert name in expect(daemon, 0, "job", "schedulers")


def check_instants(daemon, checker):
    """What a console asks while a job is written, and for its picture of the load."""
    definition = json.dumps({"name": "planned", "handler": "log", "schedule": "cron 30 2 * * *", "zone": "Europe/Berlin"})
    answer = checker.check("job-preview", expect(daemon, 0, "--json", "call", "job-preview", f"definition={definition}", "count=3"))
    assert answer["words"] == "at 02:30, every day" and len(answer["instants"]) == 3, answer
    assert len(checker.check("job-load", expect(daemon, 0, "--json", "call", "job-load"))["minutes"]) in (60, 61)


def check_family(daemon, checker):
    """A child runs after its parent; a file may have a child before its parent."""
    expect(daemon, 0, "job", "add", "top", "--handler", "log", "--manual")
    child = checker.check("job-add", expect(daemon, 0, "--json", "job", "add", "below", "--handler", "log", "--parents", "top"))
    assert child["parents"] == ["top"], child
    assert expect(daemon, 0, "job", "next", "below") == "after its parents: top\n"
    assert checker.check("job-next", expect(daemon, 0, "--json", "job", "next", "below"))["after"] == ["top"]
    assert "next: after top" in expect(daemon, 0, "job", "add", "lower", "--handler", "log", "--parents", "top", "--dry-run")
    assert "after top" in expect(daemon, 0, "job", "list", "below")
    assert "a cycle: top -> below -> top" in expect(daemon, 2, "job", "edit", "top", "--parents", "below")
    run = checker.check("job-trigger", expect(daemon, 0, "--json", "job", "trigger", "top"))["run"]
    runs = wait_for(daemon, checker, "below", lambda runs: runs and runs[0]["state"] == "succeeded")
    assert runs[0]["parents"] == [run], runs
    exported = expect(daemon, 0, "job", "export")
    assert "is a parent of 'below'" in expect(daemon, 1, "job", "remove", "top", "--yes")
    expect(daemon, 0, "job", "remove", "below", "--yes")
    expect(daemon, 0, "job", "remove", "top", "--yes")
    said = daemon.run("job", "import", "-", input=exported)
    assert said.returncode == 0 and "below: added" in said.stdout and "top: added" in said.stdout, said
    assert expect(daemon, 0, "job", "export") == exported
    both = [{"name": "x", "handler": "h", "parents": ["y"]}, {"name": "y", "handler": "h", "parents": ["x"]}]
    fresh = {"name": "fresh", "handler": "h"}
    for jobs, why in (
        (both, "a cycle: x -> y -> x"),
        ([{"name": "x", "handler": "h"}] * 2, "'x' is there twice: entry 1 and entry 2"),
        ([{"handler": "h"}, {"handler": "h"}], "entry 1: job '': name: a name has"),
        ([{"name": "x", "handler": "h", "running": 1}], "entry 1: running is true or false"),
        ([fresh, {"name": "x", "handler": "h", "color": 1}, {"name": "y", "schedule": "every 106751d", "handler": "h"}],
         "entry 2: job 'x': a job has no field 'color'; entry 3: job 'y': schedule.when: '106751d' is longer than 36500d"),
        ([{"name": "x", "handler": "h", "schedule": "every 1h", "dialect": "unx"}], "'unx' is none of quartz"),
        ([fresh, {"name": "x", "handler": "h", "parents": ["nowhere"]}], "there is no job 'nowhere'"),
        ([fresh, {"name": "x", "handler": "h", "requires": ["weather:good"]}], "weather"),
        ([fresh] + [{"name": f"c{i}", "handler": "h", "parents": ["fresh"]} for i in range(500)], "501 jobs"),
        ([fresh, {"name": "x", "handler": "h", "parents": ["fresh", "top"]}], "more than one root"),
    ):
        for words in (("--dry-run",), ()):
            said = daemon.run("job", "import", "-", *words, input=json.dumps(jobs))
            assert said.returncode == 78 and why in said.stderr, said
    for text, why in (('[{"name": "x"},\n {"name" "y"}]', "standard input:2:10: no JSON: syntax error"),
                      ("[", "standard input:1:2: no JSON: incomplete JSON"),
                      ("[]\n x", "standard input:2:2: the file goes on after its JSON value"),
                      ("{}\n", "the file is no JSON array of jobs")):
        said = daemon.run("job", "import", "-", input=text)
        assert said.returncode == 78 and why in said.stderr, said
    # JSON has the last of two members with one name.
    for text, why in (('[{"name": "x", "handler": "h", "handler": "i"}]', "entry 1 has 'handler' twice"),
                      ('[{"name": "x", "handler": "h"}, {"name": "y", "handler": "h", "na\\u006de": "z"}]', "entry 2 has 'name' twice")):
        said = daemon.run("job", "import", "-", input=text)
        assert said.returncode == 78 and why in said.stderr, said
    # An instant in the past is a mistake in a new job. In one that is there it is its past.
    past = [{"name": "once", "handler": "log", "schedule": "at 2020-01-01T00:00:00Z"}]
    for words in (("--dry-run",), ()):
        said = daemon.run("job", "import", "-", *words, input=json.dumps(past))
        assert said.returncode == 0 and "no instant of 'at 2020-01-01T00:00:00Z' is ahead, so 'once' would never run" in said.stderr, said
    said = daemon.run("job", "import", "-", input=json.dumps(past))
    assert said.returncode == 0 and not said.stderr, said
    said = daemon.run("job", "import", "-", input=json.dumps([{**past[0], "name": "stays", "running": False}]))
    assert said.returncode == 0 and not said.stderr, said
    for name in ("once", "stays"):
        expect(daemon, 0, "job", "remove", name, "--yes")
    # Other jobs, in several batches.
    many = [{"name": f"many/{i}", "handler": "log", "parameters": "x" * 5000} for i in range(60)]
    said = daemon.run("job", "import", "-", input=json.dumps(many))
    assert said.returncode == 0 and said.stdout.splitlines() == [f"many/{i}: added" for i in range(60)], said
    assert "all 60 jobs are as the file says" in daemon.run("job", "import", "-", input=json.dumps(many)).stdout
    for job in many:
        daemon.run("job", "remove", job["name"], "--yes")
    for words in (("job", "add", "x", "--handler", "log", "--parents", "nowhere"), ("job", "edit", "top", "--parents", "nowhere")):
        assert "there is no job 'nowhere'" in expect(daemon, 2, *words, "--dry-run")
    assert "when is the job due?" in expect(daemon, 2, "job", "add", "x", "--handler", "log")
    said = daemon.run("job", "edit", "top", "--note", "n", "--dry-run", "--timeout", "20")
    assert said.returncode == 0 and "--attempt-timeout bounds an attempt" in said.stderr, said
    assert expect(daemon, 0, "job", "export") == exported
    expect(daemon, 0, "job", "edit", "below", "--parents", "")
    expect(daemon, 0, "job", "remove", "top", "--yes")
    expect(daemon, 0, "job", "remove", "below", "--yes")


CRONTAB = "# of the system\n#\n# m h  dom mon dow   command\nCRON_TZ=Europe/Berlin\n# mail\nMAILTO=x\n# nightly\n# backup\n30 2 * * * /usr/bin/backup --all 100\\%\n\n@daily clean\n"
REFUSED = "@reboot x\n1 2 3\n99 * * * * x\n* * * * * a%b\n5 5 5 5 5 fine\n"


def check_files(daemon, checker):
    exported = expect(daemon, 0, "--json", "job", "export")
    before = checker.check("job-export", exported)
    path = os.path.join(daemon.folder, "jobs.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(exported)
    expect(daemon, 0, "job", "stop", "tick")
    expect(daemon, 0, "job", "remove", "hand", "--yes")
    dry = expect(daemon, 0, "job", "import", path, "--dry-run")
    assert "hand: would be added" in dry and "tick: would be changed" in dry and "lost: same" in dry, dry
    became = {row["name"]: row["became"] for row in checker.check("job-import", expect(daemon, 0, "--json", "job", "import", path))["rows"]}
    assert became == {"hand": "added", "lost": "same", "tick": "changed"}, became
    after = {job["name"]: job for job in json.loads(expect(daemon, 0, "job", "export"))}
    assert after == {job["name"]: job for job in before}, after
    # One wrong job: nothing is stored.
    said = daemon.run("job", "import", "-", input='[{"name": "fresh", "handler": "log"}, {"name": "wrong", "handler": "log", "color": "red"}]')
    assert said.returncode == 78 and "color" in said.stderr, said
    expect(daemon, 1, "job", "show", "fresh")
    said = daemon.run("--json", "job", "import-crontab", "-", input=CRONTAB)
    assert said.returncode == 0 and "MAILTO" in said.stderr, said
    imported = checker.check("job-import-crontab", said.stdout)
    assert [row["became"] for row in imported["rows"]] == ["added", "added"] and imported["others"] == [], imported
    nightly = imported["rows"][0]["name"]
    assert nightly.startswith("crontab/backup-"), nightly
    job = json.loads(expect(daemon, 0, "--json", "job", "show", nightly))
    assert job["note"] == "nightly backup" and job["parameters"] == "/usr/bin/backup --all 100%" and job["zone"] == "Europe/Berlin", job
    # Once more: nothing changes, also what people have set since. Another line above the others doubles nothing.
    expect(daemon, 0, "job", "edit", nightly, "--retries", "2")
    expect(daemon, 0, "job", "stop", nightly, "--note", "disk")
    said = daemon.run("job", "import-crontab", "-", input=CRONTAB)
    assert said.returncode == 0 and "nothing changes: all 2 jobs are as the file says" in said.stdout, said
    job = json.loads(expect(daemon, 0, "--json", "job", "show", nightly))
    assert job["retries"] == 2 and not job["running"] and job["stop_note"] == "disk", job
    more = "5 5 * * * first\n" + CRONTAB.replace("@daily clean", "@hourly clean")
    said = daemon.run("--json", "job", "import-crontab", "-", "--zone", "Asia/Tokyo", input=more)
    imported = checker.check("job-import-crontab", said.stdout)
    assert [row["became"] for row in imported["rows"]] == ["added", "same", "added"], imported
    assert imported["zone"] == "Asia/Tokyo" and imported["zone_source"] == "--zone", imported
    # The job of the line that was changed is named.
    assert len(imported["others"]) == 1 and imported["others"][0].startswith("crontab/clean-"), imported
    assert f"the job {imported['others'][0]} is not in the file and goes on" in said.stderr, said
    assert json.loads(expect(daemon, 0, "--json", "job", "show", imported["rows"][0]["name"]))["zone"] == "Asia/Tokyo"
    said = daemon.run("job", "import-crontab", "-", "--dry-run", input=CRONTAB, env={**os.environ, "TZ": "America/New_York"})
    assert said.returncode == 0 and "zone: America/New_York (TZ)" in said.stdout, said
    said = daemon.run("job", "import-crontab", "-", "--prefix", "named", input="# rondo-job: x\n@daily a\n# rondo-job: x\n@daily b\n")
    assert said.returncode == 78 and "'named/x' is there twice" in said.stderr, said
    said = daemon.run("job", "import-crontab", "-", "--zone", "Mars/Base", "--prefix", "mars", input="@daily a\n")
    assert said.returncode == 78 and "Mars/Base" in said.stderr, said
    # Lines that the daemon refuses are named with those that are no lines of a crontab.
    text = "# rondo-job: a b\n@daily a\n1 2 3\nCRON_TZ=Mars/Base\n@daily b\nCRON_TZ=\n@daily fine\n# rondo-job: c//d\n@daily c\n"
    for words in (("--dry-run",), ()):
        said = daemon.run("job", "import-crontab", "-", "--prefix", "wrong", *words, input=text)
        assert said.returncode == 78 and all(f"not imported: line {line}:" in said.stderr for line in (2, 3, 5, 9)), said
        assert "line 7" not in said.stderr and "Mars/Base" in said.stderr and "wrong/fine-" in said.stdout, said
        # The other lines are imported.
        listed = json.loads(expect(daemon, 0, "--json", "job", "list", "wrong/*"))["rows"]
        assert [job["name"].startswith("wrong/fine-") for job in listed] == ([] if words else [True]), listed
    said = daemon.run("--json", "job", "import-crontab", "-", "--prefix", "other", input=REFUSED)
    imported = checker.check("job-import-crontab", said.stdout)
    assert said.returncode == 78 and [line.split(":")[0] for line in imported["refused"]] == ["line 1", "line 2", "line 3"], said
    assert [row["became"] for row in imported["rows"]] == ["added", "added"], imported
    # A system's crontab: the user is no part of the command.
    said = daemon.run("--json", "job", "import-crontab", "-", "--system", "--prefix", "system", input="17 * * * * root cd / && run-parts\n")
    imported = checker.check("job-import-crontab", said.stdout)
    job = json.loads(expect(daemon, 0, "--json", "job", "show", imported["rows"][0]["name"]))
    assert job["handler"] == "command/shell-root" and job["parameters"] == "cd / && run-parts", job


def check_damage(daemon, checker):
    """Rows of the database that another program has damaged."""
    for name in ("damaged", "lost-time"):
        expect(daemon, 0, "job", "add", name, "--handler", "log", "--every", "1h")
    whole = json.loads(expect(daemon, 0, "job", "export"))
    held = sqlite3.connect(os.path.join(daemon.folder, "jobs.db"), timeout=PATIENCE)
    held.execute("UPDATE jobs SET spec = 'garbage' WHERE name = 'damaged'")
    held.execute("UPDATE jobs SET next = 'never' WHERE name = 'lost-time'")
    held.commit()
    held.close()
    said = daemon.run("job", "export")
    assert said.returncode == 1 and "the job damaged is damaged, so it is left out" in said.stderr, said
    assert "the job lost-time is damaged, so its state may be wrong here" in said.stderr and "2 jobs are damaged" in said.stderr, said
    assert [job["name"] for job in json.loads(said.stdout)] == [job["name"] for job in whole if job["name"] != "damaged"], said
    assert "damaged" in checker.check("job-show", expect(daemon, 0, "--json", "job", "show", "lost-time"))
    rows = checker.check("job-list", expect(daemon, 0, "--json", "job", "list"))["rows"]
    assert [row["name"] for row in rows if "damaged" in row] == ["damaged", "lost-time"], rows
    for name in ("damaged", "lost-time"):
        expect(daemon, 0, "job", "remove", name, "--yes")
    expect(daemon, 0, "job", "export")


def check_texts(daemon):
    """A text with any characters survives each way of a definition: it is a command."""
    odd = 'echo\thi\nthere \x1b[31m \\x41 \u200b\u202e end'
    before = {"name": "odd", "handler": "log", "parameters": odd, "note": odd, "tags": ["a\tb"], "running": False}
    said = daemon.run("job", "import", "-", input=json.dumps([before]))
    assert said.returncode == 0, said

    def exported(name="odd"):
        return [job for job in json.loads(expect(daemon, 0, "job", "export")) if job["name"] == name]

    assert exported() == [before], exported()
    assert expect(daemon, 0, "job", "edit", "odd", "--retries", "1") == "+ retries: 1\n"
    assert exported() == [{**before, "retries": 1}], exported()
    assert "the one job is as the file says" in daemon.run("job", "import", "-", input=json.dumps(exported())).stdout
    shown = expect(daemon, 0, "job", "show", "odd") + expect(daemon, 0, "job", "edit", "odd", "--note", "n")
    assert "\x1b" not in shown and "\u202e" not in shown, shown
    expect(daemon, 0, "job", "remove", "odd", "--yes")
    said = daemon.run("job", "import-crontab", "-", input="# rondo-job: tabs\n* * * * *\techo\thi\n")
    assert said.returncode == 0, said
    assert exported("crontab/tabs")[0]["parameters"] == "echo\thi"
    expect(daemon, 0, "job", "remove", "crontab/tabs", "--yes")
    assert "--parameters: it is not UTF-8" in expect(daemon, 2, "job", "add", "x", "--handler", "log", "--manual", "--parameters", b"\xff")
    latin = os.path.join(daemon.folder, "latin")
    with open(latin, "wb") as file:
        file.write(b"* * * * * echo \xff\n" + b"* * * * * " + b"x" * 70000 + b"\n")
    said = expect(daemon, 78, "job", "import-crontab", latin)
    assert "line 1: it is not UTF-8" in said and "line 2: it has 70010 bytes" in said, said
    for verb in ("import", "import-crontab"):
        assert "Is a directory" in expect(daemon, 1, "job", verb, daemon.folder)


def check_without_plane(daemon):
    for words in (("ports",), ("diff",), ("verify", "ROUTE_TABLE"), ("resync",), ("confirm",), ("port-events",)):
        said = daemon.run(*(words if words[0] != "port-events" else ("call", *words)))
        assert said.returncode == 1 and "has no data plane" in said.stderr, (words, said)
    assert "no table 'ROUTE_TABLE'" in daemon.run("set", "ROUTE_TABLE", "10.0.0.0/24", "nexthop_group=1").stderr
    for words in (("health",), ("stats",), ("tables",), ("sources",), ("top", "--once"), ("config",), ("parked",), ("rejected",), ("export",), ("log",)):
        expect(daemon, 0, *words)
    assert json.loads(expect(daemon, 0, "--json", "stats"))["jobs"]["planned"] > 0


def log_of(daemon):
    with open(os.path.join(daemon.folder, "log"), encoding="utf-8") as log:
        return log.read()


def check_health(daemon):
    """Another program holds the database: health and the log say so, and when it lets go, all is well again."""
    held = sqlite3.connect(os.path.join(daemon.folder, "jobs.db"), isolation_level=None)
    held.execute("BEGIN IMMEDIATE")
    deadline = time.monotonic() + PATIENCE
    while "jobs:" not in (said := daemon.run("health")).stdout or said.returncode != 1:
        assert time.monotonic() < deadline, said
    while "jobs have trouble" not in log_of(daemon):
        assert time.monotonic() < deadline, log_of(daemon)
    held.execute("ROLLBACK")
    while (said := daemon.run("health")).returncode != 0:
        assert time.monotonic() < deadline, said


def check_table_handler(daemon, checker):
    """A job changes desired state: a row of a table."""
    def run(name, parameters):
        expect(daemon, 0, "job", "add", name, "--handler", "table", "--parameters", parameters, "--manual")
        expect(daemon, 0, "job", "trigger", name)
        return wait_for(daemon, checker, name, lambda runs: runs[0]["ended"])[0]
    assert run("mtu", "PORT_TABLE swp1 mtu=1500 admin_status=up")["state"] == "succeeded"
    assert ["mtu", "1500"] in json.loads(expect(daemon, 0, "--json", "get", "PORT_TABLE", "swp1"))["fields"]
    assert run("gone", "del PORT_TABLE swp1")["state"] == "succeeded"
    expect(daemon, 1, "get", "PORT_TABLE", "swp1")
    for name, parameters, why in (("typo", "PORT_TABLE swp1 mto=1500", "did you mean 'mtu'"), ("none", "NO_TABLE k f=v", "no table"),
                                  ("own", "JOB_RUN_8 k f=v", "no table"), ("empty", "", "is expected"), ("odd", "PORT_TABLE swp1 mtu", "no '='")):
        assert why in (said := expect(daemon, 2, "job", "add", name, "--handler", "table", "--parameters", parameters, "--manual")), said
        assert f"no job '{name}'" in expect(daemon, 1, "job", "show", name)
    assert "did you mean 'mtu'" in expect(daemon, 2, "job", "edit", "mtu", "--parameters", "PORT_TABLE swp1 mto=1500")
    said = daemon.run("replay", os.path.join(daemon.folder, "day.journal"))
    assert said.returncode == 0 and "the same: " in said.stdout, said
    # A job whose command no worker offers waits, and `why` says for what.
    expect(daemon, 0, "job", "add", "backup", "--handler", "command/backup", "--manual")
    number = json.loads(expect(daemon, 0, "--json", "job", "trigger", "backup"))["run"]
    while "no worker offers" not in daemon.run("why", "JOB_RUN_8", f"backup#{number}").stdout:
        pass
    expect(daemon, 0, "job", "kill", str(number))
    assert wait_for(daemon, checker, "backup", lambda runs: runs[0]["state"] == "killed")


def check_worker(daemon, checker):
    """A command at a worker, and its log."""
    config = os.path.join(daemon.folder, "worker.toml")
    with open(config, "w", encoding="utf-8") as file:
        file.write(f'[worker]\nstate = "{daemon.folder}/worker"\n[command.say]\nprogram = "/bin/echo"\narguments = ["{{parameters}}"]\n')
    worker = subprocess.Popen([daemon.rondo, "--socket", daemon.socket, "worker", "--config", config], stderr=subprocess.DEVNULL)
    try:
        expect(daemon, 0, "job", "add", "say", "--handler", "command/say", "--parameters", "a\x1b[31mb", "--manual")
        number = str(json.loads(expect(daemon, 0, "--json", "job", "trigger", "say"))["run"])
        wait_for(daemon, checker, "say", lambda runs: runs[0]["state"] == "succeeded")
        row = checker.check("workers", expect(daemon, 0, "--json", "workers"))["rows"][0]
        assert row["connected"] and row["commands"] == {"say": 1} and row["free"] == row["places"], row
        assert "say:1" in expect(daemon, 0, "workers")
        assert expect(daemon, 0, "job", "log", number) == "a\\x1b[31mb\n"
        assert expect(daemon, 0, "job", "log", number, "--follow") == "a\\x1b[31mb\n"
        pieces = [checker.check("job-log", line) for line in expect(daemon, 0, "--json", "job", "log", number).splitlines()]
        assert pieces[0]["data"] == "a\\x1b[31mb\\x0a" and pieces[-1]["ended"], pieces
        assert "there is no run 999999" in expect(daemon, 1, "job", "log", "999999")
        assert "is no number of a run" in daemon.run("job", "log", "x").stderr
    finally:
        worker.terminate()
        assert worker.wait(PATIENCE) == 0
    expect(daemon, 0, "job", "remove", "say", "--yes")


def check_backfill(daemon, checker):
    """The preview, the refusals, and each past instant gets one run."""
    expect(daemon, 0, "job", "add", "past", "--handler", "log", "--cron", "0 * * * *", "--stopped")
    day = ("job", "backfill", "past", "--from", "2020-01-01T00:00:00Z", "--to", "2020-01-01T03:00:00Z")
    instants = [f"2020-01-01T0{hour}:00:00Z" for hour in range(3)]
    dry = checker.check("job-backfill", expect(daemon, 0, "--json", *day, "--dry-run"))
    assert dry == {"job": "past", "count": 3, "limit": 100, "dry_run": True, "rows": [{"scheduled": at} for at in instants]}, dry
    assert expect(daemon, 0, *day, "--dry-run") == "\n".join(instants) + "\n3 runs would be added (limit 100)\n"
    assert "nothing was done without --yes" in expect(daemon, 2, *day, stdin=subprocess.DEVNULL)
    assert runs_of(daemon, checker, "past") == []
    assert "3 instants have no run, more than the limit of 2" in expect(daemon, 2, *day, "--limit", "2", "--yes")
    assert "--to is needed" in expect(daemon, 2, *day[:5])
    assert "from:" in expect(daemon, 2, "job", "backfill", "past", "--from", "then", "--to", "2020-01-01T03:00:00Z")
    assert "in the future" in expect(daemon, 2, *day[:5], "--to", "2199-01-01T00:00:00Z", "--yes")
    added = checker.check("job-backfill", expect(daemon, 0, "--json", *day, "--yes"))
    assert not added["dry_run"] and [row["scheduled"] for row in added["rows"]] == instants, added
    runs = wait_for(daemon, checker, "past", lambda runs: len(runs) == 3 and all(run["state"] == "succeeded" for run in runs))
    assert [run["run"] for run in reversed(runs)] == [row["run"] for row in added["rows"]] and runs[0]["band"] == "backfill", runs
    assert expect(daemon, 0, *day, "--yes") == "0 runs would be added (limit 100)\n"
    expect(daemon, 0, "job", "remove", "past", "--yes")


def check_forecast(daemon, checker):
    expect(daemon, 0, "job", "add", "hourly", "--handler", "log", "--cron", "0 * * * *", "--misfire", "do-nothing")
    day = ("job", "forecast", "--from", "2040-01-01T00:30:00Z", "--to", "2040-01-01T04:30:00Z")
    made = checker.check("job-forecast", expect(daemon, 0, "--json", *day, "--count", "1000000", "--outage", "2040-01-01T01:30:00Z..2040-01-01T02:30:00Z"))
    ours = [(run["due"], run["band"], run["fires"]) for run in made["runs"] if run["job"] == "hourly"]
    assert ours == [("2040-01-01T01:00:00Z", "ring", True), ("2040-01-01T02:30:00Z", "misfire", False), ("2040-01-01T03:00:00Z", "ring", True),
                    ("2040-01-01T04:00:00Z", "ring", True)], ours
    text = expect(daemon, 0, *day, "--count", "1")
    assert " firings, of which 0 after misfires" in text and " more)" in text and "peak  2040-" in text, text
    assert "--outage" in expect(daemon, 2, *day, "--outage", "tomorrow")
    assert "not after" in expect(daemon, 2, "job", "forecast", "--from", "2040-01-01T00:00:00Z", "--to", "2039-01-01T00:00:00Z")
    expect(daemon, 0, "job", "remove", "hourly", "--yes")
    # The ids of the daemon decide about the jitter, and a stopped parent about its children.
    expect(daemon, 0, "job", "add", "spread", "--handler", "log", "--every", "1h", "--jitter", "1h")
    expect(daemon, 0, "job", "add", "middle", "--handler", "log", "--parents", "spread", "--stopped")
    expect(daemon, 0, "job", "add", "last", "--handler", "log", "--parents", "middle,spread")
    later = ("job", "forecast", "--from", "2040-01-01T00:00:00Z", "--to", "2040-01-01T04:00:00Z")
    made = checker.check("job-forecast", expect(daemon, 0, "--json", *later, "--count", "1000000"))
    ours = [run["due"] for run in made["runs"] if run["job"] == "spread"]
    next_ones = daemon_call(daemon, "job-next", {"name": "spread", "from": "2039-12-31T22:59:59Z", "max": 8})["rows"]
    assert ours == sorted(run["due"] for run in next_ones if "2040-01-01T00" <= run["due"] < "2040-01-01T04"), (ours, next_ones)
    assert not [run for run in made["runs"] if run["job"] in ("middle", "last")], made
    for name in ("last", "middle", "spread"):
        expect(daemon, 0, "job", "remove", name, "--yes")


def daemon_call(daemon, command, arguments):
    words = [f"{name}={value}" for name, value in arguments.items()]
    return json.loads(expect(daemon, 0, "--json", "call", command, *words))


def check_kill(daemon, checker):
    """After kill -9 each instant of a job has one run, and the jobs are as they were."""
    before = json.loads(expect(daemon, 0, "job", "export"))
    daemon.process.kill()
    daemon.process.wait(PATIENCE)
    daemon.launch()
    assert json.loads(expect(daemon, 0, "job", "export")) == before
    database = os.path.join(daemon.folder, "jobs.db")
    found = {row["setting"]: row for row in checker.check("job-doctor", expect(daemon, 0, "--json", "job", "doctor", database))["rows"]}
    assert found["integrity"]["value"] == "ok" and "by a process" in found["in use"]["value"], found
    assert "integrity = ok" in expect(daemon, 0, "job", "doctor", database)
    assert "no-such-file" in expect(daemon, 1, "job", "doctor", "/no-such-file")
    fired = json.loads(expect(daemon, 0, "--json", "stats"))["jobs"]["fired"]
    while json.loads(expect(daemon, 0, "--json", "stats"))["jobs"]["fired"] < fired + 2:
        pass
    runs = runs_of(daemon, checker, "tick")
    instants = [run["scheduled"] for run in runs]
    assert len(set(instants)) == len(instants), instants


def check_executors(daemon, checker):
    """An executor of the configuration that is not there: it is named, a run waits for it, and it can be drained."""
    address = "http://127.0.0.1:1"
    expect(daemon, 0, "job", "add", "far", "--handler", "executor/billing/pay", "--manual")
    expect(daemon, 0, "job", "trigger", "far")
    while "trouble" not in (row := checker.check("executors", expect(daemon, 0, "--json", "executors"))["rows"][0]):
        pass
    assert (row["group"], row["address"], row["usable"], row["registers"]) == ("billing", address, False, False), row
    assert f"executor {address} of group 'billing'" in daemon.run("health").stdout
    assert checker.check("executor-drain", expect(daemon, 0, "--json", "executor-drain", "billing", address))["drained"]
    assert "is drained" in expect(daemon, 0, "why", "JOB_RUN_8", "far#1")
    daemon.process.kill()
    daemon.process.wait(PATIENCE)
    daemon.launch()
    while not json.loads(expect(daemon, 0, "--json", "executors"))["rows"][0]["drained"]:
        pass
    assert not json.loads(expect(daemon, 0, "--json", "executor-drain", "billing", address, "--resume"))["drained"]
    assert checker.check("stats", expect(daemon, 0, "--json", "stats"))["executors"]["dispatched"] == 0
    assert "has no executor" in expect(daemon, 1, "executor-drain", "billing", "http://127.0.0.1:2")
    run = checker.check("job-trigger", expect(daemon, 0, "--json", "job", "trigger", "far", "--address", address + "/"))
    assert run["address"] == address, run
    assert "group 'billing' has no executor" in expect(daemon, 1, "job", "trigger", "far", "--address", "http://169.254.169.254/latest")
    expect(daemon, 2, "job", "trigger", "far", "--address", "file:///etc/passwd")
    assert "InvalidArgument" not in expect(daemon, 2, "executor-drain", "billing", "file:///etc/passwd")


def check_notify(daemon, checker):
    """A target that is not there. tests/notify has those that are."""
    rows = checker.check("job-notify", expect_code(daemon, 1, "--json", "job", "notify", "--test"))["rows"]
    assert [(row["name"], row["arrived"]) for row in rows] == [("dead", False)] and rows[0]["why"], rows
    assert expect_code(daemon, 1, "job", "notify", "dead", "--test").startswith("dead: did not arrive: ")
    assert "--test is needed" in expect(daemon, 2, "job", "notify")
    assert "the name 'x'" in expect(daemon, 1, "job", "notify", "x", "--test")
    assert checker.check("stats", expect(daemon, 0, "--json", "stats"))["notify"]["dropped"] == 0


def expect_code(daemon, code, *words):
    """What a command prints that ends with another code than 0."""
    said = daemon.run(*words)
    assert said.returncode == code, (words, said)
    return said.stdout


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def main(rondo, rondod, schemas):
    checker = Checker(schemas)
    with Rondod(rondod, rondo, plane="none", jobs=True) as daemon:
        check_definitions(daemon, checker)
        check_runs(daemon, checker)
        check_requested(daemon, checker)
        check_failures(daemon, checker)
        check_schedulers(daemon, checker)
        check_instants(daemon, checker)
        check_family(daemon, checker)
        check_worker(daemon, checker)
        check_backfill(daemon, checker)
        check_forecast(daemon, checker)
        check_without_plane(daemon)
        check_texts(daemon)
        check_damage(daemon, checker)
        check_files(daemon, checker)
        check_kill(daemon, checker)
        check_health(daemon)
        second = subprocess.run([rondod, "--config", daemon.config, "--socket", daemon.socket + "2"], capture_output=True, text=True,
                                timeout=PATIENCE, check=False)
        assert second.returncode == 69 and "another process runs the jobs" in second.stderr, second
        commands = offered(daemon)
    with Rondod(rondod, rondo, jobs=True) as daemon:
        check_table_handler(daemon, checker)
    group = '[[executors.group]]\nname = "billing"\nallow_without_token = ["127.0.0.0/8"]\naddresses = ["http://127.0.0.1:1"]\n'
    notify = '[[notify]]\nname = "dead"\ntarget = "http://127.0.0.1:1/"\n'
    with Rondod(rondod, rondo, f"[http]\nenabled = true\nport = {free_port()}\n{group}{notify}", plane="none", jobs=True) as daemon:
        check_executors(daemon, checker)
        check_notify(daemon, checker)
    missing = {name for name in commands if name.startswith("job-")} - checker.checked
    assert not missing, f"not run here: {missing}"
    with Rondod(rondod, rondo) as daemon:
        assert "runs no jobs" in expect(daemon, 1, "job", "list", "--tag", "a")
        assert "runs no jobs" in expect(daemon, 1, "workers")
        assert "has no executors" in expect(daemon, 1, "executors")
        assert "runs no jobs" in expect(daemon, 1, "job", "add", "a", "--handler", "log", "--every", "1s")


if __name__ == "__main__":
    main(*sys.argv[1:4])
