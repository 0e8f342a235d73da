// A pointer that every rank understands: a window and an offset in bytes.
#pragma once

#include "core.h"

template <typename T>
struct ncclSymPtr {
  using ElementType = T;
  ncclWindow_t window;
  size_t offset;

  constexpr ncclSymPtr(ncclWindow_t window = nullptr, size_t offset = 0)
      : window(window), offset(offset) {}
  template <typename U>
  WARPLOOM_UNCHECKED operator ncclSymPtr<U>() const {
    return {window, offset};
  }

  template <typename Int>
  WARPLOOM_UNCHECKED ncclSymPtr<T>& operator+=(Int d) {
    offset += static_cast<size_t>(d) * sizeof(T);
    return *this;
  }
  template <typename Int>
  WARPLOOM_UNCHECKED ncclSymPtr<T>& operator-=(Int d) {
    offset -= static_cast<size_t>(d) * sizeof(T);
    return *this;
  }

  WARPLOOM_UNCHECKED T* localPtr() const {
    return static_cast<T*>(ncclGetLocalPointer(window, offset));
  }
  WARPLOOM_UNCHECKED T* lsaPtr(int peer) const {
    return static_cast<T*>(ncclGetLsaPointer(window, offset, peer));
  }
  WARPLOOM_UNCHECKED T* peerPtr(int peer) const {
    return static_cast<T*>(ncclGetPeerPointer(window, offset, peer));
  }
  WARPLOOM_UNCHECKED T* peerPtr(ncclTeam team, int peer) const {
    return static_cast<T*>(ncclGetPeerPointer(window, offset, team, peer));
  }
  WARPLOOM_UNCHECKED T* multimemPtr(ncclMultimemHandle handle) const {
    return static_cast<T*>(ncclGetMultimemPointer(window, offset, handle));
  }
  WARPLOOM_UNCHECKED T* lsaMultimemPtr(const ncclDevComm& comm) const {
    return static_cast<T*>(ncclGetLsaMultimemPointer(window, offset, comm));
  }
};

template <typename T, typename Int>
WARPLOOM_UNCHECKED inline ncclSymPtr<T> operator+(ncclSymPtr<T> p, Int d) {
  return p += d;
}
template <typename T, typename Int>
WARPLOOM_UNCHECKED inline ncclSymPtr<T> operator-(ncclSymPtr<T> p, Int d) {
  return p -= d;
}
template <typename T>
WARPLOOM_UNCHECKED inline ptrdiff_t operator-(ncclSymPtr<T> a, ncclSymPtr<T> b) {
  return static_cast<ptrdiff_t>(a.offset - b.offset) / static_cast<ptrdiff_t>(sizeof(T));
}
template <typename T>
WARPLOOM_UNCHECKED inline bool operator==(ncclSymPtr<T> a, ncclSymPtr<T> b) {
  return a.window == b.window && a.offset == b.offset;
}
template <typename T>
WARPLOOM_UNCHECKED inline bool operator!=(ncclSymPtr<T> a, ncclSymPtr<T> b) {
  return !(a == b);
}

WARPLOOM_UNCHECKED inline ncclSymPtr<char> ncclGetResourceBuffer(const ncclDevComm& comm,
                                                                 ncclDevResourceHandle h) {
  return {comm.resourceWindow, size_t{h} * 128};
}
