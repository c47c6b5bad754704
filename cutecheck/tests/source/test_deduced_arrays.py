"""Arrays without template arguments are of their elements' type and number; typed pointers count their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

DECLARED = """
#include <cute/tensor.hpp>
#include <array>
using namespace cute;
struct C { int a, b; };
inline constexpr std::array kNumbers{1, 2, 3};
inline constexpr std::array kAssigned = {4, 5};
inline constexpr std::array kObjects = {C{6, 7}, C{8, 9}, C{10, 11}};
inline constexpr std::array kBraced{C{.a = 6, .b = 7}, C{8, 9}};
inline constexpr std::array kCopy = kObjects;
"""


@pytest.mark.parametrize(
    ("of", "layout"),
    [
        ("Int<kNumbers.size()>, Int<kNumbers[1]>", "(_3,_2):(_1,_3)"),
        ("Int<kAssigned.size()>, Int<kAssigned[1]>", "(_2,_5):(_1,_2)"),
        ("Int<kObjects.size()>, Int<kObjects[1].b>", "(_3,_9):(_1,_3)"),
        ("Int<kBraced.size()>, Int<kBraced[0].b>", "(_2,_7):(_1,_2)"),
        ("Int<kCopy.size()>, Int<kCopy[2].a>", "(_3,_10):(_1,_3)"),
    ],
)
def test_arrays_deduce_their_arguments(tmp_path: Path, of: str, layout: str) -> None:
    (tmp_path / "k.cu").write_text(DECLARED + f"using L = Layout<Shape<{of}>>;\n")
    assert [str(s.value) for s in extract(ExtractRequest((tmp_path,))).sites] == [layout]


def test_kernels_of_a_table_over_a_deduced_array(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        DECLARED
        + """
template <C c> __global__ void kern(float* p) {
  auto t = make_tensor(make_gmem_ptr(p), Layout<Shape<Int<c.a>, Int<c.b>>>{});
  copy(t, make_tensor_like(t));
}
template <C c> void run(float* p) { kern<c><<<1, 32>>>(p); }
template <size_t... I> consteval auto table(std::index_sequence<I...>) {
  return std::array<void (*)(float*), sizeof...(I)>{&run<kObjects[I]>...}; }
inline constexpr auto kTable = table(std::make_index_sequence<kObjects.size()>{});
void go(float* p, int i) { kTable[i](p); }
"""
    )
    shown = {str(e.operands[0].layout) for e in extract(ExtractRequest((tmp_path,))).events}
    assert shown == {"(_6,_7):(_1,_6)", "(_8,_9):(_1,_8)", "(_10,_11):(_1,_10)"}


@pytest.mark.parametrize("space", ["smem", "gmem"])
def test_a_typed_pointer_counts_its_own_elements(tmp_path: Path, space: str) -> None:
    """``make_smem_ptr<uint4b_t>(bytes + 64)`` starts at element 128, as ``recast_ptr`` says."""
    (tmp_path / "k.cu").write_text(
        """
#include <cute/tensor.hpp>
using namespace cute;
__global__ void k() {
  extern __shared__ uint8_t bytes[];
  auto t = make_tensor(make_SPACE_ptr<cutlass::uint4b_t>(bytes + 64), Layout<_8>{});
  auto u = make_tensor(make_SPACE_ptr<float>(bytes + 64), Layout<_8>{});
  copy(t, make_tensor_like(t));
  copy(u, make_tensor_like(u));
}
""".replace("SPACE", space)
    )
    events = extract(ExtractRequest((tmp_path,))).events
    assert [str(e.operands[0].offset) for e in events] == ["128", "16"]


def test_an_extent_that_is_computed_of_a_pack_deduces_nothing(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(
        """
#include <cute/tensor.hpp>
using namespace cute;
template <class T, size_t... I> constexpr auto count(float (&d)[sizeof...(I)], index_sequence<I...>) {
  return Int<sizeof...(I)>{};
}
void run() { float d[8]; auto a = make_layout(count<int>(d, make_index_sequence<8>{})); }
"""
    )
    sites = extract(ExtractRequest((tmp_path,))).sites
    assert [str(s.value) for s in sites] == ["_8:_1"]
