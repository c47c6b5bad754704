"""Rules that also judge kernels that were run pass by pass."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import ClassVar

from cutecheck.facts import Call, Event, Span
from cutecheck.facts.core import CHUNK
from cutecheck.facts.replayed import AS_VALUE, BY_ELEMENT, COMPUTED, Replay
from cutecheck.findings import Finding, Related
from cutecheck.model.ints import known_value
from cutecheck.rules.base import Context, Rule
from cutecheck.rules.derive.faults import Fault, Kind
from cutecheck.rules.derive.made import wrong_steps
from cutecheck.rules.derive.protocol import pipelines
from cutecheck.rules.derive.replays import faults_of
from cutecheck.rules.derive.role_loads import by_assembly
from cutecheck.rules.derive.uses import uses_of
from cutecheck.rules.words_of_runs import SAID

_NO_EVENTS = (
    "crowded",
    "shut",
    "stuck",
    "starved",
    "outrun",
    "scant",
    "overfull",
    "unfinished",
    "uninitialised",
    "unmade",
    "made twice",
    "premature",
)  # faults of other steps than copies and products


_PARTS = ("element", CHUNK)  # calls that are accesses of parts of shared memory
_OF_PHASES = ("stuck", "outrun", "unready", "scant", "overfull")  # what follows from a step that a pipeline lacks
_TWO = 2  # accesses that a missing barrier is between


class Replayed(Rule):
    """A rule with kinds of faults that a run of a kernel pass by pass can have."""

    kinds: ClassVar[tuple[Kind, ...]] = ()

    def on_call(self, call: Call, context: Context) -> Iterable[Finding]:
        for fault in faults_of(call, context):
            if fault.kind in self.kinds and not self._is_said(fault, call, context):
                yield self._of_run(fault, call)

    def _is_said(self, fault: Fault, call: Call, context: Context) -> bool:
        """The rule says something of this place, or of the other, anyway; or one warp runs the kernel, whose threads
        are not apart."""
        if fault.kind in _OF_PHASES and _steps_are_wrong(call, context):
            return True
        spans = [fault.step.span, *([fault.other.span] if fault.other is not None else [])]
        at = [e for e in context.facts.events if e.span in spans and (e.kernel, e.arch) == (call.kernel, call.arch)]
        if not any(e.span == fault.step.span for e in at):
            if fault.step.function == CHUNK:
                return self._is_said_of_parts(fault, call, context)
            if fault.step.function in (AS_VALUE, BY_ELEMENT, COMPUTED):
                return False
            shown = fault.kind in _NO_EVENTS or by_assembly(fault.step)
            return not shown or not _is_of_program(fault, call, context)
        if fault.kind not in ("unseen", "overwritten", "unlanded"):
            at = [e for e in at if e.span == fault.step.span]
            return any(True for event in at for _ in self.on_event(event, context))
        if any(_one_warp(e) for e in at if e.span == fault.step.span):
            return True
        return any(self._of_these(finding, fault, call, context) for e in at for finding in self.on_event(e, context))

    def _is_said_of_parts(self, fault: Fault, call: Call, context: Context) -> bool:
        """Of single elements, and bytes that assembly copies."""
        at = [
            c for c in context.facts.calls
            if (c.kernel, c.arch, c.span) == (call.kernel, call.arch, fault.step.span) and c.function in _PARTS
        ]  # fmt: skip
        return not at or any(True for c in at for _ in self.on_call(c, context))

    def _of_these(self, finding: Finding, fault: Fault, call: Call, context: Context) -> bool:
        """A finding at one of a fault's two places is of both, or the place that they do not share is of one tensor."""
        mine = {fault.step.span, *([fault.other.span] if fault.other is not None else [])}
        theirs = {finding.span, *(r.span for r in finding.related)}
        if len(mine) < _TWO or len(theirs) != _TWO or mine == theirs:
            return True
        first, second = (_roots(spans, call, context) for spans in (mine - theirs, theirs - mine))
        return not first or not second or bool(first & second)

    def _of_run(self, fault: Fault, call: Call) -> Finding:
        message, label, hint, other = SAID[fault.kind]
        past = fault.place.past or (0, 0)
        return self.finding(
            fault.step.span,
            message.format(
                name=fault.place.name,
                tile=fault.tile,
                past=past,
                last=past[1] - 1,
                number=fault.step.number,
                barrier=fault.place.name or "the barrier",
            ),
            label=label.format(past=past, last=past[1] - 1, tile=fault.tile, number=fault.step.number),
            help=hint,
            related=_related(fault, other),
            enclosing=call.kernel,
            arch=call.arch,
            severity="note" if fault.kind == "left open" else None,  # it seldom shows
        )


def _steps_are_wrong(call: Call, context: Context) -> bool:
    """Steps of a pipeline of the kernel have a rule of their own, which says what is wrong with one."""
    made = (p.made for p in pipelines(context).values())
    return any((m.kernel, m.arch) == (call.kernel, call.arch) and wrong_steps(m, context) for m in made)


def _roots(spans: set[Span], call: Call, context: Context) -> set[object]:
    """The tensors in shared memory that the accesses at these places are of."""
    at = (e for e in context.facts.events if e.span in spans and (e.kernel, e.arch) == (call.kernel, call.arch))
    return {use.root for event in at for use in uses_of(event)}


_STEPS = ("mbarrier.load", "mbarrier.wait", "bulk.store")
_OF_LIBRARY = re.compile(r"(?:^|/)(?:cute|cutlass)/")


def reported(context: Context) -> set[str]:
    """Files of the program: those with configurations, copies or steps; barriers may be initialised in any of them."""
    steps = (c.span.path for c in context.facts.calls if c.function in _STEPS or _makes(c))
    return {*(e.span.path for e in context.facts.events), *(s.span.path for s in context.facts.sites), *steps}


def _makes(call: Call) -> bool:
    """A barrier is initialised, in a header of the program that may say nothing else of CuTe."""
    return call.function == "mbarrier.init" and not _OF_LIBRARY.search(call.span.path)


def _is_of_program(fault: Fault, call: Call, context: Context) -> bool:
    """The place is in a file of the program, or a loop over the registers of a product that is: of a header without
    anything else of CuTe, a softmax, say. Loops of libraries name no registers."""
    known = reported(context)
    replay = call.arguments[0]
    if isinstance(replay, Replay) and fault.step.span.path in replay.files:
        return True
    product = fault.other is not None and fault.other.span.path in known
    return fault.step.span.path in known or (fault.kind == "unfinished" and fault.step.function == "loop" and product)


def _related(fault: Fault, other: str) -> list[Related]:
    """The other place, and the calls of the functions around both."""
    found = [] if fault.other is None else [Related(fault.other.span, other)]
    calls = [(fault.step, "called here"), (fault.other, f"{other}, by this call")]
    return found + [Related(s.caller, text) for s, text in calls if s is not None and s.caller not in (None, s.span)]


def _one_warp(event: Event) -> bool:
    return event.threads is not None and (known_value(event.threads) or 33) <= 32
