// What honest host code does with the C++ library: calls through pointers and tables, exceptions of
// all kinds, containers that walk over nodes. None of it may be taken for an attack.
#include <cuda_runtime.h>

#include <algorithm>
#include <any>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <list>
#include <locale>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

static int g_failed = 0;
#define EXPECT(what)                                 \
  do {                                               \
    if (!(what)) {                                   \
      std::printf("line %d: %s\n", __LINE__, #what); \
      g_failed++;                                    \
    }                                                \
  } while (0)

struct Shape {
  virtual ~Shape() = default;
  virtual int corners() const { return 0; }
};
struct Square : virtual Shape {
  int corners() const override { return 4; }
};
struct Named {
  virtual std::string name() const { return "named"; }
  virtual ~Named() = default;
};
struct Both : Square, Named {
  std::string name() const override { return "both"; }
};
struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
  int code = 7;
};
struct Deep : Failure, Named {
  Deep() : Failure("deep") {}
};
enum class Color { Red };

template <class Thrown, class Caught>
bool is_caught(Thrown value) {
  try {
    throw value;
  } catch (Caught&) {
    return true;
  } catch (...) {
    return false;
  }
}

int nested(int depth) {
  try {
    if (depth == 0) throw Failure("bottom");
    return nested(depth - 1);
  } catch (Failure& failure) {
    failure.code++;  // the program's own object
    throw;
  }
}

void exceptions() {
  EXPECT((is_caught<int, int>(3)));
  EXPECT((is_caught<const char*, const char*>("text")));
  EXPECT((is_caught<Color, Color>(Color::Red)));
  EXPECT((is_caught<Both, Named>({})));
  EXPECT((is_caught<Both, Shape>({})));
  EXPECT((is_caught<int Failure::*, int Failure::*>(&Failure::code)));
  EXPECT((is_caught<int (*)(int), int (*)(int)>(&nested)));
  EXPECT((is_caught<Deep, std::exception>({})));
  EXPECT((is_caught<std::shared_ptr<int>, std::shared_ptr<int>>(std::make_shared<int>(3))));
  EXPECT((is_caught<std::string, std::string>(std::string(100, 'x'))));
  EXPECT((is_caught<std::vector<std::string>, std::vector<std::string>>({"a", "b"})));
  try {
    nested(4);
  } catch (const std::exception& failure) {
    EXPECT(dynamic_cast<const Failure&>(failure).code == 12);
    EXPECT(std::string(failure.what()) == "bottom");
  }
  try {
    EXPECT(std::vector<int>(2).at(5) == 0);
  } catch (const std::out_of_range& error) {
    EXPECT(std::string(error.what()).size() > 5);
  }
  try {
    EXPECT(std::stoi("none") == 1);
  } catch (const std::invalid_argument&) {
  }
  try {
    (void)std::any_cast<int>(std::any(3.0));
    (void)dynamic_cast<Both&>(*std::make_unique<Square>());
  } catch (const std::bad_cast& error) {
    EXPECT(error.what());
  }
  std::exception_ptr kept, other;
  try {
    throw Deep();
  } catch (...) {
    kept = std::current_exception();
    other = kept;
  }
  for (int i = 0; i < 3; i++) {
    try {
      std::rethrow_exception(other);
    } catch (Failure& failure) {
      EXPECT(failure.code++ == 7 + i);
    }
  }
  kept = nullptr;
  other = std::make_exception_ptr(std::string("made"));
  std::swap(kept, other);
  try {
    std::rethrow_exception(kept);
  } catch (std::string& text) {
    EXPECT(text == "made");
  }
  try {
    try {
      throw 1;
    } catch (int) {
      std::throw_with_nested(Failure("outer"));
    }
  } catch (const Failure& outer) {
    try {
      std::rethrow_if_nested(outer);
    } catch (int inner) {
      EXPECT(inner == 1);
    }
  }
  try {
    throw std::system_error(std::make_error_code(std::errc::timed_out), "waited");
  } catch (const std::system_error& error) {
    EXPECT(!error.code().message().empty());
  }
  EXPECT(std::uncaught_exceptions() == 0);
}

int twice(int x) { return 2 * x; }
int compare(const void* a, const void* b) {
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

void pointers() {
  int (*volatile plain)(int) = &twice;
  EXPECT(plain(4) == 8);
  double (*volatile sine)(double) = &std::sin;
  EXPECT(sine(0.0) == 0.0);
  std::unique_ptr<void, void (*)(void*)> block(std::malloc(8), &std::free);
  cudaError_t (*volatile call)() = &cudaDeviceSynchronize;
  EXPECT(call() == cudaSuccess);
  std::function<int(int)> wrapped = [&](int x) { return plain(x) + 1; };
  EXPECT(wrapped(1) == 3);
  auto bound = std::bind(&Shape::corners, std::placeholders::_1);
  Both both;
  Shape* shape = &both;
  EXPECT(bound(*shape) == 4 && dynamic_cast<Named*>(shape)->name() == "both");
  int values[] = {3, 1, 2};
  std::qsort(values, 3, sizeof *values, compare);
  EXPECT(values[0] == 1 && std::bsearch(&values[1], values, 3, sizeof *values, compare));
  std::variant<int, std::string> either = std::string("x");
  EXPECT(std::visit([](auto& v) { return sizeof v; }, either) == sizeof(std::string));
}

void containers() {
  std::map<std::string, int> map;
  std::set<int> set;
  std::multimap<int, int> many;
  std::list<int> list;
  std::unordered_map<std::string, double> table;
  for (int i = 0; i < 300; i++) {
    map[std::to_string(i * 7919 % 300)] = i;
    set.insert(i * 31 % 97);
    many.emplace(i % 5, i);
    list.push_front(i);
    table[std::to_string(i)] += i;
  }
  for (int i = 0; i < 300; i += 2) map.erase(std::to_string(i));
  EXPECT(map.size() == 150 && set.size() == 97 && many.count(3) == 60 && table.size() == 300);
  EXPECT(std::is_sorted(set.begin(), set.end()) && *set.rbegin() == 96);
  EXPECT(std::prev(map.end())->first == "99");
  list.sort();
  list.reverse();
  std::list<int> rest;
  rest.splice(rest.begin(), list, list.begin(), std::next(list.begin(), 10));
  rest.swap(list);
  EXPECT(list.front() == 299 && rest.front() == 289 && rest.size() == 290);
}

void streams() {
  std::ostringstream text;
  text << std::setprecision(3) << 3.14159 << ' ' << std::hex << 255 << std::endl;
  EXPECT(text.str() == "3.14 ff\n");
  std::istringstream in("12 word 2.5\nline");
  int number = 0;
  std::string word;
  double real = 0;
  in >> number >> word >> real;
  EXPECT(number == 12 && word == "word" && real == 2.5);
  std::getline(in, word);
  std::cout << "on the way" << std::endl;
  EXPECT(std::use_facet<std::ctype<char>>(std::locale()).narrow('a', '?') == 'a');
  EXPECT(std::toupper('a', std::locale()) == 'A');
  EXPECT(std::use_facet<std::numpunct<char>>(std::locale()).decimal_point() == '.');
}

void threads() {
  std::mutex mutex;
  std::condition_variable ready;
  std::once_flag once;
  std::atomic<int> count{0};
  bool go = false;
  std::vector<std::thread> all;
  for (int i = 0; i < 3; i++) {
    all.emplace_back([&] {
      std::unique_lock lock(mutex);
      ready.wait(lock, [&] { return go; });
      std::call_once(once, [&] { count += 100; });
      try {
        throw i;
      } catch (int) {
        count++;
      }
    });
  }
  {
    std::lock_guard lock(mutex);
    go = true;
  }
  ready.notify_all();
  for (auto& thread : all) thread.join();
  EXPECT(count == 103);
  auto later = std::async(std::launch::async, []() -> int { throw Failure("later"); });
  try {
    later.get();
    EXPECT(false);
  } catch (const Failure& failure) {
    EXPECT(failure.code == 7);
  }
}

typedef float (*Operation)(float);
__device__ float halve(float x) { return x / 2; }
__device__ float square(float x) { return x * x; }
__device__ Operation g_operations[] = {halve, square};
struct Base {
  __device__ virtual float value(float x) const { return x; }
};
struct Plus : Base {
  __device__ float value(float x) const override { return x + 1; }
};
__global__ void calls(float* out) {
  Plus plus;
  const Base* base = &plus;
  out[threadIdx.x] = base->value(g_operations[threadIdx.x % 2](float(threadIdx.x)));
}
void host_function(void* data) { ++*static_cast<int*>(data); }

void device() {
  float* out = nullptr;
  float copied[64];
  EXPECT(cudaMalloc(&out, sizeof copied) == cudaSuccess);
  calls<<<1, 64>>>(out);
  int called = 0;
  EXPECT(cudaLaunchHostFunc(nullptr, host_function, &called) == cudaSuccess);
  EXPECT(cudaMemcpy(copied, out, sizeof copied, cudaMemcpyDeviceToHost) == cudaSuccess);
  EXPECT(copied[2] == 2 && copied[3] == 10 && called == 1);
  cudaFree(out);
}

struct AtExit {
  std::string text = "a text that is longer than what fits inside";
  ~AtExit() { std::printf("%zu\n", text.size()); }
} g_at_exit;
thread_local std::string t_text = "another that each thread has for itself alone";

int main() {
  std::atexit([] { std::puts("last"); });
  EXPECT(t_text.size() > 20);
  exceptions();
  pointers();
  containers();
  streams();
  threads();
  device();
  return g_failed;
}
