// Variables of the program that its device code names, whatever the text calls them: the guard
// leaves a mark of each in the program's symbols (guard/merge_marks.h).
#pragma once

namespace warploom {

struct Process;

// Reads the marks off the program's file. Once, before it is loaded.
void read_device_symbols(const char* path);
// A copy of the program has been loaded: what device code names there is the device's.
void register_device_symbols(const Process& process);

}  // namespace warploom
