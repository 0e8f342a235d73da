"""Small CUDA texts of many styles, for the tests of `source`."""

CHECKS = """\
#define CUDACHECK(cmd) do { cudaError_t e = cmd; if (e != cudaSuccess) { exit(1); } } while (0)
#define NCCLCHECK(cmd) do { ncclResult_t r = cmd; if (r != ncclSuccess) { exit(1); } } while (0)
"""

MPI_PER_RANK = (
    CHECKS
    + """\
#include <mpi.h>
#include <nccl.h>
#include <vector>

__global__ void scale(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * 2.0f;
}

__global__ void bias(float* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1.0f;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = 1024;
  std::vector<float> h_in(n), h_out(n);
  for (int i = 0; i < n; ++i) h_in[i] = rand() / float(RAND_MAX);
  ncclUniqueId id;
  if (rank == 0) ncclGetUniqueId(&id);
  MPI_Bcast(&id, sizeof(id), MPI_BYTE, 0, MPI_COMM_WORLD);
  ncclComm_t comm;
  NCCLCHECK(ncclCommInitRank(&comm, ranks, id, rank));
  float *d_in, *d_send, *d_recv;
  CUDACHECK(cudaMalloc(&d_in, n * sizeof(float)));
  CUDACHECK(cudaMalloc((void**)&d_send, n * sizeof(float)));
  CUDACHECK(cudaMalloc<float>(&d_recv, n * sizeof(float)));
  cudaStream_t stream;
  CUDACHECK(cudaStreamCreate(&stream));
  CUDACHECK(cudaMemcpy(d_in, h_in.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  dim3 grid((n + 255) / 256);
  double t0 = MPI_Wtime();
  scale<<<grid, 256, 0, stream>>>(d_in, d_send, n);
  CUDACHECK(cudaGetLastError());
  NCCLCHECK(ncclAllReduce((const void*)d_send, (void*)d_recv, n, ncclFloat, ncclSum, comm,
                          stream));
  bias<<<grid, 256, 0, stream>>>(d_recv, n);
  CUDACHECK(cudaStreamSynchronize(stream));
  double elapsed = MPI_Wtime() - t0;
  CUDACHECK(cudaMemcpy(h_out.data(), d_recv, n * sizeof(float), cudaMemcpyDeviceToHost));
  bool ok = true;
  for (int i = 0; i < n; ++i)
    if (h_out[i] < 0.0f) ok = false;
  printf("Verification: %s in %f\\n", ok ? "PASS" : "FAIL", elapsed);
  CUDACHECK(cudaFree(d_in));
  CUDACHECK(cudaStreamDestroy(stream));
  NCCLCHECK(ncclCommDestroy(comm));
  MPI_Finalize();
  return ok ? 0 : 1;
}
"""
)

INIT_ALL = (
    CHECKS
    + """\
int main() {
  int devices = 4;
  ncclComm_t comms[4];
  int list[4] = {0, 1, 2, 3};
  float** sendbuff = (float**)malloc(devices * sizeof(float*));
  float** recvbuff = (float**)malloc(devices * sizeof(float*));
  cudaStream_t* s = (cudaStream_t*)malloc(sizeof(cudaStream_t) * devices);
  for (int i = 0; i < devices; ++i) {
    CUDACHECK(cudaSetDevice(i));
    CUDACHECK(cudaMalloc((void**)sendbuff + i, 4096));
    CUDACHECK(cudaMalloc((void**)recvbuff + i, 4096));
    CUDACHECK(cudaMemset(sendbuff[i], 1, 4096));
    CUDACHECK(cudaStreamCreate(s + i));
  }
  NCCLCHECK(ncclCommInitAll(comms, devices, list));
  NCCLCHECK(ncclGroupStart());
  for (int i = 0; i < devices; ++i)
    NCCLCHECK(ncclAllReduce((const void*)sendbuff[i], (void*)recvbuff[i], 1024, ncclFloat,
                            ncclSum, comms[i], s[i]));
  NCCLCHECK(ncclGroupEnd());
  for (int i = 0; i < devices; ++i) CUDACHECK(cudaStreamSynchronize(s[i]));
  for (int i = 0; i < devices; ++i) ncclCommDestroy(comms[i]);
  printf("Success \\n");
  return 0;
}
"""
)

THREADS = """\
struct Job { int rank; ncclUniqueId id; float* in; float* out; };
void worker(Job* job, int ranks) {
  ncclComm_t comm;
  ncclCommInitRank(&comm, ranks, job->id, job->rank);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&job->in, 64);
  cudaMalloc(&job->out, 64);
  ncclAllGather(job->in, job->out, 4, ncclFloat, comm, stream);
  ncclCommDestroy(comm);
}
int main() {
  Job jobs[2];
  ncclGetUniqueId(&jobs[0].id);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) threads.emplace_back(worker, &jobs[i], 2);
  for (auto& t : threads) t.join();
}
"""

HELPERS = """\
template <typename T>
__global__ void fill(T* p, int n) { p[threadIdx.x] = (T)threadIdx.x; }
__device__ void store(float* where, float what) { *where = what; }
__global__ void update(float* w, const float* g, int n) { store(w + threadIdx.x, g[threadIdx.x]); }

static float* make(size_t n) {
  float* p = nullptr;
  cudaMalloc(&p, n * sizeof(float));
  return p;
}
static void make_into(float** out, size_t n) { cudaMalloc(out, n); }

struct Model { float* grads; float* weights; float* other; ncclComm_t comm; cudaStream_t stream; };

static void reduce(Model* m, float* buffer, int n) {
  ncclAllReduce(buffer, buffer, n, ncclFloat, ncclSum, m->comm, m->stream);
}

static void launch(Model& m, int n) { update<<<1, n, 0, m.stream>>>(m.weights, m.grads, n); }

int main() {
  Model model;
  model.grads = make(100);
  model.weights = make(100);
  make_into(&model.other, 100);
  fill<float><<<1, 100>>>(model.grads, 100);
  fill<float><<<1, 100>>>(model.other, 100);
  for (int step = 0; step < 3; ++step) {
    float* g = model.grads + 16;
    reduce(&model, g, 84);
    launch(model, 100);
  }
  float host[100];
  cudaMemcpy(host, model.weights, sizeof(host), cudaMemcpyDeviceToHost);
}
"""

SEND_RECV = """\
void exchange(float* send, float* recv, size_t count, int ranks, ncclComm_t comm,
              cudaStream_t stream) {
  ncclGroupStart();
  for (int peer = 0; peer < ranks; ++peer) {
    ncclSend(send + peer * count, count, ncclFloat, peer, comm, stream);
    ncclRecv(&recv[peer * count], count, ncclFloat, peer, comm, stream);
  }
  ncclGroupEnd();
}
int main() {
  float *d_tokens, *d_expert, *d_back;
  cudaMalloc(&d_tokens, 64); cudaMalloc(&d_expert, 64); cudaMalloc(&d_back, 64);
  exchange(d_tokens, d_expert, 4, 4, comm, stream);
  mlp<<<4, 32, 1024, stream>>>(d_expert);
  exchange(d_expert, d_back, 4, 4, comm, stream);
}
"""

EXTENDED_LAUNCHES = """\
__global__ void step(float* a, int n) { a[threadIdx.x] = n; }
void run(float* buf, int n, cudaStream_t stream) {
  void* args[] = {&buf, (void*)&n};
  cudaLaunchKernel((const void*)step, dim3(4), dim3(64), args, 128, stream);
  cudaLaunchCooperativeKernel((void*)step, 8, 32, args, 0, stream);
  cudaLaunchConfig_t config = {0};
  config.gridDim = dim3(2);
  config.blockDim = dim3(16);
  config.dynamicSmemBytes = 256;
  config.stream = stream;
  cudaLaunchKernelEx(&config, step, buf, n);
}
"""

BROKEN = """\
__global__ void fine(float* a) { a[0] = 1; }
int main() {
  float* d;
  cudaMalloc(&d, 4);
  @@@ this is not C++ ((;
  fine<<<1, 1>>>(d);
  ncclBroadcast(d, d, 1, ncclFloat, 0, comm, stream);
}
"""

BRANCHES = """\
int main() {
  float* d;
  cudaMalloc(&d, 4);
#ifdef USE_REDUCE
  ncclReduce(d, d, 1, ncclFloat, ncclSum, 0, comm, stream);
#else
  ncclAllReduce(d, d, 1, ncclFloat, ncclSum, comm, stream);
#endif
#if 0
  ncclSend(d, 1, ncclFloat, 0, comm, stream);
#endif
#ifdef FAST
  if (fast) {
#else
  if (slow) {
#endif
    ncclRecv(d, 1, ncclFloat, 0, comm, stream);
  }
}
"""

CLASSES = """\
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t n) : size_(n) { cudaMalloc(&data_, n * sizeof(T)); }
  ~DeviceArray() { cudaFree(data_); }
  T* get() { return data_; }

 private:
  T* data_ = nullptr;
  size_t size_;
};

class Ring {
 public:
  Ring(int rank, int ranks, ncclUniqueId id) : rank_(rank) {
    ncclCommInitRank(&comm_, ranks, id, rank);
    cudaStreamCreate(&stream_);
    cudaMalloc(&scratch_, 4096);
  }
  void reduce(float* values, size_t n);
  void run(const float* in) {
    twice<<<4, 64, 0, stream_>>>(in, scratch_);
    reduce(scratch_, 256);
    cudaMemcpyAsync(host_, scratch_, 1024, cudaMemcpyDeviceToHost, stream_);
  }

 private:
  int rank_;
  ncclComm_t comm_;
  cudaStream_t stream_;
  float* scratch_;
  float host_[256];
};

void Ring::reduce(float* values, size_t n) {
  ncclAllReduce(values, values, n, ncclFloat, ncclSum, comm_, stream_);
}

__global__ void twice(const float* in, float* out) { out[threadIdx.x] = 2 * in[threadIdx.x]; }

int main() {
  size_t n = 256;
  DeviceArray<float> input(n);
  Ring ring(rank, 4, id);
  ring.run(input.get());
  ncclBroadcast(input.get(), input.get(), n, ncclFloat, 0, comm, stream);
}
"""
