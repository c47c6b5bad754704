"""Memory that two pointers may lead to, and elements of which it is not known that they are one."""

from pathlib import Path

import pytest

from cutecheck.source.extract import ExtractRequest, extract
from cutecheck.tests.source.shown import number

KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
struct S { int a; float f; int v[4]; long wide; float* w; float* ws[4]; S* next; };
template <class T> __device__ void seen(T const& t) { copy(t, t); }
__device__ void declared(int* p);
template <int N> struct Sized;
template <int N> __device__ int extent(Sized<N> const& s) { return N; }
__global__ void k(int* p, unsigned* u, char* c, float* f, S* q, S* r, int const* t, int n, int m, float** pp) {
  __shared__ half_t s[65536];
  __shared__ int shared_numbers[8];
  int x = 0;
  BODY
  seen(make_tensor(make_smem_ptr(s + (SHOWN)), Layout<_8>{}));
}
void host(int* p, unsigned* u, char* c, float* f, S* q, S* r, int* t, int n, int m, float** pp) {
  k<<<1, 32>>>(p, u, c, f, q, r, t, n, m, pp);
}
"""
WRITES = [
    "*p = 5;", "p[n] = 5;", "u[n] = 5;", "c[n] = 5;", "p++; *p += 1;", "(*p)++;", "r->a = 5;", "(p + n)[m] = 4;",
    "atomicAdd(p, 1);", "declared(p);", "helper(p);", "if (n > 3) { *p = 3; }",
    "for (int i = 0; i < n; ++i) { *p = i; }",
    "auto i = make_tensor(make_gmem_ptr(p), make_layout(n)); i(m) = 3;",
    "auto i = make_tensor(make_gmem_ptr(p), make_layout(n)); clear(i);",
]  # fmt: skip
OTHER = [
    "*f = 5;", "f[n] = 5;", "r->v[n] = 5;", "int y = 1; y = 2;", "shared_numbers[n] = 3;", "int y = *p + p[n];",
    "auto i = make_tensor(make_gmem_ptr(f), make_layout(n)); i(m) = 3; clear(i);",
]  # fmt: skip
APART = [
    "q[n].a - q[m].a", "q[other()].a - q->a", "(q + n)->a - (q + m)->a", "t[n] - t[m]", "*(t + n) - *(t + m)",
    "q->v[n] - q->v[m]", "q->next->a - q->a", "q->next->next->a - q->next->a", "__ldg(t + n) - __ldg(t + m)",
    "extent(other()) - extent(other())",
]  # fmt: skip


@pytest.mark.parametrize("write", WRITES)
def test_a_write_through_a_pointer_may_be_to_a_member_behind_another(write: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, f"int before = q->a; {write}", "q->a - before") is None


def test_so_may_a_copy_be(tmp_path: Path) -> None:
    body = "auto i = make_tensor(make_gmem_ptr(p), make_layout(n)); int before = q->a; copy(i, i);"
    (tmp_path / "k.cu").write_text(KERNEL.replace("BODY", body).replace("SHOWN", "q->a - before"))
    offsets = {str(e.operands[0].offset) for e in extract(ExtractRequest((tmp_path,), ("sm_80",))).events}
    assert "0" in offsets and any("a#" in o for o in offsets)


@pytest.mark.parametrize("write", ["*p = 5;", "q->a = 5;"])
def test_so_it_may_be_to_a_number_that_was_read_before(write: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, f"int before = t[0]; {write}", "t[0] - before") is None
    assert number(tmp_path, KERNEL, f"int before = q->next->a; {write}", "q->next->a - before") is None


@pytest.mark.parametrize("write", OTHER)
def test_what_is_of_another_type_or_elsewhere_is_no_such_write(write: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, f"int before = q->a; {write}", "q->a - before") == 0


@pytest.mark.parametrize("shown", APART)
def test_elements_at_places_that_are_not_known_to_be_one_are_not_equal(shown: str, tmp_path: Path) -> None:
    assert number(tmp_path, KERNEL, "", shown) is None


def test_an_object_at_a_place_that_is_not_known_is_another_one_each_time(tmp_path: Path) -> None:
    body = "S* z = q + other(); S* y = q + other(); int a = z->a; int b = y->a;"
    assert number(tmp_path, KERNEL, body, "a - b") is None
    assert number(tmp_path, KERNEL, body, "a - q->a") is None


@pytest.mark.parametrize(
    ("place", "buffer", "offset"),
    [
        ("pp[n]", "*pp#", "0"), ("pp[0] + 3", "*pp#", "3"), ("*(pp + m)", "*pp#", "0"), ("q->ws[1]", "*q.ws#", "0"),
        ("q[n].w", "q#", "0"), ("&f[n * m]", "f", "m*n"), ("&*(f + 3)", "f", "3"), ("&f[4]", "f", "4"),
    ],
)  # fmt: skip
def test_pointers_that_are_read_from_memory_lead_to_memory_of_their_own(
    place: str, buffer: str, offset: str, tmp_path: Path
) -> None:
    text = KERNEL.replace("BODY", f"seen(make_tensor(make_gmem_ptr({place}), Layout<_4>{{}}));").replace("SHOWN", "x")
    (tmp_path / "k.cu").write_text(text)
    tensor = next(e.operands[0] for e in extract(ExtractRequest((tmp_path,), ("sm_80",))).events if "gmem" in str(e))
    assert (tensor.buffer or "").startswith(buffer) and str(tensor.offset) == offset
    assert tensor.dtype is not None and tensor.dtype.name == "float" and tensor.space == "gmem"
