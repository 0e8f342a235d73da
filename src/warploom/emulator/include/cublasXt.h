// cuBLASXt, for several devices: its names; its calls are refused by name and line.
#pragma once

#include "cublas_v2.h"

typedef struct cublasXtContext* cublasXtHandle_t;

WARPLOOM_REFUSED(cublasStatus_t, cublasXtCreate, "cuBLASXt")
WARPLOOM_REFUSED(cublasStatus_t, cublasXtDestroy, "cuBLASXt")
WARPLOOM_REFUSED(cublasStatus_t, cublasXtDeviceSelect, "cuBLASXt")
WARPLOOM_REFUSED(cublasStatus_t, cublasXtSetBlockDim, "cuBLASXt")
WARPLOOM_REFUSED(cublasStatus_t, cublasXtSgemm, "cuBLASXt")
WARPLOOM_REFUSED(cublasStatus_t, cublasXtDgemm, "cuBLASXt")
