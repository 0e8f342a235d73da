#pragma once

#include "../../warploom/libraries/cub_sort.h"
