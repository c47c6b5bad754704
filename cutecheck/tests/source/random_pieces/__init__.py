"""Random functions of the kind that kernels are made of: views of memory, atoms of all generations, their parts."""

from __future__ import annotations

from cutecheck.tests.source.random_pieces.blackwell import Blackwell
from cutecheck.tests.source.random_pieces.code import Code
from cutecheck.tests.source.random_pieces.hopper import Hopper
from cutecheck.tests.source.random_pieces.tma import Tma
from cutecheck.tests.source.random_pieces.views import Views
from cutecheck.tests.source.random_pieces.writer import Writer

KINDS: dict[str, type[Writer]] = {"blackwell": Blackwell, "code": Code, "hopper": Hopper, "tma": Tma, "views": Views}


def piece(kind: str, seed: int) -> Writer:
    """One function of a kind."""
    made: Writer = KINDS[kind](seed)
    getattr(made, f"make_{kind}")()
    return made
