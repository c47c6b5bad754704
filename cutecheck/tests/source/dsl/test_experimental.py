"""Kernels of ``cutlass.cute.experimental``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cutecheck.tests.source.dsl.run import driver, results

SCRIPT = """
import cutlass
from cutlass import cute
from cutlass.cute import experimental as cute_ext

@cute.experimental.kernel
def kernel():
    plain = cute.make_layout((8, 64, 2), stride=(64, 1, 512))
    swizzled = cute.make_composed_layout(cute.make_swizzle(3, 4, 3), 0, plain)
    smem = cute_ext.allocate(cutlass.Float16, cute.AddressSpace.smem, swizzled, alignment=1024)
    cute.group_modes(smem, 0, 2)
    rmem = cute_ext.allocate(cutlass.Float16, cute.AddressSpace.rmem, cute.make_layout((8, 4)), alignment=32)
    cute.zipped_divide(rmem, cute.core._pack_shape((4, 4)))
    tmem = cute_ext.allocate(
        cutlass.Float32, cute.AddressSpace.tmem, cute.make_layout((128, 64), stride=(65536, 1)), alignment=16
    )
    cute.flat_divide(tmem, (128, 32))

@cute.experimental.jit
def host():
    kernel().launch(grid=(1, 1, 1), block=(128, 1, 1))

cute_ext.compile(host)
"""


def test_buffers_in_each_space(tmp_path: Path) -> None:
    made = results(driver(tmp_path, SCRIPT, arch="sm_100a"))
    found: dict[str, Any] = {call: values[0] for (_, call), values in made.items() if call != "make_layout"}
    assert found["group_modes"]["type"] == ('!cute.memref<f16, smem, align<1024>, S<3,4,3>, "((8,64),2):((64,1),512)">')
    assert found["zipped_divide"]["layout"] == "((4,4),(2,1)):((1,8),(4,0))"
    assert found["flat_divide"]["type"] == '!cute.memref<f32, tmem, align<16>, "(128,32,1,2):(65536,1,0,32)">'
