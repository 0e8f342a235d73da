// Emulated MPI files: each rank has a descriptor of its own, opened as its program could.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mpi/mpi_objects.h"
#include "mpi/mpi_touches.h"

namespace warploom::mpi {

// The last write of some bytes. Another rank finds it there behind an MPI_File_sync of both.
struct FileWrite {
  int rank = 0;
  uint32_t syncs = 0;  // of that rank before it
  const char* what = "";
  uint32_t pc = 0;
  bool operator==(const FileWrite&) const = default;
};

// A rank's side of a file.
struct FileSide {
  uint32_t syncs = 0;
  int descriptor = -1;
  long long position = 0;      // in elements of the view
  long long displacement = 0;  // of the view, in bytes
  MPI_Datatype element = MPI_BYTE;
  std::size_t element_bytes = 1;
  bool fatal = false;  // what fails ends the run
  bool closed = false;
};

struct File {
  MPI_File handle = MPI_FILE_NULL;
  Comm* comm = nullptr;  // of its own
  std::string path;      // as rank 0 has it
  int amode = 0;
  std::vector<FileSide> sides;
  Touches<FileWrite> written;
};

struct FilePlace {
  File* file;
  Place place;
  FileSide& mine() const { return file->sides[static_cast<std::size_t>(place.rank)]; }
};
// The file and the caller's rank in it; ends the run if there is none.
FilePlace enter_file(MPI_File handle, const char* what, MPI_Datatype type = MPI_DATATYPE_NULL);
// All ranks meet; a collective call of the file.
void meet_for(const FilePlace& place, const char* what, const std::string& details = "");
// What a call gives for an error of MPI's; with MPI_ERRORS_ARE_FATAL it ends the run.
int file_error(const FilePlace& place, int code, const char* what, const std::string& why);
// MPI's error for one of the system's.
int code_of(int error);

}  // namespace warploom::mpi
