#!/usr/bin/env python3
"""The house rules that a machine can check. Prints each offence as path:line: rule: what; exit status 1 if there is any.

Rules: layers, length, sleep, using, header, thread, global, words, plain (sentences have a subject and a verb), paths (of sources), docs
(paths and links), snippets (code in documents is that of the examples), and limits (their headers, their page and the tree).
docs/hacking.md says what each is for. The self-test is tools/tidy_test.py.
"""
import argparse
import glob
import os
import re
import sys

sys.dont_write_bytecode = True  # A check leaves nothing behind.
import cpp_scan  # noqa: E402
import limit_headers  # noqa: E402
import snippets  # noqa: E402

CODE_FOLDERS = ("apps", "bench", "examples", "fuzz", "include", "src", "tests")
TOP_FOLDERS = CODE_FOLDERS + ("cmake", "deps", "docs", "packaging", "tools")
SKIPPED_FOLDERS = {".git", ".cache", "build", "node_modules", "__pycache__"}
TEXT_ENDINGS = (".cc", ".h", ".py", ".sh", ".md", ".txt", ".cmake", ".json", ".toml", ".yml", ".mjs")
TEXT_NAMES = ("run", "test", "Makefile", ".clang-format", ".clang-tidy", ".ci/run")

FUNCTION_LINES = 70
FILE_LINES = 600
TEST_FILE_LINES = 900

# The only files that may start a thread, and what for.
THREAD_FILES = {
    "src/journal/writer.cc": "the journal's writer",
    "src/orch/worker.cc": "the thread of a worker",
    "src/message/agent_threads.cc": "the threads of agents, one a priority",
    "src/sched/executor.cc": "the threads of executors: what blocks runs there and not in a turn",
    "src/sched/stall_watchdog.cc": "the thread that watches a scheduler",
    "src/store/durable/log_writer.cc": "the thread that writes to the disk",
    "src/store/durable/log_writer.h": "the same",
    "src/replay/read_ahead.cc": "the thread that reads ahead of a replay",
    "src/replay/read_ahead.h": "the same",
    "src/http/http_thread.cc": "the HTTP thread",
    "src/api/dial.cc": "the thread between libcurl and a client of a daemon's API",
    "src/dataplane/netlink/network_namespace.cc": "opens sockets in another network namespace, then ends",
}

# The only files with mutable state of static storage, and what for.
GLOBAL_FILES = {
    "src/commands/signals.cc": "where the handler of signals writes, as it gets nothing else than their number",
    "apps/rondo/output/print.cc": "why stdout failed, of which stdout itself keeps only that it did",
}


class Offences(list):
    def add(self, path, line, rule, what):
        self.append(f"{path}:{line}: {rule}: {what}")


TEST_FOLDERS = ("bench/", "examples/", "fuzz/", "tests/")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def is_test(path):
    return path.endswith("_test.cc") or path.startswith("tests/")


def app_of(path):
    """The folder of a program, below which its files name each other ("apps/rondo/"); "apps/" for every other file."""
    return "/".join(path.split("/")[:2]) + "/" if path.startswith("apps/") else "apps/"


def line_of(text, position):
    return text.count("\n", 0, position) + 1


class Tree:
    """The files of a checkout: relative path to text."""

    def __init__(self, root):
        self.root = root
        self.texts = {}
        for directory, folders, names in os.walk(root):
            folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS)
            for name in sorted(names):
                path = os.path.relpath(os.path.join(directory, name), root)
                if path.endswith(TEXT_ENDINGS) or path in TEXT_NAMES:
                    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                        self.texts[path] = file.read()
        # Comments stay out of every rule about code; literals only where a rule needs them.
        self.code = {path: cpp_scan.blank(text) for path, text in self.texts.items() if self.is_cpp(path)}
        self.includes = {path: [(match.group(1), match.group(2), line_of(text, match.start()))
                                for match in INCLUDE.finditer(cpp_scan.blank(text, keep_literals=True))]
                         for path, text in self.texts.items() if self.is_cpp(path)}
        self.test_kits = self.find_test_kits()

    def find_test_kits(self):
        """Private headers that only tests, benchmarks and other test kits include: fixtures and the like."""
        users = {}
        for path, includes in self.includes.items():
            for _, name, _ in includes:
                for top in ("src/", "apps/", app_of(path)):
                    users.setdefault(top + name, set()).add(path)
        kits = {path for path in self.code if path.startswith(("src/", "apps/")) and path.endswith(".h") and users.get(path)}
        while True:
            wrong = {path for path in kits if not all(is_test(user) or user.startswith(TEST_FOLDERS) or user in kits for user in users[path])}
            if not wrong:
                return kits
            kits -= wrong

    def is_product(self, path):
        """Code that runs in a program: not a test, a test kit, or what stands in the folders for tests."""
        return path.startswith(("src/", "include/", "apps/")) and not is_test(path) and path not in self.test_kits

    @staticmethod
    def is_cpp(path):
        return path.endswith((".cc", ".h")) and path.split("/")[0] in CODE_FOLDERS

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))


# --- layers

def read_layers(tree, offences):
    """Folder to the set of layers it may use, itself among them."""
    direct = {}
    for number, line in enumerate(tree.texts.get("tools/layers.txt", "").splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        name, _, used = line.partition(":")
        direct[name] = used.split()
        for other in direct[name]:
            if other not in direct:
                offences.add("tools/layers.txt", number, "layers", f"'{name}' uses '{other}', which is not a layer above this line")

    def closure(name):
        return {name}.union(*(closure(other) for other in direct.get(name, ())))
    return {name: closure(name) for name in direct}


def layer_of(path, layers=()):
    """The layer of a file. A room of a layer or of a program is one if tools/layers.txt names it (jobs/workers, apps/rondo/journal)."""
    parts = path.split("/")
    if parts[0] == "include":
        return parts[2] if len(parts) > 3 else "."
    if parts[0] not in ("apps", "src"):
        return parts[0]
    first = 1 if parts[0] == "src" else 0
    rooms = ["/".join(parts[first:depth]) for depth in range(len(parts) - 1, 2, -1)]
    return next((room for room in rooms if room in layers), "/".join(parts[first:2]))


def check_layers(tree, offences):
    layers = read_layers(tree, offences)
    for path in tree.code:
        layer = layer_of(path, layers)
        if layer == ".":  # include/rondo/rondo.h: the one include of a first program.
            continue
        if layer not in layers:
            offences.add(path, 1, "layers", f"folder '{layer}' is not in tools/layers.txt")
            continue
        allowed = layers[layer] | ({"sim", "replay", "journal"} if is_test(path) or path in tree.test_kits else set())
        for quote, name, line in tree.includes[path]:
            check_include(tree, offences, path, layers, line, quote, name, allowed)


def check_include(tree, offences, path, layers, line, quote, name, allowed):
    if quote == "<":
        if name.startswith("rondo/"):
            offences.add(path, line, "layers", f'write "{name}": angle brackets are for other people\'s headers')
        return
    public = name.startswith("rondo/")
    layer = layer_of(path, layers)
    target = name.split("/")[1] if public else layer_of("src/" + name, layers)
    if tree.exists(("include/" if public else "src/") + name):
        if not public and path.startswith("include/"):
            offences.add(path, line, "layers", f"a public header may not include the private '{name}'")
        elif target.endswith(".h"):
            if path.startswith(("examples/", "tests/outside/")):  # These are written as users write.
                return
            offences.add(path, line, "layers", f"'{name}' gathers every layer; include what you use")
        elif target not in allowed:
            offences.add(path, line, "layers", f"'{layer}' may not use '{target}' ('{name}')")
        elif not public and tree.exists(app_of(path) + name):
            offences.add(path, line, "layers", f"'{name}' is in src/ and in {app_of(path)}")
    elif not (path.startswith(("apps/",) + TEST_FOLDERS) and
              any(tree.exists(os.path.join(folder, name)) for folder in (os.path.dirname(path), path.split("/")[0], app_of(path)))):
        offences.add(path, line, "layers", f"'{name}' is in neither include/ nor src/")


# --- size and manners of code

def check_length(tree, offences):
    for path, text in tree.texts.items():
        lines = text.count("\n")
        most = TEST_FILE_LINES if is_test(path) else FILE_LINES
        if path.endswith((".cc", ".h", ".py")) and lines > most:
            offences.add(path, lines, "length", f"{lines} lines; a file has at most {most}")
        if not Tree.is_cpp(path):
            continue
        for function in cpp_scan.scan(text)[0]:
            size = function.last - function.first + 1
            if size > FUNCTION_LINES:
                offences.add(path, function.first, "length", f"{size} lines; a function has at most {FUNCTION_LINES}: {function.head[:60]}")


SLEEP = re.compile(r"\b(sleep|usleep|nanosleep|clock_nanosleep|sleep_for|sleep_until)\s*\(")


def check_sleep(tree, offences):
    for path, code in tree.code.items():
        if not path.startswith(("src/", "include/")):
            continue
        for match in SLEEP.finditer(code):
            offences.add(path, line_of(code, match.start()), "sleep", f"'{match.group(1)}': wait for the event itself, or arm a timer")


def in_parentheses(code, opening):
    """What stands between the parenthesis at `opening` and the one that closes it."""
    depth = 0
    for at in range(opening, len(code)):
        depth += {"(": 1, ")": -1}.get(code[at], 0)
        if depth == 0:
            return code[opening + 1 : at]
    return code[opening + 1 :]


# C++20 keeps the object that `range` gives in `for (x : range)`, but none that an object in use is a part of: the loop reads freed memory.
LOOP_OVER_TEMPORARY = re.compile(r"[^:]:(?!:).*\)\.value\(\)$", re.DOTALL)


def check_loop(tree, offences):
    for path, code in tree.code.items():
        for match in re.finditer(r"\bfor\s*\(", code):
            head = in_parentheses(code, match.end() - 1)
            if ";" not in head and LOOP_OVER_TEMPORARY.search(head):
                offences.add(path, line_of(code, match.start()), "loop", "a loop over the value() of a temporary: give the temporary a name first")


def check_using(tree, offences):
    for path, code in tree.code.items():
        if not path.endswith(".h"):
            continue
        for match in re.finditer(r"\busing\s+namespace\s+([\w:]+)", code):
            if (path, match.group(1)) != ("include/rondo/base/time.h", "std::chrono_literals"):
                offences.add(path, line_of(code, match.start()), "using", f"'using namespace {match.group(1)}' in a header")


def companion_headers(path):
    """Where the header of a .cc file may be: beside it, or in include/."""
    stem = path[:-3]
    parts = stem.split("/")
    return [stem + ".h"] + (["/".join(["include", "rondo", parts[1], parts[-1] + ".h"])] if len(parts) > 2 else [])


def has_companion_header(tree, path):
    """A .cc whose promise stands in a header of the same name needs no paragraph of its own."""
    return any(header in tree.texts for header in companion_headers(path))


def check_header(tree, offences):
    for path, text in tree.texts.items():
        if not Tree.is_cpp(path):
            continue
        if path.endswith(".h") and not re.search(r"^#pragma once$", text, re.MULTILINE):
            offences.add(path, 1, "header", "no '#pragma once'")
        if not text.startswith(("//", "/*")) and (path.endswith(".h") or not has_companion_header(tree, path)):
            offences.add(path, 1, "header", "the file does not begin with a comment that says what it is")


THREAD = re.compile(r"\bstd::(jthread|thread(?!::id)|async)\b|\bpthread_create\b")


def check_thread(tree, offences):
    for path, code in tree.code.items():
        # The demo plays the world around the daemon, which does not wait for anybody's turn.
        if not tree.is_product(path) or path in THREAD_FILES or path.startswith("apps/rondo-demo/") or path.endswith("_bench.cc"):
            continue
        for match in THREAD.finditer(code):
            offences.add(path, line_of(code, match.start()), "thread", f"'{match.group(0)}': threads start only in {', '.join(THREAD_FILES)}")


def check_global(tree, offences):
    for path, text in tree.texts.items():
        if not (Tree.is_cpp(path) and tree.is_product(path)) or path in GLOBAL_FILES:
            continue
        for statement in cpp_scan.scan(text)[1]:
            if cpp_scan.is_mutable_global(statement):
                offences.add(path, statement.line, "global", f"mutable state without an owner: {statement.text[:60]}")


# --- words and paths of every text

# Spelled in two parts, so that this file passes its own rule.
CONFLICT = re.compile(r"^(?:<{7}|>{7}|\|{7}) ", re.MULTILINE)
WORDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
FOREIGN_PATH = re.compile(r"(?<![\w.$}/])/(?:ho" r"me|wo" r"rk|ro" r"ot|Us" r"ers)/\w")


def check_words(tree, offences):
    for path, text in tree.texts.items():
        for match in WORDS.finditer(text):
            offences.add(path, line_of(text, match.start()), "words", f"'{match.group(0)}': do it, or make it an issue")
        for match in CONFLICT.finditer(text):
            offences.add(path, line_of(text, match.start()), "words", "a conflict of a merge that nobody resolved")


# Sentences that have to be read twice, as far as a pattern finds them: a beginning without a subject of its own, a verb of belief for code, and more words
# than a reader keeps. Rule 7 of plain English: every sentence has a subject and a verb.
UNPLAIN = re.compile(r"^(?:Of (?!course)|So that |In the order of |Whether |As [^,]*$|Th(?:at|ose) of |(?:Another one|One|Those) (?:that|which|who|whose|is|are|has|have)\b)"
                     r"|\b(?:look(?:s|ed|ing) (?:at|for|into|through|whether)|(?:takes?|took|taken|gives|gave|given) up(?! to)|believe[sd]?|doubts?|in vain)\b")
SENTENCE = re.compile(r"[^\s/*\"-].*?(?:[.!?:;](?=\s)|$)", re.DOTALL)
SENTENCE_WORDS = 45
# Such sentences of rooms that had some when the rule began. The numbers only go down.
UNPLAIN_LEFT = {"apps/worker": 23, "docs/guide/tables.md": 4, "include/rondo": 13, "src/fpm": 20, "src/jobs": 76, "src/managers": 13, "src/switch_agent": 37}
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)


def room_of(path):
    """Where the sentences of a file are counted: its layer or folder, a document by itself."""
    parts = path.split("/")
    return path if path.endswith(".md") or len(parts) < 2 else "/".join(parts[:2])


def prose_of(tree, path, text):
    """(position, text) of each paragraph, cell, comment, and text of a program; a comment of several lines is one."""
    if path.endswith(".md"):
        text = re.sub(r"`[^`\n]*`", lambda code: "x" * len(code.group(0)), fenced(text))
        parts = re.finditer(r"^(?![#|])[^\n]+(?:\n(?![\s\-*|>#\d])[^\n]+)*|(?<=\|)[^\n|]+", text, re.MULTILINE)
    else:
        text = re.sub(r"(?<=\S)\n[ \t]*///?(?= \S)", lambda edge: " " * len(edge.group(0)), text)
        parts = (part for part in cpp_scan.COMMENT_OR_LITERAL.finditer(text) if part.group(0).startswith("/") or part.group(0).startswith('"') and tree.is_product(path))
    return ((part.start(), part.group(0)) for part in parts)


def check_plain(tree, offences):
    places = {}
    for path, text in tree.texts.items():
        for start, part in prose_of(tree, path, text) if path.endswith(".md") or tree.is_cpp(path) else ():
            for sentence in SENTENCE.finditer(part):
                found, words = UNPLAIN.search(sentence.group(0)), len(sentence.group(0).split())
                if found or words > SENTENCE_WORDS:
                    what = f"'{found.group(0)[:30]}'" if found else f"{words} words"
                    places.setdefault(room_of(path), []).append((path, line_of(text, start + sentence.start()), what))
    for room, found in places.items():
        for path, line, what in found if len(found) > UNPLAIN_LEFT.get(room, 0) else ():
            offences.add(path, line, "plain", f"{what}: write subject, verb, object (allowed in {room}: {UNPLAIN_LEFT.get(room, 0)}, found: {len(found)})")


# Functions of other projects that comments name.
FOREIGN_FUNCTIONS = {"apply_temp_view", "create_temp_view", "g_main_loop_run", "hasCachedData", "neigh_changeaddr", "readData", "select"}


def check_named(tree, offences):
    """The type that the first line of a file names is in the file or its header, and a function that a comment names is in the code."""
    words = FOREIGN_FUNCTIONS.union(*(re.findall(r"\w+", code) for code in tree.code.values()))
    for path, code in tree.code.items():
        title = re.match(r"// ([A-Z][a-z0-9]+[A-Z]\w*):\s", tree.texts[path])
        headers = [tree.code.get(header, "") for header in companion_headers(path)] if path.endswith(".cc") else []
        if title and not re.search(rf"\b{title.group(1)}\b", "".join([code, *headers])):
            offences.add(path, 1, "named", f"'{title.group(1)}' is neither in this file nor in its header")
        for comment in COMMENT.finditer(tree.texts[path]):
            for match in re.finditer(r"\b(\w+)\(\)", comment.group(0)):
                if match.group(1) not in words:
                    offences.add(path, line_of(tree.texts[path], comment.start()), "named", f"'{match.group(0)}' is not in the code")


def check_paths(tree, offences):
    for path, text in tree.texts.items():
        for match in FOREIGN_PATH.finditer(text):
            offences.add(path, line_of(text, match.start()), "paths", "an absolute path of somebody's machine")


# --- documents

def fenced(text):
    """The text with fenced code blocks blanked: what stands there is an example."""
    return re.sub(r"^```.*?^```", lambda match: re.sub(r"[^\n]", " ", match.group(0)), text, flags=re.MULTILINE | re.DOTALL)


def expand(name):
    """'a/{b,c}.h' as 'a/b.h' and 'a/c.h'."""
    match = re.search(r"\{([^{}]*)\}", name)
    if not match:
        return [name]
    return [one for part in match.group(1).split(",") for one in expand(name[:match.start()] + part.strip() + name[match.end():])]


def path_exists(tree, name):
    """A file, a folder, a glob that matches, or a source file named without its ending."""
    full = os.path.join(tree.root, name)
    return bool(glob.glob(full)) or any(os.path.exists(full + ending) for ending in (".cc", ".h", ".md"))


def check_document_paths(tree, offences, path, text):
    for match in re.finditer(r"`([^`\n]+)`", text):
        for word in match.group(1).split():
            word = re.sub(r":\d+$", "", word.strip(".,;:()\"'")).removeprefix("./")
            if word.split("/")[0] not in TOP_FOLDERS or "/" not in word or re.search(r"[<>$=…|]|\.\.\.", word):
                continue
            for name in expand(word):
                if not path_exists(tree, name):
                    offences.add(path, line_of(text, match.start()), "docs", f"names '{name}', which does not exist")


def check_document_links(tree, offences, path, text):
    for match in re.finditer(r"\[[^\]\n]*\]\(([^)\s]+)\)", text):
        target = match.group(1).split("#")[0]
        if not target or re.match(r"^[a-z]+:", target):
            continue
        if not tree.exists(os.path.normpath(os.path.join(os.path.dirname(path), target))):
            offences.add(path, line_of(text, match.start()), "docs", f"the link '{match.group(1)}' leads nowhere")


def check_docs(tree, offences):
    for path, text in tree.texts.items():
        if path.endswith(".md"):
            check_document_paths(tree, offences, path, fenced(text))
            check_document_links(tree, offences, path, fenced(text))


def check_snippets(tree, offences):
    for path, line, what in snippets.check(tree.texts):
        offences.add(path, line, "snippets", what)


def check_limits(tree, offences):
    for path, line, what in limit_headers.check(tree.texts, tree.code, lambda name: is_test(name) or name in tree.test_kits, tree.is_product):
        offences.add(path, line, "limits", what)


RULES = {
    "layers": check_layers, "length": check_length, "sleep": check_sleep, "loop": check_loop, "using": check_using, "header": check_header,
    "thread": check_thread, "global": check_global, "words": check_words, "plain": check_plain, "named": check_named, "paths": check_paths, "docs": check_docs,
    "snippets": check_snippets, "limits": check_limits,
}


def check(root, only=None):
    tree = Tree(root)
    offences = Offences()
    for name, rule in RULES.items():
        if only is None or name in only:
            rule(tree, offences)
    return offences, len(tree.texts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(os.path.abspath(__file__))), help="the checkout to read")
    parser.add_argument("--only", action="append", choices=sorted(RULES), help="check only this rule; may be given again")
    arguments = parser.parse_args()
    offences, files = check(arguments.root, arguments.only)
    for offence in offences:
        print(offence)
    if offences:
        print(f"tidy: {len(offences)} offences in {files} files")
        return 1
    print(f"tidy: {files} files are in order")
    return 0


if __name__ == "__main__":
    sys.exit(main())
