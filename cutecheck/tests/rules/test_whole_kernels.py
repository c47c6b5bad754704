"""Single mistakes in kernels of the kinds that libraries have; all of them compile."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE

UMMA = r"""
struct Gate {
  uint64_t word;
  __device__ uint32_t at() const { return static_cast<uint32_t>(__cvta_generic_to_shared(&word)); }
  __device__ void init(uint32_t n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at()), "r"(n)); }
  __device__ void expect(uint32_t n) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at()), "r"(n) : "memory");
  }
  __device__ void arrive() { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(at()) : "memory"); }
  __device__ void wait(uint32_t parity) {
    asm volatile("{\n .reg .pred done;\n AGAIN_%=:\n mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 " @done bra OVER_%=;\n bra AGAIN_%=;\n OVER_%=:\n}\n" ::"r"(at()), "r"(parity) : "memory");
  }
};
template <int N> struct Ring {
  int slot = 0;
  uint32_t parity = 0;
  __device__ void next() { if (++slot == N) { slot = 0; parity ^= 1; } }
};
using Mma = decltype(make_tiled_mma(SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 128, UMMA::Major::K,
    UMMA::Major::K>{}));
using Parts = decltype(partition_shape_A(Mma{}, make_shape(_128{}, _64{}, _3{})));
using Smem = decltype(UMMA::tile_to_mma_shape(UMMA::Layout_K_SW128_Atom<half_t>{}, Parts{}));
struct Shared {
  alignas(1024) ArrayEngine<half_t, cosize_v<Smem>> a;
  alignas(1024) ArrayEngine<half_t, cosize_v<Smem>> b;
  Gate full[3], empty[3], done[2], drained[2];
  alignas(16) uint32_t columns;
};
template <class A, class B> struct Gemm {
  struct Arguments { int m, n, k; A a; B b; float* d; };
  static __device__ void load(Arguments const& args, Shared& s, int tiles, int across) {
    Mma mma;
    auto part = mma.get_slice(0);
    Tensor sA = make_tensor(make_smem_ptr(s.a.begin()), Smem{});
    Tensor sB = make_tensor(make_smem_ptr(s.b.begin()), Smem{});
    Tensor mA = args.a.get_tma_tensor(make_shape(args.m, args.k));
    Tensor mB = args.b.get_tma_tensor(make_shape(args.n, args.k));
    Ring<3> ring;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      auto at = make_coord(tile % across, tile / across, _);
      Tensor gA = local_tile(mA, Shape<_128, _128, _64>{}, at, Step<_1, X, _1>{});
      Tensor gB = local_tile(mB, Shape<_128, _128, _64>{}, at, Step<X, _1, _1>{});
      auto [fromA, toA] = tma_partition(args.a, _0{}, Layout<_1>{}, group_modes<0, 3>(sA),
                                        group_modes<0, 3>(part.partition_A(gA)));
      auto [fromB, toB] = tma_partition(args.b, _0{}, Layout<_1>{}, group_modes<0, 3>(sB),
                                        group_modes<0, 3>(part.partition_B(gB)));
      for (int k = 0; k < args.k / 64; ++k) {
        s.empty[ring.slot].wait(ring.parity ^ 1);
        s.full[ring.slot].expect(32768);
        copy(args.a.with(s.full[ring.slot].word), fromA(_, k), toA(_, ring.slot));
        copy(args.b.with(s.full[ring.slot].word), fromB(_, k), toB(_, ring.slot));
        ring.next();
      }
    }
  }
  template <class Acc>
  static __device__ void multiply(Arguments const& args, Shared& s, Acc acc, int tiles) {
    Mma mma;
    Tensor rA = Mma::make_fragment_A(make_tensor(make_smem_ptr(s.a.begin()), Smem{}));
    Tensor rB = Mma::make_fragment_B(make_tensor(make_smem_ptr(s.b.begin()), Smem{}));
    Ring<3> ring;
    Ring<2> out;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      s.drained[out.slot].wait(out.parity ^ 1);
      mma.accumulate_ = UMMA::ScaleOut::Zero;
      for (int k = 0; k < args.k / 64; ++k) {
        s.full[ring.slot].wait(ring.parity);
        for (int block = 0; block < size<2>(rA); ++block) {
          gemm(mma, rA(_, _, block, ring.slot), rB(_, _, block, ring.slot), acc(_, _, _, out.slot));
          mma.accumulate_ = UMMA::ScaleOut::One;
        }
        cutlass::arch::umma_arrive(&s.empty[ring.slot].word);
        ring.next();
      }
      cutlass::arch::umma_arrive(&s.done[out.slot].word);
      out.next();
    }
  }
  template <class Acc>
  static __device__ void store(Arguments const& args, Shared& s, Acc acc, int tiles, int across) {
    Tensor mD = make_tensor(make_gmem_ptr(args.d), make_shape(args.m, args.n), make_stride(args.n, _1{}));
    Tensor parts = acc(make_coord(_, _), _0{}, _0{}, _);
    auto read = make_tmem_copy(SM100_TMEM_LOAD_32dp32b32x{}, parts(_, _, _0{}));
    auto thr = read.get_slice(threadIdx.x - 128);
    Tensor from = thr.partition_S(parts);
    Ring<2> in;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
      Tensor to = thr.partition_D(local_tile(mD, Shape<_128, _128>{}, make_coord(tile % across, tile / across)));
      Tensor r = make_tensor<float>(shape(to));
      s.done[in.slot].wait(in.parity);
      copy(read, from(_, _, _, in.slot), r);
      cutlass::arch::fence_view_async_tmem_load();
      s.drained[in.slot].arrive();
      copy(AutoVectorizingCopyWithAssumedAlignment<128>{}, r, to);
      in.next();
    }
  }
};
template <class A, class B>
__global__ void __launch_bounds__(256) product(__grid_constant__ typename Gemm<A, B>::Arguments const args) {
  extern __shared__ __align__(1024) char memory[];
  Shared& s = *reinterpret_cast<Shared*>(memory);
  int const warp = threadIdx.x / 32, across = args.m / 128, tiles = across * (args.n / 128);
  TMEM::Allocator1Sm allocator;
  if (warp == 1 && elect_one_sync()) {
    for (int i = 0; i < 3; ++i) { s.full[i].init(1); s.empty[i].init(1); }
    for (int i = 0; i < 2; ++i) { s.done[i].init(1); s.drained[i].init(128); }
    cutlass::arch::fence_barrier_init();
  }
  if (warp == 2) allocator.allocate(256, &s.columns);
  __syncthreads();
  Tensor acc = Mma::make_fragment_C(append(partition_shape_C(Mma{}, Shape<_128, _128>{}), _2{}));
  acc.data() = s.columns;
  if (warp == 0) {
    if (elect_one_sync()) Gemm<A, B>::load(args, s, tiles, across);
  } else if (warp == 1) {
    Gemm<A, B>::multiply(args, s, acc, tiles);
  } else if (warp >= 4) {
    Gemm<A, B>::store(args, s, acc, tiles, across);
  }
  __syncthreads();
  if (warp == 2) allocator.free(s.columns, 256);
}
void run(half_t const* a, half_t const* b, float* d, int m, int n, int k, int blocks) {
  Tensor mA = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(k, _1{}));
  auto one = tiled_divide(make_layout(Shape<_1, _1, _1>{}), make_tile(typename Mma::AtomThrID{}));
  auto tA = make_tma_atom_A_sm100(SM90_TMA_LOAD{}, mA, Smem{}(_, _, _, _0{}), Shape<_128, _128, _64>{}, Mma{}, one);
  auto tB = make_tma_atom_B_sm100(SM90_TMA_LOAD{}, mB, Smem{}(_, _, _, _0{}), Shape<_128, _128, _64>{}, Mma{}, one);
  using Kernel = Gemm<decltype(tA), decltype(tB)>;
  auto kernel = product<decltype(tA), decltype(tB)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  kernel<<<blocks, 256, sizeof(Shared)>>>(typename Kernel::Arguments{m, n, k, tA, tB, d});
}
"""
UMMA_MISTAKES = {
    "right": ("", "", ""),
    "sums_replaced": ("      s.drained[out.slot].wait(out.parity ^ 1);\n", "", "CUT212"),
    "one_slice_of_b": ("rB(_, _, block, ring.slot)", "rB(_, _, 0, ring.slot)", "CUT218"),
    "never_freed": ("  if (warp == 2) allocator.free(s.columns, 256);\n", "", "CUT707"),
    "freed_by_assembly": (
        "allocator.free(s.columns, 256);",
        'asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 256;" ::"r"(s.columns));', "",
    ),
    "stage_of_the_sums": ("rB(_, _, block, ring.slot)", "rB(_, _, block, out.slot)", "CUT213"),
    "phase": ("s.empty[ring.slot].wait(ring.parity ^ 1)", "s.empty[ring.slot].wait(ring.parity)", "CUT217"),
    "never_waited_for": ("        s.full[ring.slot].wait(ring.parity);\n", "", "CUT217"),
}  # fmt: skip

ROWS = r"""
using Swizzled = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using Two = decltype(tile_to_shape(Swizzled{}, Shape<_64, _64, _2>{}));
using One = decltype(tile_to_shape(Swizzled{}, Shape<_64, _64>{}));
using Mma = TiledMMA<MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>, Layout<Shape<_2, _2, _1>>, Tile<_32, _32, _16>>;
using Load = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
using Store = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
    Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
struct Shared {
  array_aligned<half_t, cosize_v<Two>> q;
  array_aligned<half_t, cosize_v<One>> k;
  array_aligned<half_t, cosize_v<One>> p;
};
template <class Acc, class SA, class SB>
__device__ void multiply(Acc& acc, SA const& sA, SB const& sB) {
  Mma mma;
  auto thr = mma.get_slice(threadIdx.x);
  Tensor rA = thr.partition_fragment_A(sA);
  Tensor rB = thr.partition_fragment_B(sB);
  auto readA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto readB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  Tensor tA = readA.get_slice(threadIdx.x).partition_S(sA);
  Tensor yA = readA.get_slice(threadIdx.x).retile_D(rA);
  Tensor tB = readB.get_slice(threadIdx.x).partition_S(sB);
  Tensor yB = readB.get_slice(threadIdx.x).retile_D(rB);
  copy(readA, tA(_, _, _0{}), yA(_, _, _0{}));
  copy(readB, tB(_, _, _0{}), yB(_, _, _0{}));
  for (int k = 0; k < size<2>(rA); ++k) {
    if (k + 1 < size<2>(rA)) {
      copy(readA, tA(_, _, k + 1), yA(_, _, k + 1));
      copy(readB, tB(_, _, k + 1), yB(_, _, k + 1));
    }
    gemm(mma, rA(_, _, k), rB(_, _, k), acc);
  }
}
template <class Copy, class From, class To, class At>
__device__ void rows(Copy const& load, From const& from, To&& to, At const& at, int limit) {
  for (int i = 0; i < size<1>(to); ++i) {
    if (get<0>(at(0, i, 0)) < limit) copy(load, from(_, i, _), to(_, i, _));
  }
}
__global__ void __launch_bounds__(128) attend(half_t const* q, half_t const* k, half_t* d, half_t* e, int many,
                                              int64_t ld) {
  extern __shared__ __align__(128) char raw[];
  Shared& s = *reinterpret_cast<Shared*>(raw);
  Tensor gQ = local_tile(make_tensor(make_gmem_ptr(q), make_shape(many, _64{}), make_stride(ld, _1{})),
                         Shape<_64, _64>{}, make_coord(_, 0));
  Tensor gK = local_tile(make_tensor(make_gmem_ptr(k), make_shape(many, _64{}), make_stride(ld, _1{})),
                         Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  Tensor sQ = make_tensor(make_smem_ptr(s.q.data()), Two{});
  Tensor sK = make_tensor(make_smem_ptr(s.k.data()), One{});
  Load load;
  auto thr = load.get_slice(threadIdx.x);
  Tensor fromQ = thr.partition_S(gQ), fromK = thr.partition_S(gK);
  Tensor toQ = thr.partition_D(sQ), toK = thr.partition_D(sK);
  Tensor at = thr.partition_S(make_identity_tensor(Shape<_64, _64>{}));
  Tensor sum = partition_fragment_C(Mma{}, Shape<_64, _64>{});
  clear(sum);
  rows(load, fromK, toK, at, many - blockIdx.x * 64);
  rows(load, fromQ(_, _, _, 0), toQ(_, _, _, 0), at, many);
  cp_async_fence();
  int const tiles = (many + 63) / 64;
  int stage = 0;
  for (int m = 0; m < tiles; ++m) {
    cp_async_wait<0>();
    __syncthreads();
    if (m + 1 < tiles) {
      rows(load, fromQ(_, _, _, m + 1), toQ(_, _, _, stage ^ 1), at, many - (m + 1) * 64);
      cp_async_fence();
    }
    Tensor part = partition_fragment_C(Mma{}, Shape<_64, _64>{});
    clear(part);
    multiply(part, sQ(_, _, stage), sK);
    for (int i = 0; i < size(sum); ++i) sum(i) += expf(part(i));
    stage ^= 1;
  }
  __syncthreads();  // the last
  Tensor out = make_tensor<half_t>(sum.layout());
  Tensor twice = make_tensor<half_t>(sum.layout());
  for (int i = 0; i < size(sum); ++i) {
    out(i) = half_t(sum(i));
    twice(i) = half_t(2 * sum(i));
  }
  Tensor sD = make_tensor(make_smem_ptr(s.q.data()), One{});
  Tensor sE = make_tensor(make_smem_ptr(s.p.data()), One{});
  auto put = make_tiled_copy_C(Copy_Atom<AutoVectorizingCopyWithAssumedAlignment<32>, half_t>{}, Mma{});
  auto thr_put = put.get_slice(threadIdx.x);
  copy(put, thr_put.retile_S(out), thr_put.partition_D(sD));
  copy(put, thr_put.retile_S(twice), thr_put.partition_D(sE));
  __syncthreads();
  Store store;
  auto mine = store.get_slice(threadIdx.x);
  Tensor gD = local_tile(make_tensor(make_gmem_ptr(d), make_shape(many, _64{}), make_stride(ld, _1{})),
                         Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gE = local_tile(make_tensor(make_gmem_ptr(e), make_shape(many, _64{}), make_stride(ld, _1{})),
                         Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  Tensor tD = mine.partition_D(gD), tE = mine.partition_D(gE);
  for (int i = 0; i < size<1>(tD); ++i) {
    if (get<0>(at(0, i, 0)) < many - blockIdx.x * 64) {
      copy(store, mine.partition_S(sD)(_, i, _), tD(_, i, _));
      copy(store, mine.partition_S(sE)(_, i, _), tE(_, i, _));
    }
  }
}
void run(half_t const* q, half_t const* k, half_t* d, half_t* e, int many, int64_t ld) {
  if (ld % 8 != 0) return;
  cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  attend<<<(many + 63) / 64, 128, sizeof(Shared)>>>(q, k, d, e, many, ld);
}
"""
ROWS_MISTAKES = {
    "right": ("", "", ""),
    "epilogue_over_what_a_helper_reads": ("  __syncthreads();  // the last\n", "", "CUT212"),
    "slice_of_the_step_before": ("tA(_, _, k + 1), yA", "tA(_, _, k), yA", "CUT218"),
    "rows_of_the_tile_before": ("at, many - (m + 1) * 64", "at, many - m * 64", "CUT604"),
    "both_to_one_tile": ("make_smem_ptr(s.p.data()), One{}", "make_smem_ptr(s.q.data()), One{}", "CUT222"),
    "both_to_one_matrix": ("tE(_, i, _));", "tD(_, i, _));", "CUT222"),
}

SCALED = r"""
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
__global__ void __launch_bounds__(128) scale(float const* in, uint32_t const* packed, float* out, int m, int n) {
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(in), make_shape(m, _8{}), make_stride(_8{}, _1{})), Shape<_16, _8>{},
                         make_coord(blockIdx.x, 0));
  Tensor gO = local_tile(make_tensor(make_gmem_ptr(out), make_shape(m, n), make_stride(n, _1{})), Shape<_16, _32>{},
                         make_coord(blockIdx.x, blockIdx.y));
  Tensor rA = make_fragment_like(thr.partition_A(gA));
  Tensor rB = thr.partition_fragment_B(make_tensor(make_gmem_ptr(in), Layout<Shape<_32, _8>>{}));
  Tensor to = thr.partition_C(gO);
  Tensor acc = make_fragment_like(to);
  clear(acc);
  copy(thr.partition_A(gA), rA);
  for (int i = 0; i < size(rB); ++i) rB(i) = float(packed[blockIdx.y * 256 + i] & 15);
  gemm(Mma{}, rA, rB, acc);
  copy(acc, to);
}
void run(float const* in, uint32_t const* packed, float* out, int m, int n) {
  if (m % 16 != 0) return;
  if (n % 32 != 0) return;
  scale<<<dim3(m / 16, n / 32), 128>>>(in, packed, out, m, n);
}
"""
UNION = r"""
using Plain = Layout<Shape<_32, _64>, Stride<_64, _1>>;
using Wide = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
    Layout<Shape<_8, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{}));
struct In { alignas(128) array_aligned<float, cosize_v<Plain>> a; };
struct Out { alignas(128) array_aligned<float, cosize_v<Plain>> c; };
union Both { In in; Out out; };
__global__ void __launch_bounds__(128) turn(float const* in, float* out) {
  extern __shared__ __align__(128) char raw[];
  Both& s = *reinterpret_cast<Both*>(raw);
  Tensor sA = make_tensor(make_smem_ptr(s.in.a.data()), Plain{});
  Tensor sC = make_tensor(make_smem_ptr(s.out.c.data()), Plain{});
  auto thr = Wide{}.get_slice(threadIdx.x);
  auto other = Wide{}.get_slice(threadIdx.x ^ 64);
  copy(Wide{}, thr.partition_S(make_tensor(make_gmem_ptr(in), Plain{})), thr.partition_D(sA));
  __syncthreads();
  Tensor r = make_fragment_like(other.partition_S(sA));
  copy(Wide{}, other.partition_S(sA), r);
  __syncthreads();  // between the two
  copy(Wide{}, r, thr.partition_D(sC));
  __syncthreads();
  copy(Wide{}, other.partition_S(sC), r);
  copy(Wide{}, r, other.partition_D(make_tensor(make_gmem_ptr(out), Plain{})));
}
void run(float const* in, float* out, int group) {
  if (group == 128) turn<<<1, 128, sizeof(Both)>>>(in, out);
}
"""
IDS = r"""
using Rows = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{}, Layout<Shape<_32, _4>,
    Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
__global__ void __launch_bounds__(128) pick(int const* sorted, half_t const* in, half_t* out, int top) {
  __shared__ int ids[64];
  if (threadIdx.x < 64) ids[threadIdx.x] = sorted[threadIdx.x];
  __syncthreads();
  auto thr = Rows{}.get_slice(threadIdx.x);
  Tensor at = thr.partition_D(make_identity_tensor(Shape<_64, _32>{}));
  Tensor to = thr.partition_D(make_tensor(make_gmem_ptr(out), Layout<Shape<_64, _32>, Stride<_32, _1>>{}));
  for (int m = 0; m < 2; ++m) {
    int const id = ids[get<0>(at(0, m, 0))];
    for (int i = 0; i < 8; ++i) to(i, m, 0) = in[id / top * 32 + get<1>(at(i, m, 0))];
  }
}
void run(int const* sorted, half_t const* in, half_t* out, int top) { pick<<<1, 128>>>(sorted, in, out, top); }
"""
OTHERS = {
    "ids": (IDS, "", "", "sm_80", ""),
    "ids_without_barrier": (IDS, "  __syncthreads();\n", "", "sm_80", "CUT212"),
    "blocks": (SCALED, "", "", "sm_80", ""),
    "blocks_the_other_way": (SCALED, "dim3(m / 16, n / 32)", "dim3(n / 32, m / 16)", "sm_80", "CUT219"),
    "union": (UNION, "", "", "sm_80", ""),
    "union_without_barrier": (UNION, "  __syncthreads();  // between the two\n", "", "sm_80", "CUT212"),
}


def codes(tmp_path: Path, text: str, arch: str) -> set[str]:
    (tmp_path / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(tmp_path)]), Settings(arch=(arch,), cache=False))
    assert not report.failures and not report.errors
    return {f.code for f in report.findings if f.code.startswith(("CUT2", "CUT6", "CUT7", "CUT8"))}


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new) if old else text


@pytest.mark.parametrize("name", UMMA_MISTAKES)
def test_a_persistent_gemm_of_tensor_memory(name: str, tmp_path: Path) -> None:
    old, new, code = UMMA_MISTAKES[name]
    found = codes(tmp_path, changed(UMMA, old, new), "sm_100a")
    assert code in found if code else not found


@pytest.mark.parametrize("name", ROWS_MISTAKES)
def test_tiles_of_rows_and_an_epilogue_over_them(name: str, tmp_path: Path) -> None:
    old, new, code = ROWS_MISTAKES[name]
    found = codes(tmp_path, changed(ROWS, old, new), "sm_80")
    assert code in found if code else not found


@pytest.mark.parametrize("name", OTHERS)
def test_others(name: str, tmp_path: Path) -> None:
    text, old, new, arch, code = OTHERS[name]
    found = codes(tmp_path, changed(text, old, new), arch)
    assert code in found if code else not found
