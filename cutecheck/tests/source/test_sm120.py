"""Operations of sm_120 as CUTLASS's builders choose them, against CuTe itself on the host."""

from pathlib import Path
from typing import Any

import pytest

from cutecheck.model.notation import show
from cutecheck.tests.source.real import lines_of
from cutecheck.tests.source.test_extract import run

E2M1, E4M3, UE8M0, UE4M3 = (f"cutlass::float_{t}_t" for t in ("e2m1", "e4m3", "ue8m0", "ue4m3"))
PLAIN = [f"rr_op_selector_sm120<{E4M3}, {E2M1}, float>", f"rr_sparse_op_selector_sm120<{E4M3}, {E4M3}, float>"]
SCALED = [
    f"rr_blockscaled_op_selector_sm120<{E4M3}, {E2M1}, float, {UE8M0}, 32, true>",
    f"rr_blockscaled_op_selector_sm120<{E2M1}, {E2M1}, float, {UE4M3}, 16, false>",
    f"rr_blockscaled_sparse_op_selector_sm120<{E4M3}, {E4M3}, float, {UE8M0}, 64, true>",
    f"rr_blockscaled_sparse_op_selector_sm120<{E2M1}, {E2M1}, float, {UE4M3}, 32, false>",
]
MMAS = "".join(f"auto mma{i} = make_tiled_mma({op}());\n" for i, op in enumerate(PLAIN + SCALED))
FACTORS = "".join(
    f"typename MMA_Traits<decltype({op}())>::SF{x}Layout sf{x}{i};\n" for i, op in enumerate(SCALED) for x in "AB"
)
MEMBERS = ("Shape_MNK", "LayoutA_TV", "LayoutB_TV", "LayoutC_TV")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    shown = "".join(
        f'print(typename decltype(mma{i})::{member}{{}}); print("\\n");'
        for i in range(len(PLAIN + SCALED))
        for member in MEMBERS
    )
    shown += "".join(f'print(sf{x}{i}); print("\\n");' for i in range(len(SCALED)) for x in "AB")
    headers = ("cstdio", "cute/tensor.hpp", "cute/atom/mma_atom.hpp", "cute/arch/mma_sm120_sparse.hpp")
    text = "".join(f"#include <{h}>\n" for h in headers) + "using namespace cute;\n"
    out = lines_of(tmp_path_factory.mktemp("sm120"), f"{text} int main() {{ {MMAS} {FACTORS} {shown} }}\n")
    return [line for line in out if line.startswith("(")]


def test_operations_and_layouts_of_scale_factors(tmp_path: Path, real: list[str]) -> None:
    facts = run(tmp_path, f"void host() {{ {MMAS} {FACTORS} }}", arch="sm_120a")
    values: dict[str, Any] = {s.symbol.rpartition("::")[2]: s.value for s in facts.sites}
    ours = []
    for i in range(len(PLAIN + SCALED)):
        atom = values[f"mma{i}"].atom
        ours += [show(v) for v in (atom.shape_mnk, atom.a_tv, atom.b_tv, atom.c_tv)]
    ours += [show(values[f"sf{x}{i}"]) for i in range(len(SCALED)) for x in "AB"]
    assert ours == real


def test_an_operation_is_named_by_its_namespaces(tmp_path: Path) -> None:
    op = "SM120::BLOCKSCALED::SM120_16x8x32_TN_VS<float_e4m3_t, float_e4m3_t, float, float_ue8m0_t, 32>"
    text = f"using Mma = decltype(make_tiled_mma(cute::{op}{{}}, Layout<Shape<_2, _1, _1>>{{}}));\n"
    site = next(s for s in run(tmp_path, text, arch="sm_120a").sites if s.symbol == "Mma")
    assert site.status == "resolved"
