// CORPUS run=1
// Stream-ordered allocation, a callback on the host, and results that live in a pool.
//
// DEFECT USED_AFTER_FREE use_after_free: the kernel comes after the free of its memory
// DEFECT OTHER_STREAM_FREE use_after_free: freed on another stream while it may be in use
// DEFECT FREE_INSIDE invalid_free: the second half of an allocation is freed by itself
// DEFECT NO_CALLBACK_WAIT readback_before_sync: reads the total before the callback has run
#include <cuda_runtime.h>

#include <cstdlib>
#include <iostream>
#include <numeric>
#include <string>
#include <vector>

void verify(cudaError_t err, const std::string &what) {
    if (err == cudaSuccess) return;
    std::cerr << what << ": " << cudaGetErrorString(err) << std::endl;
    std::exit(EXIT_FAILURE);
}

__global__ void iota(long *p, int n, long first) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    // EXPECT OTHER_STREAM_FREE
    if (i < n) p[i] = first + i;
}

__global__ void fold(const long *p, int n, long *sum) {
    long mine = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        // EXPECT USED_AFTER_FREE OTHER_STREAM_FREE
        mine += p[i];
    }
    atomicAdd(reinterpret_cast<unsigned long long *>(sum), static_cast<unsigned long long>(mine));
}

struct Totals {
    long *pinned;
    long seen;
};

void CUDART_CB take(void *data) {
    auto *totals = static_cast<Totals *>(data);
    // EXPECT NO_CALLBACK_WAIT
    totals->seen = *totals->pinned;
}

int main() {
    const int n = 400;
    cudaStream_t stream, cleaner;
    verify(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    verify(cudaStreamCreateWithFlags(&cleaner, cudaStreamNonBlocking), "stream");
    long *sum = nullptr, want = 0;
    Totals totals{nullptr, 0};
    verify(cudaMallocHost(&totals.pinned, sizeof(long)), "pinned");
    verify(cudaMallocAsync(&sum, sizeof(long), stream), "sum");
    verify(cudaMemsetAsync(sum, 0, sizeof(long), stream), "clear");
    for (long round = 0; round < 3; ++round) {
        long *work = nullptr;
        verify(cudaMallocAsync(&work, n * sizeof(long), stream), "work");
        iota<<<(n + 127) / 128, 128, 0, stream>>>(work, n, round);
        verify(cudaGetLastError(), "iota");
#if defined(DEFECT_USED_AFTER_FREE)
        verify(cudaFreeAsync(work, stream), "free");
        fold<<<1, 64, 0, stream>>>(work, n, sum);
#else
        fold<<<1, 64, 0, stream>>>(work, n, sum);
#if defined(DEFECT_OTHER_STREAM_FREE)
        // EXPECT OTHER_STREAM_FREE
        verify(cudaFreeAsync(work, cleaner), "free");
#else
        verify(cudaFreeAsync(work, stream), "free");
#endif
#endif
        verify(cudaGetLastError(), "fold");
        want += n * round + n * (n - 1L) / 2;
    }
    // EXPECT NO_CALLBACK_WAIT
    verify(cudaMemcpyAsync(totals.pinned, sum, sizeof(long), cudaMemcpyDeviceToHost, stream), "copy");
    verify(cudaLaunchHostFunc(stream, take, &totals), "callback");
#if defined(DEFECT_NO_CALLBACK_WAIT)
    // EXPECT NO_CALLBACK_WAIT
    const long got = *totals.pinned;
    verify(cudaStreamSynchronize(stream), "sync");
#else
    verify(cudaStreamSynchronize(stream), "sync");
    const long got = totals.seen;
#endif
#ifdef DEFECT_FREE_INSIDE
    // EXPECT FREE_INSIDE
    verify(cudaFreeAsync(reinterpret_cast<char *>(sum) + sizeof(long) / 2, stream), "free");
#endif
    verify(cudaFreeAsync(sum, stream), "free");
    verify(cudaStreamSynchronize(cleaner), "sync");
    verify(cudaStreamDestroy(cleaner), "destroy");
    verify(cudaStreamDestroy(stream), "destroy");
    verify(cudaFreeHost(totals.pinned), "free");
    std::cout << got << " of " << want << std::endl;
    return got == want ? 0 : 1;
}
