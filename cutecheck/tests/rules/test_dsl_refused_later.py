"""What the DSL refuses once it has traced a kernel, or passes over: assembly, keywords, copies the wrong way."""

from __future__ import annotations

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs

TEXT = """
import cutlass
import cutlass.cute as cute
from cutlass import Float32, Int32
from cutlass._mlir.dialects import llvm
from cutlass.cutlass_dsl import T, dsl_user_op
from cutlass.cute.runtime import make_fake_tensor


@dsl_user_op
def set_dim(ptr, shape: Int32, order: int, *, loc=None, ip=None):
    at = ptr.toint().ir_value()
    llvm.inline_asm(
        None, [at, Int32(shape).ir_value(), Int32(order).ir_value()],
        f"tensormap.replace.tile.global_dim.global.b1024.b32 [$0], {order}, $1;", "l,r", has_side_effects=True,
    )
    llvm.inline_asm(
        None, [at, Int32(shape).ir_value()],
        f"tensormap.replace.tile.global_dim.global.b1024.b32 [$0], {order}, $1;", "l,r", has_side_effects=True,
    )


@dsl_user_op
def root(a: Float32, *, loc=None, ip=None):
    few = llvm.inline_asm(T.f32(), [], "sqrt.approx.ftz.f32 $0, $1;", "=f,f")
    wide = llvm.inline_asm(T.f32(), [Float32(a).ir_value()], "sqrt.approx.ftz.f32 $0, $2;", "=f,f")
    kept = llvm.inline_asm(T.f32(), [Float32(a).ir_value()], "{mov.b32 $0, $1; bra $$L;}", "=f,0,~{memory}")
    return Float32(llvm.inline_asm(T.f32(), [Float32(a).ir_value()], "sqrt.approx.ftz.f32 $0, $1;", "=f,f"))


@cute.kernel
def kernel(x: cute.Tensor):
    set_dim(x.iterator, Int32(4), 1)
    for i in cutlass.range(4, unfoll_full=True):
        x[i] = root(x[i])
    for i in cutlass.range(4, unroll_full=True, something_new=1):
        x[i] = root(x[i])


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host, make_fake_tensor(Float32, (32,), (1,)))
"""


def test_operands_of_assembly_and_keywords_that_nobody_reads(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(TEXT)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False))
    assert not report.errors
    found = [(f.code, f.span.line, f.message) for f in report.findings]
    assert [(c, n) for c, n, _ in found] == [("CUT211", 13), ("CUT303", 25), ("CUT303", 26), ("CUT211", 34)]
    assert "its constraints `l,r` take 1 fewer operands than are given, the last are passed over" in found[0][2]
    assert "its constraints `=f,f` take 1 more operands than are given" in found[1][2]
    assert "`$2` in its text is none of 2 operands" in found[2][2]
    assert "`range` has no `unfoll_full`" in found[3][2]


MATRICES = """
import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_compact_tensor


@cute.kernel
def kernel(x: cute.Tensor):
    tid, _, _ = cute.arch.thread_idx()
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float16, cute.make_layout((32, 8), stride=(8, 1)), 128)
    rows = cute.make_layout((32, 1)), cute.make_layout((1, 8))
    put = cute.make_tiled_copy_tv(cute.make_copy_atom(warp.StMatrix8x8x16bOp(False, 4), cutlass.Float16), *rows)
    get = cute.make_tiled_copy_tv(cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.Float16), *rows)
    bring = cute.make_tiled_copy_tv(
        cute.make_copy_atom(cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128), *rows
    )
    mine, g = put.get_slice(tid).partition_D(s), bring.get_slice(tid).partition_S(x)
    r = cute.make_rmem_tensor(mine.shape, cutlass.Float16)
    cute.copy(bring, g, mine)
    cute.copy(get, mine, r)
    cute.copy(put, r, mine)
    cute.copy(bring, mine, r)
    cute.copy(get, r, mine)
    cute.copy(put, mine, r)


@cute.jit
def host(x: cute.Tensor):
    kernel(x).launch(grid=(1, 1, 1), block=(32, 1, 1))


cute.compile(host, make_fake_compact_tensor(cutlass.Float16, (32, 8), stride_order=(1, 0), assumed_align=16))
"""


def test_copies_between_memories_that_the_instruction_has_not(tmp_path: Path) -> None:
    (tmp_path / "kernel.py").write_text(MATRICES)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT305",)))
    assert not report.errors
    found = sorted((f.span.line, f.message.partition(" ")[0]) for f in report.findings)
    assert found == [(23, "cp.async"), (24, "ldmatrix"), (25, "stmatrix")]
