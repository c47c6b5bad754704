"""Parts of an address that all lanes share and that have no form in bits, taken as any multiple of their divisor."""

from __future__ import annotations

from collections.abc import Mapping

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr, Monomial
from cutecheck.model.prove.engines.bv_translation import Translation, UnsupportedError
from cutecheck.model.prove.properties import BankAccess


def loosened(a: BankAccess, domains: Mapping[str, Domain]) -> Expr:
    """The offset of an access; the same where everything has a form.

    Only the power of two of a divisor is kept: that is what bits modulo the width of a word show.
    """
    known = {n: ex.var(n, d) for n, d in domains.items()}
    together: dict[Monomial, list[tuple[Monomial, int]]] = {}
    kept: list[tuple[Monomial, int]] = []
    for term in a.offset.terms:
        monomial, factor = term
        own = tuple(x for x in monomial if any(v.name == a.thread for v in ex.atom_expr(x).variables()))
        shared = (tuple(x for x in monomial if x not in own), factor)
        if _has_form(Expr((shared,)), domains):
            kept.append(term)
        else:
            together.setdefault(own, []).append(shared)
    total = Expr(tuple(kept))
    for i, (own, terms) in enumerate(together.items()):
        number = ex.divisor(Expr(tuple(terms)).substitute(known))
        some = ex.var(f"any multiple {i}", Domain(step=number & -number or 1))
        total = ex.add(total, ex.mul(some, Expr(((own, 1),))))
    return total


def _has_form(e: Expr, domains: Mapping[str, Domain]) -> bool:
    try:
        Translation(dict(domains)).expression(e)
    except UnsupportedError:
        return False
    return True
