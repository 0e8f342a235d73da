
inline size_t bytesOf(ncclDataType_t type) {
  switch (type) {
@SIZES@    default:
      return 0;
  }
}
