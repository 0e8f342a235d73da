#pragma once

#include "../warploom/libraries/thrust_algorithms.h"
