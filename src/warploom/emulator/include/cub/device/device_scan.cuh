#pragma once

#include "../../warploom/libraries/cub_device.h"
