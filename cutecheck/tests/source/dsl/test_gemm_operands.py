"""``cute.gemm`` with lists of tensors, sparse MMAs, scale factors without their zeros: recorded of the DSL 4.8.1."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.rules.test_dsl_copies import found
from cutecheck.tests.source.dsl.run import HEAD, driver, events, results

SPARSE = (
    HEAD
    + """
from cutlass.cute.nvgpu import tcgen05, OperandMajorMode
from cutlass.cute.nvgpu.tcgen05 import CtaGroup, OperandSource
from cutlass.cute.nvgpu.tcgen05.mma import SparseMetadataFormat

@cute.kernel
def kernel():
    K = OperandMajorMode.K
    op = tcgen05.OP(
        cutlass.DTYPE, cutlass.Float32, MNK, CtaGroup.CTAS, OperandSource.SMEM, K, K, SparseMetadataFormat.TID
    )
    mma = cute.make_tiled_mma(op)
    print(mma.partition_shape_A((MNK[0], 128)), mma.partition_shape_B((MNK[1], 128)))

@cute.jit
def host():
    kernel().launch(grid=(1, 1, 1), block=(128, 1, 1))

cute.compile(host)
"""
)


@pytest.mark.parametrize(
    ("op", "dtype", "short", "mnk", "ctas", "a", "b", "c"),
    [
        (
            "MmaF16BF16SparseOp", "Float16", "f16", (128, 64, 32), "ONE", "(1,(128,32)):(128,(1,128))",
            "(1,(64,32)):(64,(1,64))", "(1,(128,64)):(128,(1,128))",
        ),
        (
            "MmaF16BF16SparseOp", "Float16", "f16", (256, 128, 32), "TWO", "(2,(128,32)):(128,(1,256))",
            "(2,(64,32)):(64,(1,128))", "(2,(128,128)):(128,(1,256))",
        ),
        (
            "MmaFP8SparseOp", "Float8E4M3FN", "f8E4M3FN", (128, 64, 64), "ONE", "(1,(128,64)):(128,(1,128))",
            "(1,(64,64)):(64,(1,64))", "(1,(128,64)):(128,(1,128))",
        ),
        (
            "MmaFP8SparseOp", "Float8E4M3FN", "f8E4M3FN", (256, 128, 64), "TWO", "(2,(128,64)):(128,(1,256))",
            "(2,(64,64)):(64,(1,128))", "(2,(128,128)):(128,(1,256))",
        ),
    ],
)  # fmt: skip
def test_sparse_mmas_have_twice_the_depth(
    op: str, dtype: str, short: str, mnk: tuple[int, ...], ctas: str, a: str, b: str, c: str, tmp_path: Path
) -> None:
    text = SPARSE.replace("tcgen05.OP", f"tcgen05.{op}").replace("DTYPE", dtype).replace("MNK", str(mnk))
    made = driver(tmp_path, text.replace("CTAS", ctas), arch="sm_100a")
    (mma,) = (v[0] for (_, call), v in results(made).items() if call == "make_tiled_mma")
    assert (mma["tv_layout_A"], mma["tv_layout_B"], mma["tv_layout_C"]) == (a, b, c)
    number = 1 if ctas == "ONE" else 2
    assert mma["type"] == (
        f"!cute.tiled_mma<!cute_nvgpu.sm100.mma_sp<{'x'.join(map(str, mnk))}, num_cta = {number}, ab_major = (k, k), "
        f"elem_type = ({short}, {short}, f32), e_type = ui8, sparse_metadata_format = tid, frag_kind = ss, "
        'c_scale_exp = 0>, atom_layout_MNK = <"(1,1,1):(0,0,0)">, permutation_MNK = <"[_;_;_]">>'
    )


GEMM = (
    HEAD
    + """
from cutlass.cute.nvgpu import tcgen05, OperandMajorMode
from cutlass.cute.nvgpu.tcgen05 import CtaGroup, OperandSource

@cute.kernel
def kernel():
    K = OperandMajorMode.K
    op = tcgen05.MAKE, (128, 128, 32), CtaGroup.ONE, OperandSource.SMEM, K, K)
    mma = cute.make_tiled_mma(op)
    smem = cutlass.memory.SmemAllocator()
    kind = cutlass.Float8E4M3FN
    a = mma.make_fragment_A(smem.allocate_tensor(kind, cute.make_layout(mma.partition_shape_A((128, 128))), 1024))
    b = mma.make_fragment_B(smem.allocate_tensor(kind, cute.make_layout(mma.partition_shape_B((128, 128))), 1024))
    c = mma.make_fragment_C(mma.partition_shape_C((128, 128)))
    s = cute.make_tensor(cute.make_ptr(cutlass.Float8E8M0FNU, 0, cute.AddressSpace.tmem, assumed_align=16), a.layout)
    at = (None, None, 0)
    cute.gemm(mma, c, LISTS, c)

@cute.jit
def host():
    kernel().launch(grid=(1, 1, 1), block=(128, 1, 1))

cute.compile(host)
"""
)
PLAIN, SCALED = "MmaFP8Op(cutlass.Float8E4M3FN, cutlass.Float32", "MmaMXF8Op(cutlass.Float8E4M3FN"
ONE, TWO = "[a[at]], [b[at]]", "[a[at], s[at]], [b[at], s[at]]"


@pytest.mark.parametrize(
    ("make", "lists", "taken"),
    [
        (PLAIN, "a[at], b[at]", True),
        (PLAIN, ONE, True),
        (PLAIN, TWO, False),
        (PLAIN, "[a[at], s[at]], [b[at]]", False),
        (SCALED, "a[at], b[at]", True),
        (SCALED, ONE, True),
        (SCALED, TWO, True),
        (SCALED, "[a[at], s[at]], [b[at]]", False),
        (SCALED, "[a[at], s[at], s[at]], [b[at], s[at]]", False),
    ],
)
def test_lists_of_gemm_are_counted_as_the_dsl_does(make: str, lists: str, taken: bool, tmp_path: Path) -> None:
    text = GEMM.replace("MAKE", make).replace("LISTS", lists)
    made = driver(tmp_path, text, arch="sm_100a")
    (gemm,) = (e for e in events(made) if e.kind == "gemm")
    assert len(gemm.operands) == 4  # scale factors are no operands of their own
    assert [f.code for f in found(text, tmp_path, "sm_100a")] == ([] if taken else ["CUT303"])
