"""The strings of a program as C++: each as many characters as it takes there, lines where they are there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cutecheck.records import record
from cutecheck.source.dsl.source import Source, parse
from cutecheck.source.embedded.constants import FILLERS

if TYPE_CHECKING:
    from tree_sitter import Node

_RAW = re.compile(r'R"([^\s()\\]{0,16})\(')
_FLAG = re.compile(  # what another string or number follows is a part of one
    r'"-D[ ]?(?P<name>[A-Za-z_]\w*)(?P<value>(?:=[^"\\\n]*)?)"(?P<end>(?!\s*(?:\+|"|s\s*\+)))?'
)
_FORMATS = re.compile(r"\b(?:std|fmt)::v?format\s*\(\s*$")  # before a string with fields
_ESCAPES = {"t": " ", "r": " ", "\\": "\\", '"': '"', "'": "'"}
_ODD = "abfvxNuU01234567"
_BEFORE = 64  # characters before a string, where its function is named
_ESCAPED, _BETWEEN = "\0", "\1"  # a newline of the string alone, and one of the program alone
_FIELDS = {
    "format": re.compile(r"(?P<brace>\{\{|\}\})|\{(\w*)(?:[!:][^{}\n]*)?\}"),
    "substitute": re.compile(r"(?P<brace>\$\$)|\$(?:\{(\w+)\}|(\w+))"),
    "render": re.compile(r"(?P<brace>(?!))|\{\{[ \t]*(\w+)[ \t]*\}\}"),
}
_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWYZ"  # `_1` and `_X` are names of CuTe
_JOINING = "_+-*/<>=&|!:%^#.\\"
_DIRECTIVE = re.compile(r"\s*#")


@record(frozen=True, slots=True)
class Hole:
    """A name that stands in a text for what the program fills in: an expression of it, or a ``field`` of a template."""

    name: str
    filled: str
    field: bool = False


@record(frozen=True, slots=True)
class Piece:
    """A string literal, or several side by side: ``text`` takes the characters from ``start`` of the program."""

    start: int
    text: str
    holes: tuple[Hole, ...] = ()


def of_cpp(text: str) -> Iterator[Piece]:
    """Raw strings of a C++ program."""
    at = 0
    endless: set[str] = set()
    while (found := _RAW.search(text, at)) is not None:
        at = found.end()
        end = -1 if found[1] in endless else text.find(f'){found[1]}"', at)
        if end < 0:
            endless.add(found[1])
        else:
            holes: dict[str, Hole] = {}
            formats = _FORMATS.search(text, max(0, found.start() - _BEFORE), found.start()) is not None
            made = _filled(text[at:end], "format", holes) if formats else text[at:end]
            yield Piece(at, made, tuple(holes.values()))
            at = end


def flags_of_cpp(text: str) -> dict[str, str]:
    """What flags of the compiler define (``"-DROWS=64"``) where a C++ program has one value for it."""
    found: dict[str, set[str]] = {}
    for flag in _FLAG.finditer(text):
        whole = flag["end"] is not None and not flag["value"].endswith("=") and "{" not in flag["value"]
        value = flag["value"][1:] if flag["value"] else "1"
        found.setdefault(flag["name"], set()).add(value if whole else "")
    return {name: next(iter(values)) for name, values in found.items() if len(values) == 1 and "" not in values}


def of_python(text: str) -> Iterator[Piece]:
    """Strings of a Python program, without those that are statements, and those whose lines are not its lines."""
    source = Source("", text)
    at = _Characters(text, source.data)
    stack = [parse(source)]
    while stack:
        node = stack.pop()
        if node.type not in ("string", "concatenated_string"):
            stack.extend(reversed(node.children))
            continue
        if node.parent is not None and node.parent.type == "expression_statement":
            continue
        made = _piece(text, node, at, source)
        if made is not None:
            yield made


class _Characters:
    """Characters of a text by the bytes of its UTF-8."""

    def __init__(self, text: str, data: bytes) -> None:
        self._data = None if text.isascii() else data
        self._last = (0, 0)

    def __call__(self, byte: int) -> int:
        if self._data is None:
            return byte
        before, count = self._last if self._last[0] <= byte else (0, 0)
        count += len(self._data[before:byte].decode("utf-8", "replace"))
        self._last = (byte, count)
        return count


def _piece(text: str, node: Node, at: _Characters, source: Source) -> Piece | None:
    start, end = at(node.start_byte), at(node.end_byte)
    out = [_BETWEEN if c == "\n" else " " for c in text[start:end]]
    holes: dict[str, Hole] = {}
    template = _template(source, node)
    before = ""  # what the literal before this ends with
    for part in node.children if node.type == "concatenated_string" else (node,):
        if part.type != "string":
            continue
        written = source.text(part.children[0]).lower()
        opening = written.rstrip("'\"")
        quotes = len(written) - len(opening)
        a, end = at(part.children[0].end_byte), at(part.end_byte) - quotes  # the grammar's own end may be early
        if _one_token(before, text[a:end]):
            return None
        before = text[a:end] or before
        for child in (*(c for c in part.children if c.type == "interpolation"), None):
            b = at(child.start_byte) if child is not None else end
            made = text[a:b] if "r" in opening else _unescaped(text[a:b])
            if made is None:
                return None
            if "f" in opening:
                made = made.replace("{{", " {").replace("}}", "} ")
            elif template:
                made = _filled(made, template, holes)
            out[a - start : b - start] = made
            if child is not None:
                a = at(child.end_byte)
                name = _hole(text[b:a], _expression(source, child), holes, field=False)
                if name is None:
                    return None
                out[b - start : a - start] = name
    lines = _lines("".join(out))
    return None if lines is None else Piece(start, lines, tuple(holes.values()))


def _template(source: Source, node: Node) -> str:
    """Which kind of template a string is: what its methods or those of the name that it is bound to fill."""
    at = node
    while at.parent is not None and at.parent.type in (
        "parenthesized_expression",
        "call",
        "attribute",
        "argument_list",
    ):
        at = at.parent
        if at.type == "attribute":
            method = source.text(at.child_by_field_name("attribute"))
            if method in FILLERS:
                return method.removeprefix("safe_")
        elif at.type == "call" and source.text(at.child_by_field_name("function")).rpartition(".")[2] == "Template":
            return "render" if b"jinja2" in source.data else "substitute"
    left = at.parent.child_by_field_name("left") if at.parent is not None and at.parent.type == "assignment" else None
    if left is None or left.type != "identifier":
        return ""
    used = re.search(rb"\b" + re.escape(source.text(left).encode()) + rb"\.(\w+)\(", source.data)
    method = used[1].decode() if used is not None else ""
    return method.removeprefix("safe_") if method in FILLERS else ""


def _expression(source: Source, node: Node) -> str:
    inner = node.child_by_field_name("expression")
    return source.text(inner) if inner is not None else source.text(node)[1:-1]


def _hole(written: str, filled: str, holes: dict[str, Hole], field: bool) -> str | None:
    """A name as long as what the program fills: the same for the same; None where it spans lines."""
    if "\n" in written:
        return None
    name = "_" + re.sub(r"\W", "_", written[1:])
    while name in holes and holes[name].filled != filled:  # as long, and another
        name = "_" + name[1:-1] + chr(ord("a") + len(holes) % 26)
        if holes.get(name, Hole("", filled)).filled != filled:
            return None
    holes[name] = Hole(name, filled, field)
    return name


def _filled(made: str, template: str, holes: dict[str, Hole]) -> str:
    count = 0

    def name(found: re.Match[str]) -> str:
        nonlocal count
        if found["brace"]:
            return " " + found["brace"][0]
        wanted = next((g for g in found.groups()[1:] if g), "")
        if not wanted:  # fields in turn
            wanted, count = str(count), count + 1
            written = f"{{{_LETTERS[(count - 1) % len(_LETTERS)]}" if len(found[0]) == 2 else found[0]
            return _hole(written, wanted, holes, field=True) or found[0]
        return _hole(found[0], wanted, holes, field=True) or found[0]

    return _FIELDS[template].sub(name, made)


def _unescaped(text: str) -> str | None:
    """The text that escapes stand for, blanks before each, so that it stays as long; None with odd ones."""
    out: list[str] = []
    at = 0
    while (slash := text.find("\\", at)) >= 0 and slash + 1 < len(text):
        out.append(text[at:slash])
        code = text[slash + 1]
        if code == "n":
            out.append(f"{_ESCAPED} ")
        elif code in _ESCAPES:
            out.append(f" {_ESCAPES[code]}")
        elif code in _ODD:
            return None
        else:
            out.append(f"\\{code}")  # of a line, which C++ goes on with as Python does, or none that C++ has not
        at = slash + 2
    out.append(text[at:])
    return "".join(out)


def _lines(made: str) -> str | None:
    """The text with the program's newlines; None where those of the string mean something that these do not."""
    out: list[str] = []
    line = ""  # of the string, as far as it is read
    ended = goes_on = False  # its newline came, or a backslash and its newline, and the program's did not
    for part in re.split(f"([\n{_ESCAPED}{_BETWEEN}])", made):
        if part == "\n" and out and out[-1].endswith("\\"):
            pass  # the line goes on, in both
        elif part == "\n":
            line, ended, goes_on = "", False, False
        elif part == _ESCAPED and out and out[-1].endswith("\\"):
            out[-1], goes_on = f"{out[-1][:-1]} ", True
        elif part == _ESCAPED:
            line, ended = line if _to_its_end(line) else "", True
        elif part == _BETWEEN:
            if goes_on and out[-1].endswith(" "):
                out[-1], goes_on = f"{out[-1][:-1]}\\", False
            elif not ended and _to_its_end(line):
                return None
            elif ended:
                line, ended = "", False
        elif part.strip():
            if (_DIRECTIVE.match(part) and (ended or line.strip())) or (ended and _to_its_end(line)):
                return None
            line, ended = (part if ended else line + part), False
        out.append({_ESCAPED: " ", _BETWEEN: "\n"}.get(part, part))
    return "".join(out)


def _one_token(left: str, right: str) -> bool:
    """Whether two texts may have parts of one token at their ends, which blanks between them would make two."""
    ends = left[-1:], right[:1]
    if ends[0] == "\\" and right:
        return True
    return all(c.isalnum() or c == "_" for c in ends) if ends[0].isalnum() else all(c and c in _JOINING for c in ends)


def _to_its_end(line: str) -> bool:
    """Whether the end of a line means something: that of a directive, or of a comment."""
    return _DIRECTIVE.match(line) is not None or "//" in line


__all__ = ["Hole", "Piece", "of_cpp", "of_python"]
