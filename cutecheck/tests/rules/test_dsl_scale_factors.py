"""Scale factors in shared memory, whose layouts repeat an element for all that it scales."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
@cute.kernel
def kernel(mS: cute.Tensor, mOut: cute.Tensor, tiles: cutlass.Int32):
    tidx, _, _ = cute.arch.thread_idx()
    smem = cutlass.utils.SmemAllocator()
    staged = cute.make_layout(((32, 4), (16, 4), 4), stride=((16, 4), (0, 1), 512))
    sS = cute.filter_zeros(smem.allocate_tensor(cutlass.Float8E4M3FN, staged, byte_alignment=128))
    words = cute.recast_tensor(sS, cutlass.Uint32)
    wide = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float8E4M3FN, num_bits_per_copy=32)
    copy = cute.make_tiled_copy_tv(wide, cute.make_layout(128), cute.make_layout((1, 4))).get_slice(tidx)
    read = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Uint32, num_bits_per_copy=32)
    take = cute.make_tiled_copy_tv(read, cute.make_layout(128), cute.make_layout((1, 1))).get_slice(tidx)
    to, of = copy.partition_D(sS), take.partition_S(words)
    for i in cutlass.range(tiles):
        for stage in cutlass.range(4):
            cute.copy(wide, copy.partition_S(mS[None, None, i]), to[None, None, None, FILL])
            cute.arch.sync_threads()
            r = cute.make_rmem_tensor_like(of[None, None, None, 0])
            cute.copy(read, of[None, None, None, stage], r)
            mOut[tidx, i] = r[0]
            cute.arch.sync_threads()


@cute.jit
def host(mS: cute.Tensor, mOut: cute.Tensor):
    kernel(mS, mOut, cute.size(mS, mode=[2])).launch(grid=(1, 1, 1), block=(128, 1, 1))


scales = make_fake_tensor(cutlass.Float8E4M3FN, (128, 4, cute.sym_int()), stride=(4, 1, 512), assumed_align=16)
cute.compile(host, scales, make_fake_tensor(cutlass.Uint32, (128, cute.sym_int()), stride=(1, 128)))
"""
)


@pytest.mark.parametrize(("fill", "codes"), [("stage", set()), ("0", {"CUT218"})])
def test_stages_of_elements_that_stand_for_several(fill: str, codes: set[str], tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("FILL", fill))
    made = check(inputs([str(tmp_path)]), Settings(cache=False, arch=("sm_90a",), select=("CUT218",)))
    assert not made.failures and not made.errors
    assert {f.code for f in made.findings} == codes
