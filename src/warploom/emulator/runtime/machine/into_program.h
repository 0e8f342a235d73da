// Calls of the program's functions by the runtime.
//
// What a program does to its stack is its own affair, also to registers that its functions keep
// there. So while it runs, the runtime's frames beneath, and the registers that these go on with,
// are closed to it: a store there ends the run (frame_links.h).
#pragma once

#include <cstdint>
#include <type_traits>

#include "schedule/fiber.h"

namespace warploom {

// A part of a stack that no program may store to, while this lives.
struct Closed {
  uintptr_t low = ~uintptr_t{0};  // set where the program is entered
  uintptr_t high = 0;
  uintptr_t frame = 0;  // of the program's function that called the runtime; 0: none did
  const Closed* before = nullptr;
};

// Where the runtime's frames end, of which `frame` is one.
Closed closed_from(const void* frame);

class Closing {
 public:
  explicit Closing(const void* frame) : fiber_(g_current), closed_(closed_from(frame)) {
    if (!fiber_) return;
    closed_.before = fiber_->closed;
    fiber_->closed = &closed_;
  }
  ~Closing() {
    if (fiber_) fiber_->closed = closed_.before;
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;
  uintptr_t* low() { return &closed_.low; }

 private:
  Fiber* fiber_;
  Closed closed_;
};

constexpr int kArgumentWords = 4;

// Calls `function` with four words; the registers that it has to preserve are kept in closed
// memory, which begins at `low`.
extern "C" uint64_t warploom_into(const void* function, const uint64_t* words, uintptr_t* low);

template <class T>
uint64_t as_word(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uint64_t>(value);
  } else {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    return static_cast<uint64_t>(value);
  }
}

// `frame`: of a function of the runtime that the program called, where a library lies between.
template <class Result, class... Arguments>
Result into_program(const void* frame, Result (*function)(Arguments...),
                    std::type_identity_t<Arguments>... arguments) {
  static_assert(sizeof...(Arguments) <= kArgumentWords);
  const uint64_t words[kArgumentWords] = {as_word(arguments)...};
  Closing closing(frame);
  const uint64_t result =
      warploom_into(reinterpret_cast<const void*>(function), words, closing.low());
  if constexpr (std::is_pointer_v<Result>) {
    return reinterpret_cast<Result>(result);
  } else if constexpr (!std::is_void_v<Result>) {
    return static_cast<Result>(result);
  }
}

}  // namespace warploom

// The frame of the function that this stands in.
#define WARPLOOM_FRAME __builtin_frame_address(0)
