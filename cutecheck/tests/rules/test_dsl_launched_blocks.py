"""Tiles, heads and elements that blocks take, at the numbers of a launch whose host has tensors of torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

ROWS, HEADS, BATCHES, TILE = 90, 4, 3, 16
KERNEL = """
import torch

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


class Scheduler:
    def __init__(self, tile, tiles, heads, batches):
        self.tile, self.tiles, self.heads, self.batches = tile, tiles, heads, batches

    def is_valid(self):
        return self.tile < self.tiles * self.heads * self.batches

    def coords(self):
        rest = self.tile // self.tiles
        return self.tile % self.tiles, rest % self.heads, rest // self.heads

    def advance(self):
        self.tile += cute.arch.grid_dim()[0]


@cute.kernel
def scale(x: cute.Tensor, y: cute.Tensor, sums: cute.Tensor, tiled: cute.TiledCopy):
    tidx = cute.arch.thread_idx()[0]
    thr = tiled.get_slice(tidx)
    scheduler = Scheduler(
        cutlass.Int32(cute.arch.block_idx()[0]), cute.ceil_div(x.shape[1], 16), x.shape[2], x.shape[0]
    )
    while scheduler.is_valid():
        m, h, b = scheduler.coords()
        gX = cute.local_tile(x[LOAD_B, None, LOAD_H, None], (16, 64), (m, 0))
        gY = cute.local_tile(y[STORE_B, None, STORE_H, None], (16, 64), (STORE_M, 0))
        gS = cute.local_tile(sums[b, SUM_H, None], (16,), (m,))
        here = thr.partition_S(cute.make_identity_tensor((16, 64)))
        tX, tY = thr.partition_S(gX), thr.partition_D(gY)
        kept = cute.make_rmem_tensor_like(tX)
        for i in cutlass.range_constexpr(cute.size(tX, mode=[1])):
            if here[0, i, 0][0] < x.shape[1] - m * 16:
                cute.copy(tiled, tX[None, i, None], kept[None, i, None])
                cute.copy(tiled, kept[None, i, None], tY[None, i, None])
        if tidx < ROWS:
            gS[tidx] = kept[0]
        scheduler.advance()


@cute.jit
def run(x: cute.Tensor, y: cute.Tensor, sums: cute.Tensor, ctas: cutlass.Int32):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 1)))
    tiles = cute.ceil_div(x.shape[1], 16) * x.shape[2] * x.shape[0]
    scale(x, y, sums, tiled).launch(grid=[cutlass.min(tiles, ctas), 1, 1], block=[128, 1, 1])


def given(t):
    return from_dlpack(t, assumed_align=16).mark_layout_dynamic(leading_dim=t.ndim - 1)


def test_scale():
    x = torch.randn(3, 90, 4, 64, device="cuda")
    y, sums = torch.empty_like(x), torch.empty(3, 4, 90, device="cuda")
    ctas = torch.cuda.get_device_properties(0).multi_processor_count
    cute.compile(run, given(x), given(y), given(sums), ctas)
"""
PLAIN = {
    "LOAD_B": "b", "LOAD_H": "h", "STORE_B": "b", "STORE_H": "h", "STORE_M": "m", "SUM_H": "h",
    "ROWS": "cutlass.min(x.shape[1] - m * 16, 16)",
}  # fmt: skip


def _said(folder: Path, changed: dict[str, str]) -> list[str]:
    text = KERNEL
    for name, part in {**PLAIN, **changed}.items():
        text = text.replace(name, part)
    (folder / "test_kernel.py").write_text(text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=("CUT219",), cache=False))
    assert not report.failures and not report.errors
    assert all(s.status == "resolved" for s in report.facts.sites)
    return [f.message for f in report.findings if "as the kernel is launched here" in f.message]


def test_right(tmp_path: Path) -> None:
    assert _said(tmp_path, {}) == []


Scheme = Callable[[int, int, int], tuple[int, int, int]]  # of a tile's m, h and b where it is stored


@pytest.mark.parametrize(
    ("changed", "scheme"),
    [
        ({"STORE_H": "0"}, lambda m, h, b: (m, 0, b)),
        ({"STORE_B": "0"}, lambda m, h, b: (m, h, 0)),
        ({"STORE_M": "0"}, lambda m, h, b: (0, h, b)),
        ({"STORE_H": "h // 2"}, lambda m, h, b: (m, h // 2, b)),
        ({"STORE_H": "3 - h"}, lambda m, h, b: (m, 3 - h, b)),
        ({"STORE_H": "(h + b) % x.shape[2]"}, lambda m, h, b: (m, (h + b) % HEADS, b)),
        ({"STORE_H": "b", "STORE_B": "h"}, lambda m, h, b: (m, b, h)),
        ({"STORE_B": "b + h // 3"}, lambda m, h, b: (m, h, b + h // 3)),
    ],
)
def test_where_tiles_are_stored(changed: dict[str, str], scheme: Scheme, tmp_path: Path) -> None:
    """Against the places of all tiles, one by one."""
    tiles = -(-ROWS // TILE)
    places = [scheme(m, h, b) for b in range(BATCHES) for h in range(HEADS) for m in range(tiles)]
    outside = any(h >= HEADS or b >= BATCHES for _, h, b in places)
    said = _said(tmp_path, changed)
    assert bool([s for s in said if "which has" in s]) is outside
    assert bool([s for s in said if "to the same place" in s]) is (len(set(places)) < len(places) and not outside)


@pytest.mark.parametrize(
    ("rows", "limit"),
    [
        ("cutlass.min(x.shape[1] - m * 16, 16)", lambda m: min(ROWS - m * TILE, TILE)),
        ("16", lambda m: TILE),
        ("x.shape[1] - m * 16", lambda m: ROWS - m * TILE),  # of the next tiles, too, but none past the end
        ("x.shape[1] - m * 16 + 1", lambda m: ROWS - m * TILE + 1),
        ("cutlass.min(x.shape[1] - m * 16 + 1, 16)", lambda m: min(ROWS - m * TILE + 1, TILE)),
    ],
)
def test_rows_of_single_elements(rows: str, limit: Callable[[int], int], tmp_path: Path) -> None:
    """Against each thread of each tile."""
    stored = [m * TILE + t for m in range(-(-ROWS // TILE)) for t in range(128) if t < limit(m)]
    said = _said(tmp_path, {"ROWS": rows})
    assert len(said) == (max(stored) >= ROWS)
    first = min((row for row in stored if row >= ROWS), default=None)
    assert all(f"stores element {first} along mode 2" in s and "which has 90" in s for s in said)


def test_one_head_for_all(tmp_path: Path) -> None:
    said = _said(tmp_path, {"LOAD_H": "0"})
    assert len(said) == 1 and "mode 2 of `tX[None, i, None]` has 4 elements" in said[0]
    said = _said(tmp_path, {"SUM_H": "0"})
    assert len(said) == 1 and "to the same place" in said[0]


def test_a_host_without_numbers_says_nothing(tmp_path: Path) -> None:
    whole = "make_fake_tensor(cutlass.Float32, (sym(), sym(), sym(), 64), stride=(sym(), sym(), sym(), 1))"
    rows = "make_fake_tensor(cutlass.Float32, (sym(), sym(), sym()), stride=(sym(), sym(), 1))"
    made = f"from cutlass.cute.runtime import make_fake_tensor\n    sym = cute.sym_int\n    x = {whole}"
    changed = {
        'x = torch.randn(3, 90, 4, 64, device="cuda")': made,
        'y, sums = torch.empty_like(x), torch.empty(3, 4, 90, device="cuda")': f"y, sums = {whole}, {rows}",
        "given(x), given(y), given(sums)": "x, y, sums",
    }
    assert _said(tmp_path, {"STORE_H": "0", **changed}) == []


@pytest.mark.parametrize(("head", "wrong"), [("h", False), ("0", True)])
def test_what_a_loop_goes_along_is_no_part_of_what_tells_blocks_apart(head: str, wrong: bool, tmp_path: Path) -> None:
    looped = {
        "x[b, None, h, None], (16, 64), (m, 0))": "x[b, None, h, None], (16, 64), (None, 0))",
        "kept = cute.make_rmem_tensor_like(tX)": "kept = cute.make_rmem_tensor_like(tX[None, None, None, 0])",
        "                cute.copy(tiled, tX[None, i, None], kept[None, i, None])\n": (
            "                for j in cutlass.range(m, m + 1):\n"
            "                    cute.copy(tiled, tX[None, i, None, j], kept[None, i, None])\n"
        ),
    }
    said = _said(tmp_path, {"STORE_H": head, **looped})
    assert ["to the same place" in s for s in said] == [True] * wrong


PARTS = """
import torch

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import from_dlpack


@cute.kernel
def count(sizes: cute.Tensor, memory: cute.Tensor):
    tidx = cute.arch.thread_idx()[0]
    part = cute.make_tensor(memory.iterator + 32 * sizes.shape[0], cute.make_layout(sizes.shape[0]))
    if tidx < sizes.shape[0] + MORE:
        WHERE[tidx] = cutlass.Int32(0)


@cute.jit
def run(sizes: cute.Tensor, memory: cute.Tensor):
    count(sizes, memory).launch(grid=[1, 1, 1], block=[128, 1, 1])


def test_count():
    sizes, memory = torch.empty(4, dtype=torch.int32), torch.empty(256, dtype=torch.int32)
    given = [from_dlpack(t).mark_layout_dynamic() for t in (sizes, memory)]
    cute.compile(run, *given)
"""


@pytest.mark.parametrize(("where", "more", "said"), [("part", "0", 0), ("sizes", "0", 0), ("sizes", "1", 1)])
def test_a_part_of_memory_begins_anywhere(tmp_path: Path, where: str, more: str, said: int) -> None:
    (tmp_path / "test_parts.py").write_text(PARTS.replace("WHERE", where).replace("MORE", more))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT219",), cache=False))
    assert not report.failures and not report.errors
    assert len(report.findings) == said


def test_a_loop_that_goes_along_all_heads(tmp_path: Path) -> None:
    """The first head is loaded ahead of it."""
    made = "        kept = cute.make_rmem_tensor_like(tX)\n"
    looped = f"""{made}        for o in cutlass.range(x.shape[2]):
            tO = thr.partition_S(cute.local_tile(x[b, None, o, None], (16, 64), (m, 0)))
            cute.copy(tiled, tO[None, 0, None], kept[None, 0, None])
"""
    for name in ("alone", "looped"):
        (tmp_path / name).mkdir()
    assert any("take the first alone" in said for said in _said(tmp_path / "alone", {"LOAD_H": "0"}))
    assert not any("take the first alone" in said for said in _said(tmp_path / "looped", {"LOAD_H": "0", made: looped}))
