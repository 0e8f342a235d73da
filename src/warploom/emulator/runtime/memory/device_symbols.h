// Variables of the program that its device code names, whatever the text calls them: the guard
// leaves a mark of each in the program's symbols (guard/merge_marks.h).
#pragma once

#include <cstddef>

namespace warploom {

struct Process;
struct Variable;

// Reads the marks off the program's file. Once, before it is loaded.
void read_device_symbols(const char* path);
// A copy of the program has been loaded: what device code names there is the device's.
void register_device_symbols(const Process& process);
// The variable of the running process that holds all `bytes` at `symbol`, or nullptr. What calls
// take for a variable of the device is one, though no kernel names it; it must be one of the
// program's, as the program's file says.
const Variable* variable_of_symbol(const void* symbol, std::size_t bytes);

}  // namespace warploom
