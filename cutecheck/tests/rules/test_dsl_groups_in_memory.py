"""Persistent kernels of the Python DSL whose blocks look for the next tile in memory, where each group's tiles are."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.tests.rules.test_dsl_roles import GROUP, KERNEL, LAST, RELEASE, found_codes

SEEK = """

@cute.jit
def seek(group: Int32, first: Int32, tile: Int32, offsets: cute.Tensor):
    \"\"\"The group that has a tile, and its first one.\"\"\"
    groups = offsets.shape[0] - 1
    going = group < groups
    while going:
        count = (offsets[group + 1] - offsets[group] + 127) // 128
        if tile >= first + count:
            first += count
            group += 1
            going = group < groups
        else:
            going = cutlass.Boolean(False)
    return group, first


class Gemm:
"""
NEXT = "                tile += blocks\n"
GROUPS = (
    KERNEL.replace("\n\nclass Gemm:\n", SEEK, 1)
    .replace("blocks: Int32)", "blocks: Int32, offsets: cute.Tensor)")
    .replace("mma, sA, sB, sC)\n", "mma, sA, sB, sC, offsets)\n")
    .replace("lC: cute.ComposedLayout):", "lC: cute.ComposedLayout, offsets: cute.Tensor):")
    .replace("tile = block\n", "tile = block\n            group, first = seek(Int32(0), Int32(0), tile, offsets)\n")
    .replace("while tile < tiles:", "while group < offsets.shape[0] - 1:")
    .replace(NEXT, NEXT + "                group, first = seek(group, first, tile, offsets)\n")
    .replace("(M, 128), Int32(132))", "(M, 128), Int32(132), numbers)")
    .replace("K, M =", "numbers = make_fake_compact_tensor(Int32, (cute.sym_int(),), assumed_align=4)\nK, M =")
)


@pytest.mark.parametrize(
    ("right", "wrong", "code"),
    [
        ("", "", ""),
        ("pipeline.Agent.Thread, 4)", "pipeline.Agent.Thread, 8)", "CUT217"),
        (GROUP + RELEASE, RELEASE + GROUP, "CUT212"),
        (LAST, "                self.store", "CUT217"),
    ],
)
def test_the_tiles_of_groups(tmp_path: Path, right: str, wrong: str, code: str) -> None:
    """At the numbers of a first run there are hundreds of groups; at few, a block of the same grid has one tile."""
    assert right in GROUPS and GROUPS.count("seek(") == 5
    codes = found_codes(tmp_path, GROUPS.replace(right, wrong, 1) if right else GROUPS)
    assert (code in codes) if code else not codes, codes
