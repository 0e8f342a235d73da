// What the C and C++ libraries remember: see two_ranks.h.
#include <arpa/inet.h>
#include <fcntl.h>
#include <fenv.h>
#include <getopt.h>
#include <libgen.h>
#include <math.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <search.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include <cerrno>
#include <clocale>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <exception>
#include <filesystem>
#include <iomanip>
#include <iostream>
#include <locale>
#include <map>
#include <new>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "two_ranks.h"

// --- random numbers
ITEM(rand_fresh) { for (int i = 0; i < 4; i++) { step(); put("%d", rand()); } }
ITEM(srand) { srand(7 + who); for (int i = 0; i < 4; i++) { step(); put("%d", rand()); } }
ITEM(srand_zero) { srand(0); step(); put("%d %ld", rand(), random()); }
ITEM(rand_r) { unsigned s = who; step(); put("%d", rand_r(&s)); step(); put("%d", rand_r(&s)); }
ITEM(random) { srandom(3 + who); step(); put("%ld", random()); step(); put("%ld %d", random(), rand()); }
ITEM(initstate) {
  static char one[128], two[256], small[8], seven[40];
  char* first = initstate(5 + who, one, sizeof one);
  step();
  put("%ld", random());
  char* back = initstate(9, two, sizeof two);
  step();
  put("%ld %d", random(), back == one);
  put("%d", setstate(one) == two);
  step();
  put("%ld", random());
  initstate(who, small, sizeof small); step(); put("%ld %ld", random(), random());
  initstate(who, seven, sizeof seven); step(); put("%ld %ld", random(), random());
  put("%d", initstate(1, small, 4) == nullptr);
  setstate(first);
  step();
  put("%ld", random());
}
ITEM(drand48) { put("%.17g", drand48()); step(); put("%.17g", drand48()); }
ITEM(srand48) { srand48(5 + who); step(); put("%.17g %ld %ld", drand48(), lrand48(), mrand48()); step(); put("%ld", mrand48()); }
ITEM(seed48) {
  unsigned short s[3] = {1, 2, static_cast<unsigned short>(who)};
  seed48(s); step(); put("%ld", lrand48()); step();
  unsigned short* old = seed48(s); step(); put("%d %d %d", old[0], old[1], old[2]);
}
ITEM(lcong48) {
  unsigned short p[7] = {1, 2, 3, 4, 5, static_cast<unsigned short>(6 + who), 7}, x[3] = {9, 8, 7};
  lcong48(p); step();
  put("%ld %.17g %ld %ld", lrand48(), erand48(x), nrand48(x), jrand48(x)); step(); put("%ld", lrand48());
}
// --- strings
ITEM(strtok) {
  char text[40]; snprintf(text, 40, "a%d b%d,c%d", who, who, who);
  for (char* t = strtok(text, " ,"); t; t = strtok(nullptr, " ,")) { put("%s", t); step(); }
}
ITEM(strerror) { char* t = strerror(1 + who); step(); put("%s", t); t = strerror(5000 + who); step(); put("%s", t); }
ITEM(strsignal) { char* t = strsignal(2 + who); step(); put("%s", t); t = strsignal(100 + who); step(); put("%s", t); }
ITEM(ecvt) { int p, n; char* t = ecvt(3.25 + who, 5, &p, &n); step(); put("%s %d %d", t, p, n); t = fcvt(-1.5 * who, 3, &p, &n); step(); put("%s %d %d", t, p, n); }
ITEM(l64a) { char* t = l64a(123456 + who); step(); put("%s", t); put("%s", l64a(0)); put("%s", l64a(-1)); }
ITEM(basename) { char a[] = "/x/y", b[] = "/x/z/"; char* t = dirname(who ? a : b); step(); put("%s", t); char e[] = ""; t = basename(e); step(); put("%s", t); }
ITEM(wcstok) { wchar_t t[] = L"a b"; wchar_t* s; put("%ls", wcstok(t, L" ", &s)); step(); put("%ls", wcstok(nullptr, L" ", &s)); }
ITEM(mbrtowc) {
  setlocale(LC_CTYPE, "C.UTF-8");
  const char* text = who ? "\xe2\x82\xac" : "\xc3\xa9";
  wchar_t out = 0; step();
  size_t a = mbrtowc(&out, text, 1, nullptr); step();
  size_t b = mbrtowc(&out, text + 1, 3, nullptr); put("%zd %zd %x", (ssize_t)a, (ssize_t)b, (unsigned)out);
  step(); setlocale(LC_CTYPE, "C");
}
ITEM(mblen) { mblen(nullptr, 0); wchar_t c; char o[8]; step(); put("%d %d %d", mblen("a", 1), mbtowc(&c, "b", 1), wctomb(o, L'c')); }
// --- time
ITEM(localtime) { time_t t = 1000000000 + 86400 * who; tm* b = localtime(&t); step(); put("%d %d", b->tm_mday, b->tm_hour); }
ITEM(gmtime) { time_t t = 86400 * 40 * who; tm* b = gmtime(&t); step(); put("%d %d", b->tm_mon, b->tm_mday); }
ITEM(ctime) { time_t t = 5000000 * who; char* b = ctime(&t); step(); put("%.24s", b); }
ITEM(asctime) { tm b{}; b.tm_mday = 3 + who; b.tm_year = 99; char* t = asctime(&b); step(); put("%.24s", t); }
ITEM(zone) {
  setenv("TZ", who ? "XYZ-5" : "ABC3", 1); tzset(); step();
  time_t t = 1000000000; put("%d %s", localtime(&t)->tm_hour, tzname[0]); step();
  tm b{}; b.tm_year = 100; b.tm_mday = 1; put("%ld", (long)mktime(&b)); step();
  char s[40]; tm r; localtime_r(&t, &r); strftime(s, 40, "%H %Z", &r); put("%s", s);
  unsetenv("TZ"); tzset(); step();
}
// --- the environment
ITEM(setenv) { setenv("WHO", std::to_string(who).c_str(), 1); step(); put("%s", getenv("WHO")); setenv("WHO", "x", 0); step(); put("%s", getenv("WHO")); unsetenv("WHO"); step(); put("%d", getenv("WHO") == nullptr); }
ITEM(one_sets) { if (who) setenv("ONE", "1", 1); step(); put("%d", getenv("ONE") != nullptr); step(); }
ITEM(putenv) { static char e[16]; snprintf(e, 16, "PUT=%d", who); putenv(e); step(); put("%s", getenv("PUT")); e[4] = 'z'; step(); put("%s %d", getenv("PUT"), who); }
ITEM(environ) { char** e = environ; int n = 0; step(); for (; *e; e++) n += !strncmp(*e, "PUT=", 4); put("%d", n); }
ITEM(many_variables) {
  for (int i = 0; i < 50; i++) { setenv(("V" + std::to_string(i)).c_str(), std::to_string(i * 2 + who).c_str(), 1); if (i % 10 == 0) step(); }
  int sum = 0; for (int i = 0; i < 50; i++) sum += atoi(getenv(("V" + std::to_string(i)).c_str()));
  put("%d %d", sum, setenv("a=b", "", 1));
}
ITEM(clearenv) { if (who) clearenv(); step(); put("%d", getenv("V3") != nullptr); setenv("V3", "n", 1); step(); put("%s", getenv("V3")); }
// --- options
static void parse(const char* letters, std::vector<const char*> words, bool longs = false, bool only = false) {
  static int flag;
  flag = 0;
  static const option table[] = {{"count", required_argument, nullptr, 'c'}, {"verbose", no_argument, &flag, 5},
    {"version", no_argument, nullptr, 'V'}, {"maybe", optional_argument, nullptr, 'm'}, {nullptr, 0, nullptr, 0}};
  words.insert(words.begin(), "prog");
  std::vector<char*> argv;
  std::vector<std::string> own(words.begin(), words.end());
  for (auto& w : own) argv.push_back(w.data());
  argv.push_back(nullptr);
  int argc = argv.size() - 1, c, index = -1;
  optind = 0; opterr = 0; optopt = 0;
  while ((c = only ? getopt_long_only(argc, argv.data(), letters, table, &index) : longs ? getopt_long(argc, argv.data(), letters, table, &index) : getopt(argc, argv.data(), letters)) != -1) {
    put("%d %s %d %d %d %d", c, optarg ? optarg : "-", optind, optopt, index, flag);
    step();
  }
  std::string rest;
  for (int i = 0; i < argc; i++) rest += std::string(argv[i]) + " ";
  put("%d %s", optind, rest.c_str());
}
static void together(std::vector<const char*> a, std::vector<const char*> b, const char* letters, bool longs = false, bool only = false) {
  parse(letters, who ? a : b, longs, only);
}
ITEM(getopt) { together({"-ab", "-n", "5", "x"}, {"-ba", "-n7", "x", "-a"}, "abn:"); }
ITEM(getopt_order) { together({"x", "-a", "y", "-b"}, {"x", "-a", "y", "-b"}, "+ab"); parse("-ab", {"x", "-a", "y"}); step(); }
ITEM(getopt_errors) { together({"-z", "-n"}, {"-q", "-n"}, "an:"); together({"-z", "-n"}, {"-q", "-n"}, ":an:"); together({"-o", "-ox", "--", "-a"}, {"-oy", "-o", "--", "-b"}, "o::ab"); }
ITEM(getopt_permute) { together({"1", "-a", "2", "-n", "3", "4", "--", "-b", "5"}, {"1", "2", "-a", "3", "-b", "--", "6", "7", "8"}, "abn:"); }
ITEM(getopt_long) { together({"x", "--count=3", "--verb", "y", "--count", "4", "-a"}, {"--cou", "9", "x", "--verbose", "--maybe=z", "--maybe", "-a"}, "ac:m::", true); }
ITEM(getopt_long_errors) { together({"--ver", "--nope", "--verbose=3", "--count"}, {"--v", "--nop=1", "--version=1", "--count"}, "ac:", true); together({"-count", "3", "-a"}, {"-verbose", "-a", "-c5"}, "ac:", true, true); }
// --- processes
ITEM(errno) { errno = 10 + who; step(); put("%d", errno); errno = 0; }
ITEM(getpid) { pid_t p = getpid(); step(); put("%d %d", p == getpid(), p != getppid()); }
static volatile int hits;
static void on_signal(int n) { hits = hits * 10 + n % 10; }
ITEM(signal) { hits = 0; signal(SIGUSR1, who ? SIG_IGN : on_signal); step(); raise(SIGUSR1); step(); put("%d", hits); put("%d", signal(SIGUSR1, SIG_DFL) == on_signal); }
ITEM(sigaction) {
  hits = 0; struct sigaction a{}, old{}; a.sa_sigaction = [](int n, siginfo_t* i, void*) { hits = hits + n * 100 + (i->si_signo == n); }; a.sa_flags = SA_SIGINFO | SA_RESETHAND;
  sigaction(SIGUSR2, who ? &a : nullptr, nullptr); step();
  sigaction(SIGUSR2, nullptr, &old); put("%d", old.sa_handler == SIG_DFL); step();
  if (who) kill(getpid(), SIGUSR2); step(); put("%d", hits);
  sigaction(SIGUSR2, nullptr, &old); put("%d", old.sa_handler == SIG_DFL);
}
ITEM(sigmask) {
  hits = 0; signal(SIGUSR1, on_signal); sigset_t s, p; sigemptyset(&s); sigaddset(&s, SIGUSR1);
  if (who) sigprocmask(SIG_BLOCK, &s, nullptr); step(); raise(SIGUSR1); step(); put("%d", hits);
  sigpending(&p); put("%d", sigismember(&p, SIGUSR1)); sigprocmask(SIG_UNBLOCK, &s, nullptr); step(); put("%d", hits); signal(SIGUSR1, SIG_DFL);
}
ITEM(alarm) { unsigned a = alarm(100 + who); step(); unsigned b = alarm(0); put("%u %d", a, b >= 99u + who && b <= 100u + who); }
ITEM(chdir) {
  char d[64]; snprintf(d, 64, "/tmp/clib-%d-%d", (int)getpid(), who); mkdir(d, 0700); int r = chdir(d); step();
  FILE* f = fopen("mine", "w"); fprintf(f, "%d", who); fclose(f); step();
  char at[256]; put("%d %d", r, getcwd(at, 256) && !strcmp(at, d)); step();
  put("%d %d", access("mine", R_OK), std::filesystem::current_path() == d); unlink("mine"); std::filesystem::current_path("/"); rmdir(d); step(); put("%s", getcwd(at, 256));
}
ITEM(umask) { umask(who ? 077 : 022); step(); mode_t m = umask(0); put("%o", m); step(); umask(m); }
// --- locales
ITEM(setlocale) { put("%s", setlocale(LC_ALL, nullptr)); step(); put("%d", setlocale(LC_CTYPE, who ? "C.UTF-8" : "C") != nullptr); step(); put("%s %d", setlocale(LC_ALL, nullptr), (int)MB_CUR_MAX); step(); put("%d", setlocale(LC_ALL, "nowhere") == nullptr); setlocale(LC_ALL, "C"); step(); put("%d", (int)MB_CUR_MAX); }
ITEM(localeconv) { lconv* l = localeconv(); step(); put("%s %d", l->decimal_point, l->frac_digits); }
ITEM(uselocale) { locale_t l = newlocale(LC_ALL_MASK, "C.UTF-8", nullptr); if (who) uselocale(l); step(); put("%d %d", (int)MB_CUR_MAX, uselocale(nullptr) == LC_GLOBAL_LOCALE); step(); uselocale(LC_GLOBAL_LOCALE); }
// --- streams
ITEM(cout) {
  fflush(stdout); if (who) { std::cout << std::hex << std::setfill('*') << std::setprecision(3) << std::showbase; std::cerr << std::hex; } step();
  put("%d %c %d", (int)std::cout.flags(), std::cout.fill(), (int)std::cout.precision()); put("%d", (int)std::cerr.flags()); std::cout.width(5 + who); step(); put("%d", (int)std::cout.width());
  std::cout.width(0); std::cout << std::dec << std::setfill(' ') << std::setprecision(6) << std::noshowbase; std::cerr << std::dec;
}
ITEM(cout_buffer) { std::ostringstream s; auto* b = who ? std::cout.rdbuf(s.rdbuf()) : std::cout.rdbuf(); step(); if (who) std::cout << "kept"; step(); put("%s %d", s.str().c_str(), std::cout.good()); std::cout.rdbuf(b); }
ITEM(cout_state) { if (who) std::cout.setstate(std::ios::failbit); step(); put("%d", std::cout.fail()); std::cout.clear(); step(); std::cout << "@" << who << " cout_state: written\n" << std::flush; put("%d %d", std::cin.tie() == &std::cout, std::ios::sync_with_stdio(true)); }
// --- arithmetic
ITEM(rounding) { fesetround(who ? FE_UPWARD : FE_DOWNWARD); step(); volatile double a = 1, b = 3; put("%d %a", fegetround() == (who ? FE_UPWARD : FE_DOWNWARD), a / b); step(); volatile long double c = 1, d = 3; put("%La", c / d); fesetround(FE_TONEAREST); step(); put("%a", a / b); }
ITEM(traps) { if (who) feenableexcept(FE_OVERFLOW); step(); put("%d", fegetexcept() == (who ? FE_OVERFLOW : 0)); fedisableexcept(FE_ALL_EXCEPT); step(); put("%d", fegetexcept()); }
ITEM(signgam) { volatile double x = who ? -0.5 : 2.5; double v = lgamma(x); step(); put("%.10g %d", v, signgam); }
// --- look-ups
ITEM(inet_ntoa) { in_addr a; a.s_addr = htonl(0x01020304 + who); char* t = inet_ntoa(a); step(); put("%s", t); }
ITEM(getpwuid) { passwd* p = getpwnam(who ? "nobody" : "no such user"); step(); put("%d", p ? (int)p->pw_uid : -1); }
ITEM(hsearch) {
  hcreate(10 + who); static char k[] = "key"; ENTRY e{k, reinterpret_cast<void*>(5L + who)}; hsearch(e, ENTER); step();
  ENTRY* f = hsearch({k, nullptr}, FIND); put("%ld", f ? (long)f->data : -1); step(); hdestroy();
}
ITEM(tmpnam) { static char b[L_tmpnam]; char* t = tmpnam(nullptr); strcpy(b, t); step(); put("%d", !strcmp(b, t)); }
// --- handlers
// --- threads of one process
static thread_local int local_value = 3;
static thread_local std::string local_text = "begin";
static int ended = 0;
struct Noisy { int id = 0; ~Noisy() { ended += id; } };
static thread_local Noisy noisy;
static __thread long plain_local;
static std::string locals() { return std::to_string(local_value) + " " + local_text + " " + std::to_string(plain_local); }
ITEM(thread_local) {
  local_value += who; local_text += std::to_string(who); plain_local = 9 + who; noisy.id = 50; step(); put("%s", locals().c_str());
  std::string first, second, third;
  const auto work = [](std::string& out, int id) { out = locals(); local_value = id; local_text = "other"; noisy.id = id; plain_local = 1; for (int i = 0; i < 5; i++) std::this_thread::yield(); out += " then " + locals(); };
  std::thread a([&] { work(first, 7); }), b([&] { work(second, 8); });
  step(); put("%s", locals().c_str()); a.join(); b.join(); step();
  put("%s; %s; %s; %d", locals().c_str(), first.c_str(), second.c_str(), ended);
}
ITEM(thread_errno) { errno = 5; int seen[2]; std::thread a([&] { seen[0] = errno; errno = 6; for (int i = 0; i < 5; i++) std::this_thread::yield(); seen[1] = errno; }); step(); put("%d", errno); a.join(); put("%d %d", seen[0], seen[1]); errno = 0; }
ITEM(thread_id) {
  auto self = std::this_thread::get_id(); std::thread::id seen; pthread_t posix = pthread_self(), other; bool same = true;
  std::thread a([&] { seen = std::this_thread::get_id(); other = pthread_self(); }); auto id = a.get_id(); a.join(); step();
  put("%d %d %d %d", self == std::this_thread::get_id(), seen == id, seen == self, pthread_equal(posix, other)); (void)same;
}
static void key_end(void* p) { put("key %ld", (long)p); }
ITEM(thread_keys) {
  static pthread_key_t key; pthread_key_create(&key, key_end); pthread_setspecific(key, (void*)(4L + who)); step();
  std::thread a([] { put("%ld", (long)pthread_getspecific(key)); pthread_setspecific(key, (void*)(40L + who)); });
  a.join(); step(); put("%ld", (long)pthread_getspecific(key)); pthread_setspecific(key, nullptr); put("%d", pthread_key_delete(key)); put("%d", pthread_setspecific(key, nullptr) == EINVAL);
}
ITEM(thread_exit) { pthread_t t; pthread_create(&t, nullptr, [](void*) -> void* { pthread_exit((void*)(8L + who)); }, nullptr); void* r; pthread_join(t, &r); step(); put("%ld", (long)r); }
static int inits = 0;
static int slow() { inits++; std::this_thread::yield(); return inits; }
static int once_value() { static int v = slow(); return v; }
ITEM(static_local) { std::thread a([] { once_value(); }), b([] { once_value(); }); a.join(); b.join(); step(); put("%d %d", once_value(), inits); }
ITEM(call_once) { static pthread_once_t o = PTHREAD_ONCE_INIT; static int n; for (int i = 0; i < 2; i++) { pthread_once(&o, [] { n++; }); step(); } put("%d", n); }

struct Global { ~Global() { item = "static"; put("destructor"); } };
static Global global;

static void on_exits() {
  atexit([] { item = "atexit"; put("first"); });
  if (who) atexit([] { item = "atexit"; put("second"); });
  on_exit([](int code, void* p) { item = "on_exit"; put("%d %ld", code, (long)p); }, (void*)3L);
}

int main(int argc, char** argv) { return run_items(argc, argv, on_exits); }
