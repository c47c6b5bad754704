"""Probes: one site's value as a C++ function body that prints its fields, and the fields cutecheck expects."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cutecheck.exec import sample
from cutecheck.exec.confirmation import Difference, Route
from cutecheck.exec.names import NotATypeError, checked
from cutecheck.exec.spell import UnspellableError, element_type, expression, op_type
from cutecheck.facts import Call, Site
from cutecheck.facts.printed import Printed, cpp_type, operation, printed
from cutecheck.model.algebra import size
from cutecheck.model.atoms import CopyAtom, MMAAtom
from cutecheck.model.ints import known_value
from cutecheck.model.layout import ComposedLayout, Layout
from cutecheck.model.tiled import TiledCopy, TiledMMA

MAX_OFFSETS = 1 << 19
# calls whose arguments say everything about their result
REBUILT = frozenset({
    "make_tiled_copy", "make_tiled_copy_A", "make_tiled_copy_B", "make_tiled_copy_C", "make_tiled_copy_S",
    "make_tiled_copy_D", "make_cotiled_copy", "make_tiled_mma", "tile_to_shape", "composition", "logical_divide",
    "zipped_divide", "tiled_divide", "flat_divide",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """What a probe's translation unit includes besides CuTe: a file of the scanned tree and the architecture."""

    path: str
    arch: str


@dataclass(frozen=True, slots=True)
class Probe:
    """``body`` prints ``expected`` (field, text) when CuTe agrees; ``source`` is None where CuTe alone is enough."""

    route: Route
    source: Source | None
    body: str
    expected: tuple[tuple[str, str], ...]
    point: tuple[tuple[str, int], ...] = ()  # run-time names and the numbers put in for them

    def differences(self, answer: dict[str, str]) -> tuple[Difference, ...]:
        """Fields whose texts differ, or that one side lacks."""
        ours = dict(self.expected)
        return tuple(
            Difference(name, ours.get(name), answer.get(name))
            for name in dict.fromkeys((*ours, *answer))
            if ours.get(name) != answer.get(name)
        )


def spelled(site: Site) -> Probe:
    """The site's value itself, at a point of its run-time names; UnspellableError where it has no C++ spelling."""
    numbers = sample.point(site.value)
    value = _sampled(site.value, numbers)
    return Probe("spelled", None, body(value, expression(value)), expected(value), tuple(numbers.items()))


def _sampled(value: object, numbers: dict[str, int]) -> object:
    """The value at a point; UnspellableError where it has more offsets than are worth comparing."""
    if not numbers:
        return value
    made = sample.at(value, numbers)
    if isinstance(made, (Layout, ComposedLayout)):
        count = known_value(size(made))
        if count is not None and not 0 <= count <= MAX_OFFSETS:
            raise UnspellableError(f"at {_shown(numbers)} it has {count} offsets")
    return made


def _shown(numbers: dict[str, int]) -> str:
    return ", ".join(f"{name}={n}" for name, n in numbers.items())


def rebuilt(site: Site, calls: Iterable[Call]) -> Probe | None:
    """The outermost recorded call within the site that gave its value, made again from its arguments.

    None when there is none; UnspellableError when an argument has no spelling.
    """
    inside = [
        c
        for c in calls
        if c.function in REBUILT
        and c.arch == site.arch
        and (c.span.line, c.span.column) >= (site.call_span.line, site.call_span.column)
        and (c.span.end_line, c.span.end_column) <= (site.call_span.end_line, site.call_span.end_column)
        and type(c.result) is type(site.value)
        and c.result == site.value
    ]
    if not inside:
        return None
    call = min(inside, key=lambda c: (c.span.line, c.span.column, -c.span.end_line, -c.span.end_column))
    numbers = sample.point((site.value, call.arguments))
    value = _sampled(site.value, numbers)
    arguments = [_argument(i, sample.at(a, numbers), value) for i, a in enumerate(call.arguments)]
    made = f"cute::{call.function}({', '.join(arguments)})"
    return Probe("rebuilt", None, body(value, made), expected(value), tuple(numbers.items()))


def _argument(i: int, value: object, result: object) -> str:
    """An argument's spelling; an operation given in place of an atom is the atom of the result."""
    if i == 0 and isinstance(result, TiledMMA) and not isinstance(value, (MMAAtom, TiledMMA)):
        return expression(result.atom)
    return expression(value)


def named(site: Site, lines: Sequence[str]) -> Probe:
    """The author's own name of a class member or a namespace's alias or constant, in the author's own file.

    UnspellableError for what stands in a function body, and for names that are no plain C++ type names.
    """
    name = site.symbol.rpartition("::")[2]
    if not name or not re.fullmatch(r"[A-Za-z_]\w*", name) or "::" not in site.symbol + "::":
        raise UnspellableError("the site has no name")
    place = site.symbol.removesuffix(name).removesuffix("::")
    if place and not _is_scope(place, lines):
        raise UnspellableError("a name in a function body is not visible from outside")
    try:
        symbol = checked(site.symbol)
    except NotATypeError as error:
        raise UnspellableError(str(error)) from error
    if next(sample.names(site.value), None) is not None:
        raise UnspellableError("its value depends on run-time values")
    for atom in _atoms(site.value):
        op_type(atom)  # a tensor map or tensor memory: said before compiling
    at = site.span
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    statement = " ".join(lines[site.call_span.line - 1 : at.line - 1]) + " " + line[: at.column - 1]
    is_type = bool(re.search(r"\busing\s+$", statement) or re.search(r"\btypedef\b[^;]*$", statement))
    made = f"{symbol}{{}}" if is_type else symbol
    return Probe("named", Source(at.path, site.arch), body(site.value, made), expected(site.value))


def _is_scope(place: str, lines: Sequence[str]) -> bool:
    """True when the innermost scope of a name is a class or namespace of the file."""
    bare = place
    while "<" in bare:
        shorter = re.sub(r"<[^<>]*>", "", bare)
        if shorter == bare:
            return False
        bare = shorter
    last = re.escape(bare.rpartition("::")[2])
    pattern = re.compile(rf"\b(?:struct|class)\s[^;{{}}()]*\b{last}\b(?!\s*\()|\bnamespace\s+(?:\w+::)*{last}\b")
    return any(pattern.search(line) for line in lines)


def _atoms(value: object) -> tuple[MMAAtom | CopyAtom, ...]:
    if isinstance(value, (TiledCopy, TiledMMA)):
        return (value.atom,)
    return (value,) if isinstance(value, (MMAAtom, CopyAtom)) else ()


def expected(value: object) -> tuple[tuple[str, str], ...]:
    """The printed fields of a value, nested names joined by dots."""
    return tuple(_flat(printed(value), ""))


def _flat(fields: Printed, prefix: str) -> Iterable[tuple[str, str]]:
    for name, value in fields.fields:
        if isinstance(value, Printed):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, tuple):
            yield from ((f"{prefix}{name}.{i}", v) for i, v in enumerate(value))
        else:
            yield prefix + name, value


def body(value: object, made: str) -> str:
    """Statements that print the fields of ``made``, an expression whose value cutecheck takes to be ``value``."""
    names = {name for name, _ in expected(value)}
    head = f"auto const value = CUTECHECK_VALUE({made});\n  using T = std::remove_const_t<decltype(value)>;"
    if isinstance(value, (Layout, ComposedLayout)):
        flags = {"size": "SIZE", "cosize": "COSIZE", "swizzle": "PARTS", "offset": "OFFSET", "offsets_fnv1a64": "HASH"}
        return f"{head}\n  cutecheck_host::layout<{_flags(flags, names)}>(value);"
    if isinstance(value, TiledMMA):
        flags = {"tile_MNK.0": "TILE", "LayoutA_TV": "TV_A", "LayoutB_TV": "TV_B", "LayoutC_TV": "TV_C"}
        return (
            f"{head}\n  cutecheck_host::tiled_mma<{_flags(flags, names)}, T>();\n  "
            f"{_atom(value.atom, 'typename cutecheck_host::mma_parts<T>::atom')}"
        )
    if isinstance(value, TiledCopy):
        part = _atom(value.atom, "typename cutecheck_host::copy_parts<T>::atom")
        return f"{head}\n  cutecheck_host::tiled_copy<T>();\n  {part}"
    if isinstance(value, (MMAAtom, CopyAtom)):
        return f"{head}\n  {_atom(value, 'T')}"
    raise UnspellableError(f"no C++ spelling for a {type(value).__name__}")


def _flags(flags: dict[str, str], names: set[str]) -> str:
    return " | ".join(f"cutecheck_host::{flag}" for name, flag in flags.items() if name in names) or "0"


def _atom(atom: MMAAtom | CopyAtom, made: str) -> str:
    if isinstance(atom, MMAAtom):
        kinds = [op_type(atom), *(element_type(t.name) for t in atom.val_types)]
        texts = [operation(atom), *(cpp_type(t.name) for t in atom.val_types)]
        function = "mma_atom"
    else:
        kinds = [op_type(atom), element_type(atom.value_type.name)]
        texts = [operation(atom), cpp_type(atom.value_type.name)]
        function = "copy_atom"
    quoted = ", ".join(f'"{t}"' for t in texts)
    return f"cutecheck_host::{function}<{made}>(cutecheck_host::types<{', '.join(kinds)}>{{}}, {quoted});"
