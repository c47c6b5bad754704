"""Kernels of the Python DSL whose warps tell each other by barriers: run thread by thread, one of each role."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

KERNEL = """
import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import cutlass.utils as utils
import cutlass.utils.hopper_helpers as sm90
from cutlass import Float16, Float32, Int32
from cutlass.cute.nvgpu import cpasync, warp, warpgroup
from cutlass.cute.runtime import make_fake_compact_tensor


class Gemm:
    stages, out_stages, tile = 4, 2, (128, 128, 64)

    def __init__(self):
        self.stored = pipeline.NamedBarrier(barrier_id=1, num_threads=128)

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor, blocks: Int32):
        k_major = warpgroup.OperandMajorMode.K
        mma = sm90.make_trivial_tiled_mma(Float16, Float16, k_major, k_major, Float32, (1, 1, 1), (64, 128))
        rows = utils.LayoutEnum.ROW_MAJOR
        sA, sB = (f(rows, self.tile, Float16, self.stages) for f in (sm90.make_smem_layout_a, sm90.make_smem_layout_b))
        sC = sm90.make_smem_layout_epi(Float16, rows, (64, 128), self.out_stages)
        load, store = cpasync.CopyBulkTensorTileG2SOp(), cpasync.CopyBulkTensorTileS2GOp()
        one = (None, None, 0)
        tma_a, mA = cpasync.make_tiled_tma_atom(load, a, cute.slice_(sA, one), (128, 64))
        tma_b, mB = cpasync.make_tiled_tma_atom(load, b, cute.slice_(sB, one), (128, 64))
        tma_c, mC = cpasync.make_tiled_tma_atom(store, c, cute.slice_(sC, one), (64, 128))
        kernel = self.kernel(tma_a, mA, tma_b, mB, tma_c, mC, mma, sA, sB, sC)
        kernel.launch(grid=(blocks, 1, 1), block=[256, 1, 1])

    @cute.kernel
    def kernel(self, tma_a: cute.CopyAtom, mA: cute.Tensor, tma_b: cute.CopyAtom, mB: cute.Tensor, tma_c: cute.CopyAtom,
               mC: cute.Tensor, mma: cute.TiledMma, lA: cute.ComposedLayout, lB: cute.ComposedLayout,
               lC: cute.ComposedLayout):
        @cute.struct
        class Storage:
            bars: cute.struct.MemRange[cutlass.Int64, 2 * self.stages]
            sA: cute.struct.Align[cute.struct.MemRange[Float16, cute.cosize(lA)], 1024]
            sB: cute.struct.Align[cute.struct.MemRange[Float16, cute.cosize(lB)], 1024]
            sC: cute.struct.Align[cute.struct.MemRange[Float16, cute.cosize(lC)], 1024]

        tid, _, _ = cute.arch.thread_idx()
        block, _, _ = cute.arch.block_idx()
        blocks, _, _ = cute.arch.grid_dim()
        warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        storage = utils.SmemAllocator().allocate(Storage)
        one, each = (None, None, 0), (None, None)
        size = cute.size_in_bytes(Float16, cute.slice_(lA, one)) + cute.size_in_bytes(Float16, cute.slice_(lB, one))
        mainloop = pipeline.PipelineTmaAsync.create(
            barrier_storage=storage.bars.data_ptr(), num_stages=self.stages, tx_count=size,
            producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
            consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, 4),
        )
        sA = storage.sA.get_tensor(lA.outer, swizzle=lA.inner)
        sB = storage.sB.get_tensor(lB.outer, swizzle=lB.inner)
        sC = storage.sC.get_tensor(lC.outer, swizzle=lC.inner)
        gA, gB = cute.local_tile(mA, (128, 64), each), cute.local_tile(mB, (128, 64), each)
        gC = cute.local_tile(mC, (64, 128), (None, 0))
        lone = cute.make_layout(1)
        tAs, tAg = cpasync.tma_partition(tma_a, 0, lone, cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2))
        tBs, tBg = cpasync.tma_partition(tma_b, 0, lone, cute.group_modes(sB, 0, 2), cute.group_modes(gB, 0, 2))
        tCs, tCg = cpasync.tma_partition(tma_c, 0, lone, cute.group_modes(sC, 0, 2), cute.group_modes(gC, 0, 2))
        tiles, steps = cute.size(gA, mode=[2]), cute.size(gA, mode=[3])
        if warp_idx == 0:
            cute.arch.setmaxregister_decrease(40)
            fill = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, self.stages)
            tile = block
            while tile < tiles:
                for k in cutlass.range(steps, unroll=1):
                    mainloop.producer_acquire(fill)
                    bar = mainloop.producer_get_barrier(fill)
                    cute.copy(tma_a, tAg[None, tile, k], tAs[None, fill.index], tma_bar_ptr=bar)
                    cute.copy(tma_b, tBg[None, 0, k], tBs[None, fill.index], tma_bar_ptr=bar)
                    mainloop.producer_commit(fill)
                    fill.advance()
                tile += blocks
            mainloop.producer_tail(fill)
        if warp_idx >= 4:
            cute.arch.setmaxregister_increase(232)
            thr = mma.get_slice(tid - 128)
            rA, rB = mma.make_fragment_A(thr.partition_A(sA)), mma.make_fragment_B(thr.partition_B(sB))
            acc = cute.make_rmem_tensor(mma.partition_shape_C((128, 128)), Float32)
            atom = cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), Float16)
            r2s = cute.make_tiled_copy_C(atom, mma).get_slice(tid - 128)
            full = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, self.stages)
            free = full.clone()
            tile = block
            while tile < tiles:
                mma.set(warpgroup.Field.ACCUMULATE, False)
                for k in cutlass.range(steps, unroll=1):
                    token = mainloop.consumer_try_wait(full)
                    mainloop.consumer_wait(full, token)
                    warpgroup.fence()
                    for kb in cutlass.range_constexpr(cute.size(rA, mode=[2])):
                        at = (None, None, kb, full.index)
                        cute.gemm(mma, acc, rA[at], rB[at], acc)
                        mma.set(warpgroup.Field.ACCUMULATE, True)
                    warpgroup.commit_group()
                    full.advance()
                    if k > 0:
                        warpgroup.wait_group(1)
                        mainloop.consumer_release(free)
                        free.advance()
                warpgroup.wait_group(0)
                mainloop.consumer_release(free)
                free.advance()
                self.store(tma_c, tCs, tCg, sC, r2s, acc, tile, warp_idx)
                tile += blocks
            cute.arch.cp_async_bulk_wait_group(0, read=True)

    @cute.jit
    def store(self, tma_c: cute.CopyAtom, tCs: cute.Tensor, tCg: cute.Tensor, sC: cute.Tensor, r2s, acc: cute.Tensor,
              tile: Int32, warp_idx: Int32):
        parts, values = r2s.partition_D(sC), r2s.retile(acc)
        for half in cutlass.range_constexpr(2):
            out = cute.make_rmem_tensor_like(values[None, half, None], Float16)
            out.store(values[None, half, None].load().to(Float16))
            if warp_idx == 4:
                cute.arch.cp_async_bulk_wait_group(self.out_stages - 1, read=True)
            self.stored.arrive_and_wait()
            cute.copy(r2s, out, parts[None, 0, None, half])
            cute.arch.fence_proxy("async.shared", space="cta")
            self.stored.arrive_and_wait()
            if warp_idx == 4:
                cute.copy(tma_c, tCs[None, half], tCg[None, 2 * tile + half])
                cute.arch.cp_async_bulk_commit_group()


def tensor(*shape):
    return make_fake_compact_tensor(Float16, shape, stride_order=tuple(reversed(range(len(shape)))), assumed_align=16)


K, M = cute.sym_int(divisibility=64), cute.sym_int(divisibility=128)
cute.compile(Gemm(), tensor(M, K), tensor(128, K), tensor(M, 128), Int32(132))
"""

READ = "                    full.advance()\n"
LAST = "                mainloop.consumer_release(free)\n                free.advance()\n                self.store"
GROUP = "                        warpgroup.wait_group(1)\n"
RELEASE = "                        mainloop.consumer_release(free)\n"
AGAIN = "            while tile < tiles:\n                for k"
STATE = "fill = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, self.stages)\n"
STEPS = "                for k in cutlass.range(steps, unroll=1):\n                    token"
STORED = (
    "            if warp_idx == 4:\n"
    "                cute.arch.cp_async_bulk_wait_group(self.out_stages - 1, read=True)\n"
)


def found_codes(folder: Path, text: str) -> list[str]:
    (folder / "kernel.py").write_text(text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_90a",), select=("CUT2",)))
    assert not report.errors
    assert not report.failures
    return sorted({f.code for f in report.findings})


def test_right_roles(tmp_path: Path) -> None:
    assert found_codes(tmp_path, KERNEL) == []


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("consumer_wait(full, token)", "consumer_wait(free)", "CUT213"),
        (GROUP + RELEASE, RELEASE + GROUP, "CUT212"),
        (READ, "                    full.advance(2)\n", "CUT217"),
        (AGAIN, AGAIN.replace("for k", STATE + "                for k"), "CUT217"),  # stages go on, its phases do not
        (LAST, "                self.store", "CUT217"),
        ("pipeline.Agent.Thread, 4)", "pipeline.Agent.Thread, 1)", "CUT217"),
        (STEPS, STEPS.replace("(steps", "(steps + 1"), "CUT217"),
        (STORED, "", "CUT216"),
        (STORED + "            self.stored.arrive_and_wait()\n", STORED, "CUT216"),
        ("ACCUMULATE, False)", "ACCUMULATE, True)", "CUT220"),
        ("                        mma.set(warpgroup.Field.ACCUMULATE, True)\n", "", "CUT220"),
        ("thr.partition_B(sB)", "thr.partition_B(sA)", "CUT222"),
        ("(tma_a, 0, lone, cute.group_modes(sA, 0, 2)", "(tma_a, 0, lone, cute.group_modes(sB, 0, 2)", "CUT212"),
    ],
    ids=["other stage waited for", "early release", "advanced twice", "state anew", "no release",
         "one counted", "one step more", "no wait of the store", "no barrier after it",
         "added to nothing", "never added", "A for B", "A over B"],
)  # fmt: skip
def test_wrong_roles(tmp_path: Path, old: str, new: str, code: str) -> None:
    assert KERNEL.count(old) == 1
    assert code in found_codes(tmp_path, KERNEL.replace(old, new))


PROMOTED = (
    ("            sC: cute", "            sF: cute.struct.MemRange[Float32, 128]\n            sC: cute"),
    (
        "        one, each =",
        "        sF = storage.sF.get_tensor(cute.make_layout(128))\n"
        "        if tid < 128:\n            sF[tid] = 0.5\n        one, each =",
    ),
    (
        "            full = pipe",
        "            total = cute.make_rmem_tensor_like(acc)\n            total.fill(0.0)\n            full = pipe",
    ),
    (
        "                    warpgroup.fence()\n",
        "                    mma.set(warpgroup.Field.ACCUMULATE, False)\n                    warpgroup.fence()\n",
    ),
    (
        "                    warpgroup.commit_group()\n",
        "                    warpgroup.commit_group()\n"
        "                    warpgroup.wait_group(0)\n"
        "                    for i in cutlass.range_constexpr(cute.size(acc)):\n"
        "                        total[i] += acc[i] * sF[i]\n",
    ),
    ("r2s, acc, tile", "r2s, total, tile"),
)


def test_sums_of_which_the_elements_are_used_one_by_one(tmp_path: Path) -> None:
    text = KERNEL
    for old, new in PROMOTED:
        assert text.count(old) == 1
        text = text.replace(old, new)
    assert found_codes(tmp_path, text) == []
    waits = "                    warpgroup.wait_group(0)\n"
    assert text.count(waits) == 1
    assert "CUT215" in found_codes(tmp_path, text.replace(waits, ""))


def test_blocks_that_go_from_tile_to_tile_along_another_side_of_the_grid(tmp_path: Path) -> None:
    along = KERNEL.replace("block, _, _ =", "_, _, block =").replace("blocks, _, _ =", "_, _, blocks =")
    along = along.replace("grid=(blocks, 1, 1)", "grid=(1, 1, blocks)").replace("tile < tiles", "tile < 8 * tiles")
    along = along.replace("tAg[None, tile, k]", "tAg[None, tile // 8, k]").replace("2 * tile", "2 * (tile // 8)")
    assert found_codes(tmp_path, along) == []
    again = AGAIN.replace("< tiles", "< 8 * tiles")
    assert along.count(again) == 1
    assert "CUT217" in found_codes(
        tmp_path, along.replace(again, again.replace("for k", STATE + "                for k"))
    )


MAPPED = (
    (
        "            sA: cute",
        "            maps: cute.struct.Align[cute.struct.MemRange[cutlass.Int64, 16], 128]\n            sA: cute",
    ),
    (
        "            cute.arch.setmaxregister_decrease(40)\n",
        "            cute.arch.setmaxregister_decrease(40)\n"
        "            cpasync.copy_tensormap(tma_a, storage.maps.data_ptr())\n",
    ),
)


def test_numbers_of_64_bits_that_are_no_barriers(tmp_path: Path) -> None:
    """A descriptor of TMA in shared memory goes to a function that is not followed."""
    mapped = KERNEL
    for old, new in MAPPED:
        assert mapped.count(old) == 1
        mapped = mapped.replace(old, new)
    assert found_codes(tmp_path, mapped) == []
    assert "CUT212" in found_codes(tmp_path, mapped.replace(GROUP + RELEASE, RELEASE + GROUP))
    given = mapped.replace("storage.maps.data_ptr()", "storage.bars.data_ptr()")
    assert found_codes(tmp_path, given.replace(GROUP + RELEASE, RELEASE + GROUP)) == []


@pytest.mark.parametrize(("stages", "past"), [(2, False), (3, True)])
def test_a_stage_past_the_end_in_a_run_of_roles(tmp_path: Path, stages: int, past: bool) -> None:
    turns = KERNEL
    for old in ("parts[None, 0, None, half]", "tCs[None, half]"):
        assert turns.count(old) == 1
        turns = turns.replace(old, old.replace("half", f"(2 * tile + half) % {stages}"))
    codes = found_codes(tmp_path, turns)
    assert ("CUT209" in codes) == past
    assert past or not codes


LIMITED = """
                if tile < limits.shape[0]:
                    acc[0] = acc[0] * 2.0
                self.store(tma_c"""


GIVEN = (
    ("c: cute.Tensor, blocks: Int32", "c: cute.Tensor, limits: cute.Tensor, blocks: Int32"),
    ("kernel(tma_a, mA, tma_b, mB, tma_c, mC, mma", "kernel(tma_a, mA, tma_b, mB, tma_c, mC, limits, mma"),
    ("mC: cute.Tensor, mma", "mC: cute.Tensor, limits: cute.Tensor, mma"),
    ("tensor(M, 128), Int32", "tensor(M, 128), tensor(cute.sym_int(), cute.sym_int()), Int32"),
    (
        AGAIN,
        AGAIN.replace(
            "for k", "if tile < limits.shape[1]:\n                    cute.arch.sync_warp()\n                for k"
        ),
    ),
)


def test_limits_of_one_role_say_nothing_of_its_tiles(tmp_path: Path) -> None:
    limited = KERNEL.replace("                self.store(tma_c", LIMITED.lstrip("\n"))
    for old, new in GIVEN:
        assert limited.count(old) == 1
        limited = limited.replace(old, new)
    assert found_codes(tmp_path, limited) == []
    again = "                for k in cutlass.range(steps, unroll=1):\n                    mainloop"
    assert limited.count(again) == 1
    assert "CUT217" in found_codes(tmp_path, limited.replace(again, "                " + STATE + again))


def test_as_many_stages_as_a_short_row_has_tiles(tmp_path: Path) -> None:
    """A block has one tile, whose loop has four passes at the numbers of a first run: it comes to no stage again."""
    single = KERNEL.replace("while tile < tiles:", "if tile < tiles:").replace("                tile += blocks\n", "")
    single = single.replace("mode=[3])\n", "mode=[3]) // 3\n")
    assert "steps = cute.size(gA, mode=[2]), cute.size(gA, mode=[3]) // 3" in single
    assert found_codes(tmp_path, single) == []
    assert single.count(GROUP + RELEASE) == 1
    assert "CUT212" in found_codes(tmp_path, single.replace(GROUP + RELEASE, RELEASE + GROUP))


def test_a_block_without_the_threads_that_load(tmp_path: Path) -> None:
    fewer = KERNEL.replace("block=[256, 1, 1]", "block=[128, 1, 1]").replace("if warp_idx == 0:", "if warp_idx == 4:")
    fewer = fewer.replace("if warp_idx >= 4:", "if warp_idx < 4:").replace("tid - 128", "tid")
    fewer = fewer.replace("if warp_idx == 4:\n                cute", "if warp_idx == 0:\n                cute")
    assert found_codes(tmp_path, fewer.replace("block=[128, 1, 1]", "block=[160, 1, 1]")) == []
    assert "CUT217" in found_codes(tmp_path, fewer)


MASKED = """
                seen = thr.partition_C(cute.make_identity_tensor((128, 128)))
                most = acc[0]
                for i in cutlass.range_constexpr(cute.size(acc)):
                    acc[i] = -Float32.inf if seen[i][1] >= 3 or seen[i][0] > 200 else acc[i]
                    if seen[i][1] + seen[i][0] >= blocks:
                        acc[i] = 0.0
                    if 2 * seen[i][0] < 5:
                        acc[i] *= 2.0
                for i in range(2):
                    most = cute.arch.fmax(most, cute.arch.shuffle_sync_bfly(most, offset=1 << i))
                mainloop.consumer_release(free)
                free.advance()
                self.store"""


def test_masks_and_shuffles_part_no_roles(tmp_path: Path) -> None:
    masked = KERNEL.replace(LAST, MASKED.lstrip("\n"))
    assert found_codes(tmp_path, masked) == []
    assert "CUT212" in found_codes(tmp_path, masked.replace(GROUP + RELEASE, RELEASE + GROUP))


FENCED = '                    cute.arch.fence_proxy("async.shared", space="cta")\n'
MET = "                    self.stored.arrive_and_wait()\n"
SCALED = f"""
                    wide = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), Float16, num_bits_per_copy=128)
                    rows, row = cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8))
                    own = cute.make_tiled_copy_tv(wide, rows, row).get_slice(tid - 128)
                    part = own.partition_D(sB[None, None, full.index])
                    scaled = cute.make_fragment_like(part)
                    cute.autovec_copy(part, scaled)
                    scaled.store(scaled.load() * 2.0)
                    cute.autovec_copy(scaled, part)
{FENCED}{MET}                    warpgroup.fence()
"""


def test_what_threads_write_for_wgmmas_is_fenced(tmp_path: Path) -> None:
    written = KERNEL.replace("                    warpgroup.fence()\n", SCALED.lstrip("\n"))
    assert found_codes(tmp_path, written) == []
    assert "CUT215" in found_codes(tmp_path, written.replace(FENCED, ""))
    assert "CUT212" in found_codes(tmp_path, written.replace(MET, ""))


def test_bytes_of_loads_in_a_python_loop(tmp_path: Path) -> None:
    at = KERNEL.index("                    cute.copy(tma_a, tAg")
    end = KERNEL.index("                    mainloop.producer_commit(fill)")
    pairs = "(tma_a, tAg[None, tile, k], tAs), (tma_b, tBg[None, 0, k], tBs)"
    loop = f"""                    for atom, of, to in ({pairs}):
                        cute.copy(atom, of, to[None, fill.index], tma_bar_ptr=bar)
"""
    looped = KERNEL[:at] + loop + KERNEL[end:]
    for size, codes in (("tx_count=size", set()), ("tx_count=size // 2", {"CUT805"})):
        (tmp_path / "kernel.py").write_text(looped.replace("tx_count=size", size))
        report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT805",), cache=False))
        assert not report.errors
        assert {f.code for f in report.findings} == codes


def test_a_kernel_that_another_file_launches_is_not_one_of_its_defaults(tmp_path: Path) -> None:
    """What the class is by default, and nothing launches, has pipelines and copies of its own."""
    at = KERNEL.index("K, M = cute.sym_int")
    made = KERNEL[:at].replace(
        "def __init__(self):", "def __init__(self, depth=64):\n        self.tile = 128, 128, depth"
    )
    made = made.replace("(128, 64)", "(128, self.tile[2])")
    (tmp_path / "kernel.py").write_text(made)
    driven = KERNEL[at:].replace("Gemm()", "Gemm(32)")
    head = "import cutlass.cute as cute\nfrom cutlass import Int32\nfrom kernel import Gemm, tensor\n"
    (tmp_path / "run.py").write_text(head + driven)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), select=("CUT805", "CUT209"), cache=False))
    assert not report.errors and not report.findings
    creates = {c.kernel for c in report.facts.calls if c.function.endswith(".create")}
    assert creates >= {"kernel::Gemm::kernel", "kernel::Gemm::kernel<unbound>"}


DERIVED = (
    (
        "class Gemm:",
        "class State(pipeline.PipelineState):\n    def skip(self, steps):\n"
        "        moved = self._index + steps\n        self._count += steps\n"
        "        self._phase ^= moved // self.stages\n        self._index = moved % self.stages\n\n\nclass Gemm:",
    ),
    ("full = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, self.stages)",
     "full = State(self.stages, Int32(0), Int32(0), Int32(0))"),
    ("free = full.clone()", "free = State(self.stages, Int32(0), Int32(0), Int32(0))"),
)  # fmt: skip


@pytest.mark.parametrize(("steps", "codes"), [(1, []), (2, ["CUT217"])])
def test_states_of_a_class_of_the_program_that_is_derived_from_the_packages(
    tmp_path: Path, steps: int, codes: list[str]
) -> None:
    text = KERNEL
    for old, new in (*DERIVED, (READ, READ.replace("advance()", f"skip({steps})"))):
        assert text.count(old) == 1
        text = text.replace(old, new)
    assert [c for c in found_codes(tmp_path, text) if c == "CUT217"] == codes
