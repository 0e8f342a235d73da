"""What MPI and the schedule leave open: sends that rely on buffers, looks that are limited."""

from pathlib import Path

import pytest
from host_program import check_program

from warploom.core.records import Finding
from warploom.evaluation.check import check

MESSAGES = """
#include <cuda_runtime.h>
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, theirs = -1, there = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (cudaSetDevice(rank) != cudaSuccess) return 2;
  const int other = rank ^ 1;
  MPI_Request request, more[2];
  MPI_Status status;
  STATEMENTS
  MPI_Finalize();
  return theirs != other;
}
"""
_SEND = "MPI_Isend(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &request);"
_RECEIVE = "MPI_Recv(&theirs, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &status);"
_LOOK = "MPI_Iprobe(other, 0, MPI_COMM_WORLD, &there, &status);"
_WAIT = "MPI_Wait(&request, &status);"
_POST = "MPI_Irecv(&theirs, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &more[0]);"
_SEND_TOO = "MPI_Isend(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &more[1]);"
_SYNC_SEND = "MPI_Ssend(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD);"
_BARRIER = "MPI_Barrier(MPI_COMM_WORLD);"
_TEST = "MPI_Test(&more[0], &there, &status);"
_TEST_ALL = "MPI_Testall(2, more, &there, MPI_STATUSES_IGNORE);"
_MANY = (
    "for (int i = 0; i < 99; i++) { MPI_Irecv(&theirs, 1, MPI_INT, rank, 1, MPI_COMM_WORLD,"
    " &more[0]); MPI_Send(&other, 1, MPI_INT, rank, 1, MPI_COMM_WORLD);"
    " for (there = 0; !there;) MPI_Test(&more[0], &there, &status); } theirs = -1;"
)
RIGHT = {
    "waits behind": f"{_SEND} {_RECEIVE} {_WAIT}",
    "waits for both": "MPI_Isend(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &more[0]);"
    " MPI_Irecv(&theirs, 1, MPI_INT, other, 0, MPI_COMM_WORLD, &more[1]);"
    " MPI_Waitall(2, more, MPI_STATUSES_IGNORE);",
    "asks for ever": f"{_SEND} while (!there) {_LOOK} {_RECEIVE} {_WAIT}",
    "tests for ever": f"{_POST} {_SYNC_SEND} while (!there) {_TEST}",
    "tests all for ever": f"{_POST} {_SEND_TOO} while (!there) {_TEST_ALL}",
    "tests by turns": f"{_POST} {_SEND_TOO} for (int got = 0; got < 2;) for (int i = 0; i < 2; i++)"
    " if (more[i] != MPI_REQUEST_NULL) { MPI_Test(&more[i], &there, &status); got += there; }",
    "tests, and waits": f"{_POST} {_SYNC_SEND} {_TEST} {_TEST} MPI_Wait(&more[0], &status);",
    "looks for what it has seen": f"{_SEND} MPI_Probe(other, 0, MPI_COMM_WORLD, &status); {_LOOK}"
    f" if (!there) return 3; {_LOOK} if (!there) return 3; {_RECEIVE} {_WAIT}",
    "anybody's, behind a barrier": "MPI_Irecv(&theirs, 1, MPI_INT, MPI_ANY_SOURCE, 0,"
    " MPI_COMM_WORLD, &more[0]); MPI_Ssend(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD);"
    " MPI_Barrier(MPI_COMM_WORLD); MPI_Wait(&more[0], &status);",
}


def found_in(folder: Path, statements: str) -> list[Finding]:
    file = folder / "program.cu"
    file.write_text(MESSAGES.replace("STATEMENTS", statements))
    return [one.finding for one in check(file, ranks=2).findings]


@pytest.mark.parametrize("name", RIGHT)
def test_right_programs_are_right(tmp_path: Path, name: str) -> None:
    assert {one.kind for one in found_in(tmp_path, RIGHT[name])} <= {"no_communication"}


WRONG = {
    "the request of a collective is freed": (
        "mpi_mismatch",
        "MPI_Ibcast(&there, 1, MPI_INT, 0, MPI_COMM_WORLD, &request); MPI_Request_free(&request);",
    ),
    "two blocks are received in one place": (
        "overlapping_buffers",
        "int both[2], counts[] = {1, 1}, at[] = {0, 0};"
        " MPI_Allgatherv(&rank, 1, MPI_INT, both, counts, at, MPI_INT, MPI_COMM_WORLD);",
    ),
    "a type puts two elements in one place": (
        "overlapping_buffers",
        "int two[] = {rank, rank}, came[2], counts[] = {1, 1}, at[] = {0, 0}; MPI_Datatype twice;"
        " MPI_Type_indexed(2, counts, at, MPI_INT, &twice); MPI_Type_commit(&twice);"
        " MPI_Sendrecv(two, 2, MPI_INT, other, 0, came, 1, twice, other, 0, MPI_COMM_WORLD,"
        " &status);",
    ),
    "an operation communicates": (
        "mpi_mismatch",
        "MPI_Op op; MPI_Op_create([](void*, void*, int*, MPI_Datatype*) {"
        " MPI_Barrier(MPI_COMM_SELF); }, 1, &op);"
        " MPI_Allreduce(&rank, &there, 1, MPI_INT, op, MPI_COMM_WORLD);",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_mpi_forbids_is_found(tmp_path: Path, name: str) -> None:
    kind, statements = WRONG[name]
    assert kind in {one.kind for one in found_in(tmp_path, f"{statements} theirs = other;")}


def test_an_operation_that_commutes_gets_either_order(tmp_path: Path) -> None:
    text = (
        "MPI_Op op; MPI_Op_create([](void* in, void* both, int*, MPI_Datatype*) {"
        " *(int*)both = *(int*)in; }, %d, &op);"
        " MPI_Allreduce(&rank, &there, 1, MPI_INT, op, MPI_COMM_WORLD);"
        " theirs = there == 0 ? other : -1;"
    )
    found = {one.kind for one in found_in(tmp_path, text % 0)}
    assert "exit_code" not in found
    assert "exit_code" in {one.kind for one in found_in(tmp_path, text % 1)}


def test_sends_that_both_complete_first_rely_on_buffers(tmp_path: Path) -> None:
    told = found_in(tmp_path, f"{_SEND} {_WAIT} {_RECEIVE}")
    [unsafe] = [one for one in told if one.kind == "mpi_unpromised"]
    assert "MPI_Isend to rank" in unsafe.message
    assert "does not buffer the message" in unsafe.message


TESTED = {
    "three times": f"{_POST} MPI_Send(&rank, 1, MPI_INT, other, 0, MPI_COMM_WORLD); {_TEST * 3}",
    "behind a barrier": f"{_POST} {_SYNC_SEND} {_BARRIER} {_TEST * 2}",
    "all of them": f"{_POST} {_SEND_TOO} {_BARRIER} {_TEST_ALL} {_TEST_ALL}",
    "a thousand times": f"{_POST} {_SYNC_SEND} for (int i = 0; i < 1000 && !there; i++) {_TEST}",
    "when others have used up much": f"{_MANY} {_POST} {_SYNC_SEND} {_BARRIER} {_TEST * 3}",
    "one that is started again": "MPI_Recv_init(&theirs, 1, MPI_INT, other, 0, MPI_COMM_WORLD,"
    f" &more[0]); MPI_Start(&more[0]); {_SYNC_SEND} {_BARRIER} {_TEST * 2}",
}


@pytest.mark.parametrize("name", TESTED)
def test_what_has_been_sent_may_be_on_its_way(tmp_path: Path, name: str) -> None:
    found = {one.kind for one in found_in(tmp_path, TESTED[name])}
    assert found & {"mpi_buffer_in_use", "exit_code"}


def test_a_message_is_not_always_there_to_be_probed(tmp_path: Path) -> None:
    statements = f"{_SEND} {_BARRIER} {_LOOK} if (!there) return 4; {_RECEIVE} {_WAIT}"
    assert "exit_code" in {one.kind for one in found_in(tmp_path, statements)}


def test_who_looks_for_a_while_may_miss_the_message(tmp_path: Path) -> None:
    look = f"for (int i = 0; i < 999 && !there; i++) {_LOOK}"
    told = found_in(tmp_path, f"{_SEND} {look} if (there) {_RECEIVE} {_WAIT}")
    found = {one.kind for one in told}
    assert {"mpi_mismatch", "exit_code"} <= found


TIMES = """
#include <cuda_runtime.h>
__global__ void set(float* to, float value) { *to = value; }
int main() {
  float *memory, result, ms;
  cudaEvent_t from, to;
  cudaMalloc(&memory, sizeof(float));
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  cudaEventRecord(from);
  set<<<1, 1>>>(memory, 1.0f);
  cudaEventRecord(to);
  cudaEventSynchronize(to);
  if (cudaEventElapsedTime(&ms, from, to) != cudaSuccess || !(ms >= 0)) return 2;
  if (LONG) set<<<1, 1>>>(memory, 2.0f);
  cudaMemcpy(&result, memory, sizeof result, cudaMemcpyDeviceToHost);
  cudaFree(memory);
  return result != 1.0f;
}
"""


@pytest.mark.parametrize("long", ["false", "ms > 0.05f"])
def test_a_run_may_be_that_of_a_slow_machine(tmp_path: Path, long: str) -> None:
    file = tmp_path / "program.cu"
    file.write_text(TIMES.replace("LONG", long))
    found = {one.finding.kind for one in check(file, ranks=1, seeds=8).findings}
    assert ("exit_code" in found) == (long != "false")


FLAG = """
#include <cuda_runtime.h>
__global__ void read(const int* data, int* flag, int* out) {
  if (threadIdx.x == 0) LOOK
  __threadfence();
  __syncthreads();
  out[threadIdx.x] = __ldcg(data + threadIdx.x);
}
__global__ void write(int* data, int* flag) {
  data[threadIdx.x] = 1;
  __syncthreads();
  __threadfence();
  if (threadIdx.x == 0) atomicExch(flag, 1);
}
int main() {
  int *data, *flag, *out;
  cudaStream_t one, other;
  cudaMalloc(&data, 128);
  cudaMalloc(&out, 128);
  cudaMalloc(&flag, 4);
  cudaMemset(data, 0, 128);
  cudaMemset(flag, 0, 4);
  cudaDeviceSynchronize();
  cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  read<<<1, 32, 0, one>>>(data, flag, out);
  write<<<1, 32, 0, other>>>(data, flag);
  cudaDeviceSynchronize();
  cudaStreamDestroy(one);
  cudaStreamDestroy(other);
  cudaFree(data);
  cudaFree(out);
  cudaFree(flag);
}
"""


@pytest.mark.parametrize("flag", ["atomicAdd(flag, 0)", "*(volatile int*)flag"])
@pytest.mark.parametrize("limit", ["", "i < 500 && "])
def test_a_flag_may_stay_down_for_longer(tmp_path: Path, flag: str, limit: str) -> None:
    look = f"for (int i = 0; {limit}{flag} == 0; i++) {{}}"
    found = check_program(tmp_path, FLAG.replace("LOOK", look)).findings
    assert ("data_race" in {one.finding.kind for one in found}) == bool(limit)
