"""The algebra beside pycute (nvidia-cutlass) and tensor-layouts, where those agree with CuTe.

They are plain-integer libraries: compared are the values of the results on random layouts that all accept. Skipped
when they are not installed.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from cutecheck.model import algebra
from cutecheck.model import inttuple as it
from cutecheck.model.ints import CuteError
from cutecheck.model.layout import Layout
from cutecheck.tests.model.test_algebra_properties import divides_exactly, layouts, strides_nest, values

ORACLES = {"pycute": "nvidia-cutlass", "tensor_layouts": "tensor-layouts"}


@pytest.fixture(params=ORACLES)
def oracle(request: pytest.FixtureRequest) -> ModuleType:
    return pytest.importorskip(request.param, reason=f"{ORACLES[request.param]} is not installed")  # type: ignore[no-any-return]


def composition(module: ModuleType) -> Any:
    return module.composition if module.__name__ == "pycute" else module.compose


def table(result: Any, count: int) -> list[int]:
    return [result(i) for i in range(count)]


def test_evaluation_and_coalesce(oracle: ModuleType) -> None:
    @settings(max_examples=60, deadline=None)
    @given(layouts())
    def check(layout: Layout) -> None:
        theirs = oracle.Layout(layout.shape, layout.stride)
        assert table(theirs, algebra.size(layout)) == values(layout)  # type: ignore[arg-type]
        merged = oracle.coalesce(theirs)
        assert table(merged, algebra.size(layout)) == values(algebra.coalesce(layout))  # type: ignore[arg-type]

    check()


def test_composition(oracle: ModuleType) -> None:
    @settings(max_examples=80, deadline=None)
    @given(layouts(limit=256, powers=True), layouts(limit=64, powers=True, compact=True))
    def check(a: Layout, b: Layout) -> None:
        assume(algebra.cosize(b) <= algebra.size(a) and divides_exactly(a, b))  # type: ignore[operator]
        ours = algebra.composition(a, b)
        theirs = composition(oracle)(oracle.Layout(a.shape, a.stride), oracle.Layout(b.shape, b.stride))
        assert table(theirs, algebra.size(ours)) == values(ours)  # type: ignore[arg-type]

    check()


def test_complement_and_divide(oracle: ModuleType) -> None:
    @settings(max_examples=80, deadline=None)
    @given(layouts(limit=64, powers=True), st.sampled_from([2, 4, 8]))
    def check(layout: Layout, n: int) -> None:
        assume(all(d > 0 for d in it.leaves(layout.stride)) and strides_nest(layout))
        theirs = oracle.Layout(layout.shape, layout.stride)
        try:
            ours = algebra.complement(layout, 512)
        except CuteError:
            return
        assert table(oracle.complement(theirs, 512), algebra.size(ours)) == values(ours)  # type: ignore[arg-type]
        assume(algebra.size(layout) % n == 0)  # type: ignore[operator]
        divided = algebra.logical_divide(layout, n)
        tiler = oracle.Layout(n, 1)
        assert table(oracle.logical_divide(theirs, tiler), algebra.size(divided)) == values(divided)  # type: ignore[arg-type]

    check()


def test_right_inverse_of_compact_layouts(oracle: ModuleType) -> None:
    @settings(max_examples=60, deadline=None)
    @given(layouts(compact=True))
    def check(layout: Layout) -> None:
        ours = algebra.right_inverse(layout)
        theirs = oracle.right_inverse(oracle.Layout(layout.shape, layout.stride))
        assert table(theirs, algebra.size(ours)) == values(ours)  # type: ignore[arg-type]

    check()
