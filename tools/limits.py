#!/usr/bin/env python3
"""The page of limits: docs/guide/limits.md held against include/rondo/base/limits.h and the tree. Used by tools/tidy.py.

Each constant of the header has a row with its value, a figure that exists (a path in docs/schema, or Struct::member of a public header) or the
reason why there is none, and tests that exist; each constant is shown by `rondo limits`; and bounds do not hide in other files of the product.
"""
import json
import re

HEADER = "include/rondo/base/limits.h"
PAGE = "docs/guide/limits.md"
SHOWN = "src/commands/limits_command.cc"

CONSTANT = re.compile(r"^inline constexpr ([\w:]+(?: \w+)?) (k\w+) = ([^;]+);", re.MULTILINE)
ROW = re.compile(r"^\| `(k\w+)` \|(.*)\|$", re.MULTILINE)
TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
# A name that sounds like a bound which a user or an operator could meet.
BOUND = re.compile(r"\bconstexpr\s+[\w:<> ]+?\s+(k\w*(?:Max|Most|Limit|Depth|Kept|Shown)|k(?:Max|Most|Longest|Largest)\w*)\s*(?:=|\{)")

# Bounds of one file that nobody outside can meet, and why.
LOCAL_BOUNDS = {
    "apps/feed/next_hops.h:kGroupsMax": "how many groups the addresses of the synthetic tables have room for",
    "apps/feed/route_file.cc:kColumnsMax": "the forms of the file: one more column is a form that there is not",
    "apps/rondod/configuration/config.cc:kDirectConnectionsMost": "what a configuration may ask for; the bound itself is ZmqServerOptions::connections",
    "apps/rondod/configuration/config.cc:kLeaseMost": "what a configuration may ask for: a holder that dies elsewhere keeps the tables for so long",
    "apps/rondod/configuration/config.cc:kSafetyLeastMost": "what a configuration may ask for: no data plane has so many objects",
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
    "src/dataplane/ip.cc:kShown": "how much of a wrong text an error repeats",
    "src/dataplane/netlink/dump.cc:kAttemptsMax": "tries at a dump that the kernel interrupts; then the error is told",
    "src/dataplane/netlink/dump.cc:kForeignMax": "answers for others in one dump; then the error is told",
    "src/dataplane/netlink/floor.cc:kRouteBytesMax": "the size of one encoded route in a measurement",
    "src/dataplane/netlink/socket.cc:kStrangersMax": "messages of others in one read",
    "src/dataplane/op.cc:kShown": "how much of an order a line of a journal or a log repeats",
    "src/orch/journal_record.cc:kMost": "what a record that is not ours could claim",
    "src/orch/journal_record.cc:kShown": "how many orders of a batch one line repeats",
    "src/orch/journal_record.h:kTimeMost": "what a record that is not ours could claim",
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


def value_of(kind, expression, known):
    """The value as the page shows it: 65,536 or 100 ms. None for what cannot be worked out here."""
    text = expression.replace("'", "").strip()
    time = re.fullmatch(r"(\d+)(us|ms|s)", text)
    if time:
        return f"{int(time.group(1)):,} {time.group(2)}", None
    text = re.sub(r"\w[\w:]*\{(\d+)\}", r"\1", text)
    for name in re.findall(r"k\w+", text):
        if name not in known:
            return None, None
        text = re.sub(rf"\b{name}\b", str(known[name]), text)
    if not re.fullmatch(r"[\d\s+*()-]+", text):
        return None, None
    number = eval(text, {"__builtins__": {}})  # Digits and + - * ( ) alone, as was just seen.
    return f"{number:,}", number


def constants(text):
    """Name, line and shown value of each constant of the header."""
    known = {}
    for match in CONSTANT.finditer(text):
        shown, number = value_of(match.group(1), match.group(3), known)
        if number is not None:
            known[match.group(2)] = number
        yield match.group(2), text.count("\n", 0, match.start()) + 1, shown


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


def check_row(texts, tests, cells, shown):
    """What is wrong with one row of the page."""
    if len(cells) != 5:
        return [f"has {len(cells) + 1} columns, not limit, value, why, when it is reached, figure, test"]
    value, why, reached, figure, test = cells
    wrong = []
    if shown is None:
        wrong.append("has a value in the header that this check cannot work out")
    elif value != shown:
        wrong.append(f"is {shown} in {HEADER} and '{value}' here")
    wrong += [f"does not say {what}" for what, text in (("why", why), ("what happens when it is reached", reached)) if not text]
    figures = re.findall(r"`([^`]+)`", figure)
    if not figures and not re.fullmatch(r"none: \S.*", figure):
        wrong.append("names no figure and does not say 'none: ' and why")
    wrong += [problem for problem in (check_figure(texts, one) for one in figures) if problem]
    named = re.findall(r"`([^`]+)`", test)
    if not named:
        wrong.append("names no test that reaches it")
    wrong += [f"names the test '{one}', which no *_test.cc has" for one in named if one not in tests]
    return wrong


def test_names(texts, is_test):
    return {f"{suite}.{case}" for path, text in texts.items() if is_test(path) and path.endswith((".cc", ".h"))
            for suite, case in TEST.findall(text)}


def check_page(texts, is_test):
    page = texts.get(PAGE, "")
    rows = {match.group(1): (page.count("\n", 0, match.start()) + 1, [cell.strip() for cell in match.group(2).split("|")])
            for match in ROW.finditer(page)}
    tests = test_names(texts, is_test)
    known = set()
    for name, line, shown in constants(texts[HEADER]):
        known.add(name)
        if name not in rows:
            yield HEADER, line, f"'{name}' has no row in {PAGE}"
            continue
        for problem in check_row(texts, tests, rows[name][1], shown):
            yield PAGE, rows[name][0], f"'{name}' {problem}"
        if SHOWN in texts and not re.search(rf"\blimits::{name}\b", texts[SHOWN]):
            yield SHOWN, 1, f"`rondo limits` does not show '{name}'"
    for name, (line, _) in rows.items():
        if name not in known:
            yield PAGE, line, f"'{name}' is not in {HEADER}"


def check_hidden(code, is_product):
    """Bounds in other files of the product. 'code' is free of comments."""
    used = set()
    for path, text in code.items():
        if path == HEADER or not is_product(path):
            continue
        for match in BOUND.finditer(text):
            place = f"{path}:{match.group(1)}"
            used.add(place)
            if place not in LOCAL_BOUNDS:
                yield path, text.count("\n", 0, match.start()) + 1, f"the bound '{match.group(1)}' belongs into {HEADER}, where its reader looks for it"
    for place in LOCAL_BOUNDS:
        path = place.split(":")[0]
        if path in code and place not in used:
            yield path, 1, f"LOCAL_BOUNDS names '{place}', which is not there"


def check(tree_texts, code, is_test, is_product):
    """Path, line and words of each offence."""
    if HEADER in tree_texts:
        yield from check_page(tree_texts, is_test)
    yield from check_hidden(code, is_product)
