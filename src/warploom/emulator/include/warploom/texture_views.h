// What a texture or surface object is to device code: runtime/cuda/textures.cpp.
#pragma once

#include "texture_types.h"

namespace warploom {

struct TextureView {
  char* data;
  size_t pitch, slice;       // bytes from row to row, and from layer to layer
  int width, height, depth;  // elements; 1 where there is no such dimension
  int channels, bytes;       // of an element, and of a channel
  bool linear_memory, layered;
  cudaChannelFormatKind kind;
  cudaTextureDesc how;
};

TextureView texture_view(unsigned long long object, const char* call);

}  // namespace warploom
