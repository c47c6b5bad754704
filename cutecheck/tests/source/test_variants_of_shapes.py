"""``std::variant`` of numbers and shapes, which ``std::visit`` gives to what launches a kernel."""

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import extract_facts
from cutecheck.source.eval.record.given import with_fewer
from cutecheck.source.eval.values import Scalar

KERNEL = """#include <cute/tensor.hpp>
#include <variant>
using namespace cute;
template <int N> using Number = std::integral_constant<int, N>;
template <class N> struct Tile {
  static constexpr int kRows = N::value;
  using Rows = decltype(tile_to_shape(Layout<Shape<_1, _8>>{}, make_shape(Int<kRows>{}, _8{})));
};
template <class N, class M> __global__ void k(float* p) {
  Tensor g = make_tensor(make_gmem_ptr(p), make_layout(make_shape(Int<N::value>{}, Int<M::value>{})));
  copy(g, make_fragment_like(g));
}
"""
CHOICES = {
    "returned by a switch": """
using Ns = std::variant<Number<2>, Number<4>>;
using Ms = std::variant<std::integral_constant<int, 8>>;
Ns n_of(int i) { switch (i) { case 2: return Number<2>{}; default: return Number<4>{}; } }
Ms m_of(int i) { return std::integral_constant<int, 8>{}; }
void run(float* p, int i) {
  std::visit([&](auto n, auto m) {
    if (i % Tile<decltype(n)>::kRows) return;
    k<decltype(n), decltype(m)><<<1, size(typename Tile<decltype(n)>::Rows{})>>>(p);
  }, n_of(i), m_of(i));
}
""",
    "assigned": """
using Shapes = std::variant<Shape<_2, _8>, Shape<_4, _8>>;
void run(float* p, int i) {
  Shapes s;
  if (i > 2) s = Shape<_2, _8>{}; else s = Shape<_4, _8>{};
  std::visit([&](auto s) { k<decltype(get<0>(s)), decltype(get<1>(s))><<<1, 32>>>(p); }, s);
}
""",
    "initialised": """
using Ns = std::variant<Int<2>, Int<4>>;
struct Launch { float* p; template <class N> void operator()(N) const { k<N, _8><<<1, 32>>>(p); } };
void run(float* p, int i) {
  Ns n = i > 2 ? Ns{Int<2>{}} : Ns{Int<4>{}};
  std::visit(Launch{p}, n);
}
""",
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_all_types_are_walked(name: str, tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(KERNEL + CHOICES[name])
    facts = extract_facts([tmp_path], Settings(arch=("sm_80",), cache=False, jobs=1, compile_commands="none"))
    assert {str(e.operands[0].layout) for e in facts.events} == {"(_2,_8):(_1,_2)", "(_4,_8):(_1,_4)"}
    assert "unknown" not in {s.status for s in facts.sites}


@pytest.mark.parametrize(("size", "fewer"), [(2048, 256), (3072, 192), (320, 320), (4097, 4097)])
def test_sizes_are_halved(size: int, fewer: int) -> None:
    assert with_fewer(Scalar(size, "int")) == Scalar(fewer, "int")
