"""Where the sources of modules are: beside their importer, in the scanned tree, installed, of the DSL."""

from __future__ import annotations

import sys
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cutecheck.model.dtype import DType
from cutecheck.model.units import Bits
from cutecheck.source import notebooks
from cutecheck.source.dsl import finding
from cutecheck.source.dsl.finding import file_of, is_package
from cutecheck.source.dsl.unit import lower_unit
from cutecheck.source.eval import ir
from cutecheck.source.eval.values import ScalarType, Value
from cutecheck.source.files import is_file, once, read_bytes

PRELUDES = {  # read in the place of libraries
    "torch.nn": "nn.py", "triton.testing": "triton_testing.py", "cutlass.jax": "cutlass_jax.py", "jax": "jax.py",
    "jax.numpy": "jax_numpy.py", "jax.random": "jax_random.py", "nvshmem.core": "nvshmem_core.py",
    "torch.distributed._symmetric_memory": "torch_symmetric_memory.py",
    "cutlass_pipeline_of_runs.barriers": "pipeline_barriers.py",  # parts of a prelude, no library of this name
    "cutlass_pipeline_of_runs.participants": "pipeline_participants.py",
}  # fmt: skip

KNOWN = frozenset({
    "math", "functools", "itertools", "operator", "typing", "dataclasses", "enum", "argparse", "torch", "numpy", "os",
    "sys", "types", "collections", "abc", "contextlib", "inspect", "pytest", "typing_extensions", "cuda", "copy",
    "random", "hashlib", "importlib", "json", "bisect", "re", "string", "fire", "tyro", "typer", "absl", "triton",
})  # fmt: skip

_Asked = tuple[str, Path | None]  # a module and its importer


@dataclass(slots=True)
class Library:
    """Where sources are found: ``roots`` of the scanned tree, and the folder that holds the package ``cutlass``."""

    files: dict[str, Path]  # display path to file
    roots: tuple[Path, ...] = ()
    cutlass: Path | None = None
    shown: dict[Path, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    lines: dict[str, list[str]] = field(default_factory=dict)
    units: dict[str, tuple[ir.Unit, dict[str, str]]] = field(default_factory=dict)  # tables of `once`
    cells: dict[str, tuple[notebooks.Cell, ...]] = field(default_factory=dict)  # of the notebooks read so far
    tops: dict[str, set[Path]] | None = None  # the folders of the tree's packages
    byte: Value = None
    launches: dict[Hashable, frozenset[int]] = field(default_factory=dict)  # walked: the functions each came to
    calls: dict[Hashable, Any] = field(default_factory=dict)  # of device functions by the host: what each did
    located: dict[_Asked, tuple[Path | None, dict[str, str]]] = field(default_factory=dict)
    packages: dict[_Asked, tuple[bool, dict[str, str]]] = field(default_factory=dict)
    cute: dict[Path, tuple[bool, dict[str, str]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.byte = ScalarType(DType("uint8_t", Bits(8)))
        self.shown = {f.resolve(): p for p, f in self.files.items()}

    def locate(self, name: str, importer: Path | None) -> Path | None:
        """The file of a dotted module: beside its importer, above it, under a root, installed, or of the DSL."""
        return once(self.located, (name, importer), lambda: self._locate(name, importer))

    def _locate(self, name: str, importer: Path | None) -> Path | None:
        parts = name.split(".")
        preludes = Path(__file__).with_name("prelude")
        if name in PRELUDES:
            return preludes / PRELUDES[name]
        if importer is not None and importer.parent == preludes:
            importer = None  # it stands for a library: what lies around it is this program
        if parts[0] == "cutlass":
            return file_of(self.cutlass, parts) if self.cutlass is not None else None
        folders: list[Path] = []
        if importer is not None:
            tops = {r if r.is_dir() else r.parent for r in self.roots}
            at = importer.parent
            for _ in range(12):
                folders.append(at)
                if at in tops or at.parent == at:
                    break
                at = at.parent
        for r in self.roots:
            folder = r if r.is_dir() else r.parent
            folders.append(folder)
            for _ in range(12):  # a folder inside a package is imported from outside the package
                if not is_file(folder / "__init__.py"):
                    break
                folder = folder.resolve().parent
                folders.append(folder)
            # and one that the import names: `from kernels.gemm import ...` in a scan of `kernels` or of a part of it
            folders += [at.parent for at in (folder.resolve(), *folder.resolve().parents)[:8] if at.name == parts[0]]
        for folder in dict.fromkeys(folders):
            found = file_of(folder, parts)
            if found is not None:
                return found
        if parts[0] in sys.stdlib_module_names or parts[0] in KNOWN:
            return None
        if self.tops is None:
            self.tops = finding.tops(self.files.values())
        return finding.on_the_path(self.tops, parts, importer) or finding.above(parts, importer)

    def has_package(self, name: str, importer: Path | None) -> bool:
        """Whether a dotted module is a folder without ``__init__.py``, under a root or above its importer."""
        return once(self.packages, (name, importer), lambda: self._has_package(name, importer))

    def _has_package(self, name: str, importer: Path | None) -> bool:
        folders = [r if r.is_dir() else r.parent for r in self.roots]
        if importer is not None:
            tops = {f.resolve() for f in folders}
            folders += [p for p in list(importer.parents)[:8] if any(t in (p, *p.parents) for t in tops)]
        return any(is_package(f, name.split(".")) for f in folders)

    def has_cute(self, file: Path) -> bool:
        """Whether a file has a name of CuTe, or of a module that may be named after it (`import pkg.cute_tensor`)."""
        return once(self.cute, file, lambda: b"cute" in _bytes(file))

    def unit(self, file: Path) -> ir.Unit:
        file = file.resolve()
        shown = self.shown.get(file, file.as_posix())
        return once(self.units, shown, lambda: self._read(file, shown))

    def _read(self, file: Path, shown: str) -> ir.Unit:
        text = _bytes(file).decode("utf-8-sig", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
        found = notebooks.cells(text.encode("utf-8", "replace")) if file.suffix == notebooks.SUFFIX else None
        if found is not None:
            text = notebooks.python(found)
            for cell in found:
                self.texts[notebooks.place(shown, cell.number)] = "\n".join(cell.lines)
            self.cells[shown] = found
        self.texts[shown] = text
        return lower_unit(shown, text, found)

    def scanned(self, path: str) -> bool:
        """Whether a span's path is in one of the scanned files."""
        return path in self.files or notebooks.split(path)[0] in self.files

    def cells_of(self, paths: Collection[str]) -> frozenset[str]:
        """How spans name the cells of the notebooks among some files."""
        return frozenset(notebooks.place(p, c.number) for p, cs in self.cells.items() if p in paths for c in cs)


def _bytes(file: Path) -> bytes:
    """The bytes of a file; none of one that cannot be read."""
    try:
        return read_bytes(file)
    except OSError:
        return b""
