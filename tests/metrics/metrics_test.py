#!/usr/bin/env python3
"""/metrics, /healthz and /readyz of a real rondod with the simulated data plane and jobs, read by promtool and by a real Prometheus; and the
rules and the dashboard of packaging/ against what rondod exports. Prometheus is Debian's: installed, or unpacked into the folder CACHE, because
its package is a service. Usage: metrics_test.py RONDO RONDOD SOURCE CACHE. Exit status 77, aloud, without Prometheus."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "command_line"))
from rondod_process import PATIENCE, Rondod  # noqa: E402

LONG = 300  # Seconds; only ends what hangs.
WORKQUEUE = ("depth", "adds_total", "queue_duration_seconds", "work_duration_seconds", "unfinished_work_seconds", "longest_running_processor_seconds", "retries_total")
RECONCILE = ("total", "errors_total", "time_seconds")


def poll(what, condition):
    deadline = time.monotonic() + LONG
    while not (value := condition()):
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.05)  # The condition decides, not this pause.
    return value


def programs(cache):
    """The folder of promtool and prometheus; None, with the reason, if they cannot be had."""
    installed = shutil.which("promtool")
    if installed and shutil.which("prometheus"):
        return os.path.dirname(installed)
    found = os.path.join(cache, "usr", "bin")
    if os.path.exists(os.path.join(found, "promtool")):
        return found
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        print("skipped: there is no prometheus, and no apt-get that gets it")
        return None
    with tempfile.TemporaryDirectory(prefix="rondo-prometheus-") as folder:
        said = subprocess.run(["apt-get", "download", "prometheus"], cwd=folder, capture_output=True, text=True, timeout=LONG, check=False)
        packages = [os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".deb")]
        if said.returncode != 0 or not packages:
            print("skipped: there is no prometheus, and apt-get download has none: " + said.stderr.strip())
            return None
        unpacked = os.path.join(folder, "unpacked")
        subprocess.run(["dpkg-deb", "-x", packages[0], unpacked], check=True, timeout=LONG)
        shutil.rmtree(cache, ignore_errors=True)
        shutil.copytree(unpacked, cache, symlinks=True)
    return found


class Place:
    """A TCP port that no other program gets."""

    def __init__(self):
        self.reserved = socket.socket()
        self.reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.reserved.bind(("127.0.0.1", 0))
        self.port = self.reserved.getsockname()[1]

    def get(self, path, token=None, method="GET"):
        """Status, body and type."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LONG)
        connection.request(method, path, headers={"Authorization": "Bearer " + token} if token else {})
        answer = connection.getresponse()
        said = answer.read().decode()
        connection.close()
        return answer.status, said, answer.getheader("Content-Type")


def token_of(daemon, name, role):
    said = daemon.run("token-add", name, role)
    assert said.returncode == 0, said
    return said.stdout.strip()


def promtool(folder, *words, text=None):
    said = subprocess.run([os.path.join(folder, "promtool"), *words], input=text, capture_output=True, text=True, timeout=LONG, check=False)
    assert said.returncode == 0, (words, said.stdout, said.stderr)


def declared(text):
    """The names that an expression may use."""
    names = {"up"}
    for name, kind in re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M):
        suffixes = {"histogram": ("_bucket", "_sum", "_count"), "summary": ("", "_sum", "_count")}.get(kind, ("",))
        names |= {name + suffix for suffix in suffixes}
    return names


def expressions(source):
    """Each expression of the rules and of the dashboard, with the variables of Grafana replaced."""
    with open(os.path.join(source, "packaging/prometheus/rondo.rules.yml"), encoding="utf-8") as file:
        yield from re.findall(r"^\s+expr: (.*)$", file.read(), re.M)
    with open(os.path.join(source, "packaging/grafana/rondo.json"), encoding="utf-8") as file:
        board = json.load(file)
    assert [panel["title"] for panel in board["panels"] if panel["type"] == "row"] == ["Overview", "Tables", "Data plane", "Jobs", "Executors"]
    assert board["__inputs"][0]["name"] == "DS_PROMETHEUS" and len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    for panel in board["panels"]:
        for target in panel.get("targets", []):
            yield target["expr"].replace("$__rate_interval", "5m").replace("$instance", ".*")


def check_packaging(folder, source, text):
    names = declared(text)
    all_of_them = list(expressions(source))
    for one in all_of_them:
        bare = re.sub(r'"[^"]*"', "", one)
        used = set(re.findall(r"\b(?:rondo|process|workqueue|controller_runtime)_\w+", bare)) | set(re.findall(r"\bup\b", bare))
        assert used and used <= names, (one, used - names)
    rules = os.path.join(source, "packaging/prometheus/rondo.rules.yml")
    promtool(folder, "check", "rules", rules)
    promtool(folder, "test", "rules", os.path.join(source, "packaging/prometheus/rondo.rules_test.yml"))
    with tempfile.NamedTemporaryFile("w", suffix=".yml", encoding="utf-8") as file:
        json.dump({"groups": [{"name": "all", "rules": [{"record": f"e{i}", "expr": one} for i, one in enumerate(all_of_them)]}]}, file)
        file.flush()
        promtool(folder, "check", "rules", file.name)
    with open(rules, encoding="utf-8") as file:
        for document, heading in re.findall(r"runbook: (\S+)#(\S+)", file.read()):
            with open(os.path.join(source, document), encoding="utf-8") as guide:
                anchors = {re.sub(r"[^a-z0-9 -]", "", line.lstrip("# ").strip().lower()).replace(" ", "-") for line in guide if line.startswith("#")}
            assert heading in anchors, (document, heading)


def check_figures(place, daemon, token):
    """What commands show is what a scrape has."""
    assert daemon.run("set", "PORT_TABLE", "swp1", "admin_status=up", "mtu=9100", "--wait").returncode == 0
    assert daemon.run("set", "PORT_TABLE", "swp1", "mtu=none").returncode == 0
    assert daemon.run("set", "ROUTE_TABLE", "10.0.0.0/24", "nexthop_group=7").returncode == 0
    poll("a parked route", lambda: json.loads(daemon.run("--json", "parked").stdout)["rows"])
    poll("a rejected port", lambda: json.loads(daemon.run("--json", "rejected").stdout)["rows"])
    failed = json.loads(daemon.run("--json", "stats").stdout)["admin"]["failed_requests"]
    assert place.get("/metrics")[0] == 401
    status, text, kind = place.get("/metrics", token)
    assert status == 200 and kind == "text/plain; version=0.0.4; charset=utf-8", (status, kind, text)
    for line in ('rondo_rows{table="ROUTE_TABLE",state="parked"} 1', 'rondo_rows{table="PORT_TABLE",state="rejected"} 1', 'rondo_store_up{store="tables"} 1',
                 'rondo_store_up{store="jobs"} 1', 'rondo_parked_rows{constraint="nexthop-group"} 1', "rondo_shards_owned 64", "rondo_stalls_total 0",
                 "rondo_shard_takeovers_total 0", 'rondo_job_runs_open{state="running"} 0', "rondo_job_oldest_due_seconds 0", "rondo_withdrawals_held 0", "rondo_metrics_series_dropped_total 0",
                 'rondo_row_changes_total{table="ROUTE_TABLE",op="set"} 1', 'rondo_row_changes_total{table="ROUTE_TABLE",op="delete"} 0',
                 'rondo_orders_total{op="set",result="refused"} 0', 'workqueue_adds_total{name="ROUTE_TABLE"} 1',
                 'controller_runtime_reconcile_total{controller="ROUTE_TABLE",result="requeue"} 1'):
        assert f"\n{line}\n" in text, (line, text)
    assert re.search(r'^rondo_http_requests_total\{route="metrics",code="401"\} [1-9]', text, re.M), text
    assert re.search(r'^rondo_port_up\{port="swp1"\} [01]$', text, re.M), text
    assert "admin:caller" not in text
    assert json.loads(daemon.run("--json", "stats").stdout)["admin"]["failed_requests"] == failed, "it calls what the daemon has"
    samples = set(re.findall(r"^(\w+)(?:\{[^}]*\})? \S+$", text, re.M))
    for name in [*("workqueue_" + name for name in WORKQUEUE), *("controller_runtime_reconcile_" + name for name in RECONCILE)]:
        assert any(sample.startswith(name) for sample in samples), name
    return text


def check_job(place, daemon, token):
    said = daemon.run("job", "add", "tick", "--handler", "log", "--parameters", "tick", "--every", "1s")
    assert said.returncode == 0, said
    poll("a run", lambda: int(re.search(r'^rondo_job_runs_total\{result="succeeded",band="ring"\} (\d+)$', place.get("/metrics", token)[1], re.M)[1]) > 0)
    text = place.get("/metrics", token)[1]
    for name in ("rondo_turn_seconds_count", "rondo_job_run_seconds_count", 'rondo_store_commit_seconds_count{store="jobs"}'):
        assert int(re.search("^" + re.escape(name) + r" (\d+)$", text, re.M)[1]) > 0, name
    assert re.search(r'^rondo_job_misfires_total\{decision="fired"\} \d+$', text, re.M), text
    poll("the job in its count", lambda: 'rondo_jobs{state="started"} 1\n' in place.get("/metrics", token)[1])


def check_single_jobs(place, daemon, token, folder):
    """/metrics/jobs has the jobs with the tag, and /metrics has none of them. A token of a group sees those of its group."""
    assert place.get("/metrics/jobs")[0] == 401 and place.get("/metrics/jobs", token, "POST")[0] == 405
    assert daemon.run("job", "add", "manual", "--handler", "log", "--manual", "--tags", "other,metrics").returncode == 0
    for name in ("night", "broken"):
        assert daemon.run("job", "add", name, "--handler", "log" if name == "night" else "gone", "--at", "2100-01-01T00:00:00Z", "--tags", "metrics").returncode == 0
    before = time.time()
    assert daemon.run("job", "trigger", "night").returncode == 0

    def series(name, job):
        status, said, _ = place.get("/metrics/jobs", token)
        assert status == 200, (status, said)
        found = re.findall(rf'^{name}\{{job_name="{re.escape(job)}"\}} (\S+)$', said, re.M)
        assert len(found) < 2, said
        return float(found[0]) if found else None
    success = poll("a success", lambda: series("rondo_job_last_success_timestamp_seconds", "night"))
    assert before - 60 < success < time.time() + 60, (before, success)
    assert series("rondo_job_next_timestamp_seconds", "night") == 4102444800
    assert series("rondo_job_failing", "night") == series("rondo_job_suspended", "night") == 0
    assert series("rondo_job_last_success_timestamp_seconds", "broken") is None and series("rondo_job_failing", "broken") == 0
    assert daemon.run("job", "stop", "night").returncode == 0
    assert series("rondo_job_suspended", "night") == 1 and series("rondo_job_next_timestamp_seconds", "night") is None
    text = place.get("/metrics/jobs", token)[1]
    assert 'rondo_job_suspended{job_name="manual"} 0\n' in text and "tick" not in text, text
    assert "job_name" not in place.get("/metrics", token)[1]
    promtool(folder, "check", "metrics", text=text)
    return text


def check_access(place, daemon):
    assert place.get("/metrics")[0] == 401 and place.get("/metrics", "rondo_unknown")[0] == 401
    assert place.get("/metrics", token_of(daemon, "works", "worker"))[0] == 403
    viewer = token_of(daemon, "prometheus", "viewer")
    assert place.get("/metrics", viewer)[0] == 200 and place.get("/metrics", viewer, "POST")[0] == 405
    return viewer


def check_prometheus(folder, source, place, token):
    """A real Prometheus scrapes, evaluates the rules, and answers queries."""
    own = Place()
    with tempfile.TemporaryDirectory(prefix="rondo-prometheus-") as data:
        config = os.path.join(data, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                       "rule_files": [os.path.join(source, "packaging/prometheus/rondo.rules.yml")],
                       "scrape_configs": [{"job_name": "rondo", "authorization": {"credentials": token}, "static_configs": [{"targets": [f"127.0.0.1:{place.port}"]}]}]}, file)
        with open(os.path.join(data, "log"), "w", encoding="utf-8") as log:
            server = subprocess.Popen([os.path.join(folder, "prometheus"), f"--config.file={config}", f"--storage.tsdb.path={data}/db",
                                       f"--web.listen-address=127.0.0.1:{own.port}"], stdout=log, stderr=log)
        try:
            def query(expression):
                assert server.poll() is None, open(os.path.join(data, "log"), encoding="utf-8").read()
                try:
                    status, said, _ = own.get("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
                except OSError:
                    return None  # It does not listen yet.
                return json.loads(said)["data"]["result"] if status == 200 else None
            poll("up", lambda: [one for one in query('up{job="rondo"}') or [] if one["value"][1] == "1"])
            assert query('rondo_store_up{store="tables"}')[0]["value"][1] == "1"
            assert query('rondo_build_info')[0]["metric"]["version"]
            assert poll("a quantile", lambda: query("histogram_quantile(0.5, rondo_source_wait_seconds_bucket)"))
            # Without an error: each name of the scrape counts once.
            targets = json.loads(own.get("/api/v1/targets")[1])["data"]["activeTargets"]
            assert targets[0]["lastError"] == "", targets
            def rules():
                groups = json.loads(own.get("/api/v1/rules")[1])["data"]["groups"]
                return all(rule["health"] == "ok" for group in groups for rule in group["rules"]) and groups
            poll("the rules are evaluated", rules)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(LONG)
            own.reserved.close()


def check_modes(rondo, rondod):
    place = Place()
    with Rondod(rondod, rondo, plane="none", store=f'[http]\nenabled = true\nport = {place.port}\nmetrics = "open"\n'):
        status, text, _ = place.get("/metrics")
        assert status == 200 and "\nrondo_stalls_total 0\n" in text and "rondo_port_up{" not in text, (status, text)
        assert place.get("/healthz")[:2] == place.get("/readyz")[:2] == (200, "ok\n")
        assert place.get("/metrics/jobs")[0] == 404, "the names of jobs are not for everybody"
    with Rondod(rondod, rondo, plane="none", store=f"[http]\nenabled = true\nport = {place.port}\n"):
        assert place.get("/metrics")[0] == 404 and place.get("/healthz")[0] == 200
    place.reserved.close()


def main():
    rondo, rondod, source, cache = sys.argv[1:]
    folder = programs(cache)
    if folder is None:
        return 77
    check_modes(rondo, rondod)
    place = Place()
    with tempfile.TemporaryDirectory(prefix="rondo-metrics-") as tokens:
        with Rondod(rondod, rondo, jobs=True, store=f'[http]\nenabled = true\nport = {place.port}\napi = true\ntokens = "{tokens}/tokens"\nmetrics = "token"\n') as daemon:
            token = check_access(place, daemon)
            poll("readiness", lambda: place.get("/readyz")[:2] == (200, "ok\n"))
            text = check_figures(place, daemon, token)
            promtool(folder, "check", "metrics", text=text)
            check_job(place, daemon, token)
            check_packaging(folder, source, text + check_single_jobs(place, daemon, token, folder))
            check_prometheus(folder, source, place, token)
    place.reserved.close()
    print("metrics: all as expected")
    return 0


if __name__ == "__main__":
    sys.exit(main())
