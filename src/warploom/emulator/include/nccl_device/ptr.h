// A pointer that every rank understands: a window and an offset in bytes.
#pragma once

#include "core.h"

template <typename _WT>
struct ncclSymPtr {
  using ElementType = _WT;
  ncclWindow_t window;
  size_t offset;

  constexpr ncclSymPtr(ncclWindow_t window = nullptr, size_t offset = 0)
      : window(window), offset(offset) {}
  template <typename _WU>
  WARPLOOM_UNCHECKED operator ncclSymPtr<_WU>() const {
    return {window, offset};
  }

  template <typename Int>
  WARPLOOM_UNCHECKED ncclSymPtr<_WT>& operator+=(Int _Wd) {
    offset += static_cast<size_t>(_Wd) * sizeof(_WT);
    return *this;
  }
  template <typename Int>
  WARPLOOM_UNCHECKED ncclSymPtr<_WT>& operator-=(Int _Wd) {
    offset -= static_cast<size_t>(_Wd) * sizeof(_WT);
    return *this;
  }

  WARPLOOM_UNCHECKED _WT* localPtr() const {
    return static_cast<_WT*>(ncclGetLocalPointer(window, offset));
  }
  WARPLOOM_UNCHECKED _WT* lsaPtr(int peer) const {
    return static_cast<_WT*>(ncclGetLsaPointer(window, offset, peer));
  }
  WARPLOOM_UNCHECKED _WT* peerPtr(int peer) const {
    return static_cast<_WT*>(ncclGetPeerPointer(window, offset, peer));
  }
  WARPLOOM_UNCHECKED _WT* peerPtr(ncclTeam team, int peer) const {
    return static_cast<_WT*>(ncclGetPeerPointer(window, offset, team, peer));
  }
  WARPLOOM_UNCHECKED _WT* multimemPtr(ncclMultimemHandle handle) const {
    return static_cast<_WT*>(ncclGetMultimemPointer(window, offset, handle));
  }
  WARPLOOM_UNCHECKED _WT* lsaMultimemPtr(const ncclDevComm& comm) const {
    return static_cast<_WT*>(ncclGetLsaMultimemPointer(window, offset, comm));
  }
};

template <typename _WT, typename Int>
WARPLOOM_UNCHECKED inline ncclSymPtr<_WT> operator+(ncclSymPtr<_WT> _Wp, Int _Wd) {
  return _Wp += _Wd;
}
template <typename _WT, typename Int>
WARPLOOM_UNCHECKED inline ncclSymPtr<_WT> operator-(ncclSymPtr<_WT> _Wp, Int _Wd) {
  return _Wp -= _Wd;
}
template <typename _WT>
WARPLOOM_UNCHECKED inline ptrdiff_t operator-(ncclSymPtr<_WT> _Wa, ncclSymPtr<_WT> _Wb) {
  return static_cast<ptrdiff_t>(_Wa.offset - _Wb.offset) / static_cast<ptrdiff_t>(sizeof(_WT));
}
template <typename _WT>
WARPLOOM_UNCHECKED inline bool operator==(ncclSymPtr<_WT> _Wa, ncclSymPtr<_WT> _Wb) {
  return _Wa.window == _Wb.window && _Wa.offset == _Wb.offset;
}
template <typename _WT>
WARPLOOM_UNCHECKED inline bool operator!=(ncclSymPtr<_WT> _Wa, ncclSymPtr<_WT> _Wb) {
  return !(_Wa == _Wb);
}

WARPLOOM_UNCHECKED inline ncclSymPtr<char> ncclGetResourceBuffer(const ncclDevComm& comm,
                                                                 ncclDevResourceHandle _Wh) {
  return {comm.resourceWindow, size_t{_Wh} * 128};
}
