// Of MPI's C++ bindings (mpi_cxx.h): windows and files.
#pragma once

#include "mpi_cxx.h"

namespace MPI {

inline constexpr int ERR_ACCESS = MPI_ERR_ACCESS;
inline constexpr int ERR_AMODE = MPI_ERR_AMODE;
inline constexpr int ERR_BAD_FILE = MPI_ERR_BAD_FILE;
inline constexpr int ERR_FILE_EXISTS = MPI_ERR_FILE_EXISTS;
inline constexpr int ERR_FILE_IN_USE = MPI_ERR_FILE_IN_USE;
inline constexpr int ERR_FILE = MPI_ERR_FILE;
inline constexpr int ERR_IO = MPI_ERR_IO;
inline constexpr int ERR_NO_SPACE = MPI_ERR_NO_SPACE;
inline constexpr int ERR_NO_SUCH_FILE = MPI_ERR_NO_SUCH_FILE;
inline constexpr int ERR_READ_ONLY = MPI_ERR_READ_ONLY;
inline constexpr int LOCK_EXCLUSIVE = MPI_LOCK_EXCLUSIVE;
inline constexpr int LOCK_SHARED = MPI_LOCK_SHARED;
inline constexpr int MODE_NOCHECK = MPI_MODE_NOCHECK;
inline constexpr int MODE_NOPRECEDE = MPI_MODE_NOPRECEDE;
inline constexpr int MODE_NOPUT = MPI_MODE_NOPUT;
inline constexpr int MODE_NOSTORE = MPI_MODE_NOSTORE;
inline constexpr int MODE_NOSUCCEED = MPI_MODE_NOSUCCEED;
inline constexpr int MODE_CREATE = MPI_MODE_CREATE;
inline constexpr int MODE_RDONLY = MPI_MODE_RDONLY;
inline constexpr int MODE_WRONLY = MPI_MODE_WRONLY;
inline constexpr int MODE_RDWR = MPI_MODE_RDWR;
inline constexpr int MODE_DELETE_ON_CLOSE = MPI_MODE_DELETE_ON_CLOSE;
inline constexpr int MODE_UNIQUE_OPEN = MPI_MODE_UNIQUE_OPEN;
inline constexpr int MODE_EXCL = MPI_MODE_EXCL;
inline constexpr int MODE_APPEND = MPI_MODE_APPEND;
inline constexpr int MODE_SEQUENTIAL = MPI_MODE_SEQUENTIAL;
inline const Op REPLACE(MPI_REPLACE);

inline void* Alloc_mem(Aint size, const Info& info) {
  void* base;
  MPI_Alloc_mem(size, info, &base);
  return base;
}
inline void Free_mem(void* base) { MPI_Free_mem(base); }

class Win : public warploom_handle<Win, MPI_Win> {
 public:
  using warploom_handle::warploom_handle;
  static Win Create(const void* base, Aint size, int unit, const Info& info,
                    const Intracomm& comm) {
    MPI_Win out;
    MPI_Win_create(const_cast<void*>(base), size, unit, info, comm, &out);
    return out;
  }
  void Free() { MPI_Win_free(&handle_); }
  void Fence(int asserts) const { MPI_Win_fence(asserts, handle_); }
  void Post(const Group& group, int asserts) const { MPI_Win_post(group, asserts, handle_); }
  void Start(const Group& group, int asserts) const { MPI_Win_start(group, asserts, handle_); }
  void Complete() const { MPI_Win_complete(handle_); }
  void Wait() const { MPI_Win_wait(handle_); }
  bool Test() const {
    int flag;
    MPI_Win_test(handle_, &flag);
    return flag != 0;
  }
  void Lock(int type, int rank, int asserts) const { MPI_Win_lock(type, rank, asserts, handle_); }
  void Unlock(int rank) const { MPI_Win_unlock(rank, handle_); }
  void Put(const void* origin, int origin_count, const Datatype& origin_type, int target,
           Aint displacement, int target_count, const Datatype& target_type) const {
    MPI_Put(origin, origin_count, origin_type, target, displacement, target_count, target_type,
            handle_);
  }
  void Get(void* origin, int origin_count, const Datatype& origin_type, int target,
           Aint displacement, int target_count, const Datatype& target_type) const {
    MPI_Get(origin, origin_count, origin_type, target, displacement, target_count, target_type,
            handle_);
  }
  void Accumulate(const void* origin, int origin_count, const Datatype& origin_type, int target,
                  Aint displacement, int target_count, const Datatype& target_type,
                  const Op& op) const {
    MPI_Accumulate(origin, origin_count, origin_type, target, displacement, target_count,
                   target_type, op, handle_);
  }
};
inline const Win WIN_NULL(MPI_WIN_NULL);

// Errors of files come back as codes in C. Here they throw where the file's handler says so, or,
// where there is no file yet, that of FILE_NULL; else they go unseen, as MPI has it.
class File : public warploom_handle<File, MPI_File> {
 public:
  using warploom_handle::warploom_handle;
  static File Open(const Intracomm& comm, const char* name, int amode, const Info& info) {
    MPI_File out;
    raise(MPI_File_open(comm, name, amode, info, &out), throws_before_open);
    return out;
  }
  static void Delete(const char* name, const Info& info) {
    raise(MPI_File_delete(name, info), throws_before_open);
  }
  void Close() { raise(MPI_File_close(&handle_), throws_); }
  void Set_errhandler(const Errhandler& handler) const {
    const bool throws = handler == ERRORS_THROW_EXCEPTIONS;
    if (handle_ == MPI_FILE_NULL) {
      throws_before_open = throws;
      return;
    }
    throws_ = throws;
    MPI_File_set_errhandler(handle_, handler);
  }
  void Set_size(Offset size) { raise(MPI_File_set_size(handle_, size), throws_); }
  Offset Get_size() const {
    MPI_Offset size = 0;
    raise(MPI_File_get_size(handle_, &size), throws_);
    return size;
  }
  int Get_amode() const {
    int amode;
    MPI_File_get_amode(handle_, &amode);
    return amode;
  }
  void Set_view(Offset displacement, const Datatype& etype, const Datatype& filetype,
                const char* datarep, const Info& info) {
    raise(MPI_File_set_view(handle_, displacement, etype, filetype, datarep, info), throws_);
  }
  void Seek(Offset offset, int whence) { raise(MPI_File_seek(handle_, offset, whence), throws_); }
  Offset Get_position() const {
    MPI_Offset offset;
    MPI_File_get_position(handle_, &offset);
    return offset;
  }
  void Sync() { raise(MPI_File_sync(handle_), throws_); }

#define WARPLOOM_FILE_CALLS(name, call, pointer)                                              \
  void name(pointer buffer, int count, const Datatype& type) {                                \
    raise(MPI_File_##call(handle_, buffer, count, type, MPI_STATUS_IGNORE), throws_);         \
  }                                                                                           \
  void name(pointer buffer, int count, const Datatype& type, Status& status) {                \
    raise(MPI_File_##call(handle_, buffer, count, type, status.warploom_pointer()), throws_); \
  }
#define WARPLOOM_FILE_CALLS_AT(name, call, pointer)                                           \
  void name(Offset offset, pointer buffer, int count, const Datatype& type) {                 \
    raise(MPI_File_##call(handle_, offset, buffer, count, type, MPI_STATUS_IGNORE), throws_); \
  }                                                                                           \
  void name(Offset offset, pointer buffer, int count, const Datatype& type, Status& status) { \
    raise(MPI_File_##call(handle_, offset, buffer, count, type, status.warploom_pointer()),   \
          throws_);                                                                           \
  }
  WARPLOOM_FILE_CALLS(Read, read, void*)
  WARPLOOM_FILE_CALLS(Read_all, read_all, void*)
  WARPLOOM_FILE_CALLS(Write, write, const void*)
  WARPLOOM_FILE_CALLS(Write_all, write_all, const void*)
  WARPLOOM_FILE_CALLS_AT(Read_at, read_at, void*)
  WARPLOOM_FILE_CALLS_AT(Read_at_all, read_at_all, void*)
  WARPLOOM_FILE_CALLS_AT(Write_at, write_at, const void*)
  WARPLOOM_FILE_CALLS_AT(Write_at_all, write_at_all, const void*)
#undef WARPLOOM_FILE_CALLS
#undef WARPLOOM_FILE_CALLS_AT

 private:
  static void raise(int code, bool throws) {
    if (code != MPI_SUCCESS && throws) throw Exception(code);
  }
  inline static bool throws_before_open = false;
  mutable bool throws_ = !__builtin_is_constant_evaluated() && throws_before_open;
};
#if __cplusplus >= 202002L  // nvcc reads this as C++17
constinit
#endif
    inline const File FILE_NULL(MPI_FILE_NULL);

}  // namespace MPI
