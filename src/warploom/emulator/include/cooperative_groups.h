// Cooperative groups. Clusters and groups of several grids are not emulated.
#pragma once

#include "warploom/cooperative_groups.h"
