// Cooperative groups. Groups of several grids are not emulated.
#pragma once

#include <assert.h>  // which CUDA's own brings, and programs rely on

#include "warploom/cluster_group.h"
#include "warploom/cooperative_groups.h"
