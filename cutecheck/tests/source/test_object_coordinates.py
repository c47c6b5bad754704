"""Objects with a conversion to a number as coordinates: a pipeline state that stands for its stage, as g++ says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.shown import kernel, number

STATE = """
#include <cute/tensor.hpp>
using namespace cute;
struct State { int idx = 0; __host__ __device__ operator int() const { return idx; } };
using L = Layout<Shape<_4, _5>, Stride<_1, _10>>;
"""


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("L{}(1, State{2})", 21),
        ("L{}(State{3}, State{2})", 23),
        ("L{}(make_coord(State{1}, _2{}))", 21),
        ("L{}(_, State{3})(2)", 2),
    ],
)
def test_a_coordinate_is_the_number_an_object_converts_to(tmp_path: Path, shown: str, value: int) -> None:
    assert number(tmp_path, kernel(STATE), "", shown) == value
