// Cooperative groups. Groups of several grids are not emulated.
#pragma once

#include "warploom/cluster_group.h"
#include "warploom/cooperative_groups.h"
