// std::cout and its like: each process has its own formats, buffers and errors.
#include <version>

#if defined(__GLIBCXX__)
#include <ext/stdio_sync_filebuf.h>

#include <cstdio>
#include <istream>
#include <new>
#include <ostream>

#define ROOM(type, name, symbol)                  \
  extern char name[sizeof(type)] __asm__(symbol); \
  alignas(type) char name[sizeof(type)];

namespace {

using Narrow = __gnu_cxx::stdio_sync_filebuf<char>;
using Wide = __gnu_cxx::stdio_sync_filebuf<wchar_t>;
alignas(Narrow) char g_narrow[3][sizeof(Narrow)];
alignas(Wide) char g_wide[3][sizeof(Wide)];

}  // namespace

// The names that the C++ library gives them.
ROOM(std::istream, g_in, "_ZSt3cin")
ROOM(std::ostream, g_out, "_ZSt4cout")
ROOM(std::ostream, g_error, "_ZSt4cerr")
ROOM(std::ostream, g_log, "_ZSt4clog")
ROOM(std::wistream, g_wide_in, "_ZSt4wcin")
ROOM(std::wostream, g_wide_out, "_ZSt5wcout")
ROOM(std::wostream, g_wide_error, "_ZSt5wcerr")
ROOM(std::wostream, g_wide_log, "_ZSt5wclog")

namespace {

template <class Buffer, class In, class Out>
void make(char (&buffers)[3][sizeof(Buffer)], char* in, char* out, char* error, char* log) {
  std::FILE* const files[] = {stdin, stdout, stderr};
  for (int i = 0; i < 3; i++) new (buffers[i]) Buffer(files[i]);
  const auto buffer = [&](int i) { return reinterpret_cast<Buffer*>(buffers[i]); };
  auto* to_user = new (out) Out(buffer(1));
  auto* from_user = new (in) In(buffer(0));
  from_user->tie(to_user);
  auto* errors = new (error) Out(buffer(2));
  errors->setf(std::ios_base::unitbuf);
  errors->tie(to_user);
  new (log) Out(buffer(2));
}

// Before any constructor of the program.
[[gnu::constructor(101)]] void make_streams() {
  make<Narrow, std::istream, std::ostream>(g_narrow, g_in, g_out, g_error, g_log);
  make<Wide, std::wistream, std::wostream>(g_wide, g_wide_in, g_wide_out, g_wide_error, g_wide_log);
}

}  // namespace

// The library's own would give its streams to whichever process asked first. They stay as they are,
// which std::ios_base::sync_with_stdio(false) allows: each character goes to the C library at once.
bool synced(bool yes) __asm__("_ZNSt8ios_base15sync_with_stdioEb");
bool synced(bool yes) {
  static bool now = true;
  const bool before = now;
  now = yes;
  return before;
}

// Places for a program's own words in all streams: a process counts from its own first one.
int new_place() __asm__("_ZNSt8ios_base6xallocEv");
int new_place() {
  static int last = 3;  // as libstdc++ leaves it
  return __atomic_add_fetch(&last, 1, __ATOMIC_ACQ_REL);
}
#endif
