"""The parts of a requires expression, by their text: the grammar does not see them where braces are left out."""

from __future__ import annotations

import re

from cutecheck.records import record

_TYPENAME = re.compile(r"typename\b")
_NESTED = re.compile(r"requires\b")
_ARROW = re.compile(r"\s*->")
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


@record(frozen=True, slots=True)
class Asked:
    """One part: where its expression, type or condition is; and the concept that what it gives is to satisfy."""

    of: Range
    is_type: bool = False
    holds: bool = False
    gives: Range | None = None


def asked(text: str, begin: int, end: int) -> Asked | None:
    """What one part says; None where that is not read."""
    nested = _NESTED.match(text, begin, end)
    if nested is not None:
        of = _trim(text, nested.end(), end)
        return None if of is None else Asked(of, holds=True)
    named = _TYPENAME.match(text, begin, end)
    if named is not None:
        of = _trim(text, named.end(), end)
        return None if of is None else Asked(of, is_type=True)
    if text[begin] != "{":
        return Asked((begin, end))
    depth = 0
    for at in range(begin, end):
        depth += (text[at] == "{") - (text[at] == "}")
        if not depth:
            of, arrow = _trim(text, begin + 1, at), _ARROW.match(text, at + 1, end)
            gives = None if arrow is None else _trim(text, arrow.end(), end)
            if of is None or (gives is None and text[at + 1 : end].strip()):
                return None
            return Asked(of, gives=gives)
    return None


def _trim(text: str, begin: int, end: int) -> Range | None:
    while begin < end and text[begin].isspace():
        begin += 1
    while begin < end and text[end - 1].isspace():
        end -= 1
    return (begin, end) if begin < end else None
