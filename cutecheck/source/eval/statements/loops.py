"""Loops: unrolled (``unrolled.py``) when short and pure, else walked once with what they assign forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any

from cutecheck.facts import Span, Unknown
from cutecheck.model.expr import atom_expr
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import (
    conversions,
    copies,
    ir,
    leaks,
    losses,
    places,
    qualifiers,
    references,
    repeatable,
    slots,
)
from cutecheck.source.eval.held_fields import serials
from cutecheck.source.eval.machine import Machine, runs
from cutecheck.source.eval.mentions import names_in
from cutecheck.source.eval.scope import Env
from cutecheck.source.eval.statements import computed, element_reads, touches
from cutecheck.source.eval.statements.array_loops import by_index
from cutecheck.source.eval.statements.assignments import bind_target
from cutecheck.source.eval.statements.branches import arm, broken_off
from cutecheck.source.eval.statements.done import Done
from cutecheck.source.eval.statements.enumerated import Enumerated
from cutecheck.source.eval.statements.havoc import assigned, havoc
from cutecheck.source.eval.statements.inductions import (
    Induction,
    count_by,
    high_of,
    induction_of,
    known_of,
    trips_of,
    values_of,
)
from cutecheck.source.eval.statements.inert import inert
from cutecheck.source.eval.statements.loop_text import (
    advances,
    by_iterators,
    continues,
    leaves,
    prints,
    runs_once,
    written_once,
)
from cutecheck.source.eval.statements.passes import walked_passes
from cutecheck.source.eval.statements.recurrences import (
    NotCountedError,
    Recurrence,
    RunsOnceError,
    leave,
    recurring,
    settle,
    stay,
    walked_once,
)
from cutecheck.source.eval.statements.some_threads import first_pass, partly
from cutecheck.source.eval.statements.unrolled import counted, unroll
from cutecheck.source.eval.statements.waiting import asks_again
from cutecheck.source.eval.threads import differs, some, varies
from cutecheck.source.eval.tuples import Elements, Held
from cutecheck.source.eval.values import FuncSet, Object, Reference, Scalar, Value

_SETTLED = 2  # loops inside this many walks that leave no fact are walked once; each more costs a factor of three
_SETTLED_ON_HOST = 1
_MOSTLY, _NEARLY = 0.75, 0.95  # of the steps that may come to nothing: a loop that does much, or little, is left
_WORK = 300  # steps of an iteration on the host that is worth leaving out


def iterate(m: Machine, value: Value, span: Span) -> Iterator[Value] | list[Value] | Unknown:
    """The items of a value that can be enumerated."""
    own = m.dialect.items(m, value, span)
    if isinstance(own, (list, Unknown)):
        return own
    if isinstance(value, (list, tuple)):
        return [m.dialect.from_model(v) for v in value]
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, range):
        count = range_length(value)
        if count > m.budget.limits.loop_iterations:
            return Unknown(f"a range of {count} items", span)
        return list(value)
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    return value if isinstance(value, Unknown) else Unknown("the items of this value are not known", span)


def range_length(value: range) -> int:
    """``len``, also of more items than a machine word counts."""
    return max(0, -((value.start - value.stop) // value.step))


@runs(ir.Loop)
def _loop(m: Machine, node: ir.Loop, env: Env) -> Done:
    spelled = by_index(m, node, env) if node.kind == "foreach" else None
    if spelled is not None:
        return _loop(m, *spelled)  # type: ignore[no-any-return]
    quiet = inert(m, node, env)
    replay = m.recorder.acts()
    by_role = replay is not None and replay.thread is not None and replay.by_source and advances(node)
    walked = replay is not None and (replay.walks(node) or runs_once(node) or by_role)
    if replay is not None and not walked:
        registers = touches.registers(node, env)
        touches.named(replay, node, env)
        done = None if quiet or registers else counted(m, node, env)
        if done is not None:
            return done
        element_reads.computed_with(m, node, env)
        replay.passed_over(node.span, registers, touches.apart(node, env))
        first_pass(m, node, env)
    if quiet and m.recorder.rehearsal and not walked:
        return Done.NORMAL
    clock, elements, exchanges = m.recorder.clock, m.recorder.single_elements, m.recorder.exchanges
    inner = Env(env, "block") if m.dialect.block_scope else env
    passed = replay is not None and not walked and id(node) in m.recorder.elementary
    with partly(replay) if replay is not None and passed else nullcontext():
        done = _in_frame(m, node, env, inner, quiet)
    if inner is not env:
        leaks.gone(m, inner)
    elements = m.recorder.single_elements - elements
    more = m.recorder.clock - clock
    if not elements:  # a butterfly of shuffles leaves no step to a kernel that is run pass by pass
        more -= m.recorder.exchanges - exchanges
    if more > (elements if m.dialect.block_scope else 0):
        m.recorder.eventful.add(id(node))
    if elements and more <= elements:
        m.recorder.elementary.add(id(node))
    return done


def _in_frame(m: Machine, node: ir.Loop, env: Env, inner: Env, quiet: bool) -> Done:
    """Run a loop whose own variables are kept in ``inner``."""
    if node.init is not None:
        m.run(node.init, inner)
    if node.kind == "foreach":
        return _foreach(m, node, inner)
    if runs_once(node):
        return broken_off(m, node.body, node.span, inner)
    replay = m.recorder.acts()
    if replay is not None and id(node) in m.recorder.eventful:
        steps = len(replay.steps)
        done = unroll(m, node, inner, replay.passes)
        if done is None and replay.by_source and replay.thread is not None and len(replay.steps) == steps:
            # lanes look for the next tile together, which none waits for: what they find is not known
            done = _walk_all(m, node, env, inner, quiet, None)
            if len(replay.steps) > steps:
                replay.end()
        elif done is None:
            replay.end()
        return done
    if m.dialect.unrolls(m, env, node) and not prints(node):
        done = unroll(m, node, inner, m.budget.limits.loop_iterations)
        if done is not None:
            return done
    elif not quiet and m.budget.may_compute() and computed.computes(m, node, inner):
        trips = trips_of(m, node, inner, induction_of(m, node, inner))
        done = None
        if trips is None or trips <= computed.ITERATIONS:
            with m.budget.computing():
                done = unroll(m, node, inner, computed.ITERATIONS, computed.STEPS)
        if done is not None:
            return done
        computed.gave_up(m, node)
    mark = m.journal.mark()
    try:
        try:
            return _walk_all(m, node, env, inner, quiet, induction_of(m, node, inner))
        except NotCountedError:
            m.journal.undo(mark)
            return _walk_all(m, node, env, inner, quiet, None)
    except RunsOnceError:
        m.journal.undo(mark)
        return m.run(written_once(node), inner)  # type: ignore[no-any-return]


def _walk_all(m: Machine, node: ir.Loop, env: Env, inner: Env, quiet: bool, induction: Induction | None) -> Done:
    """Walk the body of a loop once for all its iterations."""
    loop = Recurrence(m.number(), node.span, env=inner)
    start = inner.vars.get(induction.name) if induction is not None else None
    trips = trips_of(m, node, inner, induction)
    last = None if induction is None or trips is None else induction.domain.bounds()[1]
    furthest = high_of(start)
    loop.whole = (last is not None and furthest is not None and furthest <= last) or _alike(
        m, node, induction, start, inner
    )
    havoc(m, node, inner, loop, None if induction is None else (induction.name, induction.domain))
    if induction is not None:
        loop.told, loop.step = (id(inner.vars), induction.name), induction.step
        count_by(m, induction, start, inner, loop)
    ended: list[Done] = []

    def iteration() -> None:
        if node.kind != "do":
            condition()
        mark = m.journal.mark()
        with m.recorder.perhaps():
            done = arm(m, node.body, inner)
        if induction is not None and (
            m.journal.wrote(mark, inner.vars, induction.name) or any(loop.told in wrote for wrote in loop.left)
        ):
            raise NotCountedError
        if node.step is not None and done is not Done.RETURN:
            m.run(node.step, inner)
        goes_on = condition() if node.kind == "do" and done is not Done.RETURN else None
        ended.append(done)
        if asks and m.recorder.rehearsal:
            over = goes_on is False if node.kind == "do" else ends()
            loop.ends = not loop.ways and (done in (Done.RETURN, Done.BREAK) or over)

    # a condition that changes something is no other `if`, nor can it be asked twice
    asks = m.dialect.block_scope and induction is None and not continues(node.body) and not any(assigned(node.cond))

    def ends() -> bool:
        """Whether the condition, asked once more, is false after an iteration, whichever one it is."""
        if node.cond is None:
            return False
        mark = m.journal.mark()
        known = m.dialect.truth(conversions.tested(m, node.cond, inner))
        m.journal.undo(mark)
        return known is False

    def condition() -> bool | None:
        if induction is not None and isinstance(node.cond, ir.Binary):
            stop = m.eval(node.cond.right, inner)
            if induction.stop != (known_of(stop), high_of(stop)):
                raise NotCountedError
        if node.cond is None:
            return True
        known = m.dialect.truth(cond := conversions.tested(m, node.cond, inner))
        if known is None:
            loop.parts = loop.parts or differs(m, node.cond, cond, inner)
        return known

    if trips is None and leaves(node.body) and not continues(node.body):
        trips = 1
    going = not asks_again(node)
    _walk(m, iteration, loop, lambda: ended[-1] is Done.NORMAL, trips, quiet and not loop.cells, going)
    if induction is not None:
        after = some(m, induction.name, induction.after, varies(start) or loop.parts)
        m.journal.set(inner.vars, induction.name, Scalar(after, start.ctype) if isinstance(start, Scalar) else after)
    return Done.MAYBE if ended[-1] in (Done.RETURN, Done.MAYBE) else Done.NORMAL


def _walk(
    m: Machine,
    iteration: Callable[[], None],
    loop: Recurrence,
    ends: Callable[[], bool],
    trips: int | None = None,
    quiet: bool = False,
    around: bool = True,
) -> None:
    """Walk the body once for all iterations, after what it changes was found; then leave the loop.

    ``quiet``: it is known to change nothing; ``around`` False: there is one pass, no loop is around it. ``ends``:
    whether the last walk went to the end of the body. Where no fact is left the rehearsals are enough.
    """
    with recurring(m, loop):
        settled = _SETTLED if m.recorder.in_kernel() else _SETTLED_ON_HOST
        if m.recorder.rehearsal >= settled or not m.dialect.settles(m):
            mark, serial = m.journal.mark(), next(serials)
            iteration()
            walked_once(m, loop, mark, serial)
            return
        changed = None if quiet else settle(m, iteration, loop)
        if loop.ends:
            raise RunsOnceError
        if changed is not None and m.recorder.rehearsal and not (loop.ways or loop.exits or loop.left) and ends():
            stay(m, loop, changed)
        else:
            around_it = m.recorder.looping(loop.span, trips, loop.whole, loop.step, loop.item, _counter(loop))
            with around_it if around else nullcontext():
                iteration()
    leave(m, loop)


def _alike(m: Machine, node: ir.Loop, induction: Induction | None, start: Value, env: Env) -> bool:
    """All threads begin at one number and go as far as one number: those that come there come to the first pass."""
    if induction is None or varies(start) or not isinstance(node.cond, ir.Binary):
        return False
    return repeatable.changes_nothing(node.cond.right) and not varies(m.eval(node.cond.right, env))


def _counter(loop: Recurrence) -> str:
    """The variable that counts the passes of a loop which makes all of them, whenever it is come to."""
    if loop.told is None or loop.env is None or loop.ways or loop.exits or loop.left or loop.parts:
        return ""
    value = loop.env.vars.get(loop.told[1])
    number = value.value if isinstance(value, Scalar) else value
    names = [v for v in number.expr.variables() if number.expr == atom_expr(v)] if isinstance(number, Dyn) else []
    return names[0].name if names else ""


def _by_iterators(m: Machine, node: ir.Loop, env: Env) -> ir.Block | None:
    """The loop over an object of a class of the program's that has ``begin()`` and ``end()``."""
    from cutecheck.source.eval.calls import method_of_object

    at = node.iterable
    if not m.dialect.by_value or not isinstance(at, (ir.Name, ir.Attr, ir.Call)):
        return None
    mark = m.journal.mark()
    with m.recorder.rehearsing(), m.budget.aside():
        of = m.eval(at, env)
    m.journal.undo(mark)
    if not isinstance(of, Object):
        return None
    ways = (method_of_object(m, of, name, node.span) for name in ("begin", "end"))
    return by_iterators(node) if all(isinstance(way, FuncSet) for way in ways) else None


def _foreach(m: Machine, node: ir.Loop, env: Env) -> Done:
    spelled = _by_iterators(m, node, env)
    if spelled is not None:
        return m.run(spelled, env)  # type: ignore[no-any-return]
    of = _named_items(m, node, env)
    whole = () if of is None or not isinstance(node.target, ir.Bind) else of.where.get(of.name)
    if isinstance(whole, tuple) and any(isinstance(v, tuple) for v in whole):
        of = None  # parts of such elements have no place of their own
    if of is None and m.dialect.by_value and node.iterable is not None and _writes_items(m, node, env):
        losses.lost_part(m, node.iterable, env)
        leaks.leak_root(m, ir.Index(node.iterable, (), node.span), env)
    iterable = places.whole(m, node.iterable, env) if node.iterable is not None else None
    m.recorder.takes((iterable,))
    items = iterate(m, iterable, node.span)
    given = m.dialect.replayed(m, iterable, node) if isinstance(items, Unknown) else None
    items = items if given is None else given
    if isinstance(items, Unknown):
        loop = Recurrence(m.number(), node.span, env=env)
        havoc(m, node, env, loop, None)
        passes = m.dialect.passes(m, iterable, node, env)
        if passes is not None:
            return _written_out(m, node, env, loop, passes)
        item = m.dialect.loop_item(m, iterable, node, env)
        item = m.recorder.loop_item(m, node, env) if item is None else item
        loop.whole = m.dialect.all_enter(iterable)
        loop.item = m.dialect.counts_all(iterable, item)
        if node.target is not None:
            bound = isinstance(item, (Scalar, Unknown)) or leaks.points(item)
            stands = m.dialect.by_value and bound and _refers(m, node, env, True)
            bind_target(m, node.target, leaks.apart(item, "item") if stands else item, env, node.span)
        loop.parts = isinstance(item, Unknown) or varies(item)
        ended: list[Done] = []
        with m.recorder.perhaps():
            body = partial(arm, m, node.body, env)
            _walk(m, lambda: ended.append(body()), loop, lambda: ended[-1] is Done.NORMAL, values_of(item))
        return Done.NORMAL
    items = list(items)
    if any(type(item) is Elements for item in items) and not _refers(m, node, env):
        assert node.iterable is not None
        if of is None:
            leaks.leak_root(m, ir.Index(node.iterable, (), node.span), env)
        items = [leaks.decayed(m, None if of is None else ((of, i),), node.span) for i in range(len(items))]
    each = Enumerated(m, node.span, env)
    done = Done.NORMAL
    with m.budget.iterating():
        copied = m.dialect.by_value and not _refers(m, node, env)
        lent = m.dialect.by_value and _refers(m, node, env, True) and type(iterable) in (Elements, Held)
        for i, item in walked_passes(m, node, env, items):
            used, found = m.budget.used, m.recorder.found()
            mark, serial = m.journal.mark(), next(serials)
            own: Value
            if of is not None and not isinstance(item, Object) and not isinstance(node.target, ir.Bind):
                now = of.get(i) if isinstance(item, Scalar) else item
                own = copies.copied(m, now) if copied else Reference(((of, i),))
            else:
                apart = not copied and isinstance(item, Scalar) and lent
                own = copies.copied(m, item) if copied else leaks.apart(item, "item") if apart else item
            bind_target(m, node.target, own, env, node.span)
            done = each.walk(node.body)
            if done is not Done.NORMAL:
                break
            if m.recorder.found() != found:
                m.budget.barren = 0
            elif not m.recorder.in_kernel():
                m.budget.barren += m.budget.used - used > _WORK
                most = m.budget.limits.barren_iterations
                much = m.budget.barren > 1
                idle = not m.dialect.by_value and (much or i >= most)
                if m.budget.barren >= most or (idle and m.budget.is_mostly_idle(_MOSTLY if much else _NEARLY)):
                    rest = Recurrence(m.number(), node.span)
                    walked_once(m, rest, mark, serial)
                    havoc(m, node, env, rest, None)
                    leave(m, rest)
                    if idle:
                        m.budget.forgive_loop()
                    break
    return each.end(done)


def _written_out(m: Machine, node: ir.Loop, env: Env, loop: Recurrence, items: list[Value]) -> Done:
    """All passes of an unrolled loop, one after the other, as one: nothing is kept from before but what loops keep."""
    ended: list[Done] = []
    if m.loop is not None:
        loop.turning = m.loop.since if m.loop.turning is None else m.loop.turning

    def all_passes() -> None:
        for item in items:
            if node.target is not None:
                bind_target(m, node.target, item, env, node.span)
            ended.append(arm(m, node.body, env))

    _walk(m, all_passes, loop, lambda: ended[-1] is Done.NORMAL, around=False)
    return Done.NORMAL


def _named_items(m: Machine, node: ir.Loop, env: Env) -> slots.Slots | None:
    """The elements of the array that a loop goes through, where it is one that a name stands for."""
    if not m.dialect.by_value or node.iterable is None or not repeatable.quiet(node.iterable):
        return None
    return slots.slots(m, places.again(m, node.iterable, env))


def _refers(m: Machine, node: ir.Loop, env: Env, writes: bool = False) -> bool:
    """Whether the loop's variable is a reference; ``writes``: through which items may be written."""
    if isinstance(node.target, ir.Bind):
        return node.target.refers
    decl = node.target.decl if isinstance(node.target, ir.Local) else None
    refers = isinstance(decl, ir.Variable) and references.stands(m, decl.type, env)
    return refers and not (writes and isinstance(decl, ir.Variable) and qualifiers.constant(decl.type))


def _writes_items(m: Machine, node: ir.Loop, env: Env) -> bool:
    """Through a reference, or by the name of what the loop goes through."""
    if _refers(m, node, env, True):
        return True
    at: Any = node.iterable
    while isinstance(at, (ir.Attr, ir.Index)):
        at = at.base
    return isinstance(at, ir.Name) and at.ident in names_in(node.body)
