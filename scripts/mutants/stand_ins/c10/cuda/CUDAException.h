#pragma once
#include <cstdio>
#define C10_CUDA_CHECK(call) do { cudaError_t e_ = (call); if (e_ != cudaSuccess) printf("%s\n", cudaGetErrorString(e_)); } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())
