"""Tiles that are composed with a layout of threads and values, copied element by element under predicates."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.jit
def load(part: cute.Tensor, inside: cute.Tensor):
    registers = cute.make_fragment_like(part)
    registers.fill(0)
    cute.basic_copy_if(inside, part, registers)
    return registers


@cute.kernel
def double(gX: cute.Tensor, gY: cute.Tensor, cY: cute.Tensor, shape: cute.Shape, tv: cute.Layout):
    tid, _, _ = cute.arch.thread_idx()
    block, _, _ = cute.arch.block_idx()
    at = ((None, None), block)
    x, y, c = (cute.composition(t[at], tv) for t in (gX, gY, COORDINATES))
    mine, out, crd = x[tid, None], y[OUT, None], c[tid, None]
    inside = cute.make_rmem_tensor(crd.shape, cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(inside)):
        inside[i] = cute.elem_less(crd[ASKED], shape)
    registers = load(mine, inside)
    registers.store(registers.load() * 2)
    STORE


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    tile, tv = cute.make_layout_tv(THREADS, cute.make_ordered_layout((2, 4), order=(1, 0)))
    gX, gY = cute.zipped_divide(x, tile), cute.zipped_divide(y, tile)
    cY = cute.zipped_divide(cute.make_identity_tensor(y.shape), tile)
    double(gX, gY, cY, y.shape, tv).launch(grid=(cute.size(gY, mode=[1]), 1, 1), block=(128, 1, 1))


def tensor():
    return make_fake_tensor(cutlass.Float32, (cute.sym_int(), cute.sym_int()), stride=(cute.sym_int(), 1))


cute.compile(host, tensor(), tensor())
"""
ROWS = "cute.make_ordered_layout((4, 32), order=(1, 0))"
USUAL = {
    "COORDINATES": "cY", "OUT": "tid", "ASKED": "i", "THREADS": ROWS,
    "STORE": "cute.basic_copy_if(inside, registers, out)",
}  # fmt: skip
RIGHT: list[dict[str, str]] = [
    {},
    {"THREADS": "cute.make_layout((4, 32))"},
    {"THREADS": "cute.make_ordered_layout((128, 1), order=(1, 0))"},
    {"STORE": "if inside[cute.size(inside) - 1]:\n        cute.basic_copy(registers, out)"},
    {"STORE": "for i in cutlass.range_constexpr(8):\n        if inside[i]:\n            out[i] = registers[i]"},
]
WRONG = [
    ({"COORDINATES": "cute.zipped_divide(cute.make_identity_tensor((8, 128)), (8, 128))"}, "CUT604"),
    ({"ASKED": "0"}, "CUT604"),
    ({"OUT": "0"}, "CUT604"),
    ({"OUT": "tid ^ 1"}, "CUT604"),
    ({"STORE": "cute.basic_copy(registers, out)"}, "CUT210"),
]


def found(folder: Path, other: dict[str, str]) -> set[str]:
    text = KERNEL
    for name, value in (USUAL | other).items():
        text = text.replace(name, value)
    (folder / "k.py").write_text(text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=("CUT2", "CUT6")))
    assert not report.failures
    assert not report.errors
    return {f.code for f in report.findings}


@pytest.mark.parametrize("other", RIGHT)
def test_right_predicates(tmp_path: Path, other: dict[str, str]) -> None:
    assert found(tmp_path, other) == set()


@pytest.mark.parametrize(("other", "code"), WRONG)
def test_wrong_predicates(tmp_path: Path, other: dict[str, str], code: str) -> None:
    assert code in found(tmp_path, other)


TURNED = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    m, n = y.shape
    turned = cute.composition(y, cute.make_layout((n, m), stride=(m, 1)))
    c = cute.local_tile(cute.make_identity_tensor((n, m)), (32, 4), (bx, by))
    g = cute.local_tile(turned, (32, 4), (bx, by))
    s = cute.local_tile(x, (32, 4), (bx, by))
    if cute.elem_less(c[tid], (n, m)):
        g[tid] = s[tid]


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=(cute.ceil_div(x.shape[0], 32), cute.ceil_div(x.shape[1], 4), 1), block=(128, 1, 1))


def tensor(a, b):
    return make_fake_tensor(cutlass.Float32, (a, b), stride=(cute.sym_int(), 1))


m, n = SIZES
cute.compile(host, tensor(n, m), tensor(m, n))
"""


@pytest.mark.parametrize("sizes", ["cute.sym_int(), cute.sym_int()", "70, 100"])
def test_a_matrix_that_is_turned(tmp_path: Path, sizes: str) -> None:
    """No tile is composed, but all of the matrix: the predicates ask in the order of the view's modes."""
    (tmp_path / "k.py").write_text(TURNED.replace("SIZES", sizes))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT2", "CUT6")))
    assert not report.failures
    assert not report.findings
