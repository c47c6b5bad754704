"""Registers and shared memory that are read and never written, tiles behind the last one, and barriers of an array that
are not initialised: kernels that are run once more, whatever orders their threads.
"""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.tests.rules.test_roles import KERNEL

REGISTERS = """
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
void written_elsewhere(float*, float const*);
template <class T> __device__ void set(T& t) { for (int i = 0; i < size(t); ++i) t(i) = 0.f; }
__device__ void load(float& to, float const* from) { to = *from; }
__global__ void __launch_bounds__(128) product(float const* A, float const* B, float* C) {
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor gA = thr.partition_A(make_tensor(make_gmem_ptr(A), Layout<Shape<_16, _8>>{}));
  Tensor gB = thr.partition_B(make_tensor(make_gmem_ptr(B), Layout<Shape<_8, _8>>{}));
  Tensor gC = thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_16, _8>>{}));
  Tensor rA = make_fragment_like(gA), rB = make_fragment_like(gB), acc = make_fragment_like(gC);
  clear(acc);
  copy(gA, rA);
  %s
  gemm(Mma{}, rA, rB, acc);
  copy(acc, gC);
}
void run(float const* A, float const* B, float* C) { product<<<1, 128>>>(A, B, C); }
"""
SHARED = """
void written_elsewhere(float*, float const*);
__device__ void put(unsigned at, float v) { asm volatile("st.shared.f32 [%%0], %%1;" :: "r"(at), "f"(v) : "memory"); }
struct Storage { float a[128]; float b[128]; };
__global__ void __launch_bounds__(128) shift(float const* A, float* C) {
  __shared__ Storage s;
  Tensor sA = make_tensor(make_smem_ptr(s.a), Layout<_128>{}), sB = make_tensor(make_smem_ptr(s.b), Layout<_128>{});
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<_128>{}), gC = make_tensor(make_gmem_ptr(C), Layout<_128>{});
  auto thr = Layout<_128>{};
  copy(local_partition(gA, thr, threadIdx.x), local_partition(sA, thr, threadIdx.x));
  %s
  __syncthreads();
  copy(local_partition(sB, thr, threadIdx.x ^ 1), local_partition(gC, thr, threadIdx.x));
}
void run(float const* A, float* C) { shift<<<1, 128>>>(A, C); }
"""
ROWS = """
using Mma = decltype(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _8, _1>>{}));
__global__ void __launch_bounds__(128) rows(float const* A, float const* B, float* C, int k) {
  Tensor mA = make_tensor(make_gmem_ptr(A), make_shape(_16{}, k), make_stride(k, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(B), make_shape(_8{}, k), make_stride(k, _1{}));
  Tensor gA = local_tile(mA, Shape<_16, _8>{}, make_coord(0, _));
  Tensor gB = local_tile(mB, Shape<_8, _8>{}, make_coord(0, _));
  auto thr = Mma{}.get_slice(threadIdx.x);
  Tensor pA = thr.partition_A(gA), pB = thr.partition_B(gB);
  Tensor gC = thr.partition_C(make_tensor(make_gmem_ptr(C), Layout<Shape<_16, _8>>{}));
  Tensor rA = make_fragment_like(pA(_, _, _, 0)), rB = make_fragment_like(pB(_, _, _, 0)), acc = make_fragment_like(gC);
  clear(acc);
  for (int i = 0; %s; ++i) {
    copy(pA(_, _, _, i), rA);
    copy(pB(_, _, _, i), rB);
    gemm(Mma{}, acc, rA, rB, acc);
  }
  copy(acc, gC);
}
void run(float const* A, float const* B, float* C, int k) { rows<<<1, 128>>>(A, B, C, k); }
"""


def codes(folder: Path, text: str, select: str = "CUT209,CUT210,CUT217,CUT218,CUT220,CUT221") -> list[str]:
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(folder)]), Settings(select=tuple(select.split(",")), arch=("sm_90a",)))
    assert not report.failures
    return [f"{f.code} {f.message}" for f in report.findings]


@pytest.mark.parametrize(
    "writer",
    [
        "copy(gB, rB);",
        "clear(rB);",
        "rB(0) = 1.f;",
        "for (int i = 0; i < size(rB); ++i) rB(i) = B[i];",
        "set(rB);",
        "load(rB(0), B);",
        "float* p = rB.data(); p[0] = 1.f;",
        "transform(gB, rB, [](float x) { return 2.f * x; });",
        'asm volatile("mov.f32 %%0, 0f3F800000;" : "=f"(rB(0)));',
        "written_elsewhere(&rB(0), B);",
        "written_elsewhere(rB.data(), B);",
        "auto view = recast<uint32_t>(rB); view(0) = 1u;",
        "if (threadIdx.x < 64) copy(gB, rB); else clear(rB);",
    ],
)
def test_registers_that_something_writes(tmp_path: Path, writer: str) -> None:
    assert codes(tmp_path, REGISTERS.replace("%s", writer.replace("%%", "%"))) == []


@pytest.mark.parametrize(
    "other",
    ["", "copy(gB, rA);", "for (int i = 0; i < size(rB); ++i) acc(i) = 0.f;", "auto view = recast<uint32_t>(rB);"],
)
def test_registers_that_nothing_writes(tmp_path: Path, other: str) -> None:
    (found,) = codes(tmp_path, REGISTERS.replace("%s", other))
    assert found.startswith("CUT221 `rB` is read, and nothing has written")


def test_accumulators_of_a_kernel_without_shared_memory(tmp_path: Path) -> None:
    (found,) = codes(tmp_path, REGISTERS.replace("%s", "copy(gB, rB);").replace("  clear(acc);\n", ""))
    assert found.startswith("CUT220")


@pytest.mark.parametrize(
    "writer",
    [
        "copy(local_partition(gA, thr, threadIdx.x), local_partition(sB, thr, threadIdx.x));",
        "s.b[threadIdx.x] = A[threadIdx.x];",
        "sB(threadIdx.x) = A[threadIdx.x];",
        "for (int i = threadIdx.x; i < 128; i += 32) s.b[i] = A[i];",
        "float* p = s.b; p[threadIdx.x] = 1.f;",
        "put(cast_smem_ptr_to_uint(&s.b[threadIdx.x]), 1.f);",
        "written_elsewhere(s.b, A);",
        "atomicAdd(&s.b[threadIdx.x], 1.f);",
        "reinterpret_cast<float4*>(s.b)[threadIdx.x % 32] = float4{};",
        "Tensor both = make_tensor(make_smem_ptr(s.a), Layout<_256>{}); "
        "copy(local_partition(gA, thr, threadIdx.x), local_partition(local_tile(both, _128{}, 1), thr, threadIdx.x));",
    ],
)
def test_shared_memory_that_something_writes(tmp_path: Path, writer: str) -> None:
    assert [c for c in codes(tmp_path, SHARED.replace("%s", writer).replace("%%", "%")) if c.startswith("CUT221")] == []


def test_shared_memory_that_nothing_writes(tmp_path: Path) -> None:
    (found,) = codes(tmp_path, SHARED.replace("%s", "").replace("%%", "%"))
    assert found.startswith("CUT221") and "nothing in the kernel writes this shared memory" in found


@pytest.mark.parametrize("condition", ["i < size<2>(gA)", "i < k / 8", "i <= k / 8 - 1"])
def test_all_tiles_of_a_row(tmp_path: Path, condition: str) -> None:
    assert codes(tmp_path, ROWS % condition) == []


@pytest.mark.parametrize("condition", ["i <= size<2>(gA)", "i < k / 8 + 1"])
def test_one_tile_too_many_in_a_kernel_without_shared_memory(tmp_path: Path, condition: str) -> None:
    found = codes(tmp_path, ROWS % condition)
    assert found and all(c.startswith("CUT210") for c in found)


def test_one_tile_too_few_in_a_kernel_without_shared_memory(tmp_path: Path) -> None:
    assert [c[:6] for c in codes(tmp_path, ROWS % "i < size<2>(gA) - 1")] == ["CUT218", "CUT218"]


INIT = "for (int i = 0; i < 2; ++i) {\n      Full::init"
SHORT = KERNEL.replace(", out, tiles);", ", out, 8);")


def test_a_barrier_of_an_array_that_is_not_initialised(tmp_path: Path) -> None:
    assert codes(tmp_path, SHORT) == []
    (found,) = codes(tmp_path, SHORT.replace(INIT, INIT.replace("i = 0", "i = 1")))
    assert found.startswith("CUT217 barrier 0 of its array is used, and nothing initialises it")
