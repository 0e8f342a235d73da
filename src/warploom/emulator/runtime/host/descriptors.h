// Descriptors of the emulator. The program shares the table with it, and may use those that it
// opened itself, and the standard ones.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>
#include <cstddef>
#include <string>

namespace warploom {

// System calls made here and not by a function that the program could stand in for.
long raw_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0);

// Moves `descriptor` to a number that cannot be guessed; a decoy stays in its place. Returns the
// new number.
int hide_descriptor(int descriptor);
// This one is the emulator's.
void keep_from_program(int descriptor);
// The same for all that are open now, but the standard ones.
void keep_open_descriptors();
bool is_kept(int descriptor);
// False: the program may not use it, which has been reported as an attempt to `what` it.
bool check_descriptor(int descriptor, const char* what);
// The program reaches for something of the emulator's by a call: a finding, and the end of the run.
void report_reach(const std::string& message);
// Whether what lies at this real path says nothing of this very process.
bool is_harmless_file(const std::string& path);
// open(2) for the program: no file that shows or changes this very process. -1 with errno.
int open_for_program(int folder, const char* path, int flags, unsigned mode);
// The program's call fills these parts of its memory, or takes what is in them.
void check_parts(const iovec* parts, int count, bool into_memory,
                 const void* caller = __builtin_return_address(0));

}  // namespace warploom
