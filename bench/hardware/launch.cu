// What launches, events, graphs and synchronization cost on the host and on the device.
#include <chrono>

#include "measure.h"

namespace {

__global__ void empty() {}

struct Big {
  char bytes[4000];
};

__global__ void empty_with(Big) {}

__global__ void spin(long long nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
  do asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}

double now_us() {
  using namespace std::chrono;
  return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

Spread on_host(int repeats, int calls, const std::function<void()>& work,
               const std::function<void()>& after) {
  std::vector<double> values;
  work();
  after();
  for (int i = 0; i < repeats; ++i) {
    double begin = now_us();
    for (int k = 0; k < calls; ++k) work();
    values.push_back((now_us() - begin) / calls);
    after();
  }
  return spread(values);
}

void launches(cudaStream_t stream) {
  auto sync = [&] { CUDA(cudaStreamSynchronize(stream)); };
  auto launch = [&] { empty<<<1, 32, 0, stream>>>(); };
  report("host_launch", field("calls", 500), "us", on_host(7, 500, launch, sync));
  report("host_launch_4000_byte_argument", field("calls", 500), "us",
         on_host(7, 500, [&] { empty_with<<<1, 32, 0, stream>>>(Big{}); }, sync));
  report("host_launch_and_synchronize", "", "us",
         on_host(
             21, 20,
             [&] {
               launch();
               sync();
             },
             sync));
  report("host_synchronize_idle", "", "us", on_host(7, 100, sync, sync));
  cudaEvent_t event;
  CUDA(cudaEventCreate(&event));
  report("host_event_record", "", "us",
         on_host(7, 500, [&] { CUDA(cudaEventRecord(event, stream)); }, sync));
  report("host_event_query", "", "us", on_host(7, 500, [&] { cudaEventQuery(event); }, sync));
  for (int count : {1, 2, 10, 100, 1000}) {
    auto t = timed(stream, 11, [&] {
      for (int i = 0; i < count; ++i) launch();
    });
    report("device_back_to_back_launches", field("count", count), "us per launch",
           scaled(t, 1.0 / count));
  }
  report("device_two_events", "", "us", timed(stream, 21, [] {}));
  // The stream is kept busy while the host queues, so that the host's own time is hidden.
  for (int ctas : {1, 132, 1056, 10560, 105600, 1056000}) {
    for (int threads : {32, 256, 1024}) {
      cudaEvent_t begin, end;
      CUDA(cudaEventCreate(&begin));
      CUDA(cudaEventCreate(&end));
      std::vector<double> values;
      for (int i = 0; i < 7; ++i) {
        spin<<<1, 1, 0, stream>>>(200000);
        CUDA(cudaEventRecord(begin, stream));
        for (int k = 0; k < 10; ++k) empty<<<ctas, threads, 0, stream>>>();
        CUDA(cudaEventRecord(end, stream));
        CUDA(cudaEventSynchronize(end));
        float ms;
        CUDA(cudaEventElapsedTime(&ms, begin, end));
        values.push_back(ms * 1e2);
      }
      report("device_empty_kernel_queued", field("ctas", ctas) + ", " + field("threads", threads),
             "us", spread(values));
      CUDA(cudaEventDestroy(begin));
      CUDA(cudaEventDestroy(end));
    }
  }
}

void streams(cudaStream_t stream) {
  cudaStream_t other;
  CUDA(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  cudaEvent_t event;
  CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  // A chain that changes streams at each step: the cost of an event edge on the device.
  for (int hops : {10, 100}) {
    auto t = timed(stream, 11, [&] {
      for (int i = 0; i < hops; ++i) {
        empty<<<1, 32, 0, stream>>>();
        CUDA(cudaEventRecord(event, stream));
        CUDA(cudaStreamWaitEvent(other, event));
        empty<<<1, 32, 0, other>>>();
        CUDA(cudaEventRecord(event, other));
        CUDA(cudaStreamWaitEvent(stream, event));
      }
    });
    report("device_event_edge", field("hops", hops * 2), "us per hop", scaled(t, 0.5 / hops));
  }
  // Two kernels of 1 ms each on one stream, and on two.
  auto one = timed(stream, 7, [&] {
    spin<<<1, 32, 0, stream>>>(1000000);
    spin<<<1, 32, 0, stream>>>(1000000);
  });
  report("two_kernels_of_1ms_one_stream", "", "us", one);
  auto two = timed(stream, 7, [&] {
    CUDA(cudaEventRecord(event, stream));
    CUDA(cudaStreamWaitEvent(other, event));
    spin<<<1, 32, 0, stream>>>(1000000);
    spin<<<1, 32, 0, other>>>(1000000);
    CUDA(cudaEventRecord(event, other));
    CUDA(cudaStreamWaitEvent(stream, event));
  });
  report("two_kernels_of_1ms_two_streams", "", "us", two);
}

void graphs(cudaStream_t stream) {
  for (int count : {1, 10, 100}) {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < count; ++i) empty<<<1, 32, 0, stream>>>();
    CUDA(cudaStreamEndCapture(stream, &graph));
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
    auto t = timed(stream, 21, [&] { CUDA(cudaGraphLaunch(exec, stream)); });
    report("graph_launch", field("kernels", count), "us", t);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
  }
}

void allocations() {
  for (size_t bytes : {size_t{4096}, size_t{1} << 20, size_t{1} << 28}) {
    report("cudaMalloc_and_cudaFree", field("bytes", bytes), "us",
           on_host(
               7, 5,
               [&] {
                 void* p;
                 CUDA(cudaMalloc(&p, bytes));
                 CUDA(cudaFree(p));
               },
               [] {}));
  }
}

}  // namespace

int main() {
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  spin<<<1, 1, 0, stream>>>(100000000);
  CUDA(cudaStreamSynchronize(stream));
  launches(stream);
  streams(stream);
  graphs(stream);
  allocations();
  return 0;
}
