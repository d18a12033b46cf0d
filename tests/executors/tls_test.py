#!/usr/bin/env python3
"""The HTTP port of a real rondod with a certificate: an executor registers and reports over HTTPS, others over HTTP, and wrong files
are errors that name them. The openssl program makes the certificate. Usage: tls_test.py RONDO RONDOD [CASE ...]."""
import contextlib
import http.client
import json
import os
import shutil
import ssl
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
from executor_kit import PATIENCE, TOKEN, Scheduler, run_cases  # noqa: E402
from imitated_executors import GoExecutor  # noqa: E402

GROUP = "secret"


class SecureScheduler(Scheduler):
    def __init__(self, rondo, rondod, certificate, key):
        self.context = ssl.create_default_context(cafile=certificate)
        super().__init__(rondo, rondod, {GROUP: ""}, http=f'certificate = "{certificate}"\nkey = "{key}"\n')

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE, context=self.context)


def log_of(scheduler):
    with open(os.path.join(scheduler.daemon.folder, "log"), encoding="utf-8") as file:
        return file.read()


def an_executor_works_over_https(scheduler):
    with GoExecutor(scheduler, GROUP) as executor:
        executor.register()
        number = scheduler.trigger("works")
        order = executor.next_order()
        scheduler.wait_until_running("works", number)
        assert executor.end(order, 200, "done") == 200
        scheduler.wait_for_end("works", number, "succeeded")


def executors_without_tls_are_served(scheduler):
    """Few executors speak TLS, so the port serves both."""
    body = json.dumps({"registryGroup": "EXECUTOR", "registryKey": GROUP, "registryValue": "http://127.0.0.1:1"}).encode()
    for path in ("/api/registry", "/api/registryRemove"):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", scheduler.port, timeout=PATIENCE)) as connection:
            connection.request("POST", path, body, {"XXL-JOB-ACCESS-TOKEN": TOKEN})
            answer = connection.getresponse()
            assert (answer.status, json.loads(answer.read())["code"]) == (200, 200), path
        assert ("http://127.0.0.1:1" in scheduler.usable(GROUP)) == (path == "/api/registry"), scheduler.usable(GROUP)


def without_the_api_there_is_no_console(scheduler):
    for path in ("/", "/console/", "/api/v1/session"):
        with contextlib.closing(scheduler.connect()) as connection:
            connection.request("GET", path)
            assert connection.getresponse().status == 404, path


def the_log_names_what_is_encrypted(scheduler):
    assert "listening for HTTP" in log_of(scheduler) and "HTTP is not encrypted" not in log_of(scheduler)


def wrong_files_end_the_start(scheduler):
    folder = scheduler.files
    with open(scheduler.daemon.config, encoding="utf-8") as file:
        right = file.read()
    for name, of, to, why in (("none", "key.pem", "none.pem", "No such file"), ("one", f'key = "{folder}/key.pem"', "", "belongs to the certificate")):
        path = os.path.join(folder, name + ".toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(right.replace(of, to).replace(scheduler.daemon.socket, path + ".socket").replace("jobs.db", name + ".db"))
        ended = subprocess.run([scheduler.daemon.rondod, "--config", path], capture_output=True, text=True, timeout=PATIENCE, check=False)
        assert ended.returncode not in (0, None) and why in ended.stderr, (name, ended)


def an_open_address_without_certificate_is_warned_of(scheduler):
    with Scheduler(scheduler.daemon.rondo, scheduler.daemon.rondod, {GROUP: ""}, http='address = "0.0.0.0"\n') as open_one:
        assert "HTTP is not encrypted" in log_of(open_one)
    with Scheduler(scheduler.daemon.rondo, scheduler.daemon.rondod, {GROUP: ""}) as local:
        assert "HTTP is not encrypted" not in log_of(local)


CASES = [an_executor_works_over_https, executors_without_tls_are_served, without_the_api_there_is_no_console, the_log_names_what_is_encrypted,
         wrong_files_end_the_start, an_open_address_without_certificate_is_warned_of]


def main(rondo, rondod, *only):
    if shutil.which("openssl") is None:
        print("skipped: the program openssl is not installed")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="rondo-tls-")
    try:
        certificate, key = os.path.join(folder, "certificate.pem"), os.path.join(folder, "key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3650",
                        "-subj", "/CN=rondo", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, capture_output=True, timeout=PATIENCE)
        os.chmod(key, 0o600)
        with SecureScheduler(rondo, rondod, certificate, key) as scheduler:
            scheduler.files = folder
            scheduler.add_job("works", f"executor/{GROUP}/works")
            run_cases(CASES, scheduler, only=only)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
