"""What a call may have changed that is not walked, and elements that a walked one got by reference."""

from __future__ import annotations

from cutecheck.facts import Span, Unknown
from cutecheck.source.eval import (
    foreign,
    handed,
    ir,
    leaks,
    losses,
    observed,
    places,
    qualifiers,
    repeatable,
)
from cutecheck.source.eval.intrinsics import events
from cutecheck.source.eval.losses import fills, writes_arguments
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.observers import observes
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.tuples import FIRST_AND_SECOND, Elements
from cutecheck.source.eval.unwalked import may_run
from cutecheck.source.eval.values import (
    Address,
    Closure,
    Extern,
    FuncSet,
    Intrinsic,
    Object,
    ObjectPointer,
    Pointer,
    Value,
)


def lose_elements(m: Machine, node: ir.Call, fn: FuncSet | Closure, cells: list[places.Cells | None], env: Env) -> None:
    """Elements of arrays that were bound to references may have been written."""
    if not any(isinstance(a.value, (ir.Index, ir.Call, ir.Attr)) for a in node.args):
        return
    given = [fn.node.params] if isinstance(fn, Closure) else [e.decl.params for e in fn.entries]
    for i, a in enumerate(node.args):
        if i < len(cells) and cells[i] is not None:
            continue
        part = isinstance(a.value, ir.Attr) and a.value.ident in FIRST_AND_SECOND
        if part or isinstance(a.value, ir.Index) or getattr(getattr(a.value, "fn", None), "ident", "") == "get":
            own = [params[min(i, len(params) - 1)] for params in given if params]
            types = [p.type.pattern if isinstance(p.type, ir.Expand) else p.type for p in own]
            if any(qualifiers.refers(t) and not qualifiers.constant(t) for t in types):
                losses.lost(m, a.value, env)


_ITERATES = frozenset({
    "begin", "end", "data", "rbegin", "rend", "fill", "fill_n", "iota", "sort", "copy", "copy_n", "memcpy", "memset",
    "memmove", "transform", "reverse", "generate", "rotate",
})  # fmt: skip


_REFERS = frozenset({"ref", "tie", "forward_as_tuple", "addressof", "reference_wrapper"})


_KEEP_NOTHING = ("cuda", "__")  # functions of the run-time library and the compiler


def _is_variable(m: Machine, fn: ir.Expr, env: Env) -> bool:
    return not isinstance(fn, (ir.Name, ir.Scoped)) or places.again(m, fn, env) is not None


def may_write(
    m: Machine,
    node: ir.Call,
    fn: Value,
    args: list[Value],
    cells: list[places.Cells | None],
    env: Env,
    result: Value,
) -> None:
    """What a function that is not of the tree may have changed: anything whose address it got."""
    name = getattr(node.fn, "ident", "")
    if foreign.undeclared(fn):
        observed.may_change(m, node, fn, args, env)
    if name in _REFERS:
        for value, where in zip(args, cells, strict=False):
            leaks.leak_place(m, value, where)
        for a in node.args:
            if isinstance(a.value, (ir.Index, ir.Attr, ir.Call)):
                leaks.leak_root(m, a.value, env)
    if isinstance(fn, Unknown) and _is_variable(m, node.fn, env):
        leaks.called(m)
        handed.met(m, args)
    elif isinstance(fn, Extern) and isinstance(node.fn, (ir.Index, ir.Call)):  # what a container holds
        handed.met(m, args)
    if isinstance(fn, (Unknown, Extern)) and not observes(node.fn, fn, args, env):
        if not name.startswith(_KEEP_NOTHING):
            leaks.leak(m, *args)
        losses.lost_leaked(m, node.span)
    elif not isinstance(result, tuple):
        leaks.leak(m, *[v for v in args if isinstance(v, (Address, ObjectPointer))])
        if m.leaked and events.writes_object(name, args):
            losses.lost_leaked(m, node.span)
        if fills(name) and args:
            _filled(m, args[0], node.span)
        for tensor in events.written(name, args) if m.seen else ():
            losses.lost_under(m, tensor, node.span)
    for value, where in zip(args, cells, strict=False):
        if type(value) is Elements:
            leaks.leak_place(m, None, where)
    of_cuda, writes, iterates = losses.of_cuda(name), writes_arguments(name), name in _ITERATES
    for i, value in enumerate(args):
        if isinstance(value, Address):
            losses.forget_cells(m, value.cells, node.span)
        elif isinstance(value, ObjectPointer) and foreign.undeclared(fn):
            losses.lose(m, value.to, name, node.span)
        elif of_cuda and (i > 0 or isinstance(value, Pointer)):
            replay = m.recorder.acts()
            if replay is not None and isinstance(value, Pointer):
                replay.memory.stored.add(value.buffer)
            if i == 0:  # the others are numbers
                losses.lost_under(m, value, node.span)
        elif writes:
            losses.lost_under(m, value, node.span)
            where = cells[i] if i < len(cells) else None
            if where is not None:
                losses.forget_cells(m, where, node.span)
            elif i < len(node.args):
                losses.lost(m, node.args[i].value, env)
        elif iterates and i < len(node.args) and isinstance(value, tuple):
            if name == "transform" and isinstance(fn, Intrinsic) and type(value) is tuple:
                continue  # CuTe's, which makes another tuple
            losses.lost_part(m, node.args[i].value, env)  # through the iterator elements may be written
        elif isinstance(value, Closure) and foreign.undeclared(fn):
            may_run(m, value, node.span)
    if foreign.undeclared(fn):
        m.lvalues = (args, cells)
        foreign.may_write(m, node.fn, node.args, fn, args, env, node.span)
    if isinstance(node.fn, ir.Attr) and name in _ITERATES and isinstance(m.eval(node.fn.base, env), tuple):
        losses.lost_part(m, node.fn.base, env)
    if isinstance(node.fn, ir.Attr) and isinstance(fn, Unknown):
        base = places.locate(m, node.fn.base, env)[0] if repeatable.quiet(node.fn.base) else None
        base = base.to if isinstance(base, ObjectPointer) else base
        if isinstance(base, Object):
            losses.lose(m, base, base.cls.name, node.span)
        elif base is None or isinstance(base, Unknown):
            losses.lost_pointed(m, node.span)


def _filled(m: Machine, to: Value, span: Span) -> None:
    """Memory behind an address is written, by a function that gets the address first."""
    if isinstance(to, Unknown):
        losses.lost_pointed(m, span)
        return
    losses.lost_leaked(m, span)
    if isinstance(to, ObjectPointer):
        losses.lose(m, to.to, to.to.cls.name, span)
