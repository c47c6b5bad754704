"""MMAs whose atom layout or permutation is none that CuTe takes end no rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.model.atoms import mma_op
from cutecheck.model.basis import ScaledBasis
from cutecheck.model.layout import Layout
from cutecheck.model.tiled import make_tiled_mma
from cutecheck.rules.derive.ownership import differing_owner
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
    mma = cute.make_tiled_mma(op, cute.make_layout(ATOMS), permutation_mnk=(32, 32, 16))
    kernel(x, mma).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float16, (64, 64), stride=(64, 1), assumed_align=16))
"""
)


@pytest.mark.parametrize("atoms", ["(2, 2, 1)", "(2, (2, 1), 1)"])
def test_no_rule_ends(tmp_path: Path, atoms: str) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("ATOMS", atoms))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), cache=False))
    assert made.facts.sites and not made.failures


def test_whose_elements_are_not_asked_of_a_permutation_that_is_no_number() -> None:
    """A mutant of a tutorial ended CUT602."""
    atoms = Layout((2, 2, 1), (1, 2, 4))
    right, odd = (
        make_tiled_mma(mma_op("SM80_16x8x16_F32F16F16F32_TN"), atoms, (32, 32, k)) for k in (16, ScaledBasis(1, (0,)))
    )
    assert differing_owner(odd, right, "A") is None and differing_owner(right, odd, "A") is None
