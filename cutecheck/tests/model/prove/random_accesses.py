"""Random shared-memory accesses, from which the engines must agree."""

from __future__ import annotations

import random
from typing import cast

from cutecheck.model import expr as ex
from cutecheck.model.access import AccessKind
from cutecheck.model.expr import Expr
from cutecheck.model.layout import Layout, Swizzle, SwizzleUnit
from cutecheck.model.prove.properties import BankAccess

KINDS: tuple[AccessKind, ...] = ("ld", "st", "ldmatrix", "stmatrix", "cp.async.ca")


def digits(thread: Expr, extents: list[int]) -> list[Expr]:
    """Mixed-radix digits of a thread index."""
    result = []
    for i, e in enumerate(extents):
        last = i == len(extents) - 1
        result.append(thread if last else ex.op("mod", thread, ex.const(e)))
        thread = ex.op("div", thread, ex.const(e))
    return result


def random_access(rng: random.Random) -> BankAccess:
    """An access with random digits, strides (powers of two, multiples, odd), swizzle, width and open variables."""
    kind = rng.choice(KINDS)
    element_bits = rng.choice((8, 16, 16, 32, 64) if kind != "cp.async.ca" else (8, 16, 32))
    if kind in ("ldmatrix", "stmatrix"):
        vector_bits, element_bits = 128, rng.choice((8, 16, 32))
    elif kind == "cp.async.ca":
        vector_bits = rng.choice((32, 64, 128))
    else:
        vector_bits = rng.choice([b for b in (8, 16, 32, 64, 128) if b >= element_bits])
    vector = vector_bits // element_bits
    threads = rng.choice((32, 64, 128, 96, 48))
    extents = rng.choice(([8, 4, 4], [4, 8, 4], [2, 4, 2, 8], [16, 2, 4], [32, 4], [8, 16], [3, 11, 4]))
    thread = ex.var("threadIdx.x", ex.Domain(0, threads - 1))
    offset = ex.const(vector * rng.choice((0, 0, 1, 5)))
    compact = rng.random() < 0.5
    step = vector
    for digit, extent in zip(digits(thread, extents), extents, strict=True):
        stride = step if compact else vector * rng.choice((0, 1, 2, 3, 4, 5, 8, 9, 16, 32, 64, 128, 12))
        step *= extent * rng.choice((1, 1, 1, 8))
        offset = ex.add(offset, ex.mul(digit, ex.const(stride)))
    if rng.random() < 0.3:
        k = ex.var("k", ex.Domain(0, rng.choice((None, 3)), rng.choice((1, 2))))
        offset = ex.add(offset, ex.mul(k, ex.const(vector * rng.choice((1, 4, 7, 64)))))
    modes = [(rng.choice((1, 2, 3)), vector * rng.choice((1, 4, 16, 24, 256))) for _ in range(rng.randrange(3))]
    return BankAccess(
        kind=kind,
        element_bits=element_bits,
        vector_bits=vector_bits,
        offset=offset,
        threads=threads,
        swizzle=_random_swizzle(rng, element_bits, vector_bits),
        rest=Layout(tuple(e for e, _ in modes), tuple(d for _, d in modes)),
        matrices=rng.choice((1, 2, 4)) if kind in ("ldmatrix", "stmatrix") else 0,
        base_alignment=rng.choice((16, 128, 1024)),
    )


def _random_swizzle(rng: random.Random, element_bits: int, vector_bits: int) -> Swizzle | None:
    if rng.random() < 0.35:
        return None
    unit = cast("SwizzleUnit", rng.choice((SwizzleUnit.ELEMENT, SwizzleUnit.ELEMENT, SwizzleUnit.BYTE)))
    width = element_bits if unit is SwizzleUnit.ELEMENT else 8
    low = (vector_bits // width).bit_length() - 1
    bits = rng.randrange(1, 4)
    return Swizzle(bits, low + rng.randrange(2), rng.choice((-1, 1, 1)) * rng.randrange(bits, 5), unit)
