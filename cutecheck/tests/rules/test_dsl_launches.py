"""Shared memory that a launch of the DSL names, against what its kernel allocates."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute

def scratch(smem):
    return smem.allocate_array(cutlass.Float32, 64)

@cute.kernel
def rows(storage: cutlass.Constexpr):
    smem = cutlass.utils.SmemAllocator()
    kept = smem.allocate(storage)
    tile = kept.tile.get_tensor(cute.make_layout((64, 32)))
    sums = cute.make_tensor(scratch(smem), cute.make_layout(64))
    out = cute.make_rmem_tensor(cute.make_layout(32), cutlass.Float16)
    cute.autovec_copy(tile[cute.arch.thread_idx()[0], None], out)

@cute.jit
def host():
    @cute.struct
    class Storage:
        tile: cute.struct.MemRange[cutlass.Float16, 64 * 32]

    rows(Storage).launch(grid=(1, 1, 1), block=(64, 1, 1)SMEM)

host()
"""


def too_small(smem: str, folder: Path, kernel: str = KERNEL) -> list[str]:
    path = folder / "kernel.py"
    path.write_text(kernel.replace("SMEM", smem))
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), select=("CUT702", "CUT705")))
    assert report.facts.launches and not report.errors
    return [f.message for f in report.findings]


@pytest.mark.parametrize("smem", ["", ", smem=None", ", smem=4096 + 256", ", smem=Storage.size_in_bytes() + 256"])
def test_a_launch_with_what_its_kernel_allocates(smem: str, tmp_path: Path) -> None:
    """The storage's 4,096 bytes and the 256 of the array that a helper allocates."""
    assert too_small(smem, tmp_path) == []


@pytest.mark.parametrize("bytes_", ["Storage.size_in_bytes()", "4096 + 255", "64"])
def test_a_launch_with_less_than_its_kernel_allocates(bytes_: str, tmp_path: Path) -> None:
    (message,) = too_small(f", smem={bytes_}", tmp_path)
    assert "allocates 4352 bytes" in message


def test_a_launch_past_48_kilobytes_needs_no_attribute(tmp_path: Path) -> None:
    """The DSL sets it; more than a block can have fails all the same."""
    assert too_small(", smem=60000", tmp_path) == []
    (message,) = too_small(", smem=400000", tmp_path)
    assert "400000 bytes" in message


def test_branches_that_share_their_allocations_are_not_added_up(tmp_path: Path) -> None:
    assert too_small(", smem=64, smem_merge_branch_allocs=True", tmp_path) == []


BOX = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor

@cute.jit
def host(m: cute.Tensor):
    smem = cute.make_layout((64, 64), stride=(64, 1))
    cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), m, smem, BOX)

cute.compile(host, make_fake_compact_tensor(cutlass.Float16, (512, 512), stride_order=(1, 0), assumed_align=16))
"""


@pytest.mark.parametrize("box, refused", [("(64, 64)", False), ("(64, 32)", True), ("(64, 128)", True)])
def test_a_box_is_the_tile_of_shared_memory(box: str, refused: bool, tmp_path: Path) -> None:
    """nvidia-cutlass-dsl 4.8.1: "expected top-level shape equivalence between the SMEM layout and the CTA V-map"."""
    path = tmp_path / "box.py"
    path.write_text(BOX.replace("BOX", box))
    report = check(inputs([str(path)]), Settings(arch=("sm_90a",), select=("CUT303",)))
    assert [f"a box of ({box[1:-1].replace(' ', '')})" in f.message for f in report.findings] == [True] * refused


ADD = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def add(x: cute.Tensor, y: cute.Tensor, tv: cute.Layout, tiler: cute.Shape):
    tid, _, _ = cute.arch.thread_idx()
    bid, _, _ = cute.arch.block_idx()
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float16)
    thr = cute.make_tiled_copy(atom, tv, tiler).get_slice(tid)
    source = thr.partition_S(x[((None, None), bid)])
    regs = cute.make_fragment_like(source)
    cute.copy(atom, source, regs)
    cute.copy(atom, regs, thr.partition_D(y[((None, None), bid)]))


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    threads = cute.make_ordered_layout((4, 32), order=(1, 0))
    tiler, tv = cute.make_layout_tv(threads, cute.make_ordered_layout((4, 8), order=(1, 0)))
    gx, gy = cute.zipped_divide(x, tiler), cute.zipped_divide(y, tiler)
    add(gx, gy, tv, tiler).launch(grid=(cute.size(gx, mode=[1]), 1, 1), block=(cute.size(tv, mode=[MODE]), 1, 1))


t = make_fake_tensor(cutlass.Float16, (64, 512), stride=(512, 1), assumed_align=16)
cute.compile(host, t, t)
"""


@pytest.mark.parametrize(("mode", "expected"), [(0, set()), (1, {"CUT701"})])
def test_a_copy_by_its_atom_has_the_threads_of_its_partitions(mode: int, expected: set[str], tmp_path: Path) -> None:
    path = tmp_path / "add.py"
    path.write_text(ADD.replace("MODE", str(mode)))
    made = check(inputs([str(path)]), Settings(arch=("sm_80",), cache=False))
    assert not made.failures and not made.errors
    assert {f.code for f in made.findings} == expected


def test_numbers_that_no_launch_has(tmp_path: Path) -> None:
    path = tmp_path / "add.py"
    path.write_text(ADD.replace("cute.size(tv, mode=[MODE])", "1 << 76"))
    made = check(inputs([str(path)]), Settings(arch=("sm_80",), cache=False))
    assert not made.failures and not made.errors
    assert "CUT704" in {f.code for f in made.findings}


GEMM = "    cute.gemm(1, 2, 3, 4, 5)\n"  # none of these is a tensor


def test_a_product_without_operands(tmp_path: Path) -> None:
    path = tmp_path / "add.py"
    path.write_text(ADD.replace("MODE", "0").replace("    cute.copy(atom, regs", GEMM + "    cute.copy(atom, regs"))
    made = check(inputs([str(path)]), Settings(arch=("sm_80",), cache=False))
    assert not made.failures and not made.errors


TWO_CLASSES = """
import cutlass
import cutlass.cute as cute

class Forward:
    def __init__(self, rows):
        self.rows = rows

    @cute.jit
    def __call__(self):
        self.kernel().launch(grid=(1, 1, 1), block=(64, 1, 1))

    @cute.kernel
    def kernel(self):
        smem = cutlass.utils.SmemAllocator()
        x = smem.allocate_tensor(cutlass.Float16, cute.make_layout((self.rows, 1024)), byte_alignment=16)
        cute.autovec_copy(x[0, None], cute.make_rmem_tensor((1024,), cutlass.Float16))

class Backward:
    def __init__(self, rows):
        self.rows = rows

    @cute.jit
    def __call__(self):
        self.kernel().launch(grid=(1, 1, 1), block=(64, 1, 1))

    @cute.kernel
    def kernel(self):
        smem = cutlass.utils.SmemAllocator()
        y = smem.allocate_tensor(cutlass.Float16, cute.make_layout((self.rows, 1024)), byte_alignment=16)
        cute.autovec_copy(y[0, None], cute.make_rmem_tensor((1024,), cutlass.Float16))

"""


@pytest.mark.parametrize(
    ("body", "kernels"),
    [
        ("for rows in (32, 48, 64):\n    Forward(rows)()\n    Backward(rows)()", []),  # 64 KB to 128 KB, each its own
        ("Forward(64)()\nBackward(96)()", ["kernel::Backward::kernel"]),
        ("try:\n    Forward(96)()\nexcept Exception:\n    print('too large')", []),  # which the program reckons with
        ("try:\n    Forward(96)()\nexcept Exception:\n    pass\nForward(96)()", ["kernel::Forward::kernel"]),
        ("Forward(96)()\ntry:\n    Forward(96)()\nexcept Exception:\n    pass", ["kernel::Forward::kernel"]),
        ("try:\n    Forward(96)()\nfinally:\n    print('done')", ["kernel::Forward::kernel"]),
    ],
)
def test_what_a_block_allocates_is_of_one_kernel(body: str, kernels: list[str], tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(TWO_CLASSES + body + "\n")
    report = check(inputs([str(path)]), Settings(arch=("sm_80",), select=("CUT702",)))
    assert [f.enclosing for f in report.findings] == kernels and not report.errors
    assert all("196608 bytes" in f.message for f in report.findings)


def test_a_witness_is_a_block_of_the_grid(tmp_path: Path) -> None:
    """Four blocks, each of which takes one word of the four that a thread strides over."""
    text = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_compact_tensor

@cute.kernel
def add(a: cute.Tensor):
    regs = cute.make_rmem_tensor((1,), cutlass.Float32)
    cute.autovec_copy(a[None, cute.arch.thread_idx()[0], cute.arch.block_idx()[0]], regs)

@cute.jit
def host(a: cute.Tensor):
    add(a).launch(grid=[a.shape[2], 1, 1], block=[a.shape[1], 1, 1])

cute.compile(host, make_fake_compact_tensor(cutlass.Float32, (1, 256, 4), stride_order=(2, 1, 0), assumed_align=256))
"""
    path = tmp_path / "kernel.py"
    path.write_text(text)
    [found] = check(inputs([str(path)]), Settings(arch=("sm_90a",), select=("CUT104",))).findings
    assert "touches 16 sectors" in found.message  # a fifth block would start in the middle of one
