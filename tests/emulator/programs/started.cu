// How a program was started, and what NCCL's ids look like: as on a cluster.
#include <cuda_runtime.h>
#include <nccl.h>

#include <unistd.h>
#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  ncclUniqueId ids[2];
  for (ncclUniqueId& id : ids)
    if (ncclGetUniqueId(&id) != ncclSuccess) return 1;
  unsigned short family = 0;
  std::memcpy(&family, ids[0].internal + 8, sizeof family);
  const bool differ = std::memcmp(ids[0].internal, ids[1].internal, 8) != 0;
  const bool listed = argv[argc] == nullptr && argv[argc + 1] == environ[0];
  std::printf("%s %d %d %d\n", argv[0], family, differ, listed);
}
