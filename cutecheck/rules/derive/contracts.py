"""Run-time values that the source leaves open: what is refuted only by them is unknown, and a contract settles it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr, Op, Var
from cutecheck.model.ints import Condition, Dyn, Rel, Sym
from cutecheck.model.prove import Obligation, Outcome, Verdict
from cutecheck.rules.base import Context

_INDICES = ("threadIdx.", "blockIdx.", "rest[", "value[")


def open_variables(*values: object) -> list[Var]:
    """Variables of expressions, integers and tuples of them that are no thread or block index, by name."""
    found = {v.name: v for value in values for e in _expressions(value) for v in e.variables()}
    return [v for name, v in sorted(found.items()) if not name.startswith(_INDICES)]


def opaque_terms(*values: object) -> list[str]:
    """Opaque functions in the values: addresses that depend on them cannot be decided."""
    return sorted({str(a) for value in values for e in _expressions(value) for a in _opaque(e)})


def _expressions(value: object) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, (Dyn, Sym)):
        yield value.expr
    elif isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)


def _opaque(e: Expr) -> Iterator[Op]:
    for monomial, _ in e.terms:
        for atom in monomial:
            if isinstance(atom, Op):
                if atom.kind == "opaque":
                    yield atom
                for argument in atom.args:
                    yield from _opaque(argument)


def prove_or_contract(obligation: Obligation, variables: list[Var], divisor: int, context: Context) -> Outcome:
    """Prove; where only open variables refute it, the outcome is unknown and names the contract that would do.

    The contract tried is that every open variable is a multiple of ``divisor``.
    """
    outcome = context.prove(obligation)
    if outcome.verdict is not Verdict.REFUTED or not variables or divisor <= 1:
        return outcome
    needed = tuple(
        c for v in variables if (c := Condition(Rel.DIVIDES, ex.const(divisor), ex.var(v.name, v.domain)))
        not in obligation.hypotheses
    )  # fmt: skip
    stronger = context.prover(replace(obligation, hypotheses=(*obligation.hypotheses, *needed)))
    if stronger.verdict not in (Verdict.PROVED, Verdict.ASSUMED):
        return outcome
    stated = re.sub(r"#+\d+", "", " and ".join(map(str, needed)))  # names without the suffixes that keep them apart
    reason = f"holds if {stated}, which nothing in the source states"
    return context.record(
        replace(outcome, verdict=Verdict.UNKNOWN, witness=None, reason=reason, scope="", measure=(), runs=stronger.runs)
    )
