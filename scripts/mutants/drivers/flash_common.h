// Runs kernels of FlashAttention on random matrices; what they leave is compared. Of no flag but causality are there two kernels.
#pragma once
#define FLASHATTENTION_DISABLE_DROPOUT
#define FLASHATTENTION_DISABLE_ALIBI
#define FLASHATTENTION_DISABLE_SOFTCAP
#define FLASHATTENTION_DISABLE_LOCAL
#define FLASHATTENTION_DISABLE_UNEVEN_K
#include <cutlass/numeric_types.h>
#include "flash.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
using T = cutlass::half_t;
static void* filled(size_t n) {
  std::vector<T> h(n);
  for (auto& x : h) x = T(float(rand() % 17 - 8) / 8);
  void* p;
  cudaMalloc(&p, n * sizeof(T));
  cudaMemcpy(p, h.data(), n * sizeof(T), cudaMemcpyHostToDevice);
  return p;
}
static void* empty(size_t bytes) {
  void* p;
  cudaMalloc(&p, bytes);
  return p;
}
constexpr int B = 2, H = 4, HK = 2, D = 64;
template <class Params>
void describe(Params& p, int sq, int sk, bool causal) {
  p.b = B; p.h = H; p.h_k = HK; p.h_h_k_ratio = H / HK; p.d = D; p.d_rounded = D;
  p.seqlen_q = sq; p.seqlen_k = sk; p.total_q = B * sq;
  p.seqlen_q_rounded = (sq + 127) / 128 * 128; p.seqlen_k_rounded = (sk + 127) / 128 * 128;
  p.q_ptr = filled(size_t(B) * sq * H * D); p.k_ptr = filled(size_t(B) * sk * HK * D); p.v_ptr = filled(size_t(B) * sk * HK * D);
  p.o_ptr = empty(size_t(B) * sq * H * D * 2);
  p.q_batch_stride = p.o_batch_stride = sq * H * D; p.q_row_stride = p.o_row_stride = H * D; p.q_head_stride = p.o_head_stride = D;
  p.k_batch_stride = p.v_batch_stride = sk * HK * D; p.k_row_stride = p.v_row_stride = HK * D; p.k_head_stride = p.v_head_stride = D;
  p.softmax_lse_ptr = empty(4 * size_t(B) * H * p.seqlen_q_rounded);
  p.scale_softmax = 0.125f; p.scale_softmax_log2 = 0.125f * 1.4426950408889634f;
  p.p_dropout = 1.f; p.p_dropout_in_uint8_t = 255; p.rp_dropout = 1.f; p.scale_softmax_rp_dropout = p.scale_softmax;
  p.window_size_left = -1; p.window_size_right = causal ? 0 : -1; p.is_causal = causal;
}
