"""Persistent kernels of the Python DSL whose roles leave a part out, or take another one's: tiles, slices, parts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.facts import Unknown
from cutecheck.rules import Context
from cutecheck.rules.derive.holes import hole
from cutecheck.source.extract import extract
from cutecheck.source.request import ExtractRequest
from cutecheck.tests.rules.test_dsl_roles import KERNEL

HALVES = "for half in cutlass.range_constexpr(2):"
# the tiles of a result of many columns, one after the other
GRID = (
    ("tile = block\n", "work = block\n"),
    (
        "while tile < tiles:\n",
        "while work < tiles * columns:\n                tile, column = work % tiles, work // tiles\n",
    ),
    ("tile += blocks", "work += blocks"),
    ("tBg[None, 0, k]", "tBg[None, column, k]"),
    ("(64, 128), (None, 0))", "(64, 128), (None, None))"),
    ("tCg[None, 2 * tile + half]", "tCg[None, 2 * tile + half, column]"),
    ("acc, tile, warp_idx)", "acc, tile, column, warp_idx)"),
    ("tile: Int32, warp_idx", "tile: Int32, column: Int32, warp_idx"),
    ("        tiles, steps =", "        columns = cute.size(gB, mode=[2])\n        tiles, steps ="),
    ("tensor(128, K), tensor(M, 128)", "tensor(N, K), tensor(M, N)"),
    ("M = cute.sym_int(divisibility=64), ", "M, N = cute.sym_int(divisibility=64), cute.sym_int(divisibility=128), "),
)  # fmt: skip


def found(folder: Path, text: str) -> list[str]:
    (folder / "kernel.py").write_text(text)
    report = check(inputs([str(folder)]), Settings(arch=("sm_90a",), select=("CUT2", "CUT8"), jobs=1, cache=False))
    assert not report.errors
    assert not report.failures
    return [f"{f.code} {f.message}" for f in report.findings]


@pytest.mark.parametrize(
    ("old", "new", "code", "said"),
    [
        (HALVES, HALVES.replace("2", "1"), "CUT219", "nothing in the kernel stores (64 .. 127, 0 .. 127)"),
        ("2 * tile + half]", "2 * tile]", "CUT219", "nothing in the kernel stores (64 .. 127, 0 .. 127)"),
        ("cute.size(rA, mode=[2])", "cute.size(rA, mode=[2]) - 1", "CUT218", "coordinates 0 .. 3, and never 3"),
        ("tBg[None, 0, k]", "tBg[None, 0, fill.index]", "CUT218", "a tile that was loaded before"),
        ("Agent.Thread, 4),\n", "Agent.Thread, 4), defer_sync=True,\n", "CUT217", "that it has been initialised"),
        ("swizzle=lC.inner", "swizzle=cute.make_swizzle(2, 4, 3)", "CUT803", "has Sw<3,4,3>, its shared tensor"),
    ],
    ids=["one half", "one half twice", "a slice along K", "stage for tile", "no barrier since", "another swizzle"],
)
def test_parts(tmp_path: Path, old: str, new: str, code: str, said: str) -> None:
    assert KERNEL.count(old) == 1
    assert any(code in f and said in f for f in found(tmp_path, KERNEL.replace(old, new)))


def test_a_barrier_of_the_block_behind_deferred_ones(tmp_path: Path) -> None:
    old = "Agent.Thread, 4),\n        )\n"
    assert KERNEL.count(old) == 1
    fence = "        cute.arch.mbarrier_init_fence()\n        cute.arch.sync_threads()\n"
    deferred = old.replace("),", "), defer_sync=True,") + fence
    assert found(tmp_path, KERNEL.replace(old, deferred)) == []


def test_a_result_whose_other_columns_another_kernel_may_store(tmp_path: Path) -> None:
    old = "tensor(128, K), tensor(M, 128)"
    assert KERNEL.count(old) == 1
    packed = KERNEL.replace(old, old.replace("M, 128", "M, 256"))
    assert not [f for f in found(tmp_path, packed) if f.startswith("CUT219")]
    assert any(
        "nothing in the kernel stores (64 .. 127, " in f
        for f in found(tmp_path, packed.replace(HALVES, HALVES.replace("2", "1")))
    )


def test_two_sums_share_the_slices(tmp_path: Path) -> None:
    made = "acc = cute.make_rmem_tensor(mma.partition_shape_C((128, 128)), Float32)\n"
    product = "cute.gemm(mma, acc, rA[at], rB[at], acc)\n"
    shared = (
        "if cutlass.const_expr(kb % 2 == 0):\n"
        f"                            {product}"
        "                        else:\n"
        f"                            {product.replace('acc', 'odd')}"
    )
    text = KERNEL.replace(made, made + "            " + made.replace("acc", "odd")).replace(product, shared)
    assert text.count("odd") == 3
    assert not [f for f in found(tmp_path, text) if "in no tile" in f]
    short = text.replace("cute.size(rA, mode=[2])", "cute.size(rA, mode=[2]) - 1")
    assert any("and never 3, in no tile" in f for f in found(tmp_path, short))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("", "", ""),
        ("tBg[None, column, k]", "tBg[None, tile, k]", "says which rows of B a block multiplies, and which rows of C"),
        ("copy(tma_b, tBg[None, column, k]", "copy(tma_b, tAg[None, tile, k]", "says which rows of B a block"),
        ("2 * tile + half, column]", "2 * tile + half, 0]", "says which rows of B a block multiplies, and not which"),
    ],
    ids=["right", "rows of A", "A's tiles", "all to the first columns"],
)
def test_tiles_by_numbers_of_the_kernels_own(tmp_path: Path, old: str, new: str, said: str) -> None:
    text = KERNEL
    for before, after in GRID:
        assert before in text
        text = text.replace(before, after)
    assert old in text
    messages = found(tmp_path, text.replace(old, new) if old else text)
    assert [m for m in messages if m.startswith("CUT219")] == [m for m in messages if said and said in m]
    assert bool(messages) == bool(said)


def test_stores_of_which_one_stands_for_several(tmp_path: Path) -> None:
    """A place that is reached with too many operands has one event for the rest, with those of the first of these."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    facts = extract(ExtractRequest((tmp_path,), ("sm_90a",)))
    first, second = (e for e in facts.events if e.operands[0].name == "tCs[None, half]")
    other = replace(second.operands[1], root_layout=second.operands[0].root_layout)
    rest = replace(second, reason=Unknown("more"), operands=(second.operands[0], other))
    far = replace(rest, kernel="another configuration")
    alike = replace(second, kernel="another configuration")  # it stands for the store of the first one, too
    for events, missing in (((first,), True), ((first, rest), False), ((first, alike), False), ((first, far), False)):
        context = cast("Context", SimpleNamespace(facts=replace(facts, events=events), memo={}))
        assert (hole(first, context) is not None) == missing
