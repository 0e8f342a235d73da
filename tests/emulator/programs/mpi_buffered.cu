// Buffered sends, and addresses as MPI counts them. Each macro of a DEFECT is a wrong use.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define EXPECT(condition)                       \
  do {                                          \
    if (!(condition)) {                         \
      printf("%d: %s\n", __LINE__, #condition); \
      MPI_Abort(MPI_COMM_WORLD, 1);             \
    }                                           \
  } while (0)

constexpr int kMessages = 3, kCount = 2000;  // more than what MPI_Send buffers
int rank, peer;

void exchange() {
  int one = 0;
  EXPECT(MPI_Pack_size(kCount, MPI_INT, MPI_COMM_WORLD, &one) == MPI_SUCCESS);
  int size = kMessages * (one + MPI_BSEND_OVERHEAD);
#ifdef SMALL
  size -= 1;
#endif
#ifdef NEVER
  size *= 2;
#endif
  void* room = malloc(size);
#ifndef NONE
  EXPECT(MPI_Buffer_attach(room, size) == MPI_SUCCESS);
#endif
#ifdef TWICE
  MPI_Buffer_attach(room, size);  // EXPECT
#endif
#ifdef TOUCHED
  static_cast<char*>(room)[0] = 1;  // EXPECT
#endif
  std::vector<int> sent(kCount), got(kCount);
  // Both ranks send first, which would hang with MPI_Ssend.
  for (int round = 0; round < kMessages; round++) {
    sent[0] = sent[kCount - 1] = 10 * rank + round;
    MPI_Bsend(sent.data(), kCount, MPI_INT, peer, 3, MPI_COMM_WORLD);  // EXPECT
    sent.assign(kCount, -1);  // the message has been copied
  }
  EXPECT(MPI_Bsend(sent.data(), 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
  for (int round = 0; round < kMessages; round++) {
    MPI_Recv(got.data(), kCount, MPI_INT, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(got[0] == 10 * peer + round && got[kCount - 1] == 10 * peer + round);
  }
  void* back = nullptr;
  int bytes = 0;
#ifdef NEVER
  MPI_Bsend(sent.data(), 1, MPI_INT, peer, 4, MPI_COMM_WORLD);
#endif
  EXPECT(MPI_Buffer_detach(&back, &bytes) == MPI_SUCCESS);  // EXPECT
  EXPECT(back == room && bytes == size);
#ifdef AGAIN
  MPI_Buffer_detach(&back, &bytes);  // EXPECT
#endif
  // Another buffer, which MPI_Finalize may find attached; the message in it is received.
  EXPECT(MPI_Buffer_attach(room, size) == MPI_SUCCESS);
  MPI_Bsend(&rank, 1, MPI_INT, peer, 5, MPI_COMM_WORLD);
  MPI_Recv(&got[0], 1, MPI_INT, peer, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  EXPECT(got[0] == peer);
  MPI_Finalize();
  free(room);
}

void addresses() {
  struct Record {
    char kind;
    double value;
  } one{1, 0.5}, records[2] = {{static_cast<char>(rank), 0.25 * rank}, {7, 8}};
  MPI_Aint start, value;
  EXPECT(MPI_Get_address(&one, &start) == MPI_SUCCESS);
  EXPECT(MPI_Get_address(&one.value, &value) == MPI_SUCCESS);
  EXPECT(MPI_Aint_diff(value, start) == 8 && MPI_Aint_add(start, 8) == value);
  EXPECT(reinterpret_cast<double*>(MPI_Aint_add(start, 8))[0] == 0.5);
  const int lengths[2] = {1, 1};
  const MPI_Aint places[2] = {0, MPI_Aint_diff(value, start)};
  const MPI_Datatype types[2] = {MPI_CHAR, MPI_DOUBLE};
  MPI_Datatype record;
  MPI_Type_create_struct(2, lengths, places, types, &record);
  MPI_Type_commit(&record);
  MPI_Sendrecv(&records[0], 1, record, peer, 6, &records[1], 1, record, peer, 6, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
  EXPECT(records[1].kind == peer && records[1].value == 0.25 * peer);
  MPI_Type_free(&record);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  peer = 1 - rank;
  addresses();
  exchange();
}
