"""setmaxnreg is one instruction of a warpgroup: each of its four warps has to come to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
@cute.kernel
def kernel(x: cute.Tensor, loads: cutlass.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    if warp == 8:
        cute.arch.setmaxregister_decrease(40)
        x[t] = 0.0
    if warp == 9:
        cute.arch.setmaxregister_decrease(40)
    if warp >= 10 and warp < LAST:
        cute.arch.setmaxregister_decrease(40)
    if warp == 11:
        if cutlass.const_expr(loads):
            cute.arch.setmaxregister_decrease(40)
            x[t] = 1.0
    if warp < 8:
        cute.arch.setmaxregister_increase(FEW)
        x[t] = 2.0


@cute.jit
def host(x: cute.Tensor):
    kernel(x, LOADS).launch(grid=(1, 1, 1), block=(BLOCK, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float32, (512,), stride=(1,), assumed_align=16))
"""
)


@pytest.mark.parametrize(
    ("loads", "last", "block", "left"),
    [
        (True, 11, 384, ""),
        (False, 12, 384, ""),
        (False, 11, 384, "warp 11 of the block never executes"),
        (False, 10, 384, "warps 10, 11 of the block never execute "),
        (True, 11, 512, ""),  # a warpgroup of which none comes keeps what it has
    ],
)
def test_warps_that_do_not_come(tmp_path: Path, loads: bool, last: int, block: int, left: str) -> None:
    named = {"LOADS": str(loads), "LAST": str(last), "BLOCK": str(block), "FEW": "232" if block < 512 else "160"}
    text = SCRIPT
    for old, new in named.items():
        text = text.replace(old, new)
    (tmp_path / "main.py").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT708",)))
    assert len(made.findings) == bool(left)
    assert all(left in f.message and f.severity == "error" for f in made.findings)


def test_where_nobody_has_seen_it_wait_it_is_a_warning(tmp_path: Path) -> None:
    text = SCRIPT
    for old, new in {"LOADS": "False", "LAST": "10", "BLOCK": "384", "FEW": "232"}.items():
        text = text.replace(old, new)
    (tmp_path / "main.py").write_text(text)
    (found,) = check(inputs([str(tmp_path)]), Settings(arch=("sm_120a",), cache=False, select=("CUT708",))).findings
    assert found.severity == "warning"
    assert found.message.endswith("all four have to")
