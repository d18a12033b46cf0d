#!/usr/bin/env python3
"""The commands of a real rondod over HTTPS: `rondo --url`, `rondo worker`, a program that speaks HTTP, and callers that lie. The certificate
is made with openssl. Usage: api_test.py RONDO RONDOD SCHEMAS. Exit status 77, aloud, without python3-jsonschema or openssl."""
import gzip
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from rondod_process import PATIENCE, Rondod  # noqa: E402
from schema_test import Checker  # noqa: E402

LONG = 300  # Seconds; only ends what hangs.


def poll(what, condition):
    deadline = time.monotonic() + LONG
    while not (value := condition()):
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.05)  # The condition decides, not this pause.
    return value


class Site:
    """A rondod with an API at a port that no other program gets."""

    def __init__(self, rondo, rondod):
        self.folder = tempfile.mkdtemp(prefix="rondo-api-")
        self.reserved = socket.socket()
        self.reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.reserved.bind(("127.0.0.1", 0))
        self.port = self.reserved.getsockname()[1]
        self.url = f"https://localhost:{self.port}"
        self.certificate = self.file("certificate.pem")
        self.make_certificate()
        self.daemon = Rondod(rondod, rondo, jobs=True, store=f'[http]\nenabled = true\nport = {self.port}\napi = true\ntokens = "{self.file("tokens")}"\n'
                             f'certificate = "{self.certificate}"\nkey = "{self.file("key.pem")}"\n')
        self.rondo = rondo

    def make_certificate(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                        "-addext", "subjectAltName=DNS:localhost", "-keyout", self.file("key.pem"), "-out", self.certificate], check=True, capture_output=True)
        os.chmod(self.file("key.pem"), 0o600)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.__exit__()
        self.reserved.close()
        shutil.rmtree(self.folder)

    def file(self, name):
        return os.path.join(self.folder, name)

    def token(self, name, role):
        """The file with a new token, and the token."""
        said = self.daemon.run("token-add", name, role)
        assert said.returncode == 0 and said.stdout.startswith("rondo_"), said
        with open(self.file(name), "w", encoding="utf-8") as file:
            file.write(said.stdout)
        return self.file(name), said.stdout.strip()

    def far(self, token_file, *words, ca=True):
        return subprocess.run([self.rondo, "--url", self.url, "--token-file", token_file, *(["--ca-file", self.certificate] if ca else []), *words],
                              capture_output=True, text=True, timeout=LONG, check=False)

    def connection(self):
        return http.client.HTTPSConnection("localhost", self.port, timeout=LONG, context=ssl.create_default_context(cafile=self.certificate))

    def post(self, token, command, arguments=None, accept="application/json"):
        """Status and body."""
        connection = self.connection()
        body = b"" if arguments is None else json.dumps(arguments).encode()
        connection.request("POST", "/api/v1/" + command, body, {"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": accept})
        answer = connection.getresponse()
        said = answer.read().decode()
        connection.close()
        return answer.status, said


def check_command_line(site, checker):
    """What `rondo` prints does not depend on the way to the daemon."""
    file, _ = site.token("op", "operator")
    assert site.far(file, "set", "PORT_TABLE", "swp1", "admin_status=up", "mtu=9100", "--wait").returncode == 0
    for words in (("get", "PORT_TABLE", "swp1"), ("--json", "show", "PORT_TABLE"), ("ports",), ("schema", "PORT_TABLE")):
        near, far = site.daemon.run(*words), site.far(file, *words)
        assert near.returncode == far.returncode == 0 and near.stdout == far.stdout, (words, near, far)
    assert site.far(file, "get", "PORT_TABLE", "none").returncode == 1
    said = site.far(file, "--json", "feed", "routes", "--synthetic", "5000")
    assert json.loads(said.stdout)["accepted"] == 5000, said
    assert len(json.loads(site.far(file, "--json", "keys", "ROUTE_TABLE").stdout)["rows"]) == 5000
    watcher = subprocess.Popen([site.rondo, "--url", site.url, "--token-file", file, "--ca-file", site.certificate, "--json", "watch", "PORT_TABLE", "--count", "1",
                                "--timeout", str(LONG)], stdout=subprocess.PIPE, text=True)
    poll("a watcher", lambda: json.loads(site.daemon.run("--json", "top", "--once").stdout)["watchers"] == 1)
    assert site.far(file, "set", "PORT_TABLE", "swp1", "mtu=1500").returncode == 0
    checker.check("watch", watcher.communicate(timeout=LONG)[0])
    # Who may what.
    viewer, _ = site.token("viewer", "viewer")
    said = site.far(viewer, "set", "PORT_TABLE", "swp1", "mtu=1400")
    assert said.returncode == 1 and "token 'viewer' with the role viewer" in said.stderr, said
    assert site.far(viewer, "load", "-", ).returncode != 0
    assert "role operator" in site.far(file, "token-add", "more", "admin").stderr
    # Wrong ways.
    said = site.far(file, "tables", ca=False)
    assert said.returncode == 69 and site.url in said.stderr, said
    plain = subprocess.run([site.rondo, "--url", f"http://127.0.0.1:{site.port}", "--token-file", file, "tables"], capture_output=True, text=True, timeout=LONG, check=False)
    assert plain.returncode == 69, plain
    for words in (("--url", "http://10.0.0.1:1", "--token-file", file), ("--url", site.url), ("--token-file", file), ("--url", site.url, "--token-file", "/nowhere")):
        assert subprocess.run([site.rondo, *words, "tables"], capture_output=True, timeout=LONG, check=False).returncode in (1, 2), words
    with open(os.path.join(site.daemon.folder, "log"), encoding="utf-8") as log:
        text = log.read()
    assert 'user="token \'op\'"' in text and "rondo_" not in text, "the log names the token and not the secret"


def check_program(site, checker):
    """Replies over HTTP against docs/schema and the description of the API."""
    _, token = site.token("program", "operator")
    connection = site.connection()
    connection.request("GET", "/api/v1/openapi.json", headers={"Authorization": "Bearer " + token})
    description = json.loads(connection.getresponse().read())
    connection.close()
    commands = {row["name"]: row for row in json.loads(site.post(token, "commands")[1])["rows"]}
    assert {"/api/v1/" + name for name in commands} == set(description["paths"]), "a path for each command"
    for name, command in commands.items():
        schema = description["paths"]["/api/v1/" + name]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert set(schema["properties"]) == {argument["name"] for argument in command["arguments"]}, name
        assert sorted(schema.get("required", [])) == sorted(argument["name"] for argument in command["arguments"] if argument["required"]), name
    for name in ("tables", "parked", "rejected", "ports", "config", "log", "commands", "health", "resources", "executors", "restart-check"):
        status, said = site.post(token, name)
        if name == "executors":
            assert status == 501, said
            checker.check("error", said)
        else:
            assert status == 200, (name, said)
            checker.check(name, said)
    status, said = site.post(token, "why", {"table": "ROUTE_TABLE", "key": "none"})
    checker.check("why" if status == 200 else "error", said)
    for arguments, wanted in (({"table": "NONE", "key": "k"}, 404), ({}, 400), ({"table": 1, "key": "k"}, 400), ([], 400)):
        status, said = site.post(token, "get", arguments)
        assert status == wanted, (arguments, said)
        checker.check("error", said)
    status, said = site.post(token, "keys", {"table": "ROUTE_TABLE"}, accept="text/event-stream")
    assert status == 200 and said.count("event: row\n") == 5000 and said.endswith("event: end\ndata: {}\n\n"), said[-200:]


def check_worker(site):
    """A worker at the URL: its runs, a rondod that is killed, a token that is removed."""
    file, _ = site.token("far", "worker")
    config, state = site.file("worker.toml"), site.file("state")
    os.mkdir(state)
    with open(config, "w", encoding="utf-8") as text:
        text.write(f'[worker]\nurl = "{site.url}"\ntoken_file = "{file}"\nca_file = "{site.certificate}"\nname = "far"\nstate = "{state}"\n'
                   '[command.hello]\nprogram = "/bin/echo"\narguments = ["hello"]\n'
                   '[command.sleep]\nprogram = "/bin/sleep"\narguments = ["1"]\n')
    with open(site.file("worker.log"), "w", encoding="utf-8") as log:
        worker = subprocess.Popen([site.rondo, "worker", "--config", config], stderr=log)
    try:
        def is_there():
            return any(row["connected"] for row in json.loads(site.daemon.run("--json", "workers").stdout)["rows"])
        poll("the worker", is_there)
        for name, handler in (("hello", "command/hello"), ("slow", "command/sleep")):
            assert site.daemon.run("job", "add", name, "--handler", handler, "--manual").returncode == 0

        def state_of(name):
            rows = json.loads(site.daemon.run("--json", "job", "runs", name).stdout)["rows"]
            return rows[0]["state"] if rows else None
        assert site.daemon.run("job", "trigger", "hello").returncode == 0
        poll("the run", lambda: state_of("hello") == "succeeded")
        assert "hello" in site.daemon.run("job", "log", "1").stdout
        # The command goes on while rondod is killed, and its end is reported once.
        assert site.daemon.run("job", "trigger", "slow").returncode == 0
        poll("the slow run", lambda: state_of("slow") == "running")
        site.daemon.process.send_signal(signal.SIGKILL)
        site.daemon.process.wait(LONG)
        site.daemon.launch()
        poll("the end of the slow run", lambda: state_of("slow") == "succeeded")
        assert len(json.loads(site.daemon.run("--json", "job", "runs", "slow").stdout)["rows"]) == 1
        # What its token does not allow.
        said = site.far(file, "job", "list")
        assert said.returncode == 1 and "role worker" in said.stderr, said
        assert site.daemon.run("token-remove", "far").returncode == 0
        poll("the worker's end", lambda: not is_there())
        assert worker.poll() is None, "it goes on"
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(LONG)


def check_browser(site):
    """The page, a session over TLS, and what ends it."""
    _, token = site.token("browser", "operator")
    origin = {"Origin": site.url, "Content-Type": "application/json"}

    def ask(method, path, body=None, headers=None):
        connection = site.connection()
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        return answer, said
    answer, said = ask("GET", "/console/", headers={"Accept-Encoding": "gzip"})
    assert answer.status == 200 and answer.getheader("Content-Encoding") == "gzip" and b"<html" in gzip.decompress(said), (answer.status, said)
    assert "default-src 'none'" in answer.getheader("Content-Security-Policy")
    assert ask("GET", "/")[0].getheader("Location") == "/console/"
    answer, said = ask("HEAD", "/console/console.js")
    assert answer.status == 200 and int(answer.getheader("Content-Length")) > 0 and said == b""
    answer, said = ask("POST", "/api/v1/session", json.dumps({"token": token}), origin)
    key = json.loads(said).pop("key")
    assert answer.status == 200 and json.loads(said) == {"name": "browser", "role": "operator", "key": key}, said
    cookie, *properties = answer.getheader("Set-Cookie").split("; ")
    assert cookie.startswith("__Host-rondo_session_") and properties == ["Path=/", "HttpOnly", "SameSite=Strict", "Secure"], properties
    secrets = {"Cookie": cookie, "Rondo-Session-Key": key}
    own = {**origin, **secrets}
    assert ask("POST", "/api/v1/ports", b"", own)[0].status == 200
    assert ask("POST", "/api/v1/ports", b"", {**own, "Origin": site.url.replace("https", "http")})[0].status == 403
    assert ask("POST", "/api/v1/ports", b"", {**own, "Cookie": cookie.removeprefix("__Host-")})[0].status == 401
    assert ask("POST", "/api/v1/ports", b"", {**origin, "Cookie": cookie})[0].status == 401
    # A long body is for those who may say something.
    long = json.dumps({"table": "PORT_TABLE", "key": "x" * 100_000})
    assert ask("POST", "/api/v1/get", long, own)[0].status in (400, 404)
    assert ask("POST", "/api/v1/get", long, origin)[0].status == 413
    assert ask("GET", "/api/v1/session", headers=secrets)[0].status == 200
    assert site.daemon.run("token-remove", "browser").returncode == 0
    assert ask("GET", "/api/v1/session", headers=secrets)[0].status == 401
    with open(os.path.join(site.daemon.folder, "log"), encoding="utf-8") as log:
        written = log.read()
        assert cookie.split("=")[1] not in written and key not in written


def check_attacks(site):
    """Guesses, requests of web pages, and a slow crowd: nobody gets in, and callers with a token are answered meanwhile."""
    _, token = site.token("good", "viewer")
    connection = site.connection()
    for i in range(2000):
        guess = token[:-4] + f"{i:04x}" if i % 2 else "x" * (i % 200)
        connection.request("POST", "/api/v1/tables", b"", {"Authorization": "Bearer " + guess})
        answer = connection.getresponse()
        body = answer.read()
        assert answer.status == 401 or guess == token, (guess, body)
    connection.close()
    assert site.post(token, "tables")[0] == 200
    # A web page can send simple requests to the address of its user: none of them has the field.
    for headers in ({"Content-Type": "text/plain", "Origin": "https://evil.example"}, {"Cookie": "token=" + token}):
        connection = site.connection()
        connection.request("POST", "/api/v1/set?token=" + token, b"{}", headers)
        answer = connection.getresponse()
        assert answer.status == 401 and answer.getheader("Access-Control-Allow-Origin") is None
        connection.close()
    # Clients that never finish their TLS handshake.
    crowd = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(200)]
    assert site.post(token, "tables")[0] == 200
    for one in crowd:
        one.close()
    with open(site.file("tokens"), encoding="utf-8") as file:
        assert token not in file.read()
    assert os.stat(site.file("tokens")).st_mode & 0o777 == 0o600


def check_certificate(site):
    """SIGHUP reads the certificate again."""
    file, _ = site.token("certificate", "viewer")
    site.make_certificate()
    site.daemon.process.send_signal(signal.SIGHUP)
    poll("the new certificate", lambda: site.far(file, "tables").returncode == 0)


def check_tokens(site, checker):
    checker.check("token-add", site.daemon.run("--json", "token-add", "x", "viewer").stdout)
    assert {"name": "x", "role": "viewer"} in checker.check("tokens", site.daemon.run("--json", "tokens").stdout)["rows"]
    checker.check("token-remove", site.daemon.run("--json", "token-remove", "x").stdout)
    assert site.daemon.run("token-remove", "x").returncode == 1
    assert site.daemon.run("token-add", "a b", "viewer").returncode == 2


def main():
    rondo, rondod, schemas = sys.argv[1:4]
    if shutil.which("openssl") is None:
        print("SKIPPED: openssl is not installed, so the API was NOT checked", file=sys.stderr)
        sys.exit(77)
    checker = Checker(schemas)
    with Site(rondo, rondod) as site:
        check_tokens(site, checker)
        check_command_line(site, checker)
        check_program(site, checker)
        check_browser(site)
        check_worker(site)
        check_attacks(site)
        check_certificate(site)
    with Rondod(rondod, rondo) as without:
        said = without.run("tokens")
        assert said.returncode == 1 and "[http]" in said.stderr, said
    print(f"api: {len(checker.checked)} kinds of answers are as described")


if __name__ == "__main__":
    main()
