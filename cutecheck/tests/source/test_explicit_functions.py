"""Explicit instantiations of functions whose template arguments follow from their parameters' types."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.facts import Facts, TensorFact
from cutecheck.model.tiled import TiledCopy
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

HEAD = """
#include <cute/tensor.hpp>
using namespace cute;
namespace ops {
template <int N> struct Config { static constexpr int n = N; };
template <class C, class T, class P> __global__ void kernel(T const* x, P p) {
  __shared__ T s[256];
  auto g = make_tensor(make_gmem_ptr(x), Layout<Int<C::n>>{});
  copy(g, make_tensor(make_smem_ptr(s), Layout<Int<C::n>>{}));
}
template <class C, class T, class P> void launch(T const* x, P p) { kernel<C><<<1, 32>>>(x, p); }
template <class T> void launch(T* x) { kernel<Config<8>><<<1, 32>>>(x, 1); }
}
"""


def facts_of(folder: Path, text: str) -> Facts:
    (folder / "k.cu").write_text(HEAD + text)
    return extract(ExtractRequest((folder,), ("sm_80",)))


@pytest.mark.parametrize(
    ("instantiations", "expected"),
    [
        ("template void ops::launch<ops::Config<64>>(half_t const*, int);", {("half_t", "_64:_1")}),
        ("template void ops::launch<ops::Config<64>, half_t, int>(half_t const*, int);", {("half_t", "_64:_1")}),
        ("template void ops::launch(float*);", {("float", "_8:_1")}),
        (
            "namespace ops { template void launch<Config<16>>(float const* x, long p);template void launch(half_t*); }",
            {("float", "_16:_1"), ("half_t", "_8:_1")},
        ),
        ("template __global__ void ops::kernel<ops::Config<32>>(half_t const*, int);", {("half_t", "_32:_1")}),
    ],
)
def test_what_the_parameters_say(tmp_path: Path, instantiations: str, expected: set[tuple[str, str]]) -> None:
    facts = facts_of(tmp_path, instantiations)
    found = set()
    for event in facts.events:
        source = event.operands[0]
        assert event.reason is None and isinstance(source, TensorFact) and source.dtype is not None
        found.add((source.dtype.name, str(source.layout)))
    assert found == expected


VECTORS = """
template <class T, int N> struct alignas(sizeof(T) * N) Vec {{ T v[N]; }};
struct Pair {{ half_t a, b; }};
__global__ void k(half_t* x) {{
  auto tiled = make_tiled_copy(Copy_Atom<UniversalCopy<{0}>, half_t>{{}}, Layout<Shape<_4, _8>, Stride<_8, _1>>{{}},
                               Layout<Shape<_1, _8>>{{}});
  auto g = make_tensor(make_gmem_ptr(x), Layout<Shape<_4, _64>, Stride<_64, _1>>{{}});
  auto t = tiled.get_slice(threadIdx.x).partition_S(g);
  auto r = make_fragment_like(t);
  copy(tiled, t, r);
  auto wide = recast<{0}>(g);
  auto own = make_tensor<{0}>(Layout<_2>{{}});
  copy(wide(0, _), make_fragment_like(wide(0, _)));
  copy(own, own);
}}
void host(half_t* x) {{ k<<<1, 32>>>(x); }}
"""


@pytest.mark.parametrize(("kind", "bits"), [("Vec<half_t, 8>", 128), ("Vec<char, 4>", 32), ("Pair", 32)])
def test_structures_of_the_tree_are_elements_as_wide_as_they_are(tmp_path: Path, kind: str, bits: int) -> None:
    facts = facts_of(tmp_path, VECTORS.format(kind))
    first, second, third = facts.events
    assert [e.reason for e in facts.events] == [None] * 3
    assert isinstance(first.tiled, TiledCopy) and str(first.tiled.atom.ref_bits) == f"(_1,_{bits}):(_0,_1)"
    assert str(second.operands[0].layout) == f"(_{64 * 16 // bits}):(_1)"  # type: ignore[union-attr]
    for event in (second, third):
        assert event.operands[0].dtype is not None and event.operands[0].dtype.bits == bits  # type: ignore[union-attr]
    (site,) = [s for s in facts.sites if s.kind == "tiled_copy"]
    assert site.status == "resolved"


def test_specialisations_of_a_kernel_are_told_apart(tmp_path: Path) -> None:
    body = "{ auto lay = Layout<_8>{}; auto t = make_tensor(make_smem_ptr(s), lay); copy(t, t); }"
    facts = facts_of(
        tmp_path,
        "__shared__ half_t s[8]; template <class T, int N> __global__ void k(T t) {}\n"
        f"template <> __global__ void k<float, 64>(float) {body}\n"
        f"template <> __global__ void k<half_t, 128>(half_t) {body}\n"
        "void host() { k<float, 64><<<1, 32>>>(1.f); k<half_t, 128><<<1, 32>>>(half_t(2)); }",
    )
    symbols = ["k<float,64>", "k<cutlass::half_t,128>"]
    assert [e.enclosing for e in facts.events] == symbols
    assert [launch.kernel for launch in facts.launches if launch.kernel.startswith("k<")] == symbols
    assert [s.symbol for s in facts.sites] == [f"{symbol}::lay" for symbol in symbols]


def test_a_specialisation_may_be_defined_by_a_qualified_name(tmp_path: Path) -> None:
    text = """
    namespace ops { template <int N> constexpr int rows() { return 16; } }
    template <> constexpr int ops::rows<64>() { return 32; }
    using Special = Layout<Int<ops::rows<64>()>>;
    using Other = Layout<Int<ops::rows<48>()>>;
    """
    found = {s.symbol: str(s.value) for s in facts_of(tmp_path, text).sites}
    assert (found["Special"], found["Other"]) == ("_32:_1", "_16:_1")
