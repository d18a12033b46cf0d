#!/usr/bin/env python3
"""What the console of rondod costs, and how fast its pages come, beside a table of a million routes on the simulated data plane.

  page, search, scrape  one call over HTTP, the median of many: 200 rows from the middle of the table, the first hits of a search that few keys
                        match, and /metrics.
  scrape                the same of another rondod with as many series as the limits allow: 500 ports and 450 groups of executors, and the share of
                        the turns meanwhile that took longer than 1.05 ms.
  first paint           from the navigation to the first paint of a new page in Debian's Chromium, headless, the median.
  idle                  the processor time of rondod while one page is visible, beside the same time without one, in pairs.
  crowd                 the processor time of rondod for 400,000 routes that are written again, and the 99th percentile of a small call on the admin
                        socket meanwhile, with 20 sessions that each follow a row and one that follows a table and reads nothing, beside the same
                        without them, in pairs. What the system keeps for the reader is full before. Half of the runs without them beside the other
                        half show what the machine can tell.
  feeding               the processor time of rondod for the million routes with its page visible, with the page of another rondod that does nothing,
                        and without a browser, by turns. The first two differ by what the page costs rondod, the last two by what a browser costs it
                        that has the same processors.

bench/console.py [--only PART] [--routes N] [--pairs K] [--seconds S] RONDO RONDOD CACHE     CACHE: as for tests/console/console_test.py
"""
import argparse
import http.client
import json
import os
import shutil
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(HERE, "..", "tests", name) for name in ("console", "executors", "command_line")]
from console_test import LEFT_OUT, PORTS, browser  # noqa: E402
from executor_kit import poll  # noqa: E402
from npm_kit import install  # noqa: E402
from rondod_process import Rondod  # noqa: E402

VIEW = """
import { chromium } from 'playwright-core';
const [executable, address, times] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: executable, args: ['--no-sandbox', '--disable-gpu'] });
const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
const page = await context.newPage();
await page.goto(address);
await page.waitForSelector('nav');
const paints = [];
for (let i = 0; i < Number(times); ++i) {
  await page.goto('about:blank');
  await page.goto(address.split('#')[0]);
  await page.waitForSelector('nav');
  paints.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
}
console.log(JSON.stringify(paints));
process.stdin.on('end', async () => { await browser.close(); });
process.stdin.resume();
"""


class Box:
    def __init__(self, rondo, rondod, groups=0, ports=PORTS):
        self.folder = tempfile.mkdtemp(prefix="rondo-bench-")
        executors = "".join(f'[[executors.group]]\nname = "g{i}"\nallow_without_token = ["127.0.0.0/8"]\n' for i in range(groups))
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.daemon = Rondod(rondod, rondo, store=f'[http]\nenabled = true\napi = true\nmetrics = "token"\ntokens = "{self.folder}/tokens"\n{executors}', jobs=groups > 0,
                             ports=ports, passed=self.listener)
        said = self.daemon.run("--json", "token-add", "bench", "viewer")
        self.token = json.loads(said.stdout)["token"]
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=300)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.__exit__()
        self.listener.close()
        shutil.rmtree(self.folder)

    def feed(self, routes):
        """Returns the processor seconds of rondod for them."""
        before = self.cpu()
        subprocess.run(self.daemon.command(["feed", "routes", "--synthetic", str(routes), "--also", "all"]), check=True,
                       stdout=subprocess.DEVNULL, timeout=600)
        poll("the routes are done", lambda: any(row["table"] == "ROUTE_TABLE" and row["installed"] >= routes for row in self.call("tables")["rows"]))
        return self.cpu() - before

    def cpu(self):
        with open(f"/proc/{self.daemon.process.pid}/stat", encoding="utf-8") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def send(self, method, path, body=None):
        self.connection.request(method, path, body, {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status == 200, (path, answer.status, content)
        return content

    def call(self, command, **arguments):
        return json.loads(self.send("POST", f"/api/v1/{command}", json.dumps(arguments)))

    def view(self, chromium, cache, times=0):
        """A browser that shows the first page. Returns it with its first paints."""
        address = f"http://127.0.0.1:{self.port}/console/#token={self.token}"
        script = os.path.join(cache, "view.mjs")
        with open(script, "w", encoding="utf-8") as file:
            file.write(VIEW)
        viewer = subprocess.Popen(["node", script, chromium, address, str(times)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        return viewer, json.loads(viewer.stdout.readline())


def end(viewer):
    viewer.stdin.close()
    viewer.wait(60)


def median_ms(work, times):
    taken = []
    for _ in range(times):
        begun = time.monotonic()
        work()
        taken.append(1000 * (time.monotonic() - begun))
    return statistics.median(taken)


def measure_calls(box):
    middle = None
    for _ in range(50):
        middle = box.call("keys", table="ROUTE_TABLE", count=1000, **({"cursor": middle} if middle else {}))["next"]
    print(f"page of 200 rows: {median_ms(lambda: box.call('show', table='ROUTE_TABLE', count=200, cursor=middle), 50):.1f} ms")
    search = {"table": "ROUTE_TABLE", "pattern": "*9.9.9*", "count": 200, "milliseconds": 150}
    print(f"search, first answer: {median_ms(lambda: box.call('show', **search), 20):.1f} ms, {len(box.call('show', **search)['rows'])} hits")
    scrape(box)


def scrape(box):
    series = sum(not line.startswith(b"#") for line in box.send("GET", "/metrics").splitlines())
    print(f"scrape of {series} series: {median_ms(lambda: box.send('GET', '/metrics'), 40):.1f} ms")


def measure_scrape(given):
    with Box(given.rondo, given.rondod, 450, [f"Ethernet{i}" for i in range(500)]) as box:
        for i in range(500):
            assert box.daemon.run("set", "PORT_TABLE", f"Ethernet{i}", "admin_status=up").returncode == 0
        box.feed(20000)
        turns = []
        for work in (lambda: None, lambda: scrape(box)):
            work()
            figures = box.call("stats")["scheduler"]["turn_histogram"]
            turns.append((figures["count"], next(count for us, count in figures["buckets"] if us > 1000)))
        (all_before, short_before), (all_after, short_after) = turns
        taken = all_after - all_before
        print(f"of {taken} turns meanwhile, {taken - (short_after - short_before)} took longer than 1.05 ms")


def measure_idle(box, chromium, cache, pairs, seconds):
    shares = {False: [], True: []}
    for _ in range(pairs):
        for visible in (False, True):
            viewer = box.view(chromium, cache)[0] if visible else None
            before = box.cpu()
            time.sleep(seconds)  # The measured time itself.
            shares[visible].append(100 * (box.cpu() - before) / seconds)
            if viewer is not None:
                end(viewer)
    print(f"idle: {statistics.median(shares[True]):.2f} % of a core with a visible page, {statistics.median(shares[False]):.2f} % without")


def follow(box, command, **arguments):
    """Signs in, and opens a stream of events. The caller reads none of them."""
    reader = socket.create_connection(("127.0.0.1", box.port))
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    origin = f"http://127.0.0.1:{box.port}"
    client = http.client.HTTPConnection("127.0.0.1", box.port, timeout=300)
    client.request("POST", "/api/v1/session", json.dumps({"token": box.token}), {"Content-Type": "application/json"})
    answer = client.getresponse()
    assert answer.status == 200, answer.status
    cookie, key = answer.getheader("Set-Cookie").split(";")[0], json.loads(answer.read())["key"]
    body = json.dumps(arguments)
    head = (f"POST /api/v1/{command} HTTP/1.1\r\nHost: 127.0.0.1:{box.port}\r\nOrigin: {origin}\r\nCookie: {cookie}\r\nRondo-Session-Key: {key}\r\nAccept: text/event-stream\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n")
    reader.sendall((head + body).encode())
    assert reader.recv(12) == b"HTTP/1.1 200"
    return reader


AGAIN = ["feed", "routes", "--synthetic", "400000", "--seed", "7"]


def feed_again(box):
    """Returns the processor seconds of rondod for routes that it has."""
    before = box.cpu()
    subprocess.run(box.daemon.command(AGAIN), check=True, stdout=subprocess.DEVNULL, timeout=600)
    poll("the routes are done", lambda: all(row["queued"] + row["in_flight"] == 0 for row in box.call("top")["tables"]))
    return box.cpu() - before


def calls_us(box):
    """The times of small calls, a millisecond apart, while routes are written."""
    feed = box.daemon.start(*AGAIN)
    admin = socket.socket(socket.AF_UNIX)
    admin.connect(box.daemon.socket)
    body = json.dumps({"id": 1, "command": "version"}).encode()
    taken = []
    while feed.poll() is None:
        begun = time.monotonic()
        admin.sendall(struct.pack("<I", len(body) + 1) + b"J" + body)
        length = struct.unpack("<I", admin.recv(4, socket.MSG_WAITALL))[0]
        admin.recv(length, socket.MSG_WAITALL)
        taken.append(1e6 * (time.monotonic() - begun))
        time.sleep(0.001)  # The pace of the calls.
    admin.close()
    feed.communicate()
    return taken


def p99(lists):
    return statistics.quantiles([one for some in lists for one in some], n=100)[98]


def measure_crowd(box, pairs):
    costs, waits = {False: [], True: []}, {False: [], True: []}
    feed_again(box)
    for pair in range(pairs):
        for crowded in (pair % 2 == 1, pair % 2 == 0):
            crowd = []
            if crowded:
                crowd = [follow(box, "trace", table="ROUTE_TABLE", key=f"10.{i}.0.0/16") for i in range(20)] + [follow(box, "watch", table="ROUTE_TABLE")]
                feed_again(box)
            costs[crowded].append(feed_again(box))
            waits[crowded].append(calls_us(box))
            for reader in crowd:
                reader.close()
            poll("the readers are gone", lambda: box.call("top")["watchers"] == 0)
    print(f"crowd: {ratios(costs[True], costs[False])} of the processor time without it, {p99(waits[True]) / p99(waits[False]):.2f} of the p99 of all calls; "
          f"half of the runs without it to the other half: {p99(waits[False][::2]) / p99(waits[False][1::2]):.2f}")


def ratios(some, others):
    """The median of the ratios of pairs, and their range."""
    found = [one / other for one, other in zip(some, others)]
    return f"{statistics.median(found):.3f} ({min(found):.2f} to {max(found):.2f})"


def measure_feeding(given, chromium, cache):
    pages = ("none", "another", "own")
    costs = {page: [] for page in pages}
    with Box(given.rondo, given.rondod) as another:
        for turn in range(given.pairs):
            for page in pages[turn % 3:] + pages[:turn % 3]:
                with Box(given.rondo, given.rondod) as box:
                    viewer = None if page == "none" else {"own": box, "another": another}[page].view(chromium, cache)[0]
                    costs[page].append(box.feed(given.routes))
                    if viewer is not None:
                        end(viewer)
    print(f"feeding {given.routes} routes with a visible page: {ratios(costs['own'], costs['another'])} of the processor time with the page of another rondod, "
          f"which takes {ratios(costs['another'], costs['none'])} of that without a browser")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("rondo")
    parser.add_argument("rondod")
    parser.add_argument("cache")
    parser.add_argument("--only", choices=("calls", "scrape", "paint", "idle", "crowd", "feeding"))
    parser.add_argument("--routes", type=int, default=1_000_000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    chromium, cache = browser(), os.path.abspath(given.cache)
    install(os.path.join(HERE, "..", "tests", "console", "package.json"), cache, LEFT_OUT)
    def is_wanted(part):
        return given.only in (None, part)

    if is_wanted("scrape"):
        measure_scrape(given)
    if given.only not in ("feeding", "scrape"):
        with Box(given.rondo, given.rondod) as box:
            box.feed(given.routes)
            if is_wanted("calls"):
                measure_calls(box)
            if is_wanted("paint"):
                viewer, paints = box.view(chromium, cache, 15)
                end(viewer)
                print(f"first paint: {statistics.median(paints):.0f} ms")
            if is_wanted("idle"):
                measure_idle(box, chromium, cache, given.pairs, given.seconds)
            if is_wanted("crowd"):
                measure_crowd(box, given.pairs)
    if is_wanted("feeding"):
        measure_feeding(given, chromium, cache)


main()
