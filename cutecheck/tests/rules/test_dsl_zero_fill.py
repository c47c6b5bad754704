"""Copies by cp.async of the DSL write zeros where their predicate is false: all of their destination is written."""

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
def kernel(x: cute.Tensor, n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
    s = cutlass.utils.SmemAllocator().allocate_tensor(cutlass.Float32, cute.make_layout(TILE), byte_alignment=16)
    atom = cute.make_copy_atom(OP, cutlass.Float32, num_bits_per_copy=32)
    tc = cute.make_tiled_copy_tv(atom, cute.make_layout(128), cute.make_layout(1))
    if warp < WARPS:
        mine = tc.get_slice(t)
        to, c = mine.partition_D(s), mine.partition_S(cute.make_identity_tensor(TILE))
        of = mine.partition_S(cute.local_tile(x, (TILE,), (0,)))
        COPY
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    x[t] = s[t % TILE]


@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32):
    kernel(x, n).launch(grid=(1, 1, 1), block=(256, 1, 1))


x = make_fake_tensor(cutlass.Float32, (cute.sym_int(),), stride=(1,), assumed_align=16)
cute.compile(host, x, cutlass.Int32(9))
"""
)
WHOLE = """p = cute.make_rmem_tensor((1, cute.size(to.shape[1])), cutlass.Boolean)
        for m in cutlass.range_constexpr(cute.size(to.shape[1])):
            p[0, m] = c[0, m] < min(n, TILE)
        cute.copy(tc, of, to, pred=p)"""
INSIDE = """for m in cutlass.range_constexpr(cute.size(to.shape[1])):
            if c[0, m] < TILE:
                p = cute.make_rmem_tensor(1, cutlass.Boolean)
                p[0] = c[0, m] < n
                cute.copy(tc, of[None, m], to[None, m], pred=p)"""
ASYNC, PLAIN = "cute.nvgpu.cpasync.CopyG2SOp()", "cute.nvgpu.CopyUniversalOp()"


@pytest.mark.parametrize(
    ("op", "copy", "tile", "warps", "said"),
    [
        (ASYNC, WHOLE, 96, 4, True),
        (ASYNC, WHOLE, 96, 8, True),
        (PLAIN, WHOLE, 96, 4, False),
        (ASYNC, INSIDE, 96, 4, False),
        (ASYNC, WHOLE, 128, 4, False),
        (ASYNC, WHOLE, 256, 4, False),
        (ASYNC, WHOLE, 96, 3, False),  # the threads past the end do not come
    ],
)
def test_a_tile_that_is_no_multiple_of_the_copy(
    tmp_path: Path, op: str, copy: str, tile: int, warps: int, said: bool
) -> None:
    text = SCRIPT.replace("COPY", copy).replace("OP", op).replace("TILE", str(tile)).replace("WARPS", str(warps))
    (tmp_path / "main.py").write_text(text)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT207", "CUT209")))
    assert [f.code for f in made.findings] == ["CUT207"] * said
    assert all("cp.async writes zeros" in f.message for f in made.findings)


BEHIND = (
    HEAD
    + """
@cute.kernel
def kernel(x: cute.Tensor, n: cutlass.Int32):
    t, _, _ = cute.arch.thread_idx()
    bytes = cutlass.utils.SmemAllocator().allocate_array(cutlass.Float32, 96)
    s = cute.make_tensor(bytes, cute.make_layout(128))
    atom = cute.make_copy_atom(OP, cutlass.Float32, num_bits_per_copy=32)
    mine = cute.make_tiled_copy_tv(atom, cute.make_layout(128), cute.make_layout(1)).get_slice(t)
    p = cute.make_rmem_tensor((1, 1), cutlass.Boolean)
    p[0, 0] = mine.partition_S(cute.make_identity_tensor(128))[0, 0] < min(n, 96)
    cute.copy(atom, mine.partition_S(cute.local_tile(x, (128,), (0,))), mine.partition_D(s), pred=p)
    cute.arch.cp_async_commit_group()
    cute.arch.cp_async_wait_group(0)
    cute.arch.sync_threads()
    x[t] = s[t % 96]


@cute.jit
def host(x: cute.Tensor, n: cutlass.Int32):
    kernel(x, n).launch(grid=(1, 1, 1), block=(128, 1, 1))


x = make_fake_tensor(cutlass.Float32, (cute.sym_int(),), stride=(1,), assumed_align=16)
cute.compile(host, x, cutlass.Int32(9))
"""
)


@pytest.mark.parametrize(("op", "said"), [(ASYNC, True), (PLAIN, False)])
def test_a_tensor_that_is_larger_than_its_array(tmp_path: Path, op: str, said: bool) -> None:
    (tmp_path / "main.py").write_text(BEHIND.replace("OP", op))
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT209",)))
    assert [f.code for f in made.findings] == ["CUT209"] * said
