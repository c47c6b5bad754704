"""Addresses that either of two long sums may be: of each what its strides make of it, nothing that is not so."""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.rules.examples import PREAMBLE
from cutecheck.source.eval.budget import Budget
from cutecheck.source.eval.dialect import Dialect
from cutecheck.source.eval.factors import by_factors
from cutecheck.source.eval.limits import Limits
from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.program import Program
from cutecheck.source.eval.record import Recorder

STRIDES = ("row", "head", "batch", "i#3")
NAMES = (*STRIDES, "flag", "n")
VARIABLES = {**{n: ex.var(n) for n in STRIDES}, "flag": ex.var("flag", Domain(0, 1)), "n": ex.var("n", Domain(0, 9))}

monomials = st.tuples(st.integers(-12, 12), st.lists(st.sampled_from(NAMES), max_size=3))


def _sum(terms: list[tuple[int, list[str]]]) -> Expr:
    total = ex.const(0)
    for factor, names in terms:
        product = ex.const(factor)
        for n in names:
            product = ex.mul(product, VARIABLES[n])
        total = ex.add(total, product)
    return total


@given(
    st.lists(monomials, max_size=8),
    st.lists(monomials, max_size=8),
    st.fixed_dictionaries({n: st.integers(-9, 9) for n in STRIDES}),
)
def test_each_of_the_two_is_among_the_sums(
    one: list[tuple[int, list[str]]], other: list[tuple[int, list[str]]], at: dict[str, int]
) -> None:
    """``a - rest`` is a sum of the strides times any multiples: by Bezout, where their greatest divisor divides it."""
    made = Machine(Program(), Dialect(), Recorder("sm_80", lambda path: []), "sm_80", Budget(Limits()))
    a, b = _sum(one), _sum(other)
    split = by_factors(made, "at", (a, b), varying=False)
    if split is None:
        assert not {v.name for e in (a, b) for v in e.variables()} & {*STRIDES}
        return
    total, rests = split
    for (flag, n), (whole, rest) in itertools.product(((0, 3), (1, 8)), zip((a, b), rests, strict=True)):
        values = {**at, "flag": flag, "n": n}
        left = whole.evaluate(values) - rest.evaluate(values)
        steps = []
        for monomial, factor in total.terms:
            (stride,) = (v for v in monomial if v.name in STRIDES)
            (times,) = (v for v in monomial if v.name not in STRIDES)
            assert factor == 1 and times.domain.bounds() == (None, None)
            steps.append(values[stride.name] * times.domain.step)
        divisor = math.gcd(*steps)
        assert left % divisor == 0 if divisor else left == 0
    assert not {v.name for rest in rests for v in rest.variables()} & {*STRIDES}


# As many terms as attention has that begins at a row of a sequence, or at one of a page of its cache.
KERNEL = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) rows(half_t const* in, half_t* out, int const* pages, int const* starts,
    int a, int b, int c, int d, int n, int64_t row, int64_t head, int64_t batch) {
  int first = starts == nullptr ? a * blockIdx.x + b : starts[blockIdx.x] * (c - d);
  int second = first > n ? n - first * (a + b) : (n + b) * first + d * c;
  int64_t at = WHICH
      ? batch * (first + second) * (a + c) + row * (second - first) * (b + d) * (a + n)
            + head * (blockIdx.y + c) * (d + n)
      : pages[blockIdx.x] * batch + (first * c + second * d + n) * row * (a + b) + head * blockIdx.y * (n + c) + LAST;
  Tensor g = make_tensor(make_gmem_ptr(in + at), make_layout(Shape<_64, _64>{}, make_stride(row, _1{})));
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto t = Load{}.get_slice(threadIdx.x);
  Tensor r = make_fragment_like(t.partition_S(g));
  copy(Load{}, t.partition_S(g), r);
  copy(Load{}, r, t.partition_D(o));
}
void run(half_t const* in, half_t* out, int const* pages, int const* starts, int a, int b, int c, int d, int n,
         int64_t row, int64_t head, int64_t batch) {
  rows<<<dim3(8, 8), 128>>>(in, out, pages, starts, a, b, c, d, n, row, head, batch);
}
"""
STRIDE_CONTRACT = "holds if batch % 8 == 0 and head % 8 == 0 and row % 8 == 0, which nothing in the source states"


def _verdicts(tmp_path: Path, which: str, last: str, assume: tuple[str, ...] = ()) -> set[tuple[str, str]]:
    path = tmp_path / "rows.cu"
    path.write_text(PREAMBLE + KERNEL.replace("WHICH", which).replace("LAST", last))
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), assume=assume))
    assert not report.failures and not report.errors
    aligned = [o for o in report.outcomes if o.obligation.property == "vector-aligned"]
    assert len(aligned) > 1
    return {(o.verdict.value, o.reason) for o in aligned if o.verdict.value != "proved"}


STRIDES_ALIGNED = tuple(f"{s} % 8 == 0" for s in ("batch", "head", "row"))


@pytest.mark.parametrize("which", ["pages == nullptr", "threadIdx.x % 64 < n"])
def test_contracts_on_its_strides_settle_a_long_address(tmp_path: Path, which: str) -> None:
    assert _verdicts(tmp_path, which, "16 * n") == {("unknown", STRIDE_CONTRACT)}
    assert _verdicts(tmp_path, which, "16 * n", STRIDES_ALIGNED) == set()


def test_what_is_no_multiple_of_a_stride_counts(tmp_path: Path) -> None:
    """``4 * n`` elements may be 8 bytes off, 4 elements of one of the two are."""
    one = _verdicts(tmp_path, "pages == nullptr", "4 * n", STRIDES_ALIGNED)
    assert one == {("unknown", "holds if n % 2 == 0, which nothing in the source states")}
    ((verdict, reason),) = _verdicts(tmp_path, "pages == nullptr", "4", STRIDES_ALIGNED)
    assert verdict == "refuted" and re.sub(r"#\d+", "", reason) == (
        "refuted for the two branches of ?: = 4, proved for the two branches of ?: = 0"
    )
