// One-sided calls of all kinds, correct as they stand; each macro breaks one rule.
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>

namespace {

int rank, ranks, next, last;
bool good = true;

void check(bool right, int line) {
  if (!right) printf("rank %d: wrong at line %d\n", rank, line);
  good = good && right;
}
#define RIGHT(condition) check(condition, __LINE__)

__global__ void fill(int* p, int first) { p[threadIdx.x] = first + static_cast<int>(threadIdx.x); }

// The memory of a device, from fence to fence.
void between_devices() {
  int *window_memory, *source, host[64], some[8];
  cudaMalloc(&window_memory, sizeof host);
  cudaMalloc(&source, sizeof host);
  fill<<<1, 64>>>(source, 100 * rank);
  fill<<<1, 64>>>(window_memory, 0);
  cudaDeviceSynchronize();
  MPI_Win window;
  MPI_Win_create(window_memory, sizeof host, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
#ifndef NO_EPOCH
  MPI_Win_fence(0, window);
#endif
#ifdef TOO_FAR
  MPI_Put(source, 64, MPI_INT, next, 1, 64, MPI_INT, window);
#else
  MPI_Put(source, 64, MPI_INT, next, 0, 64, MPI_INT, window);
#endif
#ifdef TWO_PUTS
  MPI_Put(source, 1, MPI_INT, (next + 1) % ranks, 3, 1, MPI_INT, window);
#endif
#ifdef SOURCE_FILLED
  fill<<<1, 64>>>(source, 0);
  cudaDeviceSynchronize();
#endif
#ifdef EARLY_COPY
  cudaMemcpy(host, window_memory, sizeof host, cudaMemcpyDeviceToHost);
#endif
#ifndef NOT_CLOSED
  MPI_Win_fence(0, window);
#endif
  cudaMemcpy(host, window_memory, sizeof host, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 64; i++) RIGHT(host[i] == 100 * last + i);
  MPI_Win_fence(MPI_MODE_NOPRECEDE, window);
  MPI_Get(some, 8, MPI_INT, next, 8, 8, MPI_INT, window);
#ifdef EARLY_RESULT
  RIGHT(some[0] != 77);
#endif
  MPI_Win_fence(MPI_MODE_NOSUCCEED, window);
  for (int i = 0; i < 8; i++) RIGHT(some[i] == 100 * rank + 8 + i);
  MPI_Win_free(&window);
  cudaFree(window_memory);
  cudaFree(source);
}

// A column of a matrix: data with gaps on both sides.
void columns() {
  int matrix[4][4], mine[4][4];
  for (int i = 0; i < 16; i++) matrix[i / 4][i % 4] = -1, mine[i / 4][i % 4] = 10 * rank + i / 4;
  MPI_Datatype column;
  MPI_Type_vector(4, 1, 4, MPI_INT, &column);
  MPI_Type_commit(&column);
  MPI_Win window;
  MPI_Win_create(matrix, sizeof matrix, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Put(&mine[0][0], 1, column, next, 3, 1, column, window);
#ifdef ORIGIN_CHANGED
  mine[2][0] = 5;
#endif
#ifdef WINDOW_READ
  RIGHT(matrix[0][3] != 77);
#endif
  RIGHT(matrix[0][0] == -1);  // which nobody changes
  MPI_Win_fence(0, window);
  for (int i = 0; i < 4; i++) RIGHT(matrix[i][3] == 10 * last + i && matrix[i][2] == -1);
  MPI_Win_free(&window);
  MPI_Type_free(&column);
}

void locks() {
  int* cells;
  MPI_Win window;
  MPI_Win_allocate(ranks * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &cells,
                   &window);
  for (int i = 0; i < ranks; i++) cells[i] = -1;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int target = 0; target < ranks; target++) {
    const int value = 10 * rank;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, window);
    MPI_Put(&value, 1, MPI_INT, target, rank, 1, MPI_INT, window);
#ifdef NEVER_UNLOCKED
    MPI_Barrier(MPI_COMM_WORLD);
#endif
    MPI_Win_unlock(target, window);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < ranks; i++) RIGHT(cells[i] == 10 * i);
  MPI_Barrier(MPI_COMM_WORLD);
  // A message says that a put is there: it is, behind a flush.
  const int value = 1000 + rank;
  int told = 0;
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window);
  MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, window);
#ifdef POLLED
  MPI_Win_flush(next, window);
  while (*const_cast<volatile int*>(&cells[0]) != 1000 + last) MPI_Win_sync(window);
#elif defined(FLUSHED_LOCALLY)
  MPI_Win_flush_local(next, window);
#else
  MPI_Win_flush(next, window);
#endif
  MPI_Sendrecv(&value, 1, MPI_INT, next, 0, &told, 1, MPI_INT, last, 0, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  MPI_Win_sync(window);
  RIGHT(cells[0] == told);
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
}

// A counter, a lock that is spun on, and sums.
void at_the_target() {
  long *memory, one = 1, got = -1, sum = 0, all = 0;
  MPI_Win window;
  MPI_Win_allocate(3 * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  memory[0] = memory[1] = memory[2] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < 3; i++) {
    MPI_Fetch_and_op(&one, &got, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    sum += got;
  }
  const long zero = 0, me = rank + 1;
  do {
    MPI_Compare_and_swap(&me, &zero, &got, MPI_LONG, 0, 1, window);
    MPI_Win_flush(0, window);
  } while (got != 0);
  long count = 0;
  MPI_Get(&count, 1, MPI_LONG, 0, 2, 1, MPI_LONG, window);
  MPI_Win_flush(0, window);
  count++;
  MPI_Put(&count, 1, MPI_LONG, 0, 2, 1, MPI_LONG, window);
  MPI_Win_flush(0, window);
  MPI_Fetch_and_op(&zero, &got, MPI_LONG, 0, 1, MPI_REPLACE, window);
  MPI_Win_flush(0, window);
  RIGHT(got == me);
  MPI_Win_unlock_all(window);
  MPI_Allreduce(&sum, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  const long calls = 3L * ranks;
  RIGHT(all == calls * (calls - 1) / 2);
  if (rank == 0) RIGHT(memory[2] == ranks);
  MPI_Win_free(&window);

  double sums[4] = {}, before[4] = {-1}, terms[4] = {1, 2, 3, rank + 1.0};
  MPI_Win_create(sums, sizeof sums, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_fence(0, window);
  MPI_Accumulate(terms, 4, MPI_DOUBLE, 0, 0, 4, MPI_DOUBLE, MPI_SUM, window);
  MPI_Win_fence(0, window);
  MPI_Get_accumulate(nullptr, 0, MPI_DOUBLE, before, 4, MPI_DOUBLE, 0, 0, 4, MPI_DOUBLE, MPI_NO_OP,
                     window);
  MPI_Win_fence(0, window);
  RIGHT(before[0] == ranks && before[3] == ranks * (ranks + 1) / 2.0);
  MPI_Win_free(&window);
}

void by_groups() {
  MPI_Group world, to, from;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &next, &to);
  MPI_Group_incl(world, 1, &last, &from);
  int slot = -1, got = -1;
  MPI_Win window;
  MPI_Win_create(&slot, sizeof slot, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int round = 0; round < 3; round++) {
#ifndef NO_POST
    MPI_Win_post(from, 0, window);
#endif
    MPI_Win_start(to, 0, window);
    int value = 7 * rank + round;
    MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, window);
    MPI_Win_complete(window);
    value = 0;
#ifndef NO_POST
#ifdef BEFORE_WAIT
    RIGHT(slot == 7 * last + round);
#endif
    int flag = 0;
    if (round == 1) {
      while (!flag) MPI_Win_test(window, &flag);
    } else {
      MPI_Win_wait(window);
    }
#endif
    RIGHT(slot == 7 * last + round);
  }
  MPI_Win_post(from, 0, window);
  MPI_Win_start(to, 0, window);
  MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, window);
  MPI_Win_complete(window);
  RIGHT(got == 7 * rank + 2);
  MPI_Win_wait(window);
  MPI_Win_free(&window);
}

void shared_memory() {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int *mine, *other;
  MPI_Win window;
  MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &mine, &window);
  mine[0] = mine[1] = rank + 5;
  MPI_Win_fence(0, window);
  MPI_Aint bytes;
  int unit;
  MPI_Win_shared_query(window, next, &bytes, &unit, &other);
  RIGHT(other[1] == next + 5 && bytes == 2 * sizeof(int) && unit == sizeof(int));
  RIGHT(other == mine + 2 * (next - rank));
  MPI_Win_fence(0, window);
#ifdef AFTER_FREE
  MPI_Win_free(&window);
  other[0] = 1;
#else
  MPI_Win_free(&window);
#endif
  MPI_Comm_free(&node);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  next = (rank + 1) % ranks;
  last = (rank + ranks - 1) % ranks;
  between_devices();
  columns();
  locks();
  at_the_target();
  by_groups();
  shared_memory();
  MPI_Finalize();
  return good ? 0 : 1;
}
