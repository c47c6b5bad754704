"""Launches of kernels: ``kernel(args).launch(grid=..., block=...)``."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from cutecheck.cache import digest
from cutecheck.facts import Span
from cutecheck.model.ints import Dyn, Int, as_expr
from cutecheck.model.inttuple import flatten_to_tuple
from cutecheck.model.layout import Layout
from cutecheck.model.units import Bytes
from cutecheck.source.dsl import defining, modules, novelty
from cutecheck.source.dsl.functions import device_arguments, run
from cutecheck.source.dsl.host_tensors import numbers_of_host
from cutecheck.source.dsl.likeness import likeness
from cutecheck.source.dsl.replays import replay
from cutecheck.source.dsl.values import KernelCall
from cutecheck.source.eval import calls, ir
from cutecheck.source.eval.scope import Entry
from cutecheck.source.eval.values import Object, Scalar, TensorVal, Value, constant

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine


def _configure(m: Machine, decl: ir.Function, symbol: str, call: KernelCall, dims: tuple[int | None, ...]) -> str:
    """Number this launch, and give a digest of it: those of equal objects with one block and constants are one.

    Buffers and copies of several configurations are several, as for the instances of a template.
    """
    given = tuple(_brief(a) for a in (*call.args, *(v for _, v in call.kwargs)))
    made = digest(repr((f"{decl.span}", given, dims)))
    seen = (
        modules.state(m).setdefault("configurations", {}).setdefault(symbol, [])
    )  # of functions of one name, together
    if made not in seen:
        seen.append(made)
    modules.state(m).setdefault("launched", {})[id(decl)] = seen.index(made) + 1
    return made


def _brief(v: Value) -> Hashable:
    """What of an argument makes another configuration; an object of which nothing says what it equals is its own."""
    if isinstance(v, TensorVal):
        return repr(v.dtype)
    like = likeness([v], lasting=True)
    return like if like is not None else f"{type(v).__name__} {id(v) if isinstance(v, Object) else ''}"


def configuration(m: Machine, fn: ir.Function) -> tuple[str, ...]:
    """The number of the launch of a kernel that is walked, from the second configuration on."""
    number = modules.state(m).get("launched", {}).get(id(fn), 1)
    return (*_supposed(m), *((f"configuration {number}",) if number > 1 else ()))


def _supposed(m: Machine) -> tuple[str, ...]:
    """What the functions that are walked for a supposed call are told by."""
    return () if m.dialect.supposing is None else (m.dialect.supposing.tag,)


def configured(m: Machine) -> dict[str, tuple[str, str]]:
    """Kernels that were launched: their names without the configuration, and the digests of it."""
    found: dict[str, tuple[str, str]] = modules.state(m).setdefault("configured", {})
    return found


def launch(m: Machine, call: KernelCall, args: list[Value], kwargs: dict[str, Value], span: Span) -> Value:
    """``kernel(args).launch(grid=..., block=...)``: the block size holds inside the kernel."""
    block = kwargs.get("block")
    dims = _extents(block)
    threads: int | None = 1
    for d in dims:
        threads = None if threads is None or d is None else threads * d
    entry = call.function.entries[-1]
    supposition = m.dialect.supposing
    if supposition is not None:
        if entry.decl.full_span in supposition.called:  # there are calls that nobody need suppose
            supposition.known += 1
            return None
        if m.dialect.library.scanned(entry.decl.span.path):  # type: ignore[attr-defined]
            supposition.kernels.add(entry.decl.full_span)
    walks = m.dialect.library.launches  # type: ignore[attr-defined]
    like = _likeness(m, call, entry, kwargs)
    walked = modules.state(m).setdefault("walked", set())
    if like is not None and like in walks:
        walked |= walks[like]
        m.budget.known += 1
        return None
    if like is not None and novelty.is_left_out(m, entry, (*call.args, *(v for _, v in call.kwargs))):
        m.budget.known += 1
        return None
    begin = m.budget.used
    reached: set[int] = set()
    modules.state(m)["walked"] = reached
    try:
        _walk(
            m, call, entry, dims, _blocks(kwargs.get("grid")), threads, _shared_memory(kwargs), span, _cluster(kwargs)
        )
    finally:
        modules.state(m)["walked"] = walked
        walked |= reached
        novelty.spent(m, entry.decl, m.budget.used - begin)
    if like is not None and like == _likeness(m, call, entry, kwargs):  # what changes its arguments is walked each time
        walks[like] = frozenset(reached)
    return None


def _extents(given: Value) -> list[int | None]:
    """The extents of a grid or block along x, y, z, as far as they are numbers."""
    return [constant(v) for v in given] if isinstance(given, (tuple, list)) else [constant(given)]


def _blocks(given: Value) -> list[Int | None]:
    """The blocks of a grid along x, y, z, each a number or what it is computed from; None where that is not known."""
    found = [v.value if isinstance(v, Scalar) else v for v in (given if isinstance(given, (tuple, list)) else [given])]
    return [v if isinstance(v, (int, Dyn)) else None for v in found]


def _likeness(m: Machine, call: KernelCall, entry: Entry, kwargs: dict[str, Value]) -> Hashable | None:
    """What a launch has in common with those that walk the kernel alike; None where each is walked."""
    if m.recorder.rehearsal or m.recorder.open:
        return None
    certain = bool(m.functions.get("dsl architecture is certain"))
    found = likeness(
        [
            replace(call.function, entries=(entry,)),
            call.args,
            call.kwargs,
            kwargs.get("block"),
            _extents(kwargs.get("grid")),
            constant(kwargs.get("smem")),
        ]
    )
    return None if found is None else (m.arch, certain, m.attempts is not None, found)


def _shared_memory(kwargs: dict[str, Value]) -> Bytes | None:
    """Bytes of dynamic shared memory that a launch names; what it leaves to the DSL is what the kernel allocates."""
    given = constant(kwargs.get("smem"))
    merged = kwargs.get("smem_merge_branch_allocs") not in (None, False)  # allocations of branches share their memory
    return Bytes(given) if given and not merged else None


def _cluster(kwargs: dict[str, Value]) -> tuple[int | None, ...]:
    """Blocks of a cluster along x, y, z; nothing where the launch names none."""
    given = kwargs.get("cluster")
    return () if given is None else tuple(_extents(given))


def _numbers(m: Machine, args: Iterable[Value], grid: tuple[Int, ...]) -> tuple[tuple[str, int], ...]:
    """What the host has for the run-time extents and strides of the tensors that a kernel is given, and of its grid."""
    known = numbers_of_host(m)
    asked = {v.name for n in grid for v in as_expr(n).variables()} if known else set[str]()
    for t in args if known else ():
        layout = t.layout if isinstance(t, TensorVal) else None
        for n in (
            (*flatten_to_tuple(layout.shape), *flatten_to_tuple(layout.stride)) if isinstance(layout, Layout) else ()
        ):
            asked |= {v.name for v in as_expr(n).variables()} if isinstance(n, Dyn) else set[str]()
    return tuple((name, known[name]) for name in sorted(asked) if name in known)


def _walk(
    m: Machine,
    call: KernelCall,
    entry: Entry,
    dims: list[int | None],
    grid: list[Int | None],
    threads: int | None,
    smem: Bytes | None,
    span: Span,
    cluster: tuple[int | None, ...],
) -> None:
    owner = defining.owner(m, entry.decl)
    bare = calls.instance_symbol(entry, entry.decl, _supposed(m), owner)
    made = _configure(m, entry.decl, bare, call, (*dims, *cluster))
    symbol = calls.instance_symbol(entry, entry.decl, configuration(m, entry.decl), owner)
    if not m.recorder.open:
        configured(m)[symbol] = (bare, made)
    m.recorder._threads.pop(symbol, None)
    m.recorder._dims.pop(symbol, None)
    known = tuple(v for v in grid if v is not None)
    blocks = known if len(known) == len(grid) else ()
    numbers = _numbers(m, (*call.args, *(v for _, v in call.kwargs)), blocks)
    m.recorder.launched(
        symbol, span, threads, smem, tried=m.attempts is not None, blocks=blocks, shape=cluster, numbers=numbers
    )
    m.recorder._grids[symbol] = tuple(constant(v) for v in grid)
    if any(d is not None for d in dims):
        m.recorder._dims[symbol] = tuple(dims)
    args, kwargs = device_arguments(m, entry.decl, list(call.args), dict(call.kwargs), True, entry.env, span)
    cut = m.recorder.left_out()
    run(m, call.function, entry, args, kwargs, span)
    if not m.recorder.open and m.recorder.left_out() == cut:
        m.recorder.leaves(symbol, entry.decl.span)
    replay(m, entry, entry.decl, args, kwargs, symbol, span)
