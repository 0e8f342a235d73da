// More of what the C and C++ libraries remember, of processes and of the system: see two_ranks.h.
#include <fcntl.h>
#include <fenv.h>
#include <grp.h>
#include <netdb.h>
#include <netinet/ether.h>
#include <pwd.h>
#include <sched.h>
#include <stdio_ext.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <uchar.h>
#include <unistd.h>
#include <wchar.h>

#include <cerrno>
#include <clocale>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <locale>
#include <memory_resource>
#include <new>
#include <sstream>
#include <string>

#include "two_ranks.h"

static std::string own_file(const char* name) {
  return std::string("/tmp/clib-more-") + std::to_string(getpid()) + "-" + std::to_string(who) + "-" + name;
}
static std::string content(const std::string& path) {
  char text[200] = {};
  int file = open(path.c_str(), O_RDONLY);
  if (file < 0) return "none";
  ssize_t bytes = read(file, text, sizeof text - 1);
  close(file);
  for (char* c = text; *c; c++) if (*c == '\n') *c = '|';
  return std::string(text, bytes > 0 ? bytes : 0);
}

// --- the C++ library
static void own_end() { std::abort(); }
ITEM(set_terminate) {
  auto before = std::get_terminate();
  if (who) std::set_terminate(own_end);
  step(); put("%d %d", std::get_terminate() == own_end, std::get_terminate() == before); step();
  put("%d", std::set_terminate(before) == own_end); step(); put("%d", std::get_terminate() == before);
}
static int handled;
ITEM(new_handler) {
  handled = 0;
  std::set_new_handler(who ? +[] { handled += 5; std::set_new_handler(nullptr); } : nullptr);
  step();
  volatile size_t bytes = ~size_t{0} / 4;
  try { put("%d", ::operator new(bytes) != nullptr); } catch (const std::bad_alloc&) { put("bad_alloc %d", handled); }
  step(); put("%d", std::get_new_handler() == nullptr);
}
struct Comma : std::numpunct<char> { char do_decimal_point() const override { return who ? ',' : ';'; } };
ITEM(locale_global) {
  std::locale before = std::locale::global(std::locale(std::locale::classic(), new Comma));
  step();
  { std::ostringstream text; text << 1.5; put("%s %d", text.str().c_str(), before == std::locale::classic()); }
  step();
  std::locale::global(who ? std::locale("C.UTF-8") : std::locale::classic());
  step();
  put("%s %s %d", std::locale().name().c_str(), setlocale(LC_CTYPE, nullptr), (int)MB_CUR_MAX);
  step(); std::locale::global(std::locale::classic()); step();
  { std::ostringstream text; text << 2.5; put("%s %s", text.str().c_str(), setlocale(LC_ALL, nullptr)); }
}
struct Counting : std::pmr::memory_resource {
  int count = 0;
  void* do_allocate(size_t bytes, size_t) override { count++; return malloc(bytes); }
  void do_deallocate(void* p, size_t, size_t) override { free(p); }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};
ITEM(memory_resource) {
  static Counting own;
  auto* before = std::pmr::get_default_resource();
  if (who) std::pmr::set_default_resource(&own);
  step();
  { std::pmr::string text(100, 'a'); put("%d %d", own.count, std::pmr::get_default_resource() == before); }
  step(); std::pmr::set_default_resource(before); step(); put("%d", std::pmr::get_default_resource() == before);
}
// --- arithmetic
ITEM(raised) {
  volatile double zero = 0, one = 1, huge = 1e308; volatile long double wide = 0;
  feclearexcept(FE_ALL_EXCEPT); step();
  if (who) zero = one / zero; else huge = huge * huge;
  step();
  put("%d %d %d", fetestexcept(FE_DIVBYZERO) != 0, fetestexcept(FE_OVERFLOW) != 0, fetestexcept(FE_INVALID) != 0); step();
  feclearexcept(FE_ALL_EXCEPT); step();
  if (who) wide = 1 / wide;
  step(); put("%d", fetestexcept(FE_ALL_EXCEPT) == (who ? FE_DIVBYZERO : 0)); step();
  feclearexcept(FE_ALL_EXCEPT); feraiseexcept(who ? FE_INVALID : FE_UNDERFLOW); step();
  fexcept_t flags; fegetexceptflag(&flags, FE_ALL_EXCEPT); put("%d %d", fetestexcept(FE_INVALID) != 0, fetestexcept(FE_UNDERFLOW) != 0); step();
  feclearexcept(FE_ALL_EXCEPT);
}
// --- standard streams and descriptors
ITEM(freopen) {
  std::string path = own_file("out");
  fflush(stdout);
  int saved = dup(1);
  if (who) { if (!freopen(path.c_str(), "w", stdout)) perror("freopen"); }
  step(); printf("one\n"); std::cout << "two\n"; step(); fprintf(stdout, "three\n"); std::cout << std::flush; fflush(stdout); step();
  std::string seen = content(path);
  dup2(saved, 1); close(saved); step();
  put("%s", seen.c_str()); unlink(path.c_str());
}
ITEM(dup2) {
  std::string path = own_file("dup");
  fflush(stdout);
  int saved = dup(STDOUT_FILENO), file = open(path.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (who) dup2(file, STDOUT_FILENO);
  close(file); step();
  if (write(STDOUT_FILENO, "raw\n", 4) < 0) perror("write");
  step(); printf("text\n"); fflush(stdout); dup2(saved, STDOUT_FILENO); close(saved); step();
  put("%s", content(path).c_str()); unlink(path.c_str());
}
ITEM(standard_error) {
  std::string path = own_file("err");
  int saved = dup(2);
  if (who) { if (!freopen(path.c_str(), "w", stderr)) perror("freopen"); }
  step(); fprintf(stderr, "e%d\n", who); std::cerr << "f\n"; step(); dup2(saved, 2); close(saved); step();
  put("%s", content(path).c_str()); unlink(path.c_str());
}
ITEM(standard_input) {
  std::string path = own_file("in");
  FILE* made = fopen(path.c_str(), "w"); for (int i = 0; i < 6; i++) fprintf(made, "%d %d\n", who * 100 + i, i); fclose(made);
  if (!freopen(path.c_str(), "r", stdin)) perror("freopen");
  int a = 0, b = 0; char line[40] = {};
  step(); put("%d", scanf("%d %d", &a, &b)); step(); put("%d %d", a, b);
  step(); put("%d", fgets(line, 40, stdin) != nullptr); step(); put("%d", fgets(line, 40, stdin) != nullptr); put("%.5s", line);
  step(); std::cin >> a >> b; step(); put("%d %d %d", a, b, std::cin.good()); step(); put("%d", getchar() == '\n'); put("%d", getchar());
  step(); unlink(path.c_str());
}
ITEM(closed) {
  int saved = dup(2);
  if (who) close(2);
  step(); errno = 0; put("%d %d", (int)write(2, "", 0), errno); step(); put("%d", fcntl(2, F_GETFD) >= 0);
  step(); dup2(saved, 2); close(saved); step(); put("%d", (int)write(2, "", 0));
}
ITEM(fclose) {
  std::string path = own_file("fclose");
  fflush(stdout);
  int saved = dup(0);
  if (who) fclose(stdin);
  step(); put("%d", fcntl(0, F_GETFD) >= 0); step(); dup2(saved, 0); close(saved); put("%d", fcntl(0, F_GETFD) >= 0);
}
// --- the process
ITEM(fchdir) {
  std::string path = own_file("folder"); mkdir(path.c_str(), 0700); int folder = open(path.c_str(), O_RDONLY | O_DIRECTORY), before = open(".", O_RDONLY | O_DIRECTORY);
  if (who) put("%d %d %d", folder >= 0, fchdir(folder), errno);
  step(); char at[256]; put("%d", getcwd(at, 256) && path == at); step(); put("%d", fchdir(before)); close(folder); close(before); step(); rmdir(path.c_str());
  step(); put("%d", getcwd(at, 256) && path != at);
}
ITEM(rlimit) {
  rlimit before{}, limit{}; put("%d", getrlimit(RLIMIT_NOFILE, &before)); limit = before; limit.rlim_cur = 80 + who; put("%d", setrlimit(RLIMIT_NOFILE, &limit)); step();
  put("%d %d", getrlimit(RLIMIT_NOFILE, &limit), (int)limit.rlim_cur); step(); put("%d", setrlimit(RLIMIT_NOFILE, &before));
  limit.rlim_cur = limit.rlim_max = 0; if (who) put("%d", setrlimit(RLIMIT_CORE, &limit)); step(); rlimit core{}; getrlimit(RLIMIT_CORE, &core); put("%d", who ? core.rlim_max == 0 : 1);
  limit.rlim_cur = 5; limit.rlim_max = 4; put("%d", setrlimit(RLIMIT_CPU, &limit) == -1 && errno == EINVAL);
}
ITEM(affinity) {
  cpu_set_t all, one, seen, again; sched_getaffinity(0, sizeof all, &all); CPU_ZERO(&one);
  int wanted = who; for (int i = 0; i < CPU_SETSIZE; i++) if (CPU_ISSET(i, &all) && (wanted-- == 0 || CPU_COUNT(&all) == 1)) CPU_SET(i, &one);
  put("%d", sched_setaffinity(0, sizeof one, &one)); sched_getaffinity(0, sizeof seen, &seen); step(); put("%d %d", sched_getaffinity(0, sizeof again, &again), CPU_EQUAL(&again, &seen)); step();
  sched_setaffinity(0, sizeof all, &all); step(); sched_getaffinity(0, sizeof seen, &seen); put("%d", CPU_EQUAL(&all, &seen));
}
ITEM(priority) {
  int base = getpriority(PRIO_PROCESS, 0); step(); if (who) put("%d", nice(3) - base); step(); put("%d", getpriority(PRIO_PROCESS, 0) - base); step();
  if (who) put("%d", setpriority(PRIO_PROCESS, 0, base + 4)); step(); put("%d", getpriority(PRIO_PROCESS, 0) - base);
}
// --- look-ups
ITEM(h_errno) { h_errno = 1 + who; step(); put("%d", h_errno); }
ITEM(getpwent) {
  int plain = 0, between = 0; setpwent(); while (getpwent()) plain++; endpwent(); step();
  setpwent(); for (passwd* p; between < 20 && (p = getpwent()); between++) { std::string name = p->pw_name; if (between < 12) step(); if (name != p->pw_name) put("other name"); } endpwent();
  put("%d", between == (plain < 20 ? plain : 20));
}
ITEM(getgrent) {
  int plain = 0, between = 0; setgrent(); while (getgrent()) plain++; endgrent(); step();
  setgrent(); for (group* g; between < 20 && (g = getgrent()); between++) { std::string name = g->gr_name; if (between < 12) step(); if (name != g->gr_name) put("other name"); } endgrent();
  put("%d", between == (plain < 20 ? plain : 20));
}
ITEM(getservent) {
  int plain = 0, between = 0; setservent(1); while (plain < 20 && getservent()) plain++; endservent(); step();
  setservent(0); for (servent* s; between < 20 && (s = getservent()); between++) { std::string name = s->s_name; if (between < 12) step(); if (name != s->s_name) put("other name"); } endservent();
  put("%d", between == plain);
}
ITEM(services) {
  servent* s = getservbyname(who ? "http" : "ssh", "tcp"); std::string name = s ? s->s_name : ""; protoent* p = getprotobyname(who ? "tcp" : "udp"); std::string kind = p ? p->p_name : ""; hostent* h = gethostbyname(who ? "127.0.0.1" : "127.0.0.2"); step();
  put("%d %d", !s || name == s->s_name, !p || kind == p->p_name); put("%d", !h || h->h_addr_list[0][3] == 2 - who);
}
ITEM(ether) { ether_addr a{}; a.ether_addr_octet[5] = 7 + who; char* t = ether_ntoa(&a); step(); put("%s", t); ether_addr* b = ether_aton(who ? "1:2:3:4:5:6" : "6:5:4:3:2:1"); step(); put("%d", b->ether_addr_octet[0]); }
// --- characters that are begun
ITEM(conversions) {
  setlocale(LC_CTYPE, "C.UTF-8");
  const char* euro = "\xe2\x82\xac"; char32_t c = 0; wchar_t w[4] = {}; step();
  size_t a = mbrtoc32(&c, euro, 1 + who, nullptr); step(); size_t b = mbrtoc32(&c, euro + 1 + who, 2 - who, nullptr); put("%zd %zd %x", (ssize_t)a, (ssize_t)b, (unsigned)c); step();
  const char* from = euro; a = mbsnrtowcs(w, &from, 1 + who, 4, nullptr); step(); from = euro + 1 + who; b = mbsnrtowcs(w, &from, 2 - who, 4, nullptr); put("%zd %zd %x", (ssize_t)a, (ssize_t)b, (unsigned)w[0]); step();
  setlocale(LC_CTYPE, "C");
}
// --- locks between processes
ITEM(record_lock) {
  std::string path = own_file("lock"); int file = open(path.c_str(), O_CREAT | O_RDWR, 0600);
  struct flock lock{}; lock.l_type = F_WRLCK; put("%d", fcntl(file, F_SETLK, &lock)); step(); lock.l_type = F_UNLCK; put("%d", fcntl(file, F_SETLKW, &lock)); put("%d %d", lockf(file, F_TLOCK, 0), lockf(file, F_ULOCK, 0)); put("%d %d", flock(file, LOCK_EX), flock(file, LOCK_UN)); close(file); unlink(path.c_str());
}
ITEM(flock) {
  std::string path = "/tmp/clib-more-lock-" + std::to_string(getppid()); int file = open(path.c_str(), O_CREAT | O_RDWR, 0600);
  if (!who) put("%d", flock(file, LOCK_EX));
  step(); if (!who) { for (int i = 0; i < 9; i++) sched_yield(); flock(file, LOCK_UN); }
  if (who) put("%d %d", flock(file, LOCK_EX), flock(file, LOCK_UN));
  step(); close(file); unlink(path.c_str());
}

int main(int argc, char** argv) { return run_items(argc, argv); }
