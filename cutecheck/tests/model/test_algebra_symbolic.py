"""A symbolic or run-time result, taken at sampled values, is the concrete result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cutecheck.model import algebra as A  # noqa: N812
from cutecheck.model import inttuple as it
from cutecheck.model.basis import X
from cutecheck.model.expr import Domain
from cutecheck.model.ints import CuteError, Dyn, Sym, UndecidedError, known_value
from cutecheck.model.layout import ComposedLayout, Layout, Swizzle

M, N, K = "kM", "kN", "kK"
DOMAINS = {M: Domain(lo=16, hi=256, step=16), N: Domain(values=(32, 64, 128)), K: Domain(lo=8, hi=64, step=8)}


def symbol(name: str) -> Sym:
    return Sym.named(name, DOMAINS[name])


def expressions() -> list[Any]:
    """Layouts over open static parameters, as kernel traits write them."""
    m, n, k = symbol(M), symbol(N), symbol(K)
    return [
        A.make_layout((m, n)),
        A.make_layout((m, n), A.LayoutRight),
        A.make_layout((m, (8, k)), A.LayoutRight),
        Layout((8, k), (k, 1)),
        Layout((m, 4), (4, 1)),
        Layout(m * n, 1),
        Layout((m, n, k), (n * k, k, 1)),
        Layout((n, 0 + m), (0, 1)),
        Layout(((2, m), n), ((1, 2), 2 * m)),
    ]


KM, KK = symbol(M), symbol(K)

OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "coalesce": A.coalesce,
    "size": A.size,
    "cosize": A.cosize,
    "filter": A.filter,
    "right_inverse": A.right_inverse,
    "left_inverse": A.left_inverse,
    "complement": lambda x: A.complement(x, 4096),
    "divide by 8": lambda x: A.logical_divide(x, 8),
    "divide by mode": lambda x: A.zipped_divide(x, (2, X)) if A.rank(x) > 1 else A.zipped_divide(x, (2,)),
    "tiled by a symbol": lambda x, m=KM: A.zipped_divide(x, (m,)),
    "compose": lambda x: A.composition(x, Layout((2, 4), (4, 1))),
    "compose tile": lambda x: A.composition(x, (8,)),
    "product": lambda x: A.blocked_product(x, Layout((2, 2), (2, 1))),
    "raked": lambda x: A.raked_product(x, A.make_layout((2, 2))),
    "tile_to_shape": lambda x: A.tile_to_shape(Layout((8, 8), (8, 1)), x.shape) if A.rank(x) == 2 else None,
    "downcast": lambda x: A.downcast(x, 2),
    "upcast": lambda x: A.upcast(x, 2),
    "make_layout_like": A.make_layout_like,
    "make_fragment_like": A.make_fragment_like,
    "offset of a coordinate": lambda x: x(17),
    "offset of a symbol": lambda x, k=KK: x(k),
    "max_common_vector": lambda x: A.max_common_vector(x, x),
    "slice": lambda x: x((X, 3)) if A.rank(x) == 2 else None,
    "nullspace": A.nullspace,
}


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("index", range(len(expressions())))
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_symbolic_result_at_a_point_is_the_concrete_result(operation: str, index: int, data: st.DataObject) -> None:
    layout = expressions()[index]
    point = {
        M: data.draw(st.sampled_from(range(16, 257, 16))),
        N: data.draw(st.sampled_from((32, 64, 128))),
        K: data.draw(st.sampled_from(range(8, 65, 8))),
    }
    run = OPERATIONS[operation]
    try:
        result = run(layout)
    except UndecidedError:
        return  # says so instead of guessing
    except CuteError:
        with pytest.raises(CuteError):
            point_run(run, layout, point)
        return
    assert A.bind(result, point) == point_run(run, layout, point)


def point_run(run: Callable[..., Any], layout: Any, point: dict[str, int]) -> Any:
    """The operation on plain integers, its own parameters (defaults) bound as well."""
    bound = A.bind(getattr(run, "__defaults__", None) or (), point)
    own = bound if run.__name__ == "<lambda>" else ()
    return run(A.bind(layout, point), *own)


def test_some_symbolic_results_are_decided() -> None:
    decided = 0
    for layout in expressions():
        for run in OPERATIONS.values():
            try:
                run(layout)
                decided += 1
            except (UndecidedError, CuteError):
                pass
    assert decided > 165


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from([(8, 16), (32, 4), (4, (8, 2)), ((2, 2), 8)]),
    st.integers(0, 3),
    st.sampled_from([Swizzle(0, 4, 3), Swizzle(2, 3, 3), Swizzle(3, 2, 3), Swizzle(1, 2, -2)]),
    st.randoms(),
)
def test_run_time_offset_at_a_point_is_the_offset(shape: Any, major: int, sw: Swizzle, random: Any) -> None:
    base = A.make_layout(shape, A.LayoutRight if major % 2 else A.LayoutLeft)
    layout: Any = ComposedLayout(sw, 8 if major > 1 else 0, base)
    thread = Dyn.named("threadIdx.x", Domain(lo=0, hi=it.product(shape) - 1))  # type: ignore[operator]
    for candidate in (base, layout):
        offset = candidate(thread)
        for _ in range(8):
            i = random.randrange(it.product(shape))
            assert known_value(A.bind(offset, {"threadIdx.x": i})) == candidate(i)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([Swizzle(2, 3, 3), Swizzle(3, 3, 3), Swizzle(3, 4, 3), Swizzle(1, 0, 2)]), st.randoms())
def test_slice_at_a_run_time_row_at_a_point_is_the_slice(sw: Swizzle, random: Any) -> None:
    layout = A.composition(sw, A.make_layout((32, 64), A.LayoutRight))
    row = Dyn.named("row", Domain(lo=0, hi=31))
    rest, start = A.slice_and_offset((row, X), layout)
    column_rest, column_start = A.slice_and_offset((X, row), layout)
    for _ in range(6):
        i = random.randrange(32)
        point = {"row": i}
        expected = [A.apply_layout(layout, (i, j)) for j in range(64)]
        first = known_value(A.bind(start, point))
        assert [first + x for x in A.offsets(A.bind(rest, point))] == expected  # type: ignore[operator]
        expected = [A.apply_layout(layout, (j, i)) for j in range(32)]
        first = known_value(A.bind(column_start, point))
        assert [first + x for x in A.offsets(A.bind(column_rest, point))] == expected  # type: ignore[operator]
