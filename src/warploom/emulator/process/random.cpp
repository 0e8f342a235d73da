// Random numbers: rand and random by the additive feedback that random(3) documents, drand48 and
// its like by the C library's functions that are given their state.
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>

namespace {

constexpr int kTypes = 5;
constexpr int kDegrees[kTypes] = {0, 7, 15, 31, 63};
constexpr int kSeparations[kTypes] = {0, 3, 1, 3, 1};
constexpr std::size_t kLeastBytes[kTypes] = {8, 32, 64, 128, 256};

// The generator in use. Its first word keeps type and place while another one is in use.
int32_t g_first_words[32];
struct {
  int32_t* words = g_first_words;
  int type = 3;
  int rear = 0;
  bool seeded = false;
} g_random;

int32_t* state() { return g_random.words + 1; }

int32_t next() {
  if (g_random.type == 0) {
    state()[0] = static_cast<int32_t>((static_cast<uint32_t>(state()[0]) * 1103515245U + 12345U) &
                                      0x7fffffff);
    return state()[0];
  }
  const int degree = kDegrees[g_random.type];
  const int rear = g_random.rear, front = (rear + kSeparations[g_random.type]) % degree;
  const uint32_t sum = static_cast<uint32_t>(state()[front]) + static_cast<uint32_t>(state()[rear]);
  state()[front] = static_cast<int32_t>(sum);
  g_random.rear = (rear + 1) % degree;
  return static_cast<int32_t>(sum >> 1);
}

void seed(unsigned value) {
  g_random.seeded = true;
  int32_t word = static_cast<int32_t>(value ? value : 1);
  state()[0] = word;
  const int degree = kDegrees[g_random.type];
  for (int i = 1; i < degree; i++) {
    word = 16807 * (word % 127773) - 2836 * (word / 127773);
    if (word < 0) word += 2147483647;
    state()[i] = word;
  }
  g_random.rear = 0;
  for (int i = 0; i < 10 * degree; i++) next();
}

int32_t* put_away() {
  if (!g_random.seeded) seed(1);
  g_random.words[0] = g_random.type ? g_random.rear * kTypes + g_random.type : 0;
  return g_random.words;
}

drand48_data g_drand;

}  // namespace

extern "C" {

long random() noexcept {
  if (!g_random.seeded) seed(1);
  return next();
}
void srandom(unsigned value) noexcept { seed(value); }
int rand() noexcept { return static_cast<int>(random()); }
void srand(unsigned value) noexcept { seed(value); }

char* initstate(unsigned value, char* words, std::size_t bytes) noexcept {
  if (!words || bytes < kLeastBytes[0]) {
    errno = EINVAL;
    return nullptr;
  }
  int32_t* before = put_away();
  g_random.type = kTypes - 1;
  while (bytes < kLeastBytes[g_random.type]) g_random.type--;
  g_random.words = reinterpret_cast<int32_t*>(words);
  seed(value);
  put_away();
  return reinterpret_cast<char*>(before);
}

char* setstate(char* words) noexcept {
  int32_t* before = put_away();
  auto* chosen = reinterpret_cast<int32_t*>(words);
  const int type = chosen[0] % kTypes, rear = chosen[0] / kTypes;
  if (type < 0 || rear < 0 || (type && rear >= kDegrees[type])) {
    errno = EINVAL;
    return nullptr;
  }
  g_random.words = chosen;
  g_random.type = type;
  g_random.rear = rear;
  return reinterpret_cast<char*>(before);
}

double drand48() noexcept {
  double value;
  drand48_r(&g_drand, &value);
  return value;
}
double erand48(unsigned short x[3]) noexcept {
  double value;
  erand48_r(x, &g_drand, &value);
  return value;
}
long lrand48() noexcept {
  long value;
  lrand48_r(&g_drand, &value);
  return value;
}
long nrand48(unsigned short x[3]) noexcept {
  long value;
  nrand48_r(x, &g_drand, &value);
  return value;
}
long mrand48() noexcept {
  long value;
  mrand48_r(&g_drand, &value);
  return value;
}
long jrand48(unsigned short x[3]) noexcept {
  long value;
  jrand48_r(x, &g_drand, &value);
  return value;
}
void srand48(long value) noexcept { srand48_r(value, &g_drand); }
unsigned short* seed48(unsigned short x[3]) noexcept {
  seed48_r(x, &g_drand);
  return g_drand.__old_x;
}
void lcong48(unsigned short numbers[7]) noexcept { lcong48_r(numbers, &g_drand); }

}  // extern "C"

#ifdef __GLIBCXX__
// The library would take an instruction of the processor, whose numbers no run could repeat.
std::random_device::result_type std::random_device::_M_getval() {
  result_type value = 0;
  getentropy(&value, sizeof value);
  return value;
}
#endif
