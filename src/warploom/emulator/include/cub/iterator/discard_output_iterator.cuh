#pragma once

#include "../../warploom/libraries/cub_iterators.h"
