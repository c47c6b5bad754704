"""Copies of tensor memory in C++: operations, tiled copies and warps, against CuTe itself on the host."""

from pathlib import Path

import pytest

from cutecheck.model import atoms
from cutecheck.model.ints import CuteError
from cutecheck.source.eval.intrinsics.tmem import repeated
from cutecheck.tests.source.real import lines_of
from cutecheck.tests.source.test_extract import printed, run

ONCE = [
    f"SM100_TMEM_{way}_{shape}1x{packed}"
    for way in ("LOAD", "STORE")
    for shape in ("16dp256b", "16dp128b", "16dp64b", "16dp32b", "32dp32b")
    for packed in ("", "_16b")
]
COLUMNS = (1, 2, 3, 8, 24, 64, 96, 128, 256, 320)  # of 256 bits, which every operation has
TENSORS = {
    "full": "Layout<Shape<_128, _64>, Stride<Int<65536>, _1>>",
    "half": "Layout<Shape<Shape<_16, _4>, _64>, Stride<Stride<Int<65536>, Int<2097152>>, _1>>",
    "low": "Layout<Shape<_64, _64>, Stride<Int<65536>, _1>>",
}
STATEMENTS = (
    "".join(
        f"""
  auto {name} = make_tensor(make_tmem_ptr<float>(0), {layout}{{}});
  auto {name}_warps = typename decltype(make_tmem_warp_partitioner({name}))::TiledLayout_TV{{}};"""
        for name, layout in TENSORS.items()
    )
    + """
  auto load = make_tmem_copy(TMEM::op_repeater<SM100_TMEM_LOAD_16dp256b1x, 64 * 32>(), half);
  auto store = make_tmem_copy(TMEM::tmem_load_to_store(TMEM::op_repeater<SM100_TMEM_LOAD_32dp32b1x, 96 * 32>()), full);
"""
)
PROGRAM = """
#include <cstdio>
#include <cute/tensor.hpp>
#include <cute/atom/copy_traits_sm100.hpp>
#include <cute/atom/partitioner.hpp>
using namespace cute;
template <class T> void name() { std::puts(__PRETTY_FUNCTION__); }
int main() {
"""


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What CuTe prints: the names of all operations, then the layouts of the statements."""
    names = "".join(f"name<decltype(TMEM::op_repeater<{op}, {256 * n}>())>();\n" for op in ONCE for n in COLUMNS)
    shown = "".join(f'print({name}_warps); print("\\n");' for name in TENSORS)
    shown += "".join(f'print({c}.get_layoutS_TV()); print("\\n"); ' for c in ("load", "store"))
    return lines_of(tmp_path_factory.mktemp("tmem"), PROGRAM + names + STATEMENTS + shown + "}\n")


def test_the_widest_operation_is_cutes(real: list[str]) -> None:
    ours = [repeated(op, 256 * n) for op in ONCE for n in COLUMNS]
    assert all(map(atoms.is_copy_op, ours))
    assert ours == [line.rpartition("::")[2].rstrip("]") for line in real[: len(ours)]]


@pytest.mark.parametrize(
    ("op", "bits"),
    [("SM100_TMEM_LOAD_16dp256b1x", 128), ("SM100_TMEM_LOAD_16dp256b2x", 512), ("SM75_U32x1_LDSM_N", 32)],
)
def test_what_has_no_wider_operation_is_refused(op: str, bits: int) -> None:
    with pytest.raises(CuteError):
        repeated(op, bits)


def test_copies_and_warps_of_tensor_memory(tmp_path: Path, real: list[str]) -> None:
    facts = run(tmp_path, f"void host() {{ {STATEMENTS} }}", arch="sm_100a")
    values = {s.symbol.rpartition("::")[2]: s.value for s in facts.sites}
    ours = [printed(facts, f"{name}_warps") for name in TENSORS]
    ours += [str(values[name].get_layoutS_TV()) for name in ("load", "store")]
    assert ours == real[-5:]
