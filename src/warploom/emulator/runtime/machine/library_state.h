// What the C++ library keeps once for all emulated processes: handlers, the global locale and the
// default memory resource. Each process has its own; they are switched with the process.
#pragma once

#include <link.h>

namespace warploom {

struct LibraryState {
  bool known = false;  // else as the library begins
  void* handlers[4] = {};
  void* locale = nullptr;  // what its global locale refers to; null: the classic one
};

// A program has been loaded: where its library has the functions that say and set these.
void watch_library_state(link_map& map);
void leave_library(LibraryState& state);
void enter_library(LibraryState& state, LibraryState& before);
// operator new has found no memory: false, and it fails, where the process has set no handler.
bool call_new_handler();

}  // namespace warploom
