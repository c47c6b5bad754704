"""What Python files import, read from their text, and which of those without a name of CuTe lead to some that have."""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath

from cutecheck.records import record
from cutecheck.source.discover import DSL_SUFFIXES
from cutecheck.source.files import read_bytes
from cutecheck.source.notebooks import cells, python

_DRIVES = re.compile(rb"^(?:[ \t]*def test_|if __name__ *== *['\"]__main__)", re.MULTILINE)
_ACTS = re.compile(rb"^(?:[A-Za-z_][\w.]*\(|(?:for|with|while) )", re.MULTILINE)  # a statement of a script
_LAZY = re.compile(rb"^def __getattr__\b|\bimport_module\(|\b__import__\(", re.MULTILINE)  # of a package
_CONTINUED = re.compile(rb"\\\r?\n")
_REMARK = re.compile(rb"#[^\n]*")
_WORD = re.compile(rb"[A-Za-z_]\w*")
_STATEMENT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import\b(?:[ \t]*\(([^)]*)\)|([^\n(]*))|import[ \t]+([^\n]*))",
    re.MULTILINE,
)


@record(frozen=True, slots=True)
class _Import:
    """One statement: dotted names that are modules or of modules, relative ones as paths, and what it binds."""

    names: frozenset[str]
    places: frozenset[Path]
    bound: frozenset[str] | None  # None: any name (a star)


def imported(data: bytes, package: Path) -> tuple[set[str], set[Path]]:
    """The dotted names that a file of a folder may take from modules, or that are modules; relative ones as paths.

    ``from a import b`` gives ``a`` and ``a.b``; in ``p/q`` ``from .c import b`` gives ``p/q/c``, ``p/q/c/b``.
    """
    found = list(_imports(data, package))
    return {name for i in found for name in i.names}, {place for i in found for place in i.places}


def _imports(data: bytes, package: Path) -> Iterator[_Import]:
    words = frozenset(word.decode() for word in _WORD.findall(data))  # what `import a` may ask of it by a dot
    for dots, module, many, few, plain in _STATEMENT.findall(_CONTINUED.sub(b" ", data)):
        if plain:
            for name, known_as in _names(plain):
                yield _Import(frozenset((name, *(_above(name) if name == known_as else ()))), frozenset(), words)
            continue
        listed = _names(many or few)
        names = [name for name, _ in listed if name != "*"]
        bound = None if len(names) < len(listed) else frozenset(word for pair in listed for word in pair)
        if not dots:
            dotted = (module.decode(), *(f"{module.decode()}.{name}" for name in names))
            yield _Import(frozenset(dotted), frozenset(), bound)
            continue
        base = (package, *package.parents)[min(len(dots) - 1, len(package.parents))]
        base = base.joinpath(*filter(None, module.decode().split(".")))
        yield _Import(frozenset(), frozenset((base, *(base / name for name in names))), bound)


def _above(name: str) -> list[str]:
    """The packages that a dotted name lies in."""
    return [name[: dot.start()] for dot in re.finditer(r"\.", name)]


def _names(listed: bytes) -> list[tuple[str, str]]:
    """What is imported, and the name that it gets."""
    items = (item.split() for item in _REMARK.sub(b"", listed).split(b","))
    return [(words[0].decode(errors="replace"), words[-1].decode(errors="replace")) for words in items if words]


class _Importers:
    """Which Python files import which."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self._files = files
        self._by_name: dict[str, list[tuple[str, str, _Import]]] = {}  # the name as a path, by its last part
        self._below: dict[str, set[tuple[str, str]]] = {}  # likewise of the packages that it lies in
        self._by_place: dict[Path, list[tuple[str, _Import]]] = {}
        self._lazy: dict[
            Path, str
        ] = {}  # packages that import their modules when these are asked for, by their folders
        self._moves: set[str] = set()  # files that say where modules are looked for
        self._packages = {
            f.absolute().parent.as_posix() for p, f in files.items() if PurePosixPath(p).stem == "__init__"
        }
        self._top = os.path.commonpath([f.absolute().parent for f in files.values()]) if files else ""
        self.drive: set[str] = set()
        self.act: set[str] = set()
        for path, file in files.items():
            if path.endswith(DSL_SUFFIXES):
                with suppress(OSError):
                    self._read(path, file, read_bytes(file))

    def _read(self, path: str, file: Path, data: bytes) -> None:
        if path.endswith(".ipynb"):
            data = python(cells(data)).encode()
            self.drive.add(path)
        folder = file.absolute().parent
        for one in _imports(data, folder):
            for name in one.names:
                self._by_name.setdefault(name.rpartition(".")[2], []).append((path, _as_path(name), one))
                for package in _above(name):
                    self._below.setdefault(package.rpartition(".")[2], set()).add((path, _as_path(package)))
            for place in one.places:
                self._by_place.setdefault(place, []).append((path, one))
        if b"sys.path" in data:
            self._moves.add(path)
        if file.stem == "__init__" and _LAZY.search(data):
            self._lazy[folder] = path
        if _DRIVES.search(data):
            self.drive.add(path)
        elif _ACTS.search(data):
            self.act.add(path)

    def of(self, path: str, below: bool = False) -> dict[str, frozenset[str] | None]:
        """The files that import a file, and the names that each may take from it; None: any.

        ``below``: also those that import something of the package that the file is, which runs it.
        """
        file = self._files[path].absolute()
        module = file.parent if file.stem == "__init__" else file.with_suffix("")
        found: dict[str, frozenset[str] | None] = {self._lazy[f]: None for f in file.parents if f in self._lazy}
        named = [(p, one) for p, name, one in self._by_name.get(module.name, ()) if self._means(p, name, module)]
        for importer, one in (*named, *self._by_place.get(module, ())):
            known = found.get(importer, frozenset())
            found[importer] = None if known is None or one.bound is None else known | one.bound
        if below and file.stem == "__init__":
            inside = self._below.get(module.name, ())
            found.update((p, found.get(p, frozenset())) for p, name in inside if self._means(p, name, module))
        found.pop(path, None)
        return found

    def _means(self, importer: str, name: str, module: Path) -> bool:
        """Whether an importer may mean a module by a name, as it is beside it, above it, or on a path of Python's.

        A standard library is meant before what else has its name; a folder inside of a package is on no path.
        """
        whole = module.as_posix()
        if not whole.endswith(name):
            return False
        root = whole[: -len(name)] or "/"
        folder = self._files[importer].absolute().parent.as_posix()
        if root == folder:
            return True
        if name[1:].partition("/")[0] in sys.stdlib_module_names:
            return False
        outside = root not in self._packages or self._top.startswith(root)
        return outside or importer in self._moves or folder.startswith(f"{root}/")


def _as_path(name: str) -> str:
    return "/" + name.replace(".", "/")


def importing(touched: frozenset[str], scripts: Sequence[str], files: Mapping[str, Path]) -> list[str]:
    """Of Python files those that are touched or import a touched module, and so on: the nearest first.

    What leads from one to the other may be any of ``files``. A package that imports a touched module leads on to those
    that import one of these names from it, not to all that import something of the package.
    """
    hit = {p for p in touched if p in files and p.endswith(DSL_SUFFIXES)}
    if not hit:
        return []
    importers = _Importers(files)
    passed_on: dict[str, frozenset[str] | None] = {}  # by packages that are hit
    far = dict.fromkeys(hit, 0)
    todo = deque(sorted(hit))
    while todo:
        at = todo.popleft()
        some = passed_on.get(at)
        for path, names in importers.of(at, below=at in touched).items():
            if some is not None and names is not None and some.isdisjoint(names):
                continue
            if PurePosixPath(path).stem == "__init__" and path not in touched:
                known = passed_on.get(path, frozenset())
                passed_on[path] = None if known is None or names is None else known | names
                if path not in hit or passed_on[path] != known:
                    todo.append(path)
            elif path not in hit:
                todo.append(path)
            hit.add(path)
            far.setdefault(path, far[at] + 1)
    return sorted((p for p in scripts if p in hit), key=far.__getitem__)


def drivers(cute: Sequence[str], files: Mapping[str, Path]) -> list[str]:
    """Python files without a name of CuTe that run something of ``cute``, or of what imports it.

    Those with tests or a main program, notebooks, and scripts: files that nothing imports and that call at their top.
    """
    own = frozenset(cute)
    importers = _Importers(files)
    reached: set[str] = set()
    todo = list(cute)
    while todo:
        more = importers.of(todo.pop()).keys() - reached
        reached |= more
        todo += more
    drive, act = importers.drive, importers.act
    return [p for p in files if p in reached and p not in own and (p in drive or (p in act and not importers.of(p)))]
