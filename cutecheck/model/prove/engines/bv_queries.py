"""What queries to Z3 over bit-vectors have in common: hypotheses, parts of sums, and how a model is read."""

from __future__ import annotations

import math
from typing import Any

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.ints import as_expr
from cutecheck.model.layout import IntTuple
from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.engines.bv_translation import OPEN, Translation, UnsupportedError
from cutecheck.model.prove.engines.solver import check
from cutecheck.model.prove.obligation import Obligation


def given(t: Translation, obligation: Obligation) -> list[Any]:
    """The hypotheses that have a form in bits; why another has none is noted."""
    found = []
    for hypothesis in obligation.hypotheses:
        try:
            found.append(t.condition(hypothesis))
        except UnsupportedError as error:
            t.left_out.append(str(error))
    return found


def stride_divisor(stride: IntTuple) -> int:
    if isinstance(stride, tuple):
        return math.gcd(*map(stride_divisor, stride)) if stride else 0
    return 1 if isinstance(stride, ScaledBasis) else ex.divisor(as_expr(stride))


def ask(t: Translation, s: Any, name: str, options: Options, extra: dict[str, Any]) -> Answer:
    """Run the query; a model becomes an assignment of the environment and of ``extra``."""
    result = check(s, name, options)
    assumptions = tuple(f"{n} < {OPEN}" for n in sorted(t.bounded))
    if result == "unsat":
        return Answer("holds", assumptions=assumptions)
    if result == "unknown":
        return unknown(f"Z3: {s.reason_unknown()}")
    if t.left_out:
        return unknown(t.left_out[0])
    model = s.model()

    def read(v: Any) -> int:
        return int(model.eval(v, model_completion=True).as_long())

    values = {n: read(v) for n, v in t.environment.items() if not n.startswith("thread bit")}
    for n, d in t.domains.items():
        if n in values and values[n] >= 1 << (t.width - 1) and (d.lo is None or d.lo < 0):
            values[n] -= 1 << t.width
    values |= {n: read(v) for n, v in extra.items()}
    return Answer("fails", values=tuple(sorted(values.items())), assumptions=assumptions)


def split(e: ex.Expr, name: str) -> tuple[ex.Expr, ex.Expr]:
    """Terms that mention a variable, and the others."""
    own = [t for t in e.terms if any(v.name == name for v in ex.Expr((t,)).variables())]
    return ex.Expr(tuple(own)), ex.Expr(tuple(t for t in e.terms if t not in own))


def low_bits(alignment: int) -> int:
    """Mask of the address bits that an alignment fixes at zero."""
    return (alignment & -alignment) - 1
