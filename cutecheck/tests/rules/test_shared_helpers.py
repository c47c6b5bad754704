"""Device functions that a kernel calls more than once, or that several kernels call: each call counts for itself."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.rules.read_without_write import _EXAMPLE

HELPERS = """
template <class S, class D> __device__ void move(S const& s, D&& d) { copy(s, d); }
template <class C, class S, class D> __device__ void move(C const& c, S const& s, D&& d) { copy(c, s, d); }
"""
PRODUCT = HELPERS + (_EXAMPLE % "copy(gB, rB);").replace("copy(", "move(")
STAGES = (
    HELPERS
    + """
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
__global__ void __launch_bounds__(128) product(float const* A, float const* B, float* C, int n) {
  __shared__ float rawA[128];
  __shared__ float rawB[128];
  Tensor sA = make_tensor(make_smem_ptr(rawA), Layout<Shape<_16, _8>>{});
  Tensor sB = make_tensor(make_smem_ptr(rawB), Layout<Shape<_16, _8>>{});
  auto tiles = make_layout(make_shape(_16{}, _8{}, n), make_stride(_1{}, _16{}, 128));
  Tensor gA = make_tensor(make_gmem_ptr(A), tiles), gB = make_tensor(make_gmem_ptr(B), tiles);
  auto all = Layout<Shape<_16, _8>>{};
  Tensor tgA = local_partition(gA, all, threadIdx.x), tgB = local_partition(gB, all, threadIdx.x);
  Tensor tsA = local_partition(sA, all, threadIdx.x), tsB = local_partition(sB, all, threadIdx.x);
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor gC = thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_16, _16>>{}));
  Tensor uA = thr.partition_A(sA);
  Tensor uB = thr.partition_B(sB);
  Tensor rA = make_fragment_like(tsA), rB = make_fragment_like(tsB);
  Tensor acc = make_fragment_like(gC);
  Tensor fA = make_fragment_like(uA);
  Tensor fB = make_fragment_like(uB);
  clear(acc);
  move(tgA(_, _, 0), rA);
  move(tgB(_, _, 0), rB);
  move(rA, tsA);
  move(rB, tsB);
  for (int i = 0; i < n; ++i) {
    __syncthreads();
    move(uA, fA);
    move(uB, fB);
    __syncthreads();
    if (i + 1 < n) {
      move(tgA(_, _, i + 1), rA);
      move(tgB(_, _, i + 1), rB);
      move(rA, tsA);
      move(rB, tsB);
    }
    gemm(Mma{}, fA, fB, acc);
  }
  move(acc, gC);
}
void run(float const* A, float const* B, float* C, int n) { product<<<1, 128>>>(A, B, C, n); }
"""
)
LOADS = """
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
struct Storage { alignas(1024) half_t a[8192]; alignas(8) uint64_t bar; };
template <class Tma> struct Work {
  static __device__ void run(Tma const& tma, int m, int k) {
    extern __shared__ alignas(1024) char raw[];
    Storage& smem = *reinterpret_cast<Storage*>(raw);
    Tensor mA = tma.get_tma_tensor(make_shape(m, k));
    Tensor gA = local_tile(mA, Shape<_128, _64>{}, make_coord(blockIdx.x, _));
    Tensor sA = make_tensor(make_smem_ptr(smem.a), Smem{});
    auto cta = tma.get_slice(0);
    Tensor from = cta.partition_S(gA);
    Tensor to = cta.partition_D(sA);
    for (int i = 0; i < size<2>(gA); ++i) {
      set_barrier_transaction_bytes(smem.bar, BYTES);
      copy(tma.with(smem.bar MASK), from(_, _, _, i), to);
    }
  }
};
template <class Shape, class Tma>
__global__ void __launch_bounds__(128) fill(Shape shape, CUTE_GRID_CONSTANT Tma const tma) {
  Work<Tma>::run(tma, get<0>(shape), get<1>(shape));
}
"""
TWICE = """
void run(half_t const* A, int m, int n, int k) {
  Tensor gA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(m, n), make_stride(n, Int<1>{})));
  auto tma = make_tma_copy(SM90_TMA_LOAD{}, gA, Smem{});
  fill<<<4, 128, 16400>>>(make_shape(m, n), tma);
  fill<<<4, 128, 16400>>>(make_shape(n, k), tma);
}
"""
CLUSTER = """
void run(half_t const* A, int m, int n) {
  Tensor gA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(m, n), make_stride(n, Int<1>{})));
  auto tma = make_tma_copy(SM90_TMA_LOAD_MULTICAST{}, gA, Smem{}, Shape<_128, _64>{}, _2{});
  cutlass::ClusterLaunchParams params = {dim3(4), dim3(128), dim3(CTAS, 1, 1), 16400};
  auto shape = make_shape(m, n);
  cutlass::launch_kernel_on_cluster(params, (void const*)&fill<decltype(shape), decltype(tma)>, shape, tma);
}
"""


def found(folder: Path, text: str, *codes: str) -> list[tuple[str, str]]:
    """The code of each finding, and the line that it is at."""
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(folder)]), Settings(select=codes, arch=("sm_90a",)))
    assert not report.failures
    lines = (PREAMBLE + text).splitlines()
    return sorted({(f.code, lines[f.span.line - 1].strip()) for f in report.findings})


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ("", "", []),
        ("gemm(Mma{}, rA, rB, acc);", "gemm(Mma{}, rA, rA, acc);", [("CUT222", "move(gB, rB);")]),
        ("move(acc, gC);", "", [("CUT222", "gemm(Mma{}, rA, rB, acc);")]),
        ("move(gB, rB);", "", [("CUT221", "gemm(Mma{}, rA, rB, acc);")]),
        (  # nothing reads what any call of the helper leaves
            "gemm(Mma{}, rA, rB, acc);", "",
            [("CUT222", "template <class S, class D> __device__ void move(S const& s, D&& d) { copy(s, d); }")],
        ),
    ],
)  # fmt: skip
def test_what_one_call_leaves_is_told_at_that_call(
    tmp_path: Path, was: str, now: str, expected: list[tuple[str, str]]
) -> None:
    assert found(tmp_path, PRODUCT.replace(was, now) if was else PRODUCT, "CUT221", "CUT222") == expected


@pytest.mark.parametrize(
    ("header", "told"), [("own/move.h", True), ("include/cutlass/move.h", False), ("3rd/include/cute/move.h", False)]
)
def test_which_of_its_steps_a_library_needs_is_its_own_affair(tmp_path: Path, header: str, told: bool) -> None:
    (tmp_path / header).parent.mkdir(parents=True)
    (tmp_path / header).write_text(f"#pragma once\n{PREAMBLE}{HELPERS}")
    text = PRODUCT.removeprefix(HELPERS).replace("gemm(Mma{}, rA, rB, acc);", "gemm(Mma{}, rA, rA, acc);")
    (tmp_path / "k.cu").write_text(f'{PREAMBLE}#include "{header}"\n{text}')
    report = check(inputs([str(tmp_path)]), Settings(select=("CUT222",), arch=("sm_90a",)))
    assert [f.code for f in report.findings] == ["CUT222"] * told


@pytest.mark.parametrize(
    ("was", "now", "expected"),
    [
        ("", "", set()),
        ("    move(uA, fA);", "", {"CUT221"}),
        ("      move(tgA(_, _, i + 1), rA);\n", "", {"CUT218"}),
        ("      move(rB, tsB);\n", "", {"CUT218"}),
    ],
)
def test_a_helper_that_is_called_before_the_loop_and_in_it(
    tmp_path: Path, was: str, now: str, expected: set[str]
) -> None:
    """Its first call is in no loop, and the kernel has a loop to be run pass by pass all the same."""
    codes = {code for code, _ in found(tmp_path, STAGES.replace(was, now, 1) if was else STAGES, "CUT2")}
    assert codes >= expected and bool(codes) == bool(expected)


@pytest.mark.parametrize(
    ("count", "wrong"), [("size(Smem{}) * sizeof(half_t)", False), ("size(Smem{})", True)]
)  # fmt: skip
def test_loads_of_two_kernels_in_one_function_are_not_one_sequence(tmp_path: Path, count: str, wrong: bool) -> None:
    text = LOADS.replace("BYTES", count).replace("MASK", "") + TWICE
    assert [code for code, _ in found(tmp_path, text, "CUT805")] == ["CUT805"] * wrong


@pytest.mark.parametrize(("ctas", "wrong"), [("2", False), ("1", True)])
def test_a_multicast_load_in_a_function_of_the_kernel(tmp_path: Path, ctas: str, wrong: bool) -> None:
    text = LOADS.replace("BYTES", "size(Smem{}) * sizeof(half_t)").replace("MASK", ", uint16_t(3)")
    text = text.replace("make_coord(blockIdx.x, _)", "make_coord(blockIdx.x / 2, _)")
    text = text.replace("get_slice(0)", "get_slice(blockIdx.x % 2)")
    assert [c for c, _ in found(tmp_path, text + CLUSTER.replace("CTAS", ctas), "CUT804")] == ["CUT804"] * wrong
