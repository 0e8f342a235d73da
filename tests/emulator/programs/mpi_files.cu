// Files of MPI: modes, views, positions and errors; correct as it stands.
#include <cuda_runtime.h>
#include <mpi.h>

#include <cstdio>

namespace {

int rank, ranks, next;
bool good = true;

void check(bool right, int line) {
  if (!right) printf("rank %d: wrong at line %d\n", rank, line);
  good = good && right;
}
#define RIGHT(condition) check(condition, __LINE__)

__global__ void fill(int* p, int first) { p[threadIdx.x] = first + static_cast<int>(threadIdx.x); }

int open(const char* name, int mode, MPI_File* file) {
  return MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, file);
}

void errors() {
  MPI_File file;
  RIGHT(open("none.bin", MPI_MODE_RDONLY, &file) == MPI_ERR_NO_SUCH_FILE);
  RIGHT(file == MPI_FILE_NULL);
  RIGHT(open("data.bin", MPI_MODE_CREATE | MPI_MODE_RDONLY, &file) == MPI_ERR_AMODE);
  RIGHT(open("data.bin", MPI_MODE_WRONLY | MPI_MODE_RDONLY, &file) == MPI_ERR_AMODE);
  RIGHT(open("data.bin", MPI_MODE_CREATE, &file) == MPI_ERR_AMODE);
  RIGHT(MPI_File_delete("none.bin", MPI_INFO_NULL) == MPI_ERR_NO_SUCH_FILE);
}

// Ranks that come late delete nothing that the others have made.
void delete_first() {
  MPI_File file;
  MPI_File_delete("fresh.bin", MPI_INFO_NULL);
  RIGHT(open("fresh.bin", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, &file) ==
        MPI_SUCCESS);
  MPI_File_close(&file);
}

// Each rank's part comes from its device.
void write_parts(int* device) {
  MPI_File file;
  MPI_Status status;
  MPI_Offset size = 0;
  int count = 0, mode = 0;
  RIGHT(open("data.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, &file) == MPI_SUCCESS);
  fill<<<1, 16>>>(device, 100 * rank);
#ifndef EARLY_WRITE
  cudaDeviceSynchronize();
#endif
#ifdef NOT_ALL
  if (rank != 0)
#endif
    RIGHT(MPI_File_write_at_all(file, 64 * rank, device, 16, MPI_INT, &status) == MPI_SUCCESS);
  MPI_Get_count(&status, MPI_INT, &count);
  RIGHT(count == 16);
  int part[16];
#ifdef UNSYNCED
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_read_at(file, 64 * next, part, 16, MPI_INT, MPI_STATUS_IGNORE);
#endif
  MPI_File_read_at(file, 64 * rank, part, 16, MPI_INT, MPI_STATUS_IGNORE);  // its own
  RIGHT(part[15] == 100 * rank + 15);
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_File_sync(file);
  MPI_File_read_at(file, 64 * next, part, 16, MPI_INT, MPI_STATUS_IGNORE);
  RIGHT(part[15] == 100 * next + 15);
  MPI_File_sync(file);
  const int header = 0;  // which is there already, and which all of them write
  MPI_File_write_at_all(file, 0, &header, 1, MPI_INT, MPI_STATUS_IGNORE);
#ifdef OVERLAP
  MPI_File_write_at_all(file, 4, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
#endif
  MPI_File_get_size(file, &size);
  RIGHT(size == 64 * ranks);
  MPI_File_get_amode(file, &mode);
  RIGHT(mode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
  MPI_File_set_size(file, 64 * ranks + 4);
  MPI_File_get_size(file, &size);
  RIGHT(size == 64 * ranks + 4);
  MPI_File_set_size(file, 64 * ranks);
  MPI_File_close(&file);
  RIGHT(file == MPI_FILE_NULL);
}

void read_by_views() {
  MPI_File file;
  MPI_Status status;
  MPI_Offset at = -1;
  int host[16], count = 0;
  RIGHT(open("data.bin", MPI_MODE_RDONLY, &file) == MPI_SUCCESS);
  MPI_Datatype type = MPI_INT;
#ifdef GAPS
  MPI_Type_vector(4, 1, 4, MPI_INT, &type);
#endif
  RIGHT(MPI_File_set_view(file, 64 * next, MPI_INT, type, "native", MPI_INFO_NULL) == MPI_SUCCESS);
  RIGHT(MPI_File_set_view(file, 64 * next, MPI_INT, type, "external32", MPI_INFO_NULL) ==
        MPI_ERR_UNSUPPORTED_DATAREP);
  RIGHT(MPI_File_read_all(file, host, 8, MPI_INT, &status) == MPI_SUCCESS);
  MPI_File_get_position(file, &at);
  RIGHT(at == 8);
  MPI_File_read(file, host + 8, 8, MPI_INT, MPI_STATUS_IGNORE);
  for (int i = 0; i < 16; i++) RIGHT(host[i] == 100 * next + i);
  MPI_File_seek(file, -2, MPI_SEEK_END);
  MPI_File_read(file, host, 8, MPI_INT, &status);  // which is more than there is
  MPI_Get_count(&status, MPI_INT, &count);
  RIGHT(count == 2 && host[1] == 100 * (ranks - 1) + 15);
  RIGHT(MPI_File_seek(file, -1, MPI_SEEK_SET) == MPI_ERR_ARG);
  RIGHT(MPI_File_write(file, host, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_ERR_READ_ONLY);
  MPI_File_close(&file);
}

void read_back(int* device) {
  MPI_File file;
  int host[16];
  RIGHT(open("data.bin", MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_WRONLY, &file) ==
        MPI_ERR_FILE_EXISTS);
  RIGHT(open("data.bin", MPI_MODE_WRONLY | MPI_MODE_APPEND, &file) == MPI_SUCCESS);
  MPI_Offset at = -1;
  MPI_File_get_position(file, &at);
  RIGHT(at == 64 * ranks);
  RIGHT(MPI_File_read(file, host, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_ERR_ACCESS);
  MPI_File_close(&file);
  RIGHT(open("data.bin", MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE, &file) == MPI_SUCCESS);
#ifdef FATAL
  MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
  MPI_File_write(file, host, 1, MPI_INT, MPI_STATUS_IGNORE);
#endif
  fill<<<1, 16>>>(device, 0);
  cudaDeviceSynchronize();
  MPI_File_read_at(file, 64 * rank, device, 16, MPI_INT, MPI_STATUS_IGNORE);
  cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
  for (int i = 0; i < 16; i++) RIGHT(host[i] == 100 * rank + i);
  MPI_File_close(&file);
  MPI_Barrier(MPI_COMM_WORLD);
  RIGHT(MPI_File_delete("data.bin", MPI_INFO_NULL) == MPI_ERR_NO_SUCH_FILE);
}

void hints() {
  MPI_Info info;
  char value[9];
  int found = 0;
  MPI_Info_create(&info);
  MPI_Info_set(info, "no_locks", "true");
  MPI_Info_get(info, "no_locks", 8, value, &found);
  RIGHT(found && value[0] == 't' && value[4] == 0);
  MPI_Info_get(info, "other", 8, value, &found);
  RIGHT(!found);
  MPI_Info_free(&info);
  RIGHT(info == MPI_INFO_NULL);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  next = (rank + 1) % ranks;
  int* device;
  cudaMalloc(&device, 64);
  errors();
  delete_first();
  write_parts(device);
  read_by_views();
  read_back(device);
  hints();
  MPI_Finalize();
  return good ? 0 : 1;
}
