"""Stages that are given back to whoever fills them, while the WGMMA that reads them may still run."""

from __future__ import annotations

from collections.abc import Iterator

from cutecheck.facts import Call, Event
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.rules.base import Context
from cutecheck.rules.derive.announced import is_load
from cutecheck.rules.derive.barriers import barriers
from cutecheck.rules.derive.groups import groups_left
from cutecheck.rules.derive.protocol import pipelines


def early_release(event: Event, waits: list[Call], commits: list[Call], context: Context) -> Call | None:
    """The release, in the same pass, of the stage that a WGMMA reads, before its group has been waited for."""
    for release in sorted((*_by_hand(event, context), *_of_pipelines(event, context)), key=lambda c: c.order):
        between = [w for w in waits if event.order < w.order < release.order]
        if not any(_waited(event, w, commits) for w in between):
            return release
    return None


def _waited(event: Event, wait: Call, commits: list[Call]) -> bool:
    """The wait leaves fewer groups open than were committed since, the WGMMA's own among them."""
    left = groups_left(wait)
    return left is None or left < sum(event.order < c.order < wait.order for c in commits)


def _later(event: Event, step: Call) -> bool:
    """It comes after the WGMMA in each pass of a loop that goes on, whatever way the pass takes."""
    around = step.loops[-1] if step.loops else None
    return (
        around is not None and around.trips is None and around in event.loops and step.order > event.order
        and {(g.span, g.negated) for g in event.guards} <= {(g.span, g.negated) for g in step.guards}
    )  # fmt: skip


def _by_hand(event: Event, context: Context) -> Iterator[Call]:
    """Arrivals at barriers that a TMA load into what the WGMMA reads waits for, of the stage that it reads."""
    stages = {t.buffer: _stage(t.offset) for t in event.operands if t.space == "smem" and t.buffer is not None}
    for (_, arch, _), mine in barriers(context).items():
        steps = mine.steps["arrive"]
        if arch != event.arch or mine.escapes or not steps or steps[0].kernel != event.kernel:
            continue
        filled = {e.operands[1].buffer for e in context.facts.events if is_load(e) and _after(e, mine.steps["wait"])}
        for step in steps:
            index = _stage(step.arguments[0], True) if step.arguments else None
            if index is not None and _later(event, step) and any(
                buffer in filled and stage == index for buffer, stage in stages.items()
            ):  # fmt: skip
                yield step


def _around(step: Call, event: Event) -> bool:
    return event.loops[: len(step.loops)] == step.loops


def _after(load: Event, waits: list[Call]) -> bool:
    guards = {(g.span, g.negated) for g in load.guards}
    return any(
        w.kernel == load.kernel and w.arch == load.arch and w.order < load.order and w.loops == load.loops
        and {(g.span, g.negated) for g in w.guards} <= guards
        for w in waits
    )  # fmt: skip


def _stage(offset: object, plain: bool = False) -> frozenset[str] | None:
    """What a stage is computed by: `(stage + 3) % 4` is another than `stage`. ``plain``: nothing is added to it."""
    if not isinstance(offset, (int, Dyn)):
        return None
    terms = as_expr(offset).terms
    if plain and any(not monomial for monomial, _ in terms) and any(monomial for monomial, _ in terms):
        return None
    return frozenset(str(atom) for monomial, _ in terms for atom in monomial)


def _of_pipelines(event: Event, context: Context) -> Iterator[Call]:
    """Releases of the stage that was waited for before the WGMMA; where states are at which stage is known."""
    for pipeline in pipelines(context).values():
        if pipeline.made.kernel != event.kernel or pipeline.made.arch != event.arch or pipeline.escapes:
            continue
        if event not in pipeline.reads:
            continue
        waits = [w for w in pipeline.steps["wait"] if w.order < event.order and _around(w, event)]
        for release in pipeline.steps["release"]:
            stage = dict(release.keywords).get("index")
            same = bool(waits) and waits[-1].loops == release.loops and dict(waits[-1].keywords).get("index") == stage
            if stage is not None and same and _later(event, release):
                yield release


__all__ = ["early_release"]
