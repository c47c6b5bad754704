"""Registers and shared memory that are read and never written, tiles behind the last one, and barriers of an array that
are not initialised: kernels that are run once more, whatever orders their threads.
"""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.rules.read_without_write import _EXAMPLE
from cutecheck.tests.rules.test_roles import KERNEL

HELPERS = """
void written_elsewhere(float*, float const*);
template <class T> void all_of(T const&);
template <class T> __device__ void set(T& t) { for (int i = 0; i < size(t); ++i) t(i) = 0.f; }
__device__ void load(float& to, float const* from) { to = *from; }
template <class T> struct Both { T& one; int more; };
template <class T> struct Frag { T& t; __device__ void load() { t(0) = 1.f; } };
template <class T> struct Rows {
  T& t;
  __device__ void put(int i) { t(i) = 1.f; }
  __device__ void zero() { for (int i = 0; i < 2; ++i) t(i) = 0.f; }
  __device__ void zero_by_this() { for (int i = 0; i < 2; ++i) this->t(i) = 0.f; }
  __device__ void zero_by_one() { for (int i = 0; i < 2; ++i) put(i); }
};
template <class T, class G> __device__ void ldg(T&& t, G const& g) {
  for (int i = 0; i < size(t); ++i) asm("ld.global.f32 %0, [%1];" : "=f"(t(i)) : "l"(&g(i)));
}
"""
REGISTERS = HELPERS + _EXAMPLE
SHARED = """
void written_elsewhere(float*, float const*);
__device__ void put(unsigned at, float v) { asm volatile("st.shared.f32 [%0], %1;" :: "r"(at), "f"(v) : "memory"); }
struct Storage {
  float a[128];
  float b[128];
  __device__ void put(int i, float v) { b[i] = v; }
};
__device__ void zero(Storage& s) { s.b[threadIdx.x] = 0.f; }
__device__ void zero_at(Storage* s) { s->b[threadIdx.x] = 0.f; }
__device__ void count(float* p) { p[threadIdx.x]++; }
__device__ void copy_it(float* to, float const* from) { to[threadIdx.x] = from[threadIdx.x]; }
template <class T> __device__ void put_all(T& t, float const* a) {
  for (int i = threadIdx.x; i < size(t); i += 128) { t(i) = a[i]; }
}
__device__ void cp_async4(void* to, void const* from) {
  unsigned at = __cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;" :: "r"(at), "l"(from));
}
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
DYNAMIC = """
__device__ void fill(float const* A) {
  extern __shared__ float mine[];
  Tensor s = make_tensor(make_smem_ptr(mine), Layout<_128>{});
  copy(local_partition(make_tensor(make_gmem_ptr(A), Layout<_128>{}), Layout<_128>{}, threadIdx.x),
      local_partition(s, Layout<_128>{}, threadIdx.x));
}
__global__ void __launch_bounds__(128) shift(float const* A, float* C) {
  extern __shared__ float all[];
  Tensor s = make_tensor(make_smem_ptr(all), Layout<_128>{}), gC = make_tensor(make_gmem_ptr(C), Layout<_128>{});
  fill(A);
  __syncthreads();
  copy(local_partition(s, Layout<_128>{}, threadIdx.x ^ 1), local_partition(gC, Layout<_128>{}, threadIdx.x));
}
void run(float const* A, float* C) { shift<<<1, 128, 512>>>(A, C); }
"""
CARVED = """
void written_elsewhere(float*, float const*);
__global__ void __launch_bounds__(128) shift(float const* A, float const* B, float* C, int n) {
  extern __shared__ float all[];
  Tensor sA = make_tensor(make_smem_ptr(all), Layout<_128>{});
  Tensor sB = make_tensor(sA.data() + size(sA), Layout<Shape<_128, _2>>{});
  Tensor sT = make_tensor(sB.data(), Layout<Shape<_2, _128>, Stride<_128, _1>>{});
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<_128>{}), gB = make_tensor(make_gmem_ptr(B), Layout<_128>{});
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<_128>{});
  auto thr = Layout<_128>{};
  Tensor tAsA = local_partition(sA, thr, threadIdx.x), tBsB = local_partition(sB, thr, threadIdx.x);
  Tensor tTsT = local_partition(sT(1, _), thr, threadIdx.x ^ 1);
  copy(local_partition(gA, thr, threadIdx.x), tAsA);
  tBsB.data() = tBsB.data() + 0;
  %s
  __syncthreads();
  copy(tTsT, local_partition(gC, thr, threadIdx.x));
  copy(local_partition(sA, thr, threadIdx.x ^ 1), local_partition(gC, thr, threadIdx.x));
}
void run(float const* A, float const* B, float* C, int n) { shift<<<1, 128, 1536>>>(A, B, C, n); }
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
        "memset(&rB, 0, sizeof(rB));",
        "memcpy(&rB, B, 8);",
        "rB(0) = 1.f;",
        "for (int i = 0; i < size(rB); ++i) rB(i) = B[i];",
        "set(rB);",
        "load(rB(0), B);",
        "float* p = rB.data(); p[0] = 1.f;",
        "transform(gB, rB, [](float x) { return 2.f * x; });",
        'asm volatile("mov.f32 %0, 0f3F800000;" : "=f"(rB(0)));',
        "written_elsewhere(&rB(0), B);",
        "written_elsewhere(rB.data(), B);",
        "auto view = recast<uint32_t>(rB); view(0) = 1u;",
        "all_of(make_tuple(rB, 1));",
        "Both<decltype(rB)> both{rB, 1}; all_of(both);",
        "if (threadIdx.x < 64) copy(gB, rB); else clear(rB);",
        "for (auto& x : rB) x = 0.f;",
        "auto set1 = [&](int i) { rB(i) = 1.f; }; set1(0);",
        "float& one = rB(0); one = 1.f;",
        "auto& same = rB; same(0) = 2.f;",
        "Tensor v = make_tensor(rB.data(), rB.layout()); v(0) = 1.f;",
        "auto t = make_tuple(rB, 1); get<0>(t)(0) = 1.f;",
        "Frag<decltype(rB)> f{rB}; f.load();",
        "for_each(make_seq<2>{}, [&](auto i) { rB(i) = 1.f; });",
        "uint32_t* u = reinterpret_cast<uint32_t*>(&rB(0)); u[0] = 1;",
        "auto v = group_modes<0, 1>(rB); fill(v, 1.f);",
        "copy(AutoVectorizingCopy{}, gB, rB);",
        "rB[0] = 1.f;",
        "*rB.data() = 1.f;",
        "ldg(rB, gB);",
        "*reinterpret_cast<float2*>(rB.data()) = make_float2(1.f, 2.f);",
        "auto v = coalesce(rB); clear(v);",
        "copy_if([&](auto i) { return true; }, gB, rB);",
        "cute::copy(gB, rB(_, _, _));",
        "if (threadIdx.x < 64) { copy(gB, rB); }",
        "auto lam = [&] { copy(gB, rB); }; lam();",
        "auto lam = [](auto& t, auto const& g) { copy(g, t); }; lam(rB, gB);",
        "cutlass::Array<float, 4>& arr = reinterpret_cast<cutlass::Array<float, 4>&>(rB); arr[0] = 1.f;",
        "rB = make_fragment_like(gB); rB(0) = 1.f;",
        "auto set1 = [&](int i) { rB(i) = 1.f; }; for (int i = 0; i < 2; ++i) set1(i);",
        "auto set1 = [&](auto i) { rB(i) = 1.f; }; auto set2 = [&](int i) { set1(i); }; "
        "for (int i = 0; i < 2; ++i) set2(i);",
        "for (int i = 0; i < 2; ++i) { [&] { rB(i) = 1.f; }(); }",
        "Rows<decltype(rB)> rows{rB}; rows.zero();",
        "Rows<decltype(rB)> rows{rB}; rows.zero_by_this();",
        "Rows<decltype(rB)> rows{rB}; rows.zero_by_one();",
        "Rows<decltype(rB)> rows{rB}; for (int i = 0; i < 2; ++i) rows.put(i);",
        "Rows<decltype(rB)> rows{rB}; auto* at = &rows; for (int i = 0; i < 2; ++i) at->put(i);",
    ],
)
def test_registers_that_something_writes(tmp_path: Path, writer: str) -> None:
    assert codes(tmp_path, REGISTERS.replace("%s", writer)) == []


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
        "s.b[threadIdx.x] += 1.f;",
        "s.b[threadIdx.x]++;",
        "*(s.b + threadIdx.x) = 1.f;",
        "s.put(threadIdx.x, 1.f);",
        "for (auto& x : s.b) x = 0.f;",
        "auto store = [&](int i, float v) { s.b[i] = v; }; store(threadIdx.x, 1.f);",
        "auto& b = s.b; b[threadIdx.x] = 1.f;",
        "float (&row)[128] = s.b; row[threadIdx.x] = 1.f;",
        "__pipeline_memcpy_async(&s.b[threadIdx.x], &A[threadIdx.x], 4);",
        "cuda::memcpy_async(block, s.b, A, 512, pipe);",
        "memcpy(&s.b[threadIdx.x], &A[threadIdx.x], 4);",
        "SM80_CP_ASYNC_CACHEALWAYS<float>::copy(A[threadIdx.x], s.b[threadIdx.x]);",
        "SM80_CP_ASYNC_CACHEALWAYS<float>::copy(gA(threadIdx.x), sB(threadIdx.x));",
        "copy_it(s.b, A);",
        "cooperative_copy<128, 32>(threadIdx.x, gA, sB);",
        "float& one = s.b[threadIdx.x]; one = 1.f;",
        "Storage* p = &s; p->b[threadIdx.x] = 1.f;",
        "zero(s);",
        "zero_at(&s);",
        "if (A[0] > 0) s.b[threadIdx.x] = 1.f;",
        "int i = threadIdx.x; do { s.b[i] = 0.f; i += 32; } while (i < 128);",
        "s = Storage{};",
        "float2* q = reinterpret_cast<float2*>(s.b); q[threadIdx.x % 64] = make_float2(0.f, 0.f);",
        "std::fill(s.b, s.b + 128, 0.f);",
        "cp_async4(&s.b[threadIdx.x], A);",
        "sB[threadIdx.x] = 1.f;",
        "Tensor t = local_partition(sB, thr, threadIdx.x); t(0) = 1.f;",
        "fill(local_partition(sB, thr, threadIdx.x), 1.f);",
        "clear(sB);",
        "for (int i = 0; i < 128; ++i) { sB(i) = A[i]; }",
        "copy_if([&](int i) { return true; }, gA, sB);",
        "s.b[0] = s.a[0]; int n = 3; while (n--) s.b[n] = 1.f;",
        "atomicExch(s.b + threadIdx.x, 1.f);",
        "__stcs(&s.b[threadIdx.x], 1.f);",
        "put_all(sB, A);",
        "float* p = raw_pointer_cast(sB.data()); p[threadIdx.x]++;",
        "float* p = raw_pointer_cast(sB.data()); cuda::memcpy_async(block, p, A, 512, pipe);",
        "float* p = &*sB.data(); count(p);",
        "count(sB.data().get());",
        "cp_async4(raw_pointer_cast(sB.data()), A);",
        "Tensor both = make_tensor(make_smem_ptr(s.a), Layout<_256>{}); "
        "copy(local_partition(gA, thr, threadIdx.x), local_partition(local_tile(both, _128{}, 1), thr, threadIdx.x));",
    ],
)
def test_shared_memory_that_something_writes(tmp_path: Path, writer: str) -> None:
    assert [c for c in codes(tmp_path, SHARED.replace("%s", writer)) if c.startswith("CUT221")] == []


def test_shared_memory_that_nothing_writes(tmp_path: Path) -> None:
    (found,) = codes(tmp_path, SHARED.replace("%s", ""))
    assert found.startswith("CUT221") and "nothing in the kernel writes this shared memory" in found


def test_dynamic_shared_memory_under_two_names(tmp_path: Path) -> None:
    assert codes(tmp_path, DYNAMIC) == []
    (found,) = codes(tmp_path, DYNAMIC.replace("  fill(A);\n", ""))
    assert found.startswith("CUT221")


@pytest.mark.parametrize("condition", ["i < size<2>(gA)", "i < k / 8", "i <= k / 8 - 1"])
def test_all_tiles_of_a_row(tmp_path: Path, condition: str) -> None:
    assert codes(tmp_path, ROWS % condition) == []


@pytest.mark.parametrize("condition", ["i <= size<2>(gA)", "i < k / 8 + 1"])
def test_one_tile_too_many_in_a_kernel_without_shared_memory(tmp_path: Path, condition: str) -> None:
    found = codes(tmp_path, ROWS % condition)
    assert found and all(c.startswith("CUT210") for c in found)


def test_one_tile_too_few_in_a_kernel_without_shared_memory(tmp_path: Path) -> None:
    assert [c[:6] for c in codes(tmp_path, ROWS % "i < size<2>(gA) - 1")] == ["CUT218", "CUT218"]


@pytest.mark.parametrize(
    ("writer", "read"),
    [
        ("", True),
        ("copy(local_partition(gB, thr, threadIdx.x), tAsA);", True),
        ("auto r = make_tensor<float>(_2{}); copy(tBsB, r);", True),
        ("copy(local_partition(gB, thr, threadIdx.x), tBsB(_, 1));", False),
        ("sB(threadIdx.x, 1) = 1.f;", False),
        ("float* p = sB.data().get(); p[threadIdx.x] = 1.f;", False),
        ("*sB.data() = 1.f;", False),
        ("written_elsewhere(sA.data().get(), B);", False),
        ("auto p = sA.data(); auto other = make_tensor(p + 128, thr); other(threadIdx.x) = 1.f;", False),
        ("if (n > 4) copy(local_partition(gB, thr, threadIdx.x), tBsB(_, 1));", False),
    ],
)
def test_tensors_that_are_made_of_pointers_to_others(tmp_path: Path, writer: str, read: bool) -> None:
    found = codes(tmp_path, CARVED.replace("%s", writer), "CUT221")
    assert len(found) == read, found


@pytest.mark.parametrize(("last", "found"), [("i < k / 8 - 1", 2), ("i < k / 8", 0), ("i < k / 8 - (k == 512)", 0)])
def test_a_tile_that_all_launches_leave_out(tmp_path: Path, last: str, found: int) -> None:
    """Each launch has matrices and extents of its own."""
    again = "float *a, *b, *c; cudaMalloc(&a, 32768); cudaMalloc(&b, 16384); cudaMalloc(&c, 512); "
    launches = f"{again}rows<<<1, 128>>>(a, b, c, 512); rows<<<1, 128>>>(A, B, C, k);"
    text = ROWS.replace("%s", last).replace("rows<<<1, 128>>>(A, B, C, k);", launches)
    assert [m[:6] for m in codes(tmp_path, text, "CUT218")] == ["CUT218"] * found


INIT = "for (int i = 0; i < 2; ++i) {\n      Full::init"
SHORT = KERNEL.replace(", out, tiles);", ", out, 8);")


def test_a_barrier_of_an_array_that_is_not_initialised(tmp_path: Path) -> None:
    assert codes(tmp_path, SHORT) == []
    (found,) = codes(tmp_path, SHORT.replace(INIT, INIT.replace("i = 0", "i = 1")))
    assert found.startswith("CUT217 barrier 0 of its array is used, and nothing initialises it")


@pytest.mark.parametrize("left_out", [True, False])
def test_registers_of_a_kernel_that_comes_to_no_end_when_it_is_run(tmp_path: Path, left_out: bool) -> None:
    long = "for (int i = 0; i < 1000; ++i) { copy(gA, rA); }"
    text = REGISTERS.replace("copy(gA, rA);", long).replace("%s", "" if left_out else "copy(gB, rB);")
    message = "CUT221 `rB` is read, and nothing has written these registers before"
    assert codes(tmp_path, text, "CUT221") == [message] * left_out
