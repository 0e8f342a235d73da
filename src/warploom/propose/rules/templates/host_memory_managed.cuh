
// In place of cudaMallocManaged, for memory that the host does not touch.
template <typename Element>
cudaError_t windowMallocManaged(Element** pointer, size_t bytes, unsigned = cudaMemAttachGlobal) {
  return windowMalloc(pointer, bytes);
}
