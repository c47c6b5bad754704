"""What runs where a block is left: handlers of exceptions, and destructors."""

from __future__ import annotations

from cutecheck.facts import Guard, Span, Unknown
from cutecheck.source.eval import classes, ir, losses, references, temporaries
from cutecheck.source.eval.machine import Machine, runs
from cutecheck.source.eval.scope import ClassInst, Entry, Env
from cutecheck.source.eval.statements.done import Done
from cutecheck.source.eval.statements.exits import Exits, finish
from cutecheck.source.eval.statements.recurrences import written
from cutecheck.source.eval.values import FuncSet, Object


@runs(ir.Try)
def _try(m: Machine, node: ir.Try, env: Env) -> Done:
    """The body, or any handler after some of what the body writes."""
    frame = env.frame
    left = frame.exits.states if frame is not None and frame.exits is not None else []
    before = len(left)
    exits = Exits(m.journal.mark())
    with m.recorder.perhaps():
        ends = [m.run(node.body, env)]
    cells = {key: (where, name) for key, (where, name, _) in written(m, exits.mark).items()}
    for wrote, _ in left[before:]:
        cells |= {key: (where, name) for key, (where, name, _) in wrote.items()}
    leave_by(m, exits, ends[0])
    m.journal.undo(exits.mark)
    guard = Guard("an exception", node.span)
    for handler in node.handlers:
        for where, name in cells.values():
            if name in where:
                losses.forget_cells(m, ((where, name),), node.span)
        with m.recorder.guarded(guard), m.recorder.perhaps():
            ends.append(m.run(handler, env))
        leave_by(m, exits, ends[-1])
        m.journal.undo(exits.mark)
    if not exits.states:
        return Done.RETURN
    finish(m, exits, node.span, False)
    return Done.NORMAL if all(end is Done.NORMAL for end in ends) else Done.MAYBE


def leave_by(m: Machine, exits: Exits, end: Done) -> None:
    """Note the state at hand where control goes on after a statement that ended so."""
    own = m.breaks if end is Done.BREAK else m.continues if end is Done.CONTINUE else None
    if own is not None:
        own.leave(m, False)
    elif end in (Done.BREAK, Done.CONTINUE) and m.loop is not None:
        m.loop.leave(written(m, exits.mark), end is Done.CONTINUE, False)
    elif end is not Done.RETURN:
        exits.leave(m, False)


def destroy(m: Machine, node: ir.Block, env: Env, exits: int) -> None:
    """Run the destructors of the objects that a block declares, the last one first.

    ``exits``: how many ways out of the function were known before the block: on those that came since they run, too.
    """
    mark = m.journal.mark()
    for stmt in reversed(node.body):
        decl = stmt.decl if isinstance(stmt, ir.Local) else None
        if isinstance(decl, ir.Variable) and "static" not in decl.flags and not references.stands(m, decl.type, env):
            value = env.vars.get(decl.name)
            if isinstance(value, Object) and value.pointer is None and destructs(m, value.cls):
                _destroy(m, value, value.cls, stmt.span)
    temporaries.end_of_block(m, node.span)
    frame = env.frame
    if m.journal.mark() == mark or frame is None or frame.exits is None:
        return
    for key, (where, name, _) in m.journal.written_since(mark).items():
        for wrote, _ in frame.exits.states[exits:]:
            wrote[key] = (where, name, Unknown(f"`{name}` is what a destructor leaves", node.span))


def destructs(m: Machine, cls: ClassInst) -> bool:
    key = ("destructs",)
    if key not in cls.memo:
        cls.memo[key] = False
        held = (m.eval(d.type, owner.env) for owner, d in classes.fields(m, cls) if isinstance(d.type, ir.Name))
        cls.memo[key] = bool(_destructor(cls)) or any(
            isinstance(other, ClassInst) and destructs(m, other) for other in (*classes.bases(m, cls), *held)
        )
    found: bool = cls.memo[key]
    return found


def _destructor(cls: ClassInst) -> tuple[Entry, ...]:
    return tuple(
        cls.entry_of(d)
        for d in cls.index.get(f"~{cls.name}", [])
        if isinstance(d, ir.Function)
        and not d.flags & {"defaulted", "deleted"}
        and (d.body is None or d.body.get().body)
    )


def _destroy(m: Machine, obj: Object, cls: ClassInst, span: Span) -> None:
    from cutecheck.source.eval.calls import call_functions

    own = _destructor(cls)
    if own:
        call_functions(m, FuncSet(f"~{cls.name}", own, obj, cls), [], {}, span)
    for owner, decl in classes.fields(m, cls):
        part = obj.fields.get(decl.name)
        if isinstance(part, Object) and part.pointer is None and not references.field_stands(m, owner, decl):
            _destroy(m, part, part.cls, span)
    for base in classes.bases(m, cls):
        if destructs(m, base):
            _destroy(m, obj, base, span)
