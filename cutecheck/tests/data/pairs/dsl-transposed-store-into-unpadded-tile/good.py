import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor

PAD = 1


@cute.kernel
def transpose(src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    sT = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((32, 32), stride=(1, 32 + PAD)), byte_alignment=16
    )
    thr = load.get_slice(tid)
    regs = cute.make_fragment_like(thr.partition_S(src))
    cute.copy(load, thr.partition_S(src), regs)
    cute.copy(load, regs, thr.partition_D(sT))
    cute.arch.sync_threads()
    turned = cute.make_tensor(sT.iterator, cute.make_layout((32, 32), stride=(32 + PAD, 1)))
    cute.copy(load, thr.partition_S(turned), thr.partition_D(dst))


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
    rows = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 1)))
    transpose(src, dst, rows).launch(grid=(1, 1, 1), block=(128, 1, 1))


x = make_fake_tensor(cutlass.Float32, (32, 32), stride=(32, 1), assumed_align=16)
cute.compile(host, x, x)
