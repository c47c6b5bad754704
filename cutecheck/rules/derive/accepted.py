"""What the Python DSL takes without a word, and what comes of it: pure functions of calls and sites."""

from __future__ import annotations

from typing import Any

from cutecheck.facts import Call, TensorFact
from cutecheck.findings import Severity
from cutecheck.model import algebra
from cutecheck.model.algebra import size
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError, known_value
from cutecheck.model.inttuple import leaves
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle
from cutecheck.model.tiled import TiledCopy
from cutecheck.records import record
from cutecheck.rules.base import Family

_DIVIDES = ("logical_divide", "zipped_divide", "tiled_divide", "flat_divide")
_WARP = 32


@record(frozen=True, slots=True)
class Accepted:
    """One thing that the DSL took: what is wrong with it, and what to do instead."""

    text: str
    help: str
    family: Family
    severity: Severity = "warning"


def of_call(call: Call) -> Accepted | None:
    """What a call of the DSL's layout algebra makes that was hardly meant."""
    match call.function:
        case "tile_to_shape" if len(call.arguments) > 1:
            return _grown_tile(call)
        case "make_swizzle" if isinstance(call.result, Swizzle):
            return _no_swizzle(call.arguments[:3], call.result)
        case "make_composed_layout" if isinstance(call.result, ComposedLayout):
            return _rows_alike(call.result)
        case "composition" | "complement" if isinstance(call.result, (Layout, ComposedLayout)):
            return _refused(call)
        case "coordinate" if not any(g.bounds for g in call.guards):  # which may let none of them pass
            return _outside(*call.arguments)
        case "keyword":
            name, given, meant = call.arguments
            text = f"`{name}` has no `{given}`: the DSL passes over it"
            return Accepted(text, f"write `{meant}`", "lint")
        case "inline_asm" if len(call.arguments) > 1:
            asked, left = call.arguments
            fewer = f"inline_asm: its constraints `{asked}` take {left} fewer operands than are given"
            text = f"{fewer}, the last are passed over"
            return Accepted(text, "give it what its constraints take, and no more", "lint")
        case name if name in _DIVIDES:
            return _grown_divide(call)
    return None


def _outside(layout: object, at: object, extent: object) -> Accepted:
    shape = str(layout).partition(":")[0]
    text = f"{at} is no coordinate of a mode of {extent}, of {shape}: what it picks is another tensor's, or nothing's"
    return Accepted(text, f"coordinates go from 0 to {extent} - 1; make the mode larger", "coverage")


def of_tiled_copy(copy: TiledCopy) -> Accepted | None:
    """A copy of single threads by more than a warp, but not by whole warps."""
    threads = known_value(copy.num_thr)
    if threads is None or threads <= _WARP or threads % _WARP == 0 or known_value(size(copy.atom.thr_id)) != 1:
        return None
    idle = _WARP - threads % _WARP
    text = f"{threads} threads are no whole number of warps: {idle} lanes of the last warp do nothing"
    return Accepted(text, "make the number of threads a multiple of 32, and guard what goes beyond", "coverage", "note")


def _grown_tile(call: Call) -> Accepted | None:
    if not isinstance(call.result, (Layout, ComposedLayout)) or _repeats(call.arguments[0]):
        return None
    asked = 1
    for extent in leaves(call.arguments[1]):
        number = known_value(extent) if isinstance(extent, (int, Dyn, Sym)) else None
        if number is None:
            return None
        asked *= number
    has = known_value(size(call.result))
    if has is None or has <= asked:
        return None
    text = f"tile_to_shape gives {has} elements for {asked}: the target is no multiple of the atom, it grows"
    return Accepted(text, "make each extent a multiple of the atom's", "tile-divisibility")


def _repeats(atom: object) -> bool:
    """An atom with several coordinates for one element, as of scale factors: each of these counts for so many values,
    and their blocks are padded on purpose."""
    pairs = zip(leaves(atom.shape), leaves(atom.stride), strict=False) if isinstance(atom, Layout) else ()
    return any(known_value(stride) == 0 and known_value(extent) != 1 for extent, stride in pairs)


def _no_swizzle(wanted: tuple[Any, ...], made: Swizzle) -> Accepted | None:
    if len(wanted) != 3 or wanted == (made.bits, made.base, made.shift) or wanted[0] == 0:
        return None
    text = f"make_swizzle{tuple(wanted)} is no swizzle: the DSL silently makes `{_spelled(made)}`, which does nothing"
    return Accepted(text, "the shift is at least as large as the bits", "swizzle-params")


def _spelled(swizzle: Swizzle) -> str:
    """As the DSL writes it."""
    return f"S<{swizzle.bits},{swizzle.base},{swizzle.shift}>"


def _rows_alike(layout: ComposedLayout) -> Accepted | None:
    """A swizzle whose source bits lie inside the contiguous mode: it does the same to every row.

    The offsets of all other modes are multiples of ``2^(base + shift + bits)``, so that none of them changes the bits
    that the swizzle looks at: rows that met in a bank still do.
    """
    swizzle, inner = layout.a, layout.b
    if not isinstance(swizzle, Swizzle) or swizzle.bits == 0 or swizzle.shift <= 0 or not isinstance(inner, Layout):
        return None
    shape, stride = list(leaves(inner.shape)), list(leaves(inner.stride))
    pairs = list(zip(shape, stride, strict=False))
    if len(shape) != len(stride) or not all(isinstance(n, int) and isinstance(d, int) for n, d in pairs):
        return None
    rows = [(n, d) for n, d in pairs if n > 1 and d != 1]
    row = next((n for n, d in pairs if d == 1), 1)
    if not rows or row == 1:
        return None
    first, last = swizzle.base + swizzle.shift, swizzle.base + swizzle.shift + swizzle.bits
    if any(d % (1 << last) for _, d in rows) or row < 1 << last:
        return None
    text = (
        f"`{_spelled(swizzle)}` looks at bits {first} to {last - 1} of an offset, inside a row of {row} elements: "
        f"every row is permuted alike, in pieces of {1 << swizzle.base}, and conflicts between rows stay"
    )
    wanted = max(0, row.bit_length() - 1 - swizzle.shift)
    return Accepted(text, f"with base {wanted} the same swizzle looks at the bits of the row", "swizzle-params", "note")


def _refused(call: Call) -> Accepted | None:
    arguments = call.arguments[:2]
    if len(arguments) < 2 or not isinstance(arguments[0], Layout):
        return None
    try:
        getattr(algebra, call.function)(*arguments)
    except UndecidedError:
        return None
    except (TypeError, ValueError, AttributeError, IndexError):
        return None
    except CuteError as error:
        text = f"C++ CuTe refuses this {call.function} ({error}); the DSL makes `{call.result}` of it"
        return Accepted(text, "use layouts that divide", "tile-divisibility")
    return None


def _grown_divide(call: Call) -> Accepted | None:
    """A static layout, or a tensor that is not in global memory, divided by what does not divide it."""
    before, after = call.arguments[0] if call.arguments else None, call.result
    if isinstance(before, TensorFact):
        if before.space in ("gmem", "coord", "unknown"):
            return None  # the ends of a problem are predicated
        before = before.layout
    if isinstance(after, TensorFact):
        after = after.layout
    if not isinstance(before, (Layout, ComposedLayout)) or not isinstance(after, (Layout, ComposedLayout)):
        return None
    try:
        had, has = known_value(size(before)), known_value(size(after))
    except CuteError:  # extents that are no integers: the elements of a basis
        return None
    if had is None or has is None or has <= had or had == 1:
        return None
    text = f"{call.function} gives {has} elements for {had}: the tiler does not divide, and the last tile ends outside"
    return Accepted(text, "use a tiler that divides each mode, or guard the last tile", "tile-divisibility", "note")


__all__ = ["Accepted", "of_call", "of_tiled_copy"]
