// cuRAND's host interface, as far as it is emulated: see docs/emulator.md.
#pragma once

#include "cuda_runtime.h"
#include "warploom/libraries/random_host.h"
