#include "flash_common.h"
#include "flash_bwd_launch_template.h"
int main(int, char** argv) {
  int sq = atoi(argv[1]), sk = atoi(argv[2]);
  bool causal = atoi(argv[3]);
  flash::Flash_bwd_params p;
  memset(&p, 0, sizeof(p));
  describe(p, sq, sk, causal);
  size_t nq = size_t(B) * sq * H * D, nk = size_t(B) * sk * H * D, lse = size_t(B) * H * p.seqlen_q_rounded;
  cudaFree(p.o_ptr);
  p.o_ptr = filled(nq);
  std::vector<float> ones(lse, 5.0f);
  cudaMemcpy(p.softmax_lse_ptr, ones.data(), 4 * lse, cudaMemcpyHostToDevice);
  p.do_ptr = filled(nq);
  p.do_batch_stride = p.dq_batch_stride = sq * H * D; p.do_row_stride = p.dq_row_stride = H * D; p.do_head_stride = p.dq_head_stride = D;
  p.dk_batch_stride = p.dv_batch_stride = sk * H * D; p.dk_row_stride = p.dv_row_stride = H * D; p.dk_head_stride = p.dv_head_stride = D;
  p.dq_ptr = empty(2 * nq); p.dk_ptr = empty(2 * nk); p.dv_ptr = empty(2 * nk);
  p.dsoftmax_sum = empty(4 * lse);
  p.dq_accum_ptr = empty(4 * size_t(B) * p.seqlen_q_rounded * H * D);
  using Traits = Flash_bwd_kernel_traits<D, 64, 128, 8, 2, 4, 4, true, false, T>;
  if (causal) flash::run_flash_bwd<Traits, false, true>(p, 0);
  else flash::run_flash_bwd<Traits, false, false>(p, 0);
  cudaDeviceSynchronize();
  cudaFree(p.dq_ptr);
  cudaFree(p.dk_ptr);
  cudaFree(p.dv_ptr);
}
