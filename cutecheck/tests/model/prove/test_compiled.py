"""Compiled expressions against plain evaluation, negative numbers and truncating division included."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecheck.model import expr as ex
from cutecheck.model.expr import Expr
from cutecheck.model.prove.engines.compiled import function_of, table
from cutecheck.model.prove.engines.periods import TooManyError, residues, values_to_try

NAMES = ("x", "y")
DOMAINS = {"x": ex.Domain(-40, 40), "y": ex.Domain(0, 60)}


def expressions() -> st.SearchStrategy[Expr]:
    leaves = st.sampled_from([ex.var(n, DOMAINS[n]) for n in NAMES]) | st.integers(-9, 9).map(ex.const)

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pair = st.tuples(inner, inner)
        divided = st.tuples(st.sampled_from(["div", "mod"]), inner, st.sampled_from([1, 2, 3, 8]))
        return (
            pair.map(lambda p: ex.add(*p))
            | pair.map(lambda p: ex.mul(*p))
            | pair.map(lambda p: ex.op("max", *p))
            | divided.map(lambda d: ex.op(d[0], d[1], ex.const(d[2])))
        )

    return st.recursive(leaves, grow, max_leaves=8)


@given(expressions(), st.integers(-40, 40), st.integers(0, 60))
@settings(max_examples=150, deadline=None, derandomize=True)
def test_same_values(e: Expr, x: int, y: int) -> None:
    assert function_of(e, NAMES)(x, y) == e.evaluate({"x": x, "y": y})


def test_unknown_names() -> None:
    with pytest.raises(KeyError):
        function_of(ex.var("z"), NAMES)
    assert table(ex.mul(ex.var("t"), ex.var("k")), "t", {"k": 3}, 4) == [0, 3, 6, 9]


@given(st.integers(1, 12), st.integers(1, 9), st.integers(0, 30), st.integers(2, 24))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_residues_are_those_of_many_values(a: int, n: int, shift: int, m: int) -> None:
    """Closed form against brute force: residues of a*(v/n) + shift over unbounded v."""
    v = ex.var("v", ex.Domain(0))
    e = ex.add(ex.mul(ex.op("div", v, ex.const(n)), ex.const(a)), ex.const(shift))
    found, exact = residues(e, {"v": ex.Domain(0)}, m)
    assert exact
    assert set(found) == {(a * (i // n) + shift) % m for i in range(4 * m * n)}
    for r, values in found.items():
        assert values is not None and e.evaluate(values) % m == r


def test_a_domain_is_not_listed_for_residues_that_are_as_many() -> None:
    """A block's index has two billion values; they were all listed where as many residues were asked for."""
    block = ex.Domain(0, 2**31 - 1)
    with pytest.raises(TooManyError):
        values_to_try(ex.var("blockIdx.x", block), "blockIdx.x", block, 1 << 40)
    assert values_to_try(ex.var("n", ex.Domain(0, 9)), "n", ex.Domain(0, 9), 1 << 40) == (list(range(10)), True)
