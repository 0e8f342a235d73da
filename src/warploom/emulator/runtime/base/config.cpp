#include "base/config.h"

namespace warploom {

Config g_config;

}  // namespace warploom
