#!/usr/bin/env python3
"""Code in documents is cut from examples: a fenced block that begins with ```cpp FILE:REGION shows that region of that file; so do blocks of
python and js.

In the file a region stands between `// region: NAME` and `// endregion` (in Python, `# region: NAME` and `# endregion`); pieces of one name
are joined, and the indentation that all lines share is taken off. tools/tidy.py reports blocks that differ, and C++ of the guide that is cut
from nowhere; --fix writes the blocks anew.
"""
import argparse
import os
import re
import sys
import textwrap

BLOCK = re.compile(r"^```(?:cpp|python|js) (?P<file>[\w./-]+):(?P<region>[\w-]+)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
FREE = re.compile(r"^```(?:cpp|c\+\+)[ \t]*$", re.MULTILINE)
MARK = re.compile(r"^\s*(?://|#) (?:region: (?P<name>[\w-]+)|(?P<end>endregion))\s*$")


def regions_of(text):
    """Name to code, of one source file."""
    regions, name = {}, None
    for line in text.splitlines():
        mark = MARK.match(line)
        if mark:
            name = mark.group("name")
        elif name is not None:
            regions.setdefault(name, []).append(line)
    return {name: textwrap.dedent("\n".join(lines)) + "\n" for name, lines in regions.items()}


def blocks_of(document, texts):
    """(match, code that it should show, or None and what is wrong) of each block of a document; 'texts' are files by path."""
    for match in BLOCK.finditer(document):
        source = texts.get(match.group("file"))
        if source is None:
            yield match, None, f"'{match.group('file')}' does not exist"
            continue
        code = regions_of(source).get(match.group("region"))
        yield match, code, None if code is not None else f"'{match.group('file')}' has no region '{match.group('region')}'"


def check(texts):
    """(path, line, what) of each block that does not show its region. 'texts': every file of the tree by path."""
    for path, text in texts.items():
        if not path.endswith(".md"):
            continue
        if path.startswith("docs/guide/"):
            for match in FREE.finditer(text):
                yield path, text.count("\n", 0, match.start()) + 1, "code of the guide is cut from an example: ```cpp FILE:REGION"
        for match, code, wrong in blocks_of(text, texts):
            line = text.count("\n", 0, match.start()) + 1
            if wrong:
                yield path, line, wrong
            elif match.group("code") != code:
                yield path, line, f"differs from region '{match.group('region')}' of '{match.group('file')}'; tools/snippets.py --fix writes it"


def fixed(document, texts):
    """The document with each block as its region."""
    parts, end = [], 0
    for match, code, wrong in blocks_of(document, texts):
        if wrong:
            continue
        parts += [document[end:match.start("code")], code]
        end = match.end("code")
    return "".join(parts) + document[end:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="write the blocks that differ")
    arguments = parser.parse_args()
    import tidy
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    texts = tidy.Tree(root).texts
    if arguments.fix:
        for path, text in texts.items():
            if path.endswith(".md") and fixed(text, texts) != text:
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(fixed(text, texts))
                print(f"{path}: written")
        texts = tidy.Tree(root).texts
    wrong = list(check(texts))
    for path, line, what in wrong:
        print(f"{path}:{line}: snippets: {what}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
