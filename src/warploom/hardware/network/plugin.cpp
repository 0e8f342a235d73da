// A network for NCCL's GIN where the machine has no card for it: NCCL's own proxy takes what
// kernels ask for and calls this plugin, which carries it between the ranks of this machine
// (wire.h). NCCL loads it by NCCL_RMA_PLUGIN.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "nccl_rma.h"
#include "wire.h"

namespace warploom {

namespace {

struct Context {
  Wire* wire;
};

struct Listener {
  int socket;
};

// No exception may reach NCCL, which is C.
template <class Body>
NcclResult told(Body&& body) {
  try {
    body();
    return kSuccess;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "warploom: the network failed: %s\n", error.what());
    return kSystemError;
  }
}

void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

// A name that no file stands for, and that ends with its socket.
sockaddr_un address_of(const char* name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", name);
  return address;
}

NcclResult init(void** instance, uint64_t, NcclLogger) {
  static int some;
  *instance = &some;
  return kSuccess;
}

NcclResult devices(int* count) {
  *count = 1;
  return kSuccess;
}

NcclResult get_properties(int device, NetworkProperties* properties) {
  *properties = {};
  properties->name = "warploom";
  properties->guid = 1;
  properties->pointer_support = kHostMemory | kCudaMemory;
  properties->speed = 100'000;
  properties->max_comms = 1 << 16;
  properties->max_receives = 8;
  properties->device_type = kDeviceGinProxy;
  properties->parts = 1;
  properties->part[0] = device;
  properties->max_p2p_bytes = properties->max_collective_bytes = std::size_t{1} << 40;
  properties->max_multi_request = 1;
  properties->rail = properties->plane = -1;
  return kSuccess;
}

NcclResult listen_for(void*, int, void* handle, void** listener) {
  return told([&] {
    static std::atomic<unsigned> number = 0;
    char name[kHandleBytes] = {};
    std::snprintf(name, sizeof name, "warploom-network-%d-%u", static_cast<int>(getpid()),
                  number++);
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    require(socket >= 0, "socket");
    const sockaddr_un address = address_of(name);
    require(bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0, "bind");
    require(listen(socket, SOMAXCONN) == 0, "listen");
    std::memcpy(handle, name, sizeof name);
    *listener = new Listener{socket};
  });
}

int connect_to(const char* name, int rank) {
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(socket >= 0, "socket");
  const sockaddr_un address = address_of(name);
  require(connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0,
          "connect");
  require(send(socket, &rank, sizeof rank, MSG_NOSIGNAL) == sizeof rank, "send");
  return socket;
}

// Each rank calls those above it and is called by those below.
NcclResult connect_all(void*, void* handles[], int ranks, int rank, void* listener, void** comm) {
  return told([&] {
    std::vector<int> sockets(static_cast<std::size_t>(ranks), -1);
    for (int peer = rank + 1; peer < ranks; peer++) {
      sockets[static_cast<std::size_t>(peer)] =
          connect_to(static_cast<const char*>(handles[peer]), rank);
    }
    for (int lower = 0; lower < rank; lower++) {
      const int socket =
          accept4(static_cast<Listener*>(listener)->socket, nullptr, nullptr, SOCK_CLOEXEC);
      require(socket >= 0, "accept");
      int peer = -1;
      require(recv(socket, &peer, sizeof peer, MSG_WAITALL) == sizeof peer, "recv");
      sockets.at(static_cast<std::size_t>(peer)) = socket;
    }
    *comm = new Wire(rank, std::move(sockets), Pace::from_environment());
  });
}

NcclResult create_context(void* comm, RmaConfig*, void** context) {
  *context = new Context{static_cast<Wire*>(comm)};
  return kSuccess;
}

NcclResult register_memory(void* comm, void* data, std::size_t bytes, int type, uint64_t flags,
                           void** memory) {
  *memory = static_cast<Wire*>(comm)->add_memory(static_cast<char*>(data), bytes,
                                                 type == kCudaMemory, flags & kIndexedSignals);
  return kSuccess;
}

NcclResult register_dmabuf(void*, void*, std::size_t, int, uint64_t, int, uint64_t, void**) {
  return kInternalError;  // never asked for: we do not say that we can
}

NcclResult deregister_memory(void* comm, void* memory) {
  static_cast<Wire*>(comm)->remove_memory(static_cast<Memory*>(memory));
  return kSuccess;
}

NcclResult destroy_context(void* context) {
  delete static_cast<Context*>(context);
  return kSuccess;
}

NcclResult close_comm(void* comm) {
  delete static_cast<Wire*>(comm);
  return kSuccess;
}

NcclResult close_listener(void* listener) {
  close(static_cast<Listener*>(listener)->socket);
  delete static_cast<Listener*>(listener);
  return kSuccess;
}

NcclResult put_signal(void* context, int index, uint64_t from, void* from_memory, std::size_t bytes,
                      uint64_t to, void* to_memory, uint32_t rank, uint64_t signal,
                      void* signal_memory, uint64_t value, uint32_t operation, bool strong,
                      void** request) {
  Message message;
  message.bytes = bytes;
  if (bytes > 0) {
    message.memory = static_cast<Memory*>(to_memory)->number;
    message.offset = to;
  }
  if (operation != kNoSignal) {
    message.signal_operation = operation;
    message.signal_memory = static_cast<Memory*>(signal_memory)->number;
    message.signal_offset = signal;
    message.signal_value = operation == kSignalIncrement ? 1 : value;
    // A put with a signal in a window reaches us as two operations, and nothing says that they
    // belong together.
    const bool in_window = !static_cast<Memory*>(signal_memory)->indexed_signals;
    strong = strong || (bytes == 0 && in_window);
  }
  *request = static_cast<Context*>(context)->wire->send(
      static_cast<int>(rank), index, message, static_cast<Memory*>(from_memory), from, strong);
  return kSuccess;
}

NcclResult put(void* context, int index, uint64_t from, void* from_memory, std::size_t bytes,
               uint64_t to, void* to_memory, uint32_t rank, void** request) {
  return put_signal(context, index, from, from_memory, bytes, to, to_memory, rank, 0, nullptr, 0,
                    kNoSignal, false, request);
}

NcclResult get(void* context, int index, uint64_t from, void* from_memory, std::size_t bytes,
               uint64_t to, void* to_memory, uint32_t rank, void** request) {
  Message message;
  message.kind = Kind::Get;
  message.bytes = bytes;
  message.memory = static_cast<Memory*>(to_memory)->number;
  message.offset = to;
  message.source_memory = static_cast<Memory*>(from_memory)->number;
  message.source_offset = from;
  *request = static_cast<Context*>(context)->wire->send(static_cast<int>(rank), index, message,
                                                        nullptr, 0, false);
  return kSuccess;
}

// What a get brought is in device memory when its request is done: nothing is left to push out.
NcclResult flush(void*, int, void*, uint32_t, void** request) {
  *request = nullptr;
  return kSuccess;
}

NcclResult test(void*, void* request, int* done) {
  auto* asked = static_cast<Request*>(request);
  *done = !asked || asked->done.load();
  if (*done) delete asked;
  return kSuccess;
}

NcclResult last_error(void* context, bool* has_error) {
  *has_error = static_cast<Context*>(context)->wire->failed();
  return kSuccess;
}

NcclResult finalize(void*) { return kSuccess; }

}  // namespace

extern "C" __attribute__((visibility("default"))) const RmaPlugin ncclRmaPlugin_v14 = {
    "warploom",      init,
    devices,         get_properties,
    listen_for,      connect_all,
    create_context,  register_memory,
    register_dmabuf, deregister_memory,
    destroy_context, close_comm,
    close_listener,  put,
    put_signal,      get,
    flush,           test,
    nullptr,         last_error,
    finalize,
};

}  // namespace warploom
