// Where nothing goes on but loops that poll: do they wait, or are they long computations? Those may
// read their data, or their bound, in a way that a loop that waits would.
#pragma once

namespace warploom {

// Nothing has changed since all that poll have looked again. True: they may do so once more, for
// one may count its rounds, or goes on to places that it has not read before.
bool may_look_again();
// Something has changed.
void end_idle_rounds();

// Is each access told to note_place?
extern bool g_noting_places;
void note_place(const void* address);

}  // namespace warploom
