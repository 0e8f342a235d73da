// Printing and scanning of ordinary programs must do what the C library does: prints "bad 0".
#include <cuda_runtime.h>
#include <cerrno>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cwchar>
static int bad = 0;
static void want(const char* got, const char* wanted, int line) {
  if (strcmp(got, wanted)) {
    bad++;
    fprintf(stderr, "line %d: [%s] not [%s]\n", line, got, wanted);
  }
}
static char b[4096];
#define P(wanted, ...)                               \
  do {                                               \
    int n = snprintf(b, sizeof b, __VA_ARGS__);      \
    want(b, wanted, __LINE__);                       \
    if (n != (int)strlen(wanted)) {                  \
      bad++;                                         \
      fprintf(stderr, "line %d: %d\n", __LINE__, n); \
    }                                                \
  } while (0)
static int by_list(char* to, size_t n, const char* f, ...) {
  va_list a;
  va_start(a, f);
  va_list c;
  va_copy(c, a);
  int r = vsnprintf(nullptr, 0, f, c);
  va_end(c);
  int q = vsnprintf(to, n, f, a);
  va_end(a);
  if (r != q) bad++;
  return q;
}
static int scan_list(const char* t, const char* f, ...) {
  va_list a;
  va_start(a, f);
  int r = vsscanf(t, f, a);
  va_end(a);
  return r;
}
__global__ void kernel(int v) { printf("device %d %5.2f %s %p\n", v, 1.5, "text", (void*)0); }
#define EQ(a, c)                                         \
  do {                                                   \
    if (!((a) == (c))) {                                 \
      bad++;                                             \
      fprintf(stderr, "line %d: not equal\n", __LINE__); \
    }                                                    \
  } while (0)
int main() {
  P("1 -2 3 4294967295", "%d %i %u %u", 1, -2, 3u, 4294967295u);
  P("12 34 56 78 90 1 2", "%zu %zd %jd %td %lld %ld %hd", (size_t)12, (ssize_t)34, (intmax_t)56,
    (ptrdiff_t)78, 90ll, 1l, (short)2);
  P("-1 255 ff FF 377 0xff", "%hhd %hhu %x %X %o %#x", 255, 255, 255, 255, 255, 255);
  P("1.500000 1.5 1.50e+00 0x1.8p+0 1.5", "%f %g %.2e %a %G", 1.5, 1.5, 1.5, 1.5, 1.5);
  P("2.5 3.25", "%Lg %LG", 2.5L, 3.25L);
  P("7 2.5 8 3.5 9", "%d %Lg %d %Lg %d", 7, 2.5L, 8, 3.5L, 9);
  P("1 2 3 4 5 6 7 8 9 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0 10.0 end",
    "%d %d %d %d %d %d %d %d %d %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %.1f %s", 1, 2, 3, 4,
    5, 6, 7, 8, 9, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., "end");
  P("  abc|abc  |ab   |ab", "%5s|%-5s|%-*.*s|%.2s", "abc", "abc", 5, 2, "abc", "abc");
  P("c 100% wide W", "%c 100%% %ls %lc", 'c', L"wide", L'W');
  P("(null) (nil)", "%s %p", (char*)nullptr, (void*)nullptr);
  P("+1 0001 1234567", "%+d %04d %'d", 1, 1, 1234567);
  errno = ENOENT;
  P("No such file or directory", "%m");
  int n1 = 0;
  long n2 = 0;
  char n3 = 0;
  P("abcdef", "abc%ndef%ln%hhn", &n1, &n2, &n3);
  EQ(n1, 3);
  EQ(n2, 6);
  EQ(n3, 6);
  P("50%\n", "50%\n");
  P("50 %!", "50 %!");
  char small[4];
  EQ(snprintf(small, 4, "%s", "abcdef"), 6);
  want(small, "abc", __LINE__);
  EQ(snprintf(nullptr, 0, "%d", 123), 3);
  sprintf(b, "%s-%d", "x", 3);
  want(b, "x-3", __LINE__);
  by_list(b, sizeof b, "%d %s %g %Lg %d %d %d %d %d %s", 1, "two", 3.0, 4.0L, 5, 6, 7, 8, 9, "ten");
  want(b, "1 two 3 4 5 6 7 8 9 ten", __LINE__);
  char* made = nullptr;
  EQ(asprintf(&made, "%05d", 42), 5);
  want(made, "00042", __LINE__);
  made[0] = 'x';
  free(made);
  int i = 0, j = 0;
  float f = 0;
  double d = 0;
  long double l = 0;
  char t[32], u[32];
  long long ll = 0;
  short h = 0;
  char c = 0;
  char two[2];
  unsigned x;
  size_t z;
  int at = -1;
  void* p = nullptr;
  uint8_t hh = 7;
  EQ(sscanf("12 34", "%d %d", &i, &j), 2);
  EQ(i, 12);
  EQ(j, 34);
  EQ(sscanf("1.5 2.5 3.5", "%f %lf %Lf", &f, &d, &l), 3);
  EQ(f, 1.5f);
  EQ(d, 2.5);
  EQ(l, 3.5L);
  EQ(sscanf("word other", "%s %31s", t, u), 2);
  want(t, "word", __LINE__);
  want(u, "other", __LINE__);
  EQ(sscanf("key=value;rest", "%[^=]=%[a-z];%n", t, u, &at), 2);
  want(t, "key", __LINE__);
  want(u, "value", __LINE__);
  EQ(at, 10);
  EQ(sscanf("-5 ff 7 99 300", "%lld %x %zu %hd %hhu", &ll, &x, &z, &h, &hh), 5);
  EQ(ll, -5);
  EQ(x, 255u);
  EQ(z, 7u);
  EQ(h, 99);
  EQ(hh, 44);
  EQ(sscanf("abc", "%c%2c", &c, two), 2);
  EQ(c, 'a');
  EQ(two[1], 'c');
  EQ(sscanf("1 x", "%d %d", &i, &j), 1);
  EQ(j, 34);
  EQ(sscanf("", "%d", &i), EOF);
  EQ(sscanf("x", "%d", &i), 0);
  EQ(sscanf("skip 5", "%*s %d", &i), 1);
  EQ(i, 5);
  EQ(sscanf("50% done", "%d%% %s", &i, t), 2);
  want(t, "done", __LINE__);
  char* m = nullptr;
  EQ(sscanf("allocated", "%ms", &m), 1);
  want(m, "allocated", __LINE__);
  free(m);
  EQ(sscanf("0x10", "%p", &p), 1);
  EQ(p, (void*)16);
  at = -1;
  EQ(sscanf("1", "%d %d%n", &i, &j, &at), 1);
  EQ(at, -1);
  wchar_t w[16];
  EQ(sscanf("wide", "%ls", w), 1);
  EQ(wcscmp(w, L"wide"), 0);
  EQ(scan_list("3 four 5.5", "%d %s %lf", &i, t, &d), 3);
  EQ(i, 3);
  EQ(d, 5.5);
  want(t, "four", __LINE__);
  EQ(sscanf("host:80", "%31[^:]:%d", t, &i), 2);
  EQ(i, 80);
  strcpy(t, "same text");
  EQ(sscanf(t, "%*s %s", t), 1);
  want(t, "text", __LINE__);
  FILE* file = fopen("numbers.txt", "w+");
  static char buffer[1 << 12];
  setvbuf(file, buffer, _IOFBF, sizeof buffer);
  setbuf(stdout, nullptr);
  setvbuf(stdout, nullptr, _IOLBF, 0);
  setlinebuf(stderr);
  for (int k = 0; k < 1000; k++) fprintf(file, "%d name%d %.3f\n", k, k, k * 0.5);
  rewind(file);
  int lines = 0;
  while (fscanf(file, "%d %s %lf", &i, t, &d) == 3) {
    EQ(i, lines);
    EQ(d, lines * 0.5);
    lines++;
  }
  EQ(lines, 1000);
  fclose(file);
  kernel<<<1, 1>>>(5);
  cudaDeviceSynchronize();
  printf("bad %d\n", bad);
  return bad;
}
