// Copies that other calls are made of.
#pragma once

#include <cstddef>

#include "../../include/warploom/api_types.h"

namespace warploom {

struct StreamOp;

// As cudaMemcpy or, where it does not `wait`, cudaMemcpyAsync does it, by the name of the call. The
// direction is that of the pointers; who waits takes the default stream.
cudaError_t copy_bytes(void* dst, const void* src, std::size_t bytes, const char* name,
                       cudaStream_t stream, bool wait);

// For which device an operation fills `p`: the one whose memory it is, else the stream's.
int device_filled(const void* p, const StreamOp& op);

// Where the element at `at` of an array lies, its rows' distance and number, and the bytes of an
// element; nullptr where there is no such array.
char* array_place(cudaArray_t array, const cudaPos& at, std::size_t& pitch, std::size_t& rows,
                  std::size_t& element);

}  // namespace warploom
