"""Which element of a mode (a head, a matrix of a batch) blocks take of each matrix that has this mode."""

from __future__ import annotations

import re
from typing import cast

from cutecheck.facts import Event, TensorFact
from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Var
from cutecheck.model.ints import Dyn, as_expr, known_value
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.vectors import leaves

_FRESH = re.compile(r"#\d+")


@record(frozen=True, slots=True)
class Selected:
    """One matrix of a kernel whose mode of ``extent`` elements is taken at ``at``, as text; ``number`` is that."""

    event: Event
    tensor: TensorFact
    extent: str
    number: Expr
    stored: bool

    @property
    def name(self) -> str:
        """The tensor, and the pointer that it is made of where a helper names its own."""
        pointer = _FRESH.sub("", self.tensor.buffer or "")
        return f"`{self.tensor.name}`" + (f" (of `{pointer}`)" if pointer and pointer not in self.tensor.name else "")

    @property
    def at(self) -> str:
        return _FRESH.sub("", str(self.number))


def other_element(event: Event, context: Context) -> tuple[Selected, Selected] | None:
    """A matrix that is taken at another element of a mode than others of the kernel that have the same mode.

    What is stored is compared with all that is loaded; what is loaded, with other loads that the same index chooses.
    """
    if event.kind != "copy" or len(event.operands) < 2 or not event.kernel:
        return None
    for mine in _selected(event):
        others = [o for o in _every(event, context) if o.extent == mine.extent]
        loads = [o for o in others if not o.stored and o.tensor.buffer != mine.tensor.buffer]
        if mine.stored and loads and all(_differ(mine, o) for o in loads):
            return mine, loads[0]
        if not mine.stored:
            before = [o for o in loads if o.event.order < event.order and _shared(mine, o) and _differ(mine, o)]
            told = cast("set[frozenset[str]]", context.memo.setdefault("elements told of", set()))
            pair = frozenset({mine.name, before[0].name, event.kernel, event.arch}) if before else None
            if pair is not None and pair not in told:
                told.add(pair)
                return mine, before[0]
    return None


def _every(event: Event, context: Context) -> list[Selected]:
    """All of a kernel, in the order in which it takes them."""
    memo = cast("dict[tuple[str, str], list[Selected]]", context.memo.setdefault("elements of modes", {}))
    key = event.kernel, event.arch
    if key not in memo:
        mine = [e for e in context.facts.events if (e.kernel, e.arch, e.kind) == (*key, "copy")]
        memo[key] = [s for e in sorted(mine, key=lambda e: e.order) for s in _selected(e)]
    return memo[key]


def _selected(event: Event) -> list[Selected]:
    """Modes that one element is taken of, by block indices and parameters alone."""
    found: list[Selected] = []
    for place, tensor in enumerate(event.operands[:2]):
        root, offset = tensor.root_layout, tensor.offset
        modes = leaves(root.shape, root.stride) if isinstance(root, Layout) and tensor.space == "gmem" else None
        if modes is None or len(modes) < 2 or not isinstance(offset, (int, Dyn)):
            continue
        strides = [_bare(as_expr(stride)) for _, stride in modes]
        extents = [_FRESH.sub("", str(extent)) for extent, _ in modes]
        for (extent, _), text, stride in zip(modes, extents, strides, strict=True):
            if stride is None or known_value(extent) is not None or strides.count(stride) + extents.count(text) > 2:
                continue
            number = _times(as_expr(offset), stride)
            if number is not None:
                found.append(Selected(event, tensor, text, number, place == 1))
    return found


def _bare(stride: Expr) -> Var | None:
    """A stride that is one variable."""
    monomial, factor = stride.terms[0] if len(stride.terms) == 1 else ((), 0)
    only = monomial[0] if len(monomial) == 1 and factor == 1 else None
    return only if isinstance(only, Var) else None


def _times(offset: Expr, stride: Var) -> Expr | None:
    """How often a stride is in an offset, by block indices and parameters; None where other numbers are in that."""
    terms = []
    for monomial, factor in offset.terms:
        if stride not in monomial:
            continue
        rest = list(monomial)
        rest.remove(stride)
        terms.append((tuple(rest), factor))
    number = Expr(tuple(terms))
    names = [v.name for v in number.variables()]
    asks = any(n.startswith("blockIdx.") for n in names)
    return (
        number if asks and all(n.startswith("blockIdx.") or ("#" not in n and "Idx" not in n) for n in names) else None
    )


def _indices(number: Expr) -> set[str]:
    return {v.name for v in number.variables() if v.name.startswith("blockIdx.")}


def _shared(one: Selected, other: Selected) -> bool:
    """Chosen by the same index, and by no division by the extent: ``z / n`` and ``z % n`` are pairs of all."""
    names = {_FRESH.sub("", v.name) for s in (one, other) for v in s.number.variables()}
    return bool(_indices(one.number) & _indices(other.number)) and one.extent not in names


def _differ(one: Selected, other: Selected) -> bool:
    """Neither the same element, nor the next one, nor one from the other end."""
    apart, both = ex.sub(one.number, other.number), ex.add(one.number, other.number)
    names = {_FRESH.sub("", v.name) for s in (one, other) for v in s.number.variables()}
    return bool(_indices(apart)) and bool(_indices(both)) and one.extent not in names
