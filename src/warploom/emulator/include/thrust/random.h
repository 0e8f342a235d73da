#pragma once

#include "../warploom/libraries/thrust_random.h"
