"""Registers and shared memory that are copied to, or hold a product, and are never read: CUT222."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.rules.examples import PREAMBLE
from cutecheck.rules.read_without_write import _EXAMPLE

STORE = "copy(acc, gC);"
HELPERS = """
void read_elsewhere(float*, float const*);
template <class T> void all_of(T const&);
template <class T> __device__ float sum(T const& t) {
  float s = 0.f;
  for (int i = 0; i < size(t); ++i) s += t(i);
  return s;
}
template <class T, class G> __device__ void store(T const& t, G&& g) { copy(t, g); }
template <class T> struct Epilogue { T const& t; template <class G> __device__ void run(G&& g) { copy(t, g); } };
template <class T, class G> __device__ void stg(T const& t, G&& g) {
  for (int i = 0; i < size(t); ++i) asm volatile("st.global.f32 [%0], %1;" :: "l"(&g(i)), "f"(t(i)));
}
"""
PRODUCT = HELPERS + (_EXAMPLE % "copy(gB, rB);")
SHARED = """
__device__ void cp_async4(void* to, void const* from) {
  unsigned at = __cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4; cp.async.commit_group;" :: "r"(at), "l"(from));
}
__device__ float get(unsigned at) { float v; asm volatile("ld.shared.f32 %0, [%1];" : "=f"(v) : "r"(at)); return v; }
__device__ float first(float const* p) { return p[threadIdx.x]; }
struct Storage {
  float a[128];
  float b[128];
  __device__ float get(int i) const { return b[i]; }
};
__global__ void __launch_bounds__(128) shift(float const* A, float const* B, float* C, float* D, int n) {
  __shared__ Storage s;
  Tensor sA = make_tensor(make_smem_ptr(s.a), Layout<_128>{}), sB = make_tensor(make_smem_ptr(s.b), Layout<_128>{});
  Tensor gA = make_tensor(make_gmem_ptr(A), Layout<_128>{}), gB = make_tensor(make_gmem_ptr(B), Layout<_128>{});
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<_128>{}), gD = make_tensor(make_gmem_ptr(D), Layout<_128>{});
  auto thr = Layout<_128>{};
  copy(local_partition(gA, thr, threadIdx.x), local_partition(sA, thr, threadIdx.x));
  copy(local_partition(gB, thr, threadIdx.x), local_partition(sB, thr, threadIdx.x));
  __syncthreads();
  copy(local_partition(sA, thr, threadIdx.x ^ 1), local_partition(gC, thr, threadIdx.x));
  %s
}
void run(float const* A, float const* B, float* C, float* D, int n) { shift<<<1, 128>>>(A, B, C, D, n); }
"""
STAGED = """
extern __shared__ float raw[];
__global__ void __launch_bounds__(64) turn(float const* A, float* C, int n) {
  Tensor sA = make_tensor(make_smem_ptr(raw), Layout<_128>{});
  Tensor sC = make_tensor(make_smem_ptr(raw + OFFSET), Layout<_64>{});
  Tensor gA = make_tensor(make_gmem_ptr(A), make_layout(make_shape(_128{}, n)));
  Tensor gC = make_tensor(make_gmem_ptr(C), Layout<_64>{});
  auto thr = Layout<_64>{};
  Tensor r = make_tensor<float>(Layout<_2>{});
  for (int i = 0; i < n; ++i) {
    __syncthreads();
    copy(local_partition(gA(_, i), thr, threadIdx.x), local_partition(sA, thr, threadIdx.x));
    __syncthreads();
    copy(local_partition(sA, thr, threadIdx.x ^ 1), r);
    MIDDLE
  }
  __syncthreads();
  copy(make_tensor(r.data(), Layout<_1>{}), local_partition(sC, thr, threadIdx.x));
  copy(r, make_tensor(make_gmem_ptr(C + 64 + 2 * threadIdx.x), Layout<_2>{}));
  __syncthreads();
  END
}
void run(float const* A, float* C, int n) { turn<<<1, 64, 1024>>>(A, C, n); }
"""
OUT = "copy(local_partition(sC, thr, threadIdx.x ^ 1), local_partition(gC, thr, threadIdx.x));"


def found(folder: Path, text: str) -> list[str]:
    (folder / "k.cu").write_text(PREAMBLE + text)
    report = check(inputs([str(folder)]), Settings(select=("CUT222",), arch=("sm_90a",)))
    assert not report.failures
    return [f.message for f in report.findings if not f.message.startswith("nothing is stored")]


@pytest.mark.parametrize(
    "reader",
    [
        STORE,
        "store(acc, gC);",
        "Epilogue<decltype(acc)>{acc}.run(gC);",
        "C[threadIdx.x] = acc(0);",
        "C[threadIdx.x] = sum(acc);",
        "for (int i = 0; i < size(acc); ++i) gC(i) = acc(i);",
        "for (auto const& x : acc) C[0] += x;",
        "axpby(2.f, acc, 0.f, gC);",
        "auto view = recast<uint32_t>(acc); reinterpret_cast<uint32_t*>(C)[threadIdx.x] = view(0);",
        "stg(acc, gC);",
        "read_elsewhere(C, acc.data());",
        "read_elsewhere(C, &acc(0));",
        "all_of(acc);",
        "all_of(make_tuple(acc, 1));",
        "auto t = make_tuple(acc, 1); copy(get<0>(t), gC);",
        "auto late = [&] { copy(acc, gC); }; late();",
        "all_of([&] { copy(acc, gC); });",
        "transform(acc, acc, [](float x) { return 2.f * x; });",
        "for_each(make_seq<2>{}, [&](auto i) { gC(i) = acc(i); });",
        "if (C != nullptr) copy(acc, gC);",
        "if (threadIdx.x == 127) copy(acc, gC);",
        "if (blockIdx.x == 3) { C[0] = acc(1); }",
        "float const* p = acc.data(); C[0] = p[1];",
        "Tensor v = make_tensor(acc.data(), acc.layout()); copy(v, gC);",
        "*reinterpret_cast<float2*>(C) = *reinterpret_cast<float2*>(acc.data());",
        "auto out = make_tensor_like<half_t>(acc); copy(acc, out); copy(out, recast<half_t>(gC));",
        "copy_if([&](auto i) { return true; }, acc, gC);",
        "Tensor flat = flatten(acc); copy(flat, flatten(gC));",
        "asm volatile(\"\" :: \"f\"(acc(0)));",
        "Tensor w = coalesce(acc); C[0] = w(0);",
        "print_tensor(acc);",
        "auto other = make_fragment_like(gC); auto& one = *A > 3.f ? acc : other; copy(one, gC);",
        "auto* one = *A > 3.f ? &acc : nullptr; if (one != nullptr) copy(*one, gC);",
        "printf(\"%f\", acc(0));",
        "gemm(Mma{}, acc, rA, rB, acc); copy(acc, gC);",
        "auto* whole = &acc; copy(*whole, gC);",
        "auto& same = acc; copy(same, gC);",
        "float most = 0.f; for (int i = 0; i < size(acc); ++i) { most = max(most, acc(i)); } C[0] = most;",
        "not_declared_here(acc, gC);",
        "for (int k = 0; k < 3; ++k) { copy(acc, gC); gemm(Mma{}, rA, rB, acc); }",
    ],
)  # fmt: skip
def test_registers_that_something_reads(tmp_path: Path, reader: str) -> None:
    assert PRODUCT.count(STORE) == 1
    assert found(tmp_path, PRODUCT.replace(STORE, reader)) == []


@pytest.mark.parametrize(
    ("left", "name"),
    [
        ("", "acc"),
        ("gemm(Mma{}, rA, rB, acc);", "acc"),
        ("clear(acc);", "acc"),
        ("warpgroup_fence_operand(acc);", "acc"),
        ("Tensor w = coalesce(acc);", "acc"),
        ("int n = size(acc); C[0] = n;", "acc"),
        ("static_assert(sizeof(acc(0)) == 4); gC(0) = 1.f;", None),  # unevaluated, and still taken for a use
        ("Tensor out = make_fragment_like(acc); copy(acc, out);", "out"),
        ("copy(rA, gA_);", "acc"),
    ],
)
def test_registers_that_nothing_reads(tmp_path: Path, left: str, name: str | None) -> None:
    text = PRODUCT.replace(STORE, left.replace("gA_", "gC"))
    assert [f"`{name}` (registers)" in m for m in found(tmp_path, text)] == ([] if name is None else [True])


def test_a_product_that_is_left_out(tmp_path: Path) -> None:
    text = PRODUCT.replace("gemm(Mma{}, rA, rB, acc);", "")
    assert [m.split("`")[1] for m in found(tmp_path, text)] == ["rA", "rB"]
    scaled = text.replace(STORE, "axpby(1.f, acc, 0.f, gC);")
    assert scaled != text and [m.split("`")[1] for m in found(tmp_path, scaled)] == ["rA", "rB"]


@pytest.mark.parametrize(
    "reader",
    [
        "copy(local_partition(sB, thr, threadIdx.x ^ 1), local_partition(gD, thr, threadIdx.x));",
        "D[threadIdx.x] = s.b[threadIdx.x ^ 1];",
        "D[threadIdx.x] = s.get(threadIdx.x);",
        "D[threadIdx.x] = first(s.b);",
        "D[threadIdx.x] = sB(threadIdx.x ^ 1);",
        "D[threadIdx.x] = get(cast_smem_ptr_to_uint(s.b) + 4 * threadIdx.x);",
        "D[threadIdx.x] = get(cast_smem_ptr_to_uint(&sB(0)) + 4 * threadIdx.x);",
        "float* p = s.b; D[threadIdx.x] = p[threadIdx.x];",
        "if (n > 3) { copy(local_partition(sB, thr, threadIdx.x), local_partition(gD, thr, threadIdx.x)); }",
        "auto either = n > 3 ? sA : sB; D[0] = either(threadIdx.x);",
        "float* either = n > 3 ? s.a : s.b; D[0] = either[threadIdx.x];",
        "Tensor other = make_tensor(make_smem_ptr(s.b), Layout<_64>{}); D[0] = other(0);",
        "Tensor both = make_tensor(make_smem_ptr(s.a), Layout<Shape<_128, _2>>{});"
        " copy(both(threadIdx.x, _), make_tensor(make_gmem_ptr(D), Layout<_2>{}));",
        "auto* q = reinterpret_cast<float4*>(&s); D[0] = q[40].x;",
    ],
)
def test_shared_memory_that_something_reads(tmp_path: Path, reader: str) -> None:
    assert found(tmp_path, SHARED.replace("%s", reader)) == []


@pytest.mark.parametrize("left", ["", "D[0] = s.a[5];", "D[threadIdx.x] = 1.f; __syncthreads();"])
def test_shared_memory_that_nothing_reads(tmp_path: Path, left: str) -> None:
    assert [m.split("`")[1] for m in found(tmp_path, SHARED.replace("%s", left))] == [
        "local_partition(sB, thr, threadIdx.x)"
    ]


@pytest.mark.parametrize(
    ("offset", "middle", "end", "lost"),
    [
        ("128", "", OUT, False),
        ("0", "", OUT, False),
        ("128", "", "", True),
        ("0", "", "", True),  # what was read there before lay over it
        ("128", OUT, "", True),  # read before it is written, and not in one loop
        ("n", "", "C[0] = raw[threadIdx.x];", False),
        ("0", "", f"for (int i = 0; i < 2; ++i) {{ {OUT} }}", False),
    ],
)
def test_what_an_epilogue_leaves_in_shared_memory(
    tmp_path: Path, offset: str, middle: str, end: str, lost: bool
) -> None:
    text = STAGED.replace("OFFSET", offset).replace("MIDDLE", middle).replace("END", end)
    assert [m.split("`")[1] for m in found(tmp_path, text)] == ["local_partition(sC, thr, threadIdx.x)"] * lost


@pytest.mark.parametrize("read_first", [True, False])
def test_a_stage_that_the_next_pass_reads(tmp_path: Path, read_first: bool) -> None:
    """The last pass fills a stage in vain: others do not."""
    fill = "copy(local_partition(gA(_, i + 1), thr, threadIdx.x), local_partition(sA, thr, threadIdx.x));"
    read = "copy(local_partition(sA, thr, threadIdx.x ^ 1), r);"
    steps = (read, fill) if read_first else (fill, read)
    loop = "for (int i = 0; i < n; ++i) { " + " __syncthreads(); ".join(steps) + " __syncthreads(); }"
    begin, end = STAGED.index("  for (int i"), STAGED.index("  __syncthreads();\n  copy(make_tensor(r.data()")
    text = (STAGED[:begin] + loop + STAGED[end:]).replace("OFFSET", "128").replace("END", OUT)
    assert found(tmp_path, text) == []


def test_a_kernel_that_shows_how_something_is_loaded(tmp_path: Path) -> None:
    """What is said of one that is given memory to write is in ``test_kernels_that_store_nothing.py``."""
    text = SHARED.replace("%s", "").replace("copy(local_partition(sA, thr, threadIdx.x ^ 1)", "// copy(")
    assert found(tmp_path, text) == []
    assert found(tmp_path, text.replace("// copy(", "gC(0) = 1.f; // ")) != []


def test_threads_that_go_another_way_read_what_is_written_further_down(tmp_path: Path) -> None:
    """Roles: what stands first need not happen first."""
    start = "copy(make_tensor(r.data(), Layout<_1>{}), local_partition(sC, thr, threadIdx.x));"
    roles = f"if (threadIdx.x < 32) {{ __nanosleep(9); {OUT} }} else {{ {start} }}"
    text = STAGED.replace(start, roles).replace("OFFSET", "128").replace("MIDDLE", "").replace("END", "")
    assert roles in text and found(tmp_path, text) == []
    assert found(tmp_path, text.replace(OUT, "")) != []
