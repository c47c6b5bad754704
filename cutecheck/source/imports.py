"""What Python files import, read from their text, and which of those without a name of CuTe lead to some that have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cutecheck.source.discover import DSL_SUFFIXES
from cutecheck.source.files import read_bytes
from cutecheck.source.notebooks import cells, python

_DRIVES = re.compile(rb"^(?:[ \t]*def test_|if __name__ *== *['\"]__main__)", re.MULTILINE)
_ACTS = re.compile(rb"^(?:[A-Za-z_][\w.]*\(|(?:for|with|while) )", re.MULTILINE)  # a statement of a script
_LAZY = re.compile(rb"^def __getattr__\b|\bimport_module\(|\b__import__\(", re.MULTILINE)  # of a package
_CONTINUED = re.compile(rb"\\\r?\n")
_REMARK = re.compile(rb"#[^\n]*")
_STATEMENT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import\b(?:[ \t]*\(([^)]*)\)|([^\n(]*))|import[ \t]+([^\n]*))",
    re.MULTILINE,
)


def imported(data: bytes, package: Path) -> tuple[set[str], set[Path]]:
    """The dotted names that a file of a folder may take from modules, or that are modules; relative ones as paths.

    ``from a import b`` gives ``a`` and ``a.b``; in ``p/q`` ``from .c import b`` gives ``p/q/c``, ``p/q/c/b``.
    """
    found: set[str] = set()
    places: set[Path] = set()
    for dots, module, many, few, plain in _STATEMENT.findall(_CONTINUED.sub(b" ", data)):
        if plain:
            found.update(_names(plain))
            continue
        names = [n for n in _names(many or few) if n != "*"]
        if not dots:
            found.update((module.decode(), *(f"{module.decode()}.{name}" for name in names)))
            continue
        base = (package, *package.parents)[min(len(dots) - 1, len(package.parents))]
        base = base.joinpath(*filter(None, module.decode().split(".")))
        places.update((base, *(base / name for name in names)))
    return found, places


def _names(listed: bytes) -> list[str]:
    items = (item.split() for item in _REMARK.sub(b"", listed).split(b","))
    return [words[0].decode(errors="replace") for words in items if words]


def drivers(cute: Sequence[str], files: Mapping[str, Path]) -> list[str]:
    """Python files without a name of CuTe that run something of ``cute``, or of what imports it.

    Those with tests or a main program, notebooks, and scripts: files that nothing imports and that call at their top.
    """
    own = frozenset(cute)
    by_name: dict[str, list[tuple[str, str]]] = {}  # importers, and the name as a path, of its last part
    by_place: dict[Path, list[str]] = {}
    lazy: dict[Path, str] = {}  # packages that import their modules when these are asked for, by their folders
    drive: set[str] = set()
    act: set[str] = set()
    for path, file in files.items():
        if not path.endswith(DSL_SUFFIXES):
            continue
        try:
            data = read_bytes(file)
        except OSError:
            continue
        if path.endswith(".ipynb"):
            data = python(cells(data)).encode()
            drive.add(path)
        names, places = imported(data, file.absolute().parent)
        for name in names:
            by_name.setdefault(name.rpartition(".")[2], []).append((path, "/" + name.replace(".", "/")))
        if file.stem == "__init__" and _LAZY.search(data):
            lazy[file.absolute().parent] = path
        for place in places:
            by_place.setdefault(place, []).append(path)
        if _DRIVES.search(data):
            drive.add(path)
        elif _ACTS.search(data):
            act.add(path)

    def importers(path: str) -> set[str]:
        file = files[path].absolute()
        module = file.parent if file.stem == "__init__" else file.with_suffix("")
        named = [p for p, name in by_name.get(module.name, ()) if module.as_posix().endswith(name)]
        packages = [lazy[folder] for folder in file.parents if folder in lazy]
        return {*named, *packages, *by_place.get(module, ())} - {path}

    reached: set[str] = set()
    todo = list(cute)
    while todo:
        more = importers(todo.pop()) - reached
        reached |= more
        todo += more
    return [p for p in files if p in reached and p not in own and (p in drive or (p in act and not importers(p)))]
