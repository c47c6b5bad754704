"""What a class derives from, as it is written, and where a chain of bases has no end that could be met."""

from __future__ import annotations

from cutecheck.facts import Unknown
from cutecheck.model.ints import Dyn
from cutecheck.source.eval import ir
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.scope import ClassInst
from cutecheck.source.eval.types import type_key
from cutecheck.source.eval.values import BudgetExceeded, Extern, Pack, Scalar, Value, constant

NAMED = ("bases named",)  # how many a class names, packs expanded


def named_bases(m: Machine, inst: ClassInst) -> list[Value]:
    """The values of the bases of a class, which is asked for them once."""
    env = inst.env.parent or inst.env
    m.deriving += 1
    try:
        with m.recorder.once():
            found: list[Value] = []
            for n in inst.decl.bases:
                if isinstance(n, ir.Expand):
                    from cutecheck.source.eval.templates import expand

                    found += expand(m, n.pattern, env)
                else:
                    found.append(m.eval(n, env))
            inst.memo[NAMED] = len(found)
            return found
    except BudgetExceeded:  # which may end a part of the evaluation alone
        inst.bases = None
        raise
    finally:
        m.deriving -= 1


def ends_never(inst: ClassInst, base: ClassInst) -> bool:
    """Whether a template derives from itself, and nothing that is known of its arguments becomes another or less.

    What ends this is a number that is not known. Then the base has none, either.
    """
    if base.decl is not inst.decl:
        return False
    own, its = _flat(inst.args), _flat(base.args)
    if len(its) < len(own) or all(map(_is_known, its)):
        return False
    if any(_is_known(b) and type_key(a) != type_key(b) for a, b in zip(own, its, strict=False)):
        return False
    base.bases = []
    return True


def _flat(args: tuple[Value, ...]) -> list[Value]:
    return [v for a in args for v in (a.items if isinstance(a, Pack) else (a,))]


def _is_known(arg: Value) -> bool:
    return constant(arg) is not None if isinstance(arg, Scalar) else not isinstance(arg, (Unknown, Dyn, Extern))
