"""Kernels of the DSL whose loops have too many passes at the numbers of a run: by role at other numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cutecheck.tests.rules.test_dsl_many_roles import TURNS
from cutecheck.tests.rules.test_dsl_roles import found_codes

GIVEN = (
    ("y: cute.Tensor, rows: cute.Layout", "y: cute.Tensor, n: ARG, rows: cute.Layout"),
    ("x: cute.Tensor, y: cute.Tensor):", "x: cute.Tensor, y: cute.Tensor, n: ARG):"),
    ("kernel(tma, mA, y, rows", "kernel(tma, mA, y, n, rows"),
)
LOOP = "        for k in cutlass.range(steps, unroll=1):\n"
WAYS = {
    "a list": (
        *((old, new.replace("ARG", "cute.Tensor")) for old, new in GIVEN),
        ("    steps = cute.size(g, mode=[2])\n", "    steps = n[0]\n"),
        ("of[None, k], to", "of[None, n[k + 1]], to"),
        ("tensor(128))\n", "tensor(128), make_fake_compact_tensor(cutlass.Int32, (cute.sym_int(),)))\n"),
    ),
    "tiles in a range": (
        *((old, new.replace("ARG", "cutlass.Int32")) for old, new in GIVEN),
        (
            LOOP,
            "        for tile in cutlass.range(cute.arch.block_idx()[0], n * n * n, cute.arch.grid_dim()[0]):\n" + LOOP,
        ),
        ("tensor(128))\n", "tensor(128), cutlass.Int32(8))\n"),
        ("grid=(1, 1, 1)", "grid=(132, 1, 1)"),
    ),
}


def _deeper(text: str) -> str:
    """The bodies of the inner loops, four columns to the right."""
    body = re.compile(rf"({re.escape(LOOP)})((?: {{12}}.*\n)+)")
    return body.sub(lambda m: "    " + m[1] + "".join(f"    {line}\n" for line in m[2].splitlines()), text)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("early", "codes"), [(False, set()), (True, {"CUT212"})])
def test_a_stage_that_is_released_too_early(way: str, early: bool, codes: set[str], tmp_path: Path) -> None:
    release, copy = "            loads.consumer_release(full)\n", "            cute.copy(tc, "
    text = TURNS.replace(release, "").replace(copy, release + copy) if early else TURNS
    for old, new in WAYS[way]:
        assert old in text
        text = text.replace(old, new)
    found = set(found_codes(tmp_path, _deeper(text) if way != "a list" else text))
    assert codes <= found
    assert codes or not found


OF_ROWS = (
    ("y: cute.Tensor, rows: cute.Layout", "y: cute.Tensor, z: cute.Tensor, rows: cute.Layout"),
    ("x: cute.Tensor, y: cute.Tensor):", "x: cute.Tensor, y: cute.Tensor, z: cute.Tensor):"),
    ("kernel(tma, mA, y, rows", "kernel(tma, mA, y, z, rows"),
    ("tensor(128))\n", "tensor(128), tensor(cute.sym_int(divisibility=8)))\n"),
    ("grid=(1, 1, 1)", "grid=(132, 1, 1)"),
    (
        LOOP,
        "        for tile in cutlass.range(cute.arch.block_idx()[0], (z.shape[0] + 79) // 80, "
        "cute.arch.grid_dim()[0]):\n" + LOOP,
    ),
)


@pytest.mark.parametrize("anew", [False, True])
def test_tiles_that_do_not_divide_768(anew: bool, tmp_path: Path) -> None:
    """A block has several tiles at a number that is a whole number of them."""
    text = TURNS
    for old, new in OF_ROWS:
        assert old in text
        text = text.replace(old, new)
    text = _deeper(text)
    state = "        full = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, 2)\n"
    loop = LOOP.replace("        for", "            for") + "                loads.consumer_wait"
    assert state in text and loop in text
    if anew:  # of each tile, though the producer's goes on
        text = text.replace(state, "").replace(loop, f"    {state}{loop}")
    assert bool(found_codes(tmp_path, text)) == anew
