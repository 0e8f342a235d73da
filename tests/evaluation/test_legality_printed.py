# ruff: noqa: E501 - programs are written as they would be
"""Honest programs check errors in many styles: each is legal text, and what it prints stays so.

Beside them: attacks by the same values, which must stay refused.
"""

import pytest
from test_legality_free import MOE, judged

STYLES = {
    "gpu_assert": r"""
#define gpuCheck(ans) { checkStatus((ans), __FILE__, __LINE__); }
inline void checkStatus(cudaError_t code, const char *file, int line, bool abort=true)
{
   if (code != cudaSuccess)
   {
      fprintf(stderr,"status: %s %s %d\n", cudaGetErrorString(code), file, line);
      if (abort) exit(code);
   }
}
static void use(float* p) { gpuCheck(cudaMalloc(&p, 4)); gpuCheck(cudaPeekAtLastError()); }
""",
    "helper_cuda": r"""
template <typename T>
void check(T result, char const *const func, const char *const file, int const line) {
  if (result) {
    fprintf(stderr, "CUDA error at %s:%d code=%d(%s) \"%s\" \n", file, line,
            static_cast<unsigned int>(result), cudaGetErrorName(result), func);
    exit(EXIT_FAILURE);
  }
}
#define checkCudaErrors(val) check((val), #val, __FILE__, __LINE__)
static void use(float* p) { checkCudaErrors(cudaMalloc((void**)&p, 4)); checkCudaErrors(cudaFree(p)); }
""",
    "last_error_plain": r"""
#define getLastCudaError(msg) lastCudaError(msg, __FILE__, __LINE__)
inline void lastCudaError(const char *errorMessage, const char *file, const int line) {
  cudaError_t err = cudaGetLastError();
  if (cudaSuccess != err) {
    fprintf(stderr, "%s(%i) : getLastCudaError() CUDA error : %s : (%d) %s.\n", file, line,
            errorMessage, static_cast<int>(err), cudaGetErrorString(err));
    exit(EXIT_FAILURE);
  }
}
static void use() { getLastCudaError("kernel failed"); }
""",
    "nccl_docs": r"""
#define MPICHECK(cmd) do {                          \
  int e = cmd;                                      \
  if( e != MPI_SUCCESS ) {                          \
    printf("Failed: MPI error %s:%d '%d'\n",        \
        __FILE__,__LINE__, e);   \
    exit(EXIT_FAILURE);                             \
  }                                                 \
} while(0)
#define CUDACHECK(cmd) do {                         \
  cudaError_t e = cmd;                              \
  if( e != cudaSuccess ) {                          \
    printf("Failed: Cuda error %s:%d '%s'\n",             \
        __FILE__,__LINE__,cudaGetErrorString(e));   \
    exit(EXIT_FAILURE);                             \
  }                                                 \
} while(0)
#define NCCLCHECK(cmd) do {                         \
  ncclResult_t r = cmd;                             \
  if (r!= ncclSuccess) {                            \
    printf("Failed, NCCL error %s:%d '%s'\n",             \
        __FILE__,__LINE__,ncclGetErrorString(r));   \
    exit(EXIT_FAILURE);                             \
  }                                                 \
} while(0)
static void use(ncclComm_t c) { MPICHECK(MPI_Barrier(MPI_COMM_WORLD)); CUDACHECK(cudaDeviceSynchronize()); NCCLCHECK(ncclCommFinalize(c)); }
""",
    "nccl_last_error": r"""
#define NCCL_TRY(cmd) do { ncclResult_t r = (cmd); if (r != ncclSuccess) { \
  fprintf(stderr, "%s:%d NCCL failure %s / %s\n", __FILE__, __LINE__, ncclGetErrorString(r), ncclGetLastError(NULL)); \
  MPI_Abort(MPI_COMM_WORLD, 1); } } while (0)
static void use() { NCCL_TRY(ncclGroupStart()); NCCL_TRY(ncclGroupEnd()); }
""",
    "mpi_error_string": r"""
static void check_mpi(int error, const char* what) {
  if (error == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(error, text, &length);
  fprintf(stderr, "%s: %s\n", what, text);
  MPI_Abort(MPI_COMM_WORLD, error);
}
static void use() { check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier"); }
""",
    "mpi_error_macro": r"""
#define MPI_TRY(call) do { int mpi_status = (call); if (mpi_status != MPI_SUCCESS) { \
    char mpi_error_string[MPI_MAX_ERROR_STRING]; int mpi_error_string_length = 0; \
    MPI_Error_string(mpi_status, mpi_error_string, &mpi_error_string_length); \
    if (NULL != mpi_error_string) fprintf(stderr, "ERROR: MPI call \"%s\" in line %d of file %s failed with %s (%d).\n", \
      #call, __LINE__, __FILE__, mpi_error_string, mpi_status); \
    exit(mpi_status); } } while (0)
static void use() { MPI_TRY(MPI_Barrier(MPI_COMM_WORLD)); }
""",
    "cuda_rt_call": r"""
#define CUDA_RT_CALL(call) { cudaError_t cudaStatus = call; if (cudaSuccess != cudaStatus) { \
  fprintf(stderr, "ERROR: CUDA RT call \"%s\" in line %d of file %s failed with %s (%d).\n", \
          #call, __LINE__, __FILE__, cudaGetErrorString(cudaStatus), cudaStatus); \
  exit( cudaStatus ); } }
static void use() { CUDA_RT_CALL(cudaDeviceSynchronize()); }
""",
    "throws": r"""
#include <stdexcept>
#include <string>
#define CUDA_THROW(x) do { cudaError_t e = (x); if (e != cudaSuccess) \
  throw std::runtime_error(std::string("CUDA error at ") + __FILE__ + ":" + std::to_string(__LINE__) + ": " + cudaGetErrorString(e)); } while (0)
static void use() { CUDA_THROW(cudaDeviceSynchronize()); }
""",
    "cerr": r"""
#include <iostream>
#define CHECK_RT(call) do { auto err = (call); if (err != cudaSuccess) { \
  std::cerr << "CUDA error in " << __FILE__ << " at line " << __LINE__ << ": " << cudaGetErrorString(err) << std::endl; \
  std::exit(EXIT_FAILURE); } } while (0)
static void use() { CHECK_RT(cudaDeviceSynchronize()); }
""",
    "cerr_helper": r"""
#include <iostream>
static void check_impl(cudaError_t err, char const* func, char const* file, int line) {
  if (err != cudaSuccess) {
    std::cerr << "CUDA Runtime Error at: " << file << ":" << line << std::endl;
    std::cerr << cudaGetErrorString(err) << " " << func << std::endl;
    std::exit(EXIT_FAILURE);
  }
}
#define CHECK_CUDA_ERROR(val) check_impl((val), #val, __FILE__, __LINE__)
static void check_last(char const* file, int line) {
  cudaError_t const err{cudaGetLastError()};
  if (err != cudaSuccess) {
    std::cerr << "CUDA Runtime Error at: " << file << ":" << line << std::endl;
    std::cerr << cudaGetErrorString(err) << std::endl;
    std::exit(EXIT_FAILURE);
  }
}
#define CHECK_LAST_CUDA_ERROR() check_last(__FILE__, __LINE__)
static void use() { CHECK_CUDA_ERROR(cudaDeviceSynchronize()); CHECK_LAST_CUDA_ERROR(); }
""",
    "func_macro": r"""
#define DIE_IF(x) do { if (x) { fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, __func__, #x); abort(); } } while (0)
static void use(void* p) { DIE_IF(p == nullptr); }
""",
    "function_name": r"""
#define TRACE(x) do { cudaError_t e = (x); if (e != cudaSuccess) { fprintf(stderr, "[%s] %s\n", __FUNCTION__, cudaGetErrorString(e)); exit(1); } } while (0)
static void use() { TRACE(cudaDeviceSynchronize()); }
""",
    "assert_host": r"""
#include <cassert>
static int use(const int* p, int n) { assert(p != nullptr); assert(n > 0 && "no ranks"); return p[n - 1]; }
""",
    "assert_device": r"""
#include <assert.h>
__global__ void use(const int* p, int n) { assert(blockDim.x <= 1024); if (threadIdx.x < n) assert(p[threadIdx.x] >= 0); }
""",
    "assert_call": r"""
#include <cassert>
static void use() { cudaError_t e = cudaDeviceSynchronize(); assert(e == cudaSuccess); (void)e; }
""",
    "processor_name": r"""
static void say(int rank, int size) {
  char name[MPI_MAX_PROCESSOR_NAME];
  int length;
  MPI_Get_processor_name(name, &length);
  printf("Hello from processor %s, rank %d out of %d\n", name, rank, size);
}
""",
    "get_heap_limit": r"""
static void heap() {
  size_t limit = 0;
  cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize);
  printf("heap %zu\n", limit);
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64 << 20);
}
""",
    "mpi_abort": r"""
static void need(bool ok, const char* why) {
  if (ok) return;
  int rank; MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  fprintf(stderr, "rank %d: %s\n", rank, why);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}
""",
    "error_fatal_rank": r"""
#define FATAL(fmt, ...) do { int r_; MPI_Comm_rank(MPI_COMM_WORLD, &r_); \
  fprintf(stderr, "[%d] %s:%d " fmt "\n", r_, __FILE__, __LINE__, ##__VA_ARGS__); MPI_Abort(MPI_COMM_WORLD, 1); } while (0)
static void use(int n) { if (n < 0) FATAL("n is %d", n); }
""",
    "inline_if": r"""
static bool report(cudaError_t e, const char* file, int line) {
  if (e == cudaSuccess) return false;
  printf("%s:%d: %s (%s)\n", file, line, cudaGetErrorString(e), cudaGetErrorName(e));
  return true;
}
#define OK(x) if (report((x), __FILE__, __LINE__)) exit(1)
static void use() { OK(cudaDeviceSynchronize()); }
""",
    "nccl_async": r"""
static void wait_for(ncclComm_t comm) {
  ncclResult_t state;
  do { ncclCommGetAsyncError(comm, &state); } while (state == ncclInProgress);
  if (state != ncclSuccess) { printf("NCCL: %s, %s\n", ncclGetErrorString(state), ncclGetLastError(comm)); exit(1); }
}
""",
    "device_line": r"""
#define DEVICE_CHECK(x) do { if (!(x)) { printf("%s:%d: block %d, thread %d: %s\n", __FILE__, __LINE__, blockIdx.x, threadIdx.x, #x); __trap(); } } while (0)
__global__ void use(const float* p, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) DEVICE_CHECK(p[i] == p[i]); }
""",
    "errhandler": r"""
static void errors_return() { MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); }
static void check(int code) { if (code == MPI_SUCCESS) return; int cls; MPI_Error_class(code, &cls); char s[MPI_MAX_ERROR_STRING]; int n; MPI_Error_string(cls, s, &n); fprintf(stderr, "%.*s\n", n, s); MPI_Abort(MPI_COMM_WORLD, cls); }
""",
    "stringify_line": r"""
#define STR2(x) #x
#define STR(x) STR2(x)
#define HERE __FILE__ ":" STR(__LINE__)
static void use(cudaError_t e) { if (e != cudaSuccess) { fprintf(stderr, HERE " %s\n", cudaGetErrorString(e)); exit(1); } }
""",
    "cuda_version_print": r"""
static void versions() { int d = 0, r = 0, n = 0; cudaDriverGetVersion(&d); cudaRuntimeGetVersion(&r); ncclGetVersion(&n); printf("driver %d runtime %d nccl %d\n", d, r, n); }
""",
    "mem_info": r"""
static void memory() { size_t f, t; cudaMemGetInfo(&f, &t); printf("%zu of %zu free\n", f, t); }
""",
}
_HELPER = "static int kept;\nstatic void say(int code, const char* file, int line) {\n  BODY\n}\n"
_USE = "static void use() { say(1, __FILE__, __LINE__); }"
ATTACKS = {
    "kept": _HELPER.replace("BODY", "kept = line;") + _USE,
    "tested": _HELPER.replace("BODY", 'if (line > 100) printf("%s\\n", file);') + _USE,
    "file_read": _HELPER.replace("BODY", 'printf("%c\\n", file[0]);') + _USE,
    "side_effect": _HELPER.replace("BODY", 'printf("%d\\n", line > 9 ? (kept = 1) : 0);') + _USE,
    "counted": _HELPER.replace("BODY", 'kept = printf("%d\\n", line);') + _USE,
    "wide": _HELPER.replace("BODY", 'printf("%*d%n\\n", line, 1, &kept);') + _USE,
    "to_buffer": _HELPER.replace("BODY", 'char t[9]; snprintf(t, 9, "%d", line); kept = t[0];')
    + _USE,
    "passed_on": "static int kept;\nstatic void keep(int n) { kept = n; }\n"
    "static void say(int line) { keep(line); }\nstatic void use() { say(__LINE__); }",
    "overloaded": 'static int kept;\nstatic void say(const char*, int line) { printf("%d\\n", line); }\n'
    "static void say(long, int line) { kept = line; }\nstatic void use() { say(1, __LINE__); }",
    "converted": "static int kept;\nstruct Line { Line(int n) { kept = n; } };\n"
    "static void say(Line line) { (void)line; }\nstatic void use() { say(__LINE__); }",
    "by_type": 'template <class T> static void say(T line) { printf("%d\\n", (int)sizeof(line)); }\n'
    "static void use() { say(__LINE__); }",
    "by_lambda": 'static int kept;\nstatic void say(int line) { printf("%d\\n", line); }\n'
    "static void use() { auto say = [](int n) { kept = n; }; say(__LINE__); }",
    "by_class": 'static int kept;\nstatic void say(int line) { printf("%d\\n", line); }\n'
    "static void use() { struct say { say(int n) { kept = n; } }; say(__LINE__); }",
    "by_pointer": 'static int kept;\nstatic void keep(int n) { kept = n; }\nstatic void say(int line) { printf("%d\\n", line); }\n'
    "static void use(void (*say)(int)) { say(__LINE__); }",
    "shifted": "#include <iostream>\nstruct Own {};\nstatic int kept;\nstatic Own operator<<(std::ostream&, Own o) { return o; }\n"
    "static Own operator<<(Own o, int n) { kept = n; return o; }\n"
    "static void use() { std::cerr << Own() << __LINE__; }",
    "caught": "#include <stdexcept>\n#include <string>\nstatic char kept;\nstatic void use() {\n"
    "  try { throw std::runtime_error(std::to_string(__LINE__)); } catch (const std::runtime_error& e) { kept = e.what()[0]; }\n}",
    "thrown_number": "static void use() { throw __LINE__ / 2; }\nstatic int kept(int n) { return n; }\n"
    "static void more() { throw kept(__LINE__); }",
    "error_text": "static bool must() { char text[256]; int length = 0; MPI_Error_string(5, text, &length); printf(\"%s\\n\", text); return text[4] == 'e'; }",
    "error_length": 'static bool must() { char text[256]; int length = 0; MPI_Error_string(5, text, &length); printf("%s\\n", text); return length > 9; }',
    "error_alias": "static bool must() { char text[256]; char* other = text; int length = 0; MPI_Error_string(5, text, &length); return other[4] == 'e'; }",
    "error_global": "static char text[256];\nstatic void ask() { int length = 0; MPI_Error_string(5, text, &length); }\nstatic bool must() { return text[4] == 'e'; }",
    "error_reference": "static void ask(char* text) { int length = 0; MPI_Error_string(5, text, &length); }",
    "processor": "static bool must() { char name[256]; int n; MPI_Get_processor_name(name, &n); return name[0] == 'n'; }",
    "limit": "static bool must() { size_t n = 0; cudaDeviceGetLimit(&n, cudaLimitStackSize); return n == 1024; }",
    "limit_shared": "static size_t n;\nstatic bool must() { cudaDeviceGetLimit(&n, cudaLimitStackSize); return n == 1024; }",
    "memory_left": 'static bool must() { size_t f, t; cudaMemGetInfo(&f, &t); printf("%zu\\n", f); return t > 9; }',
    "version": "static int driver() { int v = 0; cudaDriverGetVersion(&v); return v; }",
    "version_address": "static auto ask() { return &cudaDriverGetVersion; }",
    "pasted": '#define CAT(a, ...) a##__VA_ARGS__\nstatic auto ask() { return CAT(get, env)("HOME"); }',
}


def _beside_moe(text: str) -> list[str]:
    at = MOE.index("struct Layer")
    return [item.kind for item in judged(f"{MOE[:at]}{text}\n{MOE[at:]}")]


@pytest.mark.parametrize("name", STYLES)
def test_checks_of_errors_are_legal(name: str) -> None:
    assert _beside_moe(STYLES[name]) == []


@pytest.mark.parametrize("name", ATTACKS)
def test_a_value_that_only_may_be_printed_is_not_used(name: str) -> None:
    assert _beside_moe(ATTACKS[name]) != []
