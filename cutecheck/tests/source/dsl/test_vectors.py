"""Loaded values of register tensors have a shape and an element type, as the DSL gave them (4.8.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.source.dsl.run import HEAD, driver, results

KERNEL = (
    HEAD
    + """
    from cutlass import BFloat16, Boolean, Float32, Int32

    @cute.kernel
    def kernel():
        a = cute.make_rmem_tensor(cute.make_layout(((2, 2), 3, 4)), Float32)
        b = cute.make_rmem_tensor(cute.make_layout(((2, 2), 3, 4)), BFloat16)
        v, w = a.load(), b.load()
        x = {0}
        d = x.dtype
        kind = 1 if d is Float32 else 2 if d is BFloat16 else 3 if d is Boolean else 4 if d is Int32 else 5
        cute.make_layout((cute.size(x.shape), kind))

    @cute.jit
    def host():
        kernel().launch(grid=(1, 1, 1), block=(32, 1, 1))

    cute.compile(host)
    """
)


@pytest.mark.parametrize(
    ("made", "size", "kind"),
    [
        ("v", 48, 0),
        ("w", 48, 1),
        ("v + v * 2 - 2.0", 48, 0),
        ("-w", 48, 1),
        ("v < 0", 48, 2),
        ("v.to(Int32)", 48, 3),
        ("a[None, 1, None].load()", 16, 0),
        ("v.reshape((4, 12))", 48, 0),
        ("cute.math.exp2(v, fastmath=True)", 48, 0),
        ("cute.where(v < v, w, w)", 48, 1),
        ("v.reduce(cute.ReductionOp.ADD, 0.0, reduction_profile=(0, 0, None))", 4, 0),
        ("v.reduce(cute.ReductionOp.MAX, 0.0, ((None, 0), None, 0))", 6, 0),
    ],
)
def test_shape_and_type(tmp_path: Path, made: str, size: int, kind: int) -> None:
    found = results(driver(tmp_path, KERNEL.replace("{0}", made)))
    assert [f"({size},{kind + 1}):(1,{size if kind else 0})"] in found.values()


def test_what_is_a_vector(tmp_path: Path) -> None:
    text = KERNEL.replace("{0}", "a.load()").replace(
        "        d = x.dtype",
        "        for n, y in enumerate((v, a, a[0], v.reduce(cute.ReductionOp.ADD, 0.0, 0))):\n"
        "            cute.make_layout((1 if isinstance(y, cute.TensorSSA) else 2, 5 + n))\n        d = x.dtype",
    )
    found = {str(v) for values in results(driver(tmp_path, text)).values() for v in values}
    assert {"(1,5):(0,1)", "(2,6):(1,2)", "(2,7):(1,2)", "(2,8):(1,2)"} <= found
