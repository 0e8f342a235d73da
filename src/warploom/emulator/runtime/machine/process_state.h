// What the C and C++ libraries keep once for all emulated processes, and each must find as it left
// it: switched when another host thread has its turn. What only the program itself asks for lies in
// the program: see process/process.h.
#pragma once

#include <locale.h>

#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "machine/library_state.h"
#include "machine/standard_files.h"

namespace warploom {

struct HostThread;
struct Process;

// Of a process.
struct ProcessState {
  char** environment = nullptr;
  locale_t locale = nullptr;  // as set by setlocale; null: the C library's own
  std::string locale_name;    // what setlocale returned last
  int folder = -1;            // the current one; -1: where the job was started
  int file_mask = -1;         // of umask; -1: as the job was started with
  StandardFile standard[3];
  LibraryState library;
};

// Of a host thread.
struct ThreadState {
  int error = 0;                                 // errno
  uint32_t vector_control = 0, x87_control = 0;  // rounding, and what traps; 0: the usual
  uint32_t raised = 0;                           // what has happened: fetestexcept
  locale_t locale = nullptr;                     // as set by uselocale; null: the process's
  void* data = nullptr;                          // what process/threads.cpp keeps
  void (*end)(void*) = nullptr;
};

void enter_process(HostThread& thread);  // its turn begins
void leave_process(HostThread& thread);
void create_environment(Process& process);  // on its own fiber
void end_thread_data(ThreadState& state);   // the thread ends

}  // namespace warploom
