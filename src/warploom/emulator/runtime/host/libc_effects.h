// What calls of the C library do with their arguments, for the table of libc_effects.cpp.
#pragma once

#include <glob.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <cwchar>
#include <tuple>
#include <type_traits>

#include "host/call_targets.h"
#include "host/descriptors.h"
#include "host/libc_made.h"
#include "host/program_range.h"
#include "report/report.h"

namespace warploom::effects {

// How many bytes: the value of an argument, two of them multiplied, a number, or the length of a
// wide text and its end. Arguments count from 0.
template <std::size_t at, std::size_t unit = 1>
struct Arg {
  template <class All>
  static std::size_t of(const All& all) {
    using Number = std::tuple_element_t<at, All>;
    if constexpr (std::is_signed_v<Number>) {
      if (std::get<at>(all) < 0) return 0;  // the call itself will fail
    }
    return bytes_of(static_cast<std::size_t>(std::get<at>(all)), unit);
  }
};
template <std::size_t one, std::size_t other>
struct Product {
  template <class All>
  static std::size_t of(const All& all) {
    return bytes_of(std::get<one>(all), std::get<other>(all));
  }
};
template <std::size_t bytes>
struct Just {
  template <class All>
  static std::size_t of(const All&) {
    return bytes;
  }
};
template <std::size_t at, std::size_t most = ~std::size_t{0}>
struct Letters {
  template <class All>
  static std::size_t of(const All& all) {
    std::size_t limit = ~std::size_t{0} / sizeof(wchar_t);
    if constexpr (most != ~std::size_t{0})
      limit = std::min<std::size_t>(limit, std::get<most>(all));
    const wchar_t* text = std::get<at>(all);
    return std::min(limit, wcsnlen(text, limit) + 1) * sizeof(wchar_t);
  }
};
// A text and its end.
template <std::size_t at>
struct Length {
  template <class All>
  static std::size_t of(const All& all) {
    return std::strlen(std::get<at>(all)) + 1;
  }
};
// The bits of a set for descriptors below this number, in words as select has them.
template <std::size_t at>
struct Bits {
  template <class All>
  static std::size_t of(const All& all) {
    const int below = std::get<at>(all);
    return below > 0 ? (static_cast<std::size_t>(below) + 63) / 64 * sizeof(long) : 0;
  }
};
// A byte for each page of so many bytes.
template <std::size_t at>
struct Pages {
  template <class All>
  static std::size_t of(const All& all) {
    return (std::get<at>(all) + 4095) / 4096;
  }
};
// An address of the family that an argument names.
template <std::size_t at>
struct Address {
  template <class All>
  static std::size_t of(const All& all) {
    return std::get<at>(all) == AF_INET6 ? sizeof(in6_addr) : sizeof(in_addr);
  }
};
template <class One, class Other>
struct Sum {
  template <class All>
  static std::size_t of(const All& all) {
    return One::of(all) + Other::of(all);
  }
};

template <std::size_t at, class All>
const void* pointer_of(const All& all) {
  return reinterpret_cast<const void*>(std::get<at>(all));
}

// It reads or writes so many bytes. Null asks for nothing, or the call itself fails.
template <std::size_t at, class Count>
struct Reads {
  template <class All>
  static void look(const All& all, const void* caller) {
    if (pointer_of<at>(all)) program_reads(pointer_of<at>(all), Count::of(all), caller);
  }
};
template <std::size_t at, class Count>
struct Writes {
  template <class All>
  static void look(const All& all, const void* caller) {
    if (pointer_of<at>(all)) program_writes(pointer_of<at>(all), Count::of(all), caller);
  }
};
// The object that the argument's type says. -1 stands for a constant (FE_DFL_ENV).
template <std::size_t at, class All>
constexpr std::size_t object_bytes =
    sizeof(std::remove_pointer_t<std::remove_cvref_t<std::tuple_element_t<at, All>>>);
template <std::size_t at>
struct In {
  template <class All>
  static void look(const All& all, const void* caller) {
    const void* p = pointer_of<at>(all);
    if (p && p != reinterpret_cast<const void*>(-1)) {
      program_reads(p, object_bytes<at, All>, caller);
    }
  }
};
template <std::size_t at>
struct Out {
  template <class All>
  static void look(const All& all, const void* caller) {
    if (pointer_of<at>(all)) program_writes(pointer_of<at>(all), object_bytes<at, All>, caller);
  }
};
// A text up to its end, or at most so many characters of it.
template <std::size_t at>
struct Text {
  template <class All>
  static void look(const All& all, const void* caller) {
    program_reads_text(std::get<at>(all), ~std::size_t{0}, caller);
  }
};
template <std::size_t at, std::size_t most = ~std::size_t{0}>
struct Wide {
  template <class All>
  static void look(const All& all, const void* caller) {
    const wchar_t* text = std::get<at>(all);
    if constexpr (most != ~std::size_t{0}) {
      if (std::get<most>(all) == 0) return;
    }
    if (!text) return;
    program_reads(text, sizeof(wchar_t), caller);  // before its length is looked for
    program_reads(text, Letters<at, most>::of(all), caller);
  }
};
// A folder that it goes through.
template <std::size_t at>
struct Listing {
  template <class All>
  static void look(const All& all, const void* caller) {
    program_reads_text(std::get<at>(all), ~std::size_t{0}, caller);
    check_listing(std::get<at>(all));
  }
};
// What glob has found (glob_t), and what glob adds to it or globfree goes through.
template <std::size_t at>
struct Found {
  template <class All>
  static void look(const All& all, const void* caller) {
    const auto* found = std::get<at>(all);
    if (!found) return;
    program_writes(found, sizeof *found, caller);
    std::size_t count = 0;
    if (__builtin_add_overflow(found->gl_pathc, found->gl_offs, &count)) count = ~std::size_t{0};
    if (found->gl_pathv) program_writes(found->gl_pathv, bytes_of(count, sizeof(char*)), caller);
  }
};
template <std::size_t flags, std::size_t at>
struct Finds {
  template <class All>
  static void look(const All& all, const void* caller) {
    const auto* found = std::get<at>(all);
    if (std::get<flags>(all) & GLOB_ALTDIRFUNC) {
      stop_unsupported("glob",
                       "functions of its own for folders (GLOB_ALTDIRFUNC) are not checked");
    }
    if (std::get<flags>(all) & GLOB_APPEND) return Found<at>::look(all, caller);
    if (found) program_writes(found, sizeof *found, caller);
  }
};
// What the C library has made.
template <std::size_t at>
struct AStream {
  template <class All>
  static void look(const All& all, const void* caller) {
    check_stream(std::get<at>(all), caller);
  }
};
template <std::size_t at>
struct AFolder {
  template <class All>
  static void look(const All& all, const void*) {
    check_folder(std::get<at>(all));
  }
};
// A descriptor: not one of the emulator's.
template <std::size_t at>
struct Asks {
  template <class All>
  static void look(const All& all, const void*) {
    check_descriptor(std::get<at>(all), "a call of the C library");
  }
};
// A function that it calls.
template <std::size_t at>
struct Calls {
  template <class All>
  static void look(const All& all, const void* caller) {
    if (pointer_of<at>(all)) check_call_target(pointer_of<at>(all), caller);
  }
};

// Stands before `function`.
template <auto function, class Type, class... Effects>
struct Looked;
template <auto function, class Result, class... Arguments, class... Effects>
struct Looked<function, Result (*)(Arguments...), Effects...> {
  static Result call(Arguments... arguments) {
    const void* caller = __builtin_return_address(0);
    const std::tuple<Arguments...> all(arguments...);
    (Effects::look(all, caller), ...);
    return function(arguments...);
  }
};

// Less noexcept, which is part of a type.
template <class Result, class... Arguments>
auto plain(Result (*)(Arguments...)) -> Result (*)(Arguments...);

}  // namespace warploom::effects
