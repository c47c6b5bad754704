"""What an unknown outcome says of the contracts under which its goal holds."""

from __future__ import annotations

import re

from cutecheck.model.prove.domains import OR_NONE, WITHIN
from cutecheck.model.prove.obligation import Outcome, Verdict

_REASON = "holds if {}, which nothing in the source states"
_NAMED = re.compile(_REASON.format("(.*)"))
_AND = " and "
# a name, a member, or what a method of an object is asked for: `lda`, `params.d`, `x.size(1)`, `x.sizes()[0]`
NAME = r"[A-Za-z_][\w.:]*(?:(?:\([-\w.:, ]*\)|\[[-\w.:, ]*\])[\w.:]*)*"
_STATABLE = re.compile(NAME + r" % \d+ == 0")


def reason(contract: str) -> str:
    """The reason of an outcome that is unknown for want of this contract."""
    return _REASON.format(contract)


def said(text: str) -> str:
    """Names as the source has them: without what keeps them apart, and of a number or 0 that of the number: what
    divides it divides either."""
    return re.sub(r"[#~]+\d+", "", text).replace(OR_NONE + WITHIN, "")


def in_source(variable: str) -> bool:
    """Whether the source has a name for a variable, so that a contract can be stated of it."""
    return re.fullmatch(NAME, variable) is not None


def contract_of(outcome: Outcome) -> str:
    """The contract that an outcome names, its conditions joined by ``and``; empty for none."""
    found = _NAMED.fullmatch(outcome.reason)
    return found[1] if found is not None and outcome.verdict is Verdict.UNKNOWN else ""


def statable(outcome: Outcome) -> tuple[str, ...]:
    """The conditions of an outcome's contract where each is about a name of the source, so that it can be stated."""
    conditions = tuple(contract_of(outcome).split(_AND))
    return conditions if all(map(_STATABLE.fullmatch, conditions)) else ()
