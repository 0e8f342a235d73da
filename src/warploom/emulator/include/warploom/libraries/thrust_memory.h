// Thrust: pointers to device memory, references through them, policies, and the two vectors.
#pragma once

#include <cuda_runtime.h>

#include <iterator>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "../standard_streams.h"

#define THRUST_VERSION 300000
#define THRUST_MAJOR_VERSION 3
#define THRUST_MINOR_VERSION 0
#define THRUST_SUBMINOR_VERSION 0

namespace thrust {

class system_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
namespace system {
using thrust::system_error;
namespace detail {
class bad_alloc : public std::bad_alloc {
 public:
  explicit bad_alloc(const std::string& what) : what_("std::bad_alloc: " + what) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};
}  // namespace detail
}  // namespace system

template <class _WT>
class device_ptr;

// What lies on the device, as seen from anywhere: the host copies, device code accesses it.
template <class _WT>
class device_reference {
 public:
  using value_type = std::remove_const_t<_WT>;
  using pointer = device_ptr<_WT>;
  explicit device_reference(_WT* at) : at_(at) {}
  device_reference(const device_reference&) = default;
  operator value_type() const { return get(); }
  device_reference operator=(const value_type& value) const {
    set(value);
    return *this;
  }
  device_reference operator=(const device_reference& other) const {
    set(other.get());
    return *this;
  }
  device_ptr<_WT> operator&() const { return device_ptr<_WT>(at_); }
#define WARPLOOM_CHANGE(op)                                          \
  device_reference operator op## = (const value_type& value) const { \
    set(static_cast<value_type>(get() op value));                    \
    return *this;                                                    \
  }
  WARPLOOM_CHANGE(+)
  WARPLOOM_CHANGE(-)
  WARPLOOM_CHANGE(*)
  WARPLOOM_CHANGE(/)
  WARPLOOM_CHANGE(%)
  WARPLOOM_CHANGE(&)
  WARPLOOM_CHANGE(|)
  WARPLOOM_CHANGE(^)
#undef WARPLOOM_CHANGE
  device_reference operator++() const { return *this += value_type(1); }
  device_reference operator--() const { return *this -= value_type(1); }
  value_type operator++(int) const {
    const value_type old = get();
    ++*this;
    return old;
  }
  friend void swap(device_reference a, device_reference b) {
    const value_type held = a.get();
    a.set(b.get());
    b.set(held);
  }

 private:
  value_type get() const {
    if (warploom::on_device()) return *at_;
    alignas(value_type) unsigned char bytes[sizeof(value_type)];
    copy(bytes, at_, cudaMemcpyDeviceToHost);
    return *reinterpret_cast<value_type*>(bytes);
  }
  void set(const value_type& value) const {
    if (warploom::on_device()) {
      *const_cast<value_type*>(at_) = value;
    } else {
      copy(const_cast<value_type*>(at_), &value, cudaMemcpyHostToDevice);
    }
  }
  static void copy(void* to, const void* from, cudaMemcpyKind kind) {
    if (cudaMemcpy(to, from, sizeof(value_type), kind) != cudaSuccess)
      throw system_error("thrust: a copy of an element failed");
  }
  _WT* at_;
};

// Also the iterator of device vectors.
template <class _WT>
class device_ptr {
 public:
  using iterator_category = std::random_access_iterator_tag;
  using value_type = std::remove_const_t<_WT>;
  using difference_type = std::ptrdiff_t;
  using reference = device_reference<_WT>;
  using pointer = device_ptr;
  using element_type = _WT;

  device_ptr() = default;
  device_ptr(std::nullptr_t) {}
  template <class _WU>
    requires std::is_convertible_v<_WU*, _WT*>
  explicit device_ptr(_WU* at) : at_(at) {}
  template <class _WU>
    requires std::is_convertible_v<_WU*, _WT*>
  device_ptr(const device_ptr<_WU>& other) : at_(other.get()) {}
  _WT* get() const { return at_; }
  explicit operator bool() const { return at_ != nullptr; }
  reference operator*() const { return reference(at_); }
  reference operator[](difference_type i) const { return reference(at_ + i); }
  device_ptr& operator+=(difference_type by) {
    at_ += by;
    return *this;
  }
  device_ptr& operator-=(difference_type by) { return *this += -by; }
  device_ptr& operator++() { return *this += 1; }
  device_ptr& operator--() { return *this += -1; }
  device_ptr operator++(int) { return device_ptr(at_++); }
  device_ptr operator--(int) { return device_ptr(at_--); }
  device_ptr operator+(difference_type by) const { return device_ptr(at_ + by); }
  friend device_ptr operator+(difference_type by, device_ptr p) { return p + by; }
  device_ptr operator-(difference_type by) const { return device_ptr(at_ - by); }
  difference_type operator-(const device_ptr& other) const { return at_ - other.at_; }
  auto operator<=>(const device_ptr&) const = default;
  bool operator==(const device_ptr&) const = default;
  bool operator==(std::nullptr_t) const { return at_ == nullptr; }

 private:
  _WT* at_ = nullptr;
};

template <class _WT>
device_ptr<_WT> device_pointer_cast(_WT* at) {
  return device_ptr<_WT>(at);
}
template <class _WT>
device_ptr<_WT> device_pointer_cast(device_ptr<_WT> at) {
  return at;
}
template <class _WT>
_WT* raw_pointer_cast(_WT* at) {
  return at;
}
template <class _WT>
_WT* raw_pointer_cast(device_ptr<_WT> at) {
  return at.get();
}
template <class _WT>
_WT& raw_reference_cast(device_reference<_WT> at) {
  return *(&at).get();
}
template <class _WT>
device_ptr<_WT> device_malloc(std::size_t count) {
  _WT* at = nullptr;
  if (cudaMalloc(&at, count * sizeof(_WT)) != cudaSuccess) throw std::bad_alloc();
  return device_ptr<_WT>(at);
}
template <class _WT>
void device_free(device_ptr<_WT> at) {
  cudaFree(at.get());
}

// Where an algorithm runs.
namespace detail {
struct host_policy {};
struct seq_policy {};
struct device_policy {
  cudaStream_t stream = nullptr;
  bool waits = true;
  device_policy on(cudaStream_t other) const { return {other, waits}; }
  template <class Allocator>
  device_policy operator()(Allocator&&) const {
    return *this;
  }
};
template <class _WP>
constexpr bool is_policy = std::is_same_v<_WP, host_policy> || std::is_same_v<_WP, seq_policy> ||
                           std::is_same_v<_WP, device_policy>;
}  // namespace detail
inline constexpr detail::host_policy host;
inline constexpr detail::seq_policy seq;
inline constexpr detail::device_policy device;
namespace cuda {
inline constexpr detail::device_policy par;
inline constexpr detail::device_policy par_nosync{nullptr, false};
}  // namespace cuda
namespace system::cuda {
using thrust::cuda::par;
using thrust::cuda::par_nosync;
}  // namespace system::cuda

}  // namespace thrust
