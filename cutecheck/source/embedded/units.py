"""Which strings of a program make translation units, and the text of each."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from cutecheck.records import record
from cutecheck.source import notebooks
from cutecheck.source.discover import may_hold
from cutecheck.source.embedded.constants import Constants
from cutecheck.source.embedded.launches import launches, written
from cutecheck.source.embedded.paths import nth
from cutecheck.source.embedded.strings import Hole, Piece, flags_of_cpp, of_cpp, of_python

# what compiles strings: of Python, and of C++; plain searches, since every file of a tree may be asked
_COMPILERS = {
    True: (b"load_inline", b"RawModule", b"RawKernel", b"nvrtc", b"NVRTC", b"Nvrtc", b"SourceModule", b"cpp_extension",
           b"compile_to_ptx", b"cuda.core"),
    False: (b"nvrtc", b"NVRTC", b"jitify", b"ModuleLoad", b"LibraryLoad"),
}  # fmt: skip
_INCLUDES = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cute|cutlass)/", re.MULTILINE)
_QUOTED = re.compile(r"(\"\"\"|''')(.*?)\1", re.DOTALL)
_CUTE = re.compile(rb"#[ \t]*include[ \t]*[<\"](?:cute|cutlass)/|__global__")
_UNFILLED = re.compile(r"\$\{|\{%|\{\{[ \t]*\w")  # by what is no template here
_HEADERS = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"][\w./-]+\.(?:cuh?|hp?p?|hxx|inl)[>\"]", re.MULTILINE)
_KERNEL = re.compile(r"\b__global__\b")
_CUDA = re.compile(
    r"__global__|__device__|\bcute::|^[ \t]*#[ \t]*(?:include|define)\b|<<<|\btorch::|\bat::", re.MULTILINE
)
_CODE = re.compile(r"[;{}]|^[ \t]*#", re.MULTILINE)  # not of a message, or of a name
_BOUNDS = re.compile(r"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)")
_NAMES = re.compile(
    r"\b__global__\b[^;{}(]{0,400}?\b(\w+)\s*\(|"
    r"^(?:template\s*<[^;{}]{0,2000}>\s*)?(?:struct|class)\s+(\w+)[^;{}()]{0,2000}\{|"
    r"^using\s+(\w+)\s*=|"
    r"^(?:static\s+|inline\s+)*constexpr\s+[\w:]+\s+(\w+)\s*[={]|"
    r"^(?!using\b|return\b|else\b)[\w:<>&*, ]{1,200}?\s[*&]?(\w+)\s*\([^;{}()]{0,4000}\)\s*\{",
    re.MULTILINE,
)
_INSTANCE = re.compile(r"&?\s*((?:\w+::)*(\w+)<[^;{}\"'\n]+>)$")
MOST = 100  # units of one file: each is as long as the file
_MAGIC = re.compile(r"%%(?:writefile\s+(?:-a\s+)?\S+\.(?:cuh?|cpp|h|hpp)\b|cu\b|cuda\b|nvcc\b)")
_DEFINABLE = re.compile(r"[A-Za-z_]\w*$")


@record(frozen=True, slots=True)
class Unit:
    """A translation unit: the text of its program with all that is not its own blanked. ``cute``: it holds kernels of
    CuTe or includes CuTe, not headers of the program alone.
    """

    text: str
    cute: bool


@record(frozen=True, slots=True)
class Embedded:
    """``unread``: the lines where strings begin that hold kernels of CuTe and are not read."""

    units: tuple[Unit, ...] = ()
    unread: tuple[int, ...] = ()


@lru_cache(maxsize=64)
def embedded(data: bytes, python: bool, compiled: bool = False) -> Embedded:
    """What stands in the strings of a program; ``compiled``: another one is known to compile them."""
    if not may_hold(data, python):
        return Embedded()
    compiled = compiled or compiles(data, python)
    if not compiled and _CUTE.search(data) is None:
        return Embedded()
    text = data.decode("utf-8", errors="replace").replace("\r", " ")
    if not compiled and python:  # what is only told needs no parsing
        return Embedded(unread=tuple(
            text.count("\n", 0, m.start()) + 1 for m in _QUOTED.finditer(text) if _kernels(Piece(0, m[2]))
        ))  # fmt: skip
    pieces = tuple(of_python(text) if python else of_cpp(text))
    unread = [p for p in pieces if _kernels(p) and (not compiled or _UNFILLED.search(p.text))]
    if not compiled:
        return Embedded(unread=tuple(text.count("\n", 0, p.start) + 1 for p in unread))
    pieces = tuple(p for p in pieces if not _UNFILLED.search(p.text))
    constants = Constants(text) if python else None
    if constants is not None:
        pieces = tuple(_replaced(p, constants) for p in pieces)
    texts = (p.text for p in pieces) if constants is None else constants.texts
    instances = tuple(found for t in texts if (found := _INSTANCE.match(t.strip())) is not None)
    used = [p for p in pieces if _CUDA.search(p.text) is not None and _CODE.search(p.text) is not None]
    groups = list(_groups(used))
    unread += (group[0] for group in groups[MOST:])
    left = tuple(text.count("\n", 0, p.start) + 1 for p in unread)
    return Embedded(tuple(_unit(text, group, constants, instances) for group in groups[:MOST]), left)


def compiles(data: bytes, python: bool) -> bool:
    """Whether a program uses what compiles strings."""
    return any(word in data for word in _COMPILERS[python])


def of_cell(cell: notebooks.Cell, compiled: bool = True) -> Embedded:
    """What a cell of a notebook holds: it may be C++ itself, which a magic writes to a file or compiles."""
    first = next((line for line in cell.lines if line.strip()), "")
    if _MAGIC.match(first) is not None:
        at = cell.lines.index(first)
        code = "\n".join("" if i <= at else line for i, line in enumerate(cell.lines))
        piece = Piece(0, code)
        return Embedded((Unit(code, _kernels(piece)),)) if _of_cuda(piece) else Embedded()
    text = notebooks.python((cell,))
    return embedded(text.encode("utf-8", "replace"), python=True, compiled=compiled)


def unit(data: bytes, path: str) -> str | None:
    """The text of the unit that a path names, in a file of these bytes; None where there is none."""
    file, number = notebooks.split(path)
    if number is None:
        return _nth(embedded(data, file.endswith(".py"), compiled=True), path)
    cell = next((c for c in notebooks.cells(data) if c.number == number), None)
    return None if cell is None else _nth(of_cell(cell), path)


def within(lines: list[str], path: str) -> list[str]:
    """Of the lines of a file, or of a cell, those of the unit that a path names, blank but for it; all for no unit."""
    if not nth(path):
        return lines
    file, number = notebooks.split(path)
    if number is None:
        found = embedded("\n".join(lines).encode("utf-8", "replace"), file.endswith(".py"), compiled=True)
    else:
        found = of_cell(notebooks.Cell(number, tuple(lines), 0))
    return (_nth(found, path) or "").split("\n")[: len(lines)]


def _nth(found: Embedded, path: str) -> str | None:
    return found.units[nth(path) - 1].text if 0 < nth(path) <= len(found.units) else None


def _kernels(piece: Piece) -> bool:
    return _INCLUDES.search(piece.text) is not None or (_KERNEL.search(piece.text) is not None and "cute" in piece.text)


def _of_cuda(piece: Piece) -> bool:
    """Kernels of CuTe, or includes of headers that may be the program's."""
    return _kernels(piece) or _HEADERS.search(piece.text) is not None


def _groups(pieces: list[Piece]) -> Iterator[list[Piece]]:
    """Pieces of one unit each: two that define the same name are of two units, those that define none of all."""
    groups: list[tuple[set[str], list[Piece]]] = []
    shared: list[Piece] = []
    for piece in pieces:
        names = _names(piece)
        if not names:
            shared.append(piece)
            continue
        for known, group in groups:
            if known.isdisjoint(names):
                known |= names
                group.append(piece)
                break
        else:
            groups.append((names, [piece]))
    for _, group in groups or [(set(), [])]:
        every = sorted((*shared, *group), key=lambda p: p.start)
        if any(map(_of_cuda, every)) and any(map(_names, every)):
            yield every


def _replaced(piece: Piece, constants: Constants) -> Piece:
    """A piece with names where the program replaces what is no name (``@ROWS@``)."""
    for old in {f.named for f in constants.replaced if f.named in piece.text and not _DEFINABLE.match(f.named)}:
        if len(old) > 1 and "\n" not in old:
            name = "_" + re.sub(r"\W", "_", old[1:])
            piece = replace(piece, text=piece.text.replace(old, name), holes=(*piece.holes, Hole(name, old, True)))
    return piece


def _names(piece: Piece) -> set[str]:
    """Kernels, classes, constants and functions that a piece defines at the start of a line."""
    text = _BOUNDS.sub("", piece.text)
    return {name for found in _NAMES.finditer(text) for name in found.groups() if name}


def _unit(text: str, pieces: list[Piece], constants: Constants | None, instances: tuple[re.Match[str], ...]) -> Unit:
    out = [c if c == "\n" else " " for c in text]
    for piece in pieces:
        out[piece.start : piece.start + len(piece.text)] = piece.text
    joined = "".join(out)
    defines = _used(pieces, flags_of_cpp(text)) if constants is None else _defines(pieces, constants)
    before = text[: pieces[0].start].split("\n")[:-1]  # lines that are free for them
    given = [f"#define {name} {value}" for name, value in list(defines.items())[: len(before)]]
    made = "\n".join((*given, *joined.split("\n")[len(given) :]))
    own = frozenset[str]().union(*map(_names, pieces))
    if constants is not None:
        made = _launched(made, constants)
    wanted = dict.fromkeys(f[1] for f in instances if f[2] in own)
    made += "".join(f"\n// cutecheck: instantiate {name}" for name in wanted)
    return Unit(made, any(map(_kernels, pieces)))


def _launched(made: str, constants: Constants) -> str:
    """The text with the program's launches where the program has them, if nothing of it stands in that line."""
    lines = made.split("\n")
    for number, launch in enumerate(launches(constants), 1):
        text = written(launch, made, number)
        if text is None:
            continue
        free = launch.line <= len(lines) and not lines[launch.line - 1].strip()
        if free and any(map(str.strip, lines[: launch.line - 1])):
            lines[launch.line - 1] = text
        else:
            lines.append(text)
    return "\n".join(lines)


def _used(pieces: list[Piece], macros: dict[str, str]) -> dict[str, str]:
    """Of macros those whose names stand in some piece."""
    return {n: v for n, v in macros.items() if any(re.search(rf"\b{n}\b", p.text) for p in pieces)}


def _defines(pieces: list[Piece], constants: Constants) -> dict[str, str]:
    """What names of the text stand for: holes, and words that the program replaces."""
    out: dict[str, str] = {}
    fields: dict[str, set[str]] = {}
    for filled in (*constants.fields, *constants.replaced):
        fields.setdefault(filled.named, set()).add(filled.value)
    for hole in (h for p in pieces for h in p.holes):
        known = fields.get(hole.filled, set()) if hole.field else {constants.value(hole.filled)}
        value = next(iter(known)) if len(known) == 1 else None
        if value is not None and "\n" not in value:
            out[hole.name] = value
    macros: dict[str, set[str]] = {}
    for macro in constants.macros:
        macros.setdefault(macro.named, set()).add(macro.value)
    for word, values in (*fields.items(), *macros.items()):
        if len(values) == 1 and _DEFINABLE.match(word) and any(re.search(rf"\b{word}\b", p.text) for p in pieces):
            value = next(iter(values))
            if "\n" not in value:
                out.setdefault(word, value)
    return out


__all__ = ["MOST", "Embedded", "Unit", "compiles", "embedded", "of_cell", "unit", "within"]
