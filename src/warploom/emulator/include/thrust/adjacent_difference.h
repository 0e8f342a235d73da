#pragma once

#include "../warploom/libraries/thrust_selections.h"
