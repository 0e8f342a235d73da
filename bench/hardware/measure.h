// What every measurement shares: checks, median over repeats, and one JSON line per result.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#define CUDA(call)                                                                                \
  do {                                                                                            \
    cudaError_t status_ = (call);                                                                 \
    if (status_ != cudaSuccess) {                                                                 \
      fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_)); \
      exit(1);                                                                                    \
    }                                                                                             \
  } while (0)

struct Spread {
  double median, low, high;
};

inline Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

// One result: `fields` is the inside of a JSON object, such as "\"ctas\": 4".
inline void report(const char* bench, const std::string& fields, const char* unit, Spread value) {
  printf(
      "{\"bench\": \"%s\", %s%s\"unit\": \"%s\", \"median\": %.6g, \"min\": %.6g, \"max\": %.6g}\n",
      bench, fields.c_str(), fields.empty() ? "" : ", ", unit, value.median, value.low, value.high);
  fflush(stdout);
}

template <typename T>
std::string field(const char* name, T value) {
  return "\"" + std::string(name) + "\": " + std::to_string(value);
}

inline std::string field(const char* name, const char* value) {
  return "\"" + std::string(name) + "\": \"" + value + "\"";
}

inline Spread scaled(Spread s, double factor) {
  return {s.median * factor, s.low * factor, s.high * factor};
}

// Bytes over a time: the lowest time is the highest rate.
inline Spread rate(double amount, Spread microseconds) {
  return {amount / microseconds.median, amount / microseconds.high, amount / microseconds.low};
}

// Device time of `work` in microseconds, by events around it; the first call is a warm-up.
inline Spread timed(cudaStream_t stream, int repeats, const std::function<void()>& work) {
  cudaEvent_t begin, end;
  CUDA(cudaEventCreate(&begin));
  CUDA(cudaEventCreate(&end));
  work();
  CUDA(cudaStreamSynchronize(stream));
  std::vector<double> values;
  for (int i = 0; i < repeats; ++i) {
    CUDA(cudaEventRecord(begin, stream));
    work();
    CUDA(cudaEventRecord(end, stream));
    CUDA(cudaEventSynchronize(end));
    float milliseconds;
    CUDA(cudaEventElapsedTime(&milliseconds, begin, end));
    values.push_back(milliseconds * 1e3);
  }
  CUDA(cudaGetLastError());
  CUDA(cudaEventDestroy(begin));
  CUDA(cudaEventDestroy(end));
  return spread(values);
}
