"""The generated table of CuTe's atoms: reading it and resolving a template instantiation.

``data/atoms.tsv`` has one line per case of a trait specialisation: the operation's name, then line numbers of
``data/strings.txt``. It is written by ``scripts/generate_atoms`` and never edited. Nothing is read at import. Under an
older version of CuTe the lines of :mod:`cutecheck.model.atoms.older` take the place of those they name.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

from cutecheck.model.atoms import older
from cutecheck.model.atoms.conditions import holds
from cutecheck.model.dtype import DType
from cutecheck.model.version import REFERENCE, cute_version
from cutecheck.records import record

_DATA = Path(__file__).parent / "data"
_CANONICAL = {
    "int": "int32_t", "signed int": "int32_t", "unsigned": "uint32_t", "unsigned int": "uint32_t",
    "signed char": "int8_t", "unsigned char": "uint8_t", "short": "int16_t", "short int": "int16_t",
    "unsigned short": "uint16_t", "short unsigned int": "uint16_t", "long": "int64_t", "long int": "int64_t",
    "unsigned long": "uint64_t", "long unsigned int": "uint64_t", "size_t": "uint64_t", "long long": "int64_t",
    "unsigned long long": "uint64_t", "uint1_t": "uint1b_t", "half": "half_t", "__half": "half_t",
    "nv_bfloat16": "bfloat16_t", "__nv_bfloat16": "bfloat16_t",
}  # fmt: skip
_FIXED = 7  # kind, guards, ptx, declared, pattern, when, asserts come before the fields


@record(frozen=True, slots=True)
class Row:
    """One case of a specialisation, still with its parameters open."""

    kind: str
    guards: str
    ptx: str
    declared: str
    pattern: str
    when: str
    asserts: str
    fields: tuple[str, ...]


@record(frozen=True, slots=True)
class Record:
    """A resolved specialisation: the traits' own field names and their printed values."""

    name: str
    kind: str
    ptx: tuple[str, ...]
    targets: tuple[str, ...]
    fields: dict[str, str]
    violated: tuple[str, ...]  # static assertions of operation and traits that these arguments break


@lru_cache(maxsize=1)
def _lines() -> str:
    return (_DATA / "atoms.tsv").read_text(encoding="ascii")


@lru_cache(maxsize=1)
def _strings() -> list[str]:
    return (_DATA / "strings.txt").read_text(encoding="ascii").split("\n")


@lru_cache(maxsize=1)
def _reference_guards() -> dict[str, tuple[str, ...]]:
    rows = (line.split("\t") for line in (_DATA / "guards.tsv").read_text(encoding="ascii").splitlines())
    return {name: tuple(targets.split(",")) for name, targets in rows}


def guard_targets(guard: str) -> tuple[str, ...] | None:
    """Architectures on which ``CUTE_ARCH_*_ENABLED`` or ``CUTLASS_ARCH_*_ENABLED`` is defined, in the version in force.

    As the headers define them (``cute/arch/config.hpp``, ``cutlass/arch/config.h`` and those of the operations); None
    of a macro that none of them defines.
    """
    lines = older.replaced(f"!{guard}")
    if lines is None:
        return _reference_guards().get(guard)
    return tuple(filter(None, "".join(lines).split(",")))


def _targets(guards: str) -> tuple[str, ...]:
    """Architectures on which one of the macros is defined, in the version in force."""
    found: dict[str, None] = {}
    for guard in filter(None, guards.split(",")):
        found.update(dict.fromkeys(guard_targets(guard) or ()))
    return tuple(found)


def cutlass_version() -> str:
    """The CUTLASS version whose atoms are looked up: the one in force, within what was generated."""
    generated = _lines()[:40].split("\n", 1)[0].removeprefix("# CUTLASS ")
    version = max(cute_version(), older.OLDEST)
    return generated if version >= REFERENCE else f"{version[0]}.{version[1]}"


def canonical_name(name: str) -> str:
    """An operation's name without ``cute::``; aliases and names seen through using directives are resolved.

    An alias of an instantiation (``DefaultCopy``) resolves to its text, arguments included.
    """
    name = name.strip().removeprefix("::").removeprefix("cute::")
    for candidate in (name, f"SM90::{name}", f"SM90::GMMA::{name}"):
        found = _find(candidate)
        if found:
            return found[0][1:] if found[0].startswith("=") else candidate
    return name


def _find(name: str) -> list[str]:
    """The lines of a name in the version in force, without the name."""
    other = older.replaced(name)
    if other is not None:
        return other
    text = _lines()
    start = text.find(f"\n{name}\t")
    found = []
    while start >= 0:
        end = text.index("\n", start + 1)
        found.append(text[start + 2 + len(name) : end])
        start = end if text.startswith(f"{name}\t", end + 1) else -1
    return found


def rows(name: str) -> list[Row]:
    """The cases of a canonical operation name, the most specific first; empty when there is none."""
    strings = _strings() if older.replaced(name) is None else older.strings()
    out = []
    for line in _find(name):
        cells = line.split("\t")
        if cells[0].startswith("="):
            continue
        values = [strings[int(c)] for c in cells]
        kind, guards, ptx, declared, pattern, when, asserts = values[:_FIXED]
        out.append(Row(kind, guards, ptx, declared, pattern, when, asserts, tuple(values[_FIXED:])))
    return out


def names(kind: str | None = None) -> list[str]:
    """All operation names, aliases excluded; ``kind`` is ``mma`` or ``copy``."""
    strings = _strings()
    found: dict[str, None] = {}
    for line in _lines().splitlines()[1:]:
        name, first, *_ = line.split("\t", 2)
        if not first.startswith("=") and (kind is None or strings[int(first)] == kind):
            found[name] = None
    if cute_version() >= REFERENCE:
        return list(found)
    for name in older.names():
        lines = older.replaced(name)
        if lines and not lines[0].startswith("="):
            if kind is None or older.strings()[int(lines[0].split("\t", 1)[0])] == kind:
                found[name] = None
        elif lines is not None:
            found.pop(name, None)
    return sorted(found)


def argument_text(argument: object) -> str:
    """A template argument as the table spells it: element types by CUTLASS name, enumerators from ``GMMA::`` on."""
    text = argument.name if isinstance(argument, DType) else str(argument)
    text = text.replace("cutlass::", "").replace("cute::", "").replace("std::", "").replace("SM90::GMMA::", "GMMA::")
    text = re.sub(r"\s*([<>,])\s*", r"\1", text.strip())
    if m := re.fullmatch(r"(?:C|Int)<(\d+)>|_(\d+)", text):
        return m[1] or m[2]
    return _CANONICAL.get(text, text)


def _complete(declared: str, given: list[str]) -> list[str]:
    """Arguments of the operation, defaults filled in; what is left over belongs to the traits."""
    params = [p.partition("=") for p in declared.split(";")] if declared else []
    out: dict[str, str] = {}
    for i, (name, _, default) in enumerate(params):
        if i < len(given):
            out[name] = given[i]
        elif default:
            out[name] = out.get(default, default)
    return [*out.values(), *given[len(params) :]]


def _declared_values(declared: str, given: list[str]) -> dict[str, str]:
    names = [p.partition("=")[0] for p in declared.split(";")] if declared else []
    return dict(zip(names, _complete(declared, given), strict=False))


def _match(pattern: str, arguments: list[str]) -> dict[str, str] | None:
    """Parameters that make the specialisation's pattern equal to the arguments; None when it does not match."""
    parts = pattern.split(";") if pattern else []
    pack = bool(parts) and parts[-1].endswith("...}")
    if pack:
        parts = parts[:-1]
    if len(arguments) < len(parts) or (len(arguments) > len(parts) and not pack):
        return None
    bound: dict[str, str] = {}
    for part, argument in zip(parts, arguments, strict=False):
        regex = "".join(
            f"(?P<{piece[1:-1]}>.+)" if piece.startswith("{") else re.escape(piece)
            for piece in re.split(r"(\{\w+\})", part)
            if piece
        )
        m = re.fullmatch(regex, argument)
        if m is None:
            return None
        for name, value in m.groupdict().items():
            if bound.setdefault(name, value) != value:
                return None
    return bound


def _value(factor: str, bound: dict[str, str], bits: dict[str, int]) -> int | None:
    if factor.isdigit():
        return int(factor)
    if factor.startswith("bits("):
        return bits.get(bound.get(factor[5:-1], ""))
    text = bound.get(factor, "")
    return int(text) if text.isdigit() else None


def _formula(text: str, bound: dict[str, str], bits: dict[str, int]) -> str | None:
    """A product such as ``256*M/bits(a_type)``; None when it is no number (or does not divide)."""
    upper, *lower = text.split("/")
    number = 1
    for factor in upper.split("*"):
        value = _value(factor, bound, bits)
        if value is None:
            return None
        number *= value
    for factor in lower:
        value = _value(factor, bound, bits)
        if not value or number % value:
            return None
        number //= value
    return str(number)


def _fill(text: str, bound: dict[str, str], bits: dict[str, int]) -> str | None:
    """Put the bound parameters into a field; None when a formula does not come out."""
    failed = False

    def put(m: re.Match[str]) -> str:
        nonlocal failed
        inner = m[1]
        if inner.startswith("ptx("):
            return bound.get(inner[4:-1], "?").removeprefix("float_").removesuffix("_t")
        number = _formula(inner, bound, bits)
        if number is None and inner in bound:
            return bound[inner]
        failed |= number is None
        return number or ""

    filled = re.sub(r"\{([^{}]+)\}", put, text)
    return None if failed else filled


def _holds(when: str, bound: dict[str, str], bits: dict[str, int]) -> bool:
    for condition in filter(None, when.split(";")):
        key, _, value = condition.partition("=")
        actual = _formula(key, bound, bits) if key.startswith("bits(") else bound.get(key)
        if actual != value:
            return False
    return True


def resolve(name: str, arguments: list[str], bits: dict[str, int]) -> Record | None:
    """The record of ``name<arguments...>``; None when no case matches. ``bits`` are widths of the element types."""
    for row in rows(name):
        bound = _match(row.pattern, _complete(row.declared, arguments))
        if bound is None or not _holds(row.when, bound, bits):
            continue
        fields: dict[str, str] = {}
        for text in row.fields:
            key, _, value = text.partition("=")
            filled = _fill(value, bound, bits)
            if filled is None:
                break
            fields[key] = filled
        else:
            ptx = _fill(row.ptx, bound, bits) or ""
            known = {**_declared_values(row.declared, arguments), **bound}
            assertions = (a.partition(" => ") for a in row.asserts.split(" ## ") if a)
            violated = tuple(
                message or condition for condition, _, message in assertions if holds(condition, known, bits) is False
            )
            instructions = tuple(filter(None, ptx.split(",")))
            return Record(name, row.kind, instructions, _targets(row.guards), fields, violated)
    return None


def formulas(name: str) -> Record | None:
    """The record of a template with its parameters left open; what differs between its cases is left out.

    None when there is no such operation. A product stays readable: ``_{M/2}``, ``_{sizeof_bits(S)}``.
    """
    cases = rows(name)
    if not cases:
        return None

    def show(text: str) -> str:
        text = re.sub(r"\{ptx\((\w+)\)\}", r"\1", text)
        text = re.sub(r"(?<=_)\{([A-Za-z]\w*)\}|(?<!_)\{([^{}]+)\}", lambda m: m[1] or m[2], text)
        return text.replace("bits(", "sizeof_bits(")

    fields: dict[str, str] = {}
    for text in cases[0].fields:
        if all(text in case.fields for case in cases):
            key, _, value = text.partition("=")
            fields[key] = show(value)
    ptx = dict.fromkeys(i for case in cases for i in show(case.ptx).split(",") if i)
    return Record(name, cases[0].kind, tuple(ptx), _targets(cases[0].guards), fields, ())
