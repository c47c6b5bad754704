"""What the threads of a block access of shared memory, each its own part."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import lru_cache
from math import prod

from cutecheck.model.expr import Expr, Op, const, sub
from cutecheck.model.identity import once
from cutecheck.records import record

Block = tuple[int, int, int]  # threads along x, y and z
_RELATIONS: dict[str, Callable[[int, int], bool]] = {
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
    "both": lambda a, b: bool(a) and bool(b), "either": lambda a, b: bool(a) or bool(b),
}  # fmt: skip
_MOST = 1 << 17  # places of all threads together
_LONGEST = 1 << 16  # names and numbers in a comparison, which is known by its text
_UNSIGNED = "unsigned"


@record(frozen=True, slots=True)
class Touch:
    """``size`` bits at each place. ``start``: the first place, of the thread's indices alone; ``modes``: extents and
    strides of the others, in bits. ``when``: conditions on the indices, and whether they hold of the threads that come.
    """

    start: Expr
    size: int
    block: Block
    modes: tuple[tuple[int, int], ...] = ()
    when: tuple[tuple[Expr, bool], ...] = ()


def starts(touch: Touch) -> dict[int, int] | None:
    """The first place of each thread that comes; None where it is not a number."""
    threads = coming(touch.when, touch.block)
    if threads is None:
        return None
    constant = dict(touch.start.terms).get((), 0)
    every = each(sub(touch.start, const(constant)), touch.block)
    return None if every is None else {t: every[t] + constant for t in threads}


def coming(when: tuple[tuple[Expr, bool], ...], block: Block) -> list[int] | None:
    """The threads for which conditions hold."""
    found = list(range(prod(block)))
    for condition, holds in when:
        answers = each(condition, block)
        if answers is None:
            return None
        found = [t for t in found if bool(answers[t]) is holds]
    return found


@lru_cache(maxsize=512)
def each(expr: Expr, block: Block) -> tuple[int, ...] | None:
    """The value for each thread of a block; None where the thread's indices are not all that it depends on."""
    x, y, _ = block
    found = []
    try:
        for t in range(prod(block)):
            values = {"threadIdx.x": t % x, "threadIdx.y": t // x % y, "threadIdx.z": t // (x * y)}
            compare(expr, values)
            found.append(expr.evaluate(values))
    except (KeyError, ValueError, ZeroDivisionError, OverflowError):
        return None
    return tuple(found)


def hull(touch: Touch) -> tuple[int, int] | None:
    """The bits from the first to the last that any thread accesses; None where they are not known."""
    found = starts(touch)
    if not found or any(d < 0 for _, d in touch.modes):
        return None
    return min(found.values()), max(found.values()) + sum((n - 1) * d for n, d in touch.modes) + touch.size


@lru_cache(maxsize=512)
def owners(touch: Touch, unit: int) -> dict[int, frozenset[int]] | None:
    """The threads of each unit of bits that is accessed; None where they are not known, or too many."""
    found = starts(touch)
    offsets = [0]
    for n, d in touch.modes:
        offsets = [o + i * d for o in offsets for i in range(n)]
    count = -(-touch.size // unit)
    if found is None or len(found) * len(offsets) * count > _MOST:
        return None
    made: dict[int, set[int]] = {}
    for thread, start in found.items():
        for offset in offsets:
            first = (start + offset) // unit
            for place in range(first, first + count):
                made.setdefault(place, set()).add(thread)
    return {place: frozenset(threads) for place, threads in made.items()}


def compare(expr: Expr, values: dict[str, int]) -> None:
    """Values of the comparisons in an expression, by their text, as :meth:`Expr.evaluate` looks them up."""
    for atom in _comparisons(expr):
        if atom.length > _LONGEST:
            raise KeyError  # nobody spells it
        given = [a.evaluate(values) for a in atom.args]
        if atom.label == _UNSIGNED:  # a number that programs mean not to wrap
            values[str(atom)] = given[0]
        else:
            values[str(atom)] = int(_RELATIONS[atom.label](*given))


@once
def _comparisons(expr: Expr) -> tuple[Op, ...]:
    """Those in an expression, inner ones first; what is in it many times, as in digits of digits, is visited once."""
    found: list[Op] = []
    seen: set[Op] = set()
    stack = [(a, False) for monomial, _ in expr.terms for a in monomial if isinstance(a, Op)]
    while stack:
        atom, done = stack.pop()
        if done:
            found.append(atom)
        elif atom not in seen:
            seen.add(atom)
            if atom.kind == "opaque" and atom.label in (*_RELATIONS, _UNSIGNED):
                stack.append((atom, True))
            stack += [
                (a, False) for given in atom.args for monomial, _ in given.terms for a in monomial if isinstance(a, Op)
            ]
    return tuple(found)
