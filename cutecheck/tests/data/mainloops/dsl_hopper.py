"""Warp-specialised TMA + WGMMA GEMM with pipelines and a TMA store epilogue, sm_90a."""
import cutlass
import cutlass.cute as cute
import cutlass.pipeline as pipeline
import cutlass.utils as utils
import cutlass.utils.hopper_helpers as sm90
from cutlass.cute.nvgpu import cpasync, warpgroup
from cutlass.cute.runtime import make_fake_tensor


class HopperGemm:
    def __init__(self, tile=(128, 128, 64), stages=4, epi_stages=2):
        self.tile = tile
        self.stages = stages
        self.epi_stages = epi_stages
        self.epi_tile = (64, 64)
        self.mma_threads = 128
        self.threads = 256

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, c: cute.Tensor):
        self.dtype = a.element_type
        self.c_dtype = c.element_type
        self.la = utils.LayoutEnum.from_tensor(a)
        self.lb = utils.LayoutEnum.from_tensor(b)
        self.lc = utils.LayoutEnum.from_tensor(c)
        mma = sm90.make_trivial_tiled_mma(
            self.dtype, self.dtype, self.la.sm90_mma_major_mode(), self.lb.sm90_mma_major_mode(),
            cutlass.Float32, (1, 1, 1), tiler_mn=(64, self.tile[1]))
        a_layout = sm90.make_smem_layout_a(self.la, self.tile, self.dtype, self.stages)
        b_layout = sm90.make_smem_layout_b(self.lb, self.tile, self.dtype, self.stages)
        c_layout = sm90.make_smem_layout_epi(self.c_dtype, self.lc, self.epi_tile, self.epi_stages)
        ta, ma = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileG2SOp(), a, cute.slice_(a_layout, (None, None, 0)), (self.tile[0], self.tile[2]))
        tb, mb = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileG2SOp(), b, cute.slice_(b_layout, (None, None, 0)), (self.tile[1], self.tile[2]))
        tc, mc = cpasync.make_tiled_tma_atom(
            cpasync.CopyBulkTensorTileS2GOp(), c, cute.slice_(c_layout, (None, None, 0)), self.epi_tile)

        @cute.struct
        class Storage:
            bars: cute.struct.MemRange[cutlass.Int64, self.stages * 2]
            sA: cute.struct.Align[cute.struct.MemRange[self.dtype, cute.cosize(a_layout)], 1024]
            sB: cute.struct.Align[cute.struct.MemRange[self.dtype, cute.cosize(b_layout)], 1024]
            sC: cute.struct.Align[cute.struct.MemRange[self.c_dtype, cute.cosize(c_layout)], 1024]

        self.storage = Storage
        grid = cute.ceil_div(c.shape, (self.tile[0], self.tile[1]))
        self.kernel(ta, ma, tb, mb, tc, mc, mma, a_layout, b_layout, c_layout).launch(
            grid=(*grid, 1), block=(self.threads, 1, 1), cluster=(1, 1, 1))

    @cute.kernel
    def kernel(self, ta: cute.CopyAtom, mA: cute.Tensor, tb: cute.CopyAtom, mB: cute.Tensor, tc: cute.CopyAtom,
               mC: cute.Tensor, mma: cute.TiledMma, a_layout: cute.ComposedLayout, b_layout: cute.ComposedLayout,
               c_layout: cute.ComposedLayout):
        tidx, _, _ = cute.arch.thread_idx()
        bx, by, _ = cute.arch.block_idx()
        warp = cute.arch.make_warp_uniform(cute.arch.warp_idx())
        if warp == 0:
            cpasync.prefetch_descriptor(ta)
            cpasync.prefetch_descriptor(tb)
        smem = utils.SmemAllocator()
        storage = smem.allocate(self.storage)
        sA = storage.sA.get_tensor(a_layout.outer, swizzle=a_layout.inner)
        sB = storage.sB.get_tensor(b_layout.outer, swizzle=b_layout.inner)
        sC = storage.sC.get_tensor(c_layout.outer, swizzle=c_layout.inner)
        nbytes = cute.size_in_bytes(self.dtype, cute.slice_(a_layout, (None, None, 0))) + cute.size_in_bytes(
            self.dtype, cute.slice_(b_layout, (None, None, 0)))
        pipe = pipeline.PipelineTmaAsync.create(
            barrier_storage=storage.bars.data_ptr(),
            num_stages=self.stages,
            producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread),
            consumer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, self.mma_threads // 32),
            tx_count=nbytes,
            cta_layout_vmnk=cute.make_layout((1, 1, 1, 1)),
        )
        gA = cute.local_tile(mA, self.tile, (bx, by, None), proj=(1, None, 1))
        gB = cute.local_tile(mB, self.tile, (bx, by, None), proj=(None, 1, 1))
        gC = cute.local_tile(mC, self.tile, (bx, by, None), proj=(1, 1, None))
        one = cute.make_layout(1)
        tAsA, tAgA = cpasync.tma_partition(ta, 0, one, cute.group_modes(sA, 0, 2), cute.group_modes(gA, 0, 2))
        tBsB, tBgB = cpasync.tma_partition(tb, 0, one, cute.group_modes(sB, 0, 2), cute.group_modes(gB, 0, 2))
        n_tiles = cute.size(gA, mode=[2])
        cute.arch.sync_threads()
        group = cute.arch.make_warp_uniform(tidx // 128)
        if group == 0:
            cute.arch.setmaxregister_decrease(40)
            if warp == 0:
                state = pipeline.make_pipeline_state(pipeline.PipelineUserType.Producer, self.stages)
                for kt in cutlass.range(n_tiles, unroll=1):
                    pipe.producer_acquire(state)
                    bar = pipe.producer_get_barrier(state)
                    cute.copy(ta, tAgA[None, state.count], tAsA[None, state.index], tma_bar_ptr=bar)
                    cute.copy(tb, tBgB[None, state.count], tBsB[None, state.index], tma_bar_ptr=bar)
                    pipe.producer_commit(state)
                    state.advance()
                pipe.producer_tail(state)
        else:
            cute.arch.setmaxregister_increase(232)
            mtid = tidx - 128
            thr = mma.get_slice(mtid)
            tCrA = mma.make_fragment_A(thr.partition_A(sA))
            tCrB = mma.make_fragment_B(thr.partition_B(sB))
            acc = cute.make_rmem_tensor(mma.partition_shape_C(self.tile[:2]), cutlass.Float32)
            read = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, self.stages)
            release = pipeline.make_pipeline_state(pipeline.PipelineUserType.Consumer, self.stages)
            mma.set(warpgroup.Field.ACCUMULATE, False)
            nk = cute.size(tCrA, mode=[2])
            pipe.consumer_wait(read)
            warpgroup.fence()
            for kb in cutlass.range_constexpr(nk):
                cute.gemm(mma, acc, tCrA[None, None, kb, read.index], tCrB[None, None, kb, read.index], acc)
                mma.set(warpgroup.Field.ACCUMULATE, True)
            warpgroup.commit_group()
            read.advance()
            for kt in cutlass.range(1, n_tiles, 1, unroll=1):
                pipe.consumer_wait(read)
                warpgroup.fence()
                for kb in cutlass.range_constexpr(nk):
                    cute.gemm(mma, acc, tCrA[None, None, kb, read.index], tCrB[None, None, kb, read.index], acc)
                warpgroup.commit_group()
                warpgroup.wait_group(1)
                pipe.consumer_release(release)
                read.advance()
                release.advance()
            warpgroup.wait_group(0)
            pipe.consumer_release(release)
            # epilogue
            st = sm90.sm90_get_smem_store_op(self.lc, elem_ty_d=self.c_dtype, elem_ty_acc=cutlass.Float32)
            base = cute.make_tiled_copy_C_atom(
                cute.make_copy_atom(cute.nvgpu.warp.StMatrix8x8x16bOp(self.lc.is_m_major_c(), 4), self.c_dtype), mma)
            r2s = cute.make_tiled_copy_S(st, base)
            thr_r2s = r2s.get_slice(mtid)
            tRS_sC = thr_r2s.partition_D(sC)
            tRS_acc = r2s.retile(acc)
            shape = cute.shape(thr_r2s.partition_S(sC))[:3]
            regs = cute.make_rmem_tensor(shape, cutlass.Float32)
            out = cute.make_rmem_tensor(shape, self.c_dtype)
            gC_epi = cute.zipped_divide(gC, self.epi_tile)
            bSsC, bSgC = cpasync.tma_partition(tc, 0, one, cute.group_modes(sC, 0, 2), gC_epi)
            n_epi = cute.size(gC_epi, mode=[1])
            epi_shape = gC_epi.shape[1]
            epi_order = cute.make_layout(epi_shape, stride=(epi_shape[1], 1))
            store_pipe = pipeline.PipelineTmaStore.create(
                num_stages=self.epi_stages,
                producer_group=pipeline.CooperativeGroup(pipeline.Agent.Thread, self.mma_threads))
            for e in cutlass.range_constexpr(n_epi):
                for v in cutlass.range_constexpr(cute.size(regs)):
                    regs[v] = tRS_acc[e * cute.size(regs) + v]
                out.store(regs.load().to(self.c_dtype))
                buf = e % self.epi_stages
                cute.copy(r2s, out, tRS_sC[None, None, None, buf])
                cute.arch.fence_proxy("async.shared", space="cta")
                cute.arch.barrier(barrier_id=1, number_of_threads=self.mma_threads)
                if warp == 4:
                    coord = epi_order.get_hier_coord(e)
                    cute.copy(tc, bSsC[None, buf], bSgC[None, coord])
                    store_pipe.producer_commit()
                    store_pipe.producer_acquire()
                cute.arch.barrier(barrier_id=1, number_of_threads=self.mma_threads)
            if warp == 4:
                store_pipe.producer_tail()


def fake(m, n):
    return make_fake_tensor(cutlass.Float16, (cute.sym_int(divisibility=m), cute.sym_int(divisibility=n)),
                            stride=(cute.sym_int64(divisibility=8), 1), assumed_align=16)


if __name__ == "__main__":
    cute.compile(HopperGemm(), fake(128, 64), fake(128, 64), fake(128, 128))
