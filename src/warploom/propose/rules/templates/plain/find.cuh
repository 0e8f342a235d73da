
// Finds the place of `bytes` at `pointer`.
inline ncclResult_t find(const void* pointer, size_t bytes, Place* place) {
  auto* at = static_cast<const char*>(pointer);
  for (const Memory& m : memory()) {
    if (m.window == nullptr || at < m.base || at + bytes > m.base + m.bytes) continue;
    *place = Place{m.window, size_t(at - m.base)};
    return ncclSuccess;
  }
  return fail("a buffer that is communicated is in no window");
}
