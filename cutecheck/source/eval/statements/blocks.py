"""Blocks, local declarations, returns, assertions."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace

from cutecheck.facts import Guard, Unknown
from cutecheck.model.expr import ANY
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import (
    constness,
    copies,
    initialisation,
    ir,
    leaks,
    losses,
    named_bases,
    observed,
    places,
    predicates,
    qualifiers,
    references,
    temporaries,
)
from cutecheck.source.eval.barrier_types import stands_for_place
from cutecheck.source.eval.enums import EnumRef, enumerator
from cutecheck.source.eval.machine import Machine, runs
from cutecheck.source.eval.made_once import variable_value
from cutecheck.source.eval.mentions import names_end, parts_in
from cutecheck.source.eval.repeatable import may_change
from cutecheck.source.eval.scope import Entry, Env
from cutecheck.source.eval.spelled import written
from cutecheck.source.eval.statements import shared_elements
from cutecheck.source.eval.statements.assignments import bind_target
from cutecheck.source.eval.statements.done import Done
from cutecheck.source.eval.statements.havoc import forget
from cutecheck.source.eval.statements.inert import inert
from cutecheck.source.eval.statements.unwinding import destroy
from cutecheck.source.eval.tensor_arrays import REGISTERS
from cutecheck.source.eval.threads import answered, by_thread
from cutecheck.source.eval.tuples import Elements
from cutecheck.source.eval.values import Closure, FuncSet, Object, ObjectPointer, Reference, Scalar, TensorVal, Value

_STAY = frozenset({"static", "extern", "thread_local", "shared"})  # variables that do not end with their block
_IN_PARENTHESES = re.compile(r"return\s*\(")
_PARENTHESISED = re.compile(r"=\s*\(")


@runs(ir.Block)
def _block(m: Machine, node: ir.Block, env: Env) -> Done:
    inner = Env(env, "block") if node.scoped else env
    if not m.dialect.by_value:
        return _statements(m, node, inner)
    frame = env.frame
    exits = len(frame.exits.states) if frame is not None and frame.exits is not None else 0
    done = _statements(m, node, inner)
    destroy(m, node, inner, exits)
    leaks.gone(m, inner)
    return done


def _statements(m: Machine, node: ir.Block, inner: Env) -> Done:
    left = Done.NORMAL
    before = len(m.recorder.hypotheses)
    with ExitStack() as passed:  # what comes after `if (...) return;` happens under the opposite condition
        for stmt in node.body:
            done: Done = m.run(stmt, inner)
            if done in (Done.RETURN, Done.BREAK, Done.CONTINUE):
                return done
            if isinstance(stmt, ir.Loop) and m.dialect.by_value and _ends_by_condition(stmt):
                passed.enter_context(m.recorder.passed(m, stmt.cond, inner, False))  # `while (n % 8) ++n;`
            if done is Done.MAYBE:
                left = Done.MAYBE
                if isinstance(stmt, ir.If):
                    stays = stmt.other is None or not _leaves(stmt.other)  # else the first branch is the one to stay
                    bounds, complete = predicates.conjunction(m, stmt.cond, inner, not stays)
                    where = getattr(stmt.cond, "span", stmt.span)
                    guard = Guard(m.recorder.text(stmt.cond), where, stays, tuple(bounds), complete)
                    cond = m.tested.get(id(stmt))
                    ends = _leaves(stmt.then) or not stays
                    if ends:  # else it may hold as well
                        parts, asks, alike = answered(m, stmt.cond, cond, inner)
                        guard = replace(guard, parts=parts, asks=asks, alike=alike)
                    own = by_thread(m, stmt.cond, cond, inner)
                    passed.enter_context(m.recorder.guarded(guard, own))
                    if ends:
                        passed.enter_context(m.recorder.passed(m, stmt.cond, inner, not stays, m.tested.get(id(stmt))))
        held = m.recorder.hypotheses[before:]
    m.recorder.hypotheses[before:] = held  # what holds at the end of a block holds after it
    if inner.frame is not None and inner.frame.ways is not None:
        inner.frame.ways.falls_off(node)
    return left


def _ends_by_condition(loop: ir.Loop) -> bool:
    """What comes after it happens where its condition, which names nothing of its own, does not hold any more."""
    if loop.cond is None or loop.init is not None or loop.kind not in ("while", "do", "for"):
        return False
    return not any(isinstance(part, ir.Jump) and part.kind in ("break", "goto") for part in parts_in(loop.body))


def _leaves(block: ir.Block) -> bool:
    """The block ends with a jump out of what is around it."""
    return bool(block.body) and (isinstance(block.body[-1], (ir.Return, ir.Jump)) or names_end(block.body[-1]))


@runs(ir.ExprStmt)
def _expr(m: Machine, node: ir.ExprStmt, env: Env) -> Done:
    if not (m.recorder.rehearses() and inert(m, node, env)):
        m.recorder.begins(node.span)
        m.eval(node.expr, env)
    if m.dialect.by_value and names_end(node) and isinstance(node.expr, ir.Call):
        own = m.eval(node.expr.fn, env)
        return Done.NORMAL if isinstance(own, (FuncSet, Closure)) else Done.RETURN
    return Done.NORMAL


def _own_registers(m: Machine, decl: ir.Variable, value: TensorVal) -> TensorVal:
    """``Accum one, two;`` of a type that ``decltype(partition_fragment_C(...))`` names: each has its own registers."""
    nothing = decl.init is None or (isinstance(decl.init, ir.Construct) and not decl.init.args)
    owned = value.pointer is not None and value.pointer.buffer.startswith(REGISTERS) and value.offset == 0
    if not m.dialect.by_value or not nothing or not owned or isinstance(value.layout, Unknown):
        return value
    return m.recorder.registers(m, value.layout, value.dtype, decl.span, value.provenance, value.source)


@runs(ir.Local)
def _local(m: Machine, node: ir.Local, env: Env) -> Done:
    decl = node.decl
    if m.dialect.declare(m, decl, env):
        return Done.NORMAL
    unit = env.frame.unit if env.frame is not None else None
    if isinstance(decl, ir.Variable):
        if not qualifiers.refers(decl.type):
            shared_elements.reads(m, _only(decl), env)
        stands = m.dialect.by_value and _refers(m, decl, env)
        if not (stands and not qualifiers.refers(decl.type)) and (
            qualifiers.never_written(decl) or qualifiers.settled(decl.type)
        ):
            env.fix(decl.name)
        if m.dialect.by_value:
            constness.declare(m, decl.name, decl.type, _only(decl), env)
            env.declare_as(decl.name, (decl.type, "constexpr" in decl.flags, _only(decl)))
        if stands and (init := _only(decl)) is not None:
            value, cells = places.locate(m, init, env)
            if cells is not None and not isinstance(value, Object):
                m.journal.set(env.vars, decl.name, Reference(cells))
                m.recorder.declared(m, decl, value, env, unit)
                return Done.NORMAL
            if stands_for_place(value):  # `uint64_t& bar = full[stage];`
                m.journal.set(env.vars, decl.name, value)
                m.recorder.declared(m, decl, value, env, unit)
                return Done.NORMAL
            if not references.stands(m, decl.type, env):
                value = copies.copied(m, value)  # a function that returns none
            elif not isinstance(value, Object):
                value = variable_value(m, decl, env) if cells is not None else _typed(m, decl, value, env)
                name = leaks.source_of(value) or decl.name  # barriers are told by where they were read
                if isinstance(value, (Scalar, Dyn)) and not qualifiers.constant(decl.type):
                    losses.lost(m, init, env)  # through it an element may be written
                    value = forget(m, value, name, ANY, decl.span)
                if not qualifiers.constant(decl.type):
                    leaks.leak_root(m, init, env)
                    if isinstance(value, Elements):
                        value = Unknown(f"`{decl.name}` is a part of an array", decl.span)
                    if leaks.points(value) or isinstance(value, (Scalar, Unknown)):
                        m.recorder.declared(m, decl, value, env, unit)
                        m.journal.set(env.vars, decl.name, leaks.apart(value, name))
                        observed.keep(m, env.vars, decl.name, observed.state_kept(m, init, value, env))
                        return Done.NORMAL
        else:
            value = copies.copied(m, temporaries.owned(m, variable_value(m, decl, env)))
            if m.dialect.by_value and "static" in decl.flags and not decl.flags & {"const", "constexpr"}:
                value = _of_all_calls(m, decl, value)
            if isinstance(value, Object) and not decl.flags & _STAY and not stands:
                env.hold(decl.name)
        if isinstance(value, TensorVal):
            value = replace(_own_registers(m, decl, value), name=decl.name)
        elif isinstance(value, (Object, ObjectPointer)) and m.dialect.by_value:
            named_bases.note(m, decl.name, decl.type, value, env, _only(decl))
        state = observed.state_kept(m, _only(decl), value, env) if not stands else None
        m.journal.set(env.vars, decl.name, value)
        observed.keep(m, env.vars, decl.name, state)
        if m.dialect.by_value and isinstance(value, (Scalar, Dyn)):
            predicates.named(m, _only(decl), value, env)
        predicates.kept(m, _only(decl), value, env)
        m.recorder.declared(m, decl, value, env, unit)
    elif isinstance(decl, ir.Alias) and decl.tparams is None:
        value = m.eval(decl.target, env)
        m.journal.set(env.vars, decl.name, written(m, decl.target, env))
        if references.stands(m, decl.target, env):
            env.refer(decl.name)
        m.recorder.declared(m, decl, value, env, unit)
    elif isinstance(decl, ir.Using):
        if isinstance(decl.target, ir.Scoped) and decl.kind == "name":
            env.vars[decl.target.ident] = m.eval(decl.target, env)
            if references.stands(m, decl.target, env):
                env.refer(decl.target.ident)
        elif decl.kind == "enum":
            of = m.eval(decl.target, env)
            for i, (name, _, _) in enumerate(of.decl.enumerators if isinstance(of, EnumRef) else ()):
                env.vars[name] = enumerator(m, of.decl, i, of.env)
        elif decl.kind in ("namespace", "alias") and (around := env.namespace()) is not None:
            from cutecheck.source.eval.lookup import namespace_of

            named = namespace_of(m, decl.target, around)
            if decl.kind == "alias":
                env.vars[decl.name] = named
            elif named is not None and named.scope is not None:
                env.usings = [*(env.usings or ()), named.scope]
    elif isinstance(decl, (ir.Class, ir.Alias, ir.Function)):
        from cutecheck.source.eval.lookup import resolve

        name = decl.name
        assert unit is not None
        env.vars[name] = resolve(m, name, (Entry(decl, env, unit),), node.span, {})
    elif isinstance(decl, ir.Enum):
        env.vars[decl.name] = EnumRef(decl.name, decl, env)
        if not decl.scoped:
            for i, (name, _, _) in enumerate(decl.enumerators):
                env.vars[name] = enumerator(m, decl, i, env)
    return Done.NORMAL


def _refers(m: Machine, decl: ir.Variable, env: Env) -> bool:
    """A variable that stands for another: ``decltype(auto)`` does for ``(x)`` and what a function returns so."""
    if not isinstance(decl.type, ir.DeclType) or decl.type.expr is not None:
        return references.stands(m, decl.type, env)
    init = _only(decl)
    if isinstance(init, (ir.Name, ir.Scoped, ir.Attr)):
        return references.bound(m, init, env) or _PARENTHESISED.search(m.recorder.text(decl.full_span)) is not None
    return isinstance(init, (ir.Select, ir.Index, ir.Call)) or (
        isinstance(init, ir.Unary) and init.op in ("*", "++", "--")
    )


def _only(decl: ir.Variable) -> ir.Expr | None:
    """What a reference is bound to."""
    if decl.init is not None:
        return decl.init
    return decl.init_args[0].value if decl.init_args and len(decl.init_args) == 1 else None


def _typed(m: Machine, decl: ir.Variable, value: Value, env: Env) -> Value:
    typed = None if decl.type is None or qualifiers.is_auto(decl.type) else m.eval(decl.type, env)
    return value if typed is None else initialisation.convert(m, typed, value, decl.span)


def _of_all_calls(m: Machine, decl: ir.Variable, value: Value) -> Value:
    """A static variable of a function keeps what other calls left in it."""
    if isinstance(decl.type, ir.TypeMod) and decl.type.kind == "const":
        return value
    if isinstance(value, Object):
        losses.lose(m, value, decl.name, decl.span)
    elif isinstance(value, Scalar):
        return forget(m, value, decl.name, ANY, decl.span)
    return value


@runs(ir.Return)
def _return(m: Machine, node: ir.Return, env: Env) -> Done:
    frame = env.frame
    if node.value is not None:
        if frame is not None and frame.refers:
            value, cells = places.locate(m, node.value, env)
            if frame.deduces and _named(m, node, env):
                value, cells = copies.copied(m, value), None
            frame.cells.append(cells)
        else:
            shared_elements.reads(m, node.value, env)
            value = m.eval(node.value, env)
        if frame is not None and frame.returns is not None:
            frame.returns.append(temporaries.owned(m, value))
    elif frame is not None:
        frame.empty = True
    if frame is not None and frame.ways is not None:
        frame.ways.returns(frame.returns[-1] if node.value is not None and frame.returns else None)
    return Done.RETURN


def _named(m: Machine, node: ir.Return, env: Env) -> bool:
    """``return x;`` of a variable or member that is no reference: what ``decltype(auto)`` makes of it is a value."""
    if not isinstance(node.value, (ir.Name, ir.Scoped, ir.Attr)) or references.bound(m, node.value, env):
        return False
    return _IN_PARENTHESES.match(m.recorder.text(node)) is None


@runs(ir.Jump)
def _jump(m: Machine, node: ir.Jump, env: Env) -> Done:
    return {"break": Done.BREAK, "continue": Done.CONTINUE, "raise": Done.RETURN}.get(node.kind, Done.NORMAL)


@runs(ir.Assert)
def _assert(m: Machine, node: ir.Assert, env: Env) -> Done:
    if node.kind != "static_assert" and may_change(m, node.cond, env):
        if isinstance(node.cond, ir.Binary) and node.cond.op in ("&&", "and"):
            for part in (node.cond.left, node.cond.right):  # the second is evaluated wherever the first holds
                _assert(m, replace(node, cond=part), env)
            return Done.NORMAL
        mark = m.journal.mark()
        value = m.eval(node.cond, env)
        if m.journal.written_since(mark):  # `TORCH_CHECK(ld % 8 == 0 && (ld = n))`: its names mean something else now
            m.recorder.states(m, node, value)
            return Done.NORMAL
    m.recorder.hypothesis(m, node, env)
    return Done.RETURN if m.dialect.asserted(m, node, env) else Done.NORMAL


@runs(ir.With)
def _with(m: Machine, node: ir.With, env: Env) -> Done:
    def inside(at: int) -> Done:
        if at == len(node.items):
            return m.run(node.body, env)  # type: ignore[no-any-return]
        item, target = node.items[at]

        def entered(value: Value) -> Done:
            if target is not None:
                bind_target(m, target, value, env, node.span)
            return inside(at + 1)

        return m.dialect.within(m, m.eval(item, env), entered, node.span)

    return inside(0)
