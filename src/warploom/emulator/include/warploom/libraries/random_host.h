// cuRAND's host interface: generators that fill memory of the device or of the host.
#pragma once

#include <warploom/libraries/random_fills.h>

struct curandGenerator_st {
  curandRngType_t type;
  bool on_host;
  cudaStream_t stream = nullptr;
  unsigned long long seed = 0, offset = 0, position = 0;
};

namespace warploom::libraries {

template <RandomKind kind, class _WT>
curandStatus_t random_generate(const char* name, curandGenerator_t generator, _WT* out,
                               std::size_t count, double first = 0, double second = 0) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  if (count % kRandomValues<kind>) return CURAND_STATUS_LENGTH_NOT_MULTIPLE;
  const unsigned long long items = count / kRandomValues<kind>;
  if (items == 0) return CURAND_STATUS_SUCCESS;
  const RandomFill<_WT> fill{
      {generator->seed, generator->position, static_cast<unsigned>(generator->type)},
      out,
      items,
      first,
      second};
  const bool mrg = fill.from.is_mrg();
  generator->position += items * (mrg ? kMrgDraws<kind> : kRandomDraws<kind, _WT>);
  constexpr unsigned kBlock = 128;
  const unsigned threads = mrg ? kMrgThreads<kind> : kRandomThreads<kind, _WT>;
  if (generator->on_host) {
    for (unsigned thread = 0; thread < threads && thread < items; thread++) {
      if (mrg)
        random_share_mrg<kind>(fill, thread);
      else
        random_share<kind>(fill, thread);
    }
    return CURAND_STATUS_SUCCESS;
  }
  const unsigned blocks = blocks_for(items, kBlock, threads / kBlock);
  const bool launched =
      launch(name, dim3(blocks), dim3(kBlock), generator->stream, random_kernel<kind, _WT>, fill);
  return launched ? CURAND_STATUS_SUCCESS : CURAND_STATUS_LAUNCH_FAILURE;
}

inline curandStatus_t random_create(const char* name, curandGenerator_t* generator,
                                    curandRngType_t type, bool on_host) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  switch (type) {
    case CURAND_RNG_PSEUDO_DEFAULT:
    case CURAND_RNG_PSEUDO_XORWOW:
    case CURAND_RNG_PSEUDO_MRG32K3A:
    case CURAND_RNG_PSEUDO_MTGP32:
    case CURAND_RNG_PSEUDO_MT19937:
    case CURAND_RNG_PSEUDO_PHILOX4_32_10:
      *generator = new curandGenerator_st{type, on_host};
      return CURAND_STATUS_SUCCESS;
    case CURAND_RNG_QUASI_DEFAULT:
    case CURAND_RNG_QUASI_SOBOL32:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL32:
    case CURAND_RNG_QUASI_SOBOL64:
    case CURAND_RNG_QUASI_SCRAMBLED_SOBOL64:
      unsupported(name, "of cuRAND's host generators the pseudorandom ones are played");
    default:
      return CURAND_STATUS_TYPE_ERROR;
  }
}

}  // namespace warploom::libraries

inline curandStatus_t curandCreateGenerator(curandGenerator_t* generator, curandRngType_t type) {
  return warploom::libraries::random_create("curandCreateGenerator", generator, type, false);
}
inline curandStatus_t curandCreateGeneratorHost(curandGenerator_t* generator,
                                                curandRngType_t type) {
  return warploom::libraries::random_create("curandCreateGeneratorHost", generator, type, true);
}
inline curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  delete generator;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->stream = stream;
  return CURAND_STATUS_SUCCESS;
}
// The sequence begins anew, at the offset.
inline curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator,
                                                         unsigned long long seed) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  generator->seed = seed;
  generator->position = generator->offset;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator,
                                               unsigned long long offset) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  // These two have no way to begin in the middle.
  if (generator->type == CURAND_RNG_PSEUDO_MTGP32 || generator->type == CURAND_RNG_PSEUDO_MT19937)
    return CURAND_STATUS_TYPE_ERROR;
  generator->offset = generator->position = offset;
  return CURAND_STATUS_SUCCESS;
}
// An order is a wish: there is one here.
inline curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator,
                                                 curandOrdering_t order) {
  if (!generator) return CURAND_STATUS_NOT_INITIALIZED;
  return order == CURAND_ORDERING_QUASI_DEFAULT ? CURAND_STATUS_OUT_OF_RANGE
                                                : CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator,
                                                              unsigned) {
  return generator ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_NOT_INITIALIZED;
}
// Each call finds its own states.
inline curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  return generator ? CURAND_STATUS_SUCCESS : CURAND_STATUS_NOT_INITIALIZED;
}
inline curandStatus_t curandGetVersion(int* version) {
  if (!version) return CURAND_STATUS_OUT_OF_RANGE;
  *version = CURAND_VERSION;
  return CURAND_STATUS_SUCCESS;
}
inline curandStatus_t curandGetProperty(libraryPropertyType type, int* value) {
  if (!value) return CURAND_STATUS_OUT_OF_RANGE;
  *value = type == MAJOR_VERSION   ? CURAND_VER_MAJOR
           : type == MINOR_VERSION ? CURAND_VER_MINOR
                                   : CURAND_VER_PATCH;
  return CURAND_STATUS_SUCCESS;
}

// Each of these is a template, so that a program compiles the kernels of those that it calls.
#define WARPLOOM_RANDOM_CALL(name, type, kind, parameters, ...)                               \
  template <class = void>                                                                     \
  curandStatus_t name parameters {                                                            \
    return warploom::libraries::random_generate<warploom::libraries::RandomKind::kind, type>( \
        #name, generator, out __VA_OPT__(, ) __VA_ARGS__);                                    \
  }
WARPLOOM_RANDOM_CALL(curandGenerate, unsigned, Bits,
                     (curandGenerator_t generator, unsigned* out, std::size_t n), n)
WARPLOOM_RANDOM_CALL(curandGenerateUniform, float, Uniform,
                     (curandGenerator_t generator, float* out, std::size_t n), n)
WARPLOOM_RANDOM_CALL(curandGenerateUniformDouble, double, Uniform,
                     (curandGenerator_t generator, double* out, std::size_t n), n)
WARPLOOM_RANDOM_CALL(curandGenerateNormal, float, Normal,
                     (curandGenerator_t generator, float* out, std::size_t n, float mean,
                      float deviation),
                     n, mean, deviation)
WARPLOOM_RANDOM_CALL(curandGenerateNormalDouble, double, Normal,
                     (curandGenerator_t generator, double* out, std::size_t n, double mean,
                      double deviation),
                     n, mean, deviation)
WARPLOOM_RANDOM_CALL(curandGenerateLogNormal, float, LogNormal,
                     (curandGenerator_t generator, float* out, std::size_t n, float mean,
                      float deviation),
                     n, mean, deviation)
WARPLOOM_RANDOM_CALL(curandGenerateLogNormalDouble, double, LogNormal,
                     (curandGenerator_t generator, double* out, std::size_t n, double mean,
                      double deviation),
                     n, mean, deviation)
#undef WARPLOOM_RANDOM_CALL
template <class = void>
curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned* out, std::size_t n,
                                     double lambda) {
  if (lambda <= 0 || lambda > 400000) return CURAND_STATUS_OUT_OF_RANGE;
  using warploom::libraries::RandomKind;
  return warploom::libraries::random_generate<RandomKind::Poisson, unsigned>(
      "curandGeneratePoisson", generator, out, n, lambda);
}
// For the quasirandom generators of 64 bits alone.
inline curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long*,
                                             std::size_t) {
  return generator ? CURAND_STATUS_TYPE_ERROR : CURAND_STATUS_NOT_INITIALIZED;
}

#define WARPLOOM_RAND_REFUSED(name) \
  WARPLOOM_REFUSED(curandStatus_t, name, "cuRAND's host interface")
WARPLOOM_RAND_REFUSED(curandCreatePoissonDistribution)
WARPLOOM_RAND_REFUSED(curandDestroyDistribution)
WARPLOOM_RAND_REFUSED(curandGetDirectionVectors32)
WARPLOOM_RAND_REFUSED(curandGetDirectionVectors64)
WARPLOOM_RAND_REFUSED(curandGetScrambleConstants32)
WARPLOOM_RAND_REFUSED(curandGetScrambleConstants64)
#undef WARPLOOM_RAND_REFUSED
