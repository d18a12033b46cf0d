"""Reads C++ just well enough for tidy.py: blanks comments and literals, and finds functions and variables by their braces.

It relies on the code being formatted (a brace that opens a body has a space before it). It is a net for mistakes, not a compiler.
"""
import re
from dataclasses import dataclass

COMMENT_OR_LITERAL = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


def blank(text, keep_literals=False):
    """The text with comments (and literals, unless kept) replaced by spaces; line numbers stay."""
    def replace(match):
        found = match.group(0)
        if keep_literals and not found.startswith("/"):
            return found
        return re.sub(r"[^\n]", " ", found) if found.startswith("/") else '"' + re.sub(r"[^\n]", " ", found[1:-1]) + '"'
    return COMMENT_OR_LITERAL.sub(replace, text)


def blank_directives(text):
    """The text without preprocessor lines (and their continuations)."""
    lines = text.split("\n")
    inside = False
    for index, line in enumerate(lines):
        inside = inside or line.lstrip().startswith("#")
        continued = inside and line.endswith("\\")
        if inside:
            lines[index] = ""
        inside = continued
    return "\n".join(lines)


@dataclass
class Block:
    """A function: its first and last line, and its head for messages."""
    head: str
    first: int
    last: int


@dataclass
class Statement:
    """Something that ends with ';', the line of its start, and whether it stands in a function or a class."""
    text: str
    line: int
    in_function: bool
    in_class: bool


_SCOPE = re.compile(r'^(?:inline\s+)?(namespace\b|extern\s*")')
_TYPE = re.compile(r"^(?:template\s*<.*>\s*)?(?:typedef\s+)?(class|struct|union|enum)\b", re.DOTALL)


def _kind(head, spaced, inside):
    """What an opening brace starts: 'scope', 'class', 'function', or 'value' (an initialiser, or a block within a function)."""
    if "function" in inside:
        return "value"
    if _SCOPE.match(head):
        return "scope"
    # A type's head has no parentheses but those of alignas, attributes and template arguments.
    if _TYPE.match(head) and not re.search(r"\)\s*(const|noexcept|override|final)*\s*$", head):
        return "class"
    if not spaced or head.endswith("="):
        return "value"
    return "function" if "(" in head or "[" in head else "value"


def scan(text):
    """Returns (functions, statements) of a file."""
    text = blank_directives(blank(text))
    functions, statements, stack = [], [], []
    begin, position, parentheses = 0, 0, 0

    def head_of(end):
        raw = text[begin:end]
        start = re.match(r"\s*((public|private|protected)\s*:\s*)*", raw).end()
        return raw[start:].strip(), text.count("\n", 0, begin + start) + 1

    for match in re.finditer(r"[{};()]", text):
        position, character = match.start(), match.group(0)
        inside = [kind for kind, _, _ in stack]
        if character in "()":
            parentheses += 1 if character == "(" else -1
        elif character == "{":
            head, line = head_of(position)
            kind = "value" if parentheses > 0 and "function" not in inside else _kind(head, text[position - 1:position] in " \n", inside)
            stack.append((kind, head, line))
            if kind in ("scope", "class", "function") or "function" in inside:
                begin = position + 1
        elif character == "}" and stack:
            kind, head, line = stack.pop()
            if kind == "function":
                functions.append(Block(" ".join(head.split()), line, text.count("\n", 0, position) + 1))
            if kind != "value" or "function" in inside:
                begin = position + 1
        elif character == ";" and (parentheses == 0 or "function" in inside):
            head, line = head_of(position)
            if head and "value" not in inside[:1]:
                statements.append(Statement(" ".join(head.split()), line, "function" in inside, "class" in inside))
            begin = position + 1
    return functions, statements


_DECLARES = re.compile(r"^(using|typedef|class|struct|enum|union|namespace|template|static_assert|friend|return|goto|case|public|private)\b")
_VARIABLE = re.compile(r"^(?:[\w:]+(?:<[^=;]*>)?[\s*&]+)+\w+(?:\[[^\]]*\])*\s*(?:=.*|\{.*)?$", re.DOTALL)


def is_mutable_global(statement):
    """A variable of static storage that is not constant, or a declaration of one that lives elsewhere."""
    text = statement.text
    if statement.in_class and not re.match(r"^(inline\s+)?static\b", text):
        return False
    if _DECLARES.match(text) and not re.match(r"^(struct|class|enum)\s+\w+\s+\w+\s*(=|$)", text):
        return False
    if re.search(r"\bconst(expr|eval)\b", text.split("=", 1)[0]):
        return False
    if re.search(r"\bconst\b", text.split("=", 1)[0]) and not re.search(r"\bconst\b[^=]*\*\s*\w+\s*(=|$)", text):
        return False
    if statement.in_function and not re.match(r"^(static|thread_local)\b", text):
        return False
    if re.search(r"\boperator\b", text):
        return False
    if re.match(r"^extern\b", text) and "(" not in text:
        return True
    before = re.sub(r"<[^=;]*>", "<>", re.split(r"=|\{", text, maxsplit=1)[0])
    return "(" not in before and ")" not in before and _VARIABLE.match(text) is not None
