"""Arrays of barriers that stand in one: a kernel may initialise those of several uses at offsets of one array."""

from __future__ import annotations

from collections import defaultdict
from typing import cast

from cutecheck.facts import Call, Event
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.rules.base import Context
from cutecheck.rules.derive.announced import array_of
from cutecheck.rules.derive.barriers import Barriers, barriers, counted, local, range_of
from cutecheck.rules.derive.guards import inner, selects_threads
from cutecheck.rules.derive.lanes import who
from cutecheck.rules.derive.steps import Found
from cutecheck.rules.derive.uses import exclusive

_WARP = 32


def parts(whole: Barriers) -> list[Barriers]:
    """By the places that initialise them; the array itself where one does, or a step may be at barriers of several."""
    places: dict[object, set[int]] = defaultdict(set)
    for init in whole.steps["init"]:
        at = _constant(init)
        if at is None:
            return [whole]
        places[init.span].add(at)
    offsets = list(places.values())
    if len(offsets) < 2 or sum(map(len, offsets)) != len(set().union(*offsets)):
        return [whole]
    found = [Barriers(f"{whole.name}[{min(o)}:{max(o) + 1}]", initialises=True) for o in offsets]
    for kind, steps in whole.steps.items():
        for step in steps:
            mine = _of(_start(step), offsets)
            if mine is None or _leaves(step, offsets[mine]):
                return [whole]
            found[mine].steps[kind].append(step)
    for load in whole.loads:
        start = load.signals[len(array_of(load.signals)) + 1 :] if isinstance(load, Event) else ""
        mine = _of(_start(load) if isinstance(load, Call) else int(start or 0), offsets)
        if mine is None or (isinstance(load, Call) and _leaves(load, offsets[mine])):
            return [whole]
        found[mine].loads.append(load)
    for part in found:
        part.escapes = whole.escapes
    return found


def arrays(context: Context) -> dict[int, list[Barriers]]:
    """Those that are judged, by the first call (its identity) at the array that they are in."""
    if "barrier arrays" not in context.memo:
        judged = [b for b in barriers(context).values() if b.initialises and not b.escapes]
        context.memo["barrier arrays"] = {id(b.first()): parts(b) for b in judged}
    return cast("dict[int, list[Barriers]]", context.memo["barrier arrays"])


def too_few_of_all(b: Barriers, threads: int | None) -> Found:
    """Barriers that count more arrivals than there are threads that arrive, at several places."""
    count, arrives = counted(b), b.steps["arrive"]
    if threads is None or count is None or not b.steps["wait"] or b.steps["expect"]:
        return None
    if len({c.span for c in arrives}) < 2 or not all(local(c) for c in arrives):
        return None
    for barrier in sorted({at for i in b.steps["init"] if (at := _constant(i)) is not None}):
        coming = [c for c in arrives if _constant(c) in (None, barrier)]
        every = [who(inner(c.guards), threads) for c in coming]
        if None in every:
            return None
        most = len(frozenset().union(*cast("list[frozenset[int]]", every)))
        if most and count > most and (count % most != 0 or count == _WARP * most):  # each may arrive more than once
            return (
                coming[0], f"the barriers in `{b.name}` count {count} arrivals, and {most} threads arrive: they never "
                "open",
                f"{count} are counted", "initialise the barrier with as many as arrive in one phase",
            )  # fmt: skip
    return None


def committed_otherwise(b: Barriers, threads: int | None) -> Found:
    """Barriers that count other arrivals than warps commit their MMAs to them, each once for each wait."""
    count, arrives, waits = counted(b), b.steps["arrive"], b.steps["wait"]
    if threads is None or count is None or b.steps["expect"] or len({c.span for c in arrives}) != 1 or not waits:
        return None
    if any(dict(c.keywords).get("commits") != 1 for c in arrives) or {c.loops for c in arrives} != {waits[0].loops}:
        return None
    found = who(inner(arrives[0].guards), threads)
    if found is None or any(w.loops != waits[0].loops for w in waits) or len({w.span for w in waits}) != 1:
        return None
    warps = len({t // _WARP for t in found})
    if not warps or count == warps:
        return None
    ends = "it never ends" if count > warps else "a phase ends before all are done"
    return (
        arrives[0], f"the barriers in `{b.name}` count {count} arrivals, and {warps} warp(s) commit to them, one "
        f"arrival each, before each wait: {ends}",
        f"{count} are counted", f"initialise the barrier with {warps}",
    )  # fmt: skip


def _constant(step: Call) -> int | None:
    at = step.arguments[0] if step.arguments else None
    return known_value(at) if isinstance(at, (int, Dyn, Sym)) else None


def initialised_twice(whole: Barriers) -> Found:
    """One barrier that two places initialise: uses that overlap in their array."""
    known: dict[int, list[Call]] = defaultdict(list)
    for init in whole.steps["init"]:
        numbers = [known_value(a) if isinstance(a, (int, Dyn, Sym)) else None for a in init.arguments[:2]]
        if None in numbers or not all(selects_threads([g]) for g in inner(init.guards)):
            continue
        at = cast("int", numbers[0])
        before = (o for o in known[at] if o.span != init.span and o.loops == init.loops)
        other = next((o for o in before if not exclusive(o, init)), None)
        known[at].append(init)
        if other is not None:
            return (
                init, f"barrier {at} of `{whole.name}` is initialised twice, at line {other.span.line} too: two uses "
                "share it",
                "initialised before", "give each use barriers of its own: the offsets of one begin where others end",
            )  # fmt: skip
    return None


def _of(start: int | None, offsets: list[set[int]]) -> int | None:
    return next((i for i, o in enumerate(offsets) if start in o), None)


def _leaves(step: Call, offsets: set[int]) -> bool:
    """A step whose index varies may be at other barriers than these."""
    if _constant(step) is not None:
        return False
    ends = range_of(step)
    return len(offsets) < 2 if ends is None else not min(offsets) <= ends[0] <= ends[1] <= max(offsets)


def _start(step: Call) -> int | None:
    """Where a step's barrier stands at the first stage."""
    offset = step.arguments[0] if step.arguments else None
    if not isinstance(offset, (int, Dyn)):
        return None
    expr = as_expr(offset)
    try:
        return expr.evaluate({v.name: 0 for v in expr.variables()})
    except (KeyError, ZeroDivisionError, ValueError):
        return None


__all__ = ["arrays", "initialised_twice", "too_few_of_all"]
