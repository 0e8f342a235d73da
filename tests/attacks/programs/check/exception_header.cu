#include <cuda_runtime.h>
#include <cstdio>
#include <cstring>
struct Note { long words[4]; ~Note() {} };
static long found;
void chosen(void*) { found = 1; }
__attribute__((noinline)) int odd(long* header, int i, long v) { header[i] = v; return 0; }
int main() {
  try {
    throw Note{{1, 2, 3, 4}};
  } catch (Note& n) {
    // libstdc++: __cxa_refcounted_exception before the object; exceptionDestructor at -0x70
    long* h = n.words;
    int slot = 0;
    for (int i = 1; i <= 16; i++) if (h[-i] != 0 && slot == 0) slot = 0;
    odd(h, -13, reinterpret_cast<long>(&chosen) + 0);
  }
  int* d; cudaMalloc(&d, 64);
  return found ? 7 : 0;
}
