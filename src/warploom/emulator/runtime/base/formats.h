// Formats of printf and scanf. The C library gets a format that is written here, of conversions
// that are known here, and arguments in memory of the runtime: what is looked at is what it
// follows, and nothing that it writes can change what it reads next.
#pragma once

#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace warploom {

// The arguments of a program's call, one after the other.
class Arguments {
 public:
  // `given`: the program made the list, so that what it leads to is looked at.
  Arguments(std::va_list list, bool given, const void* caller);
  template <class T>
  T take() {
    T value;
    fetch(&value, sizeof value, false);
    return value;
  }
  double take_double();
  long double take_long_double();

 private:
#if defined(__x86_64__)
  struct List {
    unsigned general, floating;
    const char *stack, *saved;
  };
#else
  struct List {
    const char *stack, *general_end, *floating_end;
    int general, floating;
  };
#endif
  void fetch(void* to, std::size_t bytes, bool floating);
  const char* place(std::size_t bytes, bool floating);

  List list_;
  bool given_;
  const void* caller_;
};

// Arguments for the C library.
class PassedArguments {
 public:
  void add(const void* value, std::size_t bytes);
  template <class T>
  void add(T value) {
    add(&value, sizeof value);
  }
  void give(std::va_list& list);

 private:
  std::vector<uint64_t> words_;
};

// A call of printf and its like.
class PrintCall {
 public:
  PrintCall(const char* format, std::va_list args, bool given, const void* caller);
  // `print(format, list)` does it; afterwards the program gets what %n counted.
  template <class Function>
  int run(Function print) {
    const int done = again(print);
    write_counts();
    return done;
  }
  // The text that it makes; false where the C library refuses.
  bool text(std::string& made);

 private:
  struct Count {
    void* to;
    std::size_t bytes;
    int64_t value;
  };
  template <class Function>
  int again(Function print) {
    std::va_list list;
    passed_.give(list);
    errno = error_;  // %m prints it
    return print(null_ ? nullptr : format_.c_str(), list);
  }
  void write_counts();
  void add_conversion(const char*& at, Arguments& args);
  bool add_argument(const std::string& length, char kind, long precision, Arguments& args);
  void add_text(const char* text, long precision);
  void add_wide_text(const wchar_t* text, long precision);

  bool null_;
  int error_ = errno;
  const void* caller_;
  std::string format_;
  PassedArguments passed_;
  std::deque<std::string> texts_;
  std::deque<std::vector<wchar_t>> wide_texts_;
  std::deque<Count> counts_;
};

// A call of scanf and its like.
class ScanCall {
 public:
  ScanCall(const char* format, std::va_list args, bool given, const void* caller);
  // `scan(format, list)` does it; afterwards the program gets what was found.
  template <class Function>
  int run(Function scan) {
    std::va_list list;
    passed_.give(list);
    const int done = scan(null_ ? nullptr : format_.c_str(), list);
    const int error = errno;
    write_found(done);
    errno = error;
    return done;
  }

 private:
  enum class Kind : uint8_t { Value, Count, Characters, Text, WideText };
  struct Found {
    void* to;
    Kind kind;
    std::size_t bytes;           // of a value or of characters
    std::vector<uint64_t> room;  // a text's: a pointer to it
  };
  bool add_conversion(const char*& at, Arguments& args);
  void add_found(void* to, Kind kind, std::size_t bytes);
  void write_found(int done);

  bool null_;
  const void* caller_;
  std::string format_;
  PassedArguments passed_;
  std::deque<Found> found_;
};

// A copy of a text of the program's, of which at most `most` bytes are read.
std::string text_of_program(const char* text, std::size_t most, const void* caller);

}  // namespace warploom
