// Operations of the program's own, packed data, and rarer collectives.
#pragma once

typedef void MPI_User_function(void* in, void* inout, int* length, MPI_Datatype* type);

#ifdef __cplusplus
extern "C" {
#endif

int MPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* out);
int MPI_Op_free(MPI_Op* op);
int MPI_Op_commutative(MPI_Op op, int* commutes);
int MPI_Reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op);
int MPI_Reduce_scatter(const void* send, void* recv, const int* counts, MPI_Datatype type,
                       MPI_Op op, MPI_Comm comm);
int MPI_Ireduce(const void* send, void* recv, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm, MPI_Request* request);
int MPI_Iallgatherv(const void* send, int sendcount, MPI_Datatype sendtype, void* recv,
                    const int* counts, const int* displacements, MPI_Datatype recvtype,
                    MPI_Comm comm, MPI_Request* request);

int MPI_Pack(const void* in, int count, MPI_Datatype type, void* out, int out_bytes, int* position,
             MPI_Comm comm);
int MPI_Unpack(const void* in, int in_bytes, int* position, void* out, int count, MPI_Datatype type,
               MPI_Comm comm);
int MPI_Pack_size(int count, MPI_Datatype type, MPI_Comm comm, int* bytes);

#ifdef __cplusplus
}
#endif
