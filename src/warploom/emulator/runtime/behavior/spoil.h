// Spoil runs: what moves between ranks is altered on its way.
//
// A program whose results depend on communication shows it then. Each element gets a value that a
// secret key and its own value choose, whatever way it takes and whenever it comes: so two programs
// that move the same data get the same altered data. To alter it again changes nothing, so that
// data which is passed on by others is the same, too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/flags.h"

namespace warploom {

// KEY:ELEMENTS:SOURCES; elements are f2 (fp16), b2 (bfloat16), f4, f8, words or bytes, with a + if
// all of them are to change whatever their value, and not the same way for each path; sources
// "all", "none" or devices with commas. Of words and bytes the low bits are altered; what bytes
// become does not depend on where a message begins. False: it is none.
bool configure_spoil(const std::string& value);

// Nothing is altered before so many records of events (iterations.h) have been made.
void configure_spoil_from(unsigned records);
void open_spoil(unsigned records);  // that have been made

// Data that the device `source` sends to another one.
void spoil(void* data, std::size_t bytes, int source);
// The same of what MPI moves, if its elements are `float_bytes` wide numbers or (0) plain bytes.
void spoil_message(void* data, std::size_t bytes, int source, unsigned float_bytes);
// Memory that is to be computed anew, whoever wrote it.
void spoil_memory(void* data, std::size_t bytes);
// The running GPU thread is about to load or store in another device's memory. The store happens
// before the next settle_spoiled(), and so does the load.
void spoil_access(const void* p, std::size_t bytes, bool write, bool strong);
void settle_spoiled();
// While this lives, accesses are spoiled by who makes them.
class SpoilByHand {
 public:
  SpoilByHand();
  ~SpoilByHand();
};

unsigned long long spoiled_elements();  // that were changed

// Inputs (inputs.h) are looked at by words of one element, or of two where these have two bytes.
unsigned word_bytes();
// Is the word at `offset` a part of an address? The data begins at `data`.
bool word_in_address(const char* data, std::size_t offset, std::size_t bytes);
// Is it a number that few others are equal to, and one of those that the key chooses (one of
// `every`)?
bool is_telling(uint64_t word, unsigned every);
// Varied inputs (inputs.h), with a key of their own. KEY:ELEMENTS; false: it is none. Elements may
// be integers as well: i1, i2, i4, i8.
bool configure_varying(const std::string& value);
// Uploaded to `device`. An array of one number gets another for each place and device: else a
// program that mixes places or ranks up would have the same results.
void vary_numbers(char* data, std::size_t bytes, int device);
// Each byte was set to `byte`.
void vary_set(char* data, std::size_t bytes, unsigned char byte, int device);
// Is it one of those of which the key chooses one of `every`?
bool chosen_by_key(uint64_t value, unsigned every);
uint64_t drawn_by_key(uint64_t value);  // a number that the key chooses for it
uint64_t other_word(uint64_t word);     // another number of like size, chosen by the key
uint64_t turned_word(uint64_t word, unsigned round);  // and others, one for each round

}  // namespace warploom
