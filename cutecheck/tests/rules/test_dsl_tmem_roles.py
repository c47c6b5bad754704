"""Accumulators in tensor memory that one warp fills and others copy, in stages."""

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
from cutlass import Float16, Float32
from cutlass.cute.nvgpu import tcgen05


def agents(n=1):
    return pipeline.CooperativeGroup(pipeline.Agent.Thread, n)


@cute.struct
class Storage:
    bars: cute.struct.MemRange[cutlass.Int64, 4]


@cute.kernel
def kernel(mma: cute.TiledMma):
    tid, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    smem = utils.SmemAllocator()
    bars = smem.allocate(Storage).bars.data_ptr()
    layout = cute.make_layout(((128, 16), 1, 4), stride=((64, 1), 0, 16))
    sA = smem.allocate_tensor(Float16, layout, 1024, swizzle=cute.make_swizzle(3, 4, 3))
    sB = smem.allocate_tensor(Float16, layout, 1024, swizzle=cute.make_swizzle(3, 4, 3))
    pipe = pipeline.PipelineUmmaAsync.create(
        barrier_storage=bars, num_stages=2, producer_group=agents(), consumer_group=agents(4)
    )
    every = mma.make_fragment_C(cute.append(mma.partition_shape_C((128, 128)), 2))
    if warp == 4:
        rA, rB = mma.make_fragment_A(sA), mma.make_fragment_B(sB)
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, 2)
        for n in cutlass.range(6, unroll=1):
            pipe.producer_acquire(state)
            acc = every[None, None, None, state.index]
            for k in cutlass.range_constexpr(4):
                mma.set(tcgen05.Field.ACCUMULATE, k != 0)
                cute.gemm(mma, acc, rA[None, None, k], rB[None, None, k], acc)
            pipe.producer_commit(state)
            state.advance()
    elif warp < 4:
        atom = cute.make_copy_atom(tcgen05.Ld32x32bOp(tcgen05.Repetition.x32, tcgen05.Pack.NONE), Float32)
        load = tcgen05.make_tmem_copy(atom, every[(None, None), 0, 0, 0])
        mine = load.get_slice(tid)
        source = mine.partition_S(every[(None, None), 0, 0, None])
        shape = mine.partition_D(cute.make_identity_tensor((128, 128))).shape
        state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)
        for n in cutlass.range(6, unroll=1):
            pipe.consumer_wait(state)
            r = cute.make_rmem_tensor(shape, Float32)
            cute.copy(load, source[None, None, None, state.index], r)
            with cute.arch.elect_one():
                pipe.consumer_release(state)
            state.advance()


@cute.jit
def host():
    mma = cute.make_tiled_mma(tcgen05.MmaF16BF16Op(
        Float16, Float32, (128, 128, 16), tcgen05.CtaGroup.ONE, tcgen05.OperandSource.SMEM,
        tcgen05.OperandMajorMode.K, tcgen05.OperandMajorMode.K,
    ))
    kernel(mma).launch(grid=(1, 1, 1), block=(160, 1, 1))


cute.compile(host)
"""
RELEASE = "            with cute.arch.elect_one():\n                pipe.consumer_release(state)\n"
COPY = "            cute.copy(load, source[None, None, None, state.index], r)\n"


SET = "                mma.set(tcgen05.Field.ACCUMULATE, k != 0)\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ("            pipe.producer_acquire(state)\n", "", "CUT212"),
        (COPY + RELEASE, RELEASE + COPY, "CUT212"),  # released before it is copied
        ("acc = every[None, None, None, state.index]", "acc = every[None, None, None, 0]", "CUT212"),
        (SET, SET.replace("k != 0", "n != 0 or k != 0"), "CUT220"),
        (SET, SET.replace("k != 0", "True"), "CUT220"),
        (SET, SET.replace("k != 0", "k != 0 and k != 2"), "CUT220"),
    ],
    ids=["right", "no acquire", "early release", "one stage", "only the first sum", "no sum", "two sums"],
)
def test_sums_that_others_copy(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in KERNEL
    (tmp_path / "kernel.py").write_text(KERNEL.replace(old, new) if old else KERNEL)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_100a",), cache=False, select=("CUT212", "CUT220")))
    assert {f.code for f in made.findings} == ({said} if said else set())


SUMS = "    every = mma.make_fragment_C(cute.append(mma.partition_shape_C((128, 128)), 2))\n"
TAKEN = """    slot = smem.allocate_array(cutlass.Int32, 1)
    if warp == 0:
        cute.arch.alloc_tmem(256, slot)
    cute.arch.sync_threads()
    ptr = cute.arch.retrieve_tmem_ptr(Float32, 16, slot)
    every = cute.make_tensor(ptr, mma.make_fragment_C(cute.append(mma.partition_shape_C((128, 128)), 2)).layout)
"""
GIVEN_BACK = """    cute.arch.sync_threads()
    if warp == 0:
        cute.arch.relinquish_tmem_alloc_permit()
        cute.arch.dealloc_tmem(ptr, 256)


@cute.jit
def host():"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", []),
        (COPY + RELEASE, RELEASE + COPY, ["gets a new sum in tensor memory"]),
        (GIVEN_BACK, GIVEN_BACK.replace("    cute.arch.sync_threads()\n", ""), ["the warp that gives the memory back"]),
    ],
    ids=["right", "early release", "others may copy yet"],
)
def test_sums_in_memory_that_is_given_back(tmp_path: Path, old: str, new: str, said: list[str]) -> None:
    """What frees tensor memory at the end says nothing of where the accumulators are; all have copied them then."""
    text = KERNEL.replace(SUMS, TAKEN).replace("\n@cute.jit\ndef host():", GIVEN_BACK)
    assert TAKEN in text and GIVEN_BACK in text
    (tmp_path / "kernel.py").write_text(text.replace(old, new) if old else text)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_100a",), cache=False, select=("CUT212", "CUT220")))
    assert len(made.findings) == len(said)
    assert all(part in f.message for f, part in zip(made.findings, said, strict=True))


ALLOCATES = """
import cutlass
import cutlass.cute as cute


@cute.jit
def give_back(ptr, columns: cutlass.Constexpr[int]):
    cute.arch.relinquish_tmem_alloc_permit()
    FREE


@cute.kernel
def kernel():
    slot = cutlass.utils.SmemAllocator().allocate_array(cutlass.Int32, 1)
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    if warp == 0:
        cute.arch.alloc_tmem(256, slot)
    cute.arch.sync_threads()
    ptr = cute.arch.retrieve_tmem_ptr(cutlass.Float32, 16, slot)
    if warp == 0:
        give_back(ptr, 256)


@cute.jit
def host():
    kernel().launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host)
"""


@pytest.mark.parametrize(("free", "said"), [("cute.arch.dealloc_tmem(ptr, columns)", False), ("pass", True)])
def test_tensor_memory_that_is_never_given_back(tmp_path: Path, free: str, said: bool) -> None:
    (tmp_path / "kernel.py").write_text(ALLOCATES.replace("FREE", free))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_100a",), cache=False, select=("CUT707",)))
    assert ["never gives it back" in f.message for f in made.findings] == [True] * said
