#include <cute/tensor.hpp>
using namespace cute;

template <class TmaA, class TmaB>
__global__ void load(CUTE_GRID_CONSTANT TmaA const tma_a, CUTE_GRID_CONSTANT TmaB const tma_b) {}

void run(half_t const* a, half_t const* b, int m, int n, int k) {
  // cutecheck: assume k % 8 == 0
  // cutecheck: assume n % 8 == 0
  auto smem = tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, make_shape(_128{}, _64{}));
  Tensor mA = make_tensor(a, make_layout(make_shape(m, k), make_stride(k + 1, _1{})));
  Tensor mB = make_tensor(b, make_layout(make_shape(n, k), make_stride(_1{}, n)));
  auto tma_a = make_tma_atom(SM90_TMA_LOAD{}, mA, smem, make_shape(_128{}, _64{}));
  auto tma_b = make_tma_atom(SM90_TMA_LOAD{}, mB, smem, make_shape(_128{}, _64{}));
  load<<<1, 128>>>(tma_a, tma_b);
}
