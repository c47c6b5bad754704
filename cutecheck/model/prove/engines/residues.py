"""The residue engine: enumeration of residue classes in plain integers (``banks``, ``sectors``, ``divisibility``,
``periods``)."""

from __future__ import annotations

from cutecheck.model.prove.answer import Answer, Options, unknown
from cutecheck.model.prove.engines import banks, divisibility, sectors
from cutecheck.model.prove.engines.periods import TooManyError
from cutecheck.model.prove.obligation import Obligation
from cutecheck.model.prove.properties import BankAccess, GmemSectors


def run(obligation: Obligation, options: Options) -> Answer:
    if isinstance(obligation.objects, BankAccess):
        return banks.bank_access(obligation)
    if isinstance(obligation.objects, GmemSectors):
        try:
            return sectors.gmem_sectors(obligation, obligation.objects)
        except (TooManyError, TypeError) as error:
            return unknown(str(error))
    return divisibility.decide(obligation)
