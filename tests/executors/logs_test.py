#!/usr/bin/env python3
"""Logs of runs that executors keep, through a real rondod: a log of 50 MiB (or RONDO_LOG_MIB) is sent once and takes little memory, and executors whose logs are
too long, without an end, or full of control characters harm no one. Usage: logs_test.py RONDO RONDOD [CASE ...]."""
import contextlib
import json
import os
import sys

sys.dont_write_bytecode = True
from executor_kit import PATIENCE, Scheduler, poll, run_cases  # noqa: E402
from imitated_executors import Executor  # noqa: E402

MIB = 1024 * 1024
LINE = 128  # Bytes, with the end of the line.
LINES = int(os.environ.get("RONDO_LOG_MIB", "50")) * MIB // LINE
PIECE = 1000  # Lines.


class Logger(Executor):
    """An executor with a log of numbered lines: line n is n with leading zeros. 'lines': how many there are at present."""

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.lines = 0
        self.asked = []  # The bodies of the calls of /log.
        self.sent = 0  # Bytes of lines.

    def answer(self, path, headers, body):
        if path != "/log":
            return super().answer(path, headers, body)
        with self.lock:
            self.asked.append(json.loads(body))
            return self.log(self.asked[-1]["fromLineNum"])

    def log(self, first):
        last = min(self.lines, first + PIECE - 1)
        text = "".join(f"{n:0{LINE - 1}}\n" for n in range(first, last + 1))
        self.sent += len(text)
        return 200, {"code": 200, "content": {"fromLineNum": first, "toLineNum": last, "logContent": text, "isEnd": False}}


class JavaLogger(Logger):
    """It sends all lines in one piece, as the Java client does."""

    def log(self, first):
        text = "".join(f"{n:0{LINE - 1}}\n" for n in range(first, self.lines + 1))
        return 200, content(text, first, self.lines)


class Raw(Logger):
    """The answer to /log is made by 'make', from the number of the line."""

    def __init__(self, *given, make, **named):
        super().__init__(*given, **named)
        self.make = make

    def log(self, first):
        return 200, self.make(first)


def content(text, first, last):
    return {"code": 200, "content": {"fromLineNum": first, "toLineNum": last, "logContent": text, "isEnd": False}}


@contextlib.contextmanager
def running(scheduler, kind, **named):
    """An executor of this kind with a run, which succeeds in the end."""
    with kind(scheduler, "plain", **named) as executor:
        executor.register()
        number = scheduler.trigger("works")
        order = executor.next_order()
        scheduler.wait_until_running("works", number)
        yield executor, number, order
        executor.end(order, 200, "well")
        scheduler.wait_for_end("works", number, "succeeded")
        assert scheduler.register("plain", executor.address, path="/api/registryRemove")[1]["code"] == 200


def peak(scheduler):
    """The largest memory of rondod so far, in bytes."""
    with open(f"/proc/{scheduler.daemon.process.pid}/status", encoding="ascii") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def is_sanitized(scheduler):
    """A sanitizer keeps freed memory."""
    with open(f"/proc/{scheduler.daemon.process.pid}/maps", encoding="utf-8", errors="replace") as maps:
        return any(name in maps.read() for name in ("libasan", "libtsan", "libubsan"))


def read_numbers(reader, count):
    """The next 'count' lines of a reader are the next numbers."""
    for n in range(reader.line + 1, reader.line + count + 1):
        line = reader.stdout.readline()
        assert int(line) == n and len(line) == LINE, (n, line)
    reader.line += count


def long_log_is_sent_once(scheduler):
    """RONDO_LOG_MIB, of which half come while a reader follows: each line is printed once, and is sent about once."""
    with running(scheduler, Logger) as (executor, number, order):
        run_short(scheduler, executor, number)
        before, sent = peak(scheduler), executor.sent
        executor.lines = LINES // 2
        reader = scheduler.daemon.start("job", "log", str(number), "--follow")
        reader.line = 0
        try:
            read_numbers(reader, LINES // 2)
            executor.lines = LINES
            read_numbers(reader, LINES - LINES // 2)
            print(f"  {(executor.sent - sent) / MIB:.1f} MiB sent in {len(executor.asked)} calls, {(peak(scheduler) - before) / MIB:.1f} MiB more memory")
            assert executor.sent - sent < LINES * LINE * 1.1, executor.sent
            assert is_sanitized(scheduler) or peak(scheduler) - before < 4 * MIB, (before, peak(scheduler))
            with executor.lock:
                executor.working[order["jobId"]].remove(order)
            assert executor.call_back((order["logId"], 200, "well")) == 200
            assert reader.stdout.readline() == "" and reader.wait(PATIENCE) == 0, reader.stderr.read()
            executor.working[order["jobId"]].append(order)
        finally:
            reader.kill()
            reader.wait(PATIENCE)
            reader.stdout.close()
            reader.stderr.close()


def run_short(scheduler, executor, number):
    """Reads a short log, so that what rondod needs for any log is there before it is measured."""
    executor.lines = PIECE
    said = scheduler.daemon.run("job", "log", str(number))
    assert said.returncode == 0 and len(said.stdout) == PIECE * LINE, said.stderr


def log_in_one_piece_is_read_in_parts(scheduler):
    """An executor that sends all lines in one piece, 20 MiB: rondod takes 1 MiB of each answer."""
    with running(scheduler, JavaLogger) as (executor, number, _):
        run_short(scheduler, executor, number)
        before, asked = peak(scheduler), len(executor.asked)
        executor.lines = 20 * MIB // LINE
        reader = scheduler.daemon.start("job", "log", str(number))
        reader.line = 0
        try:
            read_numbers(reader, executor.lines)
            assert reader.stdout.readline() == "" and reader.wait(PATIENCE) == 0, reader.stderr.read()
        finally:
            reader.kill()
            reader.wait(PATIENCE)
            reader.stdout.close()
            reader.stderr.close()
        print(f"  {len(executor.asked) - asked} calls, {(peak(scheduler) - before) / MIB:.1f} MiB more memory")
        assert len(executor.asked) - asked <= 25, len(executor.asked) - asked
        assert is_sanitized(scheduler) or peak(scheduler) - before < 16 * MIB


def two_readers_share_the_pieces(scheduler):
    """A second reader, from the beginning, and answers of other places in between."""
    with running(scheduler, Logger) as (executor, number, _):
        executor.lines = 20 * PIECE
        one, two = (scheduler.daemon.start("job", "log", str(number)) for _ in range(2))
        one.line = two.line = 0
        try:
            for _ in range(20):
                read_numbers(one, PIECE)
                read_numbers(two, PIECE)
        finally:
            for reader in (one, two):
                reader.kill()
                reader.wait(PATIENCE)
                reader.stdout.close()
                reader.stderr.close()
        assert executor.sent <= 4 * 20 * PIECE * LINE, executor.sent


def places_that_no_log_has(scheduler):
    """Places and runs that are negative, far beyond the end, or no numbers: an answer without text, or an error that names the argument."""
    with running(scheduler, Logger) as (executor, number, _):
        executor.lines = 3
        for place in (-1, -2**63, 2**63, "x", 1.5):
            said = scheduler.daemon.run("--json", "call", "job-log", f"run={number}", f"from={place}")
            assert said.returncode != 0 and "from" in said.stderr, (place, said)
        for place in (3 * LINE, 2**31, 2**53, 2**63 - 1):
            said = scheduler.daemon.run("--json", "call", "job-log", f"run={number}", f"from={place}")
            assert said.returncode == 0 and json.loads(said.stdout)["data"] == "", (place, said)
        assert all(1 <= asked["fromLineNum"] <= 4 for asked in executor.asked), executor.asked
        for run in (-1, 0, 2**63 - 1):
            assert scheduler.daemon.run("--json", "call", "job-log", f"run={run}").returncode != 0, run


def gigabyte(scheduler):
    """An answer of 1 GB without the end of a line: the connection ends at 1 MiB, and the reader gets the reason."""
    class Huge(Logger):
        def answer(self, path, headers, body):
            if path != "/log":
                return super().answer(path, headers, body)
            return 200, Endless(10**9)

    with running(scheduler, Huge) as (_, number, _):
        before = peak(scheduler)
        said = scheduler.daemon.run("job", "log", str(number))
        assert said.returncode != 0 and "longer than 1048576 bytes" in said.stderr, said
        assert is_sanitized(scheduler) or peak(scheduler) - before < 16 * MIB


class Endless(bytes):
    """Bytes that say that they are many more."""

    def __new__(cls, length):
        self = super().__new__(cls, b'{"code":200,"content":{"logContent":"' + b"a" * 8 * MIB)
        self.length = length
        return self

    def __len__(self):
        return self.length


def no_end(scheduler):
    """An executor that has further lines whatever is asked for, and one that sends the same lines again and again: a reader gets them until it
    leaves, and rondod serves others."""
    for make, lines in ((lambda first: content("more\n" * PIECE, first, first + PIECE - 1), 3 * PIECE), (lambda _: content("more\n", 1, 1), 50)):
        with running(scheduler, Raw, make=make) as (executor, number, _):
            reader = scheduler.daemon.start("job", "log", str(number))
            for _ in range(lines):
                assert reader.stdout.readline() == "more\n"
            reader.kill()
            reader.wait(PATIENCE)
            reader.stdout.close()
            reader.stderr.close()
            asked = len(executor.asked)
            scheduler.ask("executors")
            poll("the place of the reader is free", lambda: scheduler.daemon.run("call", "job-log", f"run={number}").returncode == 0)
            assert len(executor.asked) <= asked + 2, "rondod asks for a reader that has left"


def control_characters(scheduler):
    """Escapes, carriage returns, NUL, bidirectional marks, bytes that are no UTF-8: a terminal gets none of them."""
    odd = "\x1b[2J\x1b]0;title\x07\r\x00\x9b31m\u202e\u2066 \x7f"
    for text in (odd.encode() + b"\n", b"\xff\xfe\xc0\x80\n", b"\xe2\x82\n"):
        raw = b'{"code":200,"content":{"fromLineNum":1,"toLineNum":1,"isEnd":false,"logContent":"' + escaped(text) + b'"}}'
        nothing = content("", 2, 1)
        with running(scheduler, Raw, make=lambda first: raw if first == 1 else nothing) as (_, number, _):  # noqa: B023
            said = scheduler.daemon.run("job", "log", str(number))
            assert said.returncode == 0 and said.stdout.endswith("\n"), said
            shown = [c for c in said.stdout[:-1] if ord(c) < 32 or 127 <= ord(c) < 160 or c in "\u202e\u2066"]
            assert not shown, (shown, said.stdout)
            assert json.loads(scheduler.daemon.run("--json", "job", "log", str(number)).stdout.splitlines()[0])["data"]


def escaped(text):
    """A text of JSON; bytes above 127 as they are."""
    return b"".join(bytes([c]) if c >= 0x80 else json.dumps(chr(c))[1:-1].encode() for c in text)


def answers_that_are_none(scheduler):
    """Answers to /log that are no log: the reader gets an error that names the executor, and the next reader another answer."""
    wrong = (b"", b"<html>", b"[]", {"code": 500, "msg": "\x1b[2Jno log"}, {"code": 200}, {"code": 200, "content": "x"},
             content("x\n", 2**31, 1), content("x\n", 1, -2**31 - 1), {"code": 200, "content": {"logContent": "x", "toLineNum": "y"}})
    for one in wrong:
        with running(scheduler, Raw, make=lambda _: one) as (executor, number, _):  # noqa: B023
            said = scheduler.daemon.run("job", "log", str(number))
            assert said.returncode != 0 and executor.address in said.stderr and "\x1b" not in said.stderr, (one, said)
    odd = (content("x\n", -5, -5), {"code": 200, "content": {"logContent": 7}}, {"code": 200, "content": {}, "data": {"logContent": "y"}})
    for one in odd:
        empty = {"code": 200, "content": {"toLineNum": 0}}
        with running(scheduler, Raw, make=lambda first: one if first == 1 else empty) as (_, number, _):  # noqa: B023
            assert scheduler.daemon.run("job", "log", str(number)).returncode == 0, one


CASES = (long_log_is_sent_once, log_in_one_piece_is_read_in_parts, two_readers_share_the_pieces, places_that_no_log_has, gigabyte, no_end, control_characters, answers_that_are_none)


def main(rondo, rondod, *only):
    with Scheduler(rondo, rondod, {"plain": ""}) as scheduler:
        scheduler.add_job("works", "executor/plain/works")
        run_cases(CASES, scheduler, only=only)
        assert scheduler.daemon.process.poll() is None and os.path.exists(scheduler.daemon.socket)


if __name__ == "__main__":
    main(*sys.argv[1:])
