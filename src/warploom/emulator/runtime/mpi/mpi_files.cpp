// How MPI files are opened and closed, their sizes, and views of them.
#include "mpi/mpi_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/polling.h"
#include "host/descriptors.h"

namespace warploom::mpi {

namespace {

std::vector<std::unique_ptr<File>> g_files;  // by the number of their handle, less one

// Whether MPI allows these modes together.
bool is_mode(int amode) {
  const int access = amode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
  if (access != MPI_MODE_RDONLY && access != MPI_MODE_WRONLY && access != MPI_MODE_RDWR) {
    return false;
  }
  if (access == MPI_MODE_RDONLY && (amode & (MPI_MODE_CREATE | MPI_MODE_EXCL))) return false;
  return access != MPI_MODE_RDWR || !(amode & MPI_MODE_SEQUENTIAL);
}

int flags_of_mode(int amode, bool first) {
  int flags = amode & MPI_MODE_RDWR ? O_RDWR : amode & MPI_MODE_WRONLY ? O_WRONLY : O_RDONLY;
  if (first && (amode & MPI_MODE_CREATE)) flags |= O_CREAT;
  if (first && (amode & MPI_MODE_EXCL)) flags |= O_EXCL;
  return flags | O_CLOEXEC;
}

// 0, or the system's error.
int open_side(FileSide& side, const char* path, int amode, bool first) {
  side.descriptor = open_for_program(AT_FDCWD, path, flags_of_mode(amode, first), 0666);
  return side.descriptor < 0 ? errno : 0;
}

long long size_of(const FileSide& side) {
  struct stat found{};
  return ::fstat(side.descriptor, &found) == 0 ? static_cast<long long>(found.st_size) : -1;
}

int result_of(const Bytes& data) {
  int error = 0;
  std::memcpy(&error, data.data(), sizeof error);
  return error;
}

Bytes bytes_of_result(int error) {
  Bytes data(sizeof error);
  std::memcpy(data.data(), &error, sizeof error);
  return data;
}

// The first rank makes the file, where that is asked for; the others open what is there then.
int open_together(const Place& place, const char* path, int amode, MPI_File* out,
                  const char* what) {
  // What each rank did before the call, such as MPI_File_delete, is done: Open MPI makes a
  // communicator of its own first.
  await(place, *post(place, what, "begins", {}));
  FileSide side;
  const bool first = place.rank == 0;
  int error = first ? open_side(side, path, amode, true) : 0;
  auto meeting = post(place, what, format("mode %d", amode), bytes_of_result(error));
  if (meeting->arrived == place.comm->size()) {
    auto file = std::make_unique<File>();
    file->comm = new_comm(place.comm->world);
    file->path = path;
    file->amode = amode;
    file->sides.resize(static_cast<std::size_t>(place.comm->size()));
    g_files.push_back(std::move(file));
    g_files.back()->handle = kFiles + static_cast<int>(g_files.size());
    meeting->numbers = {g_files.back()->handle};
  }
  await(place, *meeting);
  error = result_of(meeting->data[0]);
  if (!error && !first) error = open_side(side, path, amode, false);
  // Nobody has the file if somebody does not.
  auto opened = post(place, what, "opened", bytes_of_result(error));
  await(place, *opened);
  for (const Bytes& one : opened->data) error = error ? error : result_of(one);
  if (error) {
    if (side.descriptor >= 0) raw_call(SYS_close, side.descriptor);
    return code_of(error);
  }
  File& file = **named_by(meeting->numbers[0], kFiles, g_files);
  if (first) file.path = path;
  if (amode & MPI_MODE_APPEND) side.position = size_of(side);
  file.sides[static_cast<std::size_t>(place.rank)] = side;
  *out = file.handle;
  return MPI_SUCCESS;
}

}  // namespace

int code_of(int error) {
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return MPI_ERR_NO_SUCH_FILE;
    case EEXIST:
      return MPI_ERR_FILE_EXISTS;
    case EACCES:
    case EPERM:
      return MPI_ERR_ACCESS;
    case EROFS:
      return MPI_ERR_READ_ONLY;
    case ENOSPC:
      return MPI_ERR_NO_SPACE;
    case EDQUOT:
      return MPI_ERR_QUOTA;
    case ENAMETOOLONG:
    case EISDIR:
      return MPI_ERR_BAD_FILE;
    default:
      return MPI_ERR_IO;
  }
}

FilePlace enter_file(MPI_File handle, const char* what, MPI_Datatype type) {
  const auto* known = named_by(handle, kFiles, g_files);
  require(known, what, "the file is MPI_FILE_NULL or does not exist");
  File* file = known->get();
  const FilePlace place{file, enter(file->comm->handle, what, type)};
  require(!place.mine().closed && place.mine().descriptor >= 0, what, "the file was closed");
  return place;
}

void meet_for(const FilePlace& place, const char* what, const std::string& details) {
  await(place.place, *post(place.place, what, details, {}));
}

int file_error(const FilePlace& place, int code, const char* what, const std::string& why) {
  if (place.mine().fatal) {
    fail(kinds::mpi_mismatch,
         format("%s of '%s' fails: %s", what, place.file->path.c_str(), why.c_str()),
         "the file's error handler is MPI_ERRORS_ARE_FATAL");
  }
  return code;
}

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_File_open(MPI_Comm comm, const char* filename, int amode, MPI_Info, MPI_File* file) {
  constexpr const char* kName = "MPI_File_open";
  const Place place = enter(comm, kName);
  require(filename != nullptr && file != nullptr, kName, "a pointer is NULL");
  *file = MPI_FILE_NULL;
  if (!is_mode(amode)) return MPI_ERR_AMODE;
  if (amode & MPI_MODE_SEQUENTIAL) stop_unsupported(kName, "MPI_MODE_SEQUENTIAL");
  return open_together(place, filename, amode, file, kName);
}

int MPI_File_close(MPI_File* file) {
  constexpr const char* kName = "MPI_File_close";
  require(file != nullptr, kName, "the file's address must not be NULL");
  const FilePlace place = enter_file(*file, kName);
  raw_call(SYS_close, place.mine().descriptor);
  meet_for(place, kName);
  place.mine().closed = true;
  if (place.place.rank == 0 && (place.file->amode & MPI_MODE_DELETE_ON_CLOSE)) {
    raw_call(SYS_unlinkat, AT_FDCWD, reinterpret_cast<long>(place.file->path.c_str()), 0);
  }
  *file = MPI_FILE_NULL;
  return MPI_SUCCESS;
}

int MPI_File_delete(const char* filename, MPI_Info) {
  constexpr const char* kName = "MPI_File_delete";
  enter(MPI_COMM_SELF, kName);
  require(filename != nullptr, kName, "the name is NULL");
  const long done = raw_call(SYS_unlinkat, AT_FDCWD, reinterpret_cast<long>(filename), 0);
  return done < 0 ? code_of(static_cast<int>(-done)) : MPI_SUCCESS;
}

int MPI_File_set_size(MPI_File file, MPI_Offset size) {
  constexpr const char* kName = "MPI_File_set_size";
  const FilePlace place = enter_file(file, kName);
  if (size < 0) return file_error(place, MPI_ERR_ARG, kName, "the size is negative");
  if (place.file->amode & MPI_MODE_RDONLY) {
    return file_error(place, MPI_ERR_READ_ONLY, kName, "it was opened to be read");
  }
  meet_for(place, kName, format("%lld bytes", size));  // what was called before is done
  const long done = raw_call(SYS_ftruncate, place.mine().descriptor, size);
  meet_for(place, kName);
  return done < 0 ? file_error(place, code_of(static_cast<int>(-done)), kName, "no space")
                  : MPI_SUCCESS;
}

int MPI_File_get_size(MPI_File file, MPI_Offset* size) {
  constexpr const char* kName = "MPI_File_get_size";
  const FilePlace place = enter_file(file, kName);
  require(size != nullptr, kName, "the result's address must not be NULL");
  *size = size_of(place.mine());
  return *size < 0 ? file_error(place, MPI_ERR_IO, kName, "it has no size") : MPI_SUCCESS;
}

int MPI_File_get_amode(MPI_File file, int* amode) {
  require(amode != nullptr, "MPI_File_get_amode", "the result's address must not be NULL");
  *amode = enter_file(file, "MPI_File_get_amode").file->amode;
  return MPI_SUCCESS;
}

int MPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler) {
  enter_file(file, "MPI_File_set_errhandler").mine().fatal = handler == MPI_ERRORS_ARE_FATAL;
  return MPI_SUCCESS;
}

int MPI_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
                      MPI_Datatype filetype, const char* datarep, MPI_Info) {
  constexpr const char* kName = "MPI_File_set_view";
  const FilePlace place = enter_file(file, kName);
  require(datarep != nullptr, kName, "the data representation is NULL");
  const std::size_t element = dense_bytes(etype, kName), whole = dense_bytes(filetype, kName);
  require(element > 0 && whole % element == 0, kName,
          "the file type must be made of whole elementary types");
  if (std::strcmp(datarep, "native") != 0) {
    return file_error(place, MPI_ERR_UNSUPPORTED_DATAREP, kName,
                      "the data representation is not \"native\"");
  }
  if (displacement < 0) return file_error(place, MPI_ERR_ARG, kName, "a negative displacement");
  meet_for(place, kName, format("elements of %zu bytes", element));
  FileSide& mine = place.mine();
  mine.displacement = displacement;
  mine.element = etype;
  mine.element_bytes = element;
  mine.position = 0;
  return MPI_SUCCESS;
}

int MPI_File_seek(MPI_File file, MPI_Offset offset, int whence) {
  constexpr const char* kName = "MPI_File_seek";
  const FilePlace place = enter_file(file, kName);
  FileSide& mine = place.mine();
  const auto element = static_cast<long long>(mine.element_bytes);
  long long to = offset;
  if (whence == MPI_SEEK_CUR) {
    to += mine.position;
  } else if (whence == MPI_SEEK_END) {
    to += std::max(0LL, (size_of(mine) - mine.displacement + element - 1) / element);
  } else {
    require(whence == MPI_SEEK_SET, kName, "whence is none of MPI_SEEK_SET, _CUR and _END");
  }
  if (to < 0) return file_error(place, MPI_ERR_ARG, kName, "the place is before the view");
  mine.position = to;
  return MPI_SUCCESS;
}

int MPI_File_get_position(MPI_File file, MPI_Offset* offset) {
  constexpr const char* kName = "MPI_File_get_position";
  require(offset != nullptr, kName, "the result's address must not be NULL");
  *offset = enter_file(file, kName).mine().position;
  return MPI_SUCCESS;
}

int MPI_File_sync(MPI_File file) {
  constexpr const char* kName = "MPI_File_sync";
  const FilePlace place = enter_file(file, kName);
  meet_for(place, kName);
  place.mine().syncs++;
  return MPI_SUCCESS;
}

}  // extern "C"
