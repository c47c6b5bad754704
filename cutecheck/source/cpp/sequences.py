"""CUTLASS's barriers in a sequence (``OrderedSequenceBarrier``): groups of threads that come one after the other.

There is one barrier for each stage and group. A group waits at its own, arrives at the next one's and goes on to the
next stage; the first group need not wait the first time. A run pass by pass has these steps in place of the methods'.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span
from cutecheck.model.ints import Dyn
from cutecheck.source.eval.classes import get_field
from cutecheck.source.eval.values import Object, Scalar, Str, Value, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MADE = "<sequence>"  # the field of an object that says where it was made


def made(m: Machine, of: Object, span: Span) -> None:
    """Each barrier counts the threads of one group, as one thread says; the group is at the first stage."""
    replay = m.recorder.acts()
    if replay is None or replay.thread is None:
        return
    of.fields[_MADE] = Str(f"barriers in sequence @{span.place}")
    stage, group = get_field(m, of, "stage_", span), _member(m, of, "params_", "group_id", span)
    with replay.unheard():  # it is asked of threads that wait or arrive
        known = replay.whole(group, False) is not None
    if isinstance(stage, Object) and known:
        stage.fields["index_"] = Scalar(0, "int")
        is_first = m.dialect.binary("==", group, Scalar(0, "int"), span)
        stage.fields["phase_"] = Scalar(is_first.value if isinstance(is_first, Scalar) else None, "uint32_t")
        of.fields["stage_"] = stage
    stages, groups = _extents(of)
    size = _member(m, of, "params_", "group_size", span)
    first = replay.whole(m.dialect.binary("==", Dyn.named("threadIdx.x"), Scalar(0, "int"), span), False)
    for at in range((stages or 0) * (groups or 0) if first else 0):
        replay.barrier("init", _buffer(of), span, _where(m), (Scalar(at, "int"), size))


def used(m: Machine, of: Object, method: str, span: Span) -> None:
    replay = m.recorder.acts()
    if replay is None or method not in ("wait", "arrive"):
        return
    replay.known.add(span)
    _, groups = _extents(of)
    stage = replay.whole(_member(m, of, "stage_", "index_", span))
    group = replay.whole(_member(m, of, "params_", "group_id", span))
    if stage is None or group is None or groups is None:
        replay.end()
    if method == "wait":
        at = Scalar(stage * groups + group, "int")
        phase = _member(m, of, "stage_", "phase_", span)
        replay.barrier("wait", _buffer(of), span, _where(m), (at, phase))
    else:
        at = Scalar(stage * groups + (group + 1) % groups, "int")
        replay.barrier("arrive", _buffer(of), span, _where(m), (at,), 1)


def _extents(of: Object) -> tuple[int | None, int | None]:
    """How many stages and groups there are."""
    numbers = [constant(a) for a in of.cls.args[:2]]
    return (numbers[0], numbers[1]) if len(numbers) == 2 else (None, None)


def _member(m: Machine, of: Object, name: str, of_that: str, span: Span) -> Value:
    held = get_field(m, of, name, span)
    return get_field(m, held, of_that, span) if isinstance(held, Object) else None


def _buffer(of: Object) -> str:
    """Which barriers these are, by where the object was made; "?" where that is not known."""
    held = of.fields.get(_MADE)
    return held.text if isinstance(held, Str) else "?"


def _where(m: Machine) -> str:
    return m.recorder.frame.symbol if m.recorder.frame is not None else ""


__all__ = ["made", "used"]
