// Standard input, output and error, which each process may open anew or close for itself. The C
// library has one stream for each, and the system one descriptor: they are switched with the
// process, once any process has changed one.
#pragma once

#include <cstdio>

namespace warploom {

// A descriptor of the running process's, if it has changed it.
struct StandardFile {
  int kept = -1;  // a copy of it, where no program finds it
  bool changed = false, closed = false;
  bool at_end = false;  // of standard input
};

// While it lives, the running process changes what `descriptor` is. Others take no notice of it.
class StandardChange {
 public:
  explicit StandardChange(int descriptor);
  ~StandardChange();
  StandardChange(const StandardChange&) = delete;
  StandardChange& operator=(const StandardChange&) = delete;

 private:
  int descriptor_;
};

bool is_standard(const FILE* stream);
// As fclose does for the process: the stream itself is everybody's.
int close_standard(FILE* stream);

// All processes but the first read nothing from standard input. Before any of them has run.
void give_input_to_first();

void leave_standard(StandardFile (&files)[3]);
void enter_standard(const StandardFile (&before)[3], StandardFile (&files)[3]);

}  // namespace warploom
