"""Which files of a tree to read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from cutecheck.facts import SourceError
from cutecheck.records import record
from cutecheck.source.files import exists, listed, read_bytes, size_bytes
from cutecheck.source.vendored import Vendored, vendored

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

CPP_SUFFIXES = (
    ".cu",
    ".cuh",
    ".h",
    ".hpp",
    ".cpp",
    ".cc",
    ".cxx",
    ".hh",
    ".hxx",
    ".inl",
    ".inc",
    ".ipp",
    ".tpp",
    ".def",
)
DSL_SUFFIXES = (".py", ".ipynb")
SUFFIXES = CPP_SUFFIXES + DSL_SUFFIXES
MAX_BYTES = 16 << 20
_SKIPPED_FOLDERS = frozenset({
    ".git", ".hg", ".svn", "__pycache__", "__pypackages__", "node_modules", ".venv", "venv", ".direnv", ".tox", ".nox",
    ".eggs", "CMakeFiles", ".cutecheck_cache", ".ipynb_checkpoints", ".mypy_cache", ".pytest_cache", ".ruff_cache",
})  # fmt: skip
_ENVIRONMENT = ("pyvenv.cfg", "conda-meta")  # in the folder of an environment of Python, whatever its name

# A file that uses CuTe says one of these somewhere; anything else is only read as an include. Plain searches, since
# most files of a tree have none: a pattern with alternatives takes ten times as long.
_WORDS = (
    b"cute::", b"cute/", b"namespace cute", b"Copy_Atom", b"MMA_Atom", b"TiledMMA", b"TiledMma", b"TiledCopy",
    b"make_tiled_", b"make_layout", b"make_tma_copy", b"SmemLayout", b"make_tensor", b"make_shape", b"make_fragment",
    b"local_tile", b"local_partition", b"partition_S", b"partition_D", b"partition_fragment", b"tile_to_shape",
    b"Layout<Shape", b"Swizzle<", b"cutecheck:",
)  # fmt: skip
_PYTHON = re.compile(rb"\bcute\b|cutecheck:")
_INCLUDE = re.compile(rb"#[ \t]*include[ \t]*[<\"\\]")  # with its escape in a notebook
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)\b[^\n(]*(?:\([^)]*\))?", re.MULTILINE)
_WORD = re.compile(rb"\w+")
_REMARK = re.compile(rb"#[^\n]*")


def has_cute_names(data: bytes, python: bool = False) -> bool:
    """A quick look at the bytes of a file: whether it can contain anything for cutecheck."""
    if python:
        return b"cute" in data and _PYTHON.search(data) is not None
    return any(word in data for word in _WORDS)


def may_hold(data: bytes, python: bool) -> bool:
    """A quick look at the bytes of a program: whether strings of it can be kernels."""
    return (python or b'R"' in data) and (b"__global__" in data or _INCLUDE.search(data) is not None)


@record(frozen=True, slots=True)
class SourceFile:
    """``path`` is the display path (POSIX, relative to the scanned root), ``cute`` whether CuTe names occur in it,
    ``strings`` whether strings of it may be kernels.
    """

    path: str
    file: Path
    cute: bool
    strings: bool = False


@record(frozen=True, slots=True)
class Discovery:
    files: tuple[SourceFile, ...]
    errors: tuple[SourceError, ...]
    vendored: tuple[Vendored, ...] = ()


def discover(paths: Sequence[Path], exclude: Sequence[str] = (), suffixes: tuple[str, ...] = SUFFIXES) -> Discovery:
    """Files of the given paths in a stable order; folders honour ``.gitignore``, named files are always taken.

    What cannot be read, is binary or too large becomes one :class:`SourceError`, and the rest goes on. Copies of
    CUTLASS below a root are left out and listed, unless they or something in them is one of the paths.
    """
    unwanted = _patterns(exclude) if exclude else None
    found: dict[str, SourceFile] = {}
    errors: list[SourceError] = []
    seen: set[str] = set()
    libraries: dict[Path, Vendored] = {}
    named = tuple(root.resolve() for root in paths)
    for root in paths:
        if root.is_dir():
            for file, real in _walk(root, errors, named, libraries, suffixes):
                shown = file.relative_to(root).as_posix()
                if not (unwanted and unwanted.match_file(shown)) and _first(real, seen):
                    _take(shown if shown not in found else _unused(shown, file, found), file, found, errors)
        elif exists(root):
            if _first(os.path.realpath(root), seen):
                _take(_unused(root.name, root, found), root, found, errors, explicit=True)
        else:
            errors.append(SourceError(root.as_posix(), "no such file or folder"))
    return Discovery(tuple(found[p] for p in sorted(found)), tuple(errors), tuple(libraries.values()))


def _first(real: str, seen: set[str]) -> bool:
    """Whether the file is met for the first time: roots may overlap and links may lead to the same file."""
    if real in seen:
        return False
    seen.add(real)
    return True


def _unused(shown: str, file: Path, found: dict[str, SourceFile]) -> str:
    """A display path of its own: two roots may have files of the same relative path."""
    for parent in file.absolute().parents:
        if shown not in found:
            break
        # one folder more than the path shows now
        depth = shown.count("/") + 1
        shown = "/".join(file.absolute().parts[-depth - 1 :]) if parent.name else file.absolute().as_posix()
    return shown


def _take(
    shown: str, file: Path, found: dict[str, SourceFile], errors: list[SourceError], explicit: bool = False
) -> None:
    try:
        size = size_bytes(file)
        if size > MAX_BYTES:
            errors.append(SourceError(shown, f"file of {size} bytes is over the limit of {MAX_BYTES}"))
            return
        data = read_bytes(file)
    except OSError as error:
        errors.append(SourceError(shown, f"cannot be read: {error.strerror or error}"))
        return
    cute = has_cute_names(data, file.suffix in DSL_SUFFIXES)
    if b"\0" in data[:4096]:
        if explicit or cute:
            errors.append(SourceError(shown, "binary file, not read"))
        return
    if cute or explicit:
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            errors.append(SourceError(shown, f"invalid UTF-8 at byte {error.start}; read as Latin-1"))
    found[shown] = SourceFile(shown, file, cute or explicit, may_hold(data, file.suffix in DSL_SUFFIXES))


def imports(file: Path) -> list[frozenset[str]]:
    """The words of each import of a file, comments left out."""
    try:
        lines = [_REMARK.sub(b"", line) for line in _IMPORT.findall(read_bytes(file))]
    except OSError:
        return []
    return [frozenset(w.decode() for w in _WORD.findall(line)) for line in lines]


def _walk(
    root: Path,
    errors: list[SourceError],
    named: Sequence[Path],
    libraries: dict[Path, Vendored],
    suffixes: tuple[str, ...],
) -> Iterator[tuple[Path, str]]:
    """Files below a folder and their real paths, each real folder once (symlink loops end), ignored ones left out.

    Copies of CUTLASS that it comes to are added to ``libraries``, by where they are.
    """
    seen: set[tuple[int, int]] = set()
    left_out: set[Path] = set()
    inside = os.path.join(os.path.realpath(root), "")  # noqa: PTH118 - with its separator
    stack: list[tuple[Path, tuple[tuple[str, GitIgnoreSpec], ...]]] = [(root, _outer_ignores(root))]
    while stack:
        folder, ignores = stack.pop()
        if folder in left_out:
            continue
        try:
            stat = folder.stat()
            if (stat.st_dev, stat.st_ino) in seen:
                continue
            seen.add((stat.st_dev, stat.st_ino))
            entries = sorted(os.scandir(folder), key=lambda e: e.name)
        except OSError as error:
            errors.append(
                SourceError(folder.relative_to(root).as_posix(), f"cannot be read: {error.strerror or error}")
            )
            continue
        if folder != root and any(e.name in _ENVIRONMENT for e in entries):
            continue
        if any(e.name == "include" for e in entries):
            library = vendored(folder, folder.relative_to(root).as_posix(), named)
            if library is not None:
                libraries.setdefault(folder.resolve(), library)
                left_out.update(library.left_out)
                if folder in left_out:
                    continue
        if suffixes != SUFFIXES:
            listed(folder, suffixes)
        own = folder / ".gitignore"
        if own.is_file():
            ignores = (*ignores, (folder.as_posix(), _spec(own)))
        folders = []
        real = os.path.realpath(folder)
        for entry in entries:
            if not entry.name.endswith(suffixes) and not _may_lead_on(entry):
                continue
            path = folder / entry.name
            try:
                is_folder = entry.is_dir()
                is_file = entry.is_file()
            except OSError:
                continue
            if is_folder:
                if entry.name in _SKIPPED_FOLDERS or _ignored(path, True, ignores):
                    continue
                # a tree must not make a run read the rest of the disk
                if entry.is_symlink() and not os.path.join(os.path.realpath(path), "").startswith(inside):  # noqa: PTH118
                    said = "link to a folder outside, not followed (name that folder to have it read)"
                    errors.append(SourceError(path.relative_to(root).as_posix(), said))
                else:
                    folders.append((path, ignores))
            elif is_file and path.suffix in suffixes and not _ignored(path, False, ignores):
                yield path, os.path.realpath(path) if entry.is_symlink() else os.path.join(real, entry.name)  # noqa: PTH118
            elif not is_file and path.suffix in suffixes:
                errors.append(
                    SourceError(path.relative_to(root).as_posix(), "not a regular file (broken link or device)")
                )
        stack.extend(reversed(folders))


def _may_lead_on(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _spec(file: Path) -> GitIgnoreSpec:
    try:
        return _patterns(file.read_text(encoding="utf-8", errors="replace").splitlines())
    except OSError:
        return _patterns(())


def _patterns(lines: Sequence[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec  # most trees have none, and it takes time to read

    return GitIgnoreSpec.from_lines(lines)


def _outer_ignores(root: Path) -> tuple[tuple[str, GitIgnoreSpec], ...]:
    """``.gitignore`` files between the repository's top and the scanned folder."""
    out: list[tuple[str, GitIgnoreSpec]] = []
    at = root.resolve()
    if (at / ".git").exists():
        return ()
    for parent in at.parents:
        if (parent / ".gitignore").is_file():
            out.insert(0, (parent.as_posix(), _spec(parent / ".gitignore")))
        if (parent / ".git").exists():
            return tuple(out)
    return ()


def _ignored(path: Path, folder: bool, ignores: tuple[tuple[str, GitIgnoreSpec], ...]) -> bool:
    for base, spec in reversed(ignores):
        absolute = path if PurePosixPath(base) in (*PurePosixPath(path.as_posix()).parents,) else path.resolve()
        try:
            relative = PurePosixPath(absolute.as_posix()).relative_to(base).as_posix()
        except ValueError:
            continue
        answer = spec.check_file(relative + "/" if folder else relative).include
        if answer is not None:
            return bool(answer)
    return False
