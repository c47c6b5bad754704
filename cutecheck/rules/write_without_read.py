"""CUT222 write-without-read."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import cast

from cutecheck.facts import Call, Event, Span
from cutecheck.facts.leftovers import leftovers_of
from cutecheck.findings import Finding, Related
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.dropped import goes_on
from cutecheck.rules.derive.room import takes_no_more
from cutecheck.rules.derive.stored_over import stored_over
from cutecheck.rules.derive.stored_twice import stored_twice
from cutecheck.rules.read_without_write import _EXAMPLE

# which of its steps a caller needs is its own affair
_LIBRARY = re.compile(r"(?:^|^include/|/include/)(?:cute|cutlass)/")


class WriteWithoutRead(Rule):
    """A fragment or shared memory is copied to, or holds a product, and nothing in the kernel reads it.

    What it checks
        Of kernels that are walked to their end, on all ways through them: a tensor that owns its registers, or shared
        memory, which copies fill or products are summed up in, is the source of a copy, an operand of a product, or
        predicates; or an element of it is taken, or a pointer to it, or it is passed to code that is not followed. In
        all instantiations of the place: what one of them does not read, and others do, is not reported. And of kernels
        that load from global memory, whose parameters are numbers, layouts, tensors and pointers, and which show
        nothing: something in them may store to global memory, where they make tensors of what may be written. Of
        accumulators that copies alone read, these read all that products are summed up in, or as much as there is room
        for where they are stored; and no loop that goes through tiles sets them anew in each pass, and reads them only
        behind its end. A loop that stores other elements of a product in each pass does not store them to one place of
        global memory, over each other. Nor are two tensors copied to the same elements, one after the other, with
        nothing that reads them in between; nor scale factors to columns of tensor memory where others have been copied
        to, before a product has taken those.

    Why
        A store or a product that was forgotten, or that takes another tensor, reads nothing wrong: the kernel compiles,
        runs without an error, and leaves in memory what was there before.

    Example
        gemm(mma, rA, rB, acc);
        copy(rC, gC);

    Use instead
        gemm(mma, rA, rB, acc);
        copy(acc, gC);

    Assumptions
        A kernel without products that copies nothing to global memory shows, or times, how something is loaded: it is
        not judged, unless it is given memory to write, makes tensors of it and uses them for nothing.

    Fix
        Store the result, or leave out what computes it.

    References
        cute/algorithm/copy.hpp, cute/algorithm/gemm.hpp
    """

    code = "CUT222"
    name = "write-without-read"
    family = "lint"
    severity = "warning"
    confidence = "heuristic"
    unasked = "None: it compares what a kernel writes with what it reads."
    arch = ("sm_80",)
    valid = (_EXAMPLE % "copy(gB, rB);",)
    invalid = ((_EXAMPLE % "copy(gB, rB);").replace("copy(acc, gC);", ""),)

    def on_event(self, event: Event, context: Context) -> Iterable[Finding]:
        yield from self._stored_twice(event, context)
        over = stored_over(event, context)
        if over is not None:
            yield self.finding(
                event.span,
                f"each pass of the loop over `{over.variable}` stores other elements of a product, and all of them to "
                f"one place of `{event.operands[1].name}`: all but the last are lost, and nothing is stored elsewhere",
                label=f"does not go on with `{over.variable}`",
                help=f"take the tile that is stored by `{over.variable}`, too",
                related=[Related(over.sums.span, f"`{over.sums.name}`, by `{over.variable}`")],
                enclosing=event.enclosing,
                arch=event.arch,
            )

    def _stored_twice(self, event: Event, context: Context) -> Iterable[Finding]:
        earlier = stored_twice(event, context)
        if earlier is not None:
            target, lost = event.operands[1], earlier.operands[0]
            yield self.finding(
                event.span,
                f"`{target.name}` is stored to where line {earlier.span.line} has stored `{lost.name}`, and nothing "
                "reads that in between: it is lost",
                label="the same elements again",
                help="store each to a place of its own",
                related=[Related(earlier.span, "stored here before")],
                enclosing=event.enclosing,
                arch=event.arch,
            )

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        found = leftovers_of(call)
        for way, tensor in found.left if found is not None else ():
            places = way[-1:] if _LIBRARY.search(way[-1].path) else reversed(way)
            span = next((at for at in places if at not in _read(context)), None)
            if span is None:
                continue
            where = "shared memory" if tensor.space == "smem" else "registers"
            what = f"`{tensor.name}` ({where})"
            called = [Related(way[-1], "copied or computed here")] if span != way[-1] else []
            yield self.finding(
                span,
                f"nothing in the kernel reads {what} after this: what is copied or computed is lost"
                if not called
                else f"nothing in the kernel reads what this call leaves in {what}",
                label="never read",
                help="store it, or take it for the operand that it was meant to be; leave it out if it is not needed",
                related=called,
                enclosing=call.enclosing,
                arch=call.arch,
            )
        for way, tensor, read, every in found.partly if found is not None else ():
            if takes_no_more(tensor, read, call, context):
                continue
            yield self.finding(
                way[-1] if not _LIBRARY.search(way[-1].path) else way[0],
                f"products are summed up in {every} elements, and all that the kernel reads of them is {read}, here "
                f"and elsewhere: what is summed up in the other {every - read} is lost",
                label=f"`{tensor.name}`, in all passes of its loops",
                help="read all of them: index the accumulators by all loops that the destination is indexed by",
                enclosing=call.enclosing,
                arch=call.arch,
            )
        for way, tensor, loop in found.dropped if found is not None else ():
            if goes_on(loop, call, context):
                yield self.finding(
                    way[-1] if not _LIBRARY.search(way[-1].path) else way[0],
                    f"each pass of the loop sets `{tensor.name}` anew and adds products to it, and nothing in the loop "
                    "reads it: what is summed up in all passes but the last is lost",
                    label="in each pass",
                    help="clear the accumulators before the loop",
                    related=[Related(loop.span, "the loop")],
                    enclosing=call.enclosing,
                    arch=call.arch,
                )
        if found is not None and found.idle and not found.left and found.kernel not in _stores(context):
            span, name = found.idle[0]
            yield self.finding(
                span,
                f"nothing is stored to `{name}`, which the kernel makes tensors of, nor to any other global memory: "
                "what it loads and computes is lost",
                label="never written",
                help="store the result; leave out what is not needed",
                enclosing=call.enclosing,
                arch=call.arch,
            )


def _stores(context: Context) -> set[Span]:
    """Kernels of which some instantiation may store to global memory."""
    if "kernels that store" not in context.memo:
        found = (leftovers_of(call) for call in context.facts.calls)
        storing = {one.kernel for one in found if one is not None and one.kernel is not None and not one.idle}
        context.memo["kernels that store"] = storing
    return cast("set[Span]", context.memo["kernels that store"])


def _read(context: Context) -> set[Span]:
    """Where some kernel copies or computes what it then reads, and the calls that lead there."""
    if "read after" not in context.memo:
        found = (leftovers_of(call) for call in context.facts.calls)
        context.memo["read after"] = {at for one in found if one is not None for way in one.read for at in way}
    return cast("set[Span]", context.memo["read after"])
