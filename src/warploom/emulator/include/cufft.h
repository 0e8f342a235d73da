// cuFFT: its names; its calls are refused by name and line.
#pragma once

#include "cuComplex.h"
#include "cuda_runtime.h"
#include "library_types.h"
#include "warploom/libraries/refused.h"

// Programs ask by this which headers were read.
#define _CUFFT_H_
#define CUFFT_VER_MAJOR 12
#define CUFFT_VER_MINOR 0
#define CUFFT_VER_PATCH 0
#define CUFFT_VERSION 12000
#define CUFFT_FORWARD -1
#define CUFFT_INVERSE 1

typedef int cufftHandle;
typedef float cufftReal;
typedef double cufftDoubleReal;
typedef cuComplex cufftComplex;
typedef cuDoubleComplex cufftDoubleComplex;
enum cufftResult_t {
  CUFFT_SUCCESS = 0,
  CUFFT_INVALID_PLAN = 1,
  CUFFT_ALLOC_FAILED = 2,
  CUFFT_INVALID_TYPE = 3,
  CUFFT_INVALID_VALUE = 4,
  CUFFT_INTERNAL_ERROR = 5,
  CUFFT_EXEC_FAILED = 6,
  CUFFT_SETUP_FAILED = 7,
  CUFFT_INVALID_SIZE = 8,
  CUFFT_UNALIGNED_DATA = 9,
  CUFFT_INCOMPLETE_PARAMETER_LIST = 10,
  CUFFT_INVALID_DEVICE = 11,
  CUFFT_PARSE_ERROR = 12,
  CUFFT_NO_WORKSPACE = 13,
  CUFFT_NOT_IMPLEMENTED = 14,
  CUFFT_LICENSE_ERROR = 15,
  CUFFT_NOT_SUPPORTED = 16,
  CUFFT_MISSING_DEPENDENCY = 17,  // from CUDA 13 on
  CUFFT_NVRTC_FAILURE = 18,
  CUFFT_NVJITLINK_FAILURE = 19,
  CUFFT_NVSHMEM_FAILURE = 20,
};
typedef cufftResult_t cufftResult;
enum cufftType_t {
  CUFFT_R2C = 0x2a,
  CUFFT_C2R = 0x2c,
  CUFFT_C2C = 0x29,
  CUFFT_D2Z = 0x6a,
  CUFFT_Z2D = 0x6c,
  CUFFT_Z2Z = 0x69,
};
typedef cufftType_t cufftType;

#define WARPLOOM_FFT_REFUSED(name) WARPLOOM_REFUSED(cufftResult, name, "cuFFT")
WARPLOOM_FFT_REFUSED(cufftPlan1d)
WARPLOOM_FFT_REFUSED(cufftPlan2d)
WARPLOOM_FFT_REFUSED(cufftPlan3d)
WARPLOOM_FFT_REFUSED(cufftPlanMany)
WARPLOOM_FFT_REFUSED(cufftMakePlan1d)
WARPLOOM_FFT_REFUSED(cufftMakePlan2d)
WARPLOOM_FFT_REFUSED(cufftMakePlan3d)
WARPLOOM_FFT_REFUSED(cufftMakePlanMany)
WARPLOOM_FFT_REFUSED(cufftMakePlanMany64)
WARPLOOM_FFT_REFUSED(cufftEstimate1d)
WARPLOOM_FFT_REFUSED(cufftEstimate2d)
WARPLOOM_FFT_REFUSED(cufftEstimate3d)
WARPLOOM_FFT_REFUSED(cufftEstimateMany)
WARPLOOM_FFT_REFUSED(cufftGetSize)
WARPLOOM_FFT_REFUSED(cufftGetSize1d)
WARPLOOM_FFT_REFUSED(cufftGetSize2d)
WARPLOOM_FFT_REFUSED(cufftGetSizeMany)
WARPLOOM_FFT_REFUSED(cufftCreate)
WARPLOOM_FFT_REFUSED(cufftDestroy)
WARPLOOM_FFT_REFUSED(cufftSetStream)
WARPLOOM_FFT_REFUSED(cufftSetWorkArea)
WARPLOOM_FFT_REFUSED(cufftSetAutoAllocation)
WARPLOOM_FFT_REFUSED(cufftExecC2C)
WARPLOOM_FFT_REFUSED(cufftExecR2C)
WARPLOOM_FFT_REFUSED(cufftExecC2R)
WARPLOOM_FFT_REFUSED(cufftExecZ2Z)
WARPLOOM_FFT_REFUSED(cufftExecD2Z)
WARPLOOM_FFT_REFUSED(cufftExecZ2D)
WARPLOOM_FFT_REFUSED(cufftGetVersion)
WARPLOOM_FFT_REFUSED(cufftGetProperty)
