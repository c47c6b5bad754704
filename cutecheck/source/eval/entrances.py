"""Walking a class's kernels from its own methods (source/entrances.py)."""

from __future__ import annotations

from itertools import takewhile

from cutecheck.facts import Span
from cutecheck.source.eval import ir
from cutecheck.source.eval.alike import kind_of
from cutecheck.source.eval.machine import Leading, Machine
from cutecheck.source.eval.scope import ClassInst, Env
from cutecheck.source.eval.symbolic import symbolic, symbolic_parameter


def enter(m: Machine, inst: ClassInst, span: Span) -> bool:
    """Walk the methods of a class that lead to its kernels, on values of their parameters' types.

    False where it has none. Parameters with defaults have these. Of classes that are alike not more than the limits
    say are walked; the rest is counted.
    """
    leading = m.history.entrances(inst)
    if not leading.first or id(inst) in m.history.entered or reached(m, inst, leading):
        return bool(leading.first)
    m.history.entered.add(id(inst))
    kind = kind_of(m, f"{inst.decl.span}", (inst,))
    if not m.history.launches.ask_host(f"{inst.decl.span}:{inst.name}", kind):
        return True
    from cutecheck.source.eval.calls import run_function

    before = m.recorder.found()
    for fn in leading.first:
        env = Env(inst.env, "function", self_=symbolic(m, inst, inst.name, span))
        given = takewhile(lambda p: not p.pack and p.default is None, fn.params)
        args = [symbolic_parameter(m, p, inst.env) for p in given]
        run_function(m, inst.entry_of(fn), fn, env, args, {}, span)
        if m.recorder.found() != before:
            return True  # another method leads to the same kernels
    m.history.launches.came_to_nothing(kind)
    return True


def refused(m: Machine, inst: ClassInst) -> bool:
    """Whether a ``static_assert`` of the class, or of a class that it is made of, fails.

    A class that is named alone (the other one of a ``conditional_t``) is never compiled.
    """
    for cls in (inst, *(a for a in inst.args if isinstance(a, ClassInst))):
        for d in cls.decl.members:
            stmt = d.stmt if isinstance(d, ir.TopLevel) else None
            if not isinstance(stmt, ir.Assert) or stmt.kind != "static_assert":
                continue
            with m.recorder.rehearsing():
                if m.dialect.truth(m.eval(stmt.cond, cls.env)) is False:
                    return True
    return False


def reached(m: Machine, inst: ClassInst, leading: Leading) -> bool:
    """Whether a method of the class that launches was walked."""
    return any((id(inst), id(fn)) in m.history.methods for fn in leading.launching)
