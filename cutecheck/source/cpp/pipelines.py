"""CUTLASS's pipelines in C++: which one a value is, and what is done with it.

A pipeline and a state of one are told by where they were made, and by where the barriers are: copies are the same one.
Objects of CUTLASS's own classes say so in a field that no class has, values of classes that are not in the tree in
their text. What the methods do inside is none of the kernel's steps. A class of the program's own that derives from a
pipeline is one: its steps are those of that name, whoever arrives there in its own way.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.model.dtype import dtype
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, as_expr
from cutecheck.source.cpp import sequences, tokens
from cutecheck.source.eval import classes, intrinsics, ir, shared_addresses
from cutecheck.source.eval.dialect import DEFER
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import class_name
from cutecheck.source.eval.values import (
    Extern,
    ExternType,
    FuncSet,
    Intrinsic,
    Object,
    ObjectPointer,
    Pointer,
    Scalar,
    ScalarType,
    Str,
    Value,
    constant,
)

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

STATE = "PipelineState"
MADE = "<made>"  # the field of an object that says where it, or what it is a copy of, was made
_KINDS = frozenset({
    "PipelineTmaAsync", "PipelineTmaUmmaAsync", "PipelineTmaTransformAsync", "PipelineTmaSparseUmmaAsync",
    "PipelineTransactionAsync", "PipelineAsync", "PipelineUmmaAsync", "PipelineUmmaConsumerAsync",
    "PipelineCLCFetchAsync",
})  # fmt: skip
_SEQUENCE = "OrderedSequenceBarrier"
_WHOM = frozenset({"is_same_row_or_col", "spread_arrivals_to_warpgroup", "spread_arrivals_to_warp"})
WATCHED = frozenset({*_KINDS, STATE, _SEQUENCE})
START = "make_producer_start_state"
_OF_STORES = "PipelineTmaStore"  # which has no barrier: its steps are the waits and commits that its methods call
_STEPS = frozenset({
    "producer_acquire", "producer_commit", "consumer_wait", "consumer_release", "producer_get_barrier",
    "producer_expect_transaction",
})  # fmt: skip
_INITIALISES = {"PipelineTmaAsync": 3, "PipelineAsync": 2}  # by so many arguments: no tag says who does
_TRIES = re.compile(r"(producer|consumer)_(?:try|test)_(?:acquire|wait)$")
_OBJECT = re.compile(r"(?:cutlass::)?(?:\w+::)*(\w+)(@[\w:~]+)(?:\.(\w+))?$")
_BARRIER = "barriers of the pipeline"
_OF_BARRIER = re.compile(rf"\*{_BARRIER} (@[\w:]+)")
_NUMBERED = ("cutlass::PipelineCLCFetchAsync@", "PipelineCLCFetchAsync@")  # give their barriers by address
_POINTERS = ("full_barrier_ptr_", "impl_")
_DEPTH = 3
# how many arrivals barriers of empty and full stages count where a block is a cluster by itself, or what says so
_OF_UMMA: dict[str, dict[str, int | str]] = {
    "PipelineTmaUmmaAsync": {"empty_arrivals": 1},
    "PipelineUmmaAsync": {"full_arrivals": "producer_arv_count", "empty_arrivals": "consumer_arv_count"},
    "PipelineCLCFetchAsync": {"empty_arrivals": "consumer_arv_count"},
}
_CONSUMERS = "consumers"  # how many threads say that a stage is free
_DERIVED = ("pipeline that a class is",)
_OWN_BLOCK = "block_rank_in_cluster"  # where threads arrive, if nothing else is said
_CLUSTER = 2  # which argument of a constructor is the shape of the cluster


def watched(m: Machine, cls: ClassInst) -> ClassInst | None:
    """The class itself where it is named as CUTLASS's are, else the pipeline of CUTLASS's that it derives from."""
    if cls.decl.name in WATCHED:
        return cls
    if not cls.decl.bases:
        return None
    if _DERIVED not in cls.memo:
        above = (watched(m, b) for b in classes.bases(m, cls))
        cls.memo[_DERIVED] = next((b for b in above if b is not None and _is_pipeline(b)), cls)
    found = cls.memo[_DERIVED]
    return found if isinstance(found, ClassInst) and found is not cls else None


def _is_pipeline(cls: ClassInst) -> bool:
    return cls.decl.name in _KINDS and class_name(cls).rpartition("::")[0] == "cutlass"


def made_at(value: Value) -> str:
    """Where a pipeline or state was made; empty where that is not known."""
    if isinstance(value, ObjectPointer):
        value = value.to
    if isinstance(value, Object):
        mark = value.fields.get(MADE)
        return mark.text if isinstance(mark, Str) else ""
    found = _OBJECT.match(value.what) if isinstance(value, Extern) else None
    return found[2] if found is not None and found[1] in WATCHED else ""


def barriers(value: Value) -> str:
    """The pipeline whose barrier a value is: a pointer to one, or what it points to."""
    if isinstance(value, Pointer):
        text = f"*{value.buffer}"
    elif isinstance(value, Scalar) and isinstance(value.value, Dyn):
        names = [v.name for v in value.value.expr.variables()]
        text = names[0] if len(names) == 1 else ""
    elif isinstance(value, Dyn):
        names = [v.name for v in value.expr.variables()]
        text = names[0] if len(names) == 1 else ""
    else:
        return ""
    found = _OF_BARRIER.match(text)
    return found[1] if found is not None else ""


def constructed(m: Machine, value: Value, args: list[Value], span: Span) -> Value:
    """Note that a pipeline, or a state of one, was made; the value says where from now on."""
    if isinstance(value, Object):
        cls = watched(m, value.cls)
        if cls is None or class_name(cls).rpartition("::")[0] != "cutlass":
            return value
        if cls.decl.name == _SEQUENCE:
            sequences.made(m, value, span)
            return value
        name, arguments, derived = cls.decl.name, cls.args, cls is not value.cls
        mark = _mark(span, _place(value))
        value.fields[MADE] = Str(mark)
    elif isinstance(value, Extern) and isinstance(value.type, ExternType) and not value.type.name.endswith(_SEQUENCE):
        name, arguments, mark = value.type.name.rpartition("::")[2], value.type.args, _mark(span)
        derived = False
        value = replace(value, what=f"{value.what}{mark}")
    else:
        return value
    numbers: list[tuple[str, object]] = [("num_stages", constant(arguments[0]) if arguments else None)]
    if name == STATE:
        numbers.append(("type", _role(args)))
        _note(m, "make_pipeline_state", mark, span, numbers)
    else:
        told = _parameters(m, args, span)
        if derived:  # which may initialise its barriers for other arrivals
            numbers += [(key, n) for key, n in told if key != _CONSUMERS]
        else:
            numbers += told
            numbers += _arrivals(m, name, arguments, args, span)
            numbers.append(("initialises", _INITIALISES.get(name) == len(args) or None))
        numbers.append(("storage", _place(value) or None))
        _note(m, f"{name}.create", mark, span, numbers)
    return value


def applied(m: Machine, fn: Value, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """A call, as far as it is of a pipeline and gives something else than its body says."""
    of = used(m, fn, args, span)
    if isinstance(fn, FuncSet) and fn.name == "index" and fn.self_ is not None and fn.self_.cls.decl.name == STATE:
        from cutecheck.source.eval.calls import call_functions

        return _stage(call_functions(m, fn, args, kwargs, span), fn.self_)
    if not of and not (isinstance(fn, FuncSet) and fn.name == START and fn.cls is None):
        return DEFER
    from cutecheck.source.eval.calls import call_functions

    if not of and isinstance(fn, FuncSet) and fn.targs and isinstance(fn.targs[0], ExternType):
        # of a class that no header has, as the prelude lacks some: its stages are in no member
        return intrinsics.call(m, Intrinsic(START, fn.targs), args, kwargs, span)
    if not isinstance(fn, FuncSet):
        numbered = isinstance(fn, Extern) and fn.what.startswith(_NUMBERED)
        return _as_number(m, barrier_of(None, of), span) if numbered else barrier_of(None, of)
    m.recorder.making += not of
    try:
        value = call_functions(m, fn, args, kwargs, span)
    finally:
        m.recorder.making -= not of
    if not of:
        return started(m, value, span)
    return _as_number(m, barrier_of(None, of), span) if isinstance(value, Scalar) else barrier_of(value, of)


def _as_number(m: Machine, barrier: Value, span: Span) -> Value:
    """The barrier that a pipeline gives by its address, for an instruction of assembly."""
    return Scalar(shared_addresses.as_number(m, barrier, span), "uint32_t")


def of_buffer(name: str) -> str:
    """The pipeline whose barriers are so called; empty where they are of none."""
    found = _OF_BARRIER.match(f"*{name}")
    return found[1] if found is not None else ""


def _stage(value: Value, state: Object) -> Value:
    """The index of a state that went on any number of times: one of the stages."""
    stages = constant(state.cls.args[0]) if state.cls.args else None
    if not stages or not made_at(state) or not isinstance(value, Scalar) or not isinstance(value.value, Dyn):
        return value
    names = value.value.expr.variables()
    if len(names) != 1 or value.value.expr != as_expr(Dyn.named(names[0].name, names[0].domain)):
        return value
    return Scalar(Dyn.named(names[0].name, Domain(0, stages - 1)), value.ctype)


def advanced(m: Machine, value: Value, span: Span) -> None:
    """``++state`` of one whose class is not in the tree."""
    of = made_at(value)
    if of:
        _note(m, "advance", of, span)


def started(m: Machine, value: Value, span: Span) -> Value:
    """Note what ``make_producer_start_state`` gives."""
    return constructed(m, value, [Scalar(n, "int") for n in (0, 1, 0)], span) if isinstance(value, Object) else value


def used(m: Machine, fn: Value, args: list[Value], span: Span) -> str:
    """Note a method that is about to be called, or what is given to who knows whom; whose barrier it gives."""
    if isinstance(fn, FuncSet):
        if fn.self_ is not None and fn.self_.cls.decl.name == _OF_STORES and (replay := m.recorder.acts()) is not None:
            replay.known.add(span)
        of = made_at(fn.self_) if fn.self_ is not None else ""
        cls = watched(m, fn.self_.cls) if fn.self_ is not None else None
        if fn.self_ is None or cls is None:
            return ""
        kind, name = cls.decl.name, fn.name
        if kind == _SEQUENCE and not inside(m):
            sequences.used(m, fn.self_, name, span)
    elif isinstance(fn, Extern):
        found = _OBJECT.match(fn.what)
        if found is None or found[1] not in WATCHED or not found[3]:
            _given(m, args, span)
            return ""
        kind, of, name = found[1], found[2], found[3]
    else:
        if isinstance(fn, Unknown):
            _given(m, args, span)
        return ""
    if not of or inside(m):
        return ""
    if kind == STATE:
        if name in ("operator++", "operator+=", "advance"):
            _note(m, "advance", of, span)
        elif name == "operator=":
            same = bool(args) and made_at(args[0]) == of
            if same or m.recorder.replaying is None:  # a run pass by pass goes on with what the state then is
                _note(m, "advance" if same else "escapes", of, span)
        return ""
    told: list[tuple[str, object]]
    tries = _TRIES.match(name)
    kept = args[0] if args and isinstance(args[0], Object) else None
    if m.recorder.replaying is not None and kept is not None:
        m.recorder.replaying.state = kept.fields.get("index_"), kept.fields.get("phase_")
    if tries is not None:
        function = m.recorder.frame.function if m.recorder.frame is not None else None
        asked = isinstance(function, ir.Function) and tokens.is_asked_by_a_loop(function, span)
        told = [("asked", asked or None), ("handed on", tokens.is_handed_on(m, function, span) or None)]
        _note(m, f"{tries[1]}_try", of, span, told)
    elif name in _STEPS:
        state = made_at(args[0]) if args else ""
        told = [("state", state or None), ("index", _index(args[0]) if args else None)]
        if name == "producer_commit" and len(args) > 1 and not isinstance(args[1], Scalar):
            told.append(("after", "cp.async"))  # what arrives there once the thread's copies are done
        _note(m, name, of, span, told)
    return of if name == "producer_get_barrier" else ""


def _index(state: Value) -> str | None:
    """The stage that a state is at, as text: copies that went on otherwise are at others."""
    index = state.fields.get("index_") if isinstance(state, Object) else None
    return str(index.value) if isinstance(index, Scalar) and isinstance(index.value, (int, Dyn)) else None


def barrier_of(value: Value, of: str) -> Value:
    """The barrier that a pipeline gives, as a pointer that says whose it is."""
    name = f"{_BARRIER} {of.partition('~')[0]}"
    if isinstance(value, Pointer):
        return replace(value, buffer=name)
    number = dtype("uint64_t")
    return Pointer(name, "smem", ScalarType(number)) if number is not None else value


def _note(m: Machine, name: str, of: str, span: Span, numbers: list[tuple[str, object]] | None = None) -> None:
    m.recorder.pipelined(name, of, span, tuple((k, n) for k, n in numbers or () if n is not None))


def _mark(span: Span, place: str = "") -> str:
    at = f"@{span.place}"
    return f"{at}:{hashlib.sha256(f'{span.path}|{place}'.encode()).hexdigest()[:8]}"


def _place(value: Value) -> str:
    """Where the barriers are, as far as that is known."""
    for name in _POINTERS if isinstance(value, Object) else ():
        held = value.fields.get(name) if isinstance(value, Object) else None
        if isinstance(held, Pointer):
            return f"{held.buffer}+{held.offset}"
        if isinstance(held, Object):
            return _place(held)
    return ""


def _role(args: list[Value]) -> str | None:
    """Whose state it is by its first phase: a producer's starts with 1, since all stages are empty."""
    if not args:
        return "Consumer"
    phase = constant(args[1]) if len(args) == 3 and constant(args[0]) == 0 else None
    return {0: "Consumer", 1: "Producer"}.get(phase if phase is not None else -1)


def _parameters(m: Machine, args: list[Value], span: Span) -> list[tuple[str, object]]:
    """What ``Params`` says, among the arguments of a constructor."""
    given = next((a for a in args if isinstance(a, Object) and a.cls.decl.name == "Params"), None)
    if given is None:
        return []
    names = {d.name for _, d in classes.fields(m, given.cls)}
    wanted = (("tx_count", "transaction_bytes"), (_CONSUMERS, "num_consumers"))
    return [(k, constant(classes.get_field(m, given, n, span))) for k, n in wanted if n in names]


def _flat(given: list[Value], arguments: Sequence[Value]) -> Iterator[Value]:
    """Extents of the shapes that a pipeline is told: of its cluster, and of the blocks of an MMA."""
    for value in (*given[:1], *arguments[1:]):
        yield from value if isinstance(value, tuple) else ()


def _arrivals(
    m: Machine, name: str, arguments: Sequence[Value], args: list[Value], span: Span
) -> list[tuple[str, object]]:
    """How many threads' arrivals the barriers of full and of empty stages count, where all are of the same block."""
    given = next((a for a in args if isinstance(a, Object) and a.cls.decl.name == "Params"), None)
    if given is None:
        return []
    names = {d.name for _, d in classes.fields(m, given.cls)}
    if name == "PipelineTmaAsync" and len(args) > _CLUSTER and "num_consumers" in names:
        alone = args[_CLUSTER]
        if isinstance(alone, tuple) and alone and all(constant(n) == 1 for n in alone):
            return [("empty_arrivals", constant(classes.get_field(m, given, "num_consumers", span)))]
    elif name in _OF_UMMA and len(args) > _CLUSTER and all(constant(n) == 1 for n in _flat(args[_CLUSTER:], arguments)):
        counts = {key: n for key, n in _OF_UMMA[name].items() if isinstance(n, int) or n in names}
        return [
            (key, n if isinstance(n, int) else constant(classes.get_field(m, given, n, span)))
            for key, n in counts.items()
        ]
    elif (
        name in ("PipelineAsync", "PipelineTransactionAsync")
        and {"producer_arv_count", "consumer_arv_count", "dst_blockid"} <= names
    ):
        where = classes.get_field(m, given, "dst_blockid", span)
        number = where.value if isinstance(where, Scalar) else None
        if not isinstance(number, Dyn) or str(number) != _OWN_BLOCK:
            return []
        return [
            ("full_arrivals", constant(classes.get_field(m, given, "producer_arv_count", span))),
            ("empty_arrivals", constant(classes.get_field(m, given, "consumer_arv_count", span))),
        ]
    return []


def inside(m: Machine) -> bool:
    """A method of a pipeline, or of barriers in a sequence, calls others: none of the kernel's steps.

    Nor are those that work out, as a pipeline is made, which block a thread tells that a stage is free.
    """
    frame = m.recorder.frame
    if frame is not None and frame.function is not None and frame.function.name in _WHOM:
        return True
    while frame is not None:
        own = frame.given[0] if frame.given else None
        if isinstance(own, Object) and (own.cls.decl.name == _SEQUENCE or _made(own)):
            return True
        if frame.function is not None and frame.function.name == START:
            return True
        frame = frame.caller
    return False


def _made(own: Object) -> bool:
    return MADE in own.fields


def _given(m: Machine, args: list[Value], span: Span, depth: int = 0) -> None:
    for v in args:
        if isinstance(v, (Object, Extern, ObjectPointer)) and (lost := made_at(v)):
            _note(m, "escapes", lost, span)
        elif isinstance(v, Object) and depth < _DEPTH:
            _given(m, list(v.fields.values()), span, depth + 1)
        elif isinstance(v, tuple) and depth < _DEPTH:
            _given(m, list(v), span, depth + 1)


__all__ = ["WATCHED", "advanced", "applied", "barriers", "constructed", "inside", "of_buffer", "started", "watched"]
