"""What CUT219 says of the blocks of a launch whose host names the numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, Event, TensorFact, Unknown
from cutecheck.facts.core import GUARDED, MEMORY_STORED, STORED
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.beyond_mode import beyond_mode
from cutecheck.rules.derive.first_alone import first_alone
from cutecheck.rules.derive.launched import blocks_of
from cutecheck.rules.derive.same_place import same_place

_GLOBAL = ("gmem", "coord")
_WRITTEN = (GUARDED, STORED)  # of C++, and where an assignment begins; of the Python DSL the element has its own


def at_launch(rule: Rule, made: Event | Call, context: Context) -> Iterable[Finding]:
    """Of copies from and to global memory, and of single elements that threads store there."""
    blocks = blocks_of(made, context) if made.kernel else None
    if blocks is None:
        return
    where = [Related(blocks.launch.span, "the launch")]
    for tensor, stored in _taken(made, context):
        gone = beyond_mode(made, tensor, context)
        if gone is not None:
            who = f"block {gone.block}" if gone.thread is None else f"thread {gone.thread} of block {gone.block}"
            what = "stores" if stored else "takes"
            yield rule.finding(
                made.span, f"as the kernel is launched here, {who} {what} element {gone.at} along mode {gone.mode} of "
                f"`{tensor.name}`, which has {gone.many}",
                label=f"element {gone.at} of {gone.many}", help="ask for the end of the mode, or choose by its extent",
                related=where, enclosing=made.enclosing, arch=made.arch,
            )  # fmt: skip
            return
        first = first_alone(made, tensor, context) if isinstance(made, Event) and not stored else None
        if first is not None:
            yield rule.finding(
                made.span, f"as the kernel is launched here, mode {first.mode} of `{tensor.name}` has {first.many} "
                f"elements, and all blocks take the first alone; of `{first.other.name}`, with a mode of as many, they "
                "take all",
                label=f"element 0 of {first.many}", help="choose the element by the block's coordinate, too",
                related=[Related(first.other.span, f"each of {first.many}"), *where],
                enclosing=made.enclosing, arch=made.arch,
            )  # fmt: skip
        same = same_place(made, tensor, context) if stored else None
        if same is not None:
            yield rule.finding(
                made.span, f"as the kernel is launched here, blocks {same.one} and {same.other} store `{tensor.name}` "
                f"to the same place, and load `{same.load.name}` from different ones: one of the results is lost",
                label="one place for both", help="store by all coordinates that the blocks load by",
                related=[Related(same.load.span, f"`{same.load.name}`, from two places"), *where],
                enclosing=made.enclosing, arch=made.arch,
            )  # fmt: skip


def _taken(made: Event | Call, context: Context) -> Iterable[tuple[TensorFact, bool]]:
    if isinstance(made, Event):
        if made.kind == "copy" and len(made.operands) > 1:
            yield from ((t, i == 1) for i, t in enumerate(made.operands[:2]) if t.space in _GLOBAL)
    elif _reason(made) == MEMORY_STORED or (_reason(made) in _WRITTEN and made.kernel not in _by_element(context)):
        yield from ((t, True) for t in made.arguments[:1] if isinstance(t, TensorFact))


def _reason(call: Call) -> str | None:
    return call.result.reason if isinstance(call.result, Unknown) else None


def _by_element(context: Context) -> frozenset[str]:
    """The kernels of which each element that a thread stores is noted."""
    if "kernels by element" not in context.memo:
        found = frozenset(c.kernel for c in context.facts.calls if _reason(c) == MEMORY_STORED)
        context.memo["kernels by element"] = found
    return cast("frozenset[str]", context.memo["kernels by element"])


__all__ = ["at_launch"]
