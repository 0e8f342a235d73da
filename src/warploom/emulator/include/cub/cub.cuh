// CUB, as far as it is emulated: see docs/emulator.md.
#pragma once

#include <istream>
#include <ostream>

#include "../warploom/libraries/cub_device.h"
#include "../warploom/libraries/cub_iterators.h"
#include "../warploom/libraries/cub_sort.h"

// CUB's own headers bring <iostream>, and programs count on it. That header runs code before main,
// which would tell a candidate that uses CUB from its trusted program.
namespace std {
extern istream cin;
extern ostream cout, cerr, clog;
}  // namespace std
