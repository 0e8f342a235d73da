// Whose call it is, and what the C library has made for the program: streams and lists of folders.
#pragma once

#include <dirent.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

namespace warploom {

// A call of the program's, or of a library's on its behalf?
bool of_program(const void* caller);
// Code of the running process's copy of the program itself, not of a library?
bool is_of_running_program(const void* code);

// While it lives, what the C library allocates is no memory of the program's.
class OfTheLibrary {
 public:
  OfTheLibrary();
  ~OfTheLibrary();
  OfTheLibrary(const OfTheLibrary&) = delete;
  OfTheLibrary& operator=(const OfTheLibrary&) = delete;

 private:
  bool before_;
};
bool library_allocates();

// A stream that was made for `caller`, or nothing; the same is returned. `memory`: the program's
// bytes that it reads or writes by itself.
FILE* note_stream(FILE* stream, const void* caller, std::span<const std::byte> memory = {},
                  bool writes = false);
void forget_stream(const FILE* stream);
// The C library follows what lies in a stream: it must be one that it has made. Else the run ends.
// A call may write all that it holds to the memory that it was opened on: that is looked at, too.
void check_stream(const FILE* stream, const void* caller = __builtin_return_address(0));
void check_all_streams(const void* caller = __builtin_return_address(0));
// Whether a stream of the running process, made for its program, holds these bytes, which
// getc_unlocked and the like of the headers read and move along.
bool is_in_stream(uintptr_t address, std::size_t bytes, bool write);

// The same of what opendir gives.
DIR* note_folder(DIR* folder);
void forget_folder(const DIR* folder);
void check_folder(const DIR* folder);
// Ends the run where what lies at `path` below /proc tells of this process.
void check_listing(const char* path);

}  // namespace warploom
