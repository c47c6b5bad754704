"""Pipelines of ``cutlass.pipeline``: which barriers a value stands for, and what is done with them.

A pipeline is told by where its barriers are: a pointer to them, an object that holds one (a pipeline, its producer or
consumer, a handle). Where the package's source is not at hand, by where the pipeline was made.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.algebra import size
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.model.layout import Layout
from cutecheck.source.dsl import barriers, modules
from cutecheck.source.eval.values import Extern, FuncSet, Object, Pointer, Value, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.record.replay import Replaying

_MAKES = re.compile(r"(?:^|\.)(Pipeline\w+)\.create$")
_MADE = re.compile(r".*?\.(?:create|make_pipeline_state)\(\.\.\.\)(@\d+:\d+(?:~\w+)?)")
_STATE = "make_pipeline_state"
_USES = re.compile(r"(?:^|_)(?:acquire|commit|wait|release|tail|arrive|advance)(?:_|$)")
_HOLDERS = ("sync_object_full", "barrier_storage", "mbarrier_base")
_OWN = ("producer_acquire", "producer_commit", "producer_tail", "consumer_wait", "consumer_release")
_LINKS = ("pipeline", "origin")  # ends of the names of fields that lead to a pipeline
_NUMBERS = ("num_stages", "tx_count")
_DEPTH = 4


def subject(value: Value, depth: int = 0) -> str:
    """The place of the barriers; empty where it is not known."""
    if isinstance(value, Pointer):
        return _place(value)
    if isinstance(value, Extern):
        made = _MADE.match(value.what)
        return made[1] if made is not None else ""
    if not isinstance(value, Object) or depth > _DEPTH:
        return ""
    named = [value.fields[n] for n in _HOLDERS if n in value.fields]
    named += [v for n, v in value.fields.items() if n.endswith(_LINKS)]
    return next((found for v in named if (found := subject(v, depth + 1))), "")


def _place(pointer: Pointer) -> str:
    """The buffer, and where in it the first of an array of barriers is that a run-time index goes through."""
    if pointer.space != "smem" or not isinstance(pointer.offset, (int, Dyn)):
        return ""
    offset = as_expr(pointer.offset)
    try:
        at = offset.evaluate({v.name: 0 for v in offset.variables()})
    except (KeyError, ZeroDivisionError, ValueError):
        return ""
    return f"{pointer.buffer}+{at}" if at else pointer.buffer


def used(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> None:
    """Note a method of a pipeline that is about to be called, or a pipeline that is given to who knows whom."""
    name, of = "", ""
    owner: Value = fn.self_ if isinstance(fn, FuncSet) else None
    if isinstance(fn, FuncSet) and isinstance(owner, Extern) and _USES.search(fn.name):
        name, of = fn.name, subject(owner)  # a class of the tree around one of the package's
    elif isinstance(fn, FuncSet) and isinstance(owner, Object) and _USES.search(fn.name):
        if owner.fields.keys().isdisjoint(_HOLDERS[1:]):  # an array of barriers is part of a pipeline
            name, of = fn.name, subject(owner)
        else:
            _by_hand(m, fn.name, subject(owner), args, kwargs, span)
    elif isinstance(fn, Extern):
        name, of = fn.what.rpartition(".")[2], subject(fn)
        if ".sync_object" in fn.what:
            _by_hand(m, name, of, args, kwargs, span)
            of = ""
        elif not _USES.search(name):
            of = ""
    if of and not name.startswith(("try_", "consumer_try", "producer_try")) and not _in_tail(m):
        state = subject(args[0]) if args and isinstance(args[0], Extern) and _STATE in args[0].what else ""
        m.recorder.pipelined(name, of, span, (("state", state),) if state else ())
    if isinstance(fn, (Unknown, Extern)) and not subject(fn):
        for given in (*args, *kwargs.values()):
            for v in given if isinstance(given, (tuple, list)) else (given,):
                if isinstance(v, (Object, Extern)) and (lost := subject(v)):
                    m.recorder.pipelined("escapes", lost, span)


def handed(m: Machine, run: Replaying, fn: Value, args: list[Value], kwargs: dict[str, Value]) -> None:
    """In a run thread by thread: a pipeline of which no source is read, or one that goes where it is not followed."""
    if isinstance(fn, Extern) and _USES.search(fn.what.rpartition(".")[2]) and subject(fn):
        run.end()
    given = (*args, *kwargs.values())
    if isinstance(fn, (Unknown, Extern)) and any(isinstance(v, Object) and subject(v) for v in given):
        run.end()


def _by_hand(m: Machine, name: str, place: str, args: list[Value], kwargs: dict[str, Value], span: Span) -> None:
    """Note what a class around a pipeline, or a kernel, does with one of its arrays of barriers.

    In a method that stands for one of the pipeline's it is part of that step; bytes that are announced there are the
    stage's. Elsewhere it may be any step.
    """
    frame = m.recorder.frame
    if frame is None or not place:
        return
    of = modules.state(m).get("halves of pipelines", {}).get(place, place)
    method = frame.symbol.rpartition("::")[2]
    if name == "arrive_and_expect_tx" and method == "producer_acquire":
        told = constant(kwargs["tx_count"] if "tx_count" in kwargs else args[1] if len(args) > 1 else None)
        m.recorder.pipelined("announces", of, span, () if told is None else (("tx_count", told),))
    elif method not in _OWN:
        m.recorder.pipelined("escapes", of, span)


def number(m: Machine, base: Extern, name: str) -> Value | None:
    """``tx_count`` and ``num_stages`` of a pipeline, or of one of its arrays of barriers, as it was made with them."""
    if name not in _NUMBERS:
        return None
    known: dict[str, dict[str, Value]] = modules.state(m).get("numbers of pipelines", {})
    whose = base.what.removesuffix(".sync_object_full")
    if name == "num_stages":
        whose = whose.removesuffix(".sync_object_empty")
    return known.get(whose, {}).get(name)


def _in_tail(m: Machine) -> bool:
    """A producer's tail waits for what was released: nothing of the main loop's."""
    frame = m.recorder.frame
    while frame is not None:
        if frame.function is not None and frame.function.name in ("producer_tail", "tail"):
            return True
        frame = frame.caller
    return False


def created(
    m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], value: Value, span: Span
) -> Value:  # fmt: skip
    """Note that a pipeline, or a state of one, was made, with the numbers that it was given."""
    made, given = "", dict(kwargs)
    if isinstance(fn, FuncSet) and fn.name == "create" and isinstance(value, Object):
        made = value.cls.name
    elif isinstance(fn, Extern) and isinstance(value, Extern):
        found = _MAKES.search(fn.what)
        made = found[1] if found is not None else _STATE if fn.what.endswith(f".{_STATE}") else ""
        mark = _mark(m, given.get("barrier_storage"), span) if made else ""
        value = replace(value, what=f"{fn.what}(...){mark}") if mark else value
        if mark and made != _STATE:
            own = {n: given[n] for n in _NUMBERS if n in given}
            modules.state(m).setdefault("numbers of pipelines", {})[value.what] = own
        given |= dict(zip(("type", "num_stages"), args, strict=False)) if made == _STATE else {}
    of = subject(value) if made.startswith("Pipeline") or made == _STATE else ""
    if of:
        if isinstance(value, Object):
            halves = modules.state(m).setdefault("halves of pipelines", {})
            halves[subject(value.fields.get("sync_object_empty"))] = of
        numbers: list[tuple[str, object]] = [(k, constant(given[k])) for k in ("num_stages", "tx_count") if k in given]
        user = given.get("type")
        if isinstance(user, Extern):
            numbers.append(("type", user.what.rpartition(".")[2]))
        numbers.append(("released_by", _released_by(made, given)))
        numbers.append(("barrier_bytes", _room(m, given.get("barrier_storage"))))
        known = tuple((k, n) for k, n in numbers if n is not None)
        m.recorder.pipelined(made if made == _STATE else f"{made}.create", of, span, known)
    return value


def _mark(m: Machine, storage: Value, span: Span) -> str:
    """What tells a pipeline or state from others: its barriers, or the place, where the kernel's own body makes it."""
    place = subject(storage)
    if place:
        return f"@{span.line}:{span.column}~{hashlib.sha256(place.encode()).hexdigest()[:8]}"
    frame = m.recorder.frame
    own = frame is not None and frame.function is not None and "kernel" in frame.function.flags
    return f"@{span.line}:{span.column}" if own else ""


def _released_by(made: str, given: dict[str, Value]) -> int | None:
    """How many warps a stage is given back by, as a pipeline counts whose consumers say so by one thread of each."""
    across = given.get("cta_layout_vmnk")
    alone = across is None or (isinstance(across, Layout) and size(across) == 1)
    if made != "PipelineTmaAsync" or not alone or given.get("enable_multicast_signaling") or "tidx" in given:
        return None
    return barriers.arrivals(given.get("consumer_group"))


def _room(m: Machine, storage: Value) -> int | None:
    """Bytes of the array that the barriers are in, where they start it; with those that follow it in a struct."""
    if not isinstance(storage, Pointer) or storage.offset != 0:
        return None
    if "." in storage.buffer.rpartition("@")[2]:
        room: int | None = modules.state(m).get("barrier bytes", {}).get(storage.buffer)
        return room
    found = m.recorder.buffers.get(storage.buffer)
    return None if found is None or found.fact.size_bytes is None else constant(found.fact.size_bytes)


__all__ = ["created", "number", "subject", "used"]
