"""A tile is turned by reading a transposed view through the copy that wrote it: plain rows with a pad, and a swizzle."""

import cutlass
import cutlass.cute as cute
import cutlass.utils
from cutlass.cute.runtime import make_fake_compact_tensor


class Transpose:
    def __init__(self, padded: bool):
        self.padded = padded

    def tile(self):
        match self.padded:
            case True:
                return cute.make_layout((32, 32), stride=(33, 1))
            case _:
                rows = cute.make_layout((32, 32), stride=(32, 1))
                return cute.make_composed_layout(cute.make_swizzle(5, 0, 5), 0, rows)

    @cute.jit
    def __call__(self, src: cute.Tensor, dst: cute.Tensor):
        atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), src.element_type, num_bits_per_copy=32)
        copy = cute.make_tiled_copy_tv(atom, cute.make_layout((8, 32), stride=(32, 1)), cute.make_layout((1, 1)))
        self.turn(src, dst, self.tile(), copy).launch(grid=[8, 8, 1], block=[256, 1, 1])

    @cute.kernel
    def turn(self, src: cute.Tensor, dst: cute.Tensor, tile, copy: cute.TiledCopy):
        tidx, _, _ = cute.arch.thread_idx()
        bx, by, _ = cute.arch.block_idx()
        smem = cutlass.utils.SmemAllocator().allocate_tensor(src.element_type, tile, byte_alignment=128)
        turned = cute.composition(smem, cute.make_layout((32, 32), stride=(32, 1)))
        thr = copy.get_slice(tidx)
        gS, gD = cute.local_tile(src, (32, 32), (bx, by)), cute.local_tile(dst, (32, 32), (by, bx))
        cute.copy(copy, thr.partition_S(gS), thr.partition_D(smem))
        cute.copy(copy, thr.partition_S(smem), thr.partition_D(gS))
        cute.copy(copy, thr.partition_S(turned), thr.partition_D(gD))


if __name__ == "__main__":
    for padded in (True, False):
        tensors = [make_fake_compact_tensor(cutlass.Float32, (256, 256), stride_order=(1, 0)) for _ in range(2)]
        cute.compile(Transpose(padded), *tensors)
