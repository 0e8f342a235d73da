// Inputs that become others between iterations.
//
// A program that computes each iteration anew goes by the inputs that lie in memory then. One that
// kept a result, wherever and in whatever form (in memory of the host, arguments of kernels, files,
// messages to itself), has that of other inputs. So at points and stops (iterations.h) words of the
// inputs turn into others: wherever they lie in memory that devices see, and where the host uploads
// them later. The trusted program's run chooses the words; runs of candidates turn the same ones.
// Arrays of integers turn in runs of their own (turned_arrays.h).
#pragma once

#include <cstddef>
#include <string>

namespace warploom {

// "/N": one telling word of N that is uploaded as an input turns. "=W,W,...": these words do, in
// hexadecimal. "~", "~D,D,...": arrays of integers do (turned_arrays.h). With a "+" before, they
// turn at points before stops as well. False: it is none of these. The key and the kind of elements
// are those of the spoil run.
bool configure_turns(const std::string& text);
// The host's data has come to a device; `input`: as an input.
void note_turned_upload(void* p, std::size_t bytes, bool input);
// All processes wait, and nothing is on its way.
void turn_inputs();
void turn_inputs_before_stops();
void report_turned();  // the words, before the end of the report

}  // namespace warploom
