
// Communications run one after the other: their one stream sees to that.
inline ncclResult_t onStream(cudaStream_t stream) {
  static const cudaStream_t first = stream;
  return stream == first ? ncclSuccess : fail("a second stream needs the general form");
}
