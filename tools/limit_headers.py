#!/usr/bin/env python3
"""The limits of all rooms: checks the headers of limits, limits.h and *_limits.h.

A constant there has a comment that says what it bounds and why, and then:

    Reached: what happens then. Figure: the figures that show it, or "none: " and why. Test: the tests that reach it.

A figure is a path in docs/schema or Struct::member of a public header. tools/tidy.py uses check(), which also finds bounds that hide in other
files of the product.
"""
import dataclasses
import json
import re

LAYERS = "tools/layers.txt"
HEADER = re.compile(r"^(?:include|src|apps)/(?:.*/)?(?:\w+_)?limits\.h$")
LINE = re.compile(r"^(?:// --- (?P<title>.+)|/// ?(?P<comment>.*)|inline constexpr (?P<type>[\w:]+(?: \w+)?) (?P<name>k\w+) = (?P<value>[^;]+);)$")
TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
TAGS = ("Reached", "Figure", "Test")
# A name that sounds like a bound which a user or an operator could meet.
BOUND = re.compile(r"\bconstexpr\s+[\w:<> ]+?\s+(k\w*(?:Max|Most|Limit|Depth|Kept|Shown)|k(?:Max|Most|Longest|Largest)\w*)\s*(?:=|\{)")

# Bounds of one file that nobody outside can meet, and why.
LOCAL_BOUNDS = {
    "apps/feed/next_hops.h:kGroupsMax": "how many groups the addresses of the synthetic tables have room for",
    "apps/feed/route_file.cc:kColumnsMax": "the forms of the file: one more column is a form that there is not",
    "apps/rondod/configuration/config.cc:kDirectConnectionsMost": "what a configuration may ask for; the bound itself is ZmqServerOptions::connections",
    "apps/rondod/configuration/config.cc:kLeaseMost": "what a configuration may ask for: a holder that dies elsewhere keeps the tables for so long",
    "apps/rondod/configuration/config.cc:kObjectsMost": "what a configuration may ask for: no data plane has so many objects",
    "apps/rondod/configuration/config.cc:kSafetyWaitMost": "what a configuration may ask for: a year",
    "src/dataplane/netlink/route_holders.cc:kOthersMost": "routes of other programs that are remembered: of one more it is not said whose it is",
    "apps/rondo/commands/offers.cc:kKeysMost": "keys that the completion of a shell offers: more is no help",
    "apps/rondo/commands/offers.cc:kSecondsMost": "how long the completion of a shell may wait",
    "apps/rondo/output/render.cc:kPaddedMost": "the widest cell that other rows of a table are padded to: nothing is cut off",
    "apps/rondo/backends/redis/backend.cc:kUnansweredMax": "a pipeline's depth: the program waits, and its user meets nothing",
    "apps/rondod/logs/event_log.cc:kRefusedKept": "refused orders that are logged once; beyond them the log repeats itself",
    "apps/rondod/logs/write_log.cc:kWritersMost": "sums and names that one second of the log keeps; then they are logged at once",
    "src/commands/row_writes.cc:kWaitMsMost": "a time that a caller asks for: a typing error is told, as of watch",
    "src/admin/suggest.cc:kLongestWord": "words that are compared to find a slip of the keyboard",
    "src/switch_agent/drift.h:kDriftsKept": "differences that are shown; all are counted and repaired, and 'rondo diff' says how many there are",
    "src/switch_agent/drift.h:kUnwantedKept": "what one audit deletes at most; the next audit finds the others",
    "src/fpm/hop_sets.cc:kLongestName": "longer names of groups become a digest",
    "apps/rondod/commands/fpm.cc:kTablesShown": "tables without a VRF that one answer names; the messages of all are counted",
    "src/dataplane/ip.cc:kShown": "how much of a wrong text an error repeats",
    "src/dataplane/netlink/dump.cc:kAttemptsMax": "tries at a dump that the kernel interrupts; then the error is told",
    "src/dataplane/netlink/dump.cc:kForeignMax": "answers for others in one dump; then the error is told",
    "src/dataplane/netlink/baseline.cc:kRouteBytesMax": "the size of one encoded route in a measurement",
    "src/dataplane/netlink/socket.cc:kStrangersMax": "messages of others in one read",
    "src/dataplane/op.cc:kShown": "how much of an order a line of a journal or a log repeats",
    "src/journal/record.cc:kMost": "what a record that is not ours could claim",
    "src/journal/record.cc:kShown": "how many orders of a batch one line repeats",
    "src/journal/record.h:kTimeMost": "what a record that is not ours could claim",
    "src/store/watched_view.h:kGoneKept": "keys that were told gone and are kept: beyond it a Delete is told twice, which is no fault",
    "src/sched/stall_watchdog.cc:kLooksPerLimit": "looks at a turn in the time that it may take",
    "src/sim/event_trace.h:kKept": "the last steps of a simulation that are shown when it fails",
    "src/replay/replay.cc:kMost": "what a record that is not ours could claim",
    "src/dataplane/simulated/kernel.cc:kMtuMax": "the simulated kernel's rule",
    "src/store/durable/address.cc:kIntervalMost": "limits::kDurableInterval in milliseconds",
    "src/store/record.cc:kShown": "how much of a wrong text an error repeats",
    "src/store/redis/reader.cc:kPlacesMax": "places of scans that are remembered; an older one is found anew",
    "src/store/redis/reply.cc:kChunksKept": "memory kept for the next reply; a longer reply gives the rest back",
}


@dataclasses.dataclass
class Limit:
    header: str
    line: int
    section: str
    name: str
    meaning: str
    tags: dict


def split_comment(comment):
    """The meaning, and the tags of a comment."""
    parts = re.split(rf"\b({'|'.join(TAGS)}): ", comment)
    tags = {name: text.strip().removesuffix(".") for name, text in zip(parts[1::2], parts[2::2])}
    return parts[0].strip(), tags


def headers(texts):
    """The headers of limits, in the order of the layers."""
    layers = [line.split(":")[0] for line in texts.get(LAYERS, "").splitlines() if re.match(r"[\w/-]+:", line)]

    def place(path):
        parts = path.split("/")
        layer = {"include": parts[2] if len(parts) > 2 else "", "src": parts[1]}.get(parts[0], "/".join(parts[:2]))
        return layers.index(layer) if layer in layers else len(layers), path
    return sorted((path for path in texts if HEADER.match(path)), key=place)


def limits(texts):
    """All limits, in the order of the layers."""
    for path in headers(texts):
        section, comment = "", []
        for number, line in enumerate(texts[path].splitlines(), 1):
            match = LINE.match(line)
            if match and match.group("title"):
                section = match.group("title")
            if match and match.group("comment") is not None:
                comment.append(match.group("comment"))
                continue
            if match and match.group("name"):
                yield Limit(path, number, section, match.group("name"), *split_comment(" ".join(comment)))
            comment = []


def has_path(schema, path):
    """Whether a path of members leads somewhere in a JSON schema; lists are passed through."""
    for name in path:
        while "items" in schema:
            schema = schema["items"]
        schema = schema.get("properties", {}).get(name)
        if schema is None:
            return False
    return True


def has_member(texts, struct, member):
    for path, text in texts.items():
        if not path.startswith("include/"):
            continue
        found = re.search(rf"^struct {struct} \{{(.*?)^\}};", text, re.MULTILINE | re.DOTALL)
        if found and re.search(rf"\b{member}\b\s*(?:=|\{{|;|\[)", found.group(1)):
            return True
    return False


def check_figure(texts, figure):
    """What is wrong with one figure, or nothing."""
    struct = re.fullmatch(r"(\w+)::(\w+)", figure)
    if struct:
        return None if has_member(texts, *struct.groups()) else f"no public struct has the figure '{figure}'"
    command, *path = figure.split(".")
    schema = texts.get(f"docs/schema/{command}.json")
    if schema is None:
        return f"'{figure}' begins with no answer of docs/schema"
    return None if path and has_path(json.loads(schema), path) else f"docs/schema/{command}.json has no '{'.'.join(path)}'"


def check_limit(texts, tests, limit):
    """What is wrong with one limit."""
    if not limit.section:
        yield "is in no section ('// --- Title')"
    if not limit.meaning:
        yield "has no comment that says what it bounds and why"
    yield from (f"has no '{tag}: ' in its comment" for tag in TAGS if not limit.tags.get(tag))
    figure = limit.tags.get("Figure", "none: it was reported above")
    figures = re.findall(r"`([^`]+)`", figure)
    if not figures and not re.fullmatch(r"none: \S.*", figure):
        yield "names no figure and does not say 'none: ' and why"
    yield from (problem for problem in (check_figure(texts, one) for one in figures) if problem)
    named = re.findall(r"`([^`]+)`", limit.tags.get("Test", ""))
    if limit.tags.get("Test") and not named:
        yield "names no test that reaches it"
    yield from (f"names the test '{one}', which no *_test.cc has" for one in named if one not in tests)


def test_names(texts, is_test):
    return {f"{suite}.{case}" for path, text in texts.items() if is_test(path) and path.endswith((".cc", ".h"))
            for suite, case in TEST.findall(text)}


def check_limits(texts, is_test):
    tests = test_names(texts, is_test)
    names = {}
    for limit in limits(texts):
        for problem in check_limit(texts, tests, limit):
            yield limit.header, limit.line, f"'{limit.name}' {problem}"
        if limit.name in names:
            yield limit.header, limit.line, f"'{limit.name}' is in {names[limit.name]}, too"
        names[limit.name] = limit.header


def check_hidden(code, is_product):
    """Bounds in other files of the product. 'code' is free of comments."""
    used = set()
    for path, text in code.items():
        if HEADER.match(path) or not is_product(path):
            continue
        for match in BOUND.finditer(text):
            place = f"{path}:{match.group(1)}"
            used.add(place)
            if place not in LOCAL_BOUNDS:
                yield path, text.count("\n", 0, match.start()) + 1, f"the bound '{match.group(1)}' belongs into the limits.h of its room"
    for place in LOCAL_BOUNDS:
        path = place.split(":")[0]
        if path in code and place not in used:
            yield path, 1, f"LOCAL_BOUNDS names '{place}', which is not there"


def check(tree_texts, code, is_test, is_product):
    """Path, line and words of each offence."""
    yield from check_limits(tree_texts, is_test)
    yield from check_hidden(code, is_product)
