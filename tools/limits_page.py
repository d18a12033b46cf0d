#!/usr/bin/env python3
"""The limits of all rooms on one page: makes docs/guide/limits.md and src/commands/limit_list.h (the answer of `rondo limits`) from the headers
of limits, limits.h and *_limits.h. Run it after a change of one of them; --check reports whether both are up to date.

A constant there has a comment that says what it bounds and why, and then:

    Reached: what happens then. Figure: the figures that show it, or "none: " and why. Test: the tests that reach it. Shown: its other name.

A figure is a path in docs/schema or Struct::member of a public header. "Shown" names the limit in `rondo limits` if that is not the name of the
constant. tools/tidy.py uses check(), which also finds bounds that hide in other files of the product.
"""
import argparse
import dataclasses
import json
import os
import re
import sys

PAGE = "docs/guide/limits.md"
SHOWN = "src/commands/limit_list.h"
LAYERS = "tools/layers.txt"
MARK = "<!-- From here on tools/limits_page.py makes the page of the headers. -->"

HEADER = re.compile(r"^(?:include|src|apps)/(?:.*/)?(?:\w+_)?limits\.h$")
LINE = re.compile(r"^(?:// --- (?P<title>.+)|/// ?(?P<comment>.*)|inline constexpr (?P<type>[\w:]+(?: \w+)?) (?P<name>k\w+) = (?P<value>[^;]+);)$")
TEST = re.compile(r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TYPED_TEST_P)\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)
TAGS = ("Reached", "Figure", "Test", "Shown")
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
    is_time: bool
    value: str  # As the page shows it: 65,536 or 100 ms. None: this program cannot compute it.
    number: int  # The same as a number, times in microseconds.
    meaning: str
    tags: dict

    def shown(self):
        """The name in `rondo limits`."""
        name = re.sub(r"(?<!^)([A-Z])", r"_\1", self.name[1:]).lower() + ("_us" if self.is_time else "")
        return self.tags["Shown"].strip("`") if "Shown" in self.tags else name


def value_of(expression, known):
    """The value as the page shows it, and as a number; None and None if it cannot be computed here."""
    text = expression.replace("'", "").strip()
    time = re.fullmatch(r"(\d+)(us|ms|s)", text)
    if time:
        count = int(time.group(1))
        return f"{count:,} {time.group(2)}", count * {"us": 1, "ms": 1000, "s": 1000000}[time.group(2)]
    text = re.sub(r"\w[\w:]*\{(\d+)\}", r"\1", text)
    for name in re.findall(r"k\w+", text):
        if name not in known:
            return None, None
        text = re.sub(rf"\b{name}\b", str(known[name]), text)
    if not re.fullmatch(r"[\d\s+*()-]+", text):
        return None, None
    number = eval(text, {"__builtins__": {}})  # Only digits and + - * ( ), as checked above.
    return f"{number:,}", number


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
    """All limits, in the order of the page."""
    known = {}
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
                value, count = value_of(match.group("value"), known)
                known[match.group("name")] = count
                meaning, tags = split_comment(" ".join(comment))
                yield Limit(path, number, section, match.group("name"), match.group("type") == "Duration", value, count, meaning, tags)
            comment = []


def page(texts):
    """The page: what is written by hand, and a table for each section of a header."""
    lines = [texts.get(PAGE, "").split(MARK)[0] + MARK]
    last = None
    for limit in limits(texts):
        if (limit.header, limit.section) != last:
            last = (limit.header, limit.section)
            lines += ["", f"## {limit.section}", "", f"`{limit.header}`", "",
                      "| limit | value | what and why | when it is reached | figure | test |", "|---|---|---|---|---|---|"]
        cells = [f"`{limit.name}`", limit.value or "?", limit.meaning] + [limit.tags.get(tag, "") for tag in TAGS[:3]]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def limit_list(texts):
    """The header that `rondo limits` answers from."""
    lines = ["// The answer of `rondo limits`: each bound of the headers of limits with its value, times in microseconds. Made by",
             "// tools/limits_page.py, so that it can have the limits of rooms that this layer may not use.", "#pragma once", "", "#include <array>",
             "#include <cstdint>", "#include <string_view>", "", "namespace rondo::commands {", "", "struct ShownLimit {", "  std::string_view name;",
             "  std::uint64_t value;", "};", "", "inline constexpr auto kLimitList = std::to_array<ShownLimit>({"]
    lines += [f'    {{"{limit.shown()}", {limit.number}}},' for limit in limits(texts)]
    return "\n".join(lines + ["});", "", "}  // namespace rondo::commands"]) + "\n"


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
    if limit.value is None:
        yield "has a value that tools/limits_page.py cannot compute"
    if not limit.section:
        yield "is in no section ('// --- Title')"
    if not limit.meaning:
        yield "has no comment that says what it bounds and why"
    yield from (f"has no '{tag}: ' in its comment" for tag in TAGS[:3] if not limit.tags.get(tag))
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
        for name in (limit.name, limit.shown()):
            if name in names:
                yield limit.header, limit.line, f"'{name}' is in {names[name]}, too"
        names.update({limit.name: limit.header, limit.shown(): limit.header})
    if names:
        yield from ((path, 1, "is not what the headers of limits say: run tools/limits_page.py")
                    for path, text in ((PAGE, page(texts)), (SHOWN, limit_list(texts))) if texts.get(path) != text)


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


def read_texts(root):
    """The files that the page is made of and that it makes."""
    texts = {}
    for top in ("include", "src", "apps"):
        for directory, _, names in os.walk(os.path.join(root, top)):
            paths = [os.path.relpath(os.path.join(directory, name), root) for name in names]
            texts.update({path: "" for path in paths if HEADER.match(path)})
    texts.update({path: "" for path in (PAGE, SHOWN, LAYERS)})
    for path in texts:
        if os.path.exists(os.path.join(root, path)):
            with open(os.path.join(root, path), encoding="utf-8") as file:
                texts[path] = file.read()
    return texts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit status 1 if a file is not up to date")
    arguments = parser.parse_args()
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    texts = read_texts(root)
    stale = {path: text for path, text in ((PAGE, page(texts)), (SHOWN, limit_list(texts))) if texts[path] != text}
    for path, text in stale.items():
        print(f"{path} {'is not up to date' if arguments.check else 'is written'}")
        if not arguments.check:
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
