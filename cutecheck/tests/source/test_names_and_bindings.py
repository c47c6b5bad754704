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


def test_a_member_means_what_is_around_the_class_before_the_class_declares_it(tmp_path: Path) -> None:
    """As nvcc has it, and g++ with ``-fpermissive``: ``using Layout = decltype(... Layout<...>{} ...)``."""
    (tmp_path / "k.cu").write_text("""
#include <cute/tensor.hpp>
using namespace cute;
template <int N, int K, bool Inner, class Enable = void> struct Operand {
  using Layout = std::conditional_t<Inner, Layout<Shape<Int<N>, Int<K>>, Shape<Int<K + 8>, _1>>, Layout<Int<N>>>;
  static constexpr int rank = N, size = decltype(cute::size(Layout{}))::value;
};
template <int N, int K> struct Operand<N, K, true, std::enable_if_t<K % 64 == 0>> {
  using Atom = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
  using Layout = decltype(tile_to_shape(Atom{}, Shape<Int<N>, Int<K>>{}));
  using Self = Operand;
  Operand() = default;
  static __device__ auto whole() { return Layout{}; }
};
using Padded = Operand<64, 48, true>::Layout;
using Flat = Operand<64, 64, false>::Layout;
using Swizzled = Operand<64, 64, true>::Layout;
using Body = decltype(Operand<64, 64, true>::Self::whole());
using Count = Layout<Int<Operand<64, 48, true>::size>>;
""")
    facts = extract(ExtractRequest((tmp_path,), ("sm_80",)))
    found = {s.symbol: str(s.value) for s in facts.sites}
    whole = "Sw<3,3,3> o _0 o ((_8,_8),(_64,_1)):((_64,_512),(_1,_0))"
    shown = {"Padded": "(_64,_48):(_56,_1)", "Flat": "_64:_1", "Swizzled": whole, "Body": whole, "Count": "_3072:_1"}
    assert {name: found.get(name) for name in shown} == shown


def test_an_element_of_a_cast_array_has_an_address(tmp_path: Path) -> None:
    """Generated kernels: ``&(((half_t*)buf)[i])`` of dynamic shared memory and of registers."""
    (tmp_path / "k.cu").write_text("""
#include <cute/tensor.hpp>
using namespace cute;
template <class T> __device__ void load(T* from, T* to) {
  copy(make_tensor(make_smem_ptr(from), Layout<_8>{}), make_tensor(make_rmem_ptr(to), Layout<_8>{}));
}
extern "C" __global__ void kernel() {
  extern __shared__ __align__(128) unsigned char buf[];
  float local[16];
  load((&(((half_t*)buf)[24])), (&(((half_t*)local)[8])));
}
""")
    (event,) = extract(ExtractRequest((tmp_path,), ("sm_80",))).events
    told = [(o.space, o.dtype.name if o.dtype else "", o.buffer, show(o.offset)) for o in event.operands]
    assert told == [("smem", "half_t", "kernel::buf", "24"), ("rmem", "half_t", "local", "8")]


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


def test_tilers_made_of_functions_fragments_of_the_mma_type_and_pointers_that_are_types_alone(tmp_path: Path) -> None:
    """What CuTe 4.7 prints; CUTLASS's collectives of sm_100 use all three."""
    (tmp_path / "k.cu").write_text("""
#include <cute/tensor.hpp>
using namespace cute;
using Mma = decltype(make_tiled_mma(SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using Smem = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(_64{}, _64{})));
constexpr auto tiler() {
  return transform_apply(Tile<_4, _8>{}, seq<0, 1>{}, [](auto t, auto mode) { return make_layout(t, mode); },
                         [](auto... ts) { return make_tile(ts..., _1{}); });
}
__global__ void kernel() {
  extern __shared__ half_t smem[];
  auto s = make_tensor(make_smem_ptr(smem), Smem{});
  auto thr = Mma{}.get_slice(0);
  auto c = thr.partition_C(make_tensor((float*)nullptr, make_shape(_64{}, _64{})));
  gemm(Mma{}, Mma::make_fragment_A(thr.partition_A(s)), Mma::make_fragment_B(thr.partition_B(s)),
       Mma::make_fragment_C(c));
}
void host() {
  auto shapes = make_layout(shape(tiler()));
  auto null = make_tensor(recast_ptr<half_t>(nullptr), make_shape(_8{}, _4{}));
  auto mode = make_layout(shape(null.layout()));
  kernel<<<1, 128>>>();
}
""")
    facts = extract(ExtractRequest((tmp_path,), ("sm_90a",)))
    found = {s.symbol.rpartition("::")[2]: str(s.value) for s in facts.sites}
    assert found["shapes"].startswith("(_4,_8,_1):")
    assert found["mode"] == "(_8,_4):(_1,_8)"
    (event,) = facts.events
    assert event.reason is None
    assert [str(o.layout) for o in event.operands] == [
        "(_1,_1,_4):(_0,_0,_2)", "(_1,_1,_4):(_0,_0,_2)", "((_2,_2,_8),_1,_1):((_1,_2,_4),_0,_0)",
    ]  # fmt: skip


def test_types_of_arrays_are_spelled_by_what_they_are_of(tmp_path: Path) -> None:
    """And not by where the evaluator keeps them, which differs from run to run."""
    (tmp_path / "a.cu").write_text(
        "#include <cute/tensor.hpp>\nusing namespace cute;\nstruct Bar { int at; };\n"
        "template <class T> struct Uses { using Own = decltype(make_layout(Shape<_8>{})); };\n"
        "struct A { Uses<Bar[4]>::Own a; Uses<cute::array<Bar, 2>>::Own b; };\n"
        "void f() { A a; Uses<Bar[4]> x; Uses<cute::array<Bar, 2>> y; }\n"
    )
    names = {s.symbol for s in extract(ExtractRequest((tmp_path,))).sites if s.symbol.endswith("::Own")}
    assert names == {"Uses<Bar[4]>::Own", "Uses<array<Bar,2>>::Own"}
