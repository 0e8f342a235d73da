#pragma once

#include "../../warploom/libraries/cub_block.h"
