// The standard streams, for headers that bring <iostream> elsewhere: programs count on it. That
// header itself runs code before main, which would tell a candidate that includes one of ours from
// its trusted program.
#pragma once

#include <istream>
#include <ostream>

namespace std {
extern istream cin;
extern ostream cout, cerr, clog;
}  // namespace std
