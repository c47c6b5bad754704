"""Arrays as arguments: ``T (&)[N]`` is deduced, and what is written through it is known."""

from pathlib import Path

import pytest

from cutecheck.source.extract import ExtractRequest, extract
from cutecheck.tests.source.shown import number

KERNEL = """#include <cute/tensor.hpp>
#include <array>
using namespace cute;
struct Pair { int a = 1; int b = 2; };
template <class T, int N> __device__ int count(T (&a)[N], int x) { a[0] = 5; return N + x; }
template <class T, size_t N> __device__ int length(T const (&a)[N]) { return N; }
template <int N> __device__ int integers(int (&a)[N]) { a[1] = 7; return N; }
template <class T, int M, int N> __device__ int area(T (&a)[M][N]) { a[1][0] = 7; return 10 * M + N; }
template <class T> __device__ int by_size(T& a) { return sizeof(a) / sizeof(a[0]); }
template <class T> __device__ int of_pointer(T* a) { a[0] = 9; return sizeof(T); }
template <class T> __device__ int which(T* a) { return 1; }
template <class T, int N> __device__ int longer(T (&a)[N]) { if constexpr (N > 3) { return N; } else { return -N; } }
__device__ int three(int (&a)[3]) { a[2] = 1; return 3; }
template <class T> __device__ void seen(T const& t) { copy(t, t); }
__global__ void k(int n) {
  __shared__ half_t s[65536];
  int a[3] = {1, 2, 3};
  int z = 1;
  BODY
  seen(make_tensor(make_smem_ptr(s + (SHOWN)), Layout<_8>{}));
}
void host(int n) { k<<<1, 32>>>(n); }
"""
FILL = (
    "template <class T, int N> __device__ void fill(T (&a)[N], int v) { for (int q = 0; q < N; ++q) a[q] = v + q; }\n"
)
# what g++ prints of each
KNOWN = [
    ("int x = count(a, 1);", "x", 4),
    ("int x = length(a);", "x", 3),
    ("int b[4]; int x = integers(b) + length(b);", "x", 8),
    ("int b[2][3] = {}; int x = area(b);", "x", 23),
    ("Pair p[2]; int x = length(p);", "x", 2),
    ("int x = by_size(a);", "x", 3),
    ("int x = three(a);", "x", 3),
    ("int x = of_pointer(a);", "x", 4),
    ("float f[8]; int x = count(f, 2);", "x", 10),
    ("int const d[2] = {4, 8}; int x = length(d) + d[1];", "x", 10),
    ("constexpr int e[] = {4, 8, 1}; int x = length(e) + e[0];", "x", 7),
    ("__shared__ float f[128]; int x = length(f);", "x", 128),
    ("int c[5] = {1}; int x = length(c) * 10 + c[3] + c[0];", "x", 51),
    ("int c[5] = {}; int x = longer(c);", "x", 5),
    ("int x = longer(a);", "x", -3),
    ("unsigned char c[2] = {1, 2}; int x = c[0] - c[1];", "x", -1),
    ("size_t c[2] = {1, 2}; int x = (c[0] - c[1]) / (size_t(1) << 62);", "x", 3),
    ("Pair p[2] = {{3, 4}}; int x = p[1].b * 10 + p[0].a;", "x", 23),
]
WRITTEN = [
    ("count(a, 1);", "a[0]", 5),
    ("int b[2] = {1, 2}; integers(b);", "b[1]", 7),
    ("int b[2][3] = {}; area(b);", "b[1][0]", 7),
    ("three(a);", "a[2]", 1),
    ("count(a, a[0]); count(a, 2);", "a[0]", 5),
]
LOST = [
    ("int** q = new int*[2]; q[0] = &z; *q[0] = 3;", "z"),
    ("unsigned** q = new unsigned int*[n]; *q = reinterpret_cast<unsigned*>(&z); **q = 3;", "z"),
    ("Pair p; Pair** q = new Pair*[3]{}; q[1] = &p; q[1]->a = 4;", "p.a"),
]


@pytest.mark.parametrize(("body", "shown", "value"), [*KNOWN, *WRITTEN])
def test_extents_and_elements(body: str, shown: str, value: int, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) == value


@pytest.mark.parametrize(("body", "shown"), LOST)
def test_what_is_written_through_a_pointer_to_an_array_is_not_known(body: str, shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, body, shown) is None


@pytest.mark.parametrize("fill", ["fill(b, 2)", "for (int q = 0; q < 2; ++q) { b[q] = 2 + q; }"])
def test_elements_that_an_inner_loop_writes_are_not_those_of_before(fill: str, tmp_path: Path) -> None:
    """``x`` is 8, then 3 less one: never 4 less one, which stood in the array before."""
    text = KERNEL.replace("__global__", FILL + "__global__").replace(
        "BODY", f"int x = 8; for (int i = 0; i < n; ++i) {{ long b[2] = {{3, 4}}; {fill}; x = int(b[1]) - 1; }}"
    )
    (tmp_path / "k.cu").write_text(text.replace("SHOWN", "x"))
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    (variable,) = event.operands[0].offset.expr.variables()  # type: ignore[union-attr]
    assert variable.domain.values == (2, 8)


def test_new_of_pointers_is_read(tmp_path: Path) -> None:
    body = (
        "int** q = new int*[2]; int const** r = new const int*; auto t = other(new int*(nullptr), new int* const[2]);"
        "int y = n * (*new int * 2); void* raw = new (q) Pair(); Pair* p = new Pair{3}; int* w = new int[n];"
    )
    (tmp_path / "k.cu").write_text(KERNEL.replace("BODY", body).replace("SHOWN", "z"))
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    assert not facts.errors and len(facts.events) == 1
