// What kernels see of CUTLASS's divisors, where none of its headers is at hand: quotients and what is left of them.
#pragma once

namespace cutlass {

struct FastDivmod {
  int divisor = 1;

  constexpr FastDivmod() = default;
  __host__ __device__ FastDivmod(int divisor_) : divisor(divisor_) {}

  __host__ __device__ int div(int dividend) const { return dividend / divisor; }
  __host__ __device__ int divide(int dividend) const { return dividend / divisor; }
  __host__ __device__ int rem(int dividend) const { return dividend % divisor; }
  __host__ __device__ int remainder(int dividend) const { return dividend % divisor; }
  __host__ __device__ int divmod(int& remainder, int dividend) const {
    remainder = dividend % divisor;
    return int(dividend / divisor);
  }
  __host__ __device__ void operator()(int& quotient, int& remainder, int dividend) const {
    quotient = int(dividend / divisor);
    remainder = dividend % divisor;
  }
  __host__ __device__ int divmod(int64_t& remainder, int64_t dividend) const {
    remainder = dividend % divisor;
    return int(dividend / divisor);
  }
  __host__ __device__ void operator()(int& quotient, int64_t& remainder, int64_t dividend) const {
    quotient = int(dividend / divisor);
    remainder = dividend % divisor;
  }
  __host__ __device__ void fast_divmod(int& quotient, int& remainder, int dividend) const {
    quotient = dividend / divisor;
    remainder = dividend % divisor;
  }
  __host__ __device__ operator int() const { return divisor; }
};

struct FastDivmodU64 {
  uint64_t divisor = 0;

  __host__ __device__ FastDivmodU64() {}
  __host__ __device__ FastDivmodU64(uint64_t divisor_) : divisor(divisor_) {}

  __host__ __device__ uint64_t divide(uint64_t dividend) const { return dividend / divisor; }
  __host__ __device__ uint64_t modulus(uint64_t quotient, uint64_t dividend) const {
    return dividend - quotient * divisor;
  }
  __host__ __device__ uint64_t divmod(uint64_t& remainder, uint64_t dividend) const {
    remainder = dividend % divisor;
    return dividend / divisor;
  }
  __host__ __device__ void operator()(uint64_t& quotient, uint64_t& remainder, uint64_t dividend) const {
    quotient = dividend / divisor;
    remainder = dividend % divisor;
  }
};

struct FastDivmodU64Pow2 {
  uint64_t divisor = 0;

  __host__ __device__ FastDivmodU64Pow2() {}
  __host__ __device__ FastDivmodU64Pow2(uint64_t divisor_) : divisor(divisor_) {}

  __host__ __device__ uint64_t divide(uint64_t dividend) const { return dividend / divisor; }
  __host__ __device__ uint64_t modulus(uint64_t dividend) const { return dividend % divisor; }
  __host__ __device__ uint64_t divmod(uint64_t& remainder, uint64_t dividend) const {
    remainder = dividend % divisor;
    return dividend / divisor;
  }
};

}  // namespace cutlass
