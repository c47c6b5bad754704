"""Loops over the elements of registers: passes that do what those before did, by what their body spells.

A softmax or a mask goes through the 128 numbers of a thread one by one. Such a body computes, stores into tensors and
calls functions that do no more; no condition in it asks which pass it is. A few passes tell what all of them leave.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cutecheck.facts import Span
from cutecheck.model.identity import once
from cutecheck.records import record
from cutecheck.source.dsl.values import Builtin
from cutecheck.source.eval import ir
from cutecheck.source.eval.intrinsics.types import is_integer
from cutecheck.source.eval.mentions import names_in, parts_in
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.types import is_type
from cutecheck.source.eval.values import Extern, FuncSet, Intrinsic, TensorVal, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_NUMBERS = frozenset((
    "abs", "bool", "dsl.const_expr", "dsl.range_constexpr", "dsl.size", "float", "int", "isinstance", "len", "max",
    "min", "range", "size", "ceil_div", "dsl.rank", "rank", "dsl.ceil_div",
))  # fmt: skip
_OF_NUMBERS = frozenset(("bitcast", "inline_asm", "ir_value", "to"))  # methods; what an instruction of its own computes
_LIBRARIES = ("cute.arch.", "cutlass.cute.arch.", "cute.math.", "math.", "arch.", "T.", "cutlass.cutlass_dsl.T.")
_DOES_MORE = (
    "alloc", "arrive", "async", "barrier", "cluster", "commit", "copy", "elect", "fence", "get_dyn", "griddep", "load",
    "mbarrier", "reg_", "register", "setmax", "store", "sync_threads", "sync_warp", "tmem", "wait",
)  # fmt: skip
_DEPTH = 3  # functions that call each other


def repeats(m: Machine, node: ir.Loop, env: Env) -> bool:
    """Further passes of a loop do to what is followed as those before did. Asked after the first, in its scope."""
    body = _plain(node)
    if body is None:
        return False
    with m.recorder.rehearsing(), m.budget.aside(), m.journal.forgetting():
        run = m.recorder.replaying
        reads = run is not None and run.thread is not None  # of a thread that is run they are no steps
        for name in body.indexed:
            value = m.eval(name, env)
            if not _in_registers(value) and not (reads and name.ident not in body.stored and _of_numbers(value)):
                return False
        return all(_computes(m, call.fn, env, 0, not _tells(call, body.own)) for call in body.calls)


@record(frozen=True, slots=True)
class _Plain:
    """A body that does the same in each pass, if its calls do. ``own``: what may differ from one pass to the next."""

    own: frozenset[str]
    calls: tuple[ir.Call, ...]
    indexed: tuple[ir.Name, ...]  # what has elements that are picked by these
    stored: frozenset[str] = frozenset()  # names of what elements are assigned to


def _in_registers(value: Value) -> bool:
    """Its elements are run-time numbers of which no fact is kept, or coordinates."""
    return isinstance(value, TensorVal) and (value.space == "rmem" or value.pointer is None)


def _of_numbers(value: Value) -> bool:
    """Shared memory whose elements decide nothing that is followed: no counts, phases or addresses."""
    return (
        isinstance(value, TensorVal)
        and value.space == "smem"
        and value.dtype is not None
        and not is_integer(value.dtype)
    )


@once
def _plain(node: ir.Loop) -> _Plain | None:
    """None where the body may do more than compute, or a condition in it may tell one pass from another."""
    own = _own_names(node)
    if own is None:
        return None
    calls: list[ir.Call] = []
    indexed: dict[str, ir.Name] = {}
    stored = _stored(node.body)
    for at in parts_in(node.body):
        if isinstance(at, ir.Call):
            if at.launch is not None:
                return None
            calls.append(at)
        elif isinstance(at, ir.Index):
            if not own.isdisjoint(names_in(at.args)):
                root = at.base
                while isinstance(root, (ir.Index, ir.Attr)):
                    root = root.base
                if not isinstance(root, ir.Name):
                    return None
                indexed[root.ident] = root
        elif isinstance(at, ir.If):
            if not own.isdisjoint(names_in(at.cond)) and not (_stores_alone(at.then) and _stores_alone(at.other)):
                return None
        elif isinstance(at, ir.Select):
            if not own.isdisjoint(names_in(at.cond)) and id(at) not in stored:
                return None
        elif isinstance(at, ir.Binary):
            if at.op in ("and", "or", "&&", "||") and not own.isdisjoint(names_in(at)) and id(at) not in stored:
                return None
        elif isinstance(at, _NEVER):
            return None
    targets = (at.target for at in parts_in(node.body) if isinstance(at, ir.Assign))
    elements = (at for target in targets for at in parts_in(target) if isinstance(at, ir.Index))
    return _Plain(
        own, tuple(calls), tuple(indexed.values()), frozenset(n for at in elements for n in names_in(at.base))
    )


_NEVER = (
    ir.Assert, ir.Attempt, ir.Comprehension, ir.Jump, ir.Lambda, ir.Local, ir.Opaque, ir.Raise, ir.Return, ir.Try,
    ir.With,
)  # fmt: skip


def _stores_alone(body: ir.Block | None) -> bool:
    """``if column >= limit: scores[i] = -inf``: what it decides is what elements become, which are not followed."""
    return body is None or all(isinstance(s, ir.Assign) and isinstance(s.target, ir.Index) for s in body.body)


def _stored(body: ir.Block) -> set[int]:
    """Expressions whose value goes into elements alone, or by which it is decided what does."""
    found: set[int] = set()
    for at in parts_in(body):
        if isinstance(at, ir.If) and _stores_alone(at.then) and _stores_alone(at.other):
            found.update(map(id, parts_in(at.cond)))
        if isinstance(at, ir.Assign) and isinstance(at.target, ir.Index):
            found.update(map(id, parts_in(at.value)))
    return found


def _own_names(node: ir.Loop) -> frozenset[str] | None:
    """The loop's item, what its body assigns to, and items of inner loops that depend on these."""
    targets: list[Any] = [node.target]
    inner: list[ir.Loop] = []
    for at in parts_in(node.body):
        if isinstance(at, ir.Assign):
            targets.append(at.target)
        elif isinstance(at, ir.Loop):
            if at.kind != "foreach":
                return None
            inner.append(at)
    found = _bound(targets)
    while found is not None:
        more = [loop for loop in inner if not found.isdisjoint(names_in(loop.iterable))]
        if not more:
            break
        inner = [loop for loop in inner if loop not in more]
        depends = _bound([loop.target for loop in more])
        found = None if depends is None else found | depends
    return found


def _bound(targets: list[Any]) -> frozenset[str] | None:
    """Names that are assigned to; None where something else is but elements of what has a name."""
    found: set[str] = set()
    while targets:
        target = targets.pop()
        if isinstance(target, ir.Arg):
            targets.append(target.value)
        elif isinstance(target, ir.Sequence_):
            targets += target.items
        elif isinstance(target, ir.Name):
            found.add(target.ident)
        elif isinstance(target, ir.Bind):
            found.update(target.names)
        elif not isinstance(target, ir.Index) or not isinstance(target.base, ir.Name):
            return None
    return frozenset(found)


def _tells(call: ir.Call, own: frozenset[str]) -> bool:
    """What is called may see which pass it is: not by the element of a tensor, which is a run-time number."""
    stack: list[Any] = [call.args]
    while stack:
        at = stack.pop()
        if isinstance(at, ir.Name) and at.ident in own:
            return True
        if isinstance(at, (tuple, list)):
            stack.extend(at)
        elif isinstance(at, ir.Index) and isinstance(at.base, ir.Name) and at.base.ident not in own:
            continue  # `_indexed` has seen to it that this is a tensor
        elif hasattr(at, "__dataclass_fields__") and not isinstance(at, Span):
            stack.extend(getattr(at, f) for f in at.__dataclass_fields__ if f not in ("span", "full_span"))
    return False


def _computes(m: Machine, fn: ir.Expr, env: Env, depth: int, alike: bool) -> bool:
    """A call does nothing but compute. ``alike``: one of a function of the tree that is given the same each time."""
    if isinstance(fn, ir.Attr) and fn.ident in _OF_NUMBERS:
        return True
    if not isinstance(fn, (ir.Name, ir.Attr)):
        return False
    value: Value = m.eval(fn, env)
    if isinstance(value, (Intrinsic, Builtin, Extern)):
        name = value.what if isinstance(value, Extern) else value.name
        return name in _NUMBERS or (name.startswith(_LIBRARIES) and not any(w in name for w in _DOES_MORE))
    if not isinstance(value, FuncSet):
        return is_type(value)
    if not alike or value.self_ is not None or depth >= _DEPTH:
        return False
    return all(_function(m, e.decl, Env(e.env, "function"), depth) for e in value.entries)


def _function(m: Machine, decl: Any, env: Env, depth: int) -> bool:
    if not isinstance(decl, ir.Function) or decl.body is None or "kernel" in decl.flags:
        return False
    own = frozenset(p.name for p in decl.params)
    for at in parts_in(decl.body.get()):
        if isinstance(at, (*_MORE, ir.Local)):
            return False
        if isinstance(at, ir.Assign) and not isinstance(at.target, (ir.Name, ir.Sequence_)):
            return False
        if isinstance(at, ir.Call):
            root = at.fn
            while isinstance(root, ir.Attr):
                root = root.base
            method = isinstance(at.fn, ir.Attr) and at.fn.ident in _OF_NUMBERS
            if not method and isinstance(root, ir.Name) and root.ident in own:
                return False  # what it is given
            if not _computes(m, at.fn, env, depth + 1, True):
                return False
    return True


_MORE = (ir.Attempt, ir.Comprehension, ir.Lambda, ir.Loop, ir.Opaque, ir.Raise, ir.Try, ir.With)
