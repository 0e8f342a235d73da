// CUB, as far as it is emulated: see docs/emulator.md.
#pragma once

#include <iostream>

#include "../warploom/libraries/cub_device.h"
#include "../warploom/libraries/cub_iterators.h"
#include "../warploom/libraries/cub_sort.h"
