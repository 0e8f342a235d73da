#pragma once

#include "../warploom/libraries/thrust_vectors.h"
