// MPI's C++ bindings (chapter 16 of MPI-2.2; MPI-3 has dropped them): inline, over the C calls.
// Only what those calls do is here. No class has virtual functions: a communicator's Clone() is
// that of its own class.
#pragma once

#include "mpi_cxx_values.h"

namespace MPI {

class Comm : public warploom_handle<Comm, MPI_Comm> {
 public:
  using warploom_handle::warploom_handle;
  int Get_rank() const {
    int rank;
    MPI_Comm_rank(handle_, &rank);
    return rank;
  }
  int Get_size() const {
    int size;
    MPI_Comm_size(handle_, &size);
    return size;
  }
  Group Get_group() const {
    MPI_Group out;
    MPI_Comm_group(handle_, &out);
    return out;
  }
  bool Get_attr(int key, void* value) const {
    int flag;
    MPI_Comm_get_attr(handle_, key, value, &flag);
    return flag != 0;
  }
  void Set_errhandler(const Errhandler& handler) { MPI_Comm_set_errhandler(handle_, handler); }
  void Abort(int code) { MPI_Abort(handle_, code); }
  void Free() { MPI_Comm_free(&handle_); }

  void Send(const void* buffer, int count, const Datatype& type, int dest, int tag) const {
    MPI_Send(buffer, count, type, dest, tag, handle_);
  }
  void Ssend(const void* buffer, int count, const Datatype& type, int dest, int tag) const {
    MPI_Ssend(buffer, count, type, dest, tag, handle_);
  }
  void Bsend(const void* buffer, int count, const Datatype& type, int dest, int tag) const {
    MPI_Bsend(buffer, count, type, dest, tag, handle_);
  }
  void Recv(void* buffer, int count, const Datatype& type, int source, int tag) const {
    MPI_Recv(buffer, count, type, source, tag, handle_, MPI_STATUS_IGNORE);
  }
  void Recv(void* buffer, int count, const Datatype& type, int source, int tag,
            Status& status) const {
    MPI_Recv(buffer, count, type, source, tag, handle_, &status.status_);
  }
  void Sendrecv(const void* send, int sendcount, const Datatype& sendtype, int dest, int sendtag,
                void* recv, int recvcount, const Datatype& recvtype, int source,
                int recvtag) const {
    MPI_Sendrecv(send, sendcount, sendtype, dest, sendtag, recv, recvcount, recvtype, source,
                 recvtag, handle_, MPI_STATUS_IGNORE);
  }
  void Sendrecv(const void* send, int sendcount, const Datatype& sendtype, int dest, int sendtag,
                void* recv, int recvcount, const Datatype& recvtype, int source, int recvtag,
                Status& status) const {
    MPI_Sendrecv(send, sendcount, sendtype, dest, sendtag, recv, recvcount, recvtype, source,
                 recvtag, handle_, &status.status_);
  }
  void Sendrecv_replace(void* buffer, int count, const Datatype& type, int dest, int sendtag,
                        int source, int recvtag) const {
    MPI_Sendrecv_replace(buffer, count, type, dest, sendtag, source, recvtag, handle_,
                         MPI_STATUS_IGNORE);
  }
  void Sendrecv_replace(void* buffer, int count, const Datatype& type, int dest, int sendtag,
                        int source, int recvtag, Status& status) const {
    MPI_Sendrecv_replace(buffer, count, type, dest, sendtag, source, recvtag, handle_,
                         &status.status_);
  }
  Request Isend(const void* buffer, int count, const Datatype& type, int dest, int tag) const {
    MPI_Request request;
    MPI_Isend(buffer, count, type, dest, tag, handle_, &request);
    return request;
  }
  Request Irecv(void* buffer, int count, const Datatype& type, int source, int tag) const {
    MPI_Request request;
    MPI_Irecv(buffer, count, type, source, tag, handle_, &request);
    return request;
  }
  Prequest Send_init(const void* buffer, int count, const Datatype& type, int dest, int tag) const {
    MPI_Request request;
    MPI_Send_init(buffer, count, type, dest, tag, handle_, &request);
    return request;
  }
  Prequest Ssend_init(const void* buffer, int count, const Datatype& type, int dest,
                      int tag) const {
    MPI_Request request;
    MPI_Ssend_init(buffer, count, type, dest, tag, handle_, &request);
    return request;
  }
  Prequest Recv_init(void* buffer, int count, const Datatype& type, int source, int tag) const {
    MPI_Request request;
    MPI_Recv_init(buffer, count, type, source, tag, handle_, &request);
    return request;
  }
  void Probe(int source, int tag) const { MPI_Probe(source, tag, handle_, MPI_STATUS_IGNORE); }
  void Probe(int source, int tag, Status& status) const {
    MPI_Probe(source, tag, handle_, &status.status_);
  }
  bool Iprobe(int source, int tag) const {
    int flag;
    MPI_Iprobe(source, tag, handle_, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }
  bool Iprobe(int source, int tag, Status& status) const {
    int flag;
    MPI_Iprobe(source, tag, handle_, &flag, &status.status_);
    return flag != 0;
  }

  void Barrier() const { MPI_Barrier(handle_); }
  void Bcast(void* buffer, int count, const Datatype& type, int root) const {
    MPI_Bcast(buffer, count, type, root, handle_);
  }
  void Gather(const void* send, int sendcount, const Datatype& sendtype, void* recv, int recvcount,
              const Datatype& recvtype, int root) const {
    MPI_Gather(send, sendcount, sendtype, recv, recvcount, recvtype, root, handle_);
  }
  void Gatherv(const void* send, int sendcount, const Datatype& sendtype, void* recv,
               const int counts[], const int displacements[], const Datatype& recvtype,
               int root) const {
    MPI_Gatherv(send, sendcount, sendtype, recv, counts, displacements, recvtype, root, handle_);
  }
  void Scatter(const void* send, int sendcount, const Datatype& sendtype, void* recv, int recvcount,
               const Datatype& recvtype, int root) const {
    MPI_Scatter(send, sendcount, sendtype, recv, recvcount, recvtype, root, handle_);
  }
  void Scatterv(const void* send, const int counts[], const int displacements[],
                const Datatype& sendtype, void* recv, int recvcount, const Datatype& recvtype,
                int root) const {
    MPI_Scatterv(send, counts, displacements, sendtype, recv, recvcount, recvtype, root, handle_);
  }
  void Allgather(const void* send, int sendcount, const Datatype& sendtype, void* recv,
                 int recvcount, const Datatype& recvtype) const {
    MPI_Allgather(send, sendcount, sendtype, recv, recvcount, recvtype, handle_);
  }
  void Allgatherv(const void* send, int sendcount, const Datatype& sendtype, void* recv,
                  const int counts[], const int displacements[], const Datatype& recvtype) const {
    MPI_Allgatherv(send, sendcount, sendtype, recv, counts, displacements, recvtype, handle_);
  }
  void Alltoall(const void* send, int sendcount, const Datatype& sendtype, void* recv,
                int recvcount, const Datatype& recvtype) const {
    MPI_Alltoall(send, sendcount, sendtype, recv, recvcount, recvtype, handle_);
  }
  void Alltoallv(const void* send, const int sendcounts[], const int senddispls[],
                 const Datatype& sendtype, void* recv, const int recvcounts[],
                 const int recvdispls[], const Datatype& recvtype) const {
    MPI_Alltoallv(send, sendcounts, senddispls, sendtype, recv, recvcounts, recvdispls, recvtype,
                  handle_);
  }
  void Reduce(const void* send, void* recv, int count, const Datatype& type, const Op& op,
              int root) const {
    MPI_Reduce(send, recv, count, type, op, root, handle_);
  }
  void Allreduce(const void* send, void* recv, int count, const Datatype& type,
                 const Op& op) const {
    MPI_Allreduce(send, recv, count, type, op, handle_);
  }
  void Reduce_scatter_block(const void* send, void* recv, int recvcount, const Datatype& type,
                            const Op& op) const {
    MPI_Reduce_scatter_block(send, recv, recvcount, type, op, handle_);
  }
};
inline const Comm COMM_NULL(MPI_COMM_NULL);

class Cartcomm;
class Intracomm : public Comm {
 public:
  using Comm::Comm;
  Intracomm Dup() const {
    MPI_Comm out;
    MPI_Comm_dup(handle_, &out);
    return out;
  }
  Intracomm& Clone() const { return *new Intracomm(Dup()); }
  Intracomm Create(const Group& group) const {
    MPI_Comm out;
    MPI_Comm_create(handle_, group, &out);
    return out;
  }
  Intracomm Split(int color, int key) const {
    MPI_Comm out;
    MPI_Comm_split(handle_, color, key, &out);
    return out;
  }
  inline Cartcomm Create_cart(int dimensions, const int sizes[], const bool periods[],
                              bool reorder) const;
  void Scan(const void* send, void* recv, int count, const Datatype& type, const Op& op) const {
    MPI_Scan(send, recv, count, type, op, handle_);
  }
  void Exscan(const void* send, void* recv, int count, const Datatype& type, const Op& op) const {
    MPI_Exscan(send, recv, count, type, op, handle_);
  }
};
inline Intracomm COMM_WORLD(MPI_COMM_WORLD);
inline Intracomm COMM_SELF(MPI_COMM_SELF);

// C has numbers where C++ has truth values.
class warploom_flags {
 public:
  explicit warploom_flags(int count) : values_(new int[count > 0 ? count : 1]()) {}
  warploom_flags(int count, const bool* flags) : warploom_flags(count) {
    for (int i = 0; i < count; i++) values_[i] = flags[i];
  }
  warploom_flags(const warploom_flags&) = delete;
  ~warploom_flags() { delete[] values_; }
  int* values() { return values_; }

 private:
  int* values_;
};

class Cartcomm : public Intracomm {
 public:
  using Intracomm::Intracomm;
  Cartcomm Dup() const { return MPI_Comm(Intracomm::Dup()); }
  Cartcomm& Clone() const { return *new Cartcomm(Dup()); }
  int Get_dim() const {
    int dimensions;
    MPI_Cartdim_get(handle_, &dimensions);
    return dimensions;
  }
  void Get_topo(int most, int sizes[], bool periods[], int place[]) const {
    warploom_flags flags(most);
    MPI_Cart_get(handle_, most, sizes, flags.values(), place);
    const int dimensions = Get_dim();
    for (int i = 0; i < most && i < dimensions; i++) periods[i] = flags.values()[i] != 0;
  }
  int Get_cart_rank(const int place[]) const {
    int rank;
    MPI_Cart_rank(handle_, place, &rank);
    return rank;
  }
  void Get_coords(int rank, int most, int place[]) const {
    MPI_Cart_coords(handle_, rank, most, place);
  }
  void Shift(int dimension, int steps, int& source, int& destination) const {
    MPI_Cart_shift(handle_, dimension, steps, &source, &destination);
  }
  Cartcomm Sub(const bool kept[]) const {
    warploom_flags flags(Get_dim(), kept);
    MPI_Comm out;
    MPI_Cart_sub(handle_, flags.values(), &out);
    return out;
  }
};

inline Cartcomm Intracomm::Create_cart(int dimensions, const int sizes[], const bool periods[],
                                       bool reorder) const {
  warploom_flags flags(dimensions, periods);
  MPI_Comm out;
  MPI_Cart_create(handle_, dimensions, sizes, flags.values(), reorder, &out);
  return out;
}

inline void Init(int& argc, char**& argv) { MPI_Init(&argc, &argv); }
inline void Init() { MPI_Init(nullptr, nullptr); }
inline int Init_thread(int& argc, char**& argv, int required) {
  int provided;
  MPI_Init_thread(&argc, &argv, required, &provided);
  return provided;
}
inline int Init_thread(int required) {
  int provided;
  MPI_Init_thread(nullptr, nullptr, required, &provided);
  return provided;
}
inline bool Is_initialized() {
  int flag;
  MPI_Initialized(&flag);
  return flag != 0;
}
inline bool Is_finalized() {
  int flag;
  MPI_Finalized(&flag);
  return flag != 0;
}
inline int Query_thread() {
  int provided;
  MPI_Query_thread(&provided);
  return provided;
}
inline void Finalize() { MPI_Finalize(); }
inline void Attach_buffer(void* buffer, int size) { MPI_Buffer_attach(buffer, size); }
inline int Detach_buffer(void*& buffer) {
  int size = 0;
  MPI_Buffer_detach(&buffer, &size);
  return size;
}
inline Aint Get_address(const void* location) {
  Aint address = 0;
  MPI_Get_address(location, &address);
  return address;
}
inline double Wtime() { return MPI_Wtime(); }
inline double Wtick() { return MPI_Wtick(); }
inline void Get_processor_name(char* name, int& length) { MPI_Get_processor_name(name, &length); }
inline void Get_version(int& version, int& subversion) { MPI_Get_version(&version, &subversion); }
inline void Get_error_string(int code, char* text, int& length) {
  MPI_Error_string(code, text, &length);
}
inline int Get_error_class(int code) {
  int error_class;
  MPI_Error_class(code, &error_class);
  return error_class;
}
inline void Compute_dims(int ranks, int dimensions, int sizes[]) {
  MPI_Dims_create(ranks, dimensions, sizes);
}

}  // namespace MPI
