#include "flash_common.h"
#include "flash_fwd_launch_template.h"
int main(int, char** argv) {
  int sq = atoi(argv[1]), sk = atoi(argv[2]);
  bool causal = atoi(argv[3]);
  flash::Flash_fwd_params p;
  memset(&p, 0, sizeof(p));
  describe(p, sq, sk, causal);
  using Traits = Flash_fwd_kernel_traits<D, 128, 128, 4, false, false, T>;
  if (causal) flash::run_flash_fwd<Traits, false, true>(p, 0);
  else flash::run_flash_fwd<Traits, false, false>(p, 0);
  cudaDeviceSynchronize();
  cudaFree(p.o_ptr);
}
