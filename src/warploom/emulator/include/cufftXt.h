// cuFFT for several devices and with callbacks: its names; its calls are refused by name and line.
#pragma once

#include "cufft.h"

struct cudaXtDesc;
struct cudaLibXtDesc;
enum cufftXtSubFormat_t {
  CUFFT_XT_FORMAT_INPUT = 0,
  CUFFT_XT_FORMAT_OUTPUT = 1,
  CUFFT_XT_FORMAT_INPLACE = 2,
  CUFFT_XT_FORMAT_INPLACE_SHUFFLED = 3,
};
enum cufftXtCopyType_t {
  CUFFT_COPY_HOST_TO_DEVICE = 0,
  CUFFT_COPY_DEVICE_TO_HOST = 1,
  CUFFT_COPY_DEVICE_TO_DEVICE = 2,
};

WARPLOOM_FFT_REFUSED(cufftXtSetGPUs)
WARPLOOM_FFT_REFUSED(cufftXtMalloc)
WARPLOOM_FFT_REFUSED(cufftXtMemcpy)
WARPLOOM_FFT_REFUSED(cufftXtFree)
WARPLOOM_FFT_REFUSED(cufftXtMakePlanMany)
WARPLOOM_FFT_REFUSED(cufftXtExec)
WARPLOOM_FFT_REFUSED(cufftXtExecDescriptorC2C)
WARPLOOM_FFT_REFUSED(cufftXtExecDescriptorR2C)
WARPLOOM_FFT_REFUSED(cufftXtExecDescriptorC2R)
WARPLOOM_FFT_REFUSED(cufftXtExecDescriptorZ2Z)
WARPLOOM_FFT_REFUSED(cufftXtSetCallback)
