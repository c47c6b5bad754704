"""``assume`` of the configuration: contracts over run-time values, by their names in the source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from cutecheck.config import ConfigError
from cutecheck.facts import Call, Event, Facts, Hypothesis, Site
from cutecheck.model import expr as ex
from cutecheck.model.expr import Var
from cutecheck.model.ints import Condition, Rel
from cutecheck.model.notation_dsl import WIDE
from cutecheck.model.prove.contracts import NAME, said
from cutecheck.model.prove.domains import OR_NONE, expressions
from cutecheck.records import record

_CONTRACT = re.compile(rf"\s*({NAME})\s*(?:%\s*(\d+)\s*==\s*0|(<=|<|>=|>|==)\s*(\d+))\s*")


@record(frozen=True, slots=True)
class Contract:
    """``name % number == 0`` (``rel`` is ``%``) or a comparison of a name with a number."""

    name: str
    rel: str
    number: int

    def condition(self, v: Var) -> Condition:
        """The contract as a condition on one variable of that name."""
        one, number = ex.atom_expr(v), ex.const(self.number)
        if self.rel == "%":
            return Condition(Rel.DIVIDES, number, one)
        if self.rel == "==":
            return Condition(Rel.EQ, one, number)
        if self.rel in ("<", "<="):
            return Condition(Rel.LT if self.rel == "<" else Rel.LE, one, number)
        return Condition(Rel.LT if self.rel == ">" else Rel.LE, number, one)


def parse(texts: Sequence[str]) -> tuple[Contract, ...]:
    """The contracts. Raises ConfigError for a text that is none."""
    out = []
    for text in texts:
        match = _CONTRACT.fullmatch(text)
        if match is None or match[2] == "0":
            raise ConfigError(f"assume: '{text}' is no contract (NAME % N == 0, or NAME <= N, <, >=, >, ==)")
        out.append(Contract(match[1], "%" if match[2] else match[3], int(match[2] or match[4])))
    return tuple(out)


def with_contracts(facts: Facts, texts: Sequence[str]) -> Facts:
    """The facts with each contract as a hypothesis wherever a variable of its name occurs."""
    contracts = parse(texts)
    if not contracts:
        return facts
    return replace(
        facts,
        sites=tuple(_site(s, contracts) for s in facts.sites),
        events=tuple(_event(e, contracts) for e in facts.events),
        calls=tuple(_call(c, contracts) for c in facts.calls),
    )


def _site(site: Site, contracts: Sequence[Contract]) -> Site:
    return replace(site, hypotheses=(*site.hypotheses, *_hypotheses(site.value, contracts)))


def _event(event: Event, contracts: Sequence[Contract]) -> Event:
    return replace(event, hypotheses=(*event.hypotheses, *_hypotheses(event.operands, contracts)))


def _call(call: Call, contracts: Sequence[Contract]) -> Call:
    return replace(call, hypotheses=(*call.hypotheses, *_hypotheses((call.arguments, call.result), contracts)))


def _hypotheses(value: object, contracts: Sequence[Contract]) -> list[Hypothesis]:
    found = {v.name: v for e in expressions(value) for v in e.variables()}
    return [
        Hypothesis(c.condition(v), None, "config")
        for c in contracts
        for name, v in sorted(found.items())
        if (plain := re.sub(r"#+\d*$", "", name)) == c.name
        or plain.removesuffix(WIDE) == c.name
        or (c.rel == "%" and OR_NONE in plain and said(plain) == c.name)
    ]
