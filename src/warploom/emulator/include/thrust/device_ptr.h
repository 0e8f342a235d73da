#pragma once

#include "../warploom/libraries/thrust_memory.h"
#include "../warploom/libraries/thrust_selections.h"  // which Thrust's own brings
