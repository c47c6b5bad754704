"""The residue engine: enumeration of residue classes in plain integers (``banks``, ``divisibility``, ``periods``)."""

from __future__ import annotations

from cutecheck.model.prove.answer import Answer, Options
from cutecheck.model.prove.engines import banks, divisibility
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import BankAccess


def run(obligation: Obligation, options: Options) -> Answer:
    if isinstance(obligation.objects, BankAccess):
        return banks.bank_access(obligation)
    return divisibility.decide(obligation)
