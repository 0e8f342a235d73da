// The part of the C and C++ libraries that keeps state, as each emulated process has it for itself.
//
// One OS process plays all ranks, and they share one C library. What a function of it remembers
// from call to call lies here instead: these files are compiled as the program is, with access
// hooks, and linked into the program, of which each rank loads a copy of its own. So they need no
// word of which process runs, and what they keep is no more than the program's own memory.
//
// What libraries ask for on the program's behalf as well (the environment, the locale, the current
// folder) is the runtime's to switch: runtime/machine/process_state.h.
#pragma once

// What the runtime provides.
extern "C" {
int warploom_process_number();  // of this process in the job
// What the running host thread keeps for threads.cpp, and who clears it up when the thread ends.
void* warploom_thread_data();
void warploom_set_thread_data(void* data, void (*end)(void*));
// The thread-local storage of a library, which is no part of the program.
// A function of the C library, which one of ours has the name of.
void* warploom_library(const char* name);
void* warploom_library_tls(void* index);
// Before a call through a pointer that the program may have changed: ends the run where no function
// is. These files have no guard before theirs.
void warploom_call_target(const void* target);
// Before bytes that no hook sees are written for the program, which calls from `caller`: ends the
// run where they are not its own.
void warploom_own_bytes(const void* p, unsigned long bytes, const void* caller);
// The functions that this process's copy of the program has for its end, in the order in which they
// were to begin; null where it has none.
void (**warploom_fini_functions(unsigned long* count))();
// Ends this process: no handler runs. The second was ended by a signal.
[[noreturn]] void warploom_end_process(int code);
[[noreturn]] void warploom_end_by_signal(int number);
}

namespace warploom_process {

template <class Function>
Function checked(Function function) {
  warploom_call_target(reinterpret_cast<const void*>(function));
  return function;
}

void end_thread_locals();             // of the running thread: their destructors
[[noreturn]] void abort_by_signal();  // SIGABRT, handled or not

}  // namespace warploom_process
