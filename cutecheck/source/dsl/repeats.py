"""Functions of ``cute.jit`` that host code calls, or compiles, again with equal arguments: walked the first time only.

What a call came to it comes to again: its launches are those that were walked. Fields that it sets of the objects it is
given are set again to what they were, where that is plain, and are not known else. A call that changed anything else,
gave a value back, or might have raised an exception, is walked each time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from cutecheck.facts import Span, Unknown
from cutecheck.source.dsl import modules
from cutecheck.source.dsl.flow import plain
from cutecheck.source.dsl.likeness import likeness
from cutecheck.source.dsl.novelty import leave_out
from cutecheck.source.eval import calls
from cutecheck.source.eval.ages import made_since
from cutecheck.source.eval.containers import Contents, lose
from cutecheck.source.eval.held_fields import Fields, serials
from cutecheck.source.eval.journal import Cell
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.values import Closure, FuncSet, Object, ScalarType, Value

if TYPE_CHECKING:
    from cutecheck.source.eval.machine import Machine

_MOST = 2_000  # objects that are looked at for those that are given
_SHARE = 50  # of the steps that may come to nothing: a call with more is worth leaving out
_SYNTAX = "cutecheck.source.eval.ir"
_LARGEST = 100_000  # values of a program that are looked at
_Path: TypeAlias = "tuple[Hashable, ...]"  # of an object that is given, from the arguments on; empty for others
_Written: TypeAlias = "tuple[_Path, Cell]"


@dataclass(slots=True)
class Walked:
    """What a call did: the functions it came to, and the fields it set of which of the objects that it was given."""

    reached: frozenset[int]
    fields: list[tuple[int, str, Value]]


def once(
    m: Machine, fn: FuncSet, entry: Entry, args: list[Value], kwargs: dict[str, Value], span: Span,
    run: Callable[[], Value],
) -> Value:  # fmt: skip
    """Run a function of the device that the host calls, unless it was with equal arguments."""
    if m.recorder.rehearsal or m.recorder.open or m.recorder.replaying is not None:
        return run()
    told = likeness([FuncSet(fn.name, (entry,)), args, kwargs])
    if told is None:
        return run()
    key: Hashable = ("called", m.arch, bool(m.functions.get("dsl architecture is certain")), m.attempts is None, told)
    known: dict[Hashable, Walked] = m.dialect.library.calls  # type: ignore[attr-defined]
    objects = _objects([args, kwargs])
    walked = modules.state(m).setdefault("walked", set())
    if key in known:
        did = known[key]
        walked |= did.reached
        for at, name, value in did.fields:
            if at < len(objects):
                m.journal.set(objects[at].fields, name, value)
        m.budget.known += 1
        return None
    mark, serial = m.journal.mark(), next(serials)
    raised = 0 if m.attempts is None else len(m.attempts.kinds)
    reached: set[int] = set()
    modules.state(m)["walked"] = reached
    try:
        value = run()
    finally:
        modules.state(m)["walked"] = walked
        walked |= reached
    if value is None and (m.attempts is None or len(m.attempts.kinds) == raised):
        changed = _changed(m, mark, serial, objects, [fn, args, kwargs], span)
        if changed is not None:
            known[key] = Walked(frozenset(reached), changed)
    return value


def unless_idle(
    m: Machine, fn: FuncSet, entry: Entry, args: list[Value], kwargs: dict[str, Value], span: Span,
    run: Callable[[], Value],
) -> Value:  # fmt: skip
    """Run a function of the host, unless it came to nothing new with equal arguments and much has come to nothing new.

    A benchmark calls what it measures again and again. Of a call that is left out, what the one before it wrote is not
    known any more.
    """
    if m.recorder.rehearsal or m.recorder.open or m.recorder.in_kernel():
        return run()
    known: dict[int, dict[Hashable, list[_Written]]] = modules.state(m).setdefault("calls to nothing", {})
    noted = known.get(id(entry.decl))
    told = None if noted is None else likeness([FuncSet(fn.name, (entry,)), args, kwargs])
    if noted is not None and told in noted and m.budget.is_mostly_idle():
        leave_out(m, calls.instance_symbol(entry, entry.decl, ()))
        why = Unknown("a call that repeats what came to nothing new is left out", span)
        given = {path: of for of, path in _paths(args, kwargs)} if any(path for path, _ in noted[told]) else {}
        for path, (where, name) in noted[told]:
            lose(m, where.owner, why) if isinstance(where, Contents) else m.journal.set(where, name, why)
            if path in given:  # what this call is given may be others than the one before was, and be like them
                m.journal.set(given[path].fields, name, why)
        return why
    used, found = m.budget.used, m.recorder.all_found()
    mark, serial = m.journal.mark(), next(serials)
    value = run()
    if m.recorder.all_found() != found:
        known.pop(id(entry.decl), None)
    elif m.budget.used - used >= m.budget.limits.idle_steps // _SHARE:
        noted = known.setdefault(id(entry.decl), {})
        if told is not None:
            given_to = {id(of.fields): path for of, path in _paths(args, kwargs)}
            noted[told] = [(given_to.get(id(where), ()), (where, name)) for where, name in _visible(m, mark, serial)]
    return value


def _paths(args: list[Value], kwargs: dict[str, Value]) -> Iterator[tuple[Object, _Path]]:
    """The objects that arguments are or hold, each with a way to it: arguments, fields, places in containers."""
    met: set[int] = set()
    todo: deque[tuple[Any, _Path]] = deque((a, (i,)) for i, a in enumerate(args))
    todo += ((a, (name,)) for name, a in kwargs.items())
    while todo and len(met) < _MOST:
        v, path = todo.popleft()
        if isinstance(v, (tuple, list)):
            todo += ((x, (*path, i)) for i, x in enumerate(v))
        elif isinstance(v, dict):
            todo += ((x, (*path, key)) for key, x in v.items())
        elif isinstance(v, Object) and id(v) not in met:
            met.add(id(v))
            yield v, path
            todo += ((x, (*path, name)) for name, x in v.fields.items())


def _visible(m: Machine, mark: int, serial: int) -> list[Cell]:
    """Cells written since the mark that others may read than the functions that ran: not their own variables."""
    outside = {id(scope.env.vars) for scope in modules.state(m)["scopes"].values()}
    before = m.journal.before(mark, _ABSENT)
    return [
        (where, name)
        for key, (where, name, _) in m.journal.written_since(mark).items()
        if (before[key] is not _ABSENT or key[0] in outside or isinstance(where, Fields))
        and not made_since(where, serial)
    ]


def _objects(values: list[Any]) -> list[Object]:
    """The objects that arguments are or hold, in an order that is the same for equal ones."""
    found: list[Object] = []
    met: set[int] = set()
    todo = list(values)
    while todo and len(met) < _MOST:
        v = todo.pop()
        if isinstance(v, Object) and id(v) not in met:
            met.add(id(v))
            found.append(v)
            todo += v.fields.values()
        elif isinstance(v, (tuple, list)):
            todo += v
        elif isinstance(v, dict):
            todo += v.values()
        elif isinstance(v, FuncSet):
            todo.append(v.self_)
    return found


def _changed(
    m: Machine, mark: int, serial: int, objects: list[Object], given: list[Any], span: Span
) -> list[tuple[int, str, Value]] | None:
    """The fields of these objects that were set since the mark; None where what others can see was written, too."""
    places = {id(o.fields): i for i, o in enumerate(objects)}
    before = m.journal.before(mark, _ABSENT)
    found: list[tuple[int, str, Value]] = []
    held: list[Any] = []  # containers and places of variables that were written: its own, as a rule
    for (where, name), (cells, _, value) in m.journal.written_since(mark).items():
        if where in places:
            shown = value if _lasts(value) else Unknown("a call like one before is not walked again", span)
            found.append((places[where], name, shown))
        elif isinstance(cells, Contents):
            held.append(cells.owner)
        elif made_since(cells, serial):
            continue
        elif before[where, name] is not _ABSENT or isinstance(cells, Fields):
            return None
        else:
            held.append(cells)
    return None if held and _seen(m, held, given) else found


def _seen(m: Machine, held: list[Any], given: list[Any]) -> bool:
    """Whether a program can come to one of these from arguments, or from variables outside of functions."""
    wanted = set(map(id, held))
    scopes = modules.state(m)["scopes"].values()
    todo: list[Any] = [*given, *(s.env.vars for s in scopes)]
    met: set[int] = set()
    while todo:
        v = todo.pop()
        if v is None or isinstance(v, (str, int, float)) or id(v) in met:
            continue
        if id(v) in wanted or len(met) > _LARGEST:
            return True
        met.add(id(v))
        if isinstance(v, dict):
            todo += v.values()
        elif isinstance(v, (tuple, list)):
            todo += v
        elif isinstance(v, Object):
            todo += (v.fields, v.cls)
        elif isinstance(v, ClassInst):
            todo += (v.memo, v.env)
        elif isinstance(v, FuncSet):
            todo += (v.self_, *(e.env for e in v.entries))
        elif isinstance(v, Env):
            todo += (v.vars, v.parent)
        elif isinstance(v, Closure):
            todo.append(v.env)
        elif is_dataclass(v) and not isinstance(v, (type, Span)) and not type(v).__module__.startswith(_SYNTAX):
            todo += (getattr(v, f.name) for f in fields(v))
    return False


_ABSENT = object()


def _lasts(v: Value) -> bool:
    """A value that is the same in another call: not one with the name of a run-time number, or that may change."""
    if isinstance(v, tuple):
        return all(map(_lasts, v))
    return plain(v) or isinstance(v, ScalarType)


__all__ = ["Walked", "once", "unless_idle"]
