"""Which architectures a translation unit is evaluated for where none is asked for."""

from pathlib import Path

import pytest

from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest

ATOM = "using A{0} = Copy_Atom<{0}, half_t>;\n"
LDMATRIX, CP_ASYNC, STMATRIX = "SM75_U32x4_LDSM_N", "SM80_CP_ASYNC_CACHEALWAYS<float>", "SM90_U32x4_STSM_N"
TMA = "auto tma = make_tma_copy(SM90_TMA_LOAD{}, g, s);\n"
WGMMA = "using M = MMA_Atom<SM90_64x64x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>>;\n"
TCGEN05 = "using N = MMA_Atom<SM100_MMA_F16BF16_SS<half_t, half_t, float, 128, 64, UMMA::Major::K, UMMA::Major::K>>;\n"
WARP = "using W = MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>;\n"
GUARD = "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900\n#endif\n"


@pytest.mark.parametrize(
    ("text", "archs"),
    [
        ("using L = Layout<_1>;\n", {"sm_80"}),
        (ATOM.format(LDMATRIX), {"sm_80"}),
        (ATOM.format(LDMATRIX) + WARP, {"sm_80"}),
        (ATOM.format(LDMATRIX) + WGMMA, {"sm_90a"}),
        (ATOM.format(LDMATRIX) + ATOM.format(STMATRIX), {"sm_90a"}),
        (WARP + TMA, {"sm_90a"}),
        (WGMMA + TMA + TCGEN05, {"sm_90a", "sm_100a"}),
        (ATOM.format(LDMATRIX) + TMA + TCGEN05, {"sm_100a"}),
        (GUARD + ATOM.format(LDMATRIX) + WGMMA, {"sm_80", "sm_90a"}),
        (GUARD + WARP, {"sm_80", "sm_90a"}),
        ("using T = cutlass::arch::Sm80;\n" + WGMMA, {"sm_80", "sm_90a"}),
        ("using T = cutlass::arch::Sm90;\n" + ATOM.format(LDMATRIX) + WARP + WGMMA, {"sm_90a"}),
        ("#if defined(CUTLASS_ARCH_MMA_SM100_SUPPORTED)\n#endif\n" + ATOM.format("DefaultCopy"), {"sm_100a"}),
        (
            "#if defined(CUTLASS_ARCH_MMA_MODIFIABLE_TMA_SM90_SUPPORTED)\n#endif\n" + ATOM.format("DefaultCopy"),
            {"sm_90a"},
        ),
        ("#if defined(CUTLASS_ARCH_MMA_SM103A_ENABLED)\n#endif\n" + ATOM.format(LDMATRIX), {"sm_80", "sm_100a"}),
        ("#ifdef CUTE_ARCH_TMA_SM90_ENABLED\n#endif\n" + WARP + TMA, {"sm_80", "sm_90a"}),
    ],
)
def test_an_instruction_that_later_ones_have_asks_for_no_architecture(
    tmp_path: Path, text: str, archs: set[str]
) -> None:
    (tmp_path / "atoms.h").write_text(text)
    (tmp_path / "a.cu").write_text(
        '#include <cute/tensor.hpp>\n#include "atoms.h"\nusing namespace cute;\nusing Any = Layout<_2>;\n'
    )
    assert {s.arch for s in extract(ExtractRequest((tmp_path,))).sites if s.status == "resolved"} == archs


def test_a_unit_named_after_an_architecture_is_for_that_one_alone(tmp_path: Path) -> None:
    """As where ``setup.py`` compiles ``*_sm80.cu`` and ``*_sm90.cu`` with flags of their own."""
    (tmp_path / "traits.h").write_text("#include <cute/tensor.hpp>\nusing namespace cute;\n" + GUARD + WARP + WGMMA)
    names = {
        "a_sm80.cu": {"sm_80"},
        "a_sm90.cu": {"sm_90a"},
        "a_sm100.cu": {"sm_80", "sm_90a"},
        "a.cu": {"sm_80", "sm_90a"},
    }
    for name in names:
        (tmp_path / name).write_text('#include "traits.h"\nusing Any = Layout<_2>;\n')
    found = [s for s in extract(ExtractRequest((tmp_path,))).sites if s.status == "resolved"]
    assert {n: {s.arch for s in found if s.span.path == n} for n in names} == names


def test_a_header_that_includes_others_by_the_architecture_names_them(tmp_path: Path) -> None:
    """A library of templates for generated kernels: ``gemm.h`` has nothing of CuTe itself."""
    (tmp_path / "gemm.h").write_text(
        '#if __CUDA_ARCH__ >= 900\n#include "new.h"\n#elif __CUDA_ARCH__ >= 800\n#include "old.h"\n#endif\n'
    )
    for name, tile in (("new.h", "_16"), ("old.h", "_8")):
        (tmp_path / name).write_text(f"#include <cute/tensor.hpp>\nusing Rows = cute::Layout<cute::{tile}>;\n")
    (tmp_path / "a.cu").write_text('#include "gemm.h"\nusing Mine = decltype(cute::make_layout(cute::size(Rows{})));\n')
    found = [s for s in extract(ExtractRequest((tmp_path,))).sites if s.symbol == "Mine" and s.status == "resolved"]
    assert {(s.arch, str(s.value)) for s in found} == {("sm_80", "_8:_1"), ("sm_90a", "_16:_1")}


def test_what_one_architecture_binds_another_does_not_leave_open(tmp_path: Path) -> None:
    """A kernel whose body only one of them has: its helper is a template that nothing instantiates for the other."""
    (tmp_path / "a.cu").write_text(
        "#include <cute/tensor.hpp>\nusing namespace cute;\n"
        "template <class T> __device__ void helper(T) { auto copier = make_tiled_copy(Copy_Atom<DefaultCopy, T>{},"
        " Layout<_32>{}, Layout<_4>{});\n"
        "__shared__ T p[64]; auto copied = make_tensor(make_smem_ptr(p), "
        "tile_to_shape(Layout<_8>{}, Shape<_64>{})); }\n"
        f"{ATOM.format(LDMATRIX)}"
        "__global__ void k() {\n#if __CUDA_ARCH__ >= 900\n helper(half_t{});\n#endif\n}\n"
        "template <class T> __device__ void unused(T) { auto other = Copy_Atom<DefaultCopy, T>{}; }\n"
        "int main() { k<<<1, 32>>>(); }\n"
    )
    found = extract(ExtractRequest((tmp_path,))).sites
    assert {(s.arch, s.status) for s in found if s.symbol.endswith("copier")} == {("sm_90a", "resolved")}
    assert {s.status for s in found if s.span.line in (3, 4)} == {"resolved"}
    assert {s.status for s in found if s.symbol.endswith("other")} == {"unbound"}
