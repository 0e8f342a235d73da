// `__device__`, `__constant__` and `__managed__` variables, and copies to and from them.
#pragma once

#include "api_types.h"
#include "device.h"

namespace warploom {

template <class _WT>
void* place_of(_WT& variable) {
  return const_cast<void*>(static_cast<const volatile void*>(__builtin_addressof(variable)));
}

// Tells the runtime of a variable of the program that lies in device memory.
void register_variable(const void* address, std::size_t bytes, const char* name, bool managed,
                       bool constant);
// Counts a variable to the constant memory of a file.
void count_constant(unsigned unit, std::size_t bytes);
template <class _WT>
void register_variable(const _WT& variable, const char* name, bool managed, bool constant) {
  register_variable(place_of(variable), sizeof variable, name, managed, constant);
}

// Names a variable of the device to the guard. It is written nowhere, but it might be, as far as
// the compiler knows, so that it has a place of its own.
#define WARPLOOM_MARK(mark, variable) \
  __attribute__((used)) static const volatile void* mark = __builtin_addressof(variable)

cudaError_t copy_to_symbol(void* symbol, std::size_t size, const void* src, std::size_t bytes,
                           std::size_t offset, cudaStream_t stream, bool wait);
cudaError_t copy_from_symbol(void* dst, const void* symbol, std::size_t size, std::size_t bytes,
                             std::size_t offset, cudaStream_t stream, bool wait);
cudaError_t symbol_address(void** address, const void* symbol, std::size_t size);

}  // namespace warploom

template <class _WT>
cudaError_t cudaMemcpyToSymbol(_WT& symbol, const void* src, size_t bytes, size_t offset = 0,
                               cudaMemcpyKind = cudaMemcpyHostToDevice) {
  return warploom::copy_to_symbol(warploom::place_of(symbol), sizeof(_WT), src, bytes, offset,
                                  nullptr, true);
}
template <class _WT>
cudaError_t cudaMemcpyToSymbolAsync(_WT& symbol, const void* src, size_t bytes, size_t offset = 0,
                                    cudaMemcpyKind = cudaMemcpyHostToDevice,
                                    cudaStream_t stream = nullptr) {
  return warploom::copy_to_symbol(warploom::place_of(symbol), sizeof(_WT), src, bytes, offset,
                                  stream, false);
}
template <class _WT>
cudaError_t cudaMemcpyFromSymbol(void* dst, const _WT& symbol, size_t bytes, size_t offset = 0,
                                 cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  return warploom::copy_from_symbol(dst, warploom::place_of(symbol), sizeof(_WT), bytes, offset,
                                    nullptr, true);
}
template <class _WT>
cudaError_t cudaMemcpyFromSymbolAsync(void* dst, const _WT& symbol, size_t bytes, size_t offset = 0,
                                      cudaMemcpyKind = cudaMemcpyDeviceToHost,
                                      cudaStream_t stream = nullptr) {
  return warploom::copy_from_symbol(dst, warploom::place_of(symbol), sizeof(_WT), bytes, offset,
                                    stream, false);
}
template <class _WT>
cudaError_t cudaGetSymbolAddress(void** address, const _WT& symbol) {
  return warploom::symbol_address(address, warploom::place_of(symbol), sizeof(_WT));
}
template <class _WT>
cudaError_t cudaGetSymbolSize(size_t* bytes, const _WT&) {
  *bytes = sizeof(_WT);
  return cudaSuccess;
}
