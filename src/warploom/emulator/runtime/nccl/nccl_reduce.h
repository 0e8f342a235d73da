// Arithmetic of reductions for every data type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nccl/nccl_shim.h"

namespace warploom::nccl {

// A built-in operation, or a sum of values that are scaled first.
struct ReduceOp {
  int code = ncclSum;  // as the user named it
  bool scaled = false;
  unsigned char scalar[8] = {};
  const void* device_scalar = nullptr;  // read when the collective runs
  bool destroyed = false;
};

std::size_t type_bytes(ncclDataType_t type);
const char* type_name(ncclDataType_t type);
const char* op_name(int code);

// out[i] = reduction over `inputs[r][i]`, in the order of the ranks. Floats of 16 and 8 bits are
// accumulated in 32 bits and rounded once; of 8 bits, what is too large becomes the largest one.
void reduce(char* out, const std::vector<const char*>& inputs, std::size_t count,
            ncclDataType_t type, const std::vector<ReduceOp>& ops);

}  // namespace warploom::nccl
