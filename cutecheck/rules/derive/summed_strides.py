"""Results whose rows are as far apart as the operands of the product are long: C of (m, n) by ``k``."""

from __future__ import annotations

from cutecheck.facts import Call, Event, TensorFact
from cutecheck.model.expr import Expr, Var, atom_expr
from cutecheck.model.ints import Int, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.vectors import leaves


@record(frozen=True, slots=True)
class Summed:
    """A mode of a result with the stride that it has, and how many elements lie side by side."""

    mode: int
    stride: Int
    length: Int
    operands: tuple[str, str]


def by_the_sum(at: Event | Call, tensor: TensorFact, context: Context) -> Summed | None:
    """A stride that is the extent over which the kernel's product sums, and none of the result's own.

    Each of two operands has that extent, and one of the result's besides; all of them are run-time numbers.
    """
    modes = _modes(tensor)
    if modes is None or tensor.root_start_bits not in (None, 0):
        return None
    unit = [i for i, (_, stride) in enumerate(modes) if known_value(stride) == 1]
    mode = 1 - unit[0] if len(unit) == 1 else -1
    stride = as_expr(modes[mode][1]) if mode >= 0 else None
    only = next(iter(stride.variables()), None) if stride is not None else None
    if stride is None or not isinstance(only, Var) or stride != atom_expr(only):
        return None
    own = [as_expr(e) for e, _ in modes]
    if stride in own or any(e.constant is not None for e in own):
        return None
    named = dict[int, str]()
    for other in _operands(at, context):
        theirs = [as_expr(e) for e, _ in _modes(other) or ()]
        if stride not in theirs or other.buffer == tensor.buffer:
            continue
        rest: list[Expr] = [e for e in theirs if e != stride]
        for i, extent in enumerate(own):
            if rest == [extent]:
                named.setdefault(i, other.name)
    if set(named) != {0, 1}:
        return None
    return Summed(mode, modes[mode][1], modes[unit[0]][0], (named[0], named[1]))


def _modes(tensor: TensorFact) -> list[tuple[Int, Int]] | None:
    whole = tensor.root_layout if tensor.root_layout is not None else tensor.layout
    found = leaves(whole.shape, whole.stride) if tensor.space == "gmem" and isinstance(whole, Layout) else None
    return found if found is not None and len(found) == 2 else None


def _operands(at: Event | Call, context: Context) -> list[TensorFact]:
    """What the kernel copies from, where it has products."""
    of = [e for e in context.facts.events if (e.kernel, e.arch) == (at.kernel, at.arch)]
    return [e.operands[0] for e in of if e.kind == "copy"] if any(e.kind == "gemm" for e in of) else []


__all__ = ["Summed", "by_the_sum"]
