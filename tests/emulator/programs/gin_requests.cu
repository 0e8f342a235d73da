// Requests of a flush, and counters that are reset: argument 1 is the form.
#include <nccl_device.h>

#include <cstring>

#include "harness.h"

enum class Form { Good, OtherContext, EarlyReset };

__global__ void exchange(ncclDevComm dev, ncclWindow_t send, ncclWindow_t recv, Form form) {
  ncclGin first(dev, 0), second(dev, 1);
  const ncclTeam world = ncclTeamWorld(dev);
  const int next = (world.rank + 1) % world.nRanks;
  int* source = static_cast<int*>(ncclGetLocalPointer(send, 0));
  ncclGinRequest_t request;
  first.put(world, next, recv, 0, send, 0, 64, ncclGin_WeakSignalInc{0});
  first.flushAsync(world, next, &request);
  (form == Form::OtherContext ? second : first).wait(request);
  source[0] = 5;
  second.put(world, next, recv, 64, send, 64, 64, ncclGin_WeakSignalInc{0},
             ncclGin_WeakCounterInc{0});
  if (form != Form::EarlyReset) second.waitCounter(ncclCoopThread(), 0, 1);
  second.resetCounter(0);
  first.flush(ncclCoopThread());
  second.flush(ncclCoopThread());
  first.waitSignal(ncclCoopThread(), 0, 1);
  second.waitSignal(ncclCoopThread(), 0, 1);
}

int main(int argc, char** argv) {
  Job job = start(&argc, &argv);
  const Form form = !strcmp(argv[1], "other_context") ? Form::OtherContext
                    : !strcmp(argv[1], "early_reset") ? Form::EarlyReset
                                                      : Form::Good;
  Buffer<int> send = allocate<int>(job, 256), recv = allocate<int>(job, 256);
  ncclDevCommRequirements needs = NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER;
  needs.ginSignalCount = 1;
  needs.ginCounterCount = 1;
  needs.ginContextCount = 2;
  needs.ginConnectionType = NCCL_GIN_CONNECTION_FULL;
  ncclDevComm dev;
  CHECK(ncclDevCommCreate(job.comm, &needs, &dev));
  CHECK(cudaDeviceSynchronize());
  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  exchange<<<1, 1, 0, job.stream>>>(dev, send.window, recv.window, form);
  CHECK(cudaStreamSynchronize(job.stream));
  CHECK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(ncclDevCommDestroy(job.comm, &dev));
  release(job, recv);
  release(job, send);
  return finish(job, true);
}
