"""Functions of CuTe in the DSL: their results as nvidia-cutlass-dsl prints them."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from cutecheck.tests.source.dsl.run import HEAD, driver, results, variables


def test_values_that_are_none_are_values(tmp_path: Path) -> None:
    text = (
        "calls = []\ndef f():\n    calls.append(1)\n"
        "class A:\n    y = None\n    def __init__(self):\n        self.x = None\n"
        "f()\na = A()\nr = (a.x is None, a.y is None, a.x or 3, len(calls))\n"
    )
    from cutecheck.tests.source.dsl.run import variables

    assert variables(tmp_path, text)["r"] == (True, True, 3, 1)


def test_ceil_div_takes_a_mode_as_a_whole(tmp_path: Path) -> None:
    from cutecheck.tests.source.dsl.run import variables

    text = HEAD + (
        "r = [cute.ceil_div((1, (8, 1)), (1, 4)), cute.ceil_div(((3, 5), (8, 2)), (2, 3)), cute.ceil_div((8, 2), 3),\n"
        "     cute.ceil_div((8, (4, 3), 7), (3, 2))]\n"
    )
    assert variables(tmp_path, text)["r"] == [(1, 2), (8, 6), 6, (3, 6, 7)]


def test_compositions_with_run_time_extents_are_merged_as_the_dsl_does(tmp_path: Path) -> None:
    """Recorded of the DSL 4.8.1; C++ keeps `(8,16):(1,8)`."""
    text = (
        HEAD
        + """
@cute.kernel
def kernel(n: cutlass.Int32, k: cutlass.Int32):
    a = cute.make_layout((8, n), stride=(1, 8))
    cute.coalesce(a)
    cute.composition(a, cute.make_layout(128))
    cute.composition(a, cute.make_layout((4, 32)))
    cute.composition(a, cute.make_layout(k))
    cute.composition(cute.make_layout((8, n), stride=(1, k)), cute.make_layout(64))
    cute.composition(cute.make_layout((8, 4, n), stride=(4, 1, 32)), cute.make_layout(64))
    cute.logical_divide(a, 128)
    b = cute.make_layout((1, (8, n), (n, k)), stride=(0, (cute.E(0), 8 * cute.E(0)), (cute.E(1), cute.E(2))))
    cute.zipped_divide(b, (1, 128))
    cute.flat_divide(b, (1, 128))
    cute.make_ordered_layout((1, (8, n // 2), (k, n * 8)), order=(0, (1, 2), (3, 4)))
    cute.make_ordered_layout((n * 8, k, 16), order=(1, 0, 2))
    cute.make_ordered_layout((n * 8, k // 16, 16), order=(0, 1, 2))

@cute.jit
def host(n: cutlass.Int32, k: cutlass.Int32):
    kernel(n, k).launch(grid=(1, 1, 1), block=(128, 1, 1))

cute.compile(host, cutlass.Int32(4), cutlass.Int32(4))
"""
    )
    made = driver(tmp_path, text)
    recorded = [
        ("coalesce", "(8,?):(1,8)"), ("composition", "128:1"), ("composition", "(4,32):(1,4)"),
        ("composition", "(?,?):(1,8)"), ("composition", "(8,8):(1,?)"), ("composition", "(8,4,2):(4,1,32)"),
        ("logical_divide", "(128,?):(1,128)"), ("zipped_divide", "((1,128),(1,?,(?,?))):((0,1@0),(0,128@0,(1@1,1@2)))"),
        ("flat_divide", "(1,128,1,?,(?,?)):(0,1@0,0,128@0,(1@1,1@2))"),
        ("make_ordered_layout", "(1,(8,?),(?,?)):(0,(1,8),(?{div=8},?{div=8}))"),
        ("make_ordered_layout", "(?,?,16):(?,1,?)"), ("make_ordered_layout", "(?,?,16):(1,?,?)"),
    ]  # fmt: skip
    seen = [(call, value[0]) for (_, call), value in sorted(results(made).items()) if call != "make_layout"]
    assert seen == recorded


@pytest.mark.parametrize("call", ["append((1, 2), 4096)", "append((1, 2), elem=4096)", "prepend((1, 2), 4096)"])
def test_an_extent_is_no_number_of_modes(call: str, tmp_path: Path) -> None:
    made = driver(tmp_path, HEAD + f"cute.make_layout(cute.{call})\n")
    (text,) = next(v for (_, name), v in results(made).items() if name == "make_layout")
    assert "4096" in str(text)


@pytest.mark.parametrize(
    ("shape", "stride", "expected"),  # as nvidia-cutlass-dsl 4.8.1 has it: mode 0 is one among the others
    [
        ("(4, 8)", "(8, 1)", "(4,8):(8,1)"), ("(4, 8)", "(s, 1)", "(4,8):(8,1)"), ("(4, 8)", "(0, 1)", "(4,8):(0,1)"),
        ("(4, 8, 2)", "(s, 1, s)", "(4,8,2):(8,1,32)"), ("((4, 2), 8)", "((s, 32), 1)", "((4,2),8):((16,8),1)"),
        ("((2, 2), 4, 8)", "((1, 8 * s), 32 * s, 16)", "((2,2),4,8):((1,16),32,2)"),
        ("((2, 2), 3)", "((64 * s, 1), 2)", "((2,2),3):((6,1),2)"),
    ],
)  # fmt: skip
def test_fragments_have_the_order_of_the_tensor(tmp_path: Path, shape: str, stride: str, expected: str) -> None:
    text = f"""
    @cute.jit
    def host(a: cute.Tensor):
        s = a.stride[0]
        x = cute.make_tensor(a.iterator, cute.make_layout({shape}, stride={stride}))
        for r in (cute.make_fragment_like(x), cute.make_rmem_tensor_like(x.layout, cutlass.Float32)):
            cute.make_layout(r.shape, stride=r.stride)

    n, s = cute.sym_int(), cute.sym_int64()
    host(make_fake_tensor(cutlass.Float16, (n, n), stride=(s, 1)))
    """
    from cutecheck.model.notation_dsl import show_dsl

    found = results(driver(tmp_path, HEAD + textwrap.dedent(text)))
    assert {show_dsl(r) for r in found[10, "make_layout"]} == {expected}


def test_parts_of_one_mode(tmp_path: Path) -> None:
    """What ``local_partition`` keeps of a tensor of one mode has one pair of brackets, as the DSL prints it."""
    text = HEAD + textwrap.dedent(
        """
        @cute.kernel
        def kernel(mA: cute.Tensor):
            tidx, _, _ = cute.arch.thread_idx()
            one = cute.make_tensor(mA.iterator, cute.make_layout(2048))
            two = cute.make_tensor(mA.iterator, cute.make_layout((64, 32)))
            cute.local_partition(one, cute.make_layout(256), tidx)
            cute.local_partition(cute.local_tile(one, (1024,), (0,)), cute.make_layout((16,)), tidx)
            cute.local_partition(two, cute.make_layout((16, 16)), tidx)
            cute.local_partition(two, cute.make_layout(((16, 16),)), tidx)

        @cute.jit
        def host(mA: cute.Tensor):
            kernel(mA).launch(grid=(1, 1, 1), block=(256, 1, 1))

        cute.compile(host, make_fake_tensor(cutlass.Float32, (2048,), stride=(1,)))
        """
    )
    found = [
        v["layout"] for (_, c), v2 in results(driver(tmp_path, text)).items() if c == "local_partition" for v in v2
    ]  # type: ignore[index]
    assert found == ["(8):(256)", "(64):(16)", "(4,2):(16,1024)", "(1,32):(0,64)"]


def test_arguments_whose_order_is_not_that_of_cpp(tmp_path: Path) -> None:
    """As 4.8.1 has them."""
    found = variables(
        tmp_path,
        """
        import cutlass.cute as cute
        a = cute.repeat_like(3, (1, (2, 2))), cute.repeat_like(2, 5)
        b = cute.basis_value(cute.E(1) * 5), cute.basis_value(7)
        c = cute.basis_get(cute.E([1, 0]), (2, (3, 4))), cute.basis_get(5, (2, 3))
        rest, at = cute.slice_and_offset((None, 2), cute.make_layout((4, 8)))
        d = rest.shape, at
    """,
    )
    assert found["a"] == ((3, (3, 3)), 2)
    assert found["b"] == (5, 7)
    assert found["c"] == (3, (2, 3))
    assert found["d"] in (((4,), 8), (4, 8))


def test_slices_whose_swizzle_does_nothing_stay_composed(tmp_path: Path) -> None:
    """As 4.8.1 prints them."""
    text = (
        HEAD
        + """
whole = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
row = cute.slice_(whole, (3, None))
cute.make_layout(row.outer.shape, stride=row.outer.stride)
column = cute.slice_(whole, (None, 3))
cute.make_layout(column.outer.shape, stride=column.outer.stride)
cute.make_layout(cute.cosize(column))
"""
    )
    made = {str(r).replace("_", "") for rs in results(driver(tmp_path, text)).values() for r in rs}
    assert {"((8,4,2)):((1,-8,32))", "(8):(72)", "505"} <= made
