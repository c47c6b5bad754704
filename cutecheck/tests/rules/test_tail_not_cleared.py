"""CUT606: the tail of K that predicates leave out of both operands, and what sets it to zero."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

KERNEL = """
using Panel = Layout<Shape<_64, _32>, Stride<Int<40>, _1>>;
using Op = SM80_CP_ASYNC_CACHEALWAYS<uint128_t>;
using Load = decltype(make_tiled_copy(Copy_Atom<Op, half_t>{},
    Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
using Mma = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2, _2, _1>>{},
    Tile<_32, _32, _16>{}));
using FromShared = Copy_Atom<SM75_U32x4_LDSM_N, half_t>;
template <class T> void other(T const&);
template <class S> __device__ void zero(S&& s) { clear(s); }
template <class P, class C>
__device__ void ask(P& pred, C const& c, int rows, int k) {
  for (int i = 0; i < size<0>(pred); ++i)
    for (int j = 0; j < size<1>(pred); ++j) pred(i, j) = elem_less(c(0, i, j), make_coord(rows, k));
}
__global__ void __launch_bounds__(128) multiply(half_t const* A, half_t const* B, float* C, int m, int n, int k,
    int ld) {
  // cutecheck: assume ld % 8 == 0
  __shared__ alignas(16) half_t a[cosize_v<Panel>], b[cosize_v<Panel>];
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(ld, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(ld, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _32>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, Shape<_64, _32>{}, make_coord(blockIdx.y, _));
  Tensor cA = local_tile(make_identity_tensor(shape(mA)), Shape<_64, _32>{}, make_coord(blockIdx.x, _));
  Tensor cB = local_tile(make_identity_tensor(shape(mB)), Shape<_64, _32>{}, make_coord(blockIdx.y, _));
  Tensor sA = make_tensor(make_smem_ptr(a), Panel{});
  Tensor sB = make_tensor(make_smem_ptr(b), Panel{});
  auto thr = Load{}.get_slice(threadIdx.x);
  Tensor tAsA = thr.partition_D(sA), tBsB = thr.partition_D(sB);
  auto mma = Mma{}.get_slice(threadIdx.x);
  Tensor rA = mma.partition_fragment_A(sA);
  Tensor rB = mma.partition_fragment_B(sB);
  auto copyA = make_tiled_copy_A(FromShared{}, Mma{});
  auto copyB = make_tiled_copy_B(FromShared{}, Mma{});
  Tensor acc = partition_fragment_C(Mma{}, Shape<_64, _64>{});
  clear(acc);
  // before
  for (int t = 0; t < size<2>(gA); ++t) {
    Tensor tAcA = thr.partition_S(cA(_, _, t)), tBcB = thr.partition_S(cB(_, _, t));
    Tensor pA = make_tensor<bool>(make_shape(size<1>(tAsA), size<2>(tAsA)));
    Tensor pB = make_tensor<bool>(make_shape(size<1>(tBsB), size<2>(tBsB)));
    ask(pA, tAcA, m, k);
    ask(pB, tBcB, n, k);
    // first
    copy_if(Load{}, pA, thr.partition_S(gA(_, _, t)), tAsA);
    copy_if(Load{}, pB, thr.partition_S(gB(_, _, t)), tBsB);
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    copy(copyA, copyA.get_slice(threadIdx.x).partition_S(sA), copyA.get_slice(threadIdx.x).retile_D(rA));
    copy(copyB, copyB.get_slice(threadIdx.x).partition_S(sB), copyB.get_slice(threadIdx.x).retile_D(rB));
    gemm(Mma{}, rA, rB, acc);
    __syncthreads();
  }
  Tensor gC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(n, _1{}));
  Tensor tCgC = mma.partition_C(local_tile(gC, Shape<_64, _64>{}, make_coord(blockIdx.x, blockIdx.y)));
  Tensor cC = mma.partition_C(local_tile(make_identity_tensor(shape(gC)), Shape<_64, _64>{},
      make_coord(blockIdx.x, blockIdx.y)));
  for (int i = 0; i < size(acc); ++i)
    if (elem_less(cC(i), make_coord(m, n))) tCgC(i) = acc(i);
}
void run(half_t const* A, half_t const* B, float* C, int m, int n, int k, int ld) {
  multiply<<<dim3((m + 63) / 64, (n + 63) / 64), 128>>>(A, B, C, m, n, k, ld);
}
"""
BOTH = "clear(tAsA); clear(tBsB); __syncthreads();"
UP, DOWN = "int t = 0; t < size<2>(gA); ++t", "int t = size<2>(gA) - 1; t >= 0; --t"
RIGHT = {
    "cleared in each pass": ("// first", BOTH),
    "one operand is zero": ("// first", "clear(tAsA); __syncthreads();"),
    "not followed": ("// before", "other(sA); other(sB);"),
    "filled by the instruction": ("CACHEALWAYS<", "CACHEALWAYS_ZFILL<"),
    "whole tiles by contract": (
        "// cutecheck: assume ld", "// cutecheck: assume k % 32 == 0\n  // cutecheck: assume ld"
    ),
    "whole tiles in the host's code": ("  multiply<<<", "  if (k % 32 != 0) return;\n  multiply<<<"),
    "rows alone": ("elem_less(c(0, i, j), make_coord(rows, k))", "get<0>(c(0, i, j)) < rows"),
}  # fmt: skip
# right where the first tile is the short one; where it is the last, the tile before it is there
ONCE = {
    "cleared": ("// before", BOTH),
    "filled": ("// before", "fill(sA, half_t(0)); fill(sB, half_t(0)); __syncthreads();"),
    "cleared in a function": ("// before", "zero(tAsA); zero(tBsB); __syncthreads();"),
    "stored through a pointer": (
        "// before",
        "for (int i = threadIdx.x; i < cosize_v<Panel>; i += 128) a[i] = b[i] = half_t(0); __syncthreads();",
    ),
    "elements are stored": (
        "// before",
        "for (int i = 0; i < size(tAsA); ++i) { tAsA(i) = half_t(0); tBsB(i) = half_t(0); } __syncthreads();",
    ),
    "copied from registers": (
        "// before",
        "{ Tensor z = make_fragment_like(tAsA); clear(z); copy(z, tAsA); copy(z, tBsB); } __syncthreads();",
    ),
}  # fmt: skip
WRONG = {
    "never": ("// before", ""),
    "the accumulators alone": ("// before", "clear(acc);"),
    "another buffer": (
        "// before", "__shared__ half_t c[128]; Tensor o = make_tensor(make_smem_ptr(c), Shape<_128>{}); clear(o);"
    ),
    "whole tiles before": (
        "// before",
        "copy(Load{}, thr.partition_S(gA(_, _, 0)), tAsA); copy(Load{}, thr.partition_S(gB(_, _, 0)), tBsB);",
    ),
    "guards": (
        "copy_if(Load{}, pA, thr.partition_S(gA(_, _, t)), tAsA);",
        "for (int j = 0; j < size<2>(tAsA); ++j)\n"
        "      if (get<1>(tAcA(0, 0, j)) < k)\n"
        "        copy_if(Load{}, pA(_, j), thr.partition_S(gA(_, _, t))(_, _, j), tAsA(_, _, j));",
    ),
}  # fmt: skip


def found(folder: Path, *changes: tuple[str, str]) -> list[str]:
    text = KERNEL
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_80",), select=("CUT606",), cache=False))
    assert not report.failures
    return [f.message for f in report.findings]


@pytest.mark.parametrize("change", RIGHT)
def test_what_sets_it_to_zero(change: str, tmp_path: Path) -> None:
    assert not found(tmp_path, RIGHT[change])


@pytest.mark.parametrize("change", WRONG)
def test_what_does_not(change: str, tmp_path: Path) -> None:
    for order in (UP, DOWN):
        messages = found(tmp_path, WRONG[change], (UP, order))
        assert len(messages) == 2
        assert "past `k` of mode 1" in messages[0]


@pytest.mark.parametrize("change", ONCE)
def test_what_does_for_the_first_tile_alone(change: str, tmp_path: Path) -> None:
    assert len(found(tmp_path, ONCE[change])) == 2
    assert not found(tmp_path, ONCE[change], (UP, DOWN))


@pytest.mark.parametrize(("order", "dtype", "left"), [(UP, "half_t", 2), (DOWN, "half_t", 1), (DOWN, "int16_t", 0)])
def test_zeros_of_one_operand(order: str, dtype: str, left: int, tmp_path: Path) -> None:
    """Cleared once: of the first tile the other operand's memory is what it was before the kernel, and may be NaN."""
    of_numbers = [("half_t", dtype)] * KERNEL.count("half_t") if dtype != "half_t" else []
    messages = found(tmp_path, ("// before", "clear(tAsA); __syncthreads();"), (UP, order), *of_numbers)
    assert len(messages) == left
    assert all(("zero times NaN" in text) is (order == DOWN) for text in messages)


@pytest.mark.parametrize(
    ("asked", "around", "left"),
    [
        ("elem_less(C, make_coord(R, k))", "", 0),
        ("get<0>(C) < R", "", 0),
        ("get<0>(C) < R", "if (get<1>(C) < k)", 2),
    ],
)
def test_zeros_come_where_the_instructions_own_predicate_is_false(
    asked: str, around: str, left: int, tmp_path: Path
) -> None:
    changes = [("CACHEALWAYS<", "CACHEALWAYS_ZFILL<")]
    for x, rows in (("A", "m"), ("B", "n")):
        each = f"for (int i = 0; i < size<1>(t{x}s{x}); ++i) for (int j = 0; j < size<2>(t{x}s{x}); ++j)"
        one = f"{around} copy(Load{{}}.with({asked}), thr.partition_S(g{x}(_, _, t))(_, i, j), t{x}s{x}(_, i, j));"
        one = one.replace("C,", f"t{x}c{x}(0, i, j),").replace("(C)", f"(t{x}c{x}(0, i, j))").replace("R", rows)
        changes.append((f"copy_if(Load{{}}, p{x}, thr.partition_S(g{x}(_, _, t)), t{x}s{x});", f"{each} {one}"))
    assert len(found(tmp_path, *changes)) == left


# through registers, which go to shared memory when all have been loaded
STAGED = (
    ("using Op = SM80_CP_ASYNC_CACHEALWAYS<uint128_t>;", "using Op = UniversalCopy<uint128_t>;"),
    ("// before", "Tensor kA = make_fragment_like(tAsA), kB = make_fragment_like(tBsB);\n  // before"),
    ("thr.partition_S(gA(_, _, t)), tAsA);", "thr.partition_S(gA(_, _, t)), kA);"),
    ("thr.partition_S(gB(_, _, t)), tBsB);", "thr.partition_S(gB(_, _, t)), kB);"),
    ("cp_async_fence();", "// loaded"),
    ("cp_async_wait<0>();", "copy(kA, tAsA); copy(kB, tBsB);"),
)


@pytest.mark.parametrize("place", ["// before", "// first", ""])
def test_registers_that_are_copied_on(place: str, tmp_path: Path) -> None:
    """Cleared before they are loaded, in each pass; else they hold what the pass before loaded."""
    clear = [(place, "clear(kA); clear(kB);\n  " + place)] if place else []
    assert len(found(tmp_path, *STAGED, *clear)) == 2 * (place != "// first")


def test_registers_with_elements_of_other_origin(tmp_path: Path) -> None:
    stored = ("// loaded", "for (int i = 0; i < size(kA); ++i) kA(i) = kA(i) + kB(i);")
    assert not found(tmp_path, *STAGED, stored)


@pytest.mark.parametrize("counted", [
    "int t = size<2>(gA) - 1; for (int c = size<2>(gA); c > 0; --c, --t)",
    "for (int c = 0; c < size<2>(gA); ++c)",
])  # fmt: skip
def test_tiles_that_are_counted_by_another_number(counted: str, tmp_path: Path) -> None:
    at = "" if "--t" in counted else "int t = size<2>(gA) - 1 - c;"
    assert not found(tmp_path, ONCE["cleared"], (f"for ({UP}) {{", f"{counted} {{ {at}"))


SCRIPT = """
import cutlass
import cutlass.cute as cute

BM, BN, BK = 64, 64, 16


@cute.kernel
def multiply(
    mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor, layout: cute.Layout, load: cute.TiledCopy, mma: cute.TiledMma
):
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.utils.SmemAllocator()
    sA = smem.allocate_tensor(cutlass.Float32, layout, 16)
    sB = smem.allocate_tensor(cutlass.Float32, layout, 16)
    gA = cute.local_tile(mA, (BM, BK), (bx, None))
    gB = cute.local_tile(mB, (BN, BK), (by, None))
    cA = cute.local_tile(cute.make_identity_tensor(mA.shape), (BM, BK), (bx, None))
    cB = cute.local_tile(cute.make_identity_tensor(mB.shape), (BN, BK), (by, None))
    thr = load.get_slice(tid)
    tAgA, tAsA, tAcA = thr.partition_S(gA), thr.partition_D(sA), thr.partition_S(cA)
    tBgB, tBsB, tBcB = thr.partition_S(gB), thr.partition_D(sB), thr.partition_S(cB)
    tmma = mma.get_slice(tid)
    tCsA, tCsB = tmma.partition_A(sA), tmma.partition_B(sB)
    gC = cute.local_tile(mC, (BM, BN), (bx, by))
    tCgC = tmma.partition_C(gC)
    acc = tmma.make_fragment_C(tCgC)
    rA, rB = tmma.make_fragment_A(tCsA), tmma.make_fragment_B(tCsB)
    acc.fill(0.0)
    # before
    asked = cute.make_layout((tAsA.shape[0][1], tAsA.shape[1], tAsA.shape[2]))
    for t in cutlass.range(cute.size(gA, mode=[2])):
        # first
        pA = cute.make_rmem_tensor(asked, cutlass.Boolean)
        pB = cute.make_rmem_tensor(asked, cutlass.Boolean)
        for i in cutlass.range_constexpr(cute.size(pA, mode=[1])):
            for j in cutlass.range_constexpr(cute.size(pA, mode=[2])):
                pA[0, i, j] = cute.elem_less(tAcA[(0, 0), i, j, t], mA.shape)
                pB[0, i, j] = cute.elem_less(tBcB[(0, 0), i, j, t], mB.shape)
        cute.copy(load, tAgA[None, None, None, t], tAsA, pred=pA)
        cute.copy(load, tBgB[None, None, None, t], tBsB, pred=pB)
        cute.arch.sync_threads()
        cute.autovec_copy(tCsA, rA)
        cute.autovec_copy(tCsB, rB)
        cute.gemm(mma, acc, rA, rB, acc)
        cute.arch.sync_threads()
    cute.autovec_copy(acc, tCgC)


@cute.jit
def run(mA: cute.Tensor, mB: cute.Tensor, mC: cute.Tensor):
    layout = cute.make_layout((BM, BK), stride=(BK + 1, 1))
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32)
    load = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 16), stride=(16, 1)), cute.make_layout((1, 1)))
    one = cute.nvgpu.MmaUniversalOp(cutlass.Float32)
    mma = cute.make_tiled_mma(one, cute.make_layout((16, 16, 1), stride=(16, 1, 0)))
    multiply(mA, mB, mC, layout, load, mma).launch(
        grid=(cute.ceil_div(mC.shape[0], BM), cute.ceil_div(mC.shape[1], BN), 1), block=(256, 1, 1))


def main(m: int, n: int, k: int):
    import torch
    from cutlass.cute.runtime import from_dlpack

    a, b, c = (torch.zeros(x, y, dtype=torch.float32, device="cuda") for x, y in ((m, k), (n, k), (m, n)))
    run(*(from_dlpack(t).mark_layout_dynamic(leading_dim=1) for t in (a, b, c)))
"""
PLAIN = "cute.nvgpu.CopyUniversalOp(), cutlass.Float32"
CP_ASYNC = "cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float32, num_bits_per_copy=32"


@pytest.mark.parametrize("old, new, wrong", [
    ("# before", "", 2),
    ("# first", "tAsA.fill(0.0)\n        tBsB.fill(0.0)\n        cute.arch.sync_threads()", 0),
    (PLAIN, CP_ASYNC, 0),
    ("# before", "tAsA.fill(0.0)\n    for i in cutlass.range_constexpr(4):\n        tBsB[0, i, 0] = 0.0", 0),
    ("# first", "tAsA.store(cute.zeros_like(tAsA))\n        tBsB.store(cute.zeros_like(tBsB))", 0),
    ("    run(", "    assert k % 16 == 0\n    run(", 0),
])  # fmt: skip
def test_python(old: str, new: str, wrong: int, tmp_path: Path) -> None:
    assert old in SCRIPT
    (tmp_path / "k.py").write_text(SCRIPT.replace(old, new, 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT606",), cache=False))
    assert not report.failures and len(report.facts.events) == 6
    assert all(t.space in ("gmem", "smem", "rmem") for e in report.facts.events for t in e.operands)
    assert len(report.findings) == wrong


TRANSPOSED = """
using Rows = Layout<Shape<_64, _32>, Stride<_32, _1>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{},
    Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_4, _1, _1>>>;
__global__ void __launch_bounds__(128) weigh(half_t const* V, half_t const* P, float* O, int n) {
  __shared__ alignas(16) half_t v[cosize_v<Rows>], p[64 * 64];
  Tensor mV = make_tensor(make_gmem_ptr(V), make_shape(n, _32{}), make_stride(_32{}, _1{}));
  Tensor gV = local_tile(mV, Shape<_64, _32>{}, make_coord(_, 0));
  Tensor cV = local_tile(make_identity_tensor(shape(mV)), Shape<_64, _32>{}, make_coord(_, 0));
  Tensor sV = make_tensor(make_smem_ptr(v), Rows{});
  Tensor sVt = make_tensor(make_smem_ptr(v), Layout<Shape<_32, _64>, Stride<_1, _32>>{});
  Tensor sP = make_tensor(make_smem_ptr(p), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  auto thr = Load{}.get_slice(threadIdx.x);
  auto mma = Mma{}.get_slice(threadIdx.x);
  Tensor tVgV = thr.partition_S(gV), tVcV = thr.partition_S(cV), tVsV = thr.partition_D(sV);
  Tensor rP = mma.partition_fragment_A(sP), rV = mma.partition_fragment_B(sVt);
  Tensor acc = partition_fragment_C(Mma{}, Shape<_64, _32>{});
  clear(acc);
  for (int t = size<2>(gV) - 1; t >= 0; --t) {
    for (int i = 0; i < size<1>(tVsV); ++i) {
      if (get<0>(tVcV(0, i, 0, t)) < n) { copy(Load{}, tVgV(_, i, _, t), tVsV(_, i, _)); }
      // else
    }
    cp_async_fence();
    cp_async_wait<0>();
    for (int i = threadIdx.x; i < 64 * 64; i += 128) p[i] = P[i];
    __syncthreads();
    copy(mma.partition_A(sP), rP);
    copy(mma.partition_B(sVt), rV);
    gemm(Mma{}, rP, rV, acc);
    __syncthreads();
  }
  copy(acc, mma.partition_C(make_tensor(make_gmem_ptr(O), Layout<Shape<_64, _32>, Stride<_32, _1>>{})));
}
"""


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("", "", 1),
        ("// else", "else { clear(tVsV(_, i, _)); }", 0),
        ("  for (int t", "  clear(tVsV);\n  for (int t", 0),
        ("int t = size<2>(gV) - 1; t >= 0; --t", UP.replace("gA", "gV"), 0),  # the tile before is there, of numbers
        ("_CACHEALWAYS<", "_CACHEALWAYS_ZFILL<", 1),  # of those that are copied, each by itself
        ("get<0>(tVcV(0, i, 0, t)) < n", "get<1>(tVcV(0, i, 0, t)) < n", 0),  # columns, which are not summed
    ],
)
def test_rows_of_a_tile_that_is_read_transposed(old: str, new: str, left: int, tmp_path: Path) -> None:
    assert old in TRANSPOSED
    (tmp_path / "k.cu").write_text(PREAMBLE + TRANSPOSED.replace(old, new, 1))
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), select=("CUT606",), cache=False))
    assert not report.failures
    assert ["past `n` of mode 0" in f.message for f in report.findings] == [True] * left
