"""Arrays whose elements the source also takes by their address, ``smem[i]`` or ``*p``, past any layout."""

from __future__ import annotations

import re

from cutecheck.engine.fixes.spelling import Region
from cutecheck.engine.fixes.text import SourceText

_OF = r"(?:[\w.\]\[]+(?:\.|->))?"  # the object whose member it is
_BEFORE = r"(?<=[=(,;{}+\-&|<>?:!])\s*"  # of an operator before its only operand


def by_hand(array: Region, name: str) -> bool:
    """Whether code below the declaration of an array indexes it, or a pointer that is set to it, without a layout."""
    begin, end = _scope(array)
    return _taken(array.source, name, begin, end, 2)


def _taken(source: SourceText, name: str, begin: int, end: int, depth: int) -> bool:
    code = source.code[begin:end]
    of, word = _OF, re.escape(name)
    if re.search(rf"(?<!\w){word}\s*\[", code) or re.search(rf"{_BEFORE}\*\s*\(?\s*{of}{word}\b(?!\s*\()", code):
        return True
    cast = r"(?:\(?(?:\w+_cast\s*<[^;]*?>|\([\w:\s]+\*\))\s*\(?\s*)?"
    for alias in re.finditer(rf"(?<![\w.])(\w+)\s*=\s*{cast}&?\s*{of}{word}\b(?:\s*\[\s*0\s*\])?\s*\)?\s*[;,]", code):
        if depth and alias[1] != name and _taken(source, alias[1], begin + alias.end(), end, depth - 1):
            return True
    return False


def _scope(array: Region) -> tuple[int, int]:
    """From behind the declaration to the end of its function; the whole file for the member of a class."""
    code, depth = array.source.code, 0
    begin = next((i for i in range(array.end, len(code)) if code[i] in ",;"), len(code))
    for i in range(begin, len(code)):
        depth += (code[i] == "{") - (code[i] == "}")
        if depth < 0:
            member = code[i + 1 :].lstrip()[:1] == ";"
            return (begin, len(code)) if member else (begin, i)
    return begin, len(code)


__all__ = ["by_hand"]
