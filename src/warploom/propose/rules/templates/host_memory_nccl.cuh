
// In place of ncclMemAlloc and ncclMemFree.
inline ncclResult_t windowMemAlloc(void** pointer, size_t bytes) {
  return windowMalloc(pointer, bytes) == cudaSuccess ? ncclSuccess : ncclSystemError;
}
inline ncclResult_t windowMemFree(void* pointer) {
  return windowFree(pointer) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}
