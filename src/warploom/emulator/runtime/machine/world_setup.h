// Start of the emulated machine; used by main.cpp and by calls that start host threads.
#pragma once

#include <functional>

#include "machine/world.h"

namespace warploom {

void create_world(const char* program, int argc, char** argv);
HostThread& add_host_thread(Process& process, int device, std::function<void()> entry);
// A launch error that was never looked at becomes a finding.
void check_unseen_error(HostThread& host);
const char* error_name(int error);

}  // namespace warploom

inline bool running_program() { return warploom::g_current != nullptr; }
