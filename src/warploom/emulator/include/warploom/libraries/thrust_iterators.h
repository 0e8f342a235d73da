// Thrust's iterators that compute what they give, and tuples.
#pragma once

#include <warploom/libraries/thrust_memory.h>

#include <tuple>
#include <utility>

namespace thrust {

using std::get;
using std::make_pair;
using std::make_tuple;
using std::pair;
using std::tie;
using std::tuple;
using std::tuple_element;
using std::tuple_size;

#define WARPLOOM_ITERATOR(name)                                                     \
  using iterator_category = std::random_access_iterator_tag;                        \
  using difference_type = std::ptrdiff_t;                                           \
  using pointer = void;                                                             \
  name operator+(difference_type by) const {                                        \
    name moved = *this;                                                             \
    moved += by;                                                                    \
    return moved;                                                                   \
  }                                                                                 \
  friend name operator+(difference_type by, const name& from) { return from + by; } \
  name operator-(difference_type by) const { return *this + -by; }                  \
  name& operator-=(difference_type by) { return *this += -by; }                     \
  name& operator++() { return *this += 1; }                                         \
  name& operator--() { return *this += -1; }                                        \
  name operator++(int) {                                                            \
    name old = *this;                                                               \
    *this += 1;                                                                     \
    return old;                                                                     \
  }                                                                                 \
  bool operator==(const name& other) const { return *this - other == 0; }           \
  bool operator<(const name& other) const { return *this - other < 0; }             \
  reference operator*() const { return (*this)[0]; }

// The same iterator with plain pointers in it, as kernels use it.
template <class _WT>
_WT* warploom_raw(_WT* at) {
  return at;
}
template <class _WT>
_WT* warploom_raw(device_ptr<_WT> at) {
  return at.get();
}
template <class Iterator>
auto warploom_raw(const Iterator& at) {
  if constexpr (requires { at.warploom_plain(); }) {
    return at.warploom_plain();
  } else {
    return at;
  }
}
// Does it lead to the device?
template <class Iterator>
struct warploom_of_device : std::false_type {};
template <class _WT>
struct warploom_of_device<device_ptr<_WT>> : std::true_type {};

template <class Value, class = void, class = void, class = void>
class counting_iterator {
 public:
  using value_type = Value;
  using reference = Value;
  explicit counting_iterator(Value from = Value{}) : from_(from) {}
  WARPLOOM_ITERATOR(counting_iterator)
  counting_iterator& operator+=(difference_type by) {
    from_ = static_cast<Value>(from_ + by);
    return *this;
  }
  Value operator[](difference_type i) const { return static_cast<Value>(from_ + i); }
  difference_type operator-(const counting_iterator& other) const {
    return static_cast<difference_type>(from_) - static_cast<difference_type>(other.from_);
  }

 private:
  Value from_;
};
template <class Value>
counting_iterator<Value> make_counting_iterator(Value from) {
  return counting_iterator<Value>(from);
}

template <class Value>
class constant_iterator {
 public:
  using value_type = Value;
  using reference = Value;
  explicit constant_iterator(Value value, std::ptrdiff_t at = 0) : value_(value), at_(at) {}
  WARPLOOM_ITERATOR(constant_iterator)
  constant_iterator& operator+=(difference_type by) {
    at_ += by;
    return *this;
  }
  Value operator[](difference_type) const { return value_; }
  difference_type operator-(const constant_iterator& other) const { return at_ - other.at_; }

 private:
  Value value_;
  std::ptrdiff_t at_;
};
template <class Value>
constant_iterator<Value> make_constant_iterator(Value value) {
  return constant_iterator<Value>(value);
}

template <class Function, class In, class = void, class = void>
class transform_iterator {
 public:
  using reference = decltype(std::declval<const Function&>()(*std::declval<const In&>()));
  using value_type = std::decay_t<reference>;
  transform_iterator(In in, Function function) : in_(in), function_(function) {}
  WARPLOOM_ITERATOR(transform_iterator)
  transform_iterator& operator+=(difference_type by) {
    in_ += by;
    return *this;
  }
  decltype(auto) operator[](difference_type i) const { return function_(in_[i]); }
  difference_type operator-(const transform_iterator& other) const { return in_ - other.in_; }
  auto warploom_plain() const {
    auto plain = warploom_raw(in_);
    return transform_iterator<Function, decltype(plain)>(plain, function_);
  }

 private:
  In in_;
  mutable Function function_;  // which may change what it holds
};
template <class Function, class In>
transform_iterator<Function, In> make_transform_iterator(In in, Function function) {
  return {in, function};
}
template <class Function, class In>
struct warploom_of_device<transform_iterator<Function, In>> : warploom_of_device<In> {};

template <class In, class Index>
class permutation_iterator {
 public:
  using reference = decltype(*std::declval<const In&>());
  using value_type = typename std::iterator_traits<In>::value_type;
  permutation_iterator(In in, Index index) : in_(in), index_(index) {}
  WARPLOOM_ITERATOR(permutation_iterator)
  permutation_iterator& operator+=(difference_type by) {
    index_ += by;
    return *this;
  }
  decltype(auto) operator[](difference_type i) const {
    return in_[static_cast<difference_type>(index_[i])];
  }
  difference_type operator-(const permutation_iterator& other) const {
    return index_ - other.index_;
  }
  auto warploom_plain() const {
    auto in = warploom_raw(in_);
    auto index = warploom_raw(index_);
    return permutation_iterator<decltype(in), decltype(index)>(in, index);
  }

 private:
  In in_;
  Index index_;
};
template <class In, class Index>
permutation_iterator<In, Index> make_permutation_iterator(In in, Index index) {
  return {in, index};
}
template <class In, class Index>
struct warploom_of_device<permutation_iterator<In, Index>>
    : std::disjunction<warploom_of_device<In>, warploom_of_device<Index>> {};

template <class Tuple>
class zip_iterator;
template <class... In>
class zip_iterator<std::tuple<In...>> {
 public:
  using reference = std::tuple<decltype(*std::declval<const In&>())...>;
  using value_type = std::tuple<typename std::iterator_traits<In>::value_type...>;
  explicit zip_iterator(std::tuple<In...> in) : in_(in) {}
  WARPLOOM_ITERATOR(zip_iterator)
  zip_iterator& operator+=(difference_type by) {
    std::apply([by](In&... in) { ((in += by), ...); }, in_);
    return *this;
  }
  reference operator[](difference_type i) const {
    return std::apply([i](const In&... in) { return reference(in[i]...); }, in_);
  }
  difference_type operator-(const zip_iterator& other) const {
    return std::get<0>(in_) - std::get<0>(other.in_);
  }
  const std::tuple<In...>& get_iterator_tuple() const { return in_; }
  auto warploom_plain() const {
    auto plain =
        std::apply([](const In&... in) { return std::make_tuple(warploom_raw(in)...); }, in_);
    return zip_iterator<decltype(plain)>(plain);
  }

 private:
  std::tuple<In...> in_;
};
template <class... In>
zip_iterator<std::tuple<In...>> make_zip_iterator(std::tuple<In...> in) {
  return zip_iterator<std::tuple<In...>>(in);
}
template <class... In>
zip_iterator<std::tuple<In...>> make_zip_iterator(In... in) {
  return zip_iterator<std::tuple<In...>>(std::tuple<In...>(in...));
}
template <class... In>
struct warploom_of_device<zip_iterator<std::tuple<In...>>>
    : std::disjunction<warploom_of_device<In>...> {};

class discard_iterator {
 public:
  struct Nothing {
    template <class Value>
    const Nothing& operator=(const Value&) const {
      return *this;
    }
  };
  using value_type = Nothing;
  using reference = Nothing;
  WARPLOOM_ITERATOR(discard_iterator)
  discard_iterator& operator+=(difference_type by) {
    at_ += by;
    return *this;
  }
  Nothing operator[](difference_type) const { return {}; }
  difference_type operator-(const discard_iterator& other) const { return at_ - other.at_; }

 private:
  std::ptrdiff_t at_ = 0;
};
inline discard_iterator make_discard_iterator() { return {}; }
#undef WARPLOOM_ITERATOR

}  // namespace thrust
