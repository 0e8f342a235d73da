// cuRAND's device interface, as far as it is emulated: see docs/emulator.md.
#pragma once

#include "curand.h"
#include "warploom/libraries/random_generators.h"
#include "warploom/libraries/random_numbers.h"
