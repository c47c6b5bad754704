import cutlass
import cutlass.cute as cute
from cutlass.cute.nvgpu import cpasync, warp
from cutlass.cute.runtime import make_fake_tensor



def readers(mma):
    atom = cute.make_copy_atom(warp.LdMatrix8x8x16bOp(False, 4), cutlass.BFloat16)
    return cute.make_tiled_copy_A(atom, mma), cute.make_tiled_copy_B(atom, mma)


@cute.kernel
def product(mma: cute.TiledMma, layout: cute.ComposedLayout):
    tid, _, _ = cute.arch.thread_idx()
    memory = cutlass.utils.SmemAllocator()
    sA = memory.allocate_tensor(cutlass.BFloat16, layout, byte_alignment=128)
    sB = memory.allocate_tensor(cutlass.BFloat16, layout, byte_alignment=128)
    thr = mma.get_slice(tid)
    rA, rB = mma.make_fragment_A(thr.partition_A(sA)), mma.make_fragment_B(thr.partition_B(sB))
    acc = mma.make_fragment_C(thr.partition_shape_C((64, 64)))
    acc.fill(0.0)
    a, b = readers(mma)
    thr_a, thr_b = a.get_slice(tid), b.get_slice(tid)
    cute.copy(a, thr_a.partition_S(sA), thr_a.retile(rA))
    cute.copy(b, thr_b.partition_S(sB), thr_a.retile(rB))
    cute.gemm(mma, acc, rA, rB, acc)
    cute.print_tensor(acc)


@cute.jit
def host():
    op = warp.MmaF16BF16Op(cutlass.BFloat16, cutlass.Float32, (16, 8, 16))
    mma = cute.make_tiled_mma(op, cute.make_layout((4, 1, 1)), permutation_mnk=(64, 16, 16))
    rows = cute.make_composed_layout(cute.make_swizzle(3, 3, 3), 0, cute.make_layout((8, 64), stride=(64, 1)))
    product(mma, cute.tile_to_shape(rows, (64, 64), (0, 1))).launch(grid=(1, 1, 1), block=(128, 1, 1))


cute.compile(host)
