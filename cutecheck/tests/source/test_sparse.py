"""Sparse elements and the metadata of sparse MMAs in C++, against CuTe itself on the host."""

from pathlib import Path
from typing import Any

import pytest

from cutecheck.model.notation import show
from cutecheck.tests.source.real import lines_of
from cutecheck.tests.source.test_extract import run

E3M2 = "cutlass::float_e3m2_t"
MAJORS = "UMMA::Major::K, UMMA::Major::K"
UMMA = f"SM100_MMA_F8F6F4_SS_SPARSE<{E3M2}, {E3M2}, float, 128, 128, {MAJORS}, UMMA::ScaleIn::One, UMMA::ScaleIn::One>"
NARROW = UMMA.replace("F8F6F4", "MXF4NVF4").replace(E3M2, "cutlass::float_e2m1_t").replace("128, 128", "128, 128, 32")
NARROW = NARROW.replace("float, ", "float, cutlass::float_ue4m3_t, ", 1)
GMMA = "SM90::GMMA::SPARSE::GMMA_64x64x32_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>"
STATEMENTS = f"""
  using Umma = decltype(make_tiled_mma({UMMA}{{}}));
  using Narrow = decltype(make_tiled_mma({NARROW}{{}}));
  using Gmma = decltype(make_tiled_mma({GMMA}{{}}));
  using Bytes = decltype(make_tiled_mma(SM120::SPARSE::SM120_SPARSE_16x8x64_TN<cutlass::float_e2m1_t,
      cutlass::float_e2m1_t, float>{{}}));
  using Dense = decltype(make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{{}}));
  using A = typename Gmma::ValTypeA;
  using E = typename Gmma::ValTypeE;
  using Packed = sparse_elem<4, uint8_t>;
  auto told = make_layout(make_shape(Int<A::sparsity>{{}}, Int<E::sparsity>{{}}, Int<sizeof(A)>{{}}, Int<sizeof(E)>{{}},
      Int<sizeof_bits_v<A>>{{}}, Int<sizeof_bits_v<E>>{{}}, Int<sizeof_bits_v<typename A::raw_type>>{{}},
      Int<2 + is_sparse_v<A>>{{}}, Int<2 + is_sparse<half_t>::value>{{}},
      Int<is_same_v<Packed::raw_type, uint8_t>>{{}}));
  auto register_A = Bytes{{}}.get_slice(0).make_fragment_A(make_tensor<uint8_t>(make_shape(_32{{}}, _2{{}}, _2{{}})));
  auto held = make_layout(make_shape(Int<sizeof_bits_v<Bytes::FrgTypeA>>{{}}, Int<sizeof_bits_v<Bytes::ValTypeA>>{{}},
      Int<sizeof_bits_v<Bytes::FrgTypeB>>{{}}, Int<sizeof_bits_v<typename decltype(register_A)::value_type>>{{}}));
  auto sized = make_layout(make_shape(Int<sizeof(ArrayEngine<A, 96>)>{{}}, Int<sizeof(ArrayEngine<E, 192>)>{{}},
      Int<alignof(ArrayEngine<E, 192>)>{{}}, Int<sizeof(ArrayEngine<Packed, 64>)>{{}}, Int<sizeof(Packed)>{{}}));
  auto sparse = make_layout(make_shape(Int<1 + Told<Umma>::value>{{}}, Int<1 + Told<Gmma>::value>{{}},
      Int<1 + Told<Dense>::value>{{}}, Int<Umma::ValTypeE::sparsity>{{}}));
  typename Gmma::Atom::Traits::ELayout places{{}};
  auto threads = make_layout(shape(places), stride(places));
  auto shape_E = make_shape(make_shape(_128{{}}, _64{{}}), _1{{}}, _2{{}});
  auto metadata = make_tensor<typename Umma::FrgTypeE>(shape_E).layout();
  auto seen = recast<uint8_t>(make_tensor<typename Umma::FrgTypeE>(shape_E)).layout();
  auto narrow = make_tensor<typename Narrow::FrgTypeE>(make_shape(make_shape(_128{{}}, _128{{}}), _1{{}}, _2{{}}));
  auto halves = narrow.layout();
  auto bytes = recast<uint8_t>(narrow).layout();
  auto filled = make_utccp_copy(SM100_UTCCP_128dp128bit_1cta{{}}, recast<uint8_t>(narrow)).get_layoutD_TV();
  using Half = sparse_elem<16, uint8_t>;
  auto fractions = make_layout(make_shape(sizeof_bits_v<Half> * _32{{}}, Int<sizeof_bits_v<Half> * 33>{{}},
      Int<5 / sizeof_bits_v<Half>>{{}}, _3{{}} * sizeof_bits_v<Half> * _4{{}}));
  auto widths = make_layout(make_shape(Int<cute::sizeof_bits<Two>::value>{{}},
      Int<cutlass::sizeof_bits<cutlass::complex<float>>::value>{{}}));
  auto flagged = tile_to_shape(ComposedLayout<Swizzle<0,4,3>, smem_sparse_ptr_flag_bits<4, 8>,
      Layout<Shape<_64,_64>, Stride<_64,_1>>>{{}}, make_shape(_64{{}}, _64{{}}, _2{{}}));
  static ArrayEngine<Packed, cosize_v<decltype(flagged)>> storage;
  auto stage = make_fragment_like(make_tensor(make_smem_ptr(storage.begin()), flagged)(_,_,0)).layout();
  auto pointed = ComposedLayout<Swizzle<3,4,3>, smem_sparse_ptr_flag_bits<4, 8>,
      Layout<Shape<_8,_512>, Stride<_512,_1>>>{{}};
  auto raw = recast<uint8_t>(make_tensor(make_smem_ptr(storage.begin()), pointed)).layout();
  auto raw_stage = recast<uint8_t>(make_tensor(make_smem_ptr(storage.begin()), flagged)(_,_,1)).layout();
  auto described = get_utccp_smem_desc_tensor<SM100_UTCCP_128dp128bit_1cta>(
      recast<uint8_t>(make_tensor(make_smem_ptr(storage.begin()), flagged))).layout();
  auto swizzled = as_position_independent_swizzle_tensor(make_tensor(make_smem_ptr(storage.begin()), pointed)).layout();
"""
TOLD = """
struct Two { float a; half_t b; };
template <class T, class = void> struct Told { static constexpr int value = 0; };
template <class T> struct Told<T, cute::void_t<typename T::ValTypeE>> { static constexpr int value = 1; };
"""
LAYOUTS = [
    "told",
    "held",
    "sized",
    "sparse",
    "threads",
    "metadata",
    "seen",
    "halves",
    "bytes",
    "filled",
    "fractions",
    "widths",
    "flagged",
    "stage",
    "swizzled",
]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    shown = "".join(f'print({n}); print("\\n");' for n in LAYOUTS)
    headers = ("cstdio", "cute/tensor.hpp", "cute/atom/mma_atom.hpp", "cute/pointer_sparse.hpp", "cutlass/complex.h")
    text = "".join(f"#include <{h}>\n" for h in headers) + f"using namespace cute;\n{TOLD}"
    out = lines_of(tmp_path_factory.mktemp("sparse"), f"{text} int main() {{ {STATEMENTS} {shown} }}\n")
    return [line for line in out if line.startswith(("(", "Sw"))]


def test_sparse_elements_and_metadata_are_those_of_cute(tmp_path: Path, real: list[str]) -> None:
    facts = run(tmp_path, f"{TOLD} void host() {{ {STATEMENTS} }}", arch="sm_100a")
    values: dict[str, Any] = {s.symbol.rpartition("::")[2]: s.value for s in facts.sites}
    assert [show(values[n]) for n in LAYOUTS] == real
