"""Shared memory of other blocks of a cluster: they must have started before it is reached, and not have ended."""

from __future__ import annotations

import re
from typing import cast

from cutecheck.facts import NOT_WALKED, Call, Event, Unknown
from cutecheck.facts.core import REMOTE, UNSEEN
from cutecheck.model.ints import Dyn, Sym, as_expr
from cutecheck.rules.base import Context
from cutecheck.rules.derive.cluster_arrivals import blocks_of_cluster
from cutecheck.rules.derive.protocol import cut_short
from cutecheck.rules.derive.targets import atom_of_event
from cutecheck.rules.derive.walks import Walks

_TOGETHER = re.compile(r"cluster|pipeline_init|^sync$|^barrier$|grid|peer|tail")  # may hold blocks back
_OWN = "block_rank_in_cluster"
Steps = list[Call | Event]


def too_early(at: Call | Event, context: Context) -> bool:
    """The first access of another block's shared memory in a kernel that waits for no other block before it."""
    return _judged(at, context) and not _meetings(at, context, before=True)


def too_late(at: Call | Event, context: Context) -> bool:
    """The last access of another block's shared memory, after which nothing in the kernel waits for other blocks.

    What tells a barrier there is waited for there. Of arrivals a producer may wait after its loads, for all of them.
    """
    if not _judged(at, context, last=True) or isinstance(at, Event) or dict(at.keywords).get("tells"):
        return False
    calls = (c for c in context.facts.calls if (c.kernel, c.arch) == (at.kernel, at.arch))
    waits = [c for c in calls if c.function == "mbarrier.wait" and c.subject == at.subject]
    fills = [s for s in _steps(context).get((at.kernel, at.arch), []) if isinstance(s, Event)]
    ends = max((f.order for f in fills), default=at.order)
    loops = {loop for f in fills for loop in f.loops}
    tail = any(w.order > ends and (not w.loops or not set(w.loops) & loops) for w in waits)
    return not tail and not _meetings(at, context, before=False)


def _judged(at: Call | Event, context: Context, last: bool = False) -> bool:
    """The first, or last, of the accesses of a kernel whose cluster has several blocks, and of which all was walked."""
    if not at.kernel or not _reaches(at) or cut_short(context, at):
        return False
    blocks = blocks_of_cluster(at, context)
    if blocks is None or blocks < 2:
        return False
    walks, mine = Walks(context), _steps(context)[at.kernel, at.arch]
    same = [s for s in mine if walks.of(s) == walks.of(at)]
    if last:
        same = [s for s in same if isinstance(s, Call) and not dict(s.keywords).get("tells")]
    return bool(same) and at is (same[-1] if last else same[0])


def _meetings(at: Call | Event, context: Context, before: bool) -> bool:
    """Something holds blocks of a cluster back before, or after; or is not known."""
    walks = Walks(context)
    calls = [c for c in context.facts.calls if (c.kernel, c.arch) == (at.kernel, at.arch)]
    own = {c.span for c in calls if c.function == "mbarrier.named"}  # hold threads of one block back
    for call in calls:
        if call.span in own or walks.of(call) != walks.of(at):
            continue
        unseen = isinstance(call.result, Unknown) and call.result.reason in (NOT_WALKED, UNSEEN)
        if call.order != at.order and (call.order < at.order) is before and (unseen or _TOGETHER.search(call.function)):
            return True
    return False


def _steps(context: Context) -> dict[tuple[str, str], Steps]:
    """Accesses of other blocks' shared memory, as they are reached."""
    if "remote" not in context.memo:
        found: dict[tuple[str, str], Steps] = {}
        every: Steps = [*context.facts.calls, *context.facts.events]
        for step in sorted((s for s in every if s.kernel and _reaches(s)), key=_order):
            found.setdefault((step.kernel, step.arch), []).append(step)
        context.memo["remote"] = found
    return cast("dict[tuple[str, str], Steps]", context.memo["remote"])


def _order(step: Call | Event) -> int:
    return step.order


def _reaches(at: Call | Event) -> bool:
    if isinstance(at, Event):
        atom = atom_of_event(at)
        return at.kind == "copy" and atom is not None and "SM90_TMA_LOAD_MULTICAST" in atom.op
    if isinstance(at.result, Unknown) and at.result.reason == REMOTE:
        return True
    to = dict(at.keywords).get("to")
    if at.function != "mbarrier.arrive" or not isinstance(to, (int, Dyn, Sym)):
        return False
    return [v.name for v in as_expr(to).variables()] != [_OWN]


__all__ = ["too_early", "too_late"]
