
// In place of stream-ordered memory, whose pools cannot be in windows. What a stream has freed is
// free for all streams: the host waits for it.
template <typename Element>
cudaError_t windowMallocAsync(Element** pointer, size_t bytes, cudaStream_t) {
  return windowMalloc(pointer, bytes);
}
template <typename Element>
cudaError_t windowMallocAsync(Element** pointer, size_t bytes, cudaMemPool_t, cudaStream_t) {
  return windowMalloc(pointer, bytes);
}
inline cudaError_t windowFreeAsync(void* pointer, cudaStream_t stream) {
  int device = deviceOf(pointer);
  if (device < 0) return cudaFreeAsync(pointer, stream);
@ON_BLOCK@  cudaError_t status = cudaStreamSynchronize(stream);
  return status == cudaSuccess ? release(pointer) : status;
}
