"""Kernels of the Python DSL that are run pass by pass: what is in which stage when, through helpers and by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
from cutlass import Boolean, Float16, Float32, Int32
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_compact_tensor


class Scaled:
    stages, m, n, k = 3, 64, 64, 32

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, rows: cute.Tensor):
        atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float16, num_bits_per_copy=128)
        g2s = cute.make_tiled_copy_tv(atom, cute.make_layout((32, 4), stride=(4, 1)), cute.make_layout((1, 8)))
        swizzled = cute.make_composed_layout(cute.make_swizzle(2, 3, 3), 0, cute.make_layout((8, 32), stride=(32, 1)))
        layout = cute.tile_to_shape(swizzled, (64, 32, self.stages), (0, 1, 2))
        op = warp.MmaF16BF16Op(Float16, Float32, (16, 8, 16))
        mma = cute.make_tiled_mma(op, (2, 2, 1), permutation_mnk=(32, 32, 16))
        self.kernel(a, b, c, rows, layout, g2s, mma).launch(grid=(4, 1, 1), block=[128, 1, 1])

    @cute.kernel
    def kernel(
        self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, rows: cute.Tensor, layout: cute.ComposedLayout,
        g2s: cute.TiledCopy, mma: cute.TiledMma,
    ):
        tid, _, _ = cute.arch.thread_idx()
        bid, _, _ = cute.arch.block_idx()
        smem = cutlass.utils.SmemAllocator()
        sA, sB = (smem.allocate_tensor(Float16, layout, 128) for _ in "ab")
        scale = smem.allocate_tensor(Float32, cute.make_layout(64), 16)
        thr = g2s.get_slice(tid)
        gA, gB = cute.local_tile(a, (64, 32), (bid, None)), cute.local_tile(b, (64, 32), (0, None))
        pairs = [(thr.partition_S(g), thr.partition_D(s)) for g, s in ((gA, sA), (gB, sB))]
        at = thr.partition_S(cute.make_identity_tensor((64, 32)))
        tiles = cute.size(gA, mode=[2])
        for i in range(tid, 64, 128):
            scale[i] = Float32(0.0)
        for s in cutlass.range_constexpr(self.stages - 1):
            self.fetch(g2s, pairs, at, s, s, rows[0])
            cute.arch.cp_async_commit_group()
        each = mma.get_slice(tid)
        rA = mma.make_fragment_A(each.partition_A(sA[None, None, 0]))
        rB = mma.make_fragment_B(each.partition_B(sB[None, None, 0]))
        acc = cute.make_rmem_tensor(mma.partition_shape_C((64, 64)), Float32)
        acc.fill(0.0)
        ldm = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16)
        s2r_A, s2r_B = (f(ldm, mma).get_slice(tid) for f in (cute.make_tiled_copy_A, cute.make_tiled_copy_B))
        read, write = Int32(0), Int32(self.stages - 1)
        for k in cutlass.range(tiles, unroll=1):
            cute.arch.cp_async_wait_group(self.stages - 2)
            cute.arch.sync_threads()
            if k + self.stages - 1 < tiles:
                self.fetch(g2s, pairs, at, k + self.stages - 1, write, rows[0])
            cute.arch.cp_async_commit_group()
            self.multiply(mma, s2r_A, s2r_B, sA[None, None, read], sB[None, None, read], rA, rB, acc)
            read = read + 1 if read + 1 < self.stages else 0
            write = write + 1 if write + 1 < self.stages else 0
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        out = cute.make_rmem_tensor_like(acc, Float16)
        out.store((acc.load() * scale[0]).to(Float16))
        cute.autovec_copy(out, each.partition_C(cute.local_tile(c, (64, 64), (bid, 0))))

    @cute.jit
    def fetch(self, g2s, pairs, at: cute.Tensor, k: Int32, stage: Int32, rows: Int32):
        for g, s in pairs:
            for m in cutlass.range_constexpr(cute.size(s, mode=[1])):
                if cute.elem_less(at[0, m, 0][0], rows) and at[0, m, 0][1] < rows:
                    cute.copy(g2s, g[None, m, None, k], s[None, m, None, stage])

    @cute.jit
    def multiply(
        self, mma, s2r_A, s2r_B, sA: cute.Tensor, sB: cute.Tensor, rA: cute.Tensor, rB: cute.Tensor, acc: cute.Tensor
    ):
        cute.copy(s2r_A, s2r_A.partition_S(sA), s2r_A.retile(rA))
        cute.copy(s2r_B, s2r_B.partition_S(sB), s2r_B.retile(rB))
        for k in cutlass.range_constexpr(cute.size(rA, mode=[2])):
            cute.gemm(mma, acc, rA[None, None, k], rB[None, None, k], acc)


def tensor(dtype, *shape):
    return make_fake_compact_tensor(dtype, shape, stride_order=tuple(reversed(range(len(shape)))), assumed_align=16)


K = cute.sym_int(divisibility=32)
cute.compile(Scaled(), tensor(Float16, 256, K), tensor(Float16, 64, K), tensor(Float16, 256, 64), tensor(Int32, 4))
"""

WAIT = "            cute.arch.cp_async_wait_group(self.stages - 2)\n"
BARRIER = "            cute.arch.sync_threads()\n"
LATER = "                self.fetch(g2s, pairs, at, k + self.stages - 1, write, rows[0])\n"
COMMIT = "            cute.arch.cp_async_commit_group()\n            self"
WRITE = "            write = write + 1 if write + 1 < self.stages else 0\n"
LAST = "read = read + 1 if read + 1 < self.stages else 0"


def _codes(folder: Path, text: str) -> list[str]:
    (folder / "kernel.py").write_text(text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=("CUT2",)))
    assert not report.errors
    return sorted({f.code for f in report.findings})


def test_right_stages(tmp_path: Path) -> None:
    assert _codes(tmp_path, KERNEL) == []


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        (WAIT, "", "CUT213"),
        (WAIT, WAIT.replace("2)", "1)"), "CUT213"),  # a wait that leaves the tile's own group open
        (BARRIER, "", "CUT212"),
        (COMMIT, "            self", "CUT213"),  # no group is committed that the wait could wait for
        (WRITE, "", "CUT213"),
        ("Int32(self.stages - 1)", "Int32(0)", "CUT213"),
        (LAST, LAST.replace("else 0", "else 1"), "CUT213"),  # stage 0 is read once
        (LATER, LATER.replace("k + self.stages - 1", "k + self.stages"), "CUT218"),  # the tile behind the last
        ("        acc.fill(0.0)\n", "", "CUT220"),
    ],
    ids=["no wait", "weak wait", "no barrier", "no commit", "one stage", "first stage", "stage 1", "tile", "no fill"],
)  # fmt: skip
def test_wrong_stages(tmp_path: Path, old: str, new: str, code: str) -> None:
    assert KERNEL.count(old) == 1
    assert code in _codes(tmp_path, KERNEL.replace(old, new))


MASKED = (
    "                if cute.elem_less(at[0, m, 0][0], rows) and at[0, m, 0][1] < rows:\n"
    "                    cute.copy(g2s, g[None, m, None, k], s[None, m, None, stage])\n",
    "                mask = cute.make_rmem_tensor((1, 1), cutlass.Boolean)\n"
    "                mask[0] = cute.elem_less(at[0, m, 0][0], rows) and at[0, m, 0][1] < rows\n"
    "                cute.copy(g2s, g[None, m, None, k], s[None, m, None, stage], pred=mask)\n",
)
SLICES = (
    "        cute.copy(s2r_A, s2r_A.partition_S(sA), s2r_A.retile(rA))\n"
    "        cute.copy(s2r_B, s2r_B.partition_S(sB), s2r_B.retile(rB))\n",
    "        fA, fB, tA, tB = s2r_A.partition_S(sA), s2r_B.partition_S(sB), s2r_A.retile(rA), s2r_B.retile(rB)\n"
    "        cute.copy(s2r_A, fA[None, None, 0], tA[None, None, 0])\n"
    "        cute.copy(s2r_B, fB[None, None, 0], tB[None, None, 0])\n",
)
AHEAD = (
    "            cute.gemm(mma, acc, rA[None, None, k]",
    "            after = (k + 1) % cute.size(rA, mode=[2])\n"
    "            cute.copy(s2r_A, fA[None, None, after], tA[None, None, after])\n"
    "            cute.copy(s2r_B, fB[None, None, after], tB[None, None, after])\n"
    "            cute.gemm(mma, acc, rA[None, None, k]",
)


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("", "", ""),
        ("Int32(self.stages - 1)", "Int32(self.stages)", "CUT209"),  # a stage that there is not, under a predicate
        ("cutlass.range(tiles, unroll=1)", "cutlass.range(tiles - 1, unroll=1)", "CUT218"),
        (SLICES[1].splitlines(True)[1], "", "CUT221"),
        ("tB[None, None, after])", "tB[None, None, 0])", "CUT221"),
    ],
    ids=["right", "stage behind the last", "last tile", "first slice", "a slice that nothing fills"],
)
def test_blocks_behind_the_last_do_nothing(tmp_path: Path, old: str, new: str, code: str) -> None:
    """All that a block does is under a condition that leaves out others; copies have predicates, slices come ahead."""
    text = KERNEL
    for right, made in (MASKED, SLICES, AHEAD):
        assert right in text
        text = text.replace(right, made)
    head, body = text.split("        smem = cutlass", 1)
    body, tail = body.split("    @cute.jit\n    def fetch", 1)
    body = "".join(f"    {line}" if line.strip() else line for line in f"        smem = cutlass{body}".splitlines(True))
    asks = "        if cute.size(c, mode=[0]) <= bid * 64:\n            pass\n        else:\n"
    text = f"{head}{asks}{body}    @cute.jit\n    def fetch{tail}"
    assert old in text
    found = _codes(tmp_path, text.replace(old, new, 1) if old else text)
    assert code in found if code else not found


SHARES = {
    "        tiles = cute.size(gA, mode=[2])\n": "        whole = cute.size(gA, mode=[2])\n"
    "        share = cute.ceil_div(whole, cute.size(rows))\n        tiles = cutlass.min(share, whole)\n",
    "tensor(Int32, 4))": "tensor(Int32, cute.sym_int()))",
}


@pytest.mark.parametrize("change", ["", COMMIT, BARRIER])
def test_a_block_that_takes_a_share_of_the_tiles(tmp_path: Path, change: str) -> None:
    """As many shares as tiles are of one tile each, which goes round no stages: others are run as well."""
    text = KERNEL
    for old, new in SHARES.items():
        assert old in text
        text = text.replace(old, new)
    assert bool(_codes(tmp_path, text.replace(change, change.rpartition("\n")[2]) if change else text)) == bool(change)


SCALED = "            self.multiply(mma, s2r_A, s2r_B, sA[None, None, read], sB[None, None, read], rA, rB, acc)\n"
ZERO = "        acc.fill(0.0)\n"


SCALE = "            view.store(view.load() * 0.5)\n"


@pytest.mark.parametrize(
    ("zero", "scale", "codes"),
    [
        (ZERO, SCALE, []),
        ("", SCALE, ["CUT221"]),
        ("", f"            if k == 0:\n                view.fill(0.0)\n{SCALE}", []),
        ("", f"            if k > 0:\n    {SCALE}            else:\n        {ZERO}", []),
    ],
    ids=["set before", "not set", "set in the first pass", "set in the first pass instead"],
)
def test_accumulators_that_a_loop_scales(tmp_path: Path, zero: str, scale: str, codes: list[str]) -> None:
    """In the first pass there is nothing to be scaled; what the loop multiplies to them comes after."""
    text = KERNEL.replace(ZERO, zero + "        view = cute.make_tensor(acc.iterator, acc.layout)\n")
    assert _codes(tmp_path, text.replace(SCALED, scale + SCALED)) == codes


AS_VALUES = """
import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32
from cutlass.cute.nvgpu import cpasync
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def sums(a: cute.Tensor, b: cute.Tensor, g2s: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    bid, _, _ = cute.arch.block_idx()
    layout = cute.make_ordered_layout((32, 32, 2), order=(1, 0, 2))
    s = cutlass.utils.SmemAllocator().allocate_tensor(Float32, layout, 16)
    thr = g2s.get_slice(tid)
    tiles = cute.local_tile(a, (32, 32), (bid, None))
    of, to = thr.partition_S(tiles), thr.partition_D(s)
    total = Float32(0.0)
    for k in cutlass.range(cute.size(tiles, mode=[2]), unroll=1):
        cute.copy(g2s, of[None, None, None, k], to[None, None, None, k % 2])
        cute.arch.cp_async_commit_group()
        cute.arch.cp_async_wait_group(0)
        cute.arch.sync_threads()
        part = cute.local_partition(s[None, None, k % 2], cute.make_layout((32, 8)), tid)
        total += part.load().reduce(cute.ReductionOp.ADD, 0.0, 0)
    b[bid, tid] = total


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    atom = cute.make_copy_atom(cpasync.CopyG2SOp(), Float32, num_bits_per_copy=128)
    g2s = cute.make_tiled_copy_tv(atom, cute.make_ordered_layout((32, 8), order=(1, 0)), cute.make_layout((1, 4)))
    sums(a, b, g2s).launch(grid=[cute.size(a, mode=[0]) // 32, 1, 1], block=[256, 1, 1])


def tensor(*shape):
    return make_fake_compact_tensor(Float32, shape, stride_order=(1, 0), assumed_align=16)


M, N = cute.sym_int(divisibility=32), cute.sym_int(divisibility=32)
cute.compile(host, tensor(M, N), tensor(M, 256))
"""


@pytest.mark.parametrize(
    ("old", "new", "codes"),
    [
        ("", "", []),
        ("        cute.arch.cp_async_wait_group(0)\n", "", ["CUT213"]),
        ("        cute.arch.sync_threads()\n", "", ["CUT212"]),
        ("s[None, None, k % 2]", "s[None, None, (k + 1) % 2]", ["CUT212", "CUT218"]),
        ("k % 2])", "0])", ["CUT212"]),
    ],
    ids=["right", "not waited for", "no barrier", "other stage", "one stage"],
)
def test_shared_memory_that_is_read_as_a_value(tmp_path: Path, old: str, new: str, codes: list[str]) -> None:
    text = AS_VALUES.replace(old, new, 1)
    if new == "0])":
        text = text.replace("s[None, None, k % 2]", "s[None, None, 0]")
    assert _codes(tmp_path, text) == codes
