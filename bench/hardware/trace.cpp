// Writes when each kernel of a process ran, by CUPTI; loaded through CUDA_INJECTION64_PATH.
//
// A line for each kernel in $WARPLOOM_TRACE.PID: stream, start and end in nanoseconds, blocks,
// threads of a block, registers of a thread, name.
#include <cupti.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr size_t kBytes = 8 << 20;
FILE* g_out = nullptr;

void CUPTIAPI give(uint8_t** buffer, size_t* size, size_t* records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBytes));
  *size = kBytes;
  *records = 0;
}

void CUPTIAPI take(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t valid) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const auto& k = *reinterpret_cast<const CUpti_ActivityKernel9*>(record);
    std::fprintf(g_out, "%u %llu %llu %d %d %d %s\n", k.streamId,
                 static_cast<unsigned long long>(k.start), static_cast<unsigned long long>(k.end),
                 k.gridX * k.gridY * k.gridZ, k.blockX * k.blockY * k.blockZ,
                 static_cast<int>(k.registersPerThread), k.name);
  }
  std::free(buffer);
}

}  // namespace

extern "C" int InitializeInjection() {
  const char* path = std::getenv("WARPLOOM_TRACE");
  if (!path) return 1;
  g_out = std::fopen((std::string(path) + "." + std::to_string(getpid())).c_str(), "w");
  if (!g_out || cuptiActivityRegisterCallbacks(give, take) != CUPTI_SUCCESS) return 1;
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  std::atexit([] {
    cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    std::fclose(g_out);
  });
  return 1;
}
