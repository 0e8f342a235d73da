// Addresses that mean something else on a GPU: of functions, tables of virtual functions and
// variables of the device, as host code takes them. Here both sides have one address for each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace warploom {

// What lies at `p` goes to the device: by a copy, or among a kernel's arguments.
void note_taken_by_host(const void* p, std::size_t bytes);
// What lies at `p` came from the device: what it says of addresses is the device's.
void note_given_by_device(const void* p, std::size_t bytes);
// The host has asked where a variable of the device lies.
void note_asked(const void* variable);

extern bool g_host_functions;  // the device has been given functions or tables of the host's
// Device code calls `target`, with `object` as its first argument.
void check_device_call(uintptr_t target, uintptr_t object);

}  // namespace warploom
