// Windows whose bytes two sides want. The first argument names what is done, correct as it stands;
// with a second one a rule is broken, and a third says how often the target calls MPI_Win_sync.
#include <cuda_runtime.h>
#include <mpi.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

int rank, ranks, syncs = 1;
bool good = true, wrong = false;
constexpr int kCells = 64;
constexpr MPI_Comm kWorld = MPI_COMM_WORLD;

void right(bool is) { good = good && is; }

struct Window {
  int* cells;
  MPI_Win win;
  bool on_device;
  explicit Window(bool device = false) : on_device(device) {
    if (device) {
      cudaMalloc(&cells, kCells * sizeof(int));
      cudaMemset(cells, 0, kCells * sizeof(int));
      cudaDeviceSynchronize();
      MPI_Win_create(cells, kCells * sizeof(int), sizeof(int), MPI_INFO_NULL, kWorld, &win);
    } else {
      MPI_Win_allocate(kCells * sizeof(int), sizeof(int), MPI_INFO_NULL, kWorld, &cells, &win);
      memset(cells, 0, kCells * sizeof(int));
    }
    MPI_Barrier(kWorld);
  }
  ~Window() {
    MPI_Win_free(&win);
    if (on_device) cudaFree(cells);
  }
  int read(int at) const {
    if (!on_device) return cells[at];
    int value;
    cudaMemcpy(&value, cells + at, sizeof value, cudaMemcpyDeviceToHost);
    return value;
  }
  void put(const int& value, int to, int at, int count = 1) const {
    MPI_Put(&value, count, MPI_INT, to, at, count, MPI_INT, win);
  }
};

// Rank 0 puts, says so, and goes on to unlock; rank 1 synchronizes its copies and reads.
void unflushed(bool device) {
  Window window(device);
  const int value = 42;
  MPI_Win_lock_all(0, window.win);
  if (rank == 0) {
    window.put(value, 1, 3);
    if (!wrong) MPI_Win_flush(1, window.win);
  }
  MPI_Barrier(kWorld);
  if (rank == 1) {
    for (int i = 0; i < syncs; i++) MPI_Win_sync(window.win);
    right(window.read(3) == value);
  }
  MPI_Win_unlock_all(window.win);
}

// The data first, then the flag that the target waits for.
void flagged() {
  Window window;
  const int value = 42, flag = 1;
  MPI_Win_lock_all(0, window.win);
  if (rank == 0) {
    window.put(value, 1, 3);
    if (!wrong) MPI_Win_flush(1, window.win);
    window.put(flag, 1, 0);
    MPI_Win_flush(1, window.win);
  } else if (rank == 1) {
    while (*const_cast<volatile int*>(window.cells) == 0) MPI_Win_sync(window.win);
    right(window.cells[3] == value);
    window.cells[3] = window.cells[0] = 0;  // it has them back
  }
  MPI_Barrier(kWorld);
  MPI_Win_unlock_all(window.win);
}

// The target looks between MPI_Win_post and MPI_Win_wait.
void posted(bool device, bool told) {
  Window window(device);
  MPI_Group world, peer;
  MPI_Comm_group(kWorld, &world);
  const int other = 1 - rank, value = 42;
  if (rank < 2) MPI_Group_incl(world, 1, &other, &peer);
  if (rank == 0) {
    MPI_Win_start(peer, 0, window.win);
    window.put(value, 1, 3);
    MPI_Win_complete(window.win);
    if (told) MPI_Send(&value, 1, MPI_INT, 1, 0, kWorld);
  } else if (rank == 1) {
    MPI_Win_post(peer, 0, window.win);
    int got;
    if (told) MPI_Recv(&got, 1, MPI_INT, 0, 0, kWorld, MPI_STATUS_IGNORE);
    const int before = wrong ? window.read(3) : 0;
    right(before == 0 || before == value);
    right(window.read(7) == 0);  // which nobody reaches
    MPI_Win_wait(window.win);
    right(window.read(3) == value);
  }
}

// The target's own store, in the epoch of a put or before it.
void target_stores(bool puts, int origin) {
  Window window;
  const int value = 42, target = 1 - origin;
  int got = 0;
  MPI_Win_fence(0, window.win);
  if (rank == origin) {
    if (puts) window.put(value, target, 3);
    if (!puts) MPI_Get(&got, 1, MPI_INT, target, 3, 1, MPI_INT, window.win);
  }
  if (rank == target) window.cells[wrong ? 3 : 4] = 7;
  MPI_Win_fence(0, window.win);
  if (rank == target) window.cells[3] = 1;
  if (rank == target) right(window.cells[3] == 1);
}

void target_loads(int origin) {
  Window window;
  const int value = 42, target = 1 - origin;
  MPI_Win_fence(0, window.win);
  if (rank == origin) window.put(value, target, 3);
  if (rank == target) right(window.cells[wrong ? 3 : 4] != 7);
  MPI_Win_fence(0, window.win);
  if (rank == target) right(window.cells[3] == value);
}

// The target moves its memory by other calls while it belongs to a put.
void target_moves(int how) {
  Window window;
  int value = 42, copy = 0;
  const int at = wrong ? 3 : 4;
  MPI_Win_fence(0, window.win);
  if (rank == 0) {
    window.put(value, 1, 3);
    if (how == 0) MPI_Send(&value, 1, MPI_INT, 1, 0, kWorld);
    if (how == 1) MPI_Recv(&copy, 1, MPI_INT, 1, 0, kWorld, MPI_STATUS_IGNORE);
  }
  if (rank == 1) {
    if (how == 0) MPI_Recv(window.cells + at, 1, MPI_INT, 0, 0, kWorld, MPI_STATUS_IGNORE);
    if (how == 1) MPI_Send(window.cells + at, 1, MPI_INT, 0, 0, kWorld);
    if (how == 2) memcpy(&copy, window.cells + at, sizeof copy);
    if (how == 3) {
      int* device;
      cudaMalloc(&device, sizeof copy);
      cudaMemcpy(device, window.cells + at, sizeof copy, cudaMemcpyHostToDevice);
      cudaFree(device);
    }
    if (how == 4) window.put(window.cells[0] = 5, 0, 9), window.put(window.cells[at], 0, 10);
    if (how == 5) right(*const_cast<volatile int*>(window.cells + at) != 7);
    if (how == 6) right(std::atomic_ref<int>(window.cells[at]).load() != 7);
  }
  MPI_Win_fence(0, window.win);
}

// Two calls on the same bytes.
void two_calls(int first, int second, bool same_origin, bool device) {
  Window window(device);
  const int a = 1, b = 2;
  int got[2] = {};
  const auto call = [&](int kind, const int* from, int at) {
    if (kind == 0) MPI_Put(from, 1, MPI_INT, 1, at, 1, MPI_INT, window.win);
    if (kind == 1) MPI_Get(&got[0], 1, MPI_INT, 1, at, 1, MPI_INT, window.win);
    if (kind == 2) MPI_Accumulate(from, 1, MPI_INT, 1, at, 1, MPI_INT, MPI_SUM, window.win);
    if (kind == 3) MPI_Fetch_and_op(from, &got[1], MPI_INT, 1, at, MPI_SUM, window.win);
  };
  const int other = same_origin ? 0 : 2;
  MPI_Win_fence(0, window.win);
  if (rank == 0) call(first, &a, 3);
  if (rank == other) call(second, &b, wrong ? 3 : 4);
  MPI_Win_fence(0, window.win);
  if (rank == other) call(second, &b, 3);
  MPI_Win_fence(0, window.win);
  MPI_Win_lock_all(0, window.win);
  if (rank == 0) {
    call(first, &a, 3);
    MPI_Win_flush(1, window.win);
  }
  MPI_Barrier(kWorld);
  if (rank == other) call(second, &b, 3);
  MPI_Win_unlock_all(window.win);
}

// Accumulations of all ranks at once, and a target that looks at the sum by MPI_NO_OP.
void counted() {
  Window window;
  const int one = 1;
  int got = -1, seen = 0;
  MPI_Win_lock_all(0, window.win);
  MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window.win);
  MPI_Fetch_and_op(&one, &got, MPI_INT, 1, 0, MPI_SUM, window.win);
  MPI_Win_flush_local(1, window.win);
  right(got >= 1);
  window.put(got, 1, 10 + rank);
  MPI_Win_flush(1, window.win);
  MPI_Accumulate(&one, 1, MPI_INT, 1, 1, 1, MPI_INT, MPI_SUM, window.win);
  MPI_Win_flush(1, window.win);
  do {
    MPI_Fetch_and_op(nullptr, &seen, MPI_INT, 1, 1, MPI_NO_OP, window.win);
    MPI_Win_flush(1, window.win);
  } while (seen != ranks);
  if (rank == 1) {
    for (int i = 0; i < ranks; i++) right(window.cells[10 + i] > 0);
    if (wrong) window.cells[0] = 0;
  }
  if (rank == 0) {
    MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, window.win);
    MPI_Win_flush(1, window.win);
  }
  MPI_Barrier(kWorld);
  right(rank != 1 || wrong || window.cells[0] == 2 * ranks + 1);
  MPI_Win_unlock_all(window.win);
}

// A lock of compare-and-swap guards plain puts and gets, in memory of the host or of a device.
void guarded(bool device) {
  Window window(device);
  const int zero = 0, mine = rank + 1;
  int got = -1, sum = 0;
  MPI_Win_lock_all(0, window.win);
  for (int round = 0; round < 3; round++) {
    while (!wrong) {
      MPI_Compare_and_swap(&mine, &zero, &got, MPI_INT, 0, 1, window.win);
      MPI_Win_flush(0, window.win);
      if (got == 0) break;
    }
    MPI_Get(&sum, 1, MPI_INT, 0, 2, 1, MPI_INT, window.win);
    MPI_Win_flush(0, window.win);
    sum++;
    window.put(sum, 0, 2);
    MPI_Win_flush(0, window.win);
    if (!wrong) MPI_Fetch_and_op(&zero, &got, MPI_INT, 0, 1, MPI_REPLACE, window.win);
    MPI_Win_flush(0, window.win);
  }
  MPI_Barrier(kWorld);
  right(rank != 0 || wrong || window.read(2) == 3 * ranks);
  MPI_Win_unlock_all(window.win);
}

// Ping and pong: both wait by looking, and use what they have got.
void ping_pong() {
  Window window;
  MPI_Win_lock_all(0, window.win);
  for (int round = 1; round <= 4 && rank < 2; round++) {
    const auto await = [&] {
      while (std::atomic_ref<int>(window.cells[0]).load() != round) MPI_Win_sync(window.win);
    };
    const auto send = [&] {
      int values[8], flag = round;
      for (int& value : values) value = 10 * round + rank;
      window.put(values[0], 1 - rank, 8, 8);
      if (!wrong) MPI_Win_flush(1 - rank, window.win);
      window.put(flag, 1 - rank, 0);
      MPI_Win_flush(1 - rank, window.win);
    };
    if (rank == 0) send();
    await();
    for (int i = 8; i < 16; i++) {
      right(window.cells[i] == 10 * round + 1 - rank);
      window.cells[i] = 0;
    }
    if (rank == 1) send();
  }
  MPI_Win_unlock_all(window.win);
}

// Who waits for two flags sees them in any order.
void two_flags() {
  Window window;
  const int flag = 1;
  MPI_Win_lock_all(0, window.win);
  if (rank == 0) {
    window.put(flag, 1, 0);
    window.put(flag, 1, 1);
    MPI_Win_flush(1, window.win);
  } else if (rank == 1) {
    volatile int* cells = window.cells;
    while (!cells[1] || !cells[0]) MPI_Win_sync(window.win);
    right(cells[0] == 1 && cells[1] == 1);
    if (wrong) {  // its own source, before the put has read it
      window.put(window.cells[0], 0, 0);
      window.cells[0] = 5;
    }
  }
  MPI_Win_unlock_all(window.win);
}

// A rank waits for another one's own store by fetching it, and then puts what that has made room
// for.
void fetched() {
  Window window;
  int got = 0;
  const int value = 9;
  MPI_Win_lock_all(0, window.win);
  if (rank == 1) {
    window.cells[5] = 3;
    if (!wrong) window.cells[6] = 1;
    MPI_Win_sync(window.win);
  } else if (rank == 0) {
    while (!wrong && got == 0) {
      MPI_Get(&got, 1, MPI_INT, 1, 6, 1, MPI_INT, window.win);
      MPI_Win_flush(1, window.win);
    }
    window.put(value, 1, 5);
  }
  MPI_Win_unlock_all(window.win);
}

// Exclusive locks order, of whatever kind the accesses are.
void exclusive() {
  Window window;
  int got = 0;
  for (int round = 0; round < 3; round++) {
    const int kind = wrong ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE;
    MPI_Win_lock(kind, 0, 0, window.win);
    if (rank == 0) {
      window.cells[2]++;
    } else {
      MPI_Get(&got, 1, MPI_INT, 0, 2, 1, MPI_INT, window.win);
      MPI_Win_flush_local(0, window.win);
      got++;
      window.put(got, 0, 2);
    }
    MPI_Win_unlock(0, window.win);
  }
  MPI_Barrier(kWorld);
  if (rank == 0) right(wrong || window.cells[2] == 3 * ranks);
}

// The lock of Mellor-Crummey and Scott, as the books on MPI have it: each waits by looking at
// memory of its own, and plain stores stand beside what others accumulate there.
void queued() {
  Window window;
  enum { kNext, kBlocked, kTail, kSum };
  volatile int* mine = window.cells;
  const int none = -1, zero = 0;
  int before = none, got = none, sum = 0;
  mine[kNext] = mine[kTail] = none;
  MPI_Win_lock_all(0, window.win);
  MPI_Win_sync(window.win);
  MPI_Barrier(kWorld);
  for (int round = 0; round < 3; round++) {
    mine[kNext] = none;
    if (!wrong) mine[kBlocked] = 1;
    MPI_Win_sync(window.win);
    MPI_Fetch_and_op(&rank, &before, MPI_INT, 0, kTail, MPI_REPLACE, window.win);
    MPI_Win_flush(0, window.win);
    if (before != none) {
      MPI_Accumulate(&rank, 1, MPI_INT, before, kNext, 1, MPI_INT, MPI_REPLACE, window.win);
      MPI_Win_flush(before, window.win);
      if (wrong) mine[kBlocked] = 1;  // the other may have stored its 0 by now
      for (int tries = 0; mine[kBlocked] == 1 && (!wrong || tries < 9); tries++) {
        MPI_Win_sync(window.win);
      }
    }
    MPI_Get(&sum, 1, MPI_INT, 0, kSum, 1, MPI_INT, window.win);
    MPI_Win_flush_local(0, window.win);
    sum++;
    for (int i = 0; i < 3; i++) MPI_Win_sync(window.win);  // others come meanwhile
    window.put(sum, 0, kSum);
    MPI_Win_flush(0, window.win);
    if (mine[kNext] == none) {
      MPI_Compare_and_swap(&none, &rank, &got, MPI_INT, 0, kTail, window.win);
      MPI_Win_flush(0, window.win);
      if (got == rank) continue;
      while (mine[kNext] == none) MPI_Win_sync(window.win);
    }
    MPI_Accumulate(&zero, 1, MPI_INT, mine[kNext], kBlocked, 1, MPI_INT, MPI_REPLACE, window.win);
    MPI_Win_flush(mine[kNext], window.win);
  }
  MPI_Barrier(kWorld);
  right(rank != 0 || wrong || window.read(kSum) == 3 * ranks);
  MPI_Win_unlock_all(window.win);
}

// A ring of cells with ghosts at both ends, whose inner cells are computed while the edges travel.
void halo(bool fences) {
  Window window;
  const int last = (rank + ranks - 1) % ranks, next = (rank + 1) % ranks,
            neighbors[] = {last, next};
  MPI_Group world, both;
  MPI_Comm_group(kWorld, &world);
  MPI_Group_incl(world, last == next ? 1 : 2, neighbors, &both);
  int new_cells[kCells];
  for (int i = 1; i + 1 < kCells; i++) window.cells[i] = rank * (kCells - 2) + i;
  if (fences) MPI_Win_fence(MPI_MODE_NOPRECEDE, window.win);
  for (int step = 0; step < 4; step++) {
    if (!fences) {
      MPI_Win_post(both, 0, window.win);
      MPI_Win_start(both, 0, window.win);
    }
    window.put(window.cells[1], last, kCells - 1);
    window.put(window.cells[kCells - 2], next, 0);
    for (int i = wrong ? 1 : 2; i + 2 < kCells; i++) {
      new_cells[i] = window.cells[i - 1] + window.cells[i + 1];
    }
    if (fences) {
      MPI_Win_fence(MPI_MODE_NOSTORE, window.win);
    } else {
      MPI_Win_complete(window.win);
      MPI_Win_wait(window.win);
    }
    for (const int i : {1, kCells - 2}) new_cells[i] = window.cells[i - 1] + window.cells[i + 1];
    memcpy(window.cells + 1, new_cells + 1, sizeof(int) * (kCells - 2));
    if (fences) MPI_Win_fence(MPI_MODE_NOPUT, window.win);
    if (fences) MPI_Win_fence(0, window.win);
  }
  if (fences) MPI_Win_fence(MPI_MODE_NOSUCCEED, window.win);
}

// A read that is complete locally is over: the target may have its bytes again.
void given_back() {
  Window window;
  int got = -1, token = 0;
  const int value = 3;
  MPI_Win_lock_all(0, window.win);
  if (rank == 0) {
    window.put(value, 1, 20);
    MPI_Get(&got, 1, MPI_INT, 1, 5, 1, MPI_INT, window.win);
    if (!wrong) MPI_Win_flush_local(1, window.win);
    MPI_Send(&token, 1, MPI_INT, 1, 0, kWorld);
  } else if (rank == 1) {
    MPI_Recv(&token, 1, MPI_INT, 0, 0, kWorld, MPI_STATUS_IGNORE);
    window.cells[5] = 8;
  }
  MPI_Win_unlock_all(window.win);
  right(rank != 0 || wrong || got == 0);
}

// Memory that ranks share: plain accesses on both sides of MPI_Win_sync, and of a barrier.
void shared() {
  int *mine, *first;
  MPI_Win win;
  MPI_Win_allocate_shared(4 * sizeof(int), sizeof(int), MPI_INFO_NULL, kWorld, &mine, &win);
  MPI_Aint bytes;
  int unit;
  MPI_Win_shared_query(win, 0, &bytes, &unit, &first);
  MPI_Win_lock_all(0, win);
  mine[0] = mine[1] = 0;
  MPI_Win_sync(win);
  MPI_Barrier(kWorld);
  MPI_Win_sync(win);
  if (rank == 0) {
    first[0] = 77;
    MPI_Win_sync(win);
    *const_cast<volatile int*>(first + 1) = 1;
  } else {
    while (*const_cast<volatile int*>(first + 1) == 0) MPI_Win_sync(win);
    MPI_Win_sync(win);
    right(first[0] == 77);
  }
  MPI_Win_sync(win);
  MPI_Barrier(kWorld);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

void freed(int origin) {
  int* cells = new int[8]();
  const int value = 1;
  MPI_Win win;
  MPI_Win_create(cells, 8 * sizeof(int), sizeof(int), MPI_INFO_NULL, kWorld, &win);
  MPI_Win_fence(0, win);
  const int target = 1 - origin;
  if (rank == origin) MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win);
  if (wrong && rank == target) delete[] cells;
  MPI_Win_fence(0, win);
  MPI_Win_free(&win);
  if (!wrong || rank != target) delete[] cells;
}

void run(const std::string& form) {
#define FORM(...) \
  if (form == #__VA_ARGS__) return __VA_ARGS__;
  FORM(unflushed(false))
  FORM(unflushed(true))
  FORM(flagged())
  FORM(posted(false, false))
  FORM(posted(false, true))
  FORM(posted(true, false))
  FORM(posted(true, true))
  FORM(target_stores(true, 0))
  FORM(target_stores(true, 1))
  FORM(target_stores(false, 0))
  FORM(target_stores(false, 1))
  FORM(target_loads(0))
  FORM(target_loads(1))
  FORM(target_moves(0))
  FORM(target_moves(1))
  FORM(target_moves(2))
  FORM(target_moves(3))
  FORM(target_moves(4))
  FORM(target_moves(5))
  FORM(target_moves(6))
  FORM(two_calls(0, 0, true, false))
  FORM(two_calls(0, 0, false, false))
  FORM(two_calls(0, 0, false, true))
  FORM(two_calls(0, 1, false, false))
  FORM(two_calls(1, 0, true, false))
  FORM(two_calls(0, 2, false, false))
  FORM(two_calls(3, 0, false, false))
  FORM(two_calls(2, 1, false, true))
  FORM(two_calls(2, 2, true, false))
  FORM(two_calls(2, 3, false, false))
  FORM(two_calls(2, 3, false, true))
  FORM(two_calls(1, 1, false, false))
  FORM(counted())
  FORM(guarded(false))
  FORM(guarded(true))
  FORM(ping_pong())
  FORM(two_flags())
  FORM(fetched())
  FORM(exclusive())
  FORM(queued())
  FORM(halo(true))
  FORM(halo(false))
  FORM(given_back())
  FORM(shared())
  FORM(freed(0))
  FORM(freed(1))
  right(false);  // there is none of that name
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(kWorld, &rank);
  MPI_Comm_size(kWorld, &ranks);
  cudaFree(nullptr);
  wrong = argc > 2 && atoi(argv[2]);
  if (argc > 3) syncs = atoi(argv[3]);
  run(argv[1]);
  if (!good) printf("rank %d: wrong\n", rank);
  MPI_Finalize();
  return good ? 0 : 1;
}
