#pragma once

#include "../../warploom/libraries/thrust_iterators.h"
