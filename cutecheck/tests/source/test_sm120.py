"""Operations of sm_120 as CUTLASS's builders choose them, against CuTe itself on the host."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from cutecheck.exec.headers import NoHeaders, find_headers
from cutecheck.model.notation import show
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
    found = find_headers()
    if isinstance(found, NoHeaders):
        pytest.skip(str(found))
    folder = tmp_path_factory.mktemp("sm120")
    shown = "".join(
        f'print(typename decltype(mma{i})::{member}{{}}); print("\\n");'
        for i in range(len(PLAIN + SCALED))
        for member in MEMBERS
    )
    shown += "".join(f'print(sf{x}{i}); print("\\n");' for i in range(len(SCALED)) for x in "AB")
    headers = ("cstdio", "cute/tensor.hpp", "cute/atom/mma_atom.hpp", "cute/arch/mma_sm120_sparse.hpp")
    text = "".join(f"#include <{h}>\n" for h in headers) + "using namespace cute;\n"
    (folder / "a.cpp").write_text(f"{text} int main() {{ {MMAS} {FACTORS} {shown} }}\n")
    flags = [found.compiler, "-std=c++17", "-w", "a.cpp", "-o", "a", *found.arguments()]
    subprocess.run(flags, cwd=folder, check=True, capture_output=True, timeout=300)
    out = subprocess.run(["./a"], cwd=folder, check=True, capture_output=True, text=True).stdout
    return [line for line in out.splitlines() if line.startswith("(")]


def test_operations_and_layouts_of_scale_factors(tmp_path: Path, real: list[str]) -> None:
    facts = run(tmp_path, f"void host() {{ {MMAS} {FACTORS} }}", arch="sm_120a")
    values: dict[str, Any] = {s.symbol.rpartition("::")[2]: s.value for s in facts.sites}
    ours = []
    for i in range(len(PLAIN + SCALED)):
        atom = values[f"mma{i}"].atom
        ours += [show(v) for v in (atom.shape_mnk, atom.a_tv, atom.b_tv, atom.c_tv)]
    ours += [show(values[f"sf{x}{i}"]) for i in range(len(SCALED)) for x in "AB"]
    assert ours == real
