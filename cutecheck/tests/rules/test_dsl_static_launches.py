"""Single elements that threads store in launches of which everything is a number of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

ROWS = """
@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    row = b * 4 + t // 32
    for i in cutlass.range(2, unroll=1):
        if GUARD:
            y[row, t % 32 + i * 32] = x[row, t % 32 + i * 32]
"""
HEADS = """
@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    s, h, b = cute.arch.block_idx()
    mine, out = x[b, s, h, None], y[b, s, h, None]
    for i in cutlass.range(t, 64, 32):
        out[i] = mine[i]
"""
PAIRS = """
@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    for n in range(0, 64, 2):
        for i in cutlass.range_constexpr(2):
            y[t % 63, n + i] = x[t % 63, n + i]
"""
HOST = """
@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    kernel(x, y).launch(grid=GRID, block=(128, 1, 1))


cute.compile(host, *(make_fake_tensor(cutlass.Float32, SHAPE, stride=STRIDE) for _ in "xy"))
"""


def test_threads_that_begin_behind_the_end_of_their_loop(tmp_path: Path) -> None:
    """Where the numbers are the host's, and where they are the program's."""
    loop = """
import torch
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def kernel(x: cute.Tensor, y: cute.Tensor):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    for i in cutlass.range(t, x.shape[1], 128):
        y[b, i] = x[b, i]
"""
    host = HOST.replace("GRID", "(x.shape[0], 1, 1)").partition("cute.compile")[0]
    for how in (".mark_layout_dynamic()", ""):
        host += f"cute.compile(host, *(from_dlpack(torch.empty(77, 64, device='cuda')){how} for _ in 'xy'))\n"
    (tmp_path / "main.py").write_text(HEAD + loop + host)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), cache=False, select=("CUT210", "CUT219")))
    assert not made.findings


@pytest.mark.parametrize(
    ("kernel", "grid", "shape", "codes"),
    [
        (ROWS.replace("GUARD", "row < 63"), "(16, 1, 1)", (63, 64), set()),
        (ROWS.replace("GUARD", "row < x.shape[0]"), "(16, 1, 1)", (63, 64), set()),
        (ROWS.replace("GUARD", "t >= 0"), "(16, 1, 1)", (64, 64), set()),
        (ROWS.replace("GUARD", "t >= 0"), "(16, 1, 1)", (63, 64), {"CUT219"}),
        (ROWS.replace("GUARD", "t < 96"), "(16, 1, 1)", (63, 64), set()),  # the last row is that of the others
        (PAIRS, "(1, 1, 1)", (63, 64), set()),
        (PAIRS, "(1, 1, 1)", (62, 64), {"CUT219"}),
        (HEADS, "(x.shape[1], x.shape[2], x.shape[0])", (2, 16, 8, 64), set()),
        (HEADS, "(x.shape[2], x.shape[1], x.shape[0])", (2, 16, 8, 64), {"CUT210"}),
    ],
)
def test_elements_behind_the_end(
    tmp_path: Path, kernel: str, grid: str, shape: tuple[int, ...], codes: set[str]
) -> None:
    strides = [1]
    for n in reversed(shape[1:]):
        strides.insert(0, strides[0] * n)
    host = HOST.replace("GRID", grid).replace("SHAPE", str(shape)).replace("STRIDE", str(tuple(strides)))
    (tmp_path / "main.py").write_text(HEAD + kernel + host)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), cache=False, select=("CUT210", "CUT219")))
    assert {f.code for f in made.findings} == codes
