#pragma once

#include "../../warploom/libraries/cub_warp.h"
