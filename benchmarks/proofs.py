"""Obligations a second: ``python benchmarks/proofs.py``.

Concrete and parametric obligations with two engines each (cold: first call with imports; warm: median), and bank
accesses side by side with PyPI's ``tensor-layouts`` where it is installed, speed and answers: an ideal 128-bit access
and a swizzled ldmatrix have no excess wavefronts.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.ints import Condition, Dyn, Rel, Sym
from cutecheck.model.layout import Layout, Swizzle
from cutecheck.model.prove import FiniteSet, Multiple, Obligation, Options, Outcome, make_obligation, prove
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.synthesis import suggest

THREAD = ex.var("threadIdx.x", ex.Domain(0, 127))
SW = Swizzle(3, 3, 3)
REPEATS = 7


def lanes(extents: list[int], strides: list[int]) -> Expr:
    """Offset of a thread from mixed-radix digits of its id."""
    total, thread = ex.const(0), THREAD
    for i, (extent, stride) in enumerate(zip(extents, strides, strict=True)):
        digit = thread if i == len(extents) - 1 else ex.op("mod", thread, ex.const(extent))
        total = ex.add(total, ex.mul(digit, ex.const(stride)))
        thread = ex.op("div", thread, ex.const(extent))
    return total


def accesses(row: int, swizzle: Swizzle | None) -> list[p.BankAccess]:
    """128x64 fp16: 16-byte copy in, ldmatrix.x4, 4-byte accumulator stores."""
    found = [
        p.BankAccess("st", 16, 128, lanes([8, 16], [8, row]), 128, rest=Layout((8,), (16 * row,))),
        p.BankAccess("ldmatrix", 16, 128, lanes([16, 2, 4], [row, 8, 16 * row]), 128,
                     rest=Layout((2, 4), (64 * row, 16)), matrices=4),
        p.BankAccess("st", 16, 32, lanes([4, 8, 4], [2, row, 16 * row]), 128,
                     rest=Layout((2, 8, 2), (8 * row, 8, 64 * row))),
    ]  # fmt: skip
    return [replace(a, swizzle=swizzle) for a in found]


def concrete() -> list[Obligation]:
    payloads: list[p.Payload] = [
        *accesses(64, None), *accesses(64, SW), *accesses(64, Swizzle(2, 3, 3)), *accesses(72, None),
        p.Coverage(Layout(((8, 16), 8), ((128, 1), 16)), (16, 64)),
        p.Coverage(Layout(((4, 8, 2, 2), (2, 2, 2)), ((64, 1, 16, 256), (32, 8, 512))), (32, 32)),
        p.Bijective(Layout((2, 8, 2), (1, 4, 2)), 32),
        p.Injective(Layout((128, 64), (72, 1))),
        p.CosizeFits(Layout((128, 64), (72, 1)), 128 * 72),
        p.LayoutEqual(Layout((8, 8), (1, 8)), Layout(64, 1)),
        p.Divides((p.Division("kBlockM", 128, 64), p.Division("kBlockN", 96, 32))),
        p.AtomCounts((p.Count("threads", 32, 32), p.Count("values", 8, 8))),
        p.Alignment(16, 16, lanes([8, 16], [8, 64]), 16, Layout((4,), (1024,)), SW),
        p.TmaLimits((64, 128), 16, (8192,), swizzle_bytes=128),
    ]  # fmt: skip
    return [make_obligation(x) for x in payloads]


def parametric() -> list[Obligation]:
    m, n, rows = Sym.named("mM", ex.Domain(1)), Sym.named("mN", ex.Domain(1)), Sym.named("MMA_M", ex.Domain(1))
    lda = ex.var("lda", ex.Domain(0))
    row = ex.add(ex.mul(ex.var("q", ex.Domain(0)), ex.const(16)), ex.const(8))
    lane = ex.op("mod", THREAD, ex.const(16))
    tall = Layout(((8, 16), (8, m, n)), ((128 * m, 1), (16 * m, 16, 1024 * m)))
    stage = ex.mul(ex.op("mod", ex.var("k_tile", ex.Domain(0)), ex.const(3)), ex.const(8192))
    ldsm = accesses(64, SW)[1]
    return [
        make_obligation(p.Coverage(tall, (16 * m, 64 * n))),
        make_obligation(p.Bijective(Layout((m, n), (n, 1)), m * n)),
        make_obligation(p.LayoutEqual(Layout((m, n), (1, m)), Layout(m * n, 1))),
        make_obligation(p.Divides((p.Division("kBlockM", Sym.named("bM"), 32),)), params={"bM": Multiple(64, 0)}),
        make_obligation(
            p.Divides((p.Division("kHeadDim", Sym.named("hd"), 64),)), params={"hd": FiniteSet((32, 64, 96, 128))}
        ),
        make_obligation(
            p.Alignment(16, 16, ex.mul(ex.var("row", ex.Domain(0)), lda), 16),
            hypotheses=(Condition(Rel.DIVIDES, ex.const(8), lda),),
        ),
        make_obligation(p.InBounds((ex.var("x", ex.Domain(0, 127)),), (Dyn(ex.const(128)),))),
        make_obligation(replace(ldsm, offset=ex.add(ldsm.offset, stage), rest=Layout((rows,), (4096,)))),
        make_obligation(p.BankAccess("ldmatrix", 16, 128, ex.mul(lane, row), 128, matrices=2)),
    ]


def median(function: Callable[[], object]) -> float:
    """Milliseconds of CPU time, median of several runs."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        function()
        times.append((time.process_time() - started) * 1e3)
    return statistics.median(times)


def report(name: str, obligations: list[Obligation]) -> None:
    started = time.process_time()
    outcomes: list[Outcome] = [prove(o) for o in obligations]
    cold = (time.process_time() - started) * 1e3
    warm = median(lambda: [prove(o) for o in obligations])
    verdicts = {v: sum(o.verdict.value == v for o in outcomes) for v in sorted({o.verdict.value for o in outcomes})}
    rate = len(obligations) / warm * 1e3
    figures = f"cold {cold:7.1f} ms  warm {warm:7.1f} ms  {rate:7.0f}/s"
    print(f"{name:28}{len(obligations):4} obligations  {figures}  {verdicts}")


def side_by_side() -> None:
    try:
        from tensor_layouts import Layout as TheirLayout
        from tensor_layouts import Swizzle as TheirSwizzle
        from tensor_layouts import compose
        from tensor_layouts.analysis import bank_conflicts
    except ImportError:
        print("tensor-layouts is not installed: no comparison")
        return
    copy_in, ldsm, _ = accesses(64, None)
    cases = [
        ("16-byte copy, Sw<3,3,3>", replace(copy_in, swizzle=SW), ((8, 16), 8), ((8, 64), 1), (3, 3, 3)),
        ("16-byte copy, contiguous", replace(copy_in, offset=lanes([128], [8])), (128, 8), (8, 1), None),
        ("ldmatrix, Sw<3,3,3>", replace(ldsm, swizzle=SW), ((16, 2, 4), 8), ((64, 8, 1024), 1), (3, 3, 3)),
        ("ldmatrix, no swizzle", ldsm, ((16, 2, 4), 8), ((64, 8, 1024), 1), None),
    ]
    print(f"{'':28}{'cutecheck':>40}{'tensor-layouts':>40}")
    for name, access, shape, stride, swizzle in cases:
        single = make_obligation(replace(access, rest=p.NO_REST))
        layout = TheirLayout(shape, stride)
        theirs = compose(TheirSwizzle(*swizzle), layout) if swizzle else layout
        outcome = prove(single)
        ours_ms = median(lambda o=single: prove(o))
        one_ms = median(lambda o=single: prove(o, Options(engine="residues")))
        theirs_ms = median(lambda t=theirs: bank_conflicts(t, element_bytes=2))
        answer = bank_conflicts(theirs, element_bytes=2)
        left = f"excess {outcome.number('excess')}, {ours_ms:.2f} ms (one engine {one_ms:.2f})"
        right = f"{answer['max_ways']}-way, {theirs_ms:.2f} ms"
        print(f"{name:28}{left:>40}{right:>40}")


def main() -> None:
    report("concrete", concrete())
    report("parametric", parametric())
    banks = concrete()[:12]
    warm = median(lambda: [prove(o, Options(without=("gf2",))) for o in banks])
    print(f"{'banks, Z3 as second engine':28}{len(banks):4} obligations  {'':15}  warm {warm:7.1f} ms")
    found = median(lambda: suggest(accesses(64, None), tile=8192))
    print(f"{'synthesis, fp16 128x64':28}   3 accesses     {found:7.1f} ms")
    side_by_side()


if __name__ == "__main__":
    main()
