"""Scale factors in tensor memory: those of both operands have columns of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
from cutlass.cute.nvgpu import tcgen05


@cute.kernel
def kernel():
    smem = cutlass.utils.SmemAllocator()
    one = cute.make_layout(((((32, 4), 1), (16, 4)), 1, 4), stride=((((16, 4), 0), (0, 1)), 0, 512))
    holder = smem.allocate_array(cutlass.Int32, 1)
    ptr = cute.arch.retrieve_tmem_ptr(cutlass.Float8E4M3FN, alignment=16, ptr_to_buffer_holding_addr=holder)
    columns = cute.make_layout(((((32, 4), 4), (16, 4)), 1, 4), stride=((((262144, 4), 8388608), (0, 1)), 0, 16))
    atom = cute.make_copy_atom(tcgen05.Cp4x32x128bOp(tcgen05.CtaGroup.ONE), cutlass.Float8E4M3FN)
    if cute.arch.warp_idx() == 0:
        for kind, at in enumerate((512, OTHER)):
            s = cute.filter_zeros(smem.allocate_tensor(cutlass.Float8E4M3FN, one, byte_alignment=128))
            t = cute.filter_zeros(cute.make_tensor(ptr + at, columns))
            copy = tcgen05.make_s2t_copy(atom, t)
            thr = copy.get_slice(0)
            if kind == 0:
                a, b, c = copy, tcgen05.get_s2t_smem_desc_tensor(copy, thr.partition_S(s)), thr.partition_D(t)
            else:
                d, e, f = copy, tcgen05.get_s2t_smem_desc_tensor(copy, thr.partition_S(s)), thr.partition_D(t)
        cute.copy(a, b, c)
        cute.copy(d, e, f)


@cute.jit
def host():
    kernel().launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host)
"""
)


@pytest.mark.parametrize(("other", "codes"), [("576", set()), ("512", {"CUT222"})])
def test_columns_of_scale_factors(tmp_path: Path, other: str, codes: set[str]) -> None:
    (tmp_path / "main.py").write_text(SCRIPT.replace("OTHER", other))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_100a",), cache=False, select=("CUT222",)))
    assert not made.errors
    assert {f.code for f in made.findings} == codes
