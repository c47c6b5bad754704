#pragma once
#include <cstdint>
namespace at { struct PhiloxCudaState { std::uint64_t seed, offset; }; }
