"""What a build file says of macros."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field
from pathlib import Path

from cutecheck.records import record

_DEFINITION = re.compile(r"([A-Za-z_]\w*)(?:=([\w.+:<>,()-]*))?", re.ASCII)
NAMED = re.compile(r"(?:^|(?<=[\s;:\"']))-[DU]\s?([A-Za-z_]\w*)", re.ASCII)


@record(frozen=True, slots=True)
class Given:
    """``-Dname=value`` at a line of a file."""

    name: str
    value: str
    file: Path
    line: int


@record(frozen=True, slots=True)
class Said:
    """``given`` holds in every build; of the names ``open`` it depends, or is not known, what they are."""

    given: tuple[Given, ...] = ()
    open: frozenset[str] = field(default_factory=frozenset)


def definition(text: str) -> tuple[str, str] | None:
    """Name and value of ``NAME`` or ``NAME=VALUE``; None where the value is more than plain text."""
    match = _DEFINITION.fullmatch(text)
    if match is None or match[2] in ("ON", "OFF"):  # an option of CMake
        return None
    return match[1], "1" if match[2] is None else match[2]


def names(text: str) -> frozenset[str]:
    """The macros that options in a text are about."""
    return frozenset(NAMED.findall(text))


def united(parts: Iterable[Said]) -> Said:
    """What files say that count alike: a name with two values, or that one of them leaves open, is open."""
    found: dict[str, Given] = {}
    left: set[str] = set()
    for part in parts:
        left |= part.open
        for one in part.given:
            if found.setdefault(one.name, one).value != one.value:
                left.add(one.name)
    return Said(tuple(g for g in found.values() if g.name not in left), frozenset(left))


def within(inner: Said, outer: Said) -> Said:
    """What holds in a folder that is part of an outer build: its own macros come last, and so are those that count."""
    own = {g.name for g in inner.given} | inner.open
    more = tuple(g for g in outer.given if g.name not in own)
    return Said((*inner.given, *more), inner.open | (outer.open - {g.name for g in inner.given}))
