// Thrust's function objects, placeholders and random numbers, against the host's library.
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/random.h>
#include <thrust/random/linear_congruential_engine.h>
#include <thrust/random/uniform_real_distribution.h>
#include <thrust/sequence.h>
#include <thrust/system_error.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>

#include <cmath>
#include <random>
#include <string>

#include "expect.h"

struct Twice : public thrust::unary_function<int, long> {
  __host__ __device__ long operator()(int x) const { return 2L * x; }
};
struct Odd : thrust::unary_function<int, bool> {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct Less : thrust::binary_function<int, int, bool> {
  __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};
// A generator for each element, as in the textbook's estimate of pi.
struct InCircle : public thrust::unary_function<unsigned, float> {
  int calls = 0;
  __host__ __device__ float operator()(unsigned number) {
    calls++;
    thrust::default_random_engine engine(17);
    engine.discard(2ull * number);
    thrust::uniform_real_distribution<float> part(0, 1);
    const float x = part(engine), y = part(engine);
    return std::sqrt(x * x + y * y) <= 1 ? 4.0f : 0.0f;
  }
};

template <class Ours, class Theirs>
static void same_engine() {
  Ours ours(7);
  Theirs theirs(7);
  for (int i = 0; i < 5; i++) EXPECT(ours() == theirs());
  ours.discard(1000003);
  theirs.discard(1000003);
  EXPECT(ours() == theirs());
}

int main() {
  using namespace thrust::placeholders;
  static_assert(std::is_same_v<Twice::result_type, long>);
  static_assert(std::is_same_v<Less::second_argument_type, int>);
  thrust::device_vector<int> v(100), w(100);
  thrust::sequence(v.begin(), v.end());
  EXPECT(thrust::transform_reduce(v.begin(), v.end(), Twice(), 0L, thrust::plus<long>()) == 9900);
  thrust::transform(v.begin(), v.end(), w.begin(), 3 * _1 + 1);
  EXPECT(w[99] == 298);
  thrust::transform(v.begin(), v.end(), w.begin(), w.begin(), (_2 - _1) * -_1);
  EXPECT(w[10] == -210);
  EXPECT(thrust::count_if(v.begin(), v.end(), _1 >= 10 && _1 < 30) == 20);
  EXPECT(thrust::count_if(v.begin(), v.end(), thrust::not1(Odd())) == 50);
  EXPECT(thrust::not2(Less())(1, 2) == false);
  EXPECT((thrust::project2nd<int, int>()(1, 2)) == 2);
  EXPECT(thrust::identity<>()(5) == 5);

  same_engine<thrust::minstd_rand, std::minstd_rand>();
  same_engine<thrust::random::minstd_rand0, std::minstd_rand0>();
  thrust::device_vector<unsigned> numbers(4000);
  thrust::sequence(numbers.begin(), numbers.end());
  const float pi = thrust::transform_reduce(numbers.begin(), numbers.end(), InCircle(), 0.0f,
                                            thrust::plus<float>()) /
                   4000;
  EXPECT(std::fabs(pi - 3.14159f) < 0.1f);
  thrust::minstd_rand engine;
  thrust::uniform_int_distribution<int> dice(1, 6);
  thrust::normal_distribution<float> bell(10, 2);
  int faces[7] = {};
  double sum = 0, squares = 0;
  for (int i = 0; i < 6000; i++) {
    faces[dice(engine)]++;
    const double value = bell(engine);
    sum += value;
    squares += value * value;
  }
  for (int face = 1; face <= 6; face++) EXPECT(faces[face] > 850 && faces[face] < 1150);
  const double mean = sum / 6000;
  EXPECT(std::fabs(mean - 10) < 0.15);
  EXPECT(std::fabs(squares / 6000 - mean * mean - 4) < 0.4);
  try {
    throw thrust::system::detail::bad_alloc("none left");
  } catch (const std::bad_alloc& error) {
    EXPECT(error.what() == std::string("std::bad_alloc: none left"));
  }
  return failures != 0;
}
