"""Both operands of an elementwise sum guarded by the shape of one: tensors of one shape, tiled alike."""

import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def load_both(mA: cute.Tensor, mB: cute.Tensor, tiled: cute.TiledCopy):
    tidx, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    gA = cute.local_tile(mA, (64, 32), (bx, by))
    gB = cute.local_tile(mB, (64, 32), (bx, by))
    cB = cute.local_tile(cute.make_identity_tensor(mB.shape), (64, 32), (bx, by))
    thr = tiled.get_slice(tidx)
    tAgA, tBgB, tBcB = thr.partition_S(gA), thr.partition_S(gB), thr.partition_S(cB)
    tArA, tBrB = cute.make_fragment_like(tAgA), cute.make_fragment_like(tBgB)
    pred = cute.make_rmem_tensor(tBcB.shape, cutlass.Boolean)
    for i in range(cute.size(pred)):
        pred[i] = cute.elem_less(tBcB[i], mB.shape)
    cute.copy(tiled, tAgA, tArA, pred=pred)
    cute.copy(tiled, tBgB, tBrB, pred=pred)


@cute.jit
def host(a: cute.Tensor, b: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), a.element_type, num_bits_per_copy=32)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_ordered_layout((16, 8), order=(1, 0)), cute.make_layout((1, 1)))
    load_both(a, b, tiled).launch(grid=[8, 8, 1], block=[128, 1, 1])


def tensor(rows: object, columns: object) -> object:
    return make_fake_tensor(cutlass.Float32, (rows, columns), stride=(cute.sym_int(divisibility=32), 1), assumed_align=16)


if __name__ == "__main__":
    cute.compile(host, tensor(cute.sym_int(), cute.sym_int()), tensor(cute.sym_int(), cute.sym_int()))
