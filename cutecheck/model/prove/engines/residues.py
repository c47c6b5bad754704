"""The residue engine: enumeration of residue classes in plain integers (``banks``, ``sectors``, ``divisibility``,
``periods``)."""

from __future__ import annotations

from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.domains import variable_domains
from cutecheck.model.prove.engines import banks, divisibility, rows, sectors
from cutecheck.model.prove.engines.periods import TooManyError
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import BankAccess, GmemSectors


def run(obligation: Obligation, options: Options) -> Answer:
    if isinstance(obligation.objects, BankAccess):
        return banks.bank_access(obligation)
    if isinstance(obligation.objects, GmemSectors):
        try:
            found = sectors.gmem_sectors(obligation, obligation.objects)
        except (TooManyError, TypeError) as error:
            found = unknown(str(error))
        if found.answer == "unknown" and rows.enumerated(obligation.objects, variable_domains(obligation)):
            return Answer(
                "holds", reductions=("R6: rows of lanes that lie whole lines apart coincide or are disjoint",)
            )
        return found
    return divisibility.decide(obligation)
