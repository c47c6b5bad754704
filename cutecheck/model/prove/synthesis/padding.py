"""Padding: a larger row pitch for a row-major tile, instead of a swizzle."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from cutecheck.model import expr as ex
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.expr import Expr
from cutecheck.model.layout import IntTuple, Layout
from cutecheck.model.prove.answer import Options
from cutecheck.model.prove.engines import residues
from cutecheck.model.prove.make import make_obligation
from cutecheck.model.prove.obligation import Outcome, Verdict
from cutecheck.model.prove.properties import BankAccess
from cutecheck.model.prove.scheduler import prove
from cutecheck.records import record


@record(frozen=True, slots=True)
class Padding:
    """Rows of ``pitch`` elements instead of ``pitch - extra``, with the proofs for all accesses."""

    pitch: int
    extra: int
    outcomes: tuple[Outcome, ...]


class NotRowsError(Exception):
    """The access is not a sum of whole rows and places within a row."""


def find_padding(
    accesses: Sequence[BankAccess],
    pitch: int,
    options: Options = Options(),  # noqa: B008 - frozen
    arch: str = "",
) -> Padding | None:
    """The smallest padding of rows of ``pitch`` elements, up to 128 bytes, under which every access is proved free.

    None when there is none or when an access does not keep to rows of that pitch.
    """
    if not accesses:
        return None
    step = math.lcm(*(int(a.vector_bits) // int(a.element_bits) for a in accesses))
    limit = max(1024 // int(a.element_bits) for a in accesses)
    try:
        for extra in range(step, limit + 1, step):
            padded = [repitch(a, pitch, pitch + extra) for a in accesses]
            if any(residues.run(make_obligation(a), options).answer != "holds" for a in padded):
                continue
            outcomes = tuple(prove(make_obligation(a, arch=arch), options) for a in padded)
            if all(o.verdict is Verdict.PROVED for o in outcomes):
                return Padding(pitch + extra, extra, outcomes)
    except NotRowsError:
        return None
    return None


def repitch(access: BankAccess, pitch: int, new_pitch: int) -> BankAccess:
    """The access on rows of another pitch, without a swizzle.

    Every coefficient is whole rows or stays within a row, and all that stay add up to less than a row; else
    NotRowsError (the tile is not made of rows of ``pitch`` elements).
    """
    terms = []
    within: Expr = ex.const(0)
    for monomial, factor in access.offset.terms:
        rows, place = divmod(factor, pitch)
        if place and rows and monomial:
            raise NotRowsError(f"a step of {factor} crosses rows of {pitch}")
        terms.append((monomial, rows * new_pitch + place))
        if place:
            within = ex.add(within, Expr(((monomial, place),)))
    reach = ex.bounds(within)[1]
    modes = list(_modes(access.rest.shape, access.rest.stride))
    for extent, stride in modes:
        if stride % pitch:
            if stride > pitch:
                raise NotRowsError(f"a step of {stride} crosses rows of {pitch}")
            reach = None if reach is None else reach + (extent - 1) * stride
    if reach is None or reach + int(access.vector_bits) // int(access.element_bits) > pitch:
        raise NotRowsError(f"steps within a row reach beyond {pitch} elements")
    rest = Layout(tuple(e for e, _ in modes), tuple(d // pitch * new_pitch if d % pitch == 0 else d for _, d in modes))
    return replace(access, offset=Expr(tuple(t for t in terms if t[1])), rest=rest, swizzle=None)


def _modes(shape: IntTuple, stride: IntTuple) -> Iterator[tuple[int, int]]:
    if isinstance(shape, tuple) and isinstance(stride, tuple):
        for s, d in zip(shape, stride, strict=True):
            yield from _modes(s, d)
    elif isinstance(shape, int) and isinstance(stride, int) and not isinstance(stride, ScaledBasis):
        yield shape, stride
    else:
        raise NotRowsError("extents or strides that are not static")
