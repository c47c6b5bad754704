"""From Python files to facts: one run of each file as a script, for each architecture it speaks of."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from cutecheck.facts import SourceError, Span
from cutecheck.source.dsl.drivers import Driver
from cutecheck.source.dsl.finding import file_of
from cutecheck.source.dsl.instantiate import Binding, asked, in_comments
from cutecheck.source.dsl.instantiate import run as run_binding
from cutecheck.source.dsl.library import Library
from cutecheck.source.dsl.supposed.leading import Leading
from cutecheck.source.dsl.supposed.supposing import Supposer
from cutecheck.source.eval import ir
from cutecheck.source.eval.limits import Limits
from cutecheck.source.eval.trace import Tracing
from cutecheck.source.files import read_bytes
from cutecheck.source.imports import imported
from cutecheck.source.installed import find_cutlass

STEPS_A_FILE = 600_000  # of a file with all its tests, unless the user asks for more; the largest of CUTLASS needs half
ARCH_IS_CERTAIN = "dsl architecture is certain"  # of a machine: not one of several that a file's names allow
_SM103 = re.compile(rb"SM103Mma|[Ss]m_?103[A-Z]|sm_103")
_SCALED = re.compile(rb"blockscaled_layout|tile_atom_to_shape_SF")  # scale factors as nothing before sm_100 has them
_WARPGROUP = re.compile(rb"\bwarpgroup\.[A-Z]|\bimport [^\n]*\bwarpgroup\b|nvgpu\.warpgroup")  # the module
_SM80 = re.compile(rb"^class \w*[Ss][Mm]_?8[0-9]", re.M)  # a class for it beside others for newer ones
_ARCHS = (
    ("sm_90a", re.compile(rb"warpgroup|hopper|[Ss][Mm]_?90|BulkTensor|wgmma")),
    ("sm_100a", re.compile(rb"tcgen05|blackwell|[Ss][Mm]_?10[03]|tmem")),
    ("sm_120a", re.compile(rb"[Ss][Mm]_?12[01]|MmaMXF")),
)


def default_archs(data: bytes) -> tuple[str, ...]:
    """Architectures that a file's own names ask for: when it names none sm_80, or sm_100a with scale factors."""
    named = tuple(arch for arch, names in _ARCHS if names.search(data))
    if b"tcgen05" in data:  # helpers of other generations are borrowed by name
        named = tuple(a for a in named if a == "sm_100a" or (a == "sm_90a" and _WARPGROUP.search(data)))
        named = tuple("sm_103a" if a == "sm_100a" and _SM103.search(data) else a for a in named)
    elif "sm_120a" in named and b"warpgroup" not in data:
        named = ("sm_120a",)
    return named or (("sm_100a",) if _SCALED.search(data) else ("sm_80",))


def archs_of(library: Library, file: Path, data: bytes) -> tuple[str, ...]:
    """Architectures that a file asks for; a driver or test that names none, or that has no code of the DSL and asks
    which one it is on (`get_device_capability()[0] == 9`), runs what it imports from the tree."""
    named = any(names.search(data) for _, names in _ARCHS)
    if named and b"cutlass" in data:
        return default_archs(data)
    seen: set[Path] = set()
    found: set[str] = set(default_archs(data) if named else ())
    pending = [(file, data)]
    while pending:
        at, text = pending.pop()
        if at is not file and any(names.search(text) for _, names in _ARCHS):
            found.update(default_archs(text))
        if at is not file and _SM80.search(text):
            found.add("sm_80")
        names, places = imported(text, at.parent)
        located = [library.locate(name, at) for name in sorted(names) if "cutlass" not in name]
        located += [file_of(place.parent, [place.name]) for place in sorted(places)]
        for inner in located:
            if inner is not None and inner not in seen and inner.resolve() in library.shown:
                seen.add(inner)
                pending.append((inner, read_bytes(inner)))
    return tuple(a for a in ("sm_90a", "sm_100a", "sm_103a", "sm_120a", "sm_80") if a in found) or default_archs(data)


class Runner:
    """Runs scripts over one set of ``files``, whose sources it reads and parses once. ``roots`` are what is scanned;
    with ``changed`` the others are run for what they come to in those."""

    def __init__(
        self,
        files: Mapping[str, Path],
        roots: tuple[Path, ...],
        archs: tuple[str, ...],
        limits: Limits,
        include: tuple[Path, ...] = (),
        tracing: Tracing | None = None,
        changed: frozenset[str] | None = None,
    ) -> None:
        self._files = files
        self._changed = changed
        self._archs = archs
        self._full = limits
        many = limits.steps_per_root == Limits().steps_per_root
        self._limits = replace(limits, steps_per_root=STEPS_A_FILE) if many else limits
        self._tracing = tracing
        self._library = Library(dict(files), roots, find_cutlass((*include, *roots)))

    @property
    def steps(self) -> int:
        """That a file with all its tests may take."""
        return self._limits.steps_per_root

    def script(self, path: str) -> Iterator[tuple[str, Driver]]:
        """A finished run of a file for each of its architectures; what other files walked is walked again."""
        file, library = self._files[path], self._library
        library.launches.clear()
        library.calls.clear()
        try:
            data = read_bytes(file)
        except OSError:
            return
        wanted = self._archs or archs_of(library, file, data)
        for arch in wanted:
            driver = Driver(library, arch, self._limits, self._tracing)
            if self._changed is not None and path not in self._changed:
                driver.about(self._changed)
            driver.machine.functions[ARCH_IS_CERTAIN] = len(wanted) == 1
            driver.run(file, path)
            yield path, driver

    def supposed(self, path: str, called: frozenset[Span], leading: Leading) -> Iterator[tuple[str, Supposer]]:
        """What supposed calls of a file come to, one after the other, for each of its architectures."""
        file, library = self._files[path], self._library
        try:
            data = read_bytes(file)
        except OSError:
            return
        wanted = self._archs or archs_of(library, file, data)
        for arch in wanted:
            supposer = Supposer(library, arch, self._limits, called, leading, self._tracing)
            supposer.machine.functions[ARCH_IS_CERTAIN] = len(wanted) == 1
            for found in supposer.runs(file, path):
                yield path, found

    def bound(self, paths: Iterable[str], instantiate: Iterable[str]) -> Iterator[tuple[str, Driver]]:
        """A run for each file and architecture that bindings name: those given, and those in comments of ``paths``."""
        self._library.launches.clear()
        self._library.calls.clear()
        bindings = [b for text in instantiate if (b := asked(text, dict(self._files))) is not None]
        for path in paths:
            with suppress(OSError):
                data = read_bytes(self._files[path])
                if b"cutecheck" in data:
                    bindings += in_comments(path, self._files[path], data.decode("utf-8", "replace"))
        grouped: dict[tuple[str, str], list[Binding]] = {}
        for b in bindings:
            wanted = (b.arch,) if b.arch else self._archs or default_archs(read_bytes(b.file))
            for arch in wanted:
                if not self._archs or arch in self._archs:
                    grouped.setdefault((b.path, arch), []).append(b)
        for (path, arch), group in grouped.items():
            driver = Driver(self._library, arch, self._full, self._tracing)
            driver.machine.functions[ARCH_IS_CERTAIN] = True
            for b in group:
                driver.spent = 0
                run_binding(driver, b)
            yield path, driver


def unit_errors(unit: ir.Unit, file: Path) -> list[SourceError]:
    """The syntax error of a file, if Python itself sees one too (the grammar is not always up to date)."""
    notes = [n for n in unit.notes if n.kind == "error"]
    if not notes:
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(read_bytes(file))
    except (SyntaxError, ValueError, RecursionError, MemoryError, OSError):
        return [SourceError(unit.path, n.text, n.span) for n in notes[:1]]
    return []
