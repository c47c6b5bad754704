import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def load(mA: cute.Tensor, mB: cute.Tensor, wide: cute.TiledCopy, narrow: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.Float16, cute.make_layout((64, 64), stride=(64, 1)), byte_alignment=16
    )
    cA = cute.make_identity_tensor(mA.shape)
    gA = cute.local_tile(mA, (64, 64), (bx, by))
    ctA = cute.local_tile(cA, (64, 128), (bx, by))
    thr = wide.get_slice(tid)
    thr_n = narrow.get_slice(tid)
    tAgA = thr.partition_S(gA)
    tAsA = thr.partition_D(smem)
    tAcA = thr.partition_S(ctA)
    tApA = cute.make_rmem_tensor(
        cute.make_layout(
            (tAgA.shape[0][1], cute.size(tAgA, mode=[1]), cute.size(tAgA, mode=[2])),
            stride=(cute.size(tAgA, mode=[1]) * cute.size(tAgA, mode=[2]), cute.size(tAgA, mode=[2]), 1),
        ),
        cutlass.Boolean,
    )
    for rest in cutlass.range_constexpr(tApA.shape[0]):
        for i in cutlass.range_constexpr(tApA.shape[1]):
            for j in cutlass.range_constexpr(tApA.shape[2]):
                tApA[rest, i, j] = cute.elem_less(tAcA[(0, rest), i, j], mA.shape)
    cute.copy(wide, tAgA, tAsA, pred=tApA)


@cute.jit
def host(mA: cute.Tensor, mB: cute.Tensor):
    a16 = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    a8 = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=64)
    wide = cute.make_tiled_copy_tv(a16, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    narrow = cute.make_tiled_copy_tv(a8, cute.make_layout((8, 16), stride=(16, 1)), cute.make_layout((1, 4)))
    grid = (cute.ceil_div(mA.shape[0], 64), cute.ceil_div(mA.shape[1], 64), 1)
    load(mA, mB, wide, narrow).launch(grid=grid, block=(128, 1, 1))


ft = make_fake_tensor(cutlass.Float16, (cute.sym_int(), cute.sym_int(divisibility=8)), stride=(cute.sym_int(divisibility=8), 1), assumed_align=16)
fb = make_fake_tensor(cutlass.Float16, (cute.sym_int(), cute.sym_int(divisibility=8)), stride=(cute.sym_int(divisibility=8), 1), assumed_align=16)
cute.compile(host, ft, fb)
