#pragma once

#include "../warploom/libraries/thrust_complex.h"
