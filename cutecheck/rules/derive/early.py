"""Shared memory that is read, or stored over, before the asynchronous copy into it has arrived: what to say of it."""

from __future__ import annotations

from cutecheck.facts import Call, Span
from cutecheck.records import record
from cutecheck.rules.base import Context
from cutecheck.rules.derive.groups import Pending, unknown_fill
from cutecheck.rules.derive.overlaid import comes_later
from cutecheck.rules.derive.pipelines import Late, late
from cutecheck.rules.derive.targets import loads_by_tma
from cutecheck.rules.derive.uses import Order, Use, exclusive, order
from cutecheck.rules.derive.waits import (
    by_cp_async,
    fills,
    in_flight,
    lost,
    never_waited,
    overlaps,
    short,
    short_in_a_row,
    written_since,
)


@record(frozen=True, slots=True)
class Fault:
    """A message, the label of its place, what helps, and other places with a text each."""

    message: str
    label: str
    help: str
    related: tuple[tuple[Span, str], ...]


def read_early(use: Use, context: Context) -> Fault | None:
    """A read of what an asynchronous copy brings, before it has been waited for."""
    reached = order(context)
    filled = next((u for u in reached.before(use) if fills(u) and overlaps(u, use)), None)
    if filled is None:
        filled = _by_a_helper(use, reached)
        return None if filled is None else _unwaited(filled, use)
    if exclusive(filled.event, use.event) or written_since(filled, use, reached):
        return None
    if any(fills(u) and overlaps(u, use) for u in reached.elsewhere(use)):
        return None  # a helper fills the first stages, say: which of the copies this reads is not known
    if filled.event.order > reached.waited(use):
        return _unwaited(filled, use)
    left = None if unknown_fill(use, context) else short(filled, use, context)
    if left is not None:
        return _left_open(filled, use, left)
    part = None if unknown_fill(use, context) else short_in_a_row(use, context)
    if part is not None:
        return _left_open(part[0], use, part[1])
    missed = lost(use, context)
    if missed is not None:
        return _uncommitted(use, *missed)
    behind = late(use, context)
    if behind is not None:
        return _late(use, behind)
    unseen = None if unknown_fill(use, context) else never_waited(use, context)
    return None if unseen is None else _never(use, unseen)


def _by_a_helper(use: Use, reached: Order) -> Use | None:
    """A cp.async of another function, where nothing at all has waited since its first call, and nothing else stores."""
    others = [u for u in reached.elsewhere(use) if u.written and overlaps(u, use)]
    if not others or not all(map(by_cp_async, others)) or any(u.written for u in reached.before(use)):
        return None
    filled = min(others, key=lambda u: u.event.order)
    early = filled.event.order > reached.waited(use)
    return filled if early and not any(exclusive(u.event, use.event) for u in others) else None


def stored_over(use: Use, context: Context) -> Fault | None:
    """A store to where an asynchronous copy is still under way."""
    filled = None if fills(use) else in_flight(use, context) or comes_later(use, context)
    if filled is None:
        return None
    return Fault(
        f"`{use.tensor.name}` is stored to shared memory that cp.async fills through `{filled.tensor.name}`, and "
        "nothing has waited for it: the copy may arrive later and overwrite the stores",
        f"filled at line {filled.event.span.line}, no wait since",
        "put cp_async_wait<0>() and a barrier before the stores",
        ((filled.event.span, "filled asynchronously here"),),
    )


def _unwaited(filled: Use, use: Use) -> Fault:
    kind = "TMA" if loads_by_tma(filled.event) else "cp.async"
    return Fault(
        f"`{use.tensor.name}` reads shared memory that {kind} fills through `{filled.tensor.name}`, and nothing has "
        "waited for it: the data need not be there",
        f"filled at line {filled.event.span.line}, no wait since",
        "wait for the barrier of the load" if kind == "TMA" else "put cp_async_wait<N>() before the barrier",
        ((filled.event.span, "filled asynchronously here"),),
    )


def _never(use: Use, filled: Use) -> Fault:
    return Fault(
        f"`{use.tensor.name}` reads shared memory that cp.async fills through `{filled.tensor.name}` in the same loop, "
        "and nothing in the loop waits: later passes read what has not arrived",
        f"filled at line {filled.event.span.line}, no wait in the loop",
        "wait in each pass, before the barrier (cp_async_wait<N>)",
        ((filled.event.span, "filled asynchronously here"),),
    )


def _uncommitted(use: Use, filled: Use, wait: Call) -> Fault:
    return Fault(
        f"`{use.tensor.name}` reads shared memory that cp.async fills through `{filled.tensor.name}` in the same loop, "
        "which commits no group: the wait for groups never waits for that copy",
        f"filled at line {filled.event.span.line}, no commit in the loop",
        "commit the copies of each pass (cp_async_fence)",
        ((filled.event.span, "filled asynchronously here"), (wait.span, "waits for groups")),
    )


def _left_open(filled: Use, use: Use, left: Pending) -> Fault:
    """A wait that lets every group pass that can have been committed."""
    why = (
        f"at most {left.committed} can have been committed since: the wait waits for none of them"
        if left.committed
        else "no group has been committed since: a wait for groups does not see the copy"
    )
    fewer = left.committed - 1
    return Fault(
        f"`{use.tensor.name}` reads shared memory that cp.async fills through `{filled.tensor.name}`, and the wait "
        f"before it leaves {_groups(left.allowed)} open, but {why}",
        f"filled at line {filled.event.span.line}, the wait at line {left.wait.span.line} returns at once",
        f"wait until at most {_groups(fewer)} {'is' if fewer == 1 else 'are'} open"
        if left.committed
        else "commit the copies before the wait (cp_async_fence)",
        (
            (filled.event.span, "filled asynchronously here"),
            (left.wait.span, f"leaves {_groups(left.allowed)} open"),
        ),
    )


def _late(use: Use, behind: Late) -> Fault:
    """Only a later pass, or the last tile, is read too early."""
    when = f"in pass {behind.at + 1} of the loop" if behind.at is not None else "at the last tile"
    related = [(behind.filled.event.span, "filled asynchronously here")]
    if behind.wait is None:
        why, hint = "nothing in the loop waits for it", "wait in every pass, before the barrier"
    else:
        why = f"the wait before it leaves {_groups(behind.open)} open, the tile's own among them"
        hint = "commit as many groups in each pass as before the loop for each tile, or wait for more of them"
        related.append((behind.wait.span, f"leaves {_groups(behind.open)} open"))
    if behind.idle is not None:
        stops = "true" if behind.idle.negated else "false"
        why += f": passes in which `{behind.idle.text}` is {stops} commit none"
        hint = "commit in every pass, empty groups too (the fence outside the condition), or wait for all in the last"
    elif behind.at is None:
        hint = "wait for all groups (cp_async_wait<0>) before the last tile is read"
    return Fault(
        f"`{use.tensor.name}` reads shared memory that cp.async fills through `{behind.filled.tensor.name}`, and "
        f"{when} {why}",
        f"filled at line {behind.filled.event.span.line}, not waited for {when}",
        hint,
        tuple(related),
    )


def _groups(count: int) -> str:
    return f"{count} group" + "s" * (count != 1)
