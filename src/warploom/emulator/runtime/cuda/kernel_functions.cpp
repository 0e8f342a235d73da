// Kernels that the program names by plain pointers, and launch attributes.
#include <cxxabi.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "../../include/cuda_runtime.h"
#include "cuda/cuda_error.h"
#include "host/call_targets.h"
#include "host/program_range.h"
#include "kernels/cluster.h"
#include "kernels/kernel_plan.h"
#include "machine/world.h"
#include "report/report.h"

namespace warploom {

namespace {

std::map<const void*, BindKernel> g_kernels;

// Bytes of dynamic shared memory for a launch: at most, and without cudaFuncSetAttribute
// (compute capability 9.0).
constexpr std::size_t kMostShared = 227 << 10, kSharedUnasked = 48 << 10;
// What that allows on one device of a process, by the kernel's name without its namespace and
// template arguments.
using Allowed = std::map<std::string, std::size_t, std::less<>>;
std::map<std::pair<const Process*, int>, Allowed> g_allowed_shared;
// Kernels whose clusters may have more blocks than all devices of this kind take.
std::set<std::pair<const Process*, std::string>> g_large_clusters;

std::string_view bare_name(std::string_view name) {
  name = name.substr(0, name.find('<'));
  if (const auto scope = name.rfind("::"); scope != std::string_view::npos) {
    name.remove_prefix(scope + 2);
  }
  while (!name.empty() && name.back() == ' ') name.remove_suffix(1);
  return name;
}

const char* find_name(const void* address) {
  Dl_info info{};
  if (!dladdr(address, &info) || !info.dli_sname) return "(a kernel)";
  // A kernel of one file only: what follows the $ tells the files apart (guard/merge.cpp).
  const std::string symbol(info.dli_sname, std::strcspn(info.dli_sname, "$"));
  int status = 0;
  char* plain = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string name = status == 0 && plain ? plain : symbol;
  std::free(plain);
  // Without the parameters, and what precedes the name of a template's instance.
  if (auto at = name.rfind(')'); at != std::string::npos) {
    for (int depth = 0; at > 0; at--) {
      depth += name[at] == ')' ? 1 : name[at] == '(' ? -1 : 0;
      if (depth == 0) break;
    }
    name.resize(at);
  }
  if (name.starts_with("void ")) name.erase(0, 5);
  return (new std::string(std::move(name)))->c_str();
}

}  // namespace

const char* kernel_name(const void* address) {
  static std::map<const void*, const char*> names;
  const char*& name = names[address];
  if (!name) name = find_name(address);
  return name;
}

void register_kernel(const void* kernel, BindKernel bind) {
  check_call_target(bind);
  g_kernels[kernel] = bind;
}

cudaError_t allow_dynamic_shared(const char* kernel, int bytes) {
  if (bytes < 0 || static_cast<std::size_t>(bytes) > kMostShared) {
    return cuda_fail(cudaErrorInvalidValue);
  }
  const HostThread& host = current_host();
  g_allowed_shared[{host.process, host.device}][std::string(bare_name(kernel))] =
      static_cast<std::size_t>(bytes);
  return cudaSuccess;
}

// Whether the process has allowed a kernel this much dynamic memory.
static bool asked_for(const Process* process, int device, const char* name, std::size_t bytes) {
  const Allowed& allowed = g_allowed_shared[{process, device}];
  const auto own = allowed.find(bare_name(name));
  if (own != allowed.end()) return bytes <= own->second;
  // The launch names a variable that points to the kernel, or a macro.
  return std::ranges::any_of(allowed, [&](const auto& entry) { return bytes <= entry.second; });
}

bool allows_shared(const KernelPlan& plan, std::size_t bytes) {
  if (bytes <= kSharedUnasked) return true;
  return bytes <= kMostShared && asked_for(plan.process, plan.device, plan.name, bytes);
}

std::size_t allowed_shared(const KernelPlan& plan) {
  const Allowed& allowed = g_allowed_shared[{plan.process, plan.device}];
  const auto own = allowed.find(bare_name(plan.name));
  return own == allowed.end() ? 0 : own->second;
}

std::size_t most_shared(const Kernel& kernel, std::size_t variables) {
  const std::size_t dynamic = kernel.config.shared_bytes, together = variables + dynamic;
  if (together <= kSharedUnasked) return 0;
  if (together > kMostShared) return kMostShared;
  return asked_for(kernel.process, kernel.device, kernel.name, dynamic) ? 0 : kSharedUnasked;
}

cudaError_t allow_large_clusters(const char* kernel, int allowed) {
  const HostThread& host = current_host();
  const std::pair key(host.process, std::string(bare_name(kernel)));
  allowed ? void(g_large_clusters.insert(key)) : void(g_large_clusters.erase(key));
  return cudaSuccess;
}

// "Thread Block Clusters" in the CUDA C++ Programming Guide.
int check_cluster_shape(const char* kernel, dim3 grid, dim3 cluster) {
  constexpr unsigned kPortable = 8, kMost = 16;
  for (const unsigned side : {cluster.x, cluster.y, cluster.z}) {
    if (side == 0) return cudaErrorInvalidValue;
    if (side > kMost) return cudaErrorInvalidClusterSize;
  }
  const unsigned blocks = cluster.x * cluster.y * cluster.z;
  if (blocks == 1) return cudaSuccess;
  const std::pair key(g_current->process, std::string(bare_name(kernel)));
  if (blocks > (g_large_clusters.contains(key) ? kMost : kPortable)) {
    return cudaErrorInvalidClusterSize;
  }
  const bool fits = grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
  return fits ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t launch_pointer(const void* kernel, const LaunchConfig& config, void** args) {
  const auto found = g_kernels.find(kernel);
  if (found == g_kernels.end()) return cuda_fail(cudaErrorInvalidDeviceFunction);
  const int error = launch_kernel(kernel_name(kernel), config, found->second(kernel, args));
  current_host().error_seen = true;  // the caller gets it
  return cuda_fail(static_cast<cudaError_t>(error));
}

LaunchConfig config_of(const cudaLaunchConfig_t& from) {
  program_reads(&from, sizeof from);
  LaunchConfig config(from.wl_gridDim, from.wl_blockDim, from.dynamicSmemBytes, from.stream);
  if (from.numAttrs > 0) program_reads(from.attrs, bytes_of(from.numAttrs, sizeof *from.attrs));
  for (unsigned i = 0; i < from.numAttrs; i++) {
    const cudaLaunchAttribute& attribute = from.attrs[i];
    const auto& cluster = attribute.val.clusterDim;
    switch (attribute.id) {
      case cudaLaunchAttributeCooperative:
        config.cooperative = attribute.val.cooperative != 0;
        break;
      case cudaLaunchAttributeClusterDimension:
        config.cluster = dim3(cluster.x, cluster.y, cluster.z);
        break;
      case cudaLaunchAttributeProgrammaticStreamSerialization:
        config.programmatic = attribute.val.programmaticStreamSerializationAllowed != 0;
        break;
      case cudaLaunchAttributeProgrammaticEvent:
        stop_unsupported("cudaLaunchAttributeProgrammaticEvent",
                         "events that a kernel triggers are not emulated");
      default:
        break;  // hints for scheduling and caches, which change time and not meaning
    }
  }
  return config;
}

cudaError_t kernel_work(const cudaKernelNodeParams& params, NodeWork& work) {
  const auto found = g_kernels.find(params.func);
  if (found == g_kernels.end()) return cudaErrorInvalidDeviceFunction;
  if (!params.kernelParams && params.extra) {
    stop_unsupported("cudaKernelNodeParams::extra", "pass the arguments in kernelParams");
  }
  const LaunchConfig config(params.wl_gridDim, params.wl_blockDim, params.sharedMemBytes);
  KernelPlan plan;
  const int error = plan_kernel(plan, kernel_name(params.func), config,
                                found->second(params.func, params.kernelParams), work.device);
  if (error) return static_cast<cudaError_t>(error);
  work = work_of(plan, capture_frames(), work.rank);
  return cudaSuccess;
}

void launch_bounds(unsigned most, unsigned, unsigned) {
  const GpuThread* thread = current_thread();
  if (!thread) return;
  const Kernel& kernel = *thread->block->kernel;
  const dim3& block = kernel.config.block;
  const unsigned threads = block.x * block.y * block.z;
  if (threads <= most) return;
  report_finding({.kind = kinds::launch_error,
                  .message = format("kernel %s is launched with %u threads in a block, and its "
                                    "__launch_bounds__ allow %u",
                                    kernel.name, threads, most),
                  .hint = "launch smaller blocks, or allow larger ones: this launch fails on a GPU",
                  .where = kernel.op->where});
  stop_run();
}

}  // namespace warploom
