"""What older versions of CuTe have otherwise than the reference: ``data/older.tsv``, read where one is followed.

A line names the newest version for which it holds, the operation, and its row (indices into ``older_strings.txt``),
``=`` and the target of an alias, or ``-`` where the operation does not exist; it holds down to the next line of that
name. ``!MACRO`` lines say on which targets a guard is defined. Written by ``scripts/generate_atoms/versions.py``.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from cutecheck.model.version import REFERENCE, Version, cute_version

_DATA = Path(__file__).parent / "data"
ABSENT = "-"
OLDEST: Version = (4, 0)  # what was generated; older versions are looked up as this one


@lru_cache(maxsize=1)
def strings() -> list[str]:
    return (_DATA / "older_strings.txt").read_text(encoding="ascii").split("\n")


@lru_cache(maxsize=1)
def _changes() -> dict[str, dict[Version, list[str]]]:
    """Lines by name and version, newest version first."""
    found: dict[str, dict[Version, list[str]]] = {}
    for line in (_DATA / "older.tsv").read_text(encoding="ascii").splitlines():
        version, name, rest = line.split("\t", 2)
        major, _, minor = version.partition(".")
        found.setdefault(name, {}).setdefault((int(major), int(minor)), []).append(rest)
    return found


def replaced(name: str) -> list[str] | None:
    """The lines that stand for the reference's in the version in force; empty where there is no such operation.

    None where the reference's hold.
    """
    version = cute_version()
    if version >= REFERENCE:
        return None
    found = None
    for newest, lines in _changes().get(name, {}).items():
        if newest >= version:
            found = lines
    return None if found is None else [] if found == [ABSENT] else found


def names() -> list[str]:
    """Operations and aliases that differ in some older version."""
    return [n for n in _changes() if not n.startswith("!")]


def history(name: str) -> list[tuple[Version, str]]:
    """(version, ``absent`` or ``changed``): up to which version the operation is missing or other, newest first."""
    return [(v, "absent" if lines == [ABSENT] else "changed") for v, lines in _changes().get(name, {}).items()]
