// NVTX's C++ interface, as far as programs mark ranges with it: nobody reads them here.
#pragma once

#include "nvToolsExt.h"

namespace nvtx3 {

struct domain {
  struct global {};
};

class color {
 public:
  explicit constexpr color(std::uint32_t) noexcept {}
};
class rgb {
 public:
  constexpr rgb(std::uint8_t, std::uint8_t, std::uint8_t) noexcept {}
};
class argb {
 public:
  constexpr argb(std::uint8_t, std::uint8_t, std::uint8_t, std::uint8_t) noexcept {}
};
class category {
 public:
  explicit constexpr category(std::uint32_t) noexcept {}
};
class payload {
 public:
  template <class _WT>
  explicit constexpr payload(_WT) noexcept {}
};

// A message first, and then colors, categories and payloads in any order.
class event_attributes {
 public:
  template <class... Args>
  explicit constexpr event_attributes(const Args&...) noexcept {}
};

template <class Domain>
class scoped_range_in {
 public:
  template <class... Args>
  explicit scoped_range_in(const Args&...) noexcept {}
  scoped_range_in(const scoped_range_in&) = delete;
  scoped_range_in& operator=(const scoped_range_in&) = delete;
  ~scoped_range_in() {}  // so that a range that is only held is no unused variable
};
using scoped_range = scoped_range_in<domain::global>;

template <class Domain>
class unique_range_in {
 public:
  template <class... Args>
  explicit unique_range_in(const Args&...) noexcept {}
  ~unique_range_in() {}
};
using unique_range = unique_range_in<domain::global>;

template <class... Args>
void mark(const Args&...) noexcept {}

}  // namespace nvtx3

#define NVTX3_FUNC_RANGE() \
  ::nvtx3::scoped_range wl_nvtx_range { __func__ }
#define NVTX3_FUNC_RANGE_IF(condition) NVTX3_FUNC_RANGE()
