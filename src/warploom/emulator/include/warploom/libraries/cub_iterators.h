// CUB's iterators: values that are computed where they are read.
#pragma once

#include <warploom/libraries/cub_warp.h>

#include <cstddef>
#include <iterator>

namespace cub {

#define WARPLOOM_ITERATOR(name, type)                              \
  using iterator_category = std::random_access_iterator_tag;       \
  using difference_type = std::ptrdiff_t;                          \
  using value_type = type;                                         \
  using reference = type;                                          \
  using pointer = type*;                                           \
  name operator+(difference_type by) const {                       \
    name moved = *this;                                            \
    moved += by;                                                   \
    return moved;                                                  \
  }                                                                \
  name operator-(difference_type by) const { return *this + -by; } \
  name& operator++() { return *this += 1; }                        \
  reference operator*() const { return (*this)[0]; }

template <class Value, class Offset = std::ptrdiff_t>
struct CountingInputIterator {
  Value first;
  explicit CountingInputIterator(Value from) : first(from) {}
  WARPLOOM_ITERATOR(CountingInputIterator, Value)
  CountingInputIterator& operator+=(difference_type by) {
    first = static_cast<Value>(first + by);
    return *this;
  }
  Value operator[](difference_type i) const { return static_cast<Value>(first + i); }
  difference_type operator-(const CountingInputIterator& other) const {
    return static_cast<difference_type>(first) - static_cast<difference_type>(other.first);
  }
};

template <class Value, class Offset = std::ptrdiff_t>
struct ConstantInputIterator {
  Value value;
  std::ptrdiff_t at;
  explicit ConstantInputIterator(Value of, std::ptrdiff_t from = 0) : value(of), at(from) {}
  WARPLOOM_ITERATOR(ConstantInputIterator, Value)
  ConstantInputIterator& operator+=(difference_type by) {
    at += by;
    return *this;
  }
  Value operator[](difference_type) const { return value; }
  difference_type operator-(const ConstantInputIterator& other) const { return at - other.at; }
};

template <class Value, class Function, class In, class Offset = std::ptrdiff_t>
struct TransformInputIterator {
  In in;
  Function function;
  TransformInputIterator(In from, Function by) : in(from), function(by) {}
  WARPLOOM_ITERATOR(TransformInputIterator, Value)
  TransformInputIterator& operator+=(difference_type by) {
    in = in + by;
    return *this;
  }
  Value operator[](difference_type i) const { return static_cast<Value>(function(in[i])); }
  difference_type operator-(const TransformInputIterator& other) const { return in - other.in; }
};

template <class In, class Offset = std::ptrdiff_t,
          class Value = std::decay_t<decltype(*std::declval<In&>())>>
struct ArgIndexInputIterator {
  In in;
  std::ptrdiff_t at;
  explicit ArgIndexInputIterator(In from, std::ptrdiff_t offset = 0) : in(from), at(offset) {}
  using Pair = KeyValuePair<int, Value>;
  WARPLOOM_ITERATOR(ArgIndexInputIterator, Pair)
  ArgIndexInputIterator& operator+=(difference_type by) {
    at += by;
    return *this;
  }
  Pair operator[](difference_type i) const { return {static_cast<int>(at + i), in[at + i]}; }
};
#undef WARPLOOM_ITERATOR

// What is written there is dropped.
template <class Offset = std::ptrdiff_t>
struct DiscardOutputIterator {
  struct Nothing {
    template <class Value>
    const Nothing& operator=(const Value&) const {
      return *this;
    }
  };
  Nothing operator*() const { return {}; }
  Nothing operator[](std::ptrdiff_t) const { return {}; }
  DiscardOutputIterator operator+(std::ptrdiff_t) const { return *this; }
};

}  // namespace cub
