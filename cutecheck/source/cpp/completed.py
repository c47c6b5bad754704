"""Include lines that a macro completes: ``#include HEADER`` and ``#include LIBRARY_HEADER(name)``.

What they name is known without preprocessing where every definition of the macro in the tree spells a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from contextlib import suppress
from pathlib import Path

from cutecheck.source.files import read_bytes

_LINE = re.compile(rb"#[ \t]*include[ \t]+([A-Za-z_]\w*)[ \t]*(?:\(([^()\n]*)\))?[ \t]*(?://|/\*|[\r\n]|$)")
_LOOKS = re.compile(rb"#[ \t]*include[ \t]+[A-Za-z_]")
_MACRO = rb"#[ \t]*define[ \t]+(%s)\b(?:\([ \t]*(\w*)[ \t]*\))?[ \t]+([^\n]*)"
_ASKS = rb"(?:#[ \t]*ifndef[ \t]+|\bdefined[ \t]*\(?[ \t]*)(%s)\b"
_NAMES = re.compile(rb"^(?:<([\w./+-]+)>|\"([\w./+-]+)\")[ \t\r]*(?://[^\n]*|/\*[^\n]*\*/[ \t\r]*)?$")

Line = tuple[bytes, bytes | None]  # the macro and its argument
Lines = tuple[Line, ...] | None  # of a file; None where one of them is not read here
Name = tuple[bytes, str]  # of a file, with the opening quote


def lines(data: bytes) -> Lines:
    """The macros that complete include lines of a file."""
    found = tuple((m[1], m[2] if m[2] is None else m[2].strip()) for m in _LINE.finditer(data))
    return found if len(found) == sum(1 for _ in _LOOKS.finditer(data)) else None


def named(asked: Mapping[str, Lines], given: Set[bytes], files: Iterable[Path]) -> dict[str, list[Name]]:
    """What such lines of files name, by all definitions of their macros in ``files``.

    A file has no entry where one of its macros is defined nowhere here or not as the name of a file, is ``given`` on
    the command line, or is only defined where that does not (``#ifndef HEADER``).
    """
    wanted = {line for each in asked.values() for line in each or () if line[0] not in given}
    known = _known(wanted, files) if wanted else {}
    return {
        path: [name for line in each for name in known[line]]
        for path, each in asked.items()
        if each is not None and all(line in known for line in each)
    }


def _known(wanted: Set[Line], files: Iterable[Path]) -> dict[Line, list[Name]]:
    either = b"|".join(sorted({re.escape(name) for name, _ in wanted}))
    macros, asks = re.compile(_MACRO % either), re.compile(_ASKS % either)
    defined: dict[bytes, list[tuple[bytes, bytes]]] = {}
    open_: set[bytes] = set()
    for file in files:
        with suppress(OSError):
            data = read_bytes(file)
            for m in macros.finditer(data):
                defined.setdefault(m[1], []).append((m[2] or b"", m[3]))
            open_ |= {m[1] for m in asks.finditer(data)}
    found = {line: [_named(line, *one) for one in defined.get(line[0], ())] for line in wanted if line[0] not in open_}
    return {line: [n for n in names if n is not None] for line, names in found.items() if names and None not in names}


def _named(line: Line, parameter: bytes, text: bytes) -> Name | None:
    _, argument = line
    if (argument is None) != (not parameter):
        return None
    if argument is not None:
        text = re.sub(rb"\b%s\b" % re.escape(parameter), lambda _: argument, text)
    m = _NAMES.match(text.strip())
    if m is None:
        return None
    name = m[1] if m[1] is not None else m[2]
    return (b"<" if m[1] is not None else b'"'), name.decode()


__all__ = ["Lines", "lines", "named"]
