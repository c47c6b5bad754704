#include "flash_common.h"
#include "flash_fwd_launch_template.h"
int main(int, char** argv) {
  int sq = atoi(argv[1]), sk = atoi(argv[2]);
  flash::Flash_fwd_params p;
  memset(&p, 0, sizeof(p));
  describe(p, sq, sk, false);
  p.num_splits = 3;
  p.softmax_lseaccum_ptr = empty(4 * size_t(3) * B * H * sq);
  p.oaccum_ptr = empty(4 * size_t(3) * B * H * sq * D);
  flash::run_flash_splitkv_fwd<Flash_fwd_kernel_traits<D, 64, 128, 4, false, false, T>, false>(p, 0);
  cudaDeviceSynchronize();
  cudaFree(p.o_ptr);
}
