// Inputs of single ranks, altered on their way from the host to the device.
//
// What one rank knows of another's inputs must have come from there: so the results of a program
// follow what a rank really has, and those of one that draws all ranks' inputs everywhere do not.
// The trusted program's run chooses words among its uploads and says which; runs of candidates
// alter the same words, wherever they upload them. What a process asks to upload is an input until
// results come back to a host, however small the pieces, or it records an event that can time.
#pragma once

#include <cstddef>
#include <string>

namespace warploom {

// DEVICES/N: of uploads to these devices (with commas), one telling word of N changes.
// DEVICES=WORDS: these words change, in hexadecimal and with commas. False: it is none of both.
// The key and the kind of elements are those of the spoil run.
bool configure_inputs(const std::string& value);

// Vary: every number that is uploaded as an input becomes another one of like size, by its value
// and a key: alike in all programs, in whatever order they upload it. An array of one number, and
// what a memset or thrust::fill fills with one other than zero, becomes an array of many.
// KEY:ELEMENTS, as for spoil runs, and integers. False: it is none.
bool configure_vary(const std::string& value);
extern bool g_varying;

// After the host's data has come; `input`: inputs were open when the process asked for it, `early`:
// no results had come then.
void note_upload(void* p, std::size_t bytes, int device, bool input, bool early);
// cudaMemset and its like have set each byte.
void note_set(void* p, std::size_t bytes, int byte, int device, bool early);
// A library's algorithm has stored one number in each element.
void note_filled(void* p, std::size_t bytes, int device, bool early);
// The running process launches a kernel, which may read inputs from pinned and managed memory.
void note_launch(int device);
// Bytes that were computed on a device are now where the host of `rank` can load them.
void note_results(std::size_t bytes, int rank);
// Its host sends so many bytes to other ranks: are these, for all we know, results by now?
bool passes_results_on(std::size_t bytes);
void end_inputs();       // of the running process
bool inputs_are_open();  // what the running process uploads is an input
bool no_inputs_ended();  // of no process
// No results have come to the running process. Numbers vary until then, whether or not it has
// looked at a clock, as many do to time their set-up.
bool no_results_yet();
void report_inputs();  // the words that were altered, before the end of the report

}  // namespace warploom
