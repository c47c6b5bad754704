"""Persistent kernels of the DSL that are told of their tiles by shared memory, or by what the hardware answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.eval.machine import Machine
from cutecheck.source.eval.statements.exits import Attempts
from cutecheck.source.eval.values import Value
from cutecheck.tests.rules.test_dsl_roles import found_codes

TEXT = """
import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import cutlass.utils as utils
from cutlass import Float16
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(tma: cute.CopyAtom, mA: cute.Tensor, y: cute.Tensor, rows: cute.Layout, lA: cute.Layout):
    tid, _, _ = cute.arch.thread_idx()
    warp_idx = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    bars, asks = smem.allocate_array(cutlass.Int64, 4), smem.allocate_array(cutlass.Int64, 2)
    said = smem.allocate_tensor(cutlass.Int32, cute.make_layout(4), byte_alignment=16)
    sA = smem.allocate_tensor(Float16, lA, byte_alignment=128)
    group = pipeline.CooperativeGroup
    loads = pipeline.PipelineTmaAsync.create(
        barrier_storage=bars, num_stages=2, tx_count=cute.size_in_bytes(Float16, rows),
        producer_group=group(pipeline.Agent.Thread), consumer_group=group(pipeline.Agent.Thread, 4),
    )
    tiles = pipeline.CREATE(
        barrier_storage=asks, num_stages=1, producer_group=group(pipeline.Agent.Thread),
        consumer_group=group(pipeline.Agent.Thread, 192), MORE
    )
    g = cute.local_tile(mA, (128, 64), (0, None))
    to, of = cpasync.tma_partition(tma, 0, cute.make_layout(1), cute.group_modes(sA, 0, 2), cute.group_modes(g, 0, 2))
    steps = cute.size(g, mode=[2])
    told = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 1)
    valid = cutlass.Boolean(True)
    if warp_idx == 4:
        fill = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
        while valid:
            for k in cutlass.range(steps, unroll=1):
                loads.producer_acquire(fill)
                cute.copy(tma, of[None, k], to[None, fill.index], tma_bar_ptr=loads.producer_get_barrier(fill))
                fill.advance()
            NEXT
        loads.producer_tail(fill)
    if warp_idx == 5:
        ask = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 1)
        while valid:
            tiles.producer_acquire(ask)
            TELL
            ask.advance()
            NEXT
        tiles.producer_tail(ask)
    if warp_idx < 4:
        atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), Float16)
        tc = cute.make_tiled_copy_tv(atom, cute.make_layout((128, 1)), cute.make_layout((1, 8)))
        of = tc.get_slice(tid).partition_S(sA)
        r = cute.make_rmem_tensor(of[None, None, None, 0].shape, Float16)
        full = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
        while valid:
            for k in cutlass.range(steps, unroll=1):
                loads.consumer_wait(full)
                cute.copy(tc, of[None, None, None, full.index], r)
                loads.consumer_release(full)
                full.advance()
            y[tid] = r[0]
            NEXT


@cute.jit
def host(x: cute.Tensor, y: cute.Tensor):
    rows = cute.make_layout((128, 64), stride=(64, 1))
    lA = cute.make_layout((128, 64, 2), stride=(64, 1, 8192))
    tma, mA = cpasync.make_tiled_tma_atom(cpasync.CopyBulkTensorTileG2SOp(), x, rows, (128, 64))
    kernel(tma, mA, y, rows, lA).launch(grid=(1, 1, 1), block=(192, 1, 1))


def tensor(*shape):
    return make_fake_compact_tensor(Float16, shape, stride_order=tuple(reversed(range(len(shape)))), assumed_align=16)


cute.compile(host, tensor(128, cute.sym_int(divisibility=64)), tensor(128))
"""
WAIT, RELEASE = "tiles.consumer_wait(told)", "tiles.consumer_release(told)\n            told.advance()"
ASKS = "cute.arch.issue_clc_query(tiles.producer_get_barrier(ask), said.iterator)"
ANSWER = "_, _, _, valid = cute.arch.clc_response(said.iterator)"
WAYS = {
    "the hardware answers": {
        "CREATE": "PipelineClcFetchAsync.create", "MORE": "tx_count=16, cta_layout_vmnk=cute.make_layout((1, 1, 1, 1))",
        "TELL": f"with cute.arch.elect_one():\n                {ASKS}",
        "NEXT": f"{WAIT}\n            {ANSWER}\n            {RELEASE}",
    },
    "one warp writes it down": {
        "CREATE": "PipelineAsync.create", "MORE": "",
        "TELL": "if tid == 160:\n                said[0] = y.shape[0] > ask.count\n                "
        "tiles.producer_commit(ask)",
        "NEXT": f"{WAIT}\n            valid = cutlass.Boolean(said[0])\n            {RELEASE}",
    },
}  # fmt: skip
# each warp looks for it among the tiles of several problems, of which its lanes have one each
FIND = """
def find(z, tile):
    first = end = cutlass.Int32(0)
    while end <= tile:
        sums = z[first + cute.arch.lane_idx()]
        for i in cutlass.range_constexpr(5):
            sums += cute.arch.shuffle_sync_up(sums, 1 << i, mask_and_clamp=0)
        end += cute.arch.shuffle_sync(sums, 31)
        first += 32
    return utils.WorkTileInfo((first, end, 0), first < z.shape[0])
"""
LOOKED_FOR = {
    TEXT[TEXT.index("    if warp_idx == 5:") : TEXT.index("    if warp_idx < 4:")]: "",
    TEXT[TEXT.index("    tiles = pipeline.CREATE(") : TEXT.index("    g = cute.local_tile(mA")]: "",
    "    valid = cutlass.Boolean(True)\n": "    at = cute.arch.block_idx()[0]\n    work = find(z, at)\n",
    "while valid": "while work.is_valid_tile",
    "NEXT": "at += cute.arch.grid_dim()[0]\n            work = find(z, at)",
    "y: cute.Tensor": "y: cute.Tensor, z: cute.Tensor",
    "mA, y,": "mA, y, z,",
    "tensor(128))": "tensor(128), make_fake_compact_tensor(cutlass.Int32, (cute.sym_int(),)))",
    "\n@cute.kernel": f"{FIND}\n\n@cute.kernel",
}
FULL = "        full = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)\n"
WAYS["one that each warp looks for"] = LOOKED_FOR
FAULTS = {
    "": (),
    "its stages begin anew with each tile": (FULL, "", "            for k", f"    {FULL}            for k"),
    "too few say that they have heard": ("Thread, 192)", "Thread, 193)"),
}


@pytest.mark.parametrize(
    ("way", "fault"),
    [(way, fault) for way in WAYS for fault in FAULTS if not (way.startswith("one") and fault.startswith("too"))],
)
def test_tiles_that_a_scheduler_tells_of(way: str, fault: str, tmp_path: Path) -> None:
    text = TEXT
    for name, what in WAYS[way].items():
        text = text.replace(name, what)
    given = FAULTS[fault]
    for old, new in zip(given[::2], given[1::2], strict=True):
        assert old in text
        text = "".join((*text.rpartition(old)[:1], new, text.rpartition(old)[2]))
    assert bool(found_codes(tmp_path, text)) == bool(fault)


def test_a_role_that_takes_two_tiles_at_once_has_not_more_of_them(tmp_path: Path) -> None:
    """Each role looks for its tiles: three passes of one need not be three of another."""
    text = TEXT
    for name, what in LOOKED_FOR.items():
        text = text.replace(name, what)
    fills = "            for k in cutlass.range(steps, unroll=1):\n                loads.producer_acquire(fill)\n"
    moves = "                fill.advance()\n            at += cute.arch.grid_dim()[0]\n"
    assert fills in text and moves in text
    text = text.replace(fills, fills.replace("range(steps,", "range(2 * steps,")).replace(
        "of[None, k],", "of[None, k % steps],"
    )
    text = text.replace(moves, moves.replace("at += ", "at += 2 * "))
    assert found_codes(tmp_path, text) == []


def test_what_a_run_may_raise_is_no_way_out_of_a_try_around_the_launch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The walk of the kernel has noted it; each pass of each role would be another state to join."""
    raised = Attempts.raised
    in_runs: list[bool] = []

    def noted(self: Attempts, m: Machine, kind: Value) -> None:
        in_runs.append(m.recorder.replaying is not None)
        raised(self, m, kind)

    monkeypatch.setattr(Attempts, "raised", noted)
    text = TEXT
    for old, new in WAYS["one warp writes it down"].items():
        text = text.replace(old, new)
    text = text.replace(
        "                loads.consumer_wait(full)",
        "                least(LEAST)\n                loads.consumer_wait(full)",
    )
    helper = "LEAST = int(input())\n\n\ndef least(n):\n    if n > 3:\n        raise ValueError(n)\n\n\n@cute.kernel"
    text = text.replace("@cute.kernel", helper, 1)
    launch = text[text.rindex("cute.compile(") :]
    text = text.replace(launch, f"try:\n    {launch.strip()}\nexcept ValueError:\n    pass\n")
    assert found_codes(tmp_path, text) == []
    assert in_runs and not any(in_runs)
