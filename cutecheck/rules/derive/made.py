"""What is wrong with the steps of a pipeline, by the order in which they are written."""

from __future__ import annotations

from cutecheck.facts import Call, Event
from cutecheck.rules.base import Context
from cutecheck.rules.derive.announced import EXPECTS
from cutecheck.rules.derive.protocol import BY_THREADS, BY_TMA, pipelines
from cutecheck.rules.derive.stages import (
    not_synchronised,
    other_releases,
    same_barriers,
    same_stage,
    too_few_consumers,
)
from cutecheck.rules.derive.steps import (
    not_acquired,
    not_advanced,
    not_committed,
    not_released,
    not_waited,
    other_state,
    too_few_barriers,
    too_many_stages,
)
from cutecheck.rules.derive.told import told


def wrong_steps(call: Call, context: Context) -> list[tuple[Call | Event, str, str, str]]:
    """Of the pipeline that this call makes: a step, a message, the label of its place, and what helps."""
    pipeline = pipelines(context).get((call.subject, call.arch)) if call.subject else None
    if pipeline is None or pipeline.made is not call or pipeline.escapes:
        return []
    if pipeline.kind not in (*BY_TMA, *BY_THREADS):
        return []
    announced = any(
        c.function in EXPECTS and c.kernel == call.kernel and (c.span, c.kernel, c.arch) not in told(context)
        for c in context.facts.calls
    )  # of which it is not known that it is of another barrier
    others = [c for c in context.facts.calls if c.subject and (c.kernel, c.arch) == (call.kernel, call.arch)]
    found = (
        None if announced else not_acquired(pipeline), not_waited(pipeline), not_released(pipeline, others),
        not_committed(pipeline), too_many_stages(pipeline),
        not_advanced(pipeline, others), other_state(pipeline), too_few_barriers(pipeline),
        same_stage(pipeline), too_few_consumers(pipeline), not_synchronised(pipeline, context),
        other_releases(pipeline, context), same_barriers(pipeline, context),
    )  # fmt: skip
    return [f for f in found if f is not None]
