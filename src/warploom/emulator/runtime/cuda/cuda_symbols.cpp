// Calls that name a variable of the device (a symbol): copies like all others, once it is known to
// be one. The templates of the headers pass on whatever reference the program makes.
#include "../../include/cuda_runtime.h"
#include "cuda/cuda_copy.h"
#include "cuda/cuda_error.h"
#include "cuda/host_functions.h"
#include "host/host_addresses.h"
#include "host/program_range.h"
#include "memory/device_symbols.h"

namespace warploom {

namespace {

// What is wrong with a copy of `bytes` at `offset` of a symbol of `size` bytes.
cudaError_t symbol_error(const void* symbol, std::size_t size, const void* other, std::size_t bytes,
                         std::size_t offset) {
  if (!variable_of_symbol(symbol, size)) return cudaErrorInvalidSymbol;
  return other && offset <= size && bytes <= size - offset ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

cudaError_t copy_to_symbol(void* symbol, std::size_t size, const void* src, std::size_t bytes,
                           std::size_t offset, cudaStream_t stream, bool wait) {
  const char* name = wait ? "cudaMemcpyToSymbol" : "cudaMemcpyToSymbolAsync";
  if (refused_in_host_function(name)) return cudaErrorNotPermitted;
  if (const cudaError_t error = symbol_error(symbol, size, src, bytes, offset)) {
    return cuda_fail(error);
  }
  return copy_bytes(static_cast<char*>(symbol) + offset, src, bytes, name, stream, wait);
}

cudaError_t copy_from_symbol(void* dst, const void* symbol, std::size_t size, std::size_t bytes,
                             std::size_t offset, cudaStream_t stream, bool wait) {
  const char* name = wait ? "cudaMemcpyFromSymbol" : "cudaMemcpyFromSymbolAsync";
  if (refused_in_host_function(name)) return cudaErrorNotPermitted;
  if (const cudaError_t error = symbol_error(symbol, size, dst, bytes, offset)) {
    return cuda_fail(error);
  }
  return copy_bytes(dst, static_cast<const char*>(symbol) + offset, bytes, name, stream, wait);
}

cudaError_t symbol_address(void** address, const void* symbol, std::size_t size) {
  if (refused_in_host_function("cudaGetSymbolAddress")) return cudaErrorNotPermitted;
  if (!address) return cuda_fail(cudaErrorInvalidValue);
  program_writes(address, sizeof *address);
  if (!variable_of_symbol(symbol, size)) return cuda_fail(cudaErrorInvalidSymbol);
  note_asked(symbol);
  *address = const_cast<void*>(symbol);
  return cudaSuccess;
}

}  // namespace warploom
