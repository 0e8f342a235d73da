// CUB, as far as it is emulated: see docs/emulator.md.
#pragma once

#include "../warploom/libraries/cub_device.h"
#include "../warploom/libraries/cub_iterators.h"
#include "../warploom/libraries/cub_sort.h"
#include "../warploom/standard_streams.h"
