// cuSPARSE: its names; its calls are refused by name and line.
#pragma once

#include "cuComplex.h"
#include "cuda_fp16.h"
#include "library_types.h"
#include "warploom/libraries/refused.h"

// Programs ask by this which headers were read.
#define CUSPARSEAPI
#define CUSPARSE_VER_MAJOR 12
#define CUSPARSE_VER_MINOR 6
#define CUSPARSE_VERSION 12600

typedef struct cusparseContext* cusparseHandle_t;
typedef struct cusparseMatDescr* cusparseMatDescr_t;
typedef struct cusparseSpVecDescr* cusparseSpVecDescr_t;
typedef struct cusparseDnVecDescr* cusparseDnVecDescr_t;
typedef struct cusparseSpMatDescr* cusparseSpMatDescr_t;
typedef struct cusparseDnMatDescr* cusparseDnMatDescr_t;
typedef const cusparseSpMatDescr* cusparseConstSpMatDescr_t;
typedef const cusparseDnVecDescr* cusparseConstDnVecDescr_t;
typedef const cusparseDnMatDescr* cusparseConstDnMatDescr_t;
typedef struct cusparseSpGEMMDescr* cusparseSpGEMMDescr_t;
typedef struct cusparseSpSVDescr* cusparseSpSVDescr_t;
typedef struct cusparseSpSMDescr* cusparseSpSMDescr_t;
typedef struct csrilu02Info* csrilu02Info_t;
typedef struct csric02Info* csric02Info_t;
enum cusparseStatus_t {
  CUSPARSE_STATUS_SUCCESS = 0,
  CUSPARSE_STATUS_NOT_INITIALIZED = 1,
  CUSPARSE_STATUS_ALLOC_FAILED = 2,
  CUSPARSE_STATUS_INVALID_VALUE = 3,
  CUSPARSE_STATUS_ARCH_MISMATCH = 4,
  CUSPARSE_STATUS_MAPPING_ERROR = 5,
  CUSPARSE_STATUS_EXECUTION_FAILED = 6,
  CUSPARSE_STATUS_INTERNAL_ERROR = 7,
  CUSPARSE_STATUS_MATRIX_TYPE_NOT_SUPPORTED = 8,
  CUSPARSE_STATUS_ZERO_PIVOT = 9,
  CUSPARSE_STATUS_NOT_SUPPORTED = 10,
  CUSPARSE_STATUS_INSUFFICIENT_RESOURCES = 11,
};
enum cusparsePointerMode_t {
  CUSPARSE_POINTER_MODE_HOST = 0,
  CUSPARSE_POINTER_MODE_DEVICE = 1,
};
enum cusparseAction_t {
  CUSPARSE_ACTION_SYMBOLIC = 0,
  CUSPARSE_ACTION_NUMERIC = 1,
};
enum cusparseMatrixType_t {
  CUSPARSE_MATRIX_TYPE_GENERAL = 0,
  CUSPARSE_MATRIX_TYPE_SYMMETRIC = 1,
  CUSPARSE_MATRIX_TYPE_HERMITIAN = 2,
  CUSPARSE_MATRIX_TYPE_TRIANGULAR = 3,
};
enum cusparseFillMode_t {
  CUSPARSE_FILL_MODE_LOWER = 0,
  CUSPARSE_FILL_MODE_UPPER = 1,
};
enum cusparseDiagType_t {
  CUSPARSE_DIAG_TYPE_NON_UNIT = 0,
  CUSPARSE_DIAG_TYPE_UNIT = 1,
};
enum cusparseIndexBase_t {
  CUSPARSE_INDEX_BASE_ZERO = 0,
  CUSPARSE_INDEX_BASE_ONE = 1,
};
enum cusparseIndexType_t {
  CUSPARSE_INDEX_16U = 1,
  CUSPARSE_INDEX_32I = 2,
  CUSPARSE_INDEX_64I = 3,
};
enum cusparseOperation_t {
  CUSPARSE_OPERATION_NON_TRANSPOSE = 0,
  CUSPARSE_OPERATION_TRANSPOSE = 1,
  CUSPARSE_OPERATION_CONJUGATE_TRANSPOSE = 2,
};
enum cusparseSolvePolicy_t {
  CUSPARSE_SOLVE_POLICY_NO_LEVEL = 0,
  CUSPARSE_SOLVE_POLICY_USE_LEVEL = 1,
};
enum cusparseOrder_t {
  CUSPARSE_ORDER_COL = 1,
  CUSPARSE_ORDER_ROW = 2,
};
enum cusparseSpMVAlg_t {
  CUSPARSE_SPMV_ALG_DEFAULT = 0,
  CUSPARSE_SPMV_COO_ALG1 = 1,
  CUSPARSE_SPMV_CSR_ALG1 = 2,
  CUSPARSE_SPMV_CSR_ALG2 = 3,
  CUSPARSE_SPMV_COO_ALG2 = 4,
};
enum cusparseSpMMAlg_t {
  CUSPARSE_SPMM_ALG_DEFAULT = 0,
  CUSPARSE_SPMM_COO_ALG1 = 1,
  CUSPARSE_SPMM_CSR_ALG1 = 4,
  CUSPARSE_SPMM_CSR_ALG2 = 6,
};
enum cusparseSpGEMMAlg_t {
  CUSPARSE_SPGEMM_DEFAULT = 0,
};
enum cusparseSpSVAlg_t {
  CUSPARSE_SPSV_ALG_DEFAULT = 0,
};
enum cusparseSpSMAlg_t {
  CUSPARSE_SPSM_ALG_DEFAULT = 0,
};
enum cusparseSparseToDenseAlg_t {
  CUSPARSE_SPARSETODENSE_ALG_DEFAULT = 0,
};
enum cusparseDenseToSparseAlg_t {
  CUSPARSE_DENSETOSPARSE_ALG_DEFAULT = 0,
};
enum cusparseSpMatAttribute_t {
  CUSPARSE_SPMAT_FILL_MODE = 0,
  CUSPARSE_SPMAT_DIAG_TYPE = 1,
};

#define WARPLOOM_SPARSE_REFUSED(name) WARPLOOM_REFUSED(cusparseStatus_t, name, "cuSPARSE")
WARPLOOM_SPARSE_REFUSED(cusparseCreate)
WARPLOOM_SPARSE_REFUSED(cusparseDestroy)
WARPLOOM_SPARSE_REFUSED(cusparseSetStream)
WARPLOOM_SPARSE_REFUSED(cusparseGetStream)
WARPLOOM_SPARSE_REFUSED(cusparseSetPointerMode)
WARPLOOM_SPARSE_REFUSED(cusparseGetVersion)
WARPLOOM_SPARSE_REFUSED(cusparseCreateMatDescr)
WARPLOOM_SPARSE_REFUSED(cusparseDestroyMatDescr)
WARPLOOM_SPARSE_REFUSED(cusparseSetMatType)
WARPLOOM_SPARSE_REFUSED(cusparseSetMatIndexBase)
WARPLOOM_SPARSE_REFUSED(cusparseSetMatFillMode)
WARPLOOM_SPARSE_REFUSED(cusparseSetMatDiagType)
WARPLOOM_SPARSE_REFUSED(cusparseCreateCsr)
WARPLOOM_SPARSE_REFUSED(cusparseCreateCsc)
WARPLOOM_SPARSE_REFUSED(cusparseCreateCoo)
WARPLOOM_SPARSE_REFUSED(cusparseDestroySpMat)
WARPLOOM_SPARSE_REFUSED(cusparseSpMatSetAttribute)
WARPLOOM_SPARSE_REFUSED(cusparseSpMatGetSize)
WARPLOOM_SPARSE_REFUSED(cusparseCsrSetPointers)
WARPLOOM_SPARSE_REFUSED(cusparseCreateDnVec)
WARPLOOM_SPARSE_REFUSED(cusparseDestroyDnVec)
WARPLOOM_SPARSE_REFUSED(cusparseDnVecSetValues)
WARPLOOM_SPARSE_REFUSED(cusparseCreateDnMat)
WARPLOOM_SPARSE_REFUSED(cusparseDestroyDnMat)
WARPLOOM_SPARSE_REFUSED(cusparseCreateSpVec)
WARPLOOM_SPARSE_REFUSED(cusparseDestroySpVec)
WARPLOOM_SPARSE_REFUSED(cusparseSpMV)
WARPLOOM_SPARSE_REFUSED(cusparseSpMV_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseSpMV_preprocess)
WARPLOOM_SPARSE_REFUSED(cusparseSpMM)
WARPLOOM_SPARSE_REFUSED(cusparseSpMM_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseSpMM_preprocess)
WARPLOOM_SPARSE_REFUSED(cusparseSpGEMM_createDescr)
WARPLOOM_SPARSE_REFUSED(cusparseSpGEMM_destroyDescr)
WARPLOOM_SPARSE_REFUSED(cusparseSpGEMM_workEstimation)
WARPLOOM_SPARSE_REFUSED(cusparseSpGEMM_compute)
WARPLOOM_SPARSE_REFUSED(cusparseSpGEMM_copy)
WARPLOOM_SPARSE_REFUSED(cusparseSpSV_createDescr)
WARPLOOM_SPARSE_REFUSED(cusparseSpSV_destroyDescr)
WARPLOOM_SPARSE_REFUSED(cusparseSpSV_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseSpSV_analysis)
WARPLOOM_SPARSE_REFUSED(cusparseSpSV_solve)
WARPLOOM_SPARSE_REFUSED(cusparseSpSM_createDescr)
WARPLOOM_SPARSE_REFUSED(cusparseSpSM_destroyDescr)
WARPLOOM_SPARSE_REFUSED(cusparseSpSM_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseSpSM_analysis)
WARPLOOM_SPARSE_REFUSED(cusparseSpSM_solve)
WARPLOOM_SPARSE_REFUSED(cusparseSpVV)
WARPLOOM_SPARSE_REFUSED(cusparseSpVV_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseAxpby)
WARPLOOM_SPARSE_REFUSED(cusparseGather)
WARPLOOM_SPARSE_REFUSED(cusparseScatter)
WARPLOOM_SPARSE_REFUSED(cusparseRot)
WARPLOOM_SPARSE_REFUSED(cusparseSDDMM)
WARPLOOM_SPARSE_REFUSED(cusparseSDDMM_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseSparseToDense)
WARPLOOM_SPARSE_REFUSED(cusparseSparseToDense_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseDenseToSparse_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseDenseToSparse_analysis)
WARPLOOM_SPARSE_REFUSED(cusparseDenseToSparse_convert)
WARPLOOM_SPARSE_REFUSED(cusparseCreateCsrilu02Info)
WARPLOOM_SPARSE_REFUSED(cusparseDestroyCsrilu02Info)
WARPLOOM_SPARSE_REFUSED(cusparseCreateCsric02Info)
WARPLOOM_SPARSE_REFUSED(cusparseDestroyCsric02Info)
WARPLOOM_SPARSE_REFUSED(cusparseScsrilu02)
WARPLOOM_SPARSE_REFUSED(cusparseScsrilu02_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseScsrilu02_analysis)
WARPLOOM_SPARSE_REFUSED(cusparseDcsrilu02)
WARPLOOM_SPARSE_REFUSED(cusparseDcsrilu02_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseDcsrilu02_analysis)
WARPLOOM_SPARSE_REFUSED(cusparseXcsrilu02_zeroPivot)
WARPLOOM_SPARSE_REFUSED(cusparseScsric02)
WARPLOOM_SPARSE_REFUSED(cusparseScsric02_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseScsric02_analysis)
WARPLOOM_SPARSE_REFUSED(cusparseXcsric02_zeroPivot)
WARPLOOM_SPARSE_REFUSED(cusparseXcoo2csr)
WARPLOOM_SPARSE_REFUSED(cusparseXcsr2coo)
WARPLOOM_SPARSE_REFUSED(cusparseXcsrsort)
WARPLOOM_SPARSE_REFUSED(cusparseXcoosort_bufferSizeExt)
WARPLOOM_SPARSE_REFUSED(cusparseXcoosortByRow)
WARPLOOM_SPARSE_REFUSED(cusparseCreateIdentityPermutation)
WARPLOOM_SPARSE_REFUSED(cusparseCsr2cscEx2)
WARPLOOM_SPARSE_REFUSED(cusparseCsr2cscEx2_bufferSize)
WARPLOOM_SPARSE_REFUSED(cusparseSgtsv2)
WARPLOOM_SPARSE_REFUSED(cusparseSgtsv2_bufferSizeExt)
WARPLOOM_SPARSE_REFUSED(cusparseDgtsv2)
WARPLOOM_SPARSE_REFUSED(cusparseDgtsv2_bufferSizeExt)
WARPLOOM_SPARSE_REFUSED(cusparseSgtsv2StridedBatch)
WARPLOOM_SPARSE_REFUSED(cusparseDgtsv2StridedBatch)

inline const char* cusparseGetErrorString(cusparseStatus_t status) {
  return status == CUSPARSE_STATUS_SUCCESS ? "success" : "a failure";
}
inline const char* cusparseGetErrorName(cusparseStatus_t status) {
  return status == CUSPARSE_STATUS_SUCCESS ? "CUSPARSE_STATUS_SUCCESS" : "CUSPARSE_STATUS_OTHER";
}
