"""Arrivals at barriers of other blocks of a cluster: which blocks are told, by how many, and whether any is at all.

Where blocks arrive at blocks whose numbers are constants, those of a loop, or the arriving thread's (a lane for each
block), each block does so alike: what comes to one is what one block sends there, as often as the cluster has blocks.
"""

from __future__ import annotations

import re
from collections import Counter

from cutecheck.facts import NOT_WALKED, Call, Event, Unknown
from cutecheck.model.expr import Expr
from cutecheck.model.expr.ranges import bounds
from cutecheck.model.ints import Dyn, Sym, as_expr, known_value
from cutecheck.model.prove.domains import opaque_names
from cutecheck.model.prove.properties import THREAD
from cutecheck.rules.base import Context
from cutecheck.rules.derive.barriers import Barriers, barriers, counted, local
from cutecheck.rules.derive.guards import inner, selects_threads
from cutecheck.rules.derive.lanes import answer, coming, who
from cutecheck.rules.derive.protocol import cut_short
from cutecheck.rules.derive.steps import Found
from cutecheck.rules.derive.targets import atom_of_event

_CLUSTER = re.compile(r"cluster", re.IGNORECASE)
_OF_BLOCKS = re.compile(r"rank|cta|block|cluster|peer", re.IGNORECASE)


def blocks_of_cluster(call: Call | Event, context: Context) -> int | None:
    """Blocks of the kernel's clusters, where all its launches agree."""
    launches = [x for x in context.index.launches_of.get(call.kernel, []) if x.origin == "launch"]
    found = {None if x.cluster is None else known_value(x.cluster) for x in launches if x.arch in ("", call.arch)}
    return next(iter(found)) if len(found) == 1 else None


def not_everywhere(b: Barriers, threads: int | None, blocks: int | None) -> Found:
    """Blocks whose barriers are waited for, and at which no block arrives."""
    told = _targets(b, threads, blocks)
    if told is None or blocks is None or not b.steps["wait"]:
        return None
    missing = sorted(set(range(blocks)) - {t for at in told.values() for t in at})
    if not missing or not all(_by_threads(w) for w in b.steps["wait"]):
        return None
    which = ", ".join(map(str, missing))
    return (
        next(iter(b.steps["arrive"])),
        f"nothing arrives at the barriers in `{b.name}` of block {which} of the cluster, where each block waits for "
        f"its own: of {blocks} blocks others alone are told",
        f"never block {which}", "arrive at the barrier of each block that writes to this one's shared memory",
    )  # fmt: skip


def miscounted(b: Barriers, threads: int | None, blocks: int | None) -> Found:
    """Barriers that count other arrivals than the threads of all blocks of the cluster make."""
    count, told = counted(b), _targets(b, threads, blocks)
    if count is None or told is None or threads is None or blocks is None or b.steps["expect"]:
        return None
    each = dict.fromkeys(range(blocks), 0)
    for step in b.steps["arrive"]:
        for block, arrive in told[id(step)].items():
            if arrive is None:
                return None
            each[block] += arrive
    if len(set(each.values())) != 1 or not each[0]:
        return None
    whole = each[0] * blocks
    if count == whole or (count > whole and count % whole == 0):
        return None  # each may arrive more than once a phase
    return (
        b.steps["arrive"][0],
        f"{each[0]} threads of each of {blocks} blocks arrive at the barriers in `{b.name}` of a block, which count "
        f"{count}: " + ("a phase ends before all have arrived" if count < whole else "a phase never ends in step"),
        f"{blocks} x {each[0]} arrive, {count} are counted", f"initialise the barrier with {whole}",
    )  # fmt: skip


def _targets(b: Barriers, threads: int | None, blocks: int | None) -> dict[int, dict[int, int | None]] | None:
    """How many threads of a block arrive at which blocks, by each arrival's identity; None where blocks may differ."""
    if blocks is None or blocks < 2 or not b.steps["arrive"]:
        return None
    found: dict[int, dict[int, int | None]] = {}
    for step in b.steps["arrive"]:
        said = dict(step.keywords)
        to, sure = said.get("to"), said.get("if")
        if local(step) or not isinstance(to, (int, Dyn, Sym)) or not isinstance(sure, (int, Dyn, Sym)):
            return None
        sent = _sent(step, as_expr(to), as_expr(sure), threads, blocks) if _by_threads(step) else None
        if sent is None:
            return None
        found[id(step)] = sent
    return found


def _sent(step: Call, to: Expr, sure: Expr, threads: int | None, blocks: int) -> dict[int, int | None] | None:
    known, (lo, hi) = known_value(Dyn(to)), bounds(to)
    guards = list(inner(step.guards))
    if known_value(Dyn(sure)):
        come = None if threads is None else coming(guards, threads)
        if known is not None:
            return {known: come}
        if lo == 0 and hi == blocks - 1 and any(x.trips == blocks for x in step.loops):
            return dict.fromkeys(range(blocks), come)
    passed = None if threads is None or any("elect" in g.text for g in guards) else who(guards, threads)
    if passed is None or {v.name for v in to.variables()} != {THREAD} or any(opaque_names(to)):
        return None
    told = {t: answer(sure, t) for t in passed}
    return None if None in told.values() else dict(Counter(to.evaluate({THREAD: t}) for t in passed if told[t]))


def _by_threads(step: Call) -> bool:
    """Conditions around it are on the threads of each block alone."""
    return all(selects_threads([g]) and not _OF_BLOCKS.search(g.text) for g in inner(step.guards))


def not_released(event: Event, context: Context) -> Call | None:
    """A load in a loop that other blocks get, too, where none of them says that its stage is free: a wait before it.

    They would by arriving at barriers of this block, or all blocks would come to a barrier of the cluster in the loop.
    """
    atom = atom_of_event(event)
    loop = event.loops[-1] if event.loops else None
    if atom is None or "MULTICAST" not in atom.op or loop is None or loop.trips is not None or not event.kernel:
        return None
    if (blocks_of_cluster(event, context) or 0) < 2:
        return None
    calls = [c for c in context.facts.calls if (c.kernel, c.arch) == (event.kernel, event.arch)]
    mine = [
        b for (s, arch, _), b in barriers(context).items() if (s.partition("|")[0], arch) == (event.kernel, event.arch)
    ]
    mine = [b for b in mine if any(loop in w.loops for w in b.steps["wait"])]  # what is told may say so
    arrivals = [c for b in mine for c in b.steps["arrive"]]
    if cut_short(context, event) or not mine or any(b.escapes for b in mine) or not all(map(local, arrivals)):
        return None
    if any(_meets(c, event) for c in calls):
        return None
    waits = [c for b in mine for c in b.steps["wait"] if loop in c.loops and c.order < event.order]
    told = {c.subject for c in arrivals}
    return next((w for w in waits if w.subject in told), None)


def _meets(call: Call, event: Event) -> bool:
    """What may hold blocks back in a loop around the load, or is not known."""
    unseen = isinstance(call.result, Unknown) and call.result.reason == NOT_WALKED
    return unseen or bool(_CLUSTER.search(call.function) and set(call.loops) & set(event.loops))


__all__ = ["blocks_of_cluster", "miscounted", "not_everywhere", "not_released"]
