"""Whether what goes past the end of a buffer does so under conditions that are not known."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from cutecheck.facts import Event, Guard
from cutecheck.model import expr as ex
from cutecheck.model.expr.ranges import bounds
from cutecheck.model.ints import known_value
from cutecheck.model.prove import Verdict, make_obligation
from cutecheck.model.prove.properties import THREAD, CosizeFits
from cutecheck.rules.base import Context

_VALUES = 16  # of the variables that a condition may be on, which are tried one by one


def always_beyond(event: Event, payload: CosizeFits, guards: list[Guard], context: Context) -> bool:
    """True where it goes past the end whatever values pass the conditions, some threads of those that do all the same.

    A start past the end is past it in every thread.
    """
    least, end = bounds(payload.offset)[0], known_value(payload.allocation)
    if least is not None and end is not None and least >= end:
        starts = [ex.const(least)]
    elif all(g.turns for g in guards):
        others = sorted({v for v in payload.offset.variables() if v.name != THREAD}, key=lambda v: v.name)
        spans = [v.domain.bounds() for v in others]
        count = math.prod(0 if lo is None or hi is None else hi - lo + 1 for lo, hi in spans)
        if not 0 < count <= _VALUES:
            return False
        ranges = [range(lo, hi + 1) for lo, hi in spans if lo is not None and hi is not None]
        starts = [
            payload.offset.substitute({v.name: ex.const(n) for v, n in zip(others, numbers, strict=True)})
            for numbers in itertools.product(*ranges)
        ]
    else:
        return False
    return all(
        context.prover(
            make_obligation(replace(payload, offset=start), (event.event_id,), arch=event.arch, span=event.span)
        ).verdict
        is Verdict.REFUTED
        for start in starts
    )
