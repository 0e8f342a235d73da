// Of MPI's C++ bindings (mpi_cxx.h): constants, data types, statuses, requests and groups. Handles
// may be of any type: the stub for nvcc (toolchain/mpi_stub) brings these headers, too.
#pragma once

#ifndef MPI_VERSION  // else mpi.h brings this
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#undef OMPI_SKIP_MPICXX
#endif

// Names of constants that programs may have as macros.
#pragma push_macro("BOOL")
#pragma push_macro("BYTE")
#pragma push_macro("CHAR")
#pragma push_macro("DOUBLE")
#pragma push_macro("FLOAT")
#pragma push_macro("INT")
#pragma push_macro("LONG")
#pragma push_macro("MAX")
#pragma push_macro("MIN")
#pragma push_macro("PROD")
#pragma push_macro("SHORT")
#pragma push_macro("SUM")
#pragma push_macro("UNSIGNED")
#undef BOOL
#undef BYTE
#undef CHAR
#undef DOUBLE
#undef FLOAT
#undef INT
#undef LONG
#undef MAX
#undef MIN
#undef PROD
#undef SHORT
#undef SUM
#undef UNSIGNED

namespace MPI {

using Aint = MPI_Aint;
using Offset = MPI_Offset;

inline void* const IN_PLACE = MPI_IN_PLACE;
inline void* const BOTTOM = MPI_BOTTOM;
inline constexpr int SUCCESS = MPI_SUCCESS;
inline constexpr int ERR_BUFFER = MPI_ERR_BUFFER;
inline constexpr int ERR_COUNT = MPI_ERR_COUNT;
inline constexpr int ERR_TYPE = MPI_ERR_TYPE;
inline constexpr int ERR_TAG = MPI_ERR_TAG;
inline constexpr int ERR_COMM = MPI_ERR_COMM;
inline constexpr int ERR_RANK = MPI_ERR_RANK;
inline constexpr int ERR_REQUEST = MPI_ERR_REQUEST;
inline constexpr int ERR_ROOT = MPI_ERR_ROOT;
inline constexpr int ERR_OP = MPI_ERR_OP;
inline constexpr int ERR_ARG = MPI_ERR_ARG;
inline constexpr int ERR_UNKNOWN = MPI_ERR_UNKNOWN;
inline constexpr int ERR_TRUNCATE = MPI_ERR_TRUNCATE;
inline constexpr int ERR_OTHER = MPI_ERR_OTHER;
inline constexpr int ERR_INTERN = MPI_ERR_INTERN;
inline constexpr int ERR_LASTCODE = MPI_ERR_LASTCODE;
inline constexpr int BSEND_OVERHEAD = MPI_BSEND_OVERHEAD;
inline constexpr int ANY_SOURCE = MPI_ANY_SOURCE;
inline constexpr int ANY_TAG = MPI_ANY_TAG;
inline constexpr int PROC_NULL = MPI_PROC_NULL;
inline constexpr int UNDEFINED = MPI_UNDEFINED;
inline constexpr int KEYVAL_INVALID = MPI_KEYVAL_INVALID;
inline constexpr int TAG_UB = MPI_TAG_UB;
inline constexpr int HOST = MPI_HOST;
inline constexpr int IO = MPI_IO;
inline constexpr int WTIME_IS_GLOBAL = MPI_WTIME_IS_GLOBAL;
inline constexpr int UNIVERSE_SIZE = MPI_UNIVERSE_SIZE;
inline constexpr int APPNUM = MPI_APPNUM;
inline constexpr int LASTUSEDCODE = MPI_LASTUSEDCODE;
inline constexpr int MAX_PROCESSOR_NAME = MPI_MAX_PROCESSOR_NAME;
inline constexpr int MAX_ERROR_STRING = MPI_MAX_ERROR_STRING;
inline constexpr int ORDER_C = MPI_ORDER_C;
inline constexpr int ORDER_FORTRAN = MPI_ORDER_FORTRAN;
inline constexpr int THREAD_SINGLE = MPI_THREAD_SINGLE;
inline constexpr int THREAD_FUNNELED = MPI_THREAD_FUNNELED;
inline constexpr int THREAD_SERIALIZED = MPI_THREAD_SERIALIZED;
inline constexpr int THREAD_MULTIPLE = MPI_THREAD_MULTIPLE;

// What C has as a handle, which converts to it and from it.
template <class Mine, class Handle>
class warploom_handle {
 public:
  constexpr warploom_handle() = default;
  constexpr warploom_handle(Handle handle) : handle_(handle) {}
  constexpr operator Handle() const { return handle_; }
  constexpr bool operator==(const Mine& other) const { return handle_ == Handle(other); }
  constexpr bool operator!=(const Mine& other) const { return handle_ != Handle(other); }

 protected:
  Handle handle_ = Handle();
};

class Datatype : public warploom_handle<Datatype, MPI_Datatype> {
 public:
  using warploom_handle::warploom_handle;
  Datatype Create_contiguous(int count) const {
    MPI_Datatype out;
    MPI_Type_contiguous(count, handle_, &out);
    return out;
  }
  Datatype Create_vector(int count, int length, int stride) const {
    MPI_Datatype out;
    MPI_Type_vector(count, length, stride, handle_, &out);
    return out;
  }
  Datatype Create_hvector(int count, int length, Aint stride) const {
    MPI_Datatype out;
    MPI_Type_create_hvector(count, length, stride, handle_, &out);
    return out;
  }
  Datatype Create_indexed(int count, const int lengths[], const int displacements[]) const {
    MPI_Datatype out;
    MPI_Type_indexed(count, lengths, displacements, handle_, &out);
    return out;
  }
  static Datatype Create_struct(int count, const int lengths[], const Aint displacements[],
                                const Datatype types[]) {
    MPI_Datatype out;
    MPI_Type_create_struct(count, lengths, displacements,
                           reinterpret_cast<const MPI_Datatype*>(types), &out);
    return out;
  }
  Datatype Create_subarray(int dimensions, const int sizes[], const int parts[], const int starts[],
                           int order) const {
    MPI_Datatype out;
    MPI_Type_create_subarray(dimensions, sizes, parts, starts, order, handle_, &out);
    return out;
  }
  Datatype Create_resized(Aint low, Aint extent) const {
    MPI_Datatype out;
    MPI_Type_create_resized(handle_, low, extent, &out);
    return out;
  }
  int Get_size() const {
    int size;
    MPI_Type_size(handle_, &size);
    return size;
  }
  void Get_extent(Aint& low, Aint& extent) const { MPI_Type_get_extent(handle_, &low, &extent); }
  void Commit() { MPI_Type_commit(&handle_); }
  void Free() { MPI_Type_free(&handle_); }
};

inline const Datatype DATATYPE_NULL(MPI_DATATYPE_NULL);
inline const Datatype CHAR(MPI_CHAR);
inline const Datatype SIGNED_CHAR(MPI_SIGNED_CHAR);
inline const Datatype UNSIGNED_CHAR(MPI_UNSIGNED_CHAR);
inline const Datatype BYTE(MPI_BYTE);
inline const Datatype SHORT(MPI_SHORT);
inline const Datatype UNSIGNED_SHORT(MPI_UNSIGNED_SHORT);
inline const Datatype INT(MPI_INT);
inline const Datatype UNSIGNED(MPI_UNSIGNED);
inline const Datatype LONG(MPI_LONG);
inline const Datatype UNSIGNED_LONG(MPI_UNSIGNED_LONG);
inline const Datatype LONG_LONG(MPI_LONG_LONG);
inline const Datatype UNSIGNED_LONG_LONG(MPI_UNSIGNED_LONG_LONG);
inline const Datatype FLOAT(MPI_FLOAT);
inline const Datatype DOUBLE(MPI_DOUBLE);
inline const Datatype LONG_DOUBLE(MPI_LONG_DOUBLE);
inline const Datatype BOOL(MPI_CXX_BOOL);
inline const Datatype WCHAR(MPI_WCHAR);
inline const Datatype FLOAT_INT(MPI_FLOAT_INT);
inline const Datatype DOUBLE_INT(MPI_DOUBLE_INT);
inline const Datatype LONG_INT(MPI_LONG_INT);
inline const Datatype TWOINT(MPI_2INT);

class Op : public warploom_handle<Op, MPI_Op> {
 public:
  using warploom_handle::warploom_handle;
};

inline const Op OP_NULL(MPI_OP_NULL);
inline const Op MAX(MPI_MAX);
inline const Op MIN(MPI_MIN);
inline const Op SUM(MPI_SUM);
inline const Op PROD(MPI_PROD);
inline const Op LAND(MPI_LAND);
inline const Op BAND(MPI_BAND);
inline const Op LOR(MPI_LOR);
inline const Op BOR(MPI_BOR);
inline const Op LXOR(MPI_LXOR);
inline const Op BXOR(MPI_BXOR);
inline const Op MAXLOC(MPI_MAXLOC);
inline const Op MINLOC(MPI_MINLOC);

class Errhandler : public warploom_handle<Errhandler, MPI_Errhandler> {
 public:
  using warploom_handle::warploom_handle;
};

inline const Errhandler ERRORS_ARE_FATAL(MPI_ERRORS_ARE_FATAL);
inline const Errhandler ERRORS_RETURN(MPI_ERRORS_RETURN);
// Only what is an error code in C is thrown, an error of a file: any other wrong call ends the run
// with a finding.
inline const Errhandler ERRORS_THROW_EXCEPTIONS(WARPLOOM_ERRORS_THROW);

class Exception {
 public:
  explicit Exception(int code) : code_(code) { MPI_Error_string(code, text_, &length_); }
  int Get_error_code() const { return code_; }
  int Get_error_class() const { return code_; }
  const char* Get_error_string() const { return text_; }

 private:
  int code_;
  int length_ = 0;
  char text_[MPI_MAX_ERROR_STRING];
};

class Info : public warploom_handle<Info, MPI_Info> {
 public:
  using warploom_handle::warploom_handle;
  static Info Create() {
    MPI_Info out;
    MPI_Info_create(&out);
    return out;
  }
  void Set(const char* key, const char* value) { MPI_Info_set(handle_, key, value); }
  bool Get(const char* key, int most, char* value) const {
    int flag;
    MPI_Info_get(handle_, key, most, value, &flag);
    return flag != 0;
  }
  void Free() { MPI_Info_free(&handle_); }
};
inline const Info INFO_NULL(MPI_INFO_NULL);

class Status {
 public:
  Status() = default;
  Status(const MPI_Status& status) : status_(status) {}
  operator MPI_Status() const { return status_; }
  int Get_source() const { return status_.MPI_SOURCE; }
  int Get_tag() const { return status_.MPI_TAG; }
  int Get_error() const { return status_.MPI_ERROR; }
  void Set_source(int source) { status_.MPI_SOURCE = source; }
  void Set_tag(int tag) { status_.MPI_TAG = tag; }
  void Set_error(int error) { status_.MPI_ERROR = error; }
  int Get_count(const Datatype& type) const {
    int count;
    MPI_Get_count(&status_, type, &count);
    return count;
  }
  MPI_Status* warploom_pointer() { return &status_; }

 private:
  friend class Comm;
  friend class Request;
  MPI_Status status_ = MPI_Status();
};

class Request : public warploom_handle<Request, MPI_Request> {
 public:
  using warploom_handle::warploom_handle;
  void Wait() { MPI_Wait(&handle_, MPI_STATUS_IGNORE); }
  void Wait(Status& status) { MPI_Wait(&handle_, &status.status_); }
  bool Test() {
    int flag;
    MPI_Test(&handle_, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }
  bool Test(Status& status) {
    int flag;
    MPI_Test(&handle_, &flag, &status.status_);
    return flag != 0;
  }
  void Free() { MPI_Request_free(&handle_); }
  static void Waitall(int count, Request requests[]) {
    MPI_Waitall(count, all(requests), MPI_STATUSES_IGNORE);
  }
  static void Waitall(int count, Request requests[], Status statuses[]) {
    MPI_Waitall(count, all(requests), all(statuses));
  }
  static int Waitany(int count, Request requests[]) {
    int index;
    MPI_Waitany(count, all(requests), &index, MPI_STATUS_IGNORE);
    return index;
  }
  static int Waitany(int count, Request requests[], Status& status) {
    int index;
    MPI_Waitany(count, all(requests), &index, &status.status_);
    return index;
  }
  static bool Testall(int count, Request requests[]) {
    int flag;
    MPI_Testall(count, all(requests), &flag, MPI_STATUSES_IGNORE);
    return flag != 0;
  }
  static bool Testall(int count, Request requests[], Status statuses[]) {
    int flag;
    MPI_Testall(count, all(requests), &flag, all(statuses));
    return flag != 0;
  }

 protected:
  // An array of objects that have nothing but a handle each.
  static MPI_Request* all(Request* requests) { return requests ? &requests->handle_ : nullptr; }
  static MPI_Status* all(Status* statuses) { return statuses ? &statuses->status_ : nullptr; }
};
inline const Request REQUEST_NULL(MPI_REQUEST_NULL);
static_assert(sizeof(Request) == sizeof(MPI_Request) && sizeof(Status) == sizeof(MPI_Status) &&
              sizeof(Datatype) == sizeof(MPI_Datatype));

class Prequest : public Request {
 public:
  using Request::Request;
  void Start() { MPI_Start(&handle_); }
  static void Startall(int count, Prequest requests[]) { MPI_Startall(count, all(requests)); }
};
static_assert(sizeof(Prequest) == sizeof(Request));

class Group : public warploom_handle<Group, MPI_Group> {
 public:
  using warploom_handle::warploom_handle;
  int Get_size() const {
    int size;
    MPI_Group_size(handle_, &size);
    return size;
  }
  int Get_rank() const {
    int rank;
    MPI_Group_rank(handle_, &rank);
    return rank;
  }
  Group Incl(int count, const int ranks[]) const {
    MPI_Group out;
    MPI_Group_incl(handle_, count, ranks, &out);
    return out;
  }
  Group Excl(int count, const int ranks[]) const {
    MPI_Group out;
    MPI_Group_excl(handle_, count, ranks, &out);
    return out;
  }
  void Free() { MPI_Group_free(&handle_); }
};
inline const Group GROUP_NULL(MPI_GROUP_NULL);
inline const Group GROUP_EMPTY(MPI_GROUP_EMPTY);

}  // namespace MPI

#pragma pop_macro("BOOL")
#pragma pop_macro("BYTE")
#pragma pop_macro("CHAR")
#pragma pop_macro("DOUBLE")
#pragma pop_macro("FLOAT")
#pragma pop_macro("INT")
#pragma pop_macro("LONG")
#pragma pop_macro("MAX")
#pragma pop_macro("MIN")
#pragma pop_macro("PROD")
#pragma pop_macro("SHORT")
#pragma pop_macro("SUM")
#pragma pop_macro("UNSIGNED")
