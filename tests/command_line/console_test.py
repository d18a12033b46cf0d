#!/usr/bin/env python3
"""The console of the demonstration, as a browser of this host finds it: the address that rondo-demo prints leads to the page while the routes are
programmed, although its rondod is in a network namespace, and the token signs in. Usage: console_test.py RONDO_DEMO."""
import http.client
import json
import signal
import socket
import subprocess
import sys
import urllib.parse

LONG = 300  # Seconds; only ends what hangs.
COMMAND = ["--ipv4", "3000", "--ipv6", "500", "--no-baseline"]


def ask(address, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection(address, timeout=LONG)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    said = answer.read().decode()
    connection.close()
    return answer, said


def check(url):
    parts = urllib.parse.urlsplit(url)
    assert parts.scheme == "http" and parts.hostname == "127.0.0.1" and parts.port != 8700 and parts.path == "/console/", url
    answer, said = ask(parts.netloc, "GET", parts.path)
    assert answer.status == 200 and "<html" in said, (answer.status, said)
    own = {"Origin": f"http://{parts.netloc}", "Content-Type": "application/json"}
    token = parts.fragment.removeprefix("token=")
    answer, said = ask(parts.netloc, "POST", "/api/v1/session", json.dumps({"token": token}), own)
    key = json.loads(said).pop("key")
    assert answer.status == 200 and json.loads(said) == {"name": "console", "role": "admin", "key": key}, said
    cookie = answer.getheader("Set-Cookie").split(";")[0]
    answer, said = ask(parts.netloc, "POST", "/api/v1/ports", None, {**own, "Cookie": cookie, "Rondo-Session-Key": key})
    assert answer.status == 200 and len(json.loads(said)["rows"]) >= 9, said


def main(demo):
    taken = socket.socket()
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind(("127.0.0.1", 8700))
        taken.listen()
    except OSError:
        pass  # By another program, which is as good.
    process = subprocess.Popen([demo, *COMMAND], stdout=subprocess.PIPE, text=True)
    urls = []
    try:
        for line in process.stdout:
            if line.startswith("console: "):
                urls.append(line.split()[1])
                check(urls[-1])
            if len(urls) == 2:
                break
    finally:
        for line in process.stdout if len(urls) < 2 else []:  # Its rondod ends with it alone, once it serves.
            if line.startswith("console: "):
                break
        process.send_signal(signal.SIGTERM)
        ended = process.wait(LONG)
        taken.close()
    assert ended == 0 and len(urls) == 2 and urls[0] == urls[1], (ended, urls)
    print("console: the demonstration's page was found and signed in to, early and at the end")


if __name__ == "__main__":
    main(*sys.argv[1:])
