#include <cute/tensor.hpp>
#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

__global__ void __launch_bounds__(128) mainloop(half_t* out, int k_tiles) {
  extern __shared__ __align__(128) unsigned char raw[];
  auto atom = composition(Swizzle<3, 3, 3>{}, make_layout(make_shape(_64{}, _8{}), make_stride(_1{}, _64{})));
  auto layout = tile_to_shape(atom, make_shape(_64{}, _32{}, _2{}));
  auto sB = make_tensor(make_smem_ptr(reinterpret_cast<half_t*>(raw)), layout);
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, make_layout(make_shape(_2{}, _2{}, _1{})), make_tile(_32{}, _32{}, _16{}));
  auto rB = mma.get_slice(threadIdx.x).partition_fragment_B(sB(_, _, 0));
  auto s2r = make_tiled_copy_B(Copy_Atom<SM75_U16x8_LDSM_T, half_t>{}, mma);
  auto thr = s2r.get_slice(threadIdx.x);
  auto view = thr.retile_D(rB);
  auto read_stage = [&](int stage) {
    auto from = thr.partition_S(sB(_, _, stage));
    CUTE_UNROLL
    for (int k = 0; k < size<2>(from); ++k) copy(s2r, from(_, _, k), view(_, _, k));
  };
  for (int t = 0; t < k_tiles; ++t) {
    read_stage(t & 1);
    __syncthreads();
  }
  out[threadIdx.x] = rB(0);
}
void run(half_t* out, int k) { mainloop<<<1, 128, 64 * 32 * 2 * sizeof(half_t)>>>(out, k); }
