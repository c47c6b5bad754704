"""Stores through pointers that a kernel made of addresses: no two blocks are known to have one place."""

from __future__ import annotations

from pathlib import Path

from cutecheck.config import Settings
from cutecheck.engine.run import check, inputs
from cutecheck.tests.source.dsl.run import HEAD

SCRIPT = (
    HEAD
    + """
@cute.kernel
def kernel(a: cute.Tensor, o: cute.Tensor, base: cutlass.Int64, packed: cutlass.Constexpr):
    t, _, _ = cute.arch.thread_idx()
    b, _, _ = cute.arch.block_idx()
    r = cute.make_rmem_tensor(1, cutlass.Float32)
    lanes = cute.make_layout(32)
    cute.autovec_copy(cute.local_partition(cute.local_tile(a, (32,), (b,)), lanes, t), r)
    v = cute.make_rmem_tensor(1, cutlass.Int64)
    v[0] = (o.iterator + b * 32).toint()
    cute.recast_tensor(v, cutlass.Int32)[0] = 0
    first = cute.make_tensor(cute.make_ptr(cutlass.Float32, v[0], cute.AddressSpace.gmem, assumed_align=4), (32,))
    first[t] = r[0]
    for address in (o.iterator.toint() + b * 128, base + b * 128):
        p = cute.make_ptr(cutlass.Float32, address, cute.AddressSpace.gmem, assumed_align=4)
        cute.autovec_copy(r, cute.local_partition(cute.make_tensor(p, (32,)), lanes, t))


@cute.jit
def host(a: cute.Tensor, o: cute.Tensor, base: cutlass.Int64):
    kernel(a, o, base, True).launch(grid=(8, 1, 1), block=(32, 1, 1))


cute.compile(host, *(make_fake_tensor(cutlass.Float32, (256,), stride=(1,)) for _ in "xy"), 4096)
"""
)


def test_blocks_store_to_addresses_of_their_own(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text(SCRIPT)
    made = check(inputs([str(tmp_path)]), Settings(arch=("sm_90a",), cache=False, select=("CUT219",)))
    assert not made.findings
