"""Stores to global memory that the next pass of a loop writes over: the slice is taken by a loop, and not the place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cutecheck.facts import Event, Guard, Loop, TensorFact
from cutecheck.facts.leftovers import taken_by
from cutecheck.model import inttuple as it
from cutecheck.model.expr import Var
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.coordinates import INDICES
from cutecheck.rules.derive.guards import inner, selects_threads
from cutecheck.rules.derive.targets import atom_of_event, is_own


@record(frozen=True, slots=True)
class StoredOver:
    """Sums that each pass of ``loop`` takes other ones of, by ``variable``, and that are stored to one place."""

    loop: Loop
    variable: str
    sums: TensorFact


def stored_over(event: Event, context: Context) -> StoredOver | None:
    """What each pass of a loop stores to where the pass before it stored other elements, of a product or of a tensor in
    shared memory or registers."""
    if event.kind != "copy" or not event.loops or len(event.operands) < 2 or not event.kernel or event.reason:
        return None
    target, atom = event.operands[1], atom_of_event(event)
    if target.space not in ("gmem", "coord") or (atom is not None and "RED" in atom.op):
        return None
    if event.predicated or not all(map(in_each_pass, inner(event.guards))) or is_own(event):
        return None
    there = variables(target)
    if there is None or target.buffer in (taken_by(event, context.facts.calls) or ()):
        return None
    mine = [e for e in context.facts.events if (e.kernel, e.arch) == (event.kernel, event.arch)]
    sums = {e.operands[0 if len(e.operands) > 3 else -1].buffer for e in mine if e.kind == "gemm" and e.operands}
    for loop in event.loops:
        within = [e for e in mine if e.kind == "copy" and len(e.operands) > 1 and loop in e.loops]
        if any(target.buffer and t.buffer == target.buffer for e in within for t in e.operands[:-1]):
            continue
        for source, by in (*_itself(event), *_sources(event, within, sums)):
            if by.get(loop) is not None and not _moves(there, loop, by[loop], event):
                return StoredOver(loop, by[loop].partition("#")[0], source)
    return None


def in_each_pass(guard: Guard) -> bool:
    """A condition that leaves out threads or blocks, not passes of a loop."""
    names = [v.name for c in guard.holds for side in (c.lhs, c.rhs) for v in side.variables()]
    known = bool(guard.holds) or selects_threads([guard])
    return known and not guard.turns and all(n.startswith(INDICES) or "#" not in n for n in names)


def _sources(event: Event, copies: list[Event], sums: set[str | None]) -> Iterator[tuple[TensorFact, dict[Loop, str]]]:
    """Parts of accumulators that what is stored was copied from, and the variables of the loops around that copy."""
    todo, seen = [(event, event.operands[0])], {event.event_id}
    while todo:
        at, tensor = todo.pop()
        if tensor.space in ("rmem", "tmem") and tensor.buffer in sums:
            found = variables(tensor)
            if found is not None:
                yield tensor, loops_of(found, at)
            continue
        for copy in copies:
            if copy.operands[1].buffer == tensor.buffer and tensor.buffer and copy.event_id not in seen:
                seen.add(copy.event_id)
                todo.append((copy, copy.operands[0]))


def _itself(event: Event) -> Iterator[tuple[TensorFact, dict[Loop, str]]]:
    """What is stored, and the variables of the loops around that it is sliced by."""
    source = event.operands[0]
    found = variables(source) if source.space in ("smem", "rmem") else None
    if found is not None and source.buffer:
        yield source, loops_of(found, event)


def variables(tensor: TensorFact) -> set[Var] | None:
    """Those of where a tensor starts; None where that is not known."""
    offsets = tensor.offset if isinstance(tensor.offset, tuple) else (tensor.offset,)
    found: set[Var] = set()
    for offset in offsets:
        if not isinstance(offset, (int, Dyn)):
            return None
        found |= set(as_expr(offset).variables())
    return found


def _count(v: Var) -> int | None:
    lo, hi = v.domain.bounds()
    if "#" not in v.name or lo is None or hi is None or v.name.startswith(INDICES) or v.domain.values is not None:
        return None
    return (hi - lo) // max(v.domain.step, 1) + 1


def _number(v: Var) -> int:
    return int(v.name.rpartition("#")[2] or 0)


def loops_of(variables: Iterable[Var], event: Event) -> dict[Loop, str]:
    """Which loop around an event a variable counts, by their numbers of passes; none where that is not certain."""
    counted = sorted((v for v in variables if _count(v) is not None), key=_number)
    if [_count(v) for v in counted] == [loop.trips for loop in event.loops]:
        return {loop: v.name for loop, v in zip(event.loops, counted, strict=True)}
    found: dict[Loop, str] = {}
    for v in counted:
        fit = [loop for loop in event.loops if loop.trips == _count(v)]
        if len(fit) == 1 and fit[0] not in found and all(w is v or _count(w) != _count(v) for w in counted):
            found[fit[0]] = v.name
    return found


def fixed(tensor: TensorFact) -> set[str]:
    """Variables of the whole tensor's extents and strides, which no loop of the kernel changes."""
    root = tensor.root_layout
    if not isinstance(root, Layout):
        return set()
    numbers = (n for part in (root.shape, root.stride) for n in it.leaves(part) if isinstance(n, Dyn))
    return {v.name for n in numbers for v in as_expr(n).variables()}


def _moves(there: set[Var], loop: Loop, variable: str, event: Event) -> bool:
    """Whether a place may be another one in the next pass."""
    still = fixed(event.operands[1])
    inside = {v: k for k, v in loops_of(there, event).items()}
    for v in there:
        if v.name == variable or inside.get(v.name) == loop:
            return True
        if v.name.startswith(INDICES) or "#" not in v.name or v.name in still or v.name in inside:
            continue
        return True
    return loop.trips is None or loop.trips < 2
