"""What brute force says of layouts in allocations and of parameter values is what listing them all says."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Condition, Int, Rel, Sym
from cutecheck.model.layout import Layout
from cutecheck.model.prove import Options, Verdict, make_obligation, prove
from cutecheck.model.prove import properties as p
from cutecheck.model.prove.domains import first_values
from cutecheck.model.prove.engines import brute
from cutecheck.model.units import Bits, Elements

X = ex.var("x", Domain(0, 7))


@given(
    st.tuples(st.integers(0, 4), st.one_of(st.integers(1, 5), st.just("n"))),
    st.tuples(st.integers(-3, 4), st.one_of(st.integers(0, 6), st.just("x"))),
    st.integers(-2, 3),
    st.integers(-4, 4),
    st.integers(1, 40),
)
def test_a_layout_fits(
    shape: tuple[int, int | str], stride: tuple[int, int | str], factor: int, start: int, allocation: int
) -> None:
    n = Sym(ex.var("n", Domain(1, 4)))
    second: Int = n if shape[1] == "n" else int(shape[1])
    offset = ex.add(ex.mul(X, ex.const(factor)), ex.const(start))
    step: Int = Sym(X) if stride[1] == "x" else int(stride[1])
    layout = Layout((shape[0], second), (stride[0], step))
    answer = brute.run(make_obligation(p.CosizeFits(layout, Elements(allocation), offset)), Options())
    expected = all(
        0 <= factor * x + start + i * stride[0] + j * (x if stride[1] == "x" else int(stride[1])) < allocation
        for x in range(8)
        for extent in (range(1, 5) if shape[1] == "n" else [int(shape[1])])
        for i, j in itertools.product(range(shape[0]), range(extent))
    )
    assert answer.answer == ("holds" if expected else "fails")


@given(
    st.one_of(st.none(), st.integers(-20, 20)), st.one_of(st.none(), st.integers(-20, 20)), st.integers(1, 5),
    st.integers(1, 12),
)  # fmt: skip
def test_the_first_values_of_a_domain(lo: int | None, hi: int | None, step: int, count: int) -> None:
    found = first_values(Domain(lo, hi, step), count)
    start = lo if lo is not None else 0 if hi is None or hi >= 0 else hi - (count - 1) * step
    every = (v for v in itertools.count(start) if v % step == 0)
    assert found == [v for v in itertools.islice(every, count) if hi is None or v <= hi]


def test_a_start_more_nested_than_python_reads_is_evaluated() -> None:
    start = X
    for i in range(110):
        start = ex.op("xor", ex.add(start, ex.const(1)), ex.const(1 + i % 7))
    top = max(start.evaluate({"x": x}) for x in range(8))
    for allocation, answer in ((top + 1, "holds"), (top, "fails")):
        fits = p.CosizeFits(Layout((1,), (1,)), Elements(allocation), start)
        assert brute.run(make_obligation(fits), Options()).answer == answer


def test_the_index_of_a_thread_is_bound_by_the_check() -> None:
    """Hypotheses about open numbers that an access does not name stand aside, however the thread's index is stated."""
    thread, other = ex.var(p.THREAD, Domain(0)), ex.var("n", Domain(0))
    access = p.BankAccess("ld", Bits(32), Bits(32), ex.add(thread, ex.mul(ex.const(32), X)), 32)
    stated = Condition(Rel.LE, ex.const(1), other)
    outcome = prove(make_obligation(access, hypotheses=[stated]))
    assert outcome.verdict is Verdict.PROVED and all(run.answer == "holds" for run in outcome.runs)
