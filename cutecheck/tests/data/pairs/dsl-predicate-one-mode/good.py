import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def load(mA: cute.Tensor, tiled: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    bx, by, _ = cute.arch.block_idx()
    smem = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.Float16, cute.make_layout((64, 64), stride=(64, 1)), byte_alignment=16
    )
    cA = cute.make_identity_tensor(mA.shape)
    gA = cute.local_tile(mA, (64, 64), (bx, by))
    ctA = cute.local_tile(cA, (64, 64), (bx, by))
    thr = tiled.get_slice(tid)
    tAgA = thr.partition_S(gA)
    tAsA = thr.partition_D(smem)
    tAcA = thr.partition_S(ctA)
    tApA = cute.make_fragment((1, cute.size(tAsA, mode=[1]), cute.size(tAsA, mode=[2])), cutlass.Boolean)
    for i in cutlass.range_constexpr(cute.size(tApA, mode=[1])):
        for j in cutlass.range_constexpr(cute.size(tApA, mode=[2])):
            tApA[0, i, j] = cute.elem_less(tAcA[(0, 0), i, j], mA.shape)
    cute.copy(tiled, tAgA, tAsA, pred=tApA)


@cute.jit
def host(mA: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.cpasync.CopyG2SOp(), cutlass.Float16, num_bits_per_copy=128)
    tiled = cute.make_tiled_copy_tv(atom, cute.make_layout((16, 8), stride=(8, 1)), cute.make_layout((1, 8)))
    grid = (cute.ceil_div(mA.shape[0], 64), cute.ceil_div(mA.shape[1], 64), 1)
    load(mA, tiled).launch(grid=grid, block=(128, 1, 1))


cute.compile(host, make_fake_tensor(cutlass.Float16, (cute.sym_int(), cute.sym_int(divisibility=8)), stride=(cute.sym_int(divisibility=8), 1), assumed_align=16))
