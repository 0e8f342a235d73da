// Where code of the program may go by a pointer: to a function of its own, to one that it is linked
// to by name, and to what libraries have put into objects of theirs.
#pragma once

#include <link.h>

#include <cstddef>
#include <string>

namespace warploom {

struct Process;

// Reads off the program's file where its functions begin. Once, before it is loaded.
void read_entries(const char* path);
// A name that the program takes from elsewhere, though no text of its own says it.
void deny_import(const std::string& name);
// The program makes objects of library classes that call through tables (streams, locales).
void allow_library_objects();
// A copy of the program has been loaded: what it is linked to.
void note_call_targets(const Process& process, const link_map& map);

bool is_call_target(const void* target);
// What the runtime or a library will call for the program: ends the run where it is no function.
void check_call_target(const void* target);
template <class Result, class... Arguments>
void check_call_target(Result (*function)(Arguments...)) {
  check_call_target(reinterpret_cast<const void*>(function));
}
// The same, where libraries call for themselves too: `caller` is where the runtime returns to.
void check_call_target(const void* target, const void* caller);
// What the program has asked for by name, and the tables of a library that it has loaded.
void allow_target(const void* target);
void allow_library(void* handle);
// A kernel that the program hands over: its call takes its arguments from `closure` unseen.
void check_kernel_body(const void* closure, const void* invoke, const void* destroy);
// Is it memory that nobody can write, of the program or a library?
bool is_constant_memory(const void* p, std::size_t bytes);

}  // namespace warploom
