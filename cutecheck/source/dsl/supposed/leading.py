"""Which functions and classes of a tree lead to a kernel's launch, by the names that they use."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

from cutecheck.records import record
from cutecheck.source.files import read_bytes

_LAUNCHES = frozenset({"launch", "compile"})


@record(frozen=True, slots=True)
class Leading:
    """``names``: of functions and classes from which a launch may be reached; ``used``: by file, those that functions
    which lead there use of others."""

    names: frozenset[str]
    used: Mapping[str, frozenset[str]]


def leading(files: Mapping[str, Path], paths: Iterable[str]) -> Leading:
    """Of these files."""
    parts: list[tuple[str, str, set[str], bool]] = []
    for path in paths:
        if path.endswith(".py"):
            parts += ((path, *part) for part in _parts(files[path]))
    names = {name for _, name, _, launches in parts if launches}
    while True:
        more = {name for _, name, uses, _ in parts if name not in names and not uses.isdisjoint(names)}
        if not more:
            break
        names |= more
    used: dict[str, set[str]] = {}
    for path, name, uses, _ in parts:
        if name in names:
            used.setdefault(path, set()).update(uses - {name})
    return Leading(frozenset(names), {path: frozenset(found & names) for path, found in used.items()})


def _parts(file: Path) -> list[tuple[str, set[str], bool]]:
    """The functions and classes at the top of a file: their names, those they use, whether they launch a kernel."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(read_bytes(file))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        return []
    out: list[tuple[str, set[str], bool]] = []
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.If, ast.Try)):
            todo += node.body
            todo += node.orelse
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
            attributes = {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}
            out.append((node.name, names | attributes, not _LAUNCHES.isdisjoint(attributes)))
    return out


__all__ = ["Leading", "leading"]
