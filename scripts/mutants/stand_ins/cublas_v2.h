#pragma once
#include <cuda_runtime.h>
#include <cuda_fp16.h>
typedef void* cublasHandle_t; typedef int cublasStatus_t; enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_COMPUTE_16F=0, CUBLAS_GEMM_DEFAULT=0, CUBLAS_GEMM_DEFAULT_TENSOR_OP=0 };
template <class... A> int cublasCreate(A...) { return 0; } template <class... A> int cublasDestroy(A...) { return 0; }
template <class... A> int cublasGetVersion_v2(A...) { return 0; } template <class... A> int cublasHgemm(A...) { return 0; } template <class... A> int cublasSgemm(A...) { return 0; }
template <class... A> int cublasGemmEx(A...) { return 0; } template <class... A> int cublasSetMathMode(A...) { return 0; }
inline char const* cublasGetStatusString(int) { return ""; }
