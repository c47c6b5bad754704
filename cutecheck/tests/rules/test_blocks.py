"""Blocks of several dimensions: warps are cut from the numbers of threads, x first, whatever the block's shape."""

import re
from pathlib import Path

import pytest

from cutecheck.facts import Facts
from cutecheck.model import expr as ex
from cutecheck.model.expr import Domain
from cutecheck.model.ints import Dyn, Typed
from cutecheck.model.prove import Verdict
from cutecheck.rules.derive.blocks import _Placing, place
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.rules.build import codes, outcomes

AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")
SHAPES = [(16, 16), (32, 8), (64, 4), (8, 4, 8), (4, 64), (1, 256), (33, 3), (256, 1, 1), (48, 5)]
KERNEL = """#include <cute/tensor.hpp>
using namespace cute;
__global__ void k(half_t* g, int n) {{
  __shared__ alignas(128) float s[8192];
  auto S = make_tensor(make_smem_ptr(s), Layout<Shape<_1>>{{}});
  auto r = make_tensor<float>(Layout<_1>{{}});
  auto at = make_tensor(S.data() + ({index}), Layout<Shape<_1>>{{}});
  copy(Copy_Atom<UniversalCopy<uint32_t>, float>{{}}, at, r);
}}
void host(int n, dim3 any) {{ k<<<1, {block}>>>(nullptr, n); }}
"""


def threads(block: tuple[int, ...]) -> list[tuple[int, int, int]]:
    x, y, z = (*block, 1, 1)[:3]
    return [(i, j, k) for k in range(z) for j in range(y) for i in range(x)]


def facts(folder: Path, index: str, block: str) -> Facts:
    (folder / "k.cu").write_text(KERNEL.format(index=index, block=block))
    return extract(ExtractRequest((folder,), ("sm_80",)))


def wavefronts(words: list[int]) -> int:
    """Of one warp: the most distinct words that a bank has to give."""
    banks: dict[int, set[int]] = {}
    for word in words:
        banks.setdefault(word % 32, set()).add(word)
    return max(map(len, banks.values()))


@pytest.mark.parametrize("block", SHAPES)
def test_indices_are_functions_of_the_thread_s_number(block: tuple[int, ...]) -> None:
    x, y, z = (ex.var(name, Domain(0)) for name in AXES)
    sums = [
        x,
        ex.add(ex.mul(ex.const(3), x), ex.mul(ex.const(7), y)),
        ex.add(x, ex.mul(ex.const(block[0]), y)),
        ex.op("mod", ex.add(x, ex.mul(ex.const(block[0]), y)), ex.const(8)),
        ex.mul(z, ex.add(x, y)),
    ]
    for e in sums:
        at = place(block, [v.name for v in e.variables()])
        told = e if at is None else at.of(e)
        assert {v.name for v in told.variables()} <= {"threadIdx.x"}
        for number, indices in enumerate(threads(block)):
            assert told.evaluate({"threadIdx.x": number}) == e.evaluate(dict(zip(AXES, indices, strict=True)))


@pytest.mark.parametrize("block", SHAPES)
@pytest.mark.parametrize("steps", [(1, 32), (1, 16), (2, 1), (4, 65), (1, 0)])
def test_conflicts_are_those_of_the_lanes_that_a_warp_has(
    tmp_path: Path, block: tuple[int, ...], steps: tuple[int, int]
) -> None:
    a, b = steps
    found = facts(tmp_path, f"{a} * threadIdx.x + {b} * threadIdx.y", f"dim3({', '.join(map(str, block))})")
    (bank,) = [o for o in outcomes(found) if o.obligation.property == "bank-conflict-free"]
    words = [a * i + b * j for i, j, _ in threads(block)]
    worst = max(wavefronts(words[w : w + 32]) for w in range(0, len(words), 32))
    assert bank.verdict is (Verdict.PROVED if worst == 1 else Verdict.REFUTED), (block, steps, worst)


def test_the_number_that_programs_compute_is_the_thread_s(tmp_path: Path) -> None:
    for index in ("threadIdx.x + threadIdx.y * blockDim.x", "threadIdx.y * 16 + threadIdx.x"):
        found = facts(tmp_path, index, "dim3(16, 16)")
        assert codes(found) == ["CUT221"]  # nothing writes what it reads
        assert {o.verdict for o in outcomes(found)} == {Verdict.PROVED}, index


@pytest.mark.parametrize(("block", "known"), [("any", False), ("dim3(n, 16)", False), ("dim3(16, n)", True)])
def test_in_a_block_of_unknown_shape_lanes_are_not_known(tmp_path: Path, block: str, known: bool) -> None:
    (event,) = facts(tmp_path, "2 * threadIdx.x + 64 * threadIdx.y", block).events
    at = place(event.block, ["threadIdx.x", "threadIdx.y"])
    assert at is not None
    variables = {v.name for v in at.of(ex.var("threadIdx.y", Domain(0))).variables()}
    assert (variables == {"threadIdx.x"}) is known


def test_what_a_lane_takes_from_another_is_that_lane_s(tmp_path: Path) -> None:
    """Lane 17 of a block 16 wide has x = 1 and another y."""

    def offset(index: str, block: str) -> str:
        (event,) = facts(tmp_path, index, block).events
        return re.sub(r"~\d+$", "~", str(event.operands[0].offset))

    assert offset("__shfl_sync(~0u, (int)threadIdx.x, 17)", "256") == "32*(threadIdx.x / 32) + 17"
    assert offset("__shfl_sync(~0u, (int)threadIdx.x, 17)", "dim3(16, 16)") == "shuffled~"
    assert offset("__shfl_sync(~0u, (int)threadIdx.y, 17)", "any") == "shuffled~"


def test_a_guard_on_x_is_one_on_the_lanes_of_that_column(tmp_path: Path) -> None:
    """In a block 16 wide `x < 1` leaves two lanes of a warp, which conflict if their rows are 32 words apart."""
    text = KERNEL.replace("copy(", "if (threadIdx.x < 1) copy(")
    for step, verdict in ((32, Verdict.REFUTED), (33, Verdict.PROVED)):
        (tmp_path / "k.cu").write_text(
            text.format(index=f"threadIdx.x * 16 + {step} * threadIdx.y", block="dim3(16, 16)")
        )
        found = outcomes(extract(ExtractRequest((tmp_path,), ("sm_80",))))
        assert [o.verdict for o in found if o.obligation.property == "bank-conflict-free"] == [verdict]


def test_a_number_of_another_type_than_int_is_restated_too() -> None:
    """``get_slice(threadIdx.y)`` of an unsigned number: in a block of one dimension it is 0."""
    (found,) = _Placing().restated((Typed(ex.var("threadIdx.y", Domain(0)), "unsigned int"),), (128,))
    assert found == Dyn.of(0)
