#pragma once
#include "cutlass/pipeline/pipeline.hpp"
