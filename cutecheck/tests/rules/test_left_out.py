"""Steps that a program leaves out: each beside the text without the mistake, which has no finding."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

EPILOGUE = """
using Tile = Layout<Shape<_32, _32>, Stride<_32, _1>>;
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_4, _32>, Stride<_32, _1>>{}, Layout<_1>{}));
using Columns = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{},
    Layout<Shape<_32, _4>>{}, Layout<_1>{}));
__global__ void __launch_bounds__(128) through(float const* in, float* out, int n) {
  __shared__ float smem[2 * 32 * 33];
  auto tiles = make_layout(make_shape(_32{}, _32{}, n), make_stride(_32{}, _1{}, _1024{}));
  Tensor g = make_tensor(make_gmem_ptr(in), tiles);
  auto twice = make_layout(make_shape(_32{}, _32{}, _2{}, n), make_stride(_32{}, _1{}, _1024{}, _2048{}));
  Tensor o = make_tensor(make_gmem_ptr(out), twice);
  Tensor s = make_tensor(make_smem_ptr(smem), Tile{});
  Tensor c = make_tensor(make_smem_ptr(smem), Layout<Shape<_32, _32, _2>, Stride<_1, Int<33>, Int<1056>>>{});
  auto w = Rows{}.get_slice(threadIdx.x);
  auto r = Columns{}.get_slice(threadIdx.x);
  Tensor mine = make_fragment_like(r.partition_S(s));
  for (int i = 0; i < n; ++i) {
    copy(Rows{}, w.partition_S(g(_, _, i)), w.partition_D(s));
    __syncthreads(); // loaded
    copy(Columns{}, r.partition_S(s), mine);
    __syncthreads(); // read
    for (int j = 0; j < 2; ++j) copy(Columns{}, mine, r.partition_D(c)(_, _, _, j));
    __syncthreads(); // results
    for (int j = 0; j < 2; ++j) copy(Rows{}, w.partition_S(c)(_, _, _, j), w.partition_D(o(_, _, j, i)));
    __syncthreads(); // stored
  }
}
void run(float const* in, float* out) { through<<<1, 128>>>(in, out, 8); }
"""
STORE = """
using Rows = Layout<Shape<_64, _64>, Stride<_64, _1>>;
template <class Tma>
__global__ void __launch_bounds__(128) save(CUTE_GRID_CONSTANT Tma const tma, half_t const* in) {
  __shared__ alignas(128) half_t smem[cosize_v<Rows>];
  auto threads = Layout<Shape<_1, _2, _64>, Stride<_0, _64, _1>>{};
  Tensor parts = make_tensor(make_smem_ptr(smem), composition(Rows{}, make_layout(Shape<_2, _32, _64>{})));
  Tensor own = local_partition(parts, threads, threadIdx.x);
  Tensor s = make_tensor(make_smem_ptr(smem), Rows{});
  Tensor of = make_tensor(make_gmem_ptr(in), composition(Rows{}, make_layout(Shape<_2, _32, _64>{})));
  copy(local_partition(of, threads, threadIdx.x), own);
  auto hold = [] { __syncthreads(); };
  tma_store_fence();
  hold();
  Tensor g = local_tile(tma.get_tma_tensor(Shape<_512, _64>{}), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  auto cta = tma.get_slice(0);
  if (threadIdx.x == 0) {
    copy(tma, cta.partition_S(s), cta.partition_D(g));
    tma_store_arrive();
    tma_store_wait<0>();
  }
}
void run(half_t* out, half_t const* in) {
  Tensor g = make_tensor(make_gmem_ptr(out), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  save<<<8, 128>>>(make_tma_copy(SM90_TMA_STORE{}, g, Rows{}), in);
}
"""
LOAD = """
using Rows = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_64, _64>{}));
template <class Tma>
__global__ void __launch_bounds__(128) take(CUTE_GRID_CONSTANT Tma const tma, half_t* out) {
  __shared__ alignas(1024) half_t smem[cosize_v<Rows>];
  __shared__ alignas(8) uint64_t bar;
  Tensor s = make_tensor(make_smem_ptr(smem), Rows{});
  Tensor const from{tma.get_tma_tensor(Shape<_512, _64>{})};
  Tensor g = local_tile(from, Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  auto cta = tma.get_slice(0);
  if (threadIdx.x == 0) {
    cutlass::arch::ClusterTransactionBarrier::init(&bar, 1);
    cutlass::arch::ClusterTransactionBarrier::arrive_and_expect_tx(&bar, 8192);
    copy(tma.with(bar), cta.partition_S(g), cta.partition_D(s));
  }
  __syncthreads();
  cutlass::arch::ClusterTransactionBarrier::wait(&bar, 0);
  auto read = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_16, _8>, Stride<_8, _1>>{},
                              Layout<Shape<_1, _8>>{}).get_slice(threadIdx.x);
  Tensor o = make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _64>, Stride<_64, _1>>{});
  copy(read.partition_S(s), read.partition_D(o));
}
void run(half_t const* A, half_t* out) {
  Tensor g = make_tensor(make_gmem_ptr(A), Layout<Shape<_512, _64>, Stride<_64, _1>>{});
  take<<<8, 128>>>(make_tma_copy(SM90_TMA_LOAD{}, g, Rows{}), out);
}
"""
ROW = """
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_8, _8, _1>>{}));
__global__ void __launch_bounds__(64) multiply(float const* A, float const* B, float* C, int m, int n, int k) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(k, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(n, _1{}));
  Tensor gA = local_tile(mA, Shape<_16, _8>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, Shape<_16, _8>{}, make_coord(blockIdx.y, _));
  Tensor gC = local_tile(mC, Shape<_16, _16>{}, make_coord(blockIdx.x, blockIdx.y));
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor tA = thr.partition_A(gA), tB = thr.partition_B(gB), tC = thr.partition_C(gC);
  Tensor rA = thr.partition_fragment_A(gA(_, _, 0)), rB = thr.partition_fragment_B(gB(_, _, 0));
  Tensor acc = thr.partition_fragment_C(gC);
  clear(acc);
  FIRST
  for (int i = 0; i < size<2>(gA); ++i) {
    copy(tA(_, _, _, i), rA);
    copy(tB(_, _, _, i), rB);
    gemm(mma, acc, rA, rB, acc);
  }
  copy(acc, tC);
}
int main() {
  float *A = nullptr, *B = nullptr, *C = nullptr;
  multiply<<<dim3(4, 4), 64>>>(A, B, C, 64, 64, 64);
}
"""
FIRST = """
  copy(thr.partition_A(local_tile(mA, Shape<_16, _8>{}, make_coord(blockIdx.x, 0))), rA);
  copy(thr.partition_B(local_tile(mB, Shape<_16, _8>{}, make_coord(blockIdx.y, 0))), rB);
  gemm(mma, acc, rA, rB, acc);"""
APART = (ROW.replace("FIRST", FIRST), ROW.replace("FIRST", ""))
PARTS = APART[1].replace(
    """    copy(tA(_, _, _, i), rA);
    copy(tB(_, _, _, i), rB);
    gemm(mma, acc, rA, rB, acc);
""",
    """    copy(tA(_, _, 0, i), rA(_, _, 0));
    copy(tB(_, _, 0, i), rB(_, _, 0));
    for (int j = 0; j < 8; ++j) {
      if (j < 7) {
        copy(tA(_, _, j + 1, i), rA(_, _, j + 1));
        copy(tB(_, _, j + 1, i), rB(_, _, j + 1));
      }
      gemm(mma, acc, rA(_, _, j), rB(_, _, j), acc);
    }
""",
)
RESIDENT = """
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, float>{},
    Layout<Shape<_16, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _4>>{}));
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_8, _8, _1>>{}));
__global__ void __launch_bounds__(64) multiply(float const* A, float const* B, float* C, int rows) {
  __shared__ alignas(16) float a[32 * 16], b[32 * 128];
  Tensor sA = make_tensor(make_smem_ptr(a), Layout<Shape<_32, _16>, Stride<_16, _1>>{});
  Tensor sB = make_tensor(make_smem_ptr(b), Layout<Shape<_32, _128>, Stride<_128, _1>>{});
  Tensor gB = make_tensor(make_gmem_ptr(B), Layout<Shape<_32, _128>, Stride<_128, _1>>{});
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(rows, _128{}), make_stride(_128{}, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(rows, _32{}), make_stride(_32{}, _1{}));
  auto load = Load{}.get_slice(threadIdx.x);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor pA = thr.partition_A(sA), pB = thr.partition_B(sB);
  Tensor acc = partition_fragment_C(mma, Shape<_32, _32>{});
  copy(Load{}, load.partition_S(gB), load.partition_D(sB));
  for (int row = 0; row < rows / 32; ++row) {
    Tensor gA = local_tile(mA, Shape<_32, _16>{}, make_coord(row, _));
    clear(acc); // of each row
    for (int t = 0; t < 8; ++t) {
      copy(Load{}, load.partition_S(gA(_, _, t)), load.partition_D(sA));
      cp_async_fence();
      cp_async_wait<0>();
      __syncthreads();
      for (int kb = 0; kb < 16; ++kb) gemm(mma, pA(_, _, kb), pB(_, _, kb + 16 * t), acc);
      __syncthreads();
    }
    copy(acc, thr.partition_C(local_tile(mC, Shape<_32, _32>{}, make_coord(row, 0))));
  }
}
void run(float const* A, float const* B, float* C, int rows) { multiply<<<1, 64>>>(A, B, C, rows); }
"""
GRID = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _4>>{}));
__global__ void __launch_bounds__(128) move(float const* A, float* C, int m, int n) {
  auto rows = make_layout(make_shape(m, n), make_stride(n, _1{}));
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(A), rows), Shape<_64, _32>{}, make_coord(blockIdx.y, blockIdx.x));
  Tensor gC = local_tile(make_tensor(make_gmem_ptr(C), rows), Shape<_64, _32>{}, make_coord(blockIdx.y, blockIdx.x));
  auto thr = Load{}.get_slice(threadIdx.x);
  copy(Load{}, thr.partition_S(gA), thr.partition_D(gC));
}
int main() {
  float *A = nullptr, *C = nullptr;
  int m = 512, n = 1024;
  move<<<dim3(n / 32, m / 64), 128>>>(A, C, m, n);
}
"""
STAGED = """
using Load = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_32, _4>>{},
    Layout<_1>{}));
using Fast = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<float>, float>{}, Layout<Shape<_32, _4>>{},
    Layout<_1>{}));
using Mma = TiledMMA<MMA_Atom<UniversalFMA<float>>, Layout<Shape<_16, _8, _1>>>;
using Rows = Layout<Shape<_32, _8>>;
__global__ void __launch_bounds__(128) multiply(float const* A, float const* B, float* C, int m, int n, int k) {
  __shared__ float a[32 * 8];
  __shared__ float b[32 * 8];
  if (blockIdx.x * 32 >= m) return;
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(m, k), make_stride(_1{}, m));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(n, k), make_stride(_1{}, n));
  Tensor mC = make_tensor(make_gmem_ptr(C), make_shape(m, n), make_stride(_1{}, m));
  Tensor gA = local_tile(mA, Shape<_32, _8>{}, make_coord(blockIdx.x, _));
  Tensor gB = local_tile(mB, Shape<_32, _8>{}, make_coord(blockIdx.y, _));
  Tensor gC = local_tile(mC, Shape<_32, _32>{}, make_coord(blockIdx.x, blockIdx.y));
  Tensor sA = make_tensor(make_smem_ptr(a), Rows{});
  Tensor sB = make_tensor(make_smem_ptr(b), Rows{});
  auto load = Load{}.get_slice(threadIdx.x);
  Tensor fA = load.partition_S(gA), fB = load.partition_S(gB), tA = load.partition_D(sA), tB = load.partition_D(sB);
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor pA = thr.partition_A(sA), pB = thr.partition_B(sB), pC = thr.partition_C(gC);
  Tensor acc = thr.make_fragment_C(pC);
  clear(acc);
  BODY
  copy(acc, pC);
}
int main() {
  int m = 512, n = 512, k = 512;
  thrust::device_vector<float> A(m * k), B(n * k), C(m * n);
  multiply<<<dim3(m / 32, n / 32), 128>>>(A.data().get(), B.data().get(), C.data().get(), m, n, k);
}
"""
BY_REGISTERS = """
  Tensor rA = make_fragment_like(tA), rB = make_fragment_like(tB);
  copy(Load{}, fA(_, _, _, 0), rA);
  copy(Load{}, fB(_, _, _, 0), rB);
  copy(rA, tA);
  copy(rB, tB);
  __syncthreads();
  for (int t = 0; t < size<3>(fA); ++t) {
    int next = t + 1 < size<3>(fA) ? t + 1 : t;
    copy(Load{}, fA(_, _, _, next), rA);
    copy(Load{}, fB(_, _, _, next), rB);
    gemm(mma, pA, pB, acc);
    __syncthreads();
    copy(rA, tA); // the next
    copy(rB, tB); // the next
    __syncthreads();
  }
"""
AT_ONCE = """
  for (int t = 0; t < size<3>(fA); ++t) {
    copy(Fast{}, fA(_, _, _, t), tA);
    copy(Fast{}, fB(_, _, _, t), tB);
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    gemm(mma, pA, pB, acc);
    __syncthreads();
  }
"""
STAGES, DIRECT = STAGED.replace("BODY", BY_REGISTERS), STAGED.replace("BODY", AT_ONCE)
LOOP = "int i = 0; i < size<2>(gA)"
MISTAKES: dict[str, tuple[str, str, str, str, str]] = {
    "epilogue": (EPILOGUE, "", "", "", ""),
    "results_not_held": (EPILOGUE, "    __syncthreads(); // results\n", "", "CUT212", "`w.partition_S(c)"),
    "store": (STORE, "", "", "", ""),
    "written_and_stored_at_once": (STORE, "__syncthreads();", "", "CUT212", "TMA stores `cta.partition_S(s)`"),
    "load": (LOAD, "", "", "", ""),
    "barrier_never_initialised": (
        LOAD, "    cutlass::arch::ClusterTransactionBarrier::init(&bar, 1);\n", "", "CUT217", "nothing in the kernel",
    ),
    "row": (APART[1], "", "", "", ""),
    "first_tile": (APART[1], LOOP, LOOP.replace("i = 0", "i = 1"), "CUT218", "never 0"),
    "last_tile": (APART[1], LOOP, f"{LOOP} - 1", "CUT218", "never 7"),
    "parts": (PARTS, "", "", "", ""),
    "part_not_fetched": (PARTS, "    copy(tB(_, _, 0, i), rB(_, _, 0));\n", "", "CUT221", "`rB(_, _, j)` is read"),
    "resident": (RESIDENT, "", "", "", ""),
    "same_part_for_all": (RESIDENT, "kb + 16 * t", "kb", "CUT218", "still holds tile 0"),
    "by_registers": (STAGES, "", "", "", ""),
    "stored_once": (STAGES, "    copy(rB, tB); // the next\n", "", "CUT218", "still holds tile 0"),
    "part_of_one": (STAGES, "Load{}.get_slice(threadIdx.x)", "Load{}.get_slice(0)", "CUT605", "`tA` is the part of"),
    "at_once": (DIRECT, "", "", "", ""),
    "to_one_place": (DIRECT, "make_smem_ptr(b)", "make_smem_ptr(a)", "CUT212", "`tB` writes shared memory that `tA`"),
    "grid": (GRID, "", "", "", ""),
    "too_few_blocks": (GRID, "m / 64", "m / 128", "CUT219", "nothing is stored to those behind 256"),
    "no_blocks": (GRID, "m / 64", "m / 1024", "CUT704", "a grid of 0 blocks along y"),
    "first_tile_apart": (APART[0], LOOP, LOOP.replace("i = 0", "i = 1"), "", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_mistake(name: str, tmp_path: Path) -> None:
    text, old, new, code, said = MISTAKES[name]
    assert old in text
    (tmp_path / "program.cu").write_text(PREAMBLE + text.replace(old, new, 1))
    arch = "sm_90a" if text in (STORE, LOAD) else "sm_80"
    report = check(inputs([str(tmp_path)]), Settings(arch=(arch,), ignore=("CUT1", "CUT4"), cache=False, jobs=1))
    assert not report.failures and not report.errors
    found = [(f.code, f.message) for f in report.findings]
    assert any(c == code and said in m for c, m in found) if code else not found


def test_each_missing_barrier_is_said(tmp_path: Path) -> None:
    text = EPILOGUE.replace("    __syncthreads(); // results\n", "").replace("    __syncthreads(); // read\n", "")
    (tmp_path / "program.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=("sm_80",), ignore=("CUT1", "CUT4"), cache=False, jobs=1))
    assert len({f.span.line for f in report.findings if f.code == "CUT212"}) > 1
