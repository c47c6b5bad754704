"""What the source does past a layout, as it is spelled: elements by their address, ``smem[i]`` or ``*p``; strides."""

from __future__ import annotations

import re
from functools import lru_cache

from cutecheck.engine.fixes.spelling import Region

_OF = r"(?:[\w.\]\[]+(?:\.|->))?"  # the object whose member it is
_BEFORE = r"(?<=[=(,;{}+\-&|<>?:!])\s*"  # of an operator before its only operand


_NAMED = re.compile(r"(\w+)\s*=\s*(?:typename\s+)?\Z")


def named(region: Region) -> str:
    """The name that is given to what is written in a region; empty where it has none."""
    found = _NAMED.search(region.source.code[max(0, region.begin - 200) : region.begin])
    return found[1] if found else ""


def by_hand(array: Region, name: str) -> bool:
    """Whether code below the declaration of an array takes elements of it, or by a pointer to it, without a layout."""
    if not array.source.python:
        return _asked(array.source.code, array.end, name)
    code, tensor = array.source.code, re.escape(named(array))
    used = re.finditer(rf"(?<![\w.]){tensor}\s*\.\s*iterator\b", code) if tensor else ()
    return any(not re.search(r"make_tensor\s*\(\s*\Z", code[max(0, m.start() - 40) : m.start()]) for m in used)


@lru_cache(maxsize=1024)
def _asked(code: str, declared: int, name: str) -> bool:
    begin, end = _scope(code, declared)
    return _taken(code[begin:end], name, 2)


def _taken(code: str, name: str, depth: int) -> bool:
    of, word = _OF, re.escape(name)
    if re.search(rf"(?<!\w){word}\s*\[", code) or re.search(rf"{_BEFORE}\*\s*\(?\s*{of}{word}\b(?!\s*\()", code):
        return True
    cast = r"(?:\(?(?:\w+_cast\s*<[^;]*?>|\([\w:\s]+\*\))\s*\(?\s*)?"
    for alias in re.finditer(rf"(?<![\w.])(\w+)\s*=\s*{cast}&?\s*{of}{word}\b(?:\s*\[\s*0\s*\])?\s*\)?\s*[;,]", code):
        if depth and alias[1] != name and _taken(code[alias.end() :], alias[1], depth - 1):
            return True
    made = rf"(?<![\w.])(\w+)\s*=\s*(?:cute::)?make_tensor\s*\((?:[^;=]|==)*?(?<!\w){word}\b"
    return any(_by_address(code[m.end() :], re.escape(m[1])) for m in re.finditer(made, code))


def _by_address(code: str, tensor: str) -> bool:
    """``&sA(0, 0)`` or ``sA.data()`` of a tensor, but for that of another tensor."""
    if re.search(rf"(?<!&)&\s*{tensor}\s*[(\[]", code):
        return True
    given = re.finditer(rf"(?<![\w.]){tensor}\s*\.\s*data\s*\(\s*\)", code)
    return any(not re.search(r"make_tensor\s*\(\s*\Z", code[max(0, m.start() - 40) : m.start()]) for m in given)


@lru_cache(maxsize=1024)
def strided(code: str, names: frozenset[str]) -> bool:
    """Whether a layout or tensor of one of these names is asked for strides, or joined to a plain layout: a swizzled
    one has none, and is not.
    """
    one = "|".join(map(re.escape, sorted(names)))
    asked = rf"(?<!\w)stride\s*(?:<[^;()]*>)?\s*\((?:[^;()]|\([^;()]*\))*?(?<![\w.])(?:{one})\b"
    member = rf"(?<![\w.])(?:{one})\b(?:\s*\{{\s*\}}|\s*\(\s*\))?(?:\s*\.\s*layout(?:\s*\(\s*\))?)?\s*\.\s*stride\b"
    joined = (
        rf"(?<!\w)(?:make_layout|append|prepend)\s*\((?:[^;()]|\([^;()]*\))*?(?<![\w.])(?:{one})\b"  # of plain ones
    )
    return bool(one) and re.search(f"{asked}|{member}|{joined}", code) is not None


def _scope(code: str, declared: int) -> tuple[int, int]:
    """From behind the declaration to the end of its function; the whole file for the member of a class."""
    first, depth = re.compile(r"[,;]").search(code, declared), 0
    begin = first.start() if first else len(code)
    for brace in re.compile(r"[{}]").finditer(code, begin):
        depth += 1 if brace[0] == "{" else -1
        if depth < 0:
            member = code[brace.end() :].lstrip()[:1] == ";"
            return (begin, len(code)) if member else (begin, brace.start())
    return begin, len(code)


__all__ = ["by_hand", "named", "strided"]
