"""Scale factors of sm_100's and sm_120's block-scaled MMAs in C++, against CuTe itself on the host."""

from pathlib import Path
from typing import Any

import pytest

from cutecheck.model.notation import show
from cutecheck.tests.source.real import lines_of
from cutecheck.tests.source.test_extract import printed, run

E2M1, E4M3, UE8M0, UE4M3 = (f"cutlass::float_{t}_t" for t in ("e2m1", "e4m3", "ue8m0", "ue4m3"))
PACKED = "cutlass::detail::float_e2m1_unpacksmem_t"
MAJORS = "UMMA::Major::K, UMMA::Major::K"
OPERATIONS = [
    f"SM100_MMA_MXF8F6F4_SS<{E4M3}, {E4M3}, float, {UE8M0}, 128, 192, {MAJORS}>",
    f"SM100_MMA_MXF8F6F4_2x1SM_SS<{PACKED}, {E4M3}, float, {UE8M0}, 256, 256, {MAJORS}>",
    f"SM100_MMA_MXF8F6F4_2x1SM_SS<{E4M3}, {PACKED}, float, {UE8M0}, 256, 64, {MAJORS}>",
    f"SM100_MMA_MXF4_SS<{E2M1}, {E2M1}, float, {UE4M3}, 128, 64, 16, {MAJORS}>",
    f"SM100_MMA_MXF4_2x1SM_SS<{E2M1}, {E2M1}, float, {UE8M0}, 256, 128, 32, {MAJORS}>",
]
ULTRA = [
    f"SM103::SM103_MXF4_ULTRA_SS_VS<{E2M1}, {E2M1}, float, {UE4M3}, 128, 192, 16, {MAJORS}>",
    f"SM103::SM103_MXF4_ULTRA_2x1SM_SS_VS<{E2M1}, {E2M1}, float, {UE8M0}, 256, 64, 32, {MAJORS}>",
]
OF_ULTRA = """
  using Ultra{i} = decltype(make_tiled_mma({op}{{}}));
  TiledMMA<MMA_Atom<typename Ultra{i}::MMA_ScaleFactor>, Layout<Shape<_1, _1, _1>>> ultra_scales{i};
  auto depth{i} = make_shape(Int<Ultra{i}::K>{{}}, Int<Ultra{i}::SFVecSize>{{}});
  auto ultra{i} = make_layout(make_shape(depth{i}, shape<0>(typename Ultra{i}::ThrLayoutVMNK{{}})));
"""
IN_REGISTERS = [
    f"SM120::BLOCKSCALED::SM120_16x8x64_TN_VS<{E2M1}, {E2M1}, float, {UE4M3}, 16>",
    f"SM120::BLOCKSCALED::SM120_16x8x32_TN_VS<{E4M3}, {E2M1}, float, {UE8M0}, 32>",
    f"SM120::BLOCKSCALED::SPARSE::SM120_SPARSE_16x8x64_TN_VS<{E4M3}, {E2M1}, float, {UE8M0}, 64>",
]
OF_REGISTERS = """
  using Held{i} = decltype(make_tiled_mma({op}{{}}))::Traits;
  auto held{i} = make_layout(make_shape(Int<Held{i}::SFVecSize>{{}}, Int<sizeof_bits_v<Held{i}::ValTypeSF>>{{}}));
"""
STATEMENTS = """
  auto mma{i} = make_tiled_mma({op}{{}});
  using Mma{i} = decltype(mma{i});
  TiledMMA<MMA_Atom<typename Mma{i}::MMA_ScaleFactor>, Layout<Shape<_1, _1, _1>>> scales{i};
  constexpr int vector{i} = Mma{i}::SFVecSize;
  auto factors{i} = make_shape(Int<vector{i}>{{}}, Int<Mma{i}::K / vector{i}>{{}});
  auto shape{i} = make_shape(make_shape(_128{{}}, factors{i}), _1{{}}, _4{{}});
  auto a{i} = make_tensor<typename Mma{i}::FrgTypeSFA>(shape{i}).layout();
  auto more{i} = replace<1>(a{i}, Layout<_3, _7>{{}});
  auto stride{i} = make_layout(replace<2>(shape(a{i}), _5{{}}), replace<2>(stride(a{i}), _9{{}}));
"""
COPY = """
  auto source = make_tensor(make_smem_ptr((cutlass::float_ue8m0_t*)nullptr),
      Layout<Shape<Shape<Shape<_32, _16>, _1>, _1, _2>, Stride<Stride<Stride<_16, _1>, _0>, _0, _512>>{});
  auto described = get_utccp_smem_desc_tensor<SM100_UTCCP_4x32dp128bit_1cta>(source).layout();
"""
ALL = "".join(STATEMENTS.format(i=i, op=op) for i, op in enumerate(OPERATIONS)) + COPY
ALL += "".join(OF_ULTRA.format(i=i, op=op) for i, op in enumerate(ULTRA))
ALL += "".join(OF_REGISTERS.format(i=i, op=op) for i, op in enumerate(IN_REGISTERS))
LAYOUTS = [f"{n}{i}" for i in range(len(OPERATIONS)) for n in ("a", "more", "stride")] + ["described"]
LAYOUTS += [f"ultra{i}" for i in range(len(ULTRA))] + [f"held{i}" for i in range(len(IN_REGISTERS))]
SCALES = [f"scales{i}" for i in range(len(OPERATIONS))] + [f"ultra_scales{i}" for i in range(len(ULTRA))]


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    shown = "".join(f'print({n}); print("\\n");' for n in LAYOUTS)
    shown += "".join(f'print(typename decltype({n})::Shape_MNK{{}}); print("\\n");' for n in SCALES)
    headers = ("cstdio", "cute/tensor.hpp", "cute/atom/mma_atom.hpp", "cute/atom/copy_traits_sm100.hpp")
    text = "".join(f"#include <{h}>\n" for h in headers) + "using namespace cute;\n"
    out = lines_of(tmp_path_factory.mktemp("scaled"), f"{text} int main() {{ {ALL} {shown} }}\n")
    return [line for line in out if line.startswith("(")]  # a warning of CuTe's stands before them


def test_scale_factors_are_those_of_cute(tmp_path: Path, real: list[str]) -> None:
    types = "namespace cutlass::detail { struct float_e2m1_unpacksmem_t {}; }\n"
    facts = run(tmp_path, f"{types} void host() {{ {ALL} }}", arch="sm_100a")
    values: dict[str, Any] = {s.symbol.rpartition("::")[2]: s.value for s in facts.sites}
    assert [show(values[n]) for n in LAYOUTS] == real[: len(LAYOUTS)]
    assert [show(values[n].atom.shape_mnk) for n in SCALES] == real[len(LAYOUTS) :]


def test_a_specialisation_for_a_template_whose_name_ends_as_a_trait(tmp_path: Path) -> None:
    text = """
    template <class F> struct scaled_t { using Data = F; };
    template <class Tag, class T> struct Of {};
    template <class Tag, class T> struct Of<Tag, scaled_t<T>> { using Type = T; };
    template <class T> void kernel(T t) { auto made = make_layout(Int<sizeof(typename Of<int, T>::Type)>{}); }
    void host() { kernel(scaled_t<double>{}); }
    """
    assert printed(run(tmp_path, text), "made") == "_8:_1"
