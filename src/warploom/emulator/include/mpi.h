// The part of MPI that programs of this kind use, for emulated processes.
#pragma once

#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
#include <stdlib.h>  // which Open MPI's C++ part brings, and programs rely on
#include <string.h>
extern "C++" {  // whatever includes this
#include "warploom/standard_streams.h"
}
#endif

#define MPI_VERSION 3
#define MPI_SUBVERSION 1
// Programs ask whose extensions (mpi-ext.h) and environment they find: those of Open MPI 4.1.
#define OPEN_MPI 1
#define OMPI_MAJOR_VERSION 4
#define OMPI_MINOR_VERSION 1
#define OMPI_RELEASE_VERSION 4

// Handles are numbers of ranges of their own: none is another kind's, or a number like 1.
typedef int MPI_Comm;
typedef int MPI_Datatype;
typedef int MPI_Op;
typedef int MPI_Info;
typedef int MPI_Group;
typedef int MPI_Errhandler;
typedef int MPI_Win;
typedef int MPI_File;
typedef int MPI_Fint;  // of Fortran, in which handles are these same numbers
typedef ptrdiff_t MPI_Aint;
typedef long long MPI_Offset;
typedef long long MPI_Count;
typedef struct warploom_mpi_request* MPI_Request;
typedef struct MPI_Status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  size_t warploom_bytes;
} MPI_Status;

#define MPI_SUCCESS 0
#define MPI_ERR_BUFFER 1
#define MPI_ERR_COUNT 2
#define MPI_ERR_TYPE 3
#define MPI_ERR_TAG 4
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_REQUEST 7
#define MPI_ERR_ROOT 8
#define MPI_ERR_OP 10
#define MPI_ERR_ARG 13
#define MPI_ERR_UNKNOWN 14
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_INTERN 17
#define MPI_ERR_ACCESS 20
#define MPI_ERR_AMODE 21
#define MPI_ERR_ASSERT 22
#define MPI_ERR_BAD_FILE 23
#define MPI_ERR_BASE 24
#define MPI_ERR_DISP 26
#define MPI_ERR_FILE_EXISTS 28
#define MPI_ERR_FILE_IN_USE 29
#define MPI_ERR_FILE 30
#define MPI_ERR_INFO_KEY 31
#define MPI_ERR_INFO_NOKEY 32
#define MPI_ERR_INFO_VALUE 33
#define MPI_ERR_INFO 34
#define MPI_ERR_IO 35
#define MPI_ERR_LOCKTYPE 37
#define MPI_ERR_NO_MEM 39
#define MPI_ERR_NOT_SAME 40
#define MPI_ERR_NO_SPACE 41
#define MPI_ERR_NO_SUCH_FILE 42
#define MPI_ERR_QUOTA 44
#define MPI_ERR_READ_ONLY 45
#define MPI_ERR_RMA_CONFLICT 46
#define MPI_ERR_RMA_SYNC 47
#define MPI_ERR_SIZE 49
#define MPI_ERR_UNSUPPORTED_DATAREP 51
#define MPI_ERR_UNSUPPORTED_OPERATION 52
#define MPI_ERR_WIN 53
#define MPI_ERR_LASTCODE 99

#define MPI_COMM_NULL ((MPI_Comm)0)
#define MPI_COMM_WORLD ((MPI_Comm)0x44000001)
#define MPI_COMM_SELF ((MPI_Comm)0x44000002)
#define MPI_INFO_NULL ((MPI_Info)0)
#define MPI_MAX_INFO_KEY 36
#define MPI_MAX_INFO_VAL 256
#define MPI_WIN_NULL ((MPI_Win)0)
#define MPI_LOCK_EXCLUSIVE 1
#define MPI_LOCK_SHARED 2
#define MPI_MODE_NOCHECK 1
#define MPI_MODE_NOPRECEDE 2
#define MPI_MODE_NOPUT 4
#define MPI_MODE_NOSTORE 8
#define MPI_MODE_NOSUCCEED 16
#define MPI_FILE_NULL ((MPI_File)0)
#define MPI_MODE_CREATE 1
#define MPI_MODE_RDONLY 2
#define MPI_MODE_WRONLY 4
#define MPI_MODE_RDWR 8
#define MPI_MODE_DELETE_ON_CLOSE 16
#define MPI_MODE_UNIQUE_OPEN 32
#define MPI_MODE_EXCL 64
#define MPI_MODE_APPEND 128
#define MPI_MODE_SEQUENTIAL 256
#define MPI_SEEK_SET 600
#define MPI_SEEK_CUR 602
#define MPI_SEEK_END 604
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
#define MPI_IN_PLACE ((void*)-1)
#define MPI_BSEND_OVERHEAD 128
#define MPI_BOTTOM ((void*)0)
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_PROC_NULL (-2)
#define MPI_UNDEFINED (-32766)
#define MPI_COMM_TYPE_SHARED 1
#define MPI_ORDER_C 56
#define MPI_ORDER_FORTRAN 57
#define MPI_GROUP_NULL ((MPI_Group)0)
#define MPI_GROUP_EMPTY ((MPI_Group)0x48000000)
#define MPI_KEYVAL_INVALID (-1)
#define MPI_TAG_UB 1
#define MPI_HOST 2
#define MPI_IO 3
#define MPI_WTIME_IS_GLOBAL 4
#define MPI_UNIVERSE_SIZE 5
#define MPI_LASTUSEDCODE 6
#define MPI_APPNUM 7
#define MPI_MAX_ERROR_STRING 256
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_LIBRARY_VERSION_STRING 256
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x54000003)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x54000001)
#define WARPLOOM_ERRORS_THROW ((MPI_Errhandler)0x54000002)  // of the C++ bindings
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE 3

#define MPI_DATATYPE_NULL ((MPI_Datatype)0)
#define MPI_CHAR ((MPI_Datatype)0x4c000001)
#define MPI_SIGNED_CHAR ((MPI_Datatype)0x4c000002)
#define MPI_UNSIGNED_CHAR ((MPI_Datatype)0x4c000003)
#define MPI_BYTE ((MPI_Datatype)0x4c000004)
#define MPI_SHORT ((MPI_Datatype)0x4c000005)
#define MPI_UNSIGNED_SHORT ((MPI_Datatype)0x4c000006)
#define MPI_INT ((MPI_Datatype)0x4c000007)
#define MPI_UNSIGNED ((MPI_Datatype)0x4c000008)
#define MPI_LONG ((MPI_Datatype)0x4c000009)
#define MPI_UNSIGNED_LONG ((MPI_Datatype)0x4c00000a)
#define MPI_LONG_LONG_INT ((MPI_Datatype)0x4c00000b)
#define MPI_LONG_LONG MPI_LONG_LONG_INT
#define MPI_UNSIGNED_LONG_LONG ((MPI_Datatype)0x4c00000c)
#define MPI_FLOAT ((MPI_Datatype)0x4c00000d)
#define MPI_DOUBLE ((MPI_Datatype)0x4c00000e)
#define MPI_LONG_DOUBLE ((MPI_Datatype)0x4c00000f)
#define MPI_INT8_T ((MPI_Datatype)0x4c000010)
#define MPI_UINT8_T ((MPI_Datatype)0x4c000011)
#define MPI_INT16_T ((MPI_Datatype)0x4c000012)
#define MPI_UINT16_T ((MPI_Datatype)0x4c000013)
#define MPI_INT32_T ((MPI_Datatype)0x4c000014)
#define MPI_UINT32_T ((MPI_Datatype)0x4c000015)
#define MPI_INT64_T ((MPI_Datatype)0x4c000016)
#define MPI_UINT64_T ((MPI_Datatype)0x4c000017)
#define MPI_C_BOOL ((MPI_Datatype)0x4c000018)
#define MPI_CXX_BOOL MPI_C_BOOL
#define MPI_AINT ((MPI_Datatype)0x4c000019)
#define MPI_WCHAR ((MPI_Datatype)0x4c00001a)
#define MPI_FLOAT_INT ((MPI_Datatype)0x4c00001b)
#define MPI_DOUBLE_INT ((MPI_Datatype)0x4c00001c)
#define MPI_LONG_INT ((MPI_Datatype)0x4c00001d)
#define MPI_2INT ((MPI_Datatype)0x4c00001e)
#define MPI_PACKED ((MPI_Datatype)0x4c00001f)
// Fortran's names for C's types, which programs in C use too.
#define MPI_INTEGER MPI_INT
#define MPI_REAL MPI_FLOAT
#define MPI_DOUBLE_PRECISION MPI_DOUBLE
#define MPI_CHARACTER MPI_CHAR

#define MPI_OP_NULL ((MPI_Op)0)
#define MPI_MAX ((MPI_Op)0x58000001)
#define MPI_MIN ((MPI_Op)0x58000002)
#define MPI_SUM ((MPI_Op)0x58000003)
#define MPI_PROD ((MPI_Op)0x58000004)
#define MPI_LAND ((MPI_Op)0x58000005)
#define MPI_BAND ((MPI_Op)0x58000006)
#define MPI_LOR ((MPI_Op)0x58000007)
#define MPI_BOR ((MPI_Op)0x58000008)
#define MPI_LXOR ((MPI_Op)0x58000009)
#define MPI_BXOR ((MPI_Op)0x5800000a)
#define MPI_MAXLOC ((MPI_Op)0x5800000b)
#define MPI_MINLOC ((MPI_Op)0x5800000c)
#define MPI_REPLACE ((MPI_Op)0x5800000d)
#define MPI_NO_OP ((MPI_Op)0x5800000e)

#ifdef __cplusplus
extern "C" {
#endif

int MPI_Init(int* argc, char*** argv);
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Initialized(int* flag);
int MPI_Finalize(void);
int MPI_Finalized(int* flag);
int MPI_Query_thread(int* provided);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Error_string(int code, char* text, int* length);
int MPI_Error_class(int code, int* error_class);
int MPI_Get_processor_name(char* name, int* length);
int MPI_Get_version(int* version, int* subversion);
int MPI_Get_library_version(char* version, int* length);
// Profilers listen to it: there is none.
static inline int MPI_Pcontrol(const int level, ...) {
  (void)level;
  return MPI_SUCCESS;
}
double MPI_Wtime(void);
double MPI_Wtick(void);

int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* out);
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* out);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* out);
int MPI_Comm_free(MPI_Comm* comm);
MPI_Fint MPI_Comm_c2f(MPI_Comm handle);
MPI_Comm MPI_Comm_f2c(MPI_Fint handle);
MPI_Fint MPI_Type_c2f(MPI_Datatype handle);
MPI_Datatype MPI_Type_f2c(MPI_Fint handle);
MPI_Fint MPI_Op_c2f(MPI_Op handle);
MPI_Op MPI_Op_f2c(MPI_Fint handle);
MPI_Fint MPI_Group_c2f(MPI_Group handle);
MPI_Group MPI_Group_f2c(MPI_Fint handle);
MPI_Fint MPI_Info_c2f(MPI_Info handle);
MPI_Info MPI_Info_f2c(MPI_Fint handle);
MPI_Fint MPI_Win_c2f(MPI_Win handle);
MPI_Win MPI_Win_f2c(MPI_Fint handle);

int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);

int MPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* out);
int MPI_Comm_group(MPI_Comm comm, MPI_Group* out);
int MPI_Group_incl(MPI_Group group, int count, const int* ranks, MPI_Group* out);
int MPI_Group_excl(MPI_Group group, int count, const int* ranks, MPI_Group* out);
int MPI_Group_size(MPI_Group group, int* size);
int MPI_Group_rank(MPI_Group group, int* rank);
int MPI_Group_free(MPI_Group* group);

int MPI_Dims_create(int ranks, int dimensions, int* sizes);
int MPI_Cart_create(MPI_Comm comm, int dimensions, const int* sizes, const int* periods,
                    int reorder, MPI_Comm* out);
int MPI_Cart_sub(MPI_Comm comm, const int* kept, MPI_Comm* out);
int MPI_Cartdim_get(MPI_Comm comm, int* dimensions);
int MPI_Cart_get(MPI_Comm comm, int most, int* sizes, int* periods, int* place);
int MPI_Cart_coords(MPI_Comm comm, int rank, int most, int* place);
int MPI_Cart_rank(MPI_Comm comm, const int* place, int* rank);
int MPI_Cart_shift(MPI_Comm comm, int dimension, int steps, int* source, int* destination);

int MPI_Type_contiguous(int count, MPI_Datatype base, MPI_Datatype* out);
int MPI_Type_vector(int count, int length, int stride, MPI_Datatype base, MPI_Datatype* out);
int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype base,
                            MPI_Datatype* out);
int MPI_Type_indexed(int count, const int* lengths, const int* displacements, MPI_Datatype base,
                     MPI_Datatype* out);
int MPI_Type_create_hindexed(int count, const int* lengths, const MPI_Aint* displacements,
                             MPI_Datatype base, MPI_Datatype* out);
int MPI_Type_create_indexed_block(int count, int length, const int* displacements,
                                  MPI_Datatype base, MPI_Datatype* out);
int MPI_Type_create_struct(int count, const int* lengths, const MPI_Aint* displacements,
                           const MPI_Datatype* types, MPI_Datatype* out);
int MPI_Type_create_subarray(int dimensions, const int* sizes, const int* parts, const int* starts,
                             int order, MPI_Datatype base, MPI_Datatype* out);
int MPI_Type_create_resized(MPI_Datatype base, MPI_Aint low, MPI_Aint extent, MPI_Datatype* out);
int MPI_Type_get_extent(MPI_Datatype type, MPI_Aint* low, MPI_Aint* extent);
int MPI_Type_extent(MPI_Datatype type, MPI_Aint* extent);
int MPI_Get_address(const void* location, MPI_Aint* address);
MPI_Aint MPI_Aint_add(MPI_Aint base, MPI_Aint distance);
MPI_Aint MPI_Aint_diff(MPI_Aint one, MPI_Aint other);
int MPI_Type_commit(MPI_Datatype* type);
int MPI_Type_free(MPI_Datatype* type);
int MPI_Type_size(MPI_Datatype type, int* size);

int MPI_Barrier(MPI_Comm comm);
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Allreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm);
int MPI_Reduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm);
int MPI_Allgather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm);
int MPI_Allgatherv(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                   const int* recvcounts, const int* displacements, MPI_Datatype recvtype,
                   MPI_Comm comm);
int MPI_Gather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPI_Gatherv(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                const int* recvcounts, const int* displacements, MPI_Datatype recvtype, int root,
                MPI_Comm comm);
int MPI_Scatter(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm);
int MPI_Scatterv(const void* send, const int* sendcounts, const int* displacements,
                 MPI_Datatype sendtype, void* recv, int recvcount, MPI_Datatype recvtype, int root,
                 MPI_Comm comm);
int MPI_Alltoall(const void* send, int sendcount, MPI_Datatype sendtype, void* recv, int recvcount,
                 MPI_Datatype recvtype, MPI_Comm comm);
int MPI_Alltoallv(const void* send, const int* sendcounts, const int* senddispls,
                  MPI_Datatype sendtype, void* recv, const int* recvcounts, const int* recvdispls,
                  MPI_Datatype recvtype, MPI_Comm comm);
int MPI_Reduce_scatter_block(const void* send, void* recv, int recvcount, MPI_Datatype type,
                             MPI_Op op, MPI_Comm comm);
int MPI_Scan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm);
int MPI_Exscan(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
               MPI_Comm comm);
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request);
int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm,
               MPI_Request* request);
int MPI_Iallreduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request* request);
int MPI_Iallgather(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                   int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request);

int MPI_Send(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int MPI_Recv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
             MPI_Status* status);
int MPI_Sendrecv(const void* send, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void* recv, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status* status);
int MPI_Sendrecv_replace(void* buffer, int count, MPI_Datatype type, int dest, int sendtag,
                         int source, int recvtag, MPI_Comm comm, MPI_Status* status);
int MPI_Rsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int MPI_Bsend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
int MPI_Buffer_attach(void* buffer, int size);
int MPI_Buffer_detach(void* buffer, int* size);
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Issend(const void* buffer, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm,
               MPI_Request* request);
int MPI_Irecv(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
              MPI_Request* request);
int MPI_Send_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag,
                  MPI_Comm comm, MPI_Request* request);
int MPI_Ssend_init(const void* buffer, int count, MPI_Datatype type, int dest, int tag,
                   MPI_Comm comm, MPI_Request* request);
int MPI_Recv_init(void* buffer, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm,
                  MPI_Request* request);
int MPI_Start(MPI_Request* request);
int MPI_Startall(int count, MPI_Request* requests);
int MPI_Request_free(MPI_Request* request);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses);
int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status);
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status);
int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int MPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status* status);
int MPI_Iprobe(int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
int MPI_Get_count(const MPI_Status* status, MPI_Datatype type, int* count);

int MPI_Info_create(MPI_Info* info);
int MPI_Info_set(MPI_Info info, const char* key, const char* value);
int MPI_Info_get(MPI_Info info, const char* key, int most, char* value, int* flag);
int MPI_Info_free(MPI_Info* info);

int MPI_Alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr);
int MPI_Free_mem(void* base);
int MPI_Win_create(void* base, MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                   MPI_Win* win);
int MPI_Win_allocate(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm, void* baseptr,
                     MPI_Win* win);
int MPI_Win_allocate_shared(MPI_Aint size, int disp_unit, MPI_Info info, MPI_Comm comm,
                            void* baseptr, MPI_Win* win);
int MPI_Win_shared_query(MPI_Win win, int rank, MPI_Aint* size, int* disp_unit, void* baseptr);
int MPI_Win_free(MPI_Win* win);
int MPI_Win_fence(int asserts, MPI_Win win);
int MPI_Win_post(MPI_Group group, int asserts, MPI_Win win);
int MPI_Win_start(MPI_Group group, int asserts, MPI_Win win);
int MPI_Win_complete(MPI_Win win);
int MPI_Win_wait(MPI_Win win);
int MPI_Win_test(MPI_Win win, int* flag);
int MPI_Win_lock(int lock_type, int rank, int asserts, MPI_Win win);
int MPI_Win_unlock(int rank, MPI_Win win);
int MPI_Win_lock_all(int asserts, MPI_Win win);
int MPI_Win_unlock_all(MPI_Win win);
int MPI_Win_flush(int rank, MPI_Win win);
int MPI_Win_flush_all(MPI_Win win);
int MPI_Win_flush_local(int rank, MPI_Win win);
int MPI_Win_flush_local_all(MPI_Win win);
int MPI_Win_sync(MPI_Win win);
int MPI_Put(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win);
int MPI_Get(void* origin, int origin_count, MPI_Datatype origin_type, int target,
            MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Win win);
int MPI_Accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, int target,
                   MPI_Aint target_disp, int target_count, MPI_Datatype target_type, MPI_Op op,
                   MPI_Win win);
int MPI_Get_accumulate(const void* origin, int origin_count, MPI_Datatype origin_type, void* result,
                       int result_count, MPI_Datatype result_type, int target, MPI_Aint target_disp,
                       int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win win);
int MPI_Fetch_and_op(const void* origin, void* result, MPI_Datatype type, int target,
                     MPI_Aint target_disp, MPI_Op op, MPI_Win win);
int MPI_Compare_and_swap(const void* origin, const void* compare, void* result, MPI_Datatype type,
                         int target, MPI_Aint target_disp, MPI_Win win);

int MPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info info, MPI_File* file);
int MPI_File_close(MPI_File* file);
int MPI_File_delete(const char* filename, MPI_Info info);
int MPI_File_set_size(MPI_File file, MPI_Offset size);
int MPI_File_get_size(MPI_File file, MPI_Offset* size);
int MPI_File_get_amode(MPI_File file, int* amode);
int MPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler);
int MPI_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
                      MPI_Datatype filetype, const char* datarep, MPI_Info info);
int MPI_File_seek(MPI_File file, MPI_Offset offset, int whence);
int MPI_File_get_position(MPI_File file, MPI_Offset* offset);
int MPI_File_sync(MPI_File file);
int MPI_File_read(MPI_File file, void* buffer, int count, MPI_Datatype type, MPI_Status* status);
int MPI_File_read_all(MPI_File file, void* buffer, int count, MPI_Datatype type,
                      MPI_Status* status);
int MPI_File_read_at(MPI_File file, MPI_Offset offset, void* buffer, int count, MPI_Datatype type,
                     MPI_Status* status);
int MPI_File_read_at_all(MPI_File file, MPI_Offset offset, void* buffer, int count,
                         MPI_Datatype type, MPI_Status* status);
int MPI_File_write(MPI_File file, const void* buffer, int count, MPI_Datatype type,
                   MPI_Status* status);
int MPI_File_write_all(MPI_File file, const void* buffer, int count, MPI_Datatype type,
                       MPI_Status* status);
int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* buffer, int count,
                      MPI_Datatype type, MPI_Status* status);
int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void* buffer, int count,
                          MPI_Datatype type, MPI_Status* status);

#ifdef __cplusplus
}
#endif
#include "warploom/mpi_ops.h"

// The macros by which programs leave the C++ bindings out, of Open MPI and of MPICH.
#if defined(__cplusplus) && !defined(OMPI_SKIP_MPICXX) && !defined(MPICH_SKIP_MPICXX)
extern "C++" {  // whatever includes this
#include "warploom/mpi_cxx_files.h"
}
#endif
