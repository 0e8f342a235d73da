// Broken-down times and their texts, which the next call overwrites.
#include <ctime>

namespace {
tm g_broken_down;
char g_text[64];
}  // namespace

extern "C" {

// The C library looks at TZ again in these, and not in those that are given a place.
tm* localtime(const time_t* time) noexcept {
  tzset();
  return localtime_r(time, &g_broken_down);
}
tm* gmtime(const time_t* time) noexcept { return gmtime_r(time, &g_broken_down); }
char* asctime(const tm* time) noexcept { return asctime_r(time, g_text); }
char* ctime(const time_t* time) noexcept {
  tzset();
  return ctime_r(time, g_text);
}

}  // extern "C"
