// Reads of textures, reads and writes of surfaces, as the programming guide defines them ("Texture
// fetching"): coordinates, address modes, filters, conversions.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "atomics.h"
#include "intrinsics.h"
#include "texture_api.h"
#include "texture_views.h"

namespace warploom {

// A channel as a float: normalized where the texture says so.
template <class _WT>
float texture_channel(const char* p, bool normalized) {
  const _WT value = __ldg(reinterpret_cast<const _WT*>(p));
  if constexpr (std::is_integral_v<_WT> && sizeof(_WT) < 4) {
    if (normalized) {
      const float most = static_cast<float>((1 << (8 * sizeof(_WT) - std::is_signed_v<_WT>)) - 1);
      return fmaxf(static_cast<float>(value) / most, -1.0f);
    }
  }
  return static_cast<float>(value);
}

inline float texture_channel(const TextureView& view, const char* p) {
  const bool normalized = view.how.readMode == cudaReadModeNormalizedFloat;
  const bool is_signed = view.kind == cudaChannelFormatKindSigned;
  switch (view.bytes) {
    case 1:
      return is_signed ? texture_channel<signed char>(p, normalized)
                       : texture_channel<unsigned char>(p, normalized);
    case 2:
      if (view.kind == cudaChannelFormatKindFloat) return texture_channel<_Float16>(p, false);
      return is_signed ? texture_channel<short>(p, normalized)
                       : texture_channel<unsigned short>(p, normalized);
    default:
      if (view.kind == cudaChannelFormatKindFloat) return texture_channel<float>(p, false);
      return is_signed ? texture_channel<int>(p, false) : texture_channel<unsigned>(p, false);
  }
}

// The element's place along one dimension; -1: the border.
inline int texture_place(const TextureView& view, int dimension, int at, int size) {
  if (at >= 0 && at < size) return at;
  cudaTextureAddressMode mode = view.how.addressMode[dimension];
  const bool repeats = mode == cudaAddressModeWrap || mode == cudaAddressModeMirror;
  if (repeats && !view.how.normalizedCoords) mode = cudaAddressModeClamp;
  const int period = mode == cudaAddressModeMirror ? 2 * size : size;
  switch (mode) {
    case cudaAddressModeBorder:
      return -1;
    case cudaAddressModeClamp:
      return at < 0 ? 0 : size - 1;
    default:
      at = ((at % period) + period) % period;
      return at < size ? at : period - 1 - at;
  }
}

template <class _WT>
_WT texture_value(const float (&v)[4]) {
  using Type = typename Channels<_WT>::Type;
  Type parts[Channels<_WT>::kCount] = {};
  for (int i = 0; i < Channels<_WT>::kCount && i < 4; i++) parts[i] = static_cast<Type>(v[i]);
  return std::bit_cast<_WT>(parts);
}

// One element. Without conversion it is read as it lies there.
template <class _WT>
_WT texture_element(const TextureView& view, int x, int y, int z) {
  float v[4] = {};
  if (x < 0 || y < 0 || z < 0) {
    for (int i = 0; i < 4; i++) v[i] = view.how.borderColor[i];
    return texture_value<_WT>(v);
  }
  const char* p =
      view.data + view.slice * z + view.pitch * y + size_t(view.channels) * view.bytes * x;
  if (view.how.readMode == cudaReadModeElementType && view.channels * view.bytes == sizeof(_WT)) {
    return __ldg(reinterpret_cast<const _WT*>(p));
  }
  for (int i = 0; i < view.channels; i++) v[i] = texture_channel(view, p + i * view.bytes);
  return texture_value<_WT>(v);
}

struct TextureAxis {
  int first, second;
  float part;  // of the second
};
inline TextureAxis texture_axis(const TextureView& view, int dimension, float at, int size) {
  if (view.how.normalizedCoords) at *= static_cast<float>(size);
  if (view.how.filterMode == cudaFilterModePoint) {
    const int place = texture_place(view, dimension, static_cast<int>(floorf(at)), size);
    return {place, place, 0.0f};
  }
  const float low = floorf(at - 0.5f);
  const float part = roundf((at - 0.5f - low) * 256.0f) / 256.0f;  // 8 bits of fraction
  const int place = static_cast<int>(low);
  return {texture_place(view, dimension, place, size),
          texture_place(view, dimension, place + 1, size), part};
}

// `axes` dimensions are filtered; `layer` is the plane that a layered texture is read in.
template <class _WT>
_WT texture_fetch(unsigned long long object, const char* call, int axes, float x, float y, float z,
                  int layer = 0) {
  const TextureView view = texture_view(object, call);
  const TextureAxis none{0, 0, 0.0f};
  const TextureAxis a = texture_axis(view, 0, x, view.width);
  const TextureAxis b = axes > 1 ? texture_axis(view, 1, y, view.height) : none;
  TextureAxis c = axes > 2 ? texture_axis(view, 2, z, view.depth) : none;
  if (view.layered) {
    const int last = view.depth - 1;
    c.first = c.second = layer < 0 ? 0 : layer > last ? last : layer;
  }
  if (view.how.filterMode == cudaFilterModePoint) {
    return texture_element<_WT>(view, a.first, b.first, c.first);
  }
  using Type = typename Channels<_WT>::Type;
  constexpr int count = Channels<_WT>::kCount;
  float sum[4] = {};
  for (int corner = 0; corner < 8; corner++) {
    const bool i = corner & 1, j = corner & 2, k = corner & 4;
    const float share =
        (i ? a.part : 1 - a.part) * (j ? b.part : 1 - b.part) * (k ? c.part : 1 - c.part);
    if (share == 0.0f) continue;
    const _WT value = texture_element<_WT>(view, i ? a.second : a.first, j ? b.second : b.first,
                                           k ? c.second : c.first);
    Type parts[count];
    memcpy(parts, &value, sizeof parts);
    for (int n = 0; n < count && n < 4; n++) sum[n] += share * static_cast<float>(parts[n]);
  }
  return texture_value<_WT>(sum);
}

// Where an element of a surface lies; nullptr: outside, where reads are 0 and writes nothing.
template <class _WT>
char* surface_place(unsigned long long object, const char* call, int x_bytes, int y, int z,
                    cudaSurfaceBoundaryMode mode) {
  const TextureView view = texture_view(object, call);
  int x = x_bytes / static_cast<int>(sizeof(_WT));
  const bool inside =
      x >= 0 && x < view.width && y >= 0 && y < view.height && z >= 0 && z < view.depth;
  if (!inside && mode == cudaBoundaryModeZero) return nullptr;
  if (!inside && mode == cudaBoundaryModeTrap) return view.data + view.slice * view.depth;
  if (mode == cudaBoundaryModeClamp) {
    x = x < 0 ? 0 : x < view.width ? x : view.width - 1;
    y = y < 0 ? 0 : y < view.height ? y : view.height - 1;
    z = z < 0 ? 0 : z < view.depth ? z : view.depth - 1;
  }
  return view.data + view.slice * z + view.pitch * y + sizeof(_WT) * x;
}
template <class _WT>
_WT surface_read(const char* p) {
  return p ? *reinterpret_cast<const _WT*>(p) : _WT{};
}
template <class _WT>
void surface_write(char* p, _WT value) {
  if (p) *reinterpret_cast<_WT*>(p) = value;
}

}  // namespace warploom

template <class _WT>
_WT tex1Dfetch(cudaTextureObject_t object, int x) {
  const warploom::TextureView view = warploom::texture_view(object, "tex1Dfetch");
  const bool inside = x >= 0 && x < view.width;
  return inside ? warploom::texture_element<_WT>(view, x, 0, 0) : _WT{};
}
template <class _WT>
_WT tex1D(cudaTextureObject_t object, float x) {
  return warploom::texture_fetch<_WT>(object, "tex1D", 1, x, 0, 0);
}
template <class _WT>
_WT tex2D(cudaTextureObject_t object, float x, float y) {
  return warploom::texture_fetch<_WT>(object, "tex2D", 2, x, y, 0);
}
template <class _WT>
_WT tex3D(cudaTextureObject_t object, float x, float y, float z) {
  return warploom::texture_fetch<_WT>(object, "tex3D", 3, x, y, z);
}
template <class _WT>
_WT tex1DLayered(cudaTextureObject_t object, float x, int layer) {
  return warploom::texture_fetch<_WT>(object, "tex1DLayered", 1, x, 0, 0, layer);
}
template <class _WT>
_WT tex2DLayered(cudaTextureObject_t object, float x, float y, int layer) {
  return warploom::texture_fetch<_WT>(object, "tex2DLayered", 2, x, y, 0, layer);
}
// The older spelling, which stores through its first argument.
#define WARPLOOM_TEXTURE(name)                                 \
  template <class _WT, class... _WA>                           \
  void name(_WT* _Wp, cudaTextureObject_t object, _WA... at) { \
    *_Wp = name<_WT>(object, at...);                           \
  }
WARPLOOM_TEXTURE(tex1Dfetch)
WARPLOOM_TEXTURE(tex1D)
WARPLOOM_TEXTURE(tex2D)
WARPLOOM_TEXTURE(tex3D)
WARPLOOM_TEXTURE(tex1DLayered)
WARPLOOM_TEXTURE(tex2DLayered)
#undef WARPLOOM_TEXTURE

#define WARPLOOM_SURFACE(name, parameters, y, z)                                                  \
  template <class _WT>                                                                            \
  _WT name##read(cudaSurfaceObject_t object, WARPLOOM_PARAMETERS parameters,                      \
                 cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                           \
    return warploom::surface_read<_WT>(                                                           \
        warploom::surface_place<_WT>(object, #name "read", _Wx, y, z, mode));                     \
  }                                                                                               \
  template <class _WT>                                                                            \
  void name##read(_WT* _Wp, cudaSurfaceObject_t object, WARPLOOM_PARAMETERS parameters,           \
                  cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                          \
    *_Wp = warploom::surface_read<_WT>(                                                           \
        warploom::surface_place<_WT>(object, #name "read", _Wx, y, z, mode));                     \
  }                                                                                               \
  template <class _WT>                                                                            \
  void name##write(_WT value, cudaSurfaceObject_t object, WARPLOOM_PARAMETERS parameters,         \
                   cudaSurfaceBoundaryMode mode = cudaBoundaryModeTrap) {                         \
    warploom::surface_write(warploom::surface_place<_WT>(object, #name "write", _Wx, y, z, mode), \
                            value);                                                               \
  }
#define WARPLOOM_PARAMETERS(...) __VA_ARGS__
WARPLOOM_SURFACE(surf1D, (int _Wx), 0, 0)
WARPLOOM_SURFACE(surf2D, (int _Wx, int _Wy), _Wy, 0)
WARPLOOM_SURFACE(surf3D, (int _Wx, int _Wy, int _Wz), _Wy, _Wz)
WARPLOOM_SURFACE(surf2DLayered, (int _Wx, int _Wy, int _Wz), _Wy, _Wz)
#undef WARPLOOM_PARAMETERS
#undef WARPLOOM_SURFACE
