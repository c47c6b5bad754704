"""How units that stand in strings are named."""

from __future__ import annotations

import os
from pathlib import Path

from cutecheck.facts.span import EMBEDDED

_SUFFIX = ".cu"  # they are translation units


def name(path: str, number: int) -> str:
    """The path of the N-th unit in a file; numbers count from 1."""
    return f"{path}{EMBEDDED}{number}{_SUFFIX}"


def nth(path: str | Path) -> int:
    """Which unit of its file a path names; 0 for a file itself."""
    text = os.fspath(path)
    at = text.rfind(EMBEDDED)
    if at < 0 or not text.endswith(_SUFFIX):
        return 0
    digits = text[at + len(EMBEDDED) : -len(_SUFFIX)]
    return int(digits) if digits.isdecimal() else 0


__all__ = ["name", "nth"]
