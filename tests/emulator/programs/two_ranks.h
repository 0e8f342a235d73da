// What the programs share whose items use something that a library remembers, and let the other rank
// do the same in between. What an item logs must be what a process alone would see: the test compiles
// the program for this machine too, and compares.
#pragma once

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#ifdef WARPLOOM_EMULATOR
#include <mpi.h>
static void turn() { MPI_Barrier(MPI_COMM_WORLD); }
#else
static void turn() {}
#endif
// The other rank has its turn. Each item has as many on all ranks: main makes up for the rest.
static constexpr int kSteps = 32;
static int steps = 0;
static void step() { steps++; turn(); }

static int who = 0;
static std::string item;

static void put(const char* pattern, ...) {
  char text[400];
  va_list values;
  va_start(values, pattern);
  vsnprintf(text, sizeof text, pattern, values);
  va_end(values);
  printf("@%d %s: %s\n", who, item.c_str(), text);
}

struct Item {
  Item(const char* n, void (*f)()) { all().push_back({n, f}); }
  static std::vector<std::pair<const char*, void (*)()>>& all() {
    static std::vector<std::pair<const char*, void (*)()>> list;
    return list;
  }
};
#define ITEM(name)                            \
  static void item_##name();                  \
  static Item register_##name(#name, item_##name); \
  static void item_##name()


// Every item in turn, on all ranks.
static int run_items(int argc, char** argv, void (*first)() = nullptr) {
#ifdef WARPLOOM_EMULATOR
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &who);
#else
  who = atoi(argv[1]);
#endif
  if (first) first();
  for (auto& [name, function] : Item::all()) {
    item = name;
    steps = 0;
    function();
    if (steps > kSteps) put("too many steps: %d", steps);
    while (steps < kSteps) step();
  }
#ifdef WARPLOOM_EMULATOR
  MPI_Finalize();
#endif
  exit(0);
}
