// What NCCL asks of a plugin that carries one-sided operations ("RMA plugin", interface version 14,
// NCCL 2.30.5 and newer; src/include/plugin/rma/rma_v14.h of its sources has the original). NCCL's
// own proxy for GIN stands above it: it takes the descriptors that a kernel writes and calls these.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

enum NcclResult { kSuccess = 0, kSystemError = 2, kInternalError = 3, kInvalidArgument = 4 };
enum MemoryType { kHostMemory = 1, kCudaMemory = 2 };
enum SignalOperation { kNoSignal = 0, kSignalIncrement = 1, kSignalAdd = 2 };
constexpr int kHandleBytes = 128;        // NCCL_NET_HANDLE_MAXSIZE
constexpr uint64_t kIndexedSignals = 2;  // NCCL_NET_MR_FLAG_SIGNAL_NEVER_RESET
constexpr int kDeviceGinProxy = 2;       // NCCL_NET_DEVICE_GIN_PROXY

using NcclLogger = void (*)(int level, unsigned long flags, const char* file, int line,
                            const char* format, ...);

struct NetworkProperties {  // ncclNetProperties_v12_t
  const char* name;
  const char* pci_path;
  uint64_t guid;
  int pointer_support, registration_is_global, force_flush, speed, port;
  float latency;
  int max_comms, max_receives, device_type, device_version;
  int parts, part[8];
  size_t max_p2p_bytes, max_collective_bytes;
  int max_multi_request;
  int16_t rail, plane;
};

struct RmaConfig {  // ncclRmaConfig_v14_t
  int contexts, traffic_class, rank_stride;
};

struct RmaPlugin {  // ncclRma_v14_t
  const char* name;
  NcclResult (*init)(void** instance, uint64_t communicator, NcclLogger logger);
  NcclResult (*devices)(int* count);
  NcclResult (*get_properties)(int device, NetworkProperties* properties);
  NcclResult (*listen)(void* instance, int device, void* handle, void** listener);
  NcclResult (*connect)(void* instance, void* handles[], int ranks, int rank, void* listener,
                        void** comm);
  NcclResult (*create_context)(void* comm, RmaConfig* config, void** context);
  NcclResult (*register_memory)(void* comm, void* data, size_t bytes, int type, uint64_t flags,
                                void** memory);
  NcclResult (*register_dmabuf)(void* comm, void* data, size_t bytes, int type, uint64_t offset,
                                int file, uint64_t flags, void** memory);
  NcclResult (*deregister_memory)(void* comm, void* memory);
  NcclResult (*destroy_context)(void* context);
  NcclResult (*close)(void* comm);
  NcclResult (*close_listener)(void* listener);
  NcclResult (*put)(void* context, int index, uint64_t from, void* from_memory, size_t bytes,
                    uint64_t to, void* to_memory, uint32_t rank, void** request);
  NcclResult (*put_signal)(void* context, int index, uint64_t from, void* from_memory, size_t bytes,
                           uint64_t to, void* to_memory, uint32_t rank, uint64_t signal,
                           void* signal_memory, uint64_t value, uint32_t operation, bool strong,
                           void** request);
  NcclResult (*get)(void* context, int index, uint64_t from, void* from_memory, size_t bytes,
                    uint64_t to, void* to_memory, uint32_t rank, void** request);
  NcclResult (*flush)(void* context, int index, void* memory, uint32_t rank, void** request);
  NcclResult (*test)(void* comm, void* request, int* done);
  NcclResult (*progress)(void* context);
  NcclResult (*last_error)(void* context, bool* has_error);
  NcclResult (*finalize)(void* instance);
};

}  // extern "C"
