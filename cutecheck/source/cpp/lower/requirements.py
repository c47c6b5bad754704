"""The parts of a requires expression, by their text: the grammar does not see them where braces are left out."""

from __future__ import annotations

import re

_TYPENAME = re.compile(r"typename\b")
_NESTED = re.compile(r"requires\b")
Range = tuple[int, int]


def split(text: str, begin: int, end: int) -> list[Range]:
    """Ranges between the semicolons of ``text[begin:end]`` that no brackets enclose, without white space around."""
    found: list[Range] = []
    depth, start = 0, begin
    for at in range(begin, end):
        if text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
        elif text[at] == ";" and not depth:
            found.append((start, at))
            start = at + 1
    found.append((start, end))
    return [trimmed for b, e in found if (trimmed := _trim(text, b, e)) is not None]


def asked(text: str, begin: int, end: int) -> tuple[Range | None, bool, bool]:
    """Of one part: the expression or type that it forms, whether that is a type, and whether it asks more."""
    if _NESTED.match(text, begin, end):
        return None, False, True
    named = _TYPENAME.match(text, begin, end)
    if named is not None:
        return _trim(text, named.end(), end), True, False
    if text[begin] != "{":
        return (begin, end), False, False
    depth = 0
    for at in range(begin, end):
        depth += (text[at] == "{") - (text[at] == "}")
        if not depth:
            return _trim(text, begin + 1, at), False, bool(text[at + 1 : end].strip())
    return None, False, True


def _trim(text: str, begin: int, end: int) -> Range | None:
    while begin < end and text[begin].isspace():
        begin += 1
    while begin < end and text[end - 1].isspace():
        end -= 1
    return (begin, end) if begin < end else None
