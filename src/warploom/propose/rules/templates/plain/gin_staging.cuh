  size_t most = 0;  // where all-reduces collect what peers send: as much as the largest buffer
  for (const Memory& m : memory()) most = m.freed || m.bytes < most ? most : m.bytes;
  if (windowMalloc(&staging, most + 4096) != cudaSuccess) return ncclSystemError;
