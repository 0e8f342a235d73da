// Which ways the conditions of a watched text took: include/warploom/ways.h. What is noted lies in
// the runtime's memory, where the program cannot write.
#pragma once

namespace warploom {

// Tells of each condition that was met, before the end of the report; nothing where none was.
void report_ways();

}  // namespace warploom
