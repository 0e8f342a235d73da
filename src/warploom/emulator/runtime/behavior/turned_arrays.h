// Arrays of integers that are uploaded as inputs, and become others between iterations.
//
// A word of an array of integers (indices, choices of a router) says nothing by itself: a 3 is
// everywhere. The array as a whole is known by its content. So arrays turn as a whole: by quarters,
// so that rows stay rows, each value stays one of those that the program was given, and there are
// as many of each as before. The trusted program's run says which arrays it uploads; a candidate's
// run turns those of them that it uploads too, and says which these are.
#pragma once

#include <cstddef>
#include <string>

namespace warploom {

// "": all arrays of integers turn. "D,D,...": those with these digests, in hexadecimal.
void configure_turned_arrays(const std::string& digests);
// An input has been uploaded, before anything has turned.
void note_array(const char* start, std::size_t bytes);
unsigned arrays_seen();  // of integers, whether they turn or not
// From now on all arrays are in their next state.
void next_arrays();
// Turns the arrays that lie in this memory, in whatever state they are.
void turn_arrays(char* start, std::size_t bytes);
void report_arrays();  // their digests, before the end of the report

}  // namespace warploom
