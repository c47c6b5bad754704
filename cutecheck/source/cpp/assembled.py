"""Inline assembly that initialises barriers, arrives at them and waits: noted as CUTLASS's functions for the same are.

A function around one such instruction says nothing of its own: it is a step of the function that calls it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cutecheck.facts import Span, Unknown
from cutecheck.facts.resources import TMEM_FREED
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, div, known_value, mod
from cutecheck.source.cpp import barriers, named_barriers, pipelines
from cutecheck.source.cpp.around import SILENT, as_step
from cutecheck.source.cpp.lower.instructions import CHUNKS, PRODUCTS, REMOTE, SPECIAL
from cutecheck.source.eval import ir, places, shared_addresses, writes
from cutecheck.source.eval.intrinsics import cuda, warps
from cutecheck.source.eval.record.in_clusters import is_by_thread
from cutecheck.source.eval.threads import some
from cutecheck.source.eval.values import Pointer, Scalar, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine
    from cutecheck.source.eval.scope import Env

_BARRIER = 8  # bytes
_WARP = 32
_ROW, _SIZE = 16, 2  # bytes of a matrix's row; the operand of cp.async that says how many
_RESPONSE = 16  # bytes of what says whether a block was cancelled
_RESERVED = 8  # barriers of the hardware that CUTLASS does not count
# how an operation is noted, how often each thread that comes there arrives, and each warp once its MMAs are done
_NOTED: dict[str, tuple[str, int | None, int | None]] = {
    "init": ("init", None, None), "arrive_expect": ("expect", 1, None), "expect": ("expect", 0, None),
    "complete": ("arrive", None, None), "arrive": ("arrive", 1, None), "wait": ("wait", None, None),
    "copied": ("arrive", 1, None), "commit": ("arrive", None, 1),
}  # fmt: skip
_TELLS = {"arrive_expect": "arrive_and_expect_tx", "expect": "mbarrier_expect_tx"}
_REGISTERS = {"more_registers": "warpgroup_reg_alloc", "fewer_registers": "warpgroup_reg_dealloc"}
_INDICES = {"tid": "threadIdx", "ctaid": "blockIdx", "ntid": "blockDim", "nctaid": "gridDim"}


def operations(m: Machine, node: ir.Opaque, env: Env) -> bool:
    """Note what a statement does; False where it does nothing of this, or it is not known with which barrier."""
    if node.operations == () or m.recorder.in_barrier or not m.recorder.in_kernel():
        return False
    if node.operations is None:
        m.recorder.barrier("escapes", barriers.NOWHERE, node.span, ())
        return False
    known = [_does(m, one, node, env) for one in node.operations]
    return all(known)


def escapes(m: Machine, values: list[Value], span: Span) -> None:
    """Addresses go to assembly or to code that is not followed, which may do anything with barriers there."""
    for buffer in sorted({b for v in values for b in shared_addresses.buffers(v)}):
        m.recorder.barrier("escapes", buffer, span, ())


def _does(m: Machine, one: ir.Operation, node: ir.Opaque, env: Env) -> bool:
    values = [Unknown("an operand of assembly", node.span) if e is None else m.eval(e, env) for e in one.operands]
    replay = m.recorder.acts()
    if one.name in SILENT:
        if one.name == "other":
            return True
        if one.name == "canceled":
            _asks(m, one, values[0] if values else None, env, node.span)
            return True
        _set(m, one, _given(m, one.name, values), env, node.span)
        return True
    hidden = pipelines.inside(m)
    classed = hidden or named_barriers.inside(m)
    with as_step(m, node.span) as (span, around):
        if replay is not None:
            replay.known.add(node.span)
        if one.name in _REGISTERS:
            name = _REGISTERS[one.name]
            if name not in around:  # whose calls are noted
                m.recorder.synchronises(m, name, values, span, "registers")
            return True
        if one.name == "tmem_free":
            m.recorder.synchronises(m, "tcgen05.dealloc", [], span, TMEM_FREED)
            return True
        if one.name in ("cluster_arrive", "cluster_wait"):
            if one.name not in around:
                m.recorder.synchronises(m, one.name, [], span)
            return True
        if one.name in PRODUCTS:
            if replay is not None:
                _product(m, one, values, span)
            return True
        if one.name in REMOTE:
            m.recorder.reaches(span, one.name == "remote_told")
            if one.name != "remote_told":
                return True
            told = _place(m, values[-1], span) if values else None  # by bytes from any block of the cluster
            m.recorder.barrier("escapes", barriers.NOWHERE if told is None else told[0], span, ())
            return told is not None
        if one.name in CHUNKS:
            _chunk(m, one, values, span)
            return True
        if one.name == "store":
            at = shared_addresses.place(values[0]) if not isinstance(values[0], Pointer) else None
            if at is not None:
                m.recorder.drained(span, at, m.dialect.to_model(values[1]) if len(values) > 1 else None)
            return True
        if one.name in ("sync", "named_arrive"):
            if not classed:
                _hardware(m, one, values, span)
            return True
        to = None if one.to is None else m.eval(one.to, env)
        known = _at_barrier(m, one, values, span, hidden, to)
    m.recorder.synchronises(m, "asm.mbarrier_wait" if one.name == "wait" else "asm.mbarrier", [], node.span)
    if known and one.name == "wait" and replay is not None and one.result is not None:
        _set(m, one, Scalar(1, "uint32_t"), env, node.span)  # the run goes on when the phase is over
    return known


def _at_barrier(
    m: Machine, one: ir.Operation, values: list[Value], span: Span, hidden: bool, to: Value = None
) -> bool:  # fmt: skip
    """Note a step; one of a pipeline is none of the kernel's."""
    found = _place(m, values[one.name == "load"], span)
    if hidden:
        if found is not None:
            m.recorder.worked_by_library(found[0], span)
        return True
    if found is None or (one.maybe and one.name != "arrive"):
        m.recorder.barrier("escapes", barriers.NOWHERE, span, ())
        return False
    buffer, index = found
    given = tuple(m.dialect.to_model(v) for v in values[1:])
    if one.name == "load":
        to = shared_addresses.place(values[0])
        m.recorder.loaded(buffer, span, (index, *given[1:]), to, pipelines.of_buffer(buffer))
        return True
    kind, arrivals, commits = _NOTED[one.name]
    if one.name == "arrive" and given:
        arrivals, given = (given[0] if isinstance(given[0], int) else None), ()
    elif one.name == "copied" and given:
        arrivals, given = 0, ()
    if one.far or one.maybe:
        arrivals, commits = None, None if commits is None else 0
    block = () if to is None or kind != "arrive" else (m.dialect.to_model(to),)
    if shared_addresses.is_far(values[0]) and m.recorder.acts() is not None and kind == "arrive":
        block = (1,)  # another one than the first, whose run this is
    elif shared_addresses.is_first(values[0]) and kind == "arrive":
        block = (0,)
    elif not block and one.far and kind == "arrive":
        block = _block_of(m, values[0])
    m.recorder.barrier(kind, buffer, span, (index, *given), arrivals, commits, block)
    if one.name in _TELLS:
        m.recorder.synchronises(m, _TELLS[one.name], values[1:], span)
    return True


def _block_of(m: Machine, address: Value) -> tuple[Value, ...]:
    """The block that an address is in, where the statement that made it said so."""
    number = address.value if isinstance(address, Scalar) else address
    to = m.recorder.ranks.get(number.expr) if isinstance(number, Dyn) else None
    return () if to is None else (to,)


def _place(m: Machine, value: Value, span: Span) -> tuple[str, Value] | None:
    """The buffer that a barrier is in, and how many of its size are before it there."""
    found = shared_addresses.located(m, value, span) if isinstance(value, Pointer) else shared_addresses.place(value)
    return None if found is None else (found[0], m.dialect.to_model(div(Dyn(found[1]), Dyn.of(_BARRIER))))


def _product(m: Machine, one: ir.Operation, values: list[Value], span: Span) -> None:
    """A step of a run: an MMA of operands that descriptors say where to find."""
    replay, frame = m.recorder.acts(), m.recorder.frame
    if replay is None or frame is None:
        return
    of = [(found[0], value) for value in values if len(found := shared_addresses.buffers(value)) == 1]
    replay.multiplies(one.name, span, frame.symbol, of)


def _chunk(m: Machine, one: ir.Operation, values: list[Value], span: Span) -> None:
    """Bytes that each thread copies to shared memory, or that its warp reads or writes for all of its threads."""
    given = m.dialect.to_model(values[_SIZE]) if len(values) > _SIZE else _ROW
    size = known_value(given) if isinstance(given, (int, Dyn)) else None
    at = shared_addresses.place(values[0])
    if at is None or size is None:
        return
    if one.name == "cp_async":
        m.recorder.chunk(span, at, size, "copied", values[1], one.maybe)
    else:
        m.recorder.chunk(span, at, size, "read" if one.name == "ldmatrix" else "stored", None, one.maybe)


def _asks(m: Machine, one: ir.Operation, address: Value, env: Env, span: Span) -> None:
    """Whether another block was cancelled, whose tile this one has: some are, in a run of one thread."""
    at, replay = shared_addresses.place(address), m.recorder.acts()
    if at is not None:
        m.recorder.chunk(span, at, _RESPONSE, "read", None, one.maybe)
    if replay is not None and replay.thread is not None:
        _set(m, one, Scalar(int(replay.canceled(at)), "uint32_t"), env, span)


def _hardware(m: Machine, one: ir.Operation, values: list[Value], span: Span) -> None:
    """A barrier of the hardware; without a number of threads all of the block come there."""
    if len(values) < 2:
        m.recorder.synchronises(m, "__syncthreads", [], span)
        return
    which, count = (m.dialect.to_model(v) for v in values)
    which = which - _RESERVED if isinstance(which, (int, Dyn)) else which
    if one.name == "sync":
        m.recorder.barrier("named", barriers.NAMED, span, (count, which))
        m.recorder.synchronises(m, "arrive_and_wait", [], span)
    else:
        m.recorder.arrives((count, which), span)


def _given(m: Machine, name: str, values: list[Value]) -> Value:
    """What an address in another block is, or who is elected."""
    if name == "mapa":
        replay = m.recorder.acts()
        if replay is not None and replay.thread is not None and len(values) > 1:
            number = replay.whole(values[1], False)
            if number == 0 and is_by_thread(values[1]):
                return Scalar(shared_addresses.moved(values[0], True), "uint32_t")
            if not number:
                return values[0]  # its own, or that of a block which is not known: each is told as it tells others
        there = shared_addresses.moved(values[0])
        if there is not None and len(values) > 1:
            m.recorder.ranks[there.expr] = m.dialect.to_model(values[1])
        return Scalar(there, "uint32_t")
    if name in SPECIAL:
        return _register(m, name)
    replay = m.recorder.acts()
    if replay is not None and replay.thread is not None:
        return Scalar(int(replay.elected), "uint32_t")
    return Scalar(some(m, "elected", Domain(0, 1), True), "uint32_t")


def _register(m: Machine, name: str) -> Value:
    """What a register of the hardware holds: the value of CUDA's variable for it."""
    if name == "laneid":
        return Scalar(mod(cuda.thread_number(m), Dyn.of(_WARP)), "uint32_t")
    if name == "cluster_ctarank":
        return warps.rank()
    of, _, axis = name.partition(".")
    return cuda.component(m, _INDICES[of], axis)


def _set(m: Machine, one: ir.Operation, value: Value, env: Env, span: Span) -> None:
    cells = None if one.result is None else places.again(m, one.result, env)
    old = None if cells is None else places.read(m, cells, span)
    if cells is not None and isinstance(old, Scalar) and isinstance(value, Scalar) and value.value is not None:
        writes.write(m, cells, Scalar(value.value, old.ctype), span)


__all__ = ["escapes", "operations"]
