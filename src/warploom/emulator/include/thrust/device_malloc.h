#pragma once

#include "../warploom/libraries/thrust_memory.h"
