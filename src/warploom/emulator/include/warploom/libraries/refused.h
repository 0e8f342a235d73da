// Functions of libraries that are declared and have no meaning here: who calls one is told so, with
// its name and the line. A program that only includes the header, or never comes there, runs.
#pragma once

#include <warploom/device.h>

#define WARPLOOM_REFUSED(result, name, library)                                   \
  template <class... _WA>                                                         \
  result name(_WA&&...) {                                                         \
    ::warploom::unsupported(#name, "of " library                                  \
                                   " only the calls that docs/emulator.md lists " \
                                   "are played");                                 \
  }
