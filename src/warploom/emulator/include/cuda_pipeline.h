// The C form of asynchronous copies to shared memory: cp.async and its groups.
#pragma once

#include "cuda_runtime.h"
#include "warploom/group_copy.h"

inline void __pipeline_memcpy_async(void* target, const void* source, size_t bytes,
                                    size_t zeros = 0) {
  const size_t kept = bytes - (zeros < bytes ? zeros : bytes);
  warploom::thread_copy(target, source, static_cast<unsigned>(bytes), static_cast<unsigned>(kept));
}
inline void __pipeline_commit() { warploom::copies_commit(); }
inline void __pipeline_wait_prior(size_t left) {
  warploom::copies_wait(static_cast<unsigned>(left));
}
