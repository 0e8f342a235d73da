// What memory held at the moments at which all processes wait: points and stops (iterations.h).
//
// What a program reads back at its end says nothing of when it was computed. So each page that can
// hold results is kept at these moments, before anything is altered there, and kept again only
// where it differs from what was kept last. With each read-back goes what lay there at the moments
// before, and which bytes had been stored since the moment before that. Of a buffer that was freed,
// it is what lay there at the end; of one that is allocated anew in each repetition, what lay in
// those whose place it takes (lineage.h).
//
// What lies elsewhere by the time that it is read back, since MPI, a copy or a kernel has moved it,
// has no earlier versions of its own. So a run can be taken back: at the end of what is timed
// memory gets, piece by piece, what it held at one of several moments before, and the program goes
// on with that. What it reads back then is what it would have been, had the work ended there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace warploom {

struct Allocation;

void configure_versions(std::size_t most);  // bytes that are kept, and as many that are told
bool keeps_versions();
// Keeps memory as it is now. Moments are numbered: 2 n is point n, 2 n + 1 is stop n (from 1).
void keep_versions(unsigned moment);
void end_moments();  // there are no more
// A thread, a copy or a collective stores there. To be called from the first moment on of which the
// stores are to be told: what was kept before counts as stored.
void watch_stores();
void note_version_store(const void* p, std::size_t bytes);
// An atomic or a volatile access.
void note_version_strong(const void* p, std::size_t bytes);
// Memory is allocated, or about to be given back.
void begin_versions(const Allocation& allocation);
void end_versions(const Allocation& allocation);

// "C:END:M,M,...": at the moment END memory is as it was at one of the others. With C not 0, the
// first of what atomics and volatile accesses touch stays, for flags and counters. False: it is
// none.
bool configure_take_back(const std::string& text);
void take_back(unsigned moment);  // it is this one, and nothing is on its way
bool taking_back();
bool was_taken_back();

// The same for several moments.
struct EarlierVersion {
  std::vector<unsigned> moments;
  bool same = false;         // as what is read back, and all of it was stored anew
  std::vector<char> bytes;   // none if it is
  std::vector<char> stored;  // a bit for each of these
};
// Of what is read back at `p` now.
std::vector<EarlierVersion> versions_of(const void* p, std::size_t bytes);
// Of memory that may have been freed by now: `number` is the allocation's (0: a variable), which
// began at `start`. Where `taken` is false, `now` holds something else than memory did.
struct VersionedPlace {
  uint64_t number = 0;
  uintptr_t start = 0;
  std::size_t offset = 0;
};
std::vector<EarlierVersion> versions_of(const VersionedPlace& place, const std::vector<char>& now,
                                        const std::function<bool(std::size_t)>& taken);
std::string version_stats();  // begins with a comma if there are any

}  // namespace warploom
