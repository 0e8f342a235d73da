#pragma once
typedef struct ncclComm* ncclComm_t;
typedef int ncclResult_t;
extern "C" ncclResult_t ncclCommCount(ncclComm_t, int*);
