#pragma once

#include "../../warploom/libraries/cub_exchange.h"
