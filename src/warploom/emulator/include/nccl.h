// The host API of NCCL, as the emulator understands it, for the version WARPLOOM_NCCL_VERSION.
// A name that the asked version does not have is not declared, so its use fails the build.
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#ifdef WARPLOOM_RUNTIME
#include "warploom/types.h"
#else
#ifdef __cplusplus
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#endif
#include <cuda_runtime.h>
#endif

#ifndef WARPLOOM_NCCL_VERSION
#define WARPLOOM_NCCL_VERSION 23203
#endif

#define NCCL_MAJOR (WARPLOOM_NCCL_VERSION / 10000)
#define NCCL_MINOR (WARPLOOM_NCCL_VERSION / 100 % 100)
#define NCCL_PATCH (WARPLOOM_NCCL_VERSION % 100)
#define NCCL_SUFFIX ""
#define NCCL_VERSION_CODE WARPLOOM_NCCL_VERSION
#define NCCL_VERSION(_WX, _WY, _WZ)                                \
  (((_WX) <= 2 && (_WY) <= 8) ? (_WX) * 1000 + (_WY) * 100 + (_WZ) \
                              : (_WX) * 10000 + (_WY) * 100 + (_WZ))

typedef struct ncclComm* ncclComm_t;
typedef struct ncclWindow_vidmem* ncclWindow_t;
#define NCCL_COMM_NULL NULL
#define NCCL_UNIQUE_ID_BYTES 128
typedef struct {
  char internal[NCCL_UNIQUE_ID_BYTES];
} ncclUniqueId;

typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
#if WARPLOOM_NCCL_VERSION >= 23000
  ncclTimeout = 8,
  ncclNumResults = 9
#else
  ncclNumResults = 8
#endif
} ncclResult_t;

#define NCCL_CONFIG_UNDEF_INT INT_MIN
#define NCCL_CONFIG_UNDEF_PTR NULL
#define NCCL_SPLIT_NOCOLOR -1
#define NCCL_UNDEF_FLOAT -1.0f

#define NCCL_WIN_DEFAULT 0x00
#define NCCL_WIN_COLL_SYMMETRIC 0x01
#if WARPLOOM_NCCL_VERSION >= 22900
#define NCCL_API_MAGIC 0xcafebeef
#define NCCL_WIN_STRICT_ORDERING 0x02
#endif
#if WARPLOOM_NCCL_VERSION >= 23200
#define NCCL_WIN_GIN_ONLY 0x04
#endif
#define NCCL_WIN_REQUIRED_ALIGNMENT 4096

#define NCCL_CTA_POLICY_DEFAULT 0x00
#define NCCL_CTA_POLICY_EFFICIENCY 0x01
#define NCCL_CTA_POLICY_ZERO 0x02

typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  int blocking;
  int cgaClusterSize;
  int minCTAs;
  int maxCTAs;
  const char* netName;
  int splitShare;
  int trafficClass;
  const char* commName;
  int collnetEnable;
  int CTAPolicy;
  int shrinkShare;
  int nvlsCTAs;
  int nChannelsPerNetPeer;
  int nvlinkCentricSched;
#if WARPLOOM_NCCL_VERSION >= 22900
  int graphUsageMode;
  int numRmaCtx;
#endif
#if WARPLOOM_NCCL_VERSION >= 23000
  int maxP2pPeers;
  int graphStreamOrdering;
#endif
#if WARPLOOM_NCCL_VERSION >= 23100
  int launchOrderImplicit;
  int numRmaSig;
  int rmaEagerInit;
  int hostCftMode;
#endif
#if WARPLOOM_NCCL_VERSION >= 23200
  int nvlsHostMode;
#endif
} ncclConfig_t;

#define WARPLOOM_UNDEF NCCL_CONFIG_UNDEF_INT
#if WARPLOOM_NCCL_VERSION >= 23200
#define WARPLOOM_CONFIG_MORE                                                        \
  , WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF, \
      WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF
#elif WARPLOOM_NCCL_VERSION >= 23100
#define WARPLOOM_CONFIG_MORE                                                        \
  , WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF, \
      WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF
#elif WARPLOOM_NCCL_VERSION >= 23000
#define WARPLOOM_CONFIG_MORE , WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF, WARPLOOM_UNDEF
#elif WARPLOOM_NCCL_VERSION >= 22900
#define WARPLOOM_CONFIG_MORE , WARPLOOM_UNDEF, WARPLOOM_UNDEF
#else
#define WARPLOOM_CONFIG_MORE
#endif
#define NCCL_CONFIG_INITIALIZER \
  {sizeof(ncclConfig_t),        \
   0xcafebeef,                  \
   NCCL_VERSION_CODE,           \
   WARPLOOM_UNDEF,              \
   WARPLOOM_UNDEF,              \
   WARPLOOM_UNDEF,              \
   WARPLOOM_UNDEF,              \
   NULL,                        \
   WARPLOOM_UNDEF,              \
   WARPLOOM_UNDEF,              \
   NULL,                        \
   WARPLOOM_UNDEF,              \
   WARPLOOM_UNDEF,              \
   WARPLOOM_UNDEF,              \
   WARPLOOM_UNDEF,              \
   WARPLOOM_UNDEF,              \
   WARPLOOM_UNDEF WARPLOOM_CONFIG_MORE}

typedef enum {
  ncclSum = 0,
  ncclProd = 1,
  ncclMax = 2,
  ncclMin = 3,
  ncclAvg = 4,
  ncclNumOps = 5,
  ncclMaxRedOp = 0x7fffffff
} ncclRedOp_t;

typedef enum {
  ncclInt8 = 0,
  ncclChar = 0,
  ncclUint8 = 1,
  ncclInt32 = 2,
  ncclInt = 2,
  ncclUint32 = 3,
  ncclInt64 = 4,
  ncclUint64 = 5,
  ncclFloat16 = 6,
  ncclHalf = 6,
  ncclFloat32 = 7,
  ncclFloat = 7,
  ncclFloat64 = 8,
  ncclDouble = 8,
  ncclBfloat16 = 9,
  ncclFloat8e4m3 = 10,
  ncclFloat8e5m2 = 11,
  ncclNumTypes = 12
} ncclDataType_t;

typedef enum { ncclScalarDevice = 0, ncclScalarHostImmediate = 1 } ncclScalarResidence_t;

#define NCCL_SHRINK_DEFAULT 0x00
#define NCCL_SHRINK_ABORT 0x01

#if WARPLOOM_NCCL_VERSION >= 22900
typedef struct {
  int opCnt;
  int peer;
  int sigIdx;
  int ctx;
} ncclWaitSignalDesc_t;
#endif

#if WARPLOOM_NCCL_VERSION >= 23100
typedef struct ncclConfigExt {
  struct ncclConfigExt* next;
  struct {
    int vendorId;
    int optionId;
  } key;
  union {
    int _Wi;
    const char* _Ws;
    void* raw;
  } val;
} ncclConfigExt_t;

typedef struct {
  size_t size;
  unsigned int magic;
  unsigned int version;
  ncclConfigExt_t* ext;
  int minCTAs;
  int maxCTAs;
  int nvlsCTAs;
  int cgaClusterSize;
  const char* algSelection;
  int forceAlgSelection;
  int CTAPolicy;
  uint64_t userProfilerTag;
#if WARPLOOM_NCCL_VERSION >= 23200
  cudaEvent_t launchCompletionEvent;
#endif
} ncclCollConfig_t;
#if WARPLOOM_NCCL_VERSION >= 23200
#define WARPLOOM_COLLCONFIG_MORE , NULL
#else
#define WARPLOOM_COLLCONFIG_MORE
#endif
#define NCCL_COLLCONFIG_INITIALIZER \
  {sizeof(ncclCollConfig_t),        \
   NCCL_API_MAGIC,                  \
   NCCL_VERSION_CODE,               \
   NULL,                            \
   WARPLOOM_UNDEF,                  \
   WARPLOOM_UNDEF,                  \
   WARPLOOM_UNDEF,                  \
   WARPLOOM_UNDEF,                  \
   NULL,                            \
   1,                               \
   WARPLOOM_UNDEF,                  \
   0 WARPLOOM_COLLCONFIG_MORE}
#endif

#ifdef __cplusplus
extern "C" {
#endif

ncclResult_t ncclMemAlloc(void** ptr, size_t size);
ncclResult_t ncclMemFree(void* ptr);
ncclResult_t ncclGetVersion(int* version);
ncclResult_t ncclGetUniqueId(ncclUniqueId* uniqueId);
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int nranks, ncclUniqueId commId, int rank,
                                    ncclConfig_t* config);
ncclResult_t ncclCommInitRankScalable(ncclComm_t* newcomm, int nranks, int myrank, int nId,
                                      ncclUniqueId* commIds, ncclConfig_t* config);
ncclResult_t ncclCommInitAll(ncclComm_t* comm, int ndev, const int* devlist);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* newcomm,
                           ncclConfig_t* config);
ncclResult_t ncclCommShrink(ncclComm_t comm, int* excludeRanksList, int excludeRanksCount,
                            ncclComm_t* newcomm, ncclConfig_t* config, int shrinkFlags);
#if WARPLOOM_NCCL_VERSION >= 22900
ncclResult_t ncclCommGetUniqueId(ncclComm_t comm, ncclUniqueId* uniqueId);
ncclResult_t ncclCommGrow(ncclComm_t comm, int nRanks, const ncclUniqueId* uniqueId, int rank,
                          ncclComm_t* newcomm, ncclConfig_t* config);
#endif
const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* asyncError);
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count);
ncclResult_t ncclCommCuDevice(const ncclComm_t comm, int* device);
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank);
ncclResult_t ncclCommRegister(const ncclComm_t comm, void* buff, size_t size, void** handle);
ncclResult_t ncclCommDeregister(const ncclComm_t comm, void* handle);
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void* buff, size_t size, ncclWindow_t* win,
                                    int winFlags);
ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t win);
#if WARPLOOM_NCCL_VERSION >= 22900
ncclResult_t ncclWinGetUserPtr(ncclComm_t comm, ncclWindow_t win, void** outUserPtr);
#endif

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t datatype,
                                      ncclScalarResidence_t residence, ncclComm_t comm);
ncclResult_t ncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm);

ncclResult_t ncclReduce(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        ncclRedOp_t op, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclBcast(void* buff, size_t count, ncclDataType_t datatype, int root, ncclComm_t comm,
                       cudaStream_t stream);
ncclResult_t ncclBroadcast(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAllReduce(const void* sendbuff, void* recvbuff, size_t count,
                           ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t stream);
ncclResult_t ncclReduceScatter(const void* sendbuff, void* recvbuff, size_t recvcount,
                               ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                               cudaStream_t stream);
ncclResult_t ncclAllGather(const void* sendbuff, void* recvbuff, size_t sendcount,
                           ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclAlltoAll(const void* sendbuff, void* recvbuff, size_t count,
                          ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclGather(const void* sendbuff, void* recvbuff, size_t count, ncclDataType_t datatype,
                        int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclScatter(const void* sendbuff, void* recvbuff, size_t count,
                         ncclDataType_t datatype, int root, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSend(const void* sendbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclRecv(void* recvbuff, size_t count, ncclDataType_t datatype, int peer,
                      ncclComm_t comm, cudaStream_t stream);
#if WARPLOOM_NCCL_VERSION >= 22900
ncclResult_t ncclPutSignal(const void* localbuff, size_t count, ncclDataType_t datatype, int peer,
                           ncclWindow_t peerWin, size_t peerWinOffset, int sigIdx, int ctx,
                           unsigned int flags, ncclComm_t comm, cudaStream_t stream);
ncclResult_t ncclSignal(int peer, int sigIdx, int ctx, unsigned int flags, ncclComm_t comm,
                        cudaStream_t stream);
ncclResult_t ncclWaitSignal(int nDesc, ncclWaitSignalDesc_t* signalDescs, ncclComm_t comm,
                            cudaStream_t stream);
#endif
#if WARPLOOM_NCCL_VERSION >= 23100
ncclResult_t ncclAllReduceConfig(const void* sendbuff, void* recvbuff, size_t count,
                                 ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclBroadcastConfig(const void* sendbuff, void* recvbuff, size_t count,
                                 ncclDataType_t datatype, int root, ncclComm_t comm,
                                 cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclReduceConfig(const void* sendbuff, void* recvbuff, size_t count,
                              ncclDataType_t datatype, ncclRedOp_t op, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclAllGatherConfig(const void* sendbuff, void* recvbuff, size_t sendcount,
                                 ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                 const ncclCollConfig_t* config);
ncclResult_t ncclReduceScatterConfig(const void* sendbuff, void* recvbuff, size_t recvcount,
                                     ncclDataType_t datatype, ncclRedOp_t op, ncclComm_t comm,
                                     cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclAlltoAllConfig(const void* sendbuff, void* recvbuff, size_t count,
                                ncclDataType_t datatype, ncclComm_t comm, cudaStream_t stream,
                                const ncclCollConfig_t* config);
ncclResult_t ncclGatherConfig(const void* sendbuff, void* recvbuff, size_t count,
                              ncclDataType_t datatype, int root, ncclComm_t comm,
                              cudaStream_t stream, const ncclCollConfig_t* config);
ncclResult_t ncclScatterConfig(const void* sendbuff, void* recvbuff, size_t count,
                               ncclDataType_t datatype, int root, ncclComm_t comm,
                               cudaStream_t stream, const ncclCollConfig_t* config);
#endif
ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();

#ifdef __cplusplus
}
#endif
