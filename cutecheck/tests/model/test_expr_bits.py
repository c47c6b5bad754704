"""The bits a value may have, against all its values; and what follows for a swizzle of a sum."""

import itertools

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain, Expr
from cutecheck.model.expr.bits import joined, possible_bits
from cutecheck.model.layout import Swizzle

DOMAINS = {
    "a": Domain(0, 7),
    "b": Domain(-4, 5),
    "c": Domain(8, 40, 8),
    "d": Domain(values=(3, 16, -2)),
}
LEAVES = st.one_of(
    st.sampled_from(sorted(DOMAINS)).map(lambda n: ex.var(n, DOMAINS[n])), st.integers(-20, 70).map(ex.const)
)
SIZES = st.sampled_from([1, 2, 4, 8, 32, 6]).map(ex.const)
EXPRESSIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: ex.add(*p)),
        st.tuples(inner, SIZES).map(lambda p: ex.mul(*p)),
        st.tuples(st.sampled_from(["and", "or", "xor"]), inner, inner).map(lambda p: ex.op(*p)),
        st.tuples(st.sampled_from(["div", "mod"]), inner, SIZES).map(lambda p: ex.op(*p)),
    ),
    max_leaves=6,
)


def values(e: Expr) -> list[int]:
    names = sorted({v.name for v in e.variables()})
    each = [[v for v in range(-50, 51) if v in DOMAINS[n]] for n in names]
    return [e.evaluate(dict(zip(names, at, strict=True))) for at in itertools.product(*each)]


@given(e=EXPRESSIONS)
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_value_has_another_bit(e: Expr) -> None:
    mask = possible_bits(e)
    assert all(not v & ~mask for v in values(e)), (e, mask)


@given(outer=EXPRESSIONS, inner=EXPRESSIONS, swizzle=st.sampled_from([(3, 3, 3), (2, 1, 3), (1, 2, -2)]))
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
def test_a_swizzle_of_a_sum_of_parts_without_common_bits(
    outer: Expr, inner: Expr, swizzle: tuple[int, int, int]
) -> None:
    sw = Swizzle(*swizzle)
    active = sw.yyy_mask | sw.zzz_mask
    outer = ex.add(outer, ex.neg(ex.op("and", outer, ex.const(active)))) if outer.variables() else outer
    assume(not possible_bits(outer) & (possible_bits(inner) | active))
    for o, i in itertools.islice(itertools.product(values(outer), values(inner)), 500):
        assert sw(o + i) == o + sw(i)  # type: ignore[operator]


def test_the_bits_that_are_told_apart() -> None:
    t = ex.var("threadIdx.x", Domain(0, 127))
    low = ex.op("mod", t, ex.const(8))
    middle = ex.mul(ex.const(64), ex.op("mod", ex.op("div", t, ex.const(8)), ex.const(2)))
    far = ex.mul(ex.const(1024), ex.var("k"))
    assert possible_bits(ex.add(low, ex.add(middle, far))) == 7 | 64 | -1024
    assert possible_bits(ex.add(low, t)) == -1
    assert joined(12, 3) == 15 and joined(12, 4) == -4
