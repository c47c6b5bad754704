"""Rows of lanes in global memory: neighbouring lanes move neighbouring vectors, and rows lie whole lines apart.

The offset is ``start + line(t / r) + v * (t mod r)``: ``start`` is the same for all lanes, ``line`` anything that is a
multiple of 128 bytes and the same for the r lanes of a row, v the elements of one vector. Two rows then coincide or
have no line in common, whatever the open values are: a division by a run-time extent inside ``line`` does not matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Domain, Expr, Op, Var
from cutecheck.model.ints import as_expr
from cutecheck.model.prove.engines.bounds import grain
from cutecheck.model.prove.engines.periods import MOST_THREADS
from cutecheck.model.prove.properties import GmemSectors

_SECTOR, _LINE, _WARP = 32, 128, 32  # bytes, bytes, lanes
_ROWS = (32, 16, 8, 4, 2)


def coalesced(g: GmemSectors, offset: Expr, strides: Iterable[Expr]) -> bool:
    """Closed form: D distinct rows of L bytes, whole sectors, touch at most ``D (L/32 + 1)`` sectors of ``D L/32``."""
    width = int(g.vector_bits) // 8
    if width * 8 != int(g.vector_bits) or g.factor < 2 or any(_of_thread(s, g.thread) for s in strides):
        return False
    lanes = next((r for r in _ROWS if _is_row(g, offset, r)), None)
    if lanes is None or lanes * width % _SECTOR:
        return False
    return lanes == _WARP or lanes * width <= _LINE  # longer rows may overlap in part


def _is_row(g: GmemSectors, offset: Expr, lanes: int) -> bool:
    """The offset has the form above with rows of ``lanes`` lanes, by its terms alone."""
    elements = int(g.vector_bits) // int(g.element_bits)
    inside = 0
    for monomial, factor in offset.terms:
        term = Expr(((monomial, factor),))
        if not _of_thread(term, g.thread):
            continue
        if len(monomial) == 1 and _is_remainder(monomial[0], g.thread, lanes):
            inside += factor
        elif lanes == _WARP and monomial == ex.var(g.thread, _domain(term, g.thread)).terms[0][0]:
            inside += factor  # t is 32 (t / 32), the same for the whole warp, and t mod 32
        elif grain(term) * int(g.element_bits) % (_LINE * 8) or not all(_by_rows(a, g.thread, lanes) for a in monomial):
            return False
    return inside == elements


def _is_remainder(atom: ex.Atom, thread: str, lanes: int) -> bool:
    """``thread mod lanes``."""
    if not isinstance(atom, Op) or atom.kind != "mod":
        return False
    value, modulus = atom.args
    return value == ex.var(thread, _domain(value, thread)) and modulus.constant == lanes


def _by_rows(atom: ex.Atom, thread: str, lanes: int) -> bool:
    """The thread enters only as a quotient by a multiple of ``lanes``."""
    if isinstance(atom, Var):
        return atom.name != thread
    if atom.kind == "div" and atom.args[0] == ex.var(thread, _domain(atom.args[0], thread)):
        divisor = atom.args[1].constant
        return divisor is not None and divisor > 0 and divisor % lanes == 0
    return all(_by_rows(a, thread, lanes) for e in atom.args for m, _ in e.terms for a in m)


def _domain(e: Expr, thread: str) -> Domain:
    return next((v.domain for v in e.variables() if v.name == thread), Domain(0))


def _of_thread(e: Expr, thread: str) -> bool:
    return any(v.name == thread for v in e.variables())


def enumerated(g: GmemSectors, domains: Mapping[str, Domain]) -> bool:
    """The same by counting sectors, for every place of the rows in a line and every number of distinct rows.

    Rows are told apart by evaluation: threads are of one row where all terms with other variables agree at several
    large values; what is left of the offset is evaluated thread by thread.
    """
    width, unit = int(g.vector_bits) // 8, int(g.element_bits)
    offset = g.offset.substitute({n: ex.var(n, d) for n, d in domains.items()})
    if width * 8 != int(g.vector_bits) or not _WARP <= g.threads <= MOST_THREADS or any(
        _of_thread(s, g.thread) for s in _strides(g)
    ):  # fmt: skip
        return False
    own = Expr(tuple(t for t in offset.terms if {v.name for v in Expr((t,)).variables()} == {g.thread}))
    mixed = [t for t in offset.terms if g.thread in {v.name for v in Expr((t,)).variables()} and t not in own.terms]
    if any(grain(Expr((t,))) * unit % (_LINE * 8) for t in mixed):
        return False
    for first in range(0, g.threads - _WARP + 1, _WARP):
        lanes = range(first, first + _WARP)
        keys = [tuple(_quotients(Expr((t,)), g.thread, lane) for t in mixed) for lane in lanes]
        if None in [q for key in keys for q in key]:
            return False
        rows: dict[object, list[int]] = {}
        for lane, key in zip(lanes, keys, strict=True):
            rows.setdefault(key, []).append(own.evaluate({g.thread: lane}) * unit // 8)
        base = {tuple(x - min(places) for x in places) for places in rows.values()}
        low = {min(places) % _LINE for places in rows.values()}
        if len(base) != 1 or len(low) != 1 or (max(max(base)) + width > _LINE and len(rows) > 1):
            return False
        places = sorted(set(next(iter(base))))
        for start in range(0, _LINE, math.gcd(width, _LINE)):
            touched = {b // _SECTOR for x in places for b in range(start + x, start + x + width)}
            for distinct in range(1, len(rows) + 1):
                least = -(-distinct * len(places) * width // _SECTOR)
                if distinct * len(touched) > g.factor * least:
                    return False
    return True


def _strides(g: GmemSectors) -> list[Expr]:
    stride = g.rest.stride
    leaves = stride if isinstance(stride, tuple) else (stride,)
    return [as_expr(s) for s in leaves if not isinstance(s, (tuple, ScaledBasis))]


def _quotients(term: Expr, thread: str, lane: int) -> object:
    """What the term's quotients of the thread are for one lane; None where the thread enters in another way."""
    found: list[int] = []

    def walk(atom: ex.Atom) -> bool:
        if isinstance(atom, Var):
            return atom.name != thread
        divisor = atom.args[1].constant if len(atom.args) > 1 else None
        if atom.kind == "div" and divisor and {v.name for v in atom.args[0].variables()} == {thread}:
            found.append(atom.args[0].evaluate({thread: lane}) // divisor)
            return True
        return all(walk(a) for e in atom.args for m, _ in e.terms for a in m)

    return tuple(found) if all(walk(a) for m, _ in term.terms for a in m) else None
