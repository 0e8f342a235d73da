// cuBLASLt: its names. A handle can be had, as set-up code of programs does whether they use it or
// not; all other calls are refused by name and line.
#pragma once

#include "cublas_v2.h"

typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct cublasLtMatmulDescOpaque* cublasLtMatmulDesc_t;
typedef struct cublasLtMatrixLayoutOpaque* cublasLtMatrixLayout_t;
typedef struct cublasLtMatmulPreferenceOpaque* cublasLtMatmulPreference_t;
typedef struct cublasLtMatrixTransformDescOpaque* cublasLtMatrixTransformDesc_t;
struct cublasLtMatmulAlgo_t {
  std::uint64_t data[8];
};
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  std::size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
  CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_TRANSC = 5,
  CUBLASLT_MATMUL_DESC_FILL_MODE = 6,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE = 10,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,
  CUBLASLT_MATMUL_DESC_A_SCALE_POINTER = 17,
  CUBLASLT_MATMUL_DESC_B_SCALE_POINTER = 18,
  CUBLASLT_MATMUL_DESC_C_SCALE_POINTER = 19,
  CUBLASLT_MATMUL_DESC_D_SCALE_POINTER = 20,
  CUBLASLT_MATMUL_DESC_AMAX_D_POINTER = 21,
  CUBLASLT_MATMUL_DESC_FAST_ACCUM = 25,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26,
};
enum cublasLtEpilogue_t {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_BIAS = 36,
  CUBLASLT_EPILOGUE_GELU_AUX = 160,
  CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164,
  CUBLASLT_EPILOGUE_DGELU = 192,
  CUBLASLT_EPILOGUE_BGRADA = 256,
  CUBLASLT_EPILOGUE_BGRADB = 512,
};
enum cublasLtMatrixLayoutAttribute_t {
  CUBLASLT_MATRIX_LAYOUT_TYPE = 0,
  CUBLASLT_MATRIX_LAYOUT_ORDER = 1,
  CUBLASLT_MATRIX_LAYOUT_ROWS = 2,
  CUBLASLT_MATRIX_LAYOUT_COLS = 3,
  CUBLASLT_MATRIX_LAYOUT_LD = 4,
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6,
};
enum cublasLtOrder_t { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1, CUBLASLT_ORDER_COL32 = 2 };
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
};

struct cublasLtContext {};
template <class = void>
cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (!handle) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = new cublasLtContext{};
  return CUBLAS_STATUS_SUCCESS;
}
template <class = void>
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

#define WARPLOOM_LT_REFUSED(name) WARPLOOM_REFUSED(cublasStatus_t, name, "cuBLASLt")
WARPLOOM_LT_REFUSED(cublasLtMatmul)
WARPLOOM_LT_REFUSED(cublasLtMatmulAlgoGetHeuristic)
WARPLOOM_LT_REFUSED(cublasLtMatmulAlgoGetIds)
WARPLOOM_LT_REFUSED(cublasLtMatmulAlgoInit)
WARPLOOM_LT_REFUSED(cublasLtMatmulAlgoCheck)
WARPLOOM_LT_REFUSED(cublasLtMatmulAlgoCapGetAttribute)
WARPLOOM_LT_REFUSED(cublasLtMatmulAlgoConfigSetAttribute)
WARPLOOM_LT_REFUSED(cublasLtMatmulAlgoConfigGetAttribute)
WARPLOOM_LT_REFUSED(cublasLtMatmulDescCreate)
WARPLOOM_LT_REFUSED(cublasLtMatmulDescInit)
WARPLOOM_LT_REFUSED(cublasLtMatmulDescDestroy)
WARPLOOM_LT_REFUSED(cublasLtMatmulDescSetAttribute)
WARPLOOM_LT_REFUSED(cublasLtMatmulDescGetAttribute)
WARPLOOM_LT_REFUSED(cublasLtMatrixLayoutCreate)
WARPLOOM_LT_REFUSED(cublasLtMatrixLayoutInit)
WARPLOOM_LT_REFUSED(cublasLtMatrixLayoutDestroy)
WARPLOOM_LT_REFUSED(cublasLtMatrixLayoutSetAttribute)
WARPLOOM_LT_REFUSED(cublasLtMatrixLayoutGetAttribute)
WARPLOOM_LT_REFUSED(cublasLtMatmulPreferenceCreate)
WARPLOOM_LT_REFUSED(cublasLtMatmulPreferenceInit)
WARPLOOM_LT_REFUSED(cublasLtMatmulPreferenceDestroy)
WARPLOOM_LT_REFUSED(cublasLtMatmulPreferenceSetAttribute)
WARPLOOM_LT_REFUSED(cublasLtMatrixTransform)
WARPLOOM_LT_REFUSED(cublasLtMatrixTransformDescCreate)
WARPLOOM_LT_REFUSED(cublasLtMatrixTransformDescDestroy)
WARPLOOM_LT_REFUSED(cublasLtMatrixTransformDescSetAttribute)
#undef WARPLOOM_LT_REFUSED
