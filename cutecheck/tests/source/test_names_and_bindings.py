"""Names before ``::``, and values that are taken apart."""

from pathlib import Path

from cutecheck.model.notation import show
from cutecheck.source.extract import ExtractRequest, extract


def test_a_variable_hides_no_namespace_before_colons_and_block_indices_are_taken_apart(tmp_path: Path) -> None:
    """As in CUTLASS: ``T* device_memory = device_memory::allocate<T>(n)``, ``auto [m, n, l] = uint3(blockIdx)``."""
    (tmp_path / "k.cu").write_text("""
#include <cute/tensor.hpp>
using namespace cute;
namespace memory { template <class T> T* allocate(int n) { return nullptr; } }
template <class P> __global__ void kernel(P p) {
  auto [x, y, z] = static_cast<uint3>(blockIdx);
  auto [i, j, k] = threadIdx;
  auto g = make_tensor(make_gmem_ptr(p) + (x * 64 + y * 8 + j), Layout<_8>{});
  copy(g, make_tensor<half_t>(Layout<_8>{}));
}
void host() {
  half_t* memory = nullptr;
  memory = memory::allocate<half_t>(8);
  kernel<<<dim3(4, 4), dim3(1, 32)>>>(memory::allocate<half_t>(64));
}
""")
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    assert not facts.errors
    (event,) = facts.events
    assert event.reason is None
    assert event.operands[0].dtype is not None
    assert event.operands[0].dtype.name == "half_t"
    offset = show(event.operands[0].offset)
    assert all(name in offset for name in ("blockIdx.x", "blockIdx.y", "threadIdx.y"))


def test_tilers_of_layouts_have_shapes_and_umma_scales_are_arguments(tmp_path: Path) -> None:
    """What CuTe 4.7 prints; CUTLASS's builders of sm_100 make tiles and MMAs so."""
    (tmp_path / "k.cu").write_text("""
#include <cute/tensor.hpp>
using namespace cute;
template <class A, UMMA::Major MA, UMMA::ScaleIn Neg = UMMA::ScaleIn::One>
constexpr auto make() { return make_tiled_mma(SM100_MMA_F16BF16_SS<A, A, float, 128, 128, MA, MA, Neg, Neg>{}); }
void host() {
  using Tiler = Tile<Layout<_128, _2>, Layout<Shape<_4, _8>, Stride<_8, _1>>>;
  auto whole = make_layout(shape(Tiler{}));
  auto sizes = make_layout(product_each(shape(Tiler{})));
  auto second = make_layout(make_shape(shape<1>(Tiler{}), size<1>(Tiler{}), size<0>(Tiler{}), depth(Tiler{})));
  auto tile = make_layout(make_shape(_4{}, _8{}));
  auto mixed = make_layout(shape(make_tuple(tile, _3{}, make_tuple(_2{}, Layout<_5>{}))));
  auto mma = make<half_t, UMMA::Major::K>();
}
""")
    facts = extract(ExtractRequest((tmp_path,), ("sm_100a",)))
    found = {s.symbol.rpartition("::")[2]: s for s in facts.sites}
    shapes = {name: str(found[name].value).partition(":")[0] for name in ("whole", "sizes", "second", "mixed")}
    assert shapes == {
        "whole": "(_128,(_4,_8))", "sizes": "(_128,_32)", "second": "((_4,_8),_32,_128,_2)",
        "mixed": "((_4,_8),_3,(_2,_5))",
    }  # fmt: skip
    assert "Shape_MNK:  (_128,_128,_16)" in str(found["mma"].value)
