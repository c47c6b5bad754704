"""Run-time values that the source leaves open: what is refuted only by them is unknown, and a contract settles it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from math import lcm

from cutecheck.facts import Hypothesis
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import Condition, Dyn, Rel, Sym
from cutecheck.model.layout import IntTuple
from cutecheck.model.prove import EngineRun, Obligation, Outcome, Verdict, contracts
from cutecheck.model.prove.canonical import canonical, renamed, restated
from cutecheck.model.prove.contracts import contract_of, in_source
from cutecheck.model.prove.domains import INDICES, takes_all, variable_domains, with_step
from cutecheck.model.prove.properties import Alignment, Holds
from cutecheck.rules.base import Context, Contract

_DECLARED = re.compile(r"sym\d+")  # a symbol of the DSL
_HOLDS = (Verdict.PROVED, Verdict.ASSUMED)
_UNDECIDED = "fails for some values of what the source leaves open; whether it holds for all multiples of"
_TYPE = (1 << 31) - 1  # the width of the narrowest range that may be that of a type
_LARGEST = 1 << 16  # number that a quotient is of


def open_variables(*values: object) -> list[Var]:
    """Variables of expressions, integers and tuples of them that nobody bounds: no thread, block or loop index."""
    found = {v.name: v for value in values for e in _expressions(value) for v in e.variables()}
    return [v for name, v in sorted(found.items()) if not name.startswith(INDICES) and not _bounded(v)]


def _bounded(variable: Var) -> bool:
    """Every value of the range is taken: a loop with static bounds; not the range of a type, nor what memory holds."""
    lo, hi = variable.domain.bounds()
    if lo is None or hi is None or (hi - lo >= _TYPE and not variable.domain.values):
        return False
    return takes_all(variable.name)


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
    """Prove; where only open variables stand in the way, the outcome is unknown and names the contract that would do.

    Contracts are that open variables are multiples of ``divisor``; of those that do, none can be left out.
    """
    outcome, divisor = context.prove(obligation), int(divisor)
    if outcome.verdict not in (Verdict.REFUTED, Verdict.UNKNOWN) or not variables or divisor <= 1:
        return outcome
    asked = canonical(obligation)
    if asked.question not in context.contracts:
        variables = sorted(renamed(tuple(variables), asked.ends), key=lambda v: v.name)
        context.contracts[asked.question] = _contract(restated(asked), variables, divisor, context)
    found = context.contracts[asked.question]
    if found is None:
        return outcome
    needed, runs = found
    if not needed:
        if outcome.verdict is Verdict.UNKNOWN:
            return outcome
        reason = f"{_UNDECIDED} {divisor} is not known"
        return context.record(
            replace(outcome, verdict=Verdict.UNKNOWN, witness=None, reason=reason, scope="", measure=())
        )
    stated = " and ".join(dict.fromkeys(contracts.said(str(c)) for c in needed))
    reason = contracts.reason(stated)
    runs = renamed(runs, asked.names)
    return context.record(
        replace(outcome, verdict=Verdict.UNKNOWN, witness=None, reason=reason, scope="", measure=(), runs=runs)
    )


def too_weak(hypotheses: Iterable[Hypothesis], outcome: Outcome) -> str | None:
    """The author's own divisibility of a number that the contract is about: it does not suffice.

    Of a symbol of the DSL, what its declaration says (``sym_int(divisibility=4)``).
    """
    needed = contract_of(outcome)
    objects = outcome.obligation.objects if needed else None
    # a number of the same name that the source says nothing of, what was there before it changed, is another one
    own = (
        {v.name for v in open_variables(objects.offset, objects.rest.stride)}
        if isinstance(objects, Alignment)
        else None
    )
    for h in hypotheses:
        if needed and h.condition.rel is Rel.DIVIDES and isinstance(h.condition.rhs, Expr):
            said = {v.name for v in h.condition.rhs.variables()}
            names = {contracts.said(name) for name in (said if own is None else said & own)}
            if any(_named(n, needed) for n in names):
                return contracts.said(str(h.condition))
    if isinstance(objects, Alignment):
        for v in open_variables(objects.offset, objects.rest.stride):
            if _DECLARED.match(v.name) and v.domain.step > 1 and _named(v.name, needed):
                return f"{v.name} % {v.domain.step} == 0"
    return None


def _named(name: str, contract: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)} %", contract) is not None


def _contract(obligation: Obligation, variables: list[Var], divisor: int, context: Context) -> Contract | None:
    """Multiples that make it hold, as few and as weak as one by one can be had.

    What the source has no name for is left out first, then indices and extents, then strides.

    No conditions where it is not known whether it holds under all of them; None where it does not.
    """
    given = obligation.hypotheses
    halved = _quotients(obligation)
    needed = [
        c for v in sorted(variables, key=lambda v: (in_source(v.name), _is_stride(v)))
        if (c := Condition(Rel.DIVIDES, ex.const(divisor * halved.get(v.name, 1)), ex.var(v.name, v.domain)))
        not in given
    ]  # fmt: skip

    def asked(contract: list[Condition]) -> Outcome:
        return context.prover(replace(obligation, hypotheses=(*given, *contract)))

    def runs(contract: list[Condition]) -> tuple[EngineRun, ...] | None:
        outcome = asked(contract)
        return outcome.runs if outcome.verdict in _HOLDS else None

    under_all = asked(needed)
    if under_all.verdict is Verdict.REFUTED and (even := _whole_quotients(obligation, divisor)) is not None:
        under_all = context.prover(replace(even, hypotheses=(*given, *needed)))
        return ((), under_all.runs) if under_all.verdict in _HOLDS else None
    if under_all.verdict not in _HOLDS:
        return ((), under_all.runs) if under_all.verdict is Verdict.UNKNOWN else None
    best = under_all.runs
    factors = _Factors(obligation, divisor)
    fewer = list(needed)
    for condition in needed:
        without = [c for c in fewer if c is not condition]
        if factors.hold(without):
            fewer = without
    for at, condition in enumerate(fewer):  # `rows * 132` needs no more of rows than 132 lacks
        whole = condition.lhs.constant or divisor
        numbers = (d for d in range(2, whole) if whole % d == 0)
        weaker = ([*fewer[:at], replace(condition, lhs=ex.const(d)), *fewer[at + 1 :]] for d in numbers)
        fewer = next((w for w in weaker if factors.hold(w)), fewer)
    if fewer != needed and fewer and (answer := runs(fewer)) is not None:
        needed, best = fewer, answer
    return tuple(sorted(needed, key=str)), best


def _whole_quotients(obligation: Obligation, divisor: int) -> Obligation | None:
    """The same where each quotient of two run-time numbers (``k / splits``) is a multiple; None where there is none."""
    payload, found = obligation.objects, dict[Op, Expr]()

    def whole(e: Expr) -> Expr:
        total = ex.const(0)
        for monomial, factor in e.terms:
            term = ex.const(factor)
            for atom in monomial:
                known = ex.atom_expr(atom)
                if isinstance(atom, Op) and atom.kind == "div" and open_variables(atom.args[1]):
                    known = found.setdefault(atom, ex.var(f"quotient#{len(found)}~", Domain(step=divisor)))
                term = ex.mul(term, known)
            total = ex.add(total, term)
        return total

    def of_stride(value: IntTuple) -> IntTuple:
        if isinstance(value, tuple):
            return tuple(map(of_stride, value))
        return Dyn(whole(value.expr)) if isinstance(value, Dyn) else value

    if not isinstance(payload, Alignment):
        return None
    rest = replace(payload.rest, stride=of_stride(payload.rest.stride))
    payload = replace(payload, offset=whole(payload.offset), rest=rest)
    return replace(obligation, objects=payload) if found else None


def _quotients(obligation: Obligation) -> dict[str, int]:
    """By name, what a number is divided by before it counts: of `dim / 2` to be even, `dim` is a multiple of 4."""
    payload = obligation.objects
    found: dict[str, int] = {}

    def walk(e: Expr, by: int) -> None:
        for monomial, _ in e.terms:
            for atom in monomial:
                if isinstance(atom, Var):
                    found[atom.name] = lcm(found.get(atom.name, 1), by)
                    continue
                number = atom.args[1].constant if atom.kind == "div" and len(atom.args) == 2 else None
                walk(atom.args[0], by * number if number else by)

    for e in [payload.offset, *_expressions(payload.rest.stride)] if isinstance(payload, Alignment) else []:
        walk(e, 1)
    return {name: by for name, by in found.items() if 1 < by <= _LARGEST}


class _Factors:
    """Whether every term of a payload is a multiple of its divisor by its factors alone, under contracts."""

    def __init__(self, obligation: Obligation, divisor: int) -> None:
        self._domains = variable_domains(obligation)
        payload = obligation.objects
        terms: list[tuple[Expr, int]] | None = None
        if isinstance(payload, Alignment) and not any(n % divisor for n in _numbers(payload.rest.stride)):
            terms = [(e, divisor) for e in (payload.offset, *_expressions(payload.rest.stride))]
        elif isinstance(payload, Holds):
            terms = _divided(payload.conditions)
        self._open = terms is None
        self._terms = terms or []
        self._known: dict[tuple[int, tuple[tuple[str, int], ...]], bool] = {}

    def hold(self, contract: Iterable[Condition]) -> bool:
        """Whether they are under conditions ``number divides variable``."""
        if self._open:
            return False
        steps = {v.name: c.lhs.constant or 1 for c in contract for v in c.rhs.variables()}
        return all(self._holds(i, e, by, steps) for i, (e, by) in enumerate(self._terms))

    def _holds(self, position: int, e: Expr, by: int, steps: Mapping[str, int]) -> bool:
        names = {v.name for v in e.variables()}
        key = (position, tuple(sorted((n, s) for n, s in steps.items() if n in names)))
        if key not in self._known:
            narrowed = {n: ex.var(n, with_step(self._domains[n], steps.get(n, 1))) for n in names}
            self._known[key] = ex.divisor(e.substitute(narrowed)) % by == 0
        return self._known[key]


def _divided(conditions: Iterable[Condition]) -> list[tuple[Expr, int]] | None:
    """What a number has to divide, where nothing else is asked of run-time numbers."""
    found: list[tuple[Expr, int]] = []
    for c in conditions:
        if isinstance(c.rhs, Expr) and c.rel is Rel.DIVIDES and c.lhs.constant:
            found.append((c.rhs, c.lhs.constant))
        elif c.lhs.variables() or not isinstance(c.rhs, Expr) or c.rhs.variables():
            return None
    return found


def _numbers(value: object) -> Iterator[int]:
    if isinstance(value, int):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)


def _is_stride(variable: Var) -> bool:
    return "stride" in variable.name or variable.name.lower().startswith("ld")
