// Libraries that are not emulated may be included, and named where no run comes.
#include <cublasLt.h>
#include <cublasXt.h>
#include <cublas_v2.h>
#include <cufft.h>
#include <cufftXt.h>
#include <cusolverDn.h>
#include <cusolverSp.h>
#include <cusparse.h>

#include <cstdlib>

void transform(cufftComplex* data, int n) {
  cufftHandle plan;
  cufftPlan1d(&plan, n, CUFFT_C2C, 1);
  cufftExecC2C(plan, data, data, CUFFT_FORWARD);
}

int main(int count, char** args) {
  const int which = count > 1 ? std::atoi(args[1]) : 0;
  cusparseHandle_t sparse = nullptr;
  cusolverDnHandle_t solver = nullptr;
  cublasLtHandle_t lt = nullptr;
  if (which == 1) transform(nullptr, 8);
  if (which == 2) return cusparseCreate(&sparse) != CUSPARSE_STATUS_SUCCESS;  // 25
  if (which == 3) return cusolverDnCreate(&solver);                           // 26
  if (which == 4) return cublasLtMatmul(lt);                                  // 27
  if (which == 5) cublasSsymm(nullptr, CUBLAS_SIDE_LEFT, nullptr);            // 28
  return cublasLtCreate(&lt) + cublasLtDestroy(lt) + !cublasLtCreate(nullptr);
}

// What helper_cuda.h of NVIDIA's samples names.
static_assert(CUFFT_NOT_SUPPORTED == 16 && CUFFT_MISSING_DEPENDENCY == 17);
static_assert(CUFFT_NVRTC_FAILURE == 18 && CUFFT_NVJITLINK_FAILURE == 19);
static_assert(CUFFT_NVSHMEM_FAILURE == 20);
