// Reads and writes of MPI files.
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>

#include "host/descriptors.h"
#include "mpi/mpi_files.h"

namespace warploom::mpi {

namespace {

enum class Where { Position, Offset };

// One call: where in the file, and of how much of the program's memory.
struct Access {
  const char* what;
  bool all;  // all ranks call it
  Where where;
  MPI_Offset offset;
  int count;
  MPI_Datatype type;
};

// The byte of the file where it begins; -1: before the view.
long long start_of(const FilePlace& place, const Access& access) {
  const FileSide& mine = place.mine();
  const long long at = access.where == Where::Position ? mine.position : access.offset;
  if (at < 0) return -1;
  return mine.displacement + at * static_cast<long long>(mine.element_bytes);
}

void move_on(const FilePlace& place, const Access& access, std::size_t bytes) {
  FileSide& mine = place.mine();
  if (access.where == Where::Position) {
    mine.position += static_cast<long long>(bytes / mine.element_bytes);
  }
}

// What is wrong with the call; MPI_SUCCESS: nothing.
int check(const FilePlace& place, const Access& access, int forbidden, int code) {
  const std::size_t bytes = packed(access.count, access.type, access.what);
  require(bytes % place.mine().element_bytes == 0, access.what,
          "the data must be whole elements of the file's view");
  if (place.file->amode & forbidden) {
    return file_error(place, code, access.what, "it was not opened for that");
  }
  if (start_of(place, access) < 0) {
    return file_error(place, MPI_ERR_ARG, access.what, "the offset is negative");
  }
  return MPI_SUCCESS;
}

// As much as there is, up to the whole of `data`; the system's error below 0.
template <class Byte>
long move(long call, const FilePlace& place, Byte* data, std::size_t bytes, long long from) {
  std::size_t done = 0;
  while (done < bytes) {
    const long moved = raw_call(call, place.mine().descriptor, reinterpret_cast<long>(data + done),
                                static_cast<long>(bytes - done),
                                static_cast<long>(from) + static_cast<long>(done));
    if (moved == -EINTR) continue;
    if (moved < 0) return moved;
    if (moved == 0) break;
    done += static_cast<std::size_t>(moved);
  }
  return static_cast<long>(done);
}

// Does the file have just that already? Then it is no matter who writes it last.
bool is_there(const FilePlace& place, const Bytes& data, long long from) {
  Bytes now(data.size());
  return move(SYS_pread64, place, now.data(), now.size(), from) == static_cast<long>(now.size()) &&
         std::ranges::equal(now, data);
}

// What other ranks have written there comes to a rank when both have synchronized the file since.
void check_order(const FilePlace& place, const Access& access, long long from, const Bytes& data,
                 bool write) {
  const auto start = static_cast<std::size_t>(from), end = start + data.size();
  const uint32_t syncs = place.mine().syncs;
  const FileWrite* conflict = nullptr;
  place.file->written.each(start, end, [&](const FileWrite& before) {
    if (before.rank != place.place.rank && before.syncs >= syncs) conflict = &before;
  });
  if (conflict && !(write && is_there(place, data, from))) {
    Frames there;
    there.pc[0] = conflict->pc;
    report_finding({.kind = kinds::data_race,
                    .message = format("%s of rank %d %s bytes of '%s' that %s of rank %d wrote, "
                                      "and no MPI_File_sync parts the two",
                                      access.what, place.place.rank, write ? "writes" : "reads",
                                      place.file->path.c_str(), conflict->what, conflict->rank),
                    .hint = "call MPI_File_sync on all ranks behind the write, MPI_Barrier, and "
                            "MPI_File_sync again; or close the file and open it anew",
                    .other = there,
                    .other_rank = conflict->rank});
  }
  if (!write || start == end) return;
  place.file->written.enter(start, end, {place.place.rank, syncs, access.what, program_place()});
}

int finish(const FilePlace& place, const Access& access, long done, MPI_Status* status) {
  const auto moved = static_cast<std::size_t>(std::max(done, 0L));
  move_on(place, access, moved);
  fill_status(status, MPI_ANY_SOURCE, MPI_ANY_TAG, moved);
  if (access.all) meet_for(place, access.what);
  if (done >= 0) return MPI_SUCCESS;
  return file_error(place, code_of(static_cast<int>(-done)), access.what, "the system refuses it");
}

int read_file(MPI_File file, void* buffer, MPI_Status* status, const Access& access) {
  const FilePlace place = enter_file(file, access.what, access.type);
  const int wrong = check(place, access, MPI_MODE_WRONLY, MPI_ERR_ACCESS);
  if (wrong != MPI_SUCCESS) return wrong;
  note_moving(buffer, access.what);
  Bytes data(packed(access.count, access.type, access.what));
  const long long start = start_of(place, access);
  const long done = move(SYS_pread64, place, data.data(), data.size(), start);
  data.resize(static_cast<std::size_t>(std::max(done, 0L)));
  check_order(place, access, start, data, false);
  scatter_elements(place.place, buffer, data, access.what);
  return finish(place, access, done, status);
}

int write_file(MPI_File file, const void* buffer, MPI_Status* status, const Access& access) {
  const FilePlace place = enter_file(file, access.what, access.type);
  const int wrong = check(place, access, MPI_MODE_RDONLY, MPI_ERR_READ_ONLY);
  if (wrong != MPI_SUCCESS) return wrong;
  note_moving(buffer, access.what);
  const Bytes data = gather_elements(buffer, access.count, access.type, access.what);
  // What the host hands on of a device's results is a result, too.
  tell_arrival(place.place, nullptr, data.data(), data.size(), data.origin);
  const long long start = start_of(place, access);
  check_order(place, access, start, data, true);
  const long done = move(SYS_pwrite64, place, data.data(), data.size(), start);
  return finish(place, access, done, status);
}

}  // namespace

}  // namespace warploom::mpi

using namespace warploom;
using namespace warploom::mpi;

extern "C" {

int MPI_File_read(MPI_File file, void* buffer, int count, MPI_Datatype type, MPI_Status* status) {
  return read_file(file, buffer, status, {"MPI_File_read", false, Where::Position, 0, count, type});
}
int MPI_File_read_all(MPI_File file, void* buffer, int count, MPI_Datatype type,
                      MPI_Status* status) {
  return read_file(file, buffer, status,
                   {"MPI_File_read_all", true, Where::Position, 0, count, type});
}
int MPI_File_read_at(MPI_File file, MPI_Offset offset, void* buffer, int count, MPI_Datatype type,
                     MPI_Status* status) {
  return read_file(file, buffer, status,
                   {"MPI_File_read_at", false, Where::Offset, offset, count, type});
}
int MPI_File_read_at_all(MPI_File file, MPI_Offset offset, void* buffer, int count,
                         MPI_Datatype type, MPI_Status* status) {
  return read_file(file, buffer, status,
                   {"MPI_File_read_at_all", true, Where::Offset, offset, count, type});
}

int MPI_File_write(MPI_File file, const void* buffer, int count, MPI_Datatype type,
                   MPI_Status* status) {
  return write_file(file, buffer, status,
                    {"MPI_File_write", false, Where::Position, 0, count, type});
}
int MPI_File_write_all(MPI_File file, const void* buffer, int count, MPI_Datatype type,
                       MPI_Status* status) {
  return write_file(file, buffer, status,
                    {"MPI_File_write_all", true, Where::Position, 0, count, type});
}
int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void* buffer, int count,
                      MPI_Datatype type, MPI_Status* status) {
  return write_file(file, buffer, status,
                    {"MPI_File_write_at", false, Where::Offset, offset, count, type});
}
int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void* buffer, int count,
                          MPI_Datatype type, MPI_Status* status) {
  return write_file(file, buffer, status,
                    {"MPI_File_write_at_all", true, Where::Offset, offset, count, type});
}

}  // extern "C"
