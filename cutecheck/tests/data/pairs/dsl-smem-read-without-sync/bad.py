import cutlass
import cutlass.cute as cute
from cutlass.cute.runtime import make_fake_tensor


@cute.kernel
def transpose(src: cute.Tensor, dst: cute.Tensor, load: cute.TiledCopy, store: cute.TiledCopy):
    tid, _, _ = cute.arch.thread_idx()
    sT = cutlass.memory.SmemAllocator().allocate_tensor(
        cutlass.Float32, cute.make_layout((32, 32), stride=(33, 1)), byte_alignment=16
    )
    thr_load = load.get_slice(tid)
    cute.copy(load, thr_load.partition_S(src), thr_load.partition_D(sT))
    pass
    turned = cute.make_tensor(sT.iterator, cute.make_layout((32, 32), stride=(1, 33)))
    thr_store = store.get_slice(tid)
    cute.copy(store, thr_store.partition_S(turned), thr_store.partition_D(dst))


@cute.jit
def host(src: cute.Tensor, dst: cute.Tensor):
    atom = cute.make_copy_atom(cute.nvgpu.CopyUniversalOp(), cutlass.Float32, num_bits_per_copy=32)
    rows = cute.make_tiled_copy_tv(atom, cute.make_layout((4, 32), stride=(32, 1)), cute.make_layout((1, 1)))
    transpose(src, dst, rows, rows).launch(grid=(1, 1, 1), block=(128, 1, 1))


x = make_fake_tensor(cutlass.Float32, (32, 32), stride=(32, 1), assumed_align=16)
cute.compile(host, x, x)
