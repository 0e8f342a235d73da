// Declares enough of MPI to compile a program where no MPI is installed; nothing here is ever run.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

typedef struct warploom_mpi_comm* MPI_Comm;
typedef struct warploom_mpi_datatype* MPI_Datatype;
typedef struct warploom_mpi_op* MPI_Op;
typedef struct warploom_mpi_request* MPI_Request;
typedef struct warploom_mpi_info* MPI_Info;
typedef struct warploom_mpi_group* MPI_Group;
typedef struct warploom_mpi_errhandler* MPI_Errhandler;
typedef struct warploom_mpi_message* MPI_Message;
typedef long MPI_Aint;
typedef long long MPI_Count;
typedef struct {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR, warploom_bytes, warploom_cancelled;
} MPI_Status;
typedef void MPI_User_function(void*, void*, int*, MPI_Datatype*);

#define MPI_VERSION 3
#define MPI_SUBVERSION 1
#define MPI_SUCCESS 0
#define MPI_ERR_OTHER 16
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-1)
#define MPI_PROC_NULL (-2)
#define MPI_ROOT (-4)
#define MPI_UNDEFINED (-32766)
#define MPI_TAG_UB 1
#define MPI_HOST 2
#define MPI_IO 3
#define MPI_WTIME_IS_GLOBAL 4
#define MPI_UNIVERSE_SIZE 5
#define MPI_LASTUSEDCODE 6
#define MPI_APPNUM 7
#define MPI_MAX_PROCESSOR_NAME 256
#define MPI_MAX_ERROR_STRING 256
#define MPI_COMM_TYPE_SHARED 0
#define MPI_IN_PLACE ((void*)1)
#define MPI_BOTTOM ((void*)0)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)
#define MPI_STATUSES_IGNORE ((MPI_Status*)0)
#define MPI_COMM_NULL ((MPI_Comm)0)
#define MPI_COMM_WORLD ((MPI_Comm)1)
#define MPI_COMM_SELF ((MPI_Comm)2)
#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_INFO_NULL ((MPI_Info)0)
#define MPI_GROUP_NULL ((MPI_Group)0)
#define MPI_OP_NULL ((MPI_Op)0)
#define MPI_DATATYPE_NULL ((MPI_Datatype)0)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)1)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)2)
enum { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED, MPI_THREAD_MULTIPLE };

#define WARPLOOM_MPI_TYPE(n) ((MPI_Datatype)(n))
#define MPI_CHAR WARPLOOM_MPI_TYPE(1)
#define MPI_SIGNED_CHAR WARPLOOM_MPI_TYPE(2)
#define MPI_UNSIGNED_CHAR WARPLOOM_MPI_TYPE(3)
#define MPI_BYTE WARPLOOM_MPI_TYPE(4)
#define MPI_SHORT WARPLOOM_MPI_TYPE(5)
#define MPI_UNSIGNED_SHORT WARPLOOM_MPI_TYPE(6)
#define MPI_INT WARPLOOM_MPI_TYPE(7)
#define MPI_UNSIGNED WARPLOOM_MPI_TYPE(8)
#define MPI_LONG WARPLOOM_MPI_TYPE(9)
#define MPI_UNSIGNED_LONG WARPLOOM_MPI_TYPE(10)
#define MPI_LONG_LONG WARPLOOM_MPI_TYPE(11)
#define MPI_LONG_LONG_INT MPI_LONG_LONG
#define MPI_UNSIGNED_LONG_LONG WARPLOOM_MPI_TYPE(12)
#define MPI_FLOAT WARPLOOM_MPI_TYPE(13)
#define MPI_DOUBLE WARPLOOM_MPI_TYPE(14)
#define MPI_INT8_T WARPLOOM_MPI_TYPE(15)
#define MPI_UINT8_T WARPLOOM_MPI_TYPE(16)
#define MPI_INT16_T WARPLOOM_MPI_TYPE(17)
#define MPI_UINT16_T WARPLOOM_MPI_TYPE(18)
#define MPI_INT32_T WARPLOOM_MPI_TYPE(19)
#define MPI_UINT32_T WARPLOOM_MPI_TYPE(20)
#define MPI_INT64_T WARPLOOM_MPI_TYPE(21)
#define MPI_UINT64_T WARPLOOM_MPI_TYPE(22)
#define MPI_C_BOOL WARPLOOM_MPI_TYPE(23)
#define MPI_CXX_BOOL WARPLOOM_MPI_TYPE(24)
#define MPI_AINT WARPLOOM_MPI_TYPE(25)
#define MPI_COUNT WARPLOOM_MPI_TYPE(26)
#define MPI_DOUBLE_INT WARPLOOM_MPI_TYPE(27)
#define MPI_FLOAT_INT WARPLOOM_MPI_TYPE(28)
#define MPI_2INT WARPLOOM_MPI_TYPE(29)
#define MPI_PACKED WARPLOOM_MPI_TYPE(30)

#define WARPLOOM_MPI_OP(n) ((MPI_Op)(n))
#define MPI_MAX WARPLOOM_MPI_OP(1)
#define MPI_MIN WARPLOOM_MPI_OP(2)
#define MPI_SUM WARPLOOM_MPI_OP(3)
#define MPI_PROD WARPLOOM_MPI_OP(4)
#define MPI_LAND WARPLOOM_MPI_OP(5)
#define MPI_BAND WARPLOOM_MPI_OP(6)
#define MPI_LOR WARPLOOM_MPI_OP(7)
#define MPI_BOR WARPLOOM_MPI_OP(8)
#define MPI_LXOR WARPLOOM_MPI_OP(9)
#define MPI_BXOR WARPLOOM_MPI_OP(10)
#define MPI_MAXLOC WARPLOOM_MPI_OP(11)
#define MPI_MINLOC WARPLOOM_MPI_OP(12)

int MPI_Init(int*, char***);
int MPI_Init_thread(int*, char***, int, int*);
int MPI_Initialized(int*);
int MPI_Finalized(int*);
int MPI_Query_thread(int*);
int MPI_Pcontrol(int, ...);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm, int);
double MPI_Wtime(void);
double MPI_Wtick(void);
int MPI_Get_processor_name(char*, int*);
int MPI_Get_version(int*, int*);
int MPI_Error_string(int, char*, int*);
int MPI_Error_class(int, int*);
int MPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler);

int MPI_Comm_rank(MPI_Comm, int*);
int MPI_Comm_size(MPI_Comm, int*);
int MPI_Comm_dup(MPI_Comm, MPI_Comm*);
int MPI_Comm_free(MPI_Comm*);
int MPI_Comm_get_attr(MPI_Comm, int, void*, int*);
int MPI_Comm_split(MPI_Comm, int, int, MPI_Comm*);
int MPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm*);
int MPI_Comm_create(MPI_Comm, MPI_Group, MPI_Comm*);
int MPI_Comm_group(MPI_Comm, MPI_Group*);
int MPI_Group_incl(MPI_Group, int, const int*, MPI_Group*);
int MPI_Group_free(MPI_Group*);
int MPI_Info_create(MPI_Info*);
int MPI_Info_free(MPI_Info*);

int MPI_Send(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int MPI_Ssend(const void*, int, MPI_Datatype, int, int, MPI_Comm);
int MPI_Recv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status*);
int MPI_Isend(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Irecv(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Sendrecv(const void*, int, MPI_Datatype, int, int, void*, int, MPI_Datatype, int, int,
                 MPI_Comm, MPI_Status*);
int MPI_Sendrecv_replace(void*, int, MPI_Datatype, int, int, int, int, MPI_Comm, MPI_Status*);
int MPI_Probe(int, int, MPI_Comm, MPI_Status*);
int MPI_Iprobe(int, int, MPI_Comm, int*, MPI_Status*);
int MPI_Get_count(const MPI_Status*, MPI_Datatype, int*);
int MPI_Wait(MPI_Request*, MPI_Status*);
int MPI_Waitall(int, MPI_Request*, MPI_Status*);
int MPI_Waitany(int, MPI_Request*, int*, MPI_Status*);
int MPI_Test(MPI_Request*, int*, MPI_Status*);
int MPI_Testall(int, MPI_Request*, int*, MPI_Status*);
int MPI_Send_init(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Ssend_init(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Recv_init(void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
int MPI_Start(MPI_Request*);
int MPI_Startall(int, MPI_Request*);
int MPI_Request_free(MPI_Request*);

int MPI_Barrier(MPI_Comm);
int MPI_Ibarrier(MPI_Comm, MPI_Request*);
int MPI_Bcast(void*, int, MPI_Datatype, int, MPI_Comm);
int MPI_Ibcast(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request*);
int MPI_Reduce(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
int MPI_Allreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Iallreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Request*);
int MPI_Scan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Exscan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Gather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
int MPI_Gatherv(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, int,
                MPI_Comm);
int MPI_Scatter(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm);
int MPI_Scatterv(const void*, const int*, const int*, MPI_Datatype, void*, int, MPI_Datatype, int,
                 MPI_Comm);
int MPI_Allgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int MPI_Iallgather(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm,
                   MPI_Request*);
int MPI_Allgatherv(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                   MPI_Comm);
int MPI_Alltoall(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm);
int MPI_Alltoallv(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*,
                  MPI_Datatype, MPI_Comm);
int MPI_Reduce_scatter(const void*, void*, const int*, MPI_Datatype, MPI_Op, MPI_Comm);
int MPI_Reduce_scatter_block(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

int MPI_Type_size(MPI_Datatype, int*);
int MPI_Type_contiguous(int, MPI_Datatype, MPI_Datatype*);
int MPI_Type_vector(int, int, int, MPI_Datatype, MPI_Datatype*);
int MPI_Type_commit(MPI_Datatype*);
int MPI_Type_free(MPI_Datatype*);
int MPI_Op_create(MPI_User_function*, int, MPI_Op*);
int MPI_Op_free(MPI_Op*);

#ifdef __cplusplus
}
#endif
