"""CUTLASS inside of a scanned tree, such as a submodule: a library, and not what is to be checked.

Its headers are read where the tree's own files include them, as those that ``-I`` names are; its examples, tests and
tools are no programs of the tree. The root of a scan is never taken for it, nor what holds a file that was named.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cutecheck.records import record

_CUTE, _VERSION = Path("include", "cute", "tensor.hpp"), Path("include", "cutlass", "version.h")
_CHECKOUT = (Path("examples", "00_basic_gemm"), Path("examples", "cute"), Path("test", "unit", "cute"))
_HEADERS = (Path("include", "cute"), Path("include", "cutlass"), Path("tools", "util", "include", "cutlass"))
_SEARCHED = (Path("include"), Path("tools", "util", "include"), Path("examples", "common"))


@record(frozen=True, slots=True)
class Vendored:
    """``shown`` is the display path of the folder; ``left_out`` which folders of it are not scanned: it, or parts."""

    shown: str
    folder: Path
    left_out: tuple[Path, ...]


def vendored(folder: Path, shown: str, named: Sequence[Path]) -> Vendored | None:
    """The copy of CUTLASS that a folder is: a whole checkout, or its headers alone beside which other things may stand.

    None where ``named`` (real paths) has something inside what would be left out: what is asked for is scanned.
    """
    if not (folder / _CUTE).is_file():
        return None
    whole = (folder / _VERSION).is_file() and any((folder / p).is_dir() for p in _CHECKOUT)
    parts = (folder,) if whole else tuple(folder / p for p in _HEADERS if (folder / p).is_dir())
    real = [p.resolve() for p in parts]
    if any(part == p or part in p.parents for part in real for p in named):
        return None
    return Vendored(shown if shown != "." else "include", folder, parts)


def include_dirs(found: Sequence[Vendored]) -> tuple[Path, ...]:
    """Where includes of their headers are looked for, copies nearest to the root first."""
    ordered = sorted(found, key=lambda v: (v.shown.count("/"), v.shown))
    return tuple(d for v in ordered for d in searched(v.folder))


def searched(folder: Path) -> tuple[Path, ...]:
    """The include directories of a checkout, or of what holds its headers alone."""
    return tuple(d for p in _SEARCHED if (d := folder / p).is_dir())


def beside(include_dirs: Sequence[Path]) -> tuple[Path, ...]:
    """The include path, and after it what else a checkout of CUTLASS has beside a directory of its headers: builds that
    name it name ``tools/util/include``, too, where they need it."""
    headers = [d for d in include_dirs if d.name == "include" and (d.parent / _CUTE).is_file()]
    more = (found for d in headers for found in searched(d.parent))
    return tuple(dict.fromkeys((*include_dirs, *more)))


def note(found: Sequence[Vendored]) -> str:
    """What a report says of them; empty for none."""
    if not found:
        return ""
    names = ", ".join(sorted(v.shown for v in found))
    return f"{names}: CUTLASS, read where it is included and not checked (name the folder to have it checked)"
