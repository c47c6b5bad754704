"""MMAs whose atom layout or permutation is none that CuTe takes end no rule."""

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
def kernel(x: cute.Tensor, mma: cute.TiledMma):
    t, _, _ = cute.arch.thread_idx()
    s = cute.make_tensor(cute.arch.alloc_smem(cutlass.Float16, 4096), cute.make_layout((64, 64)))
    thr = mma.get_slice(t)
    r = mma.make_fragment_A(thr.partition_A(s))
    ldmatrix = cute.make_copy_atom(cute.nvgpu.warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16)
    load = cute.make_tiled_copy_A(ldmatrix, mma)
    mine = load.get_slice(t)
    cute.copy(load, mine.partition_S(s), mine.retile(r))


@cute.jit
def host(x: cute.Tensor):
    op = cute.nvgpu.warp.MmaF16BF16Op(cutlass.Float16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout(ATOMS), permutation_mnk=(32, 32, K))
    kernel(x, mma).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float16, (64, 64), stride=(64, 1), assumed_align=16))
"""
)


@pytest.mark.parametrize(("atoms", "k"), [("(2, 2, 1)", "16"), ("(2, (2, 1), 1)", "16"), ("(2, 2, 1)", "cute.E(0)")])
def test_no_rule_ends(tmp_path: Path, atoms: str, k: str) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("ATOMS", atoms).replace(", K)", f", {k})"))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), cache=False))
    assert made.facts.sites and not made.failures
