#pragma once
typedef struct ncclComm* ncclComm_t;
typedef int ncclResult_t;
#ifdef __cplusplus
extern "C"
#endif
    ncclResult_t ncclCommCount(ncclComm_t, int*);
