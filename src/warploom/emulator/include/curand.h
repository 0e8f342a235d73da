// cuRAND's host interface: its names. In which order its generators fill memory is said for no GPU
// in particular, so that a call is refused, by name and line.
#pragma once

#include "cuda_runtime.h"
#include "library_types.h"
#include "warploom/libraries/refused.h"

// Programs ask by this which headers were read.
#define CURAND_H_
#define CURAND_VER_MAJOR 10
#define CURAND_VER_MINOR 4
#define CURAND_VER_PATCH 0
#define CURAND_VERSION 10400
#define CURANDAPI

enum curandStatus_t {
  CURAND_STATUS_SUCCESS = 0,
  CURAND_STATUS_VERSION_MISMATCH = 100,
  CURAND_STATUS_NOT_INITIALIZED = 101,
  CURAND_STATUS_ALLOCATION_FAILED = 102,
  CURAND_STATUS_TYPE_ERROR = 103,
  CURAND_STATUS_OUT_OF_RANGE = 104,
  CURAND_STATUS_LENGTH_NOT_MULTIPLE = 105,
  CURAND_STATUS_DOUBLE_PRECISION_REQUIRED = 106,
  CURAND_STATUS_LAUNCH_FAILURE = 201,
  CURAND_STATUS_PREEXISTING_FAILURE = 202,
  CURAND_STATUS_INITIALIZATION_FAILED = 203,
  CURAND_STATUS_ARCH_MISMATCH = 204,
  CURAND_STATUS_INTERNAL_ERROR = 999,
};
typedef curandStatus_t curandStatus;
enum curandRngType_t {
  CURAND_RNG_TEST = 0,
  CURAND_RNG_PSEUDO_DEFAULT = 100,
  CURAND_RNG_PSEUDO_XORWOW = 101,
  CURAND_RNG_PSEUDO_MRG32K3A = 121,
  CURAND_RNG_PSEUDO_MTGP32 = 141,
  CURAND_RNG_PSEUDO_MT19937 = 142,
  CURAND_RNG_PSEUDO_PHILOX4_32_10 = 161,
  CURAND_RNG_QUASI_DEFAULT = 200,
  CURAND_RNG_QUASI_SOBOL32 = 201,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL32 = 202,
  CURAND_RNG_QUASI_SOBOL64 = 203,
  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64 = 204,
};
typedef curandRngType_t curandRngType;
enum curandOrdering_t {
  CURAND_ORDERING_PSEUDO_BEST = 100,
  CURAND_ORDERING_PSEUDO_DEFAULT = 101,
  CURAND_ORDERING_PSEUDO_SEEDED = 102,
  CURAND_ORDERING_PSEUDO_LEGACY = 103,
  CURAND_ORDERING_PSEUDO_DYNAMIC = 104,
  CURAND_ORDERING_QUASI_DEFAULT = 201,
};
enum curandDirectionVectorSet_t {
  CURAND_DIRECTION_VECTORS_32_JOEKUO6 = 101,
  CURAND_SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6 = 102,
  CURAND_DIRECTION_VECTORS_64_JOEKUO6 = 103,
  CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6 = 104,
};
typedef unsigned curandDirectionVectors32_t[32];
typedef unsigned long long curandDirectionVectors64_t[64];
typedef struct curandGenerator_st* curandGenerator_t;
typedef struct curandDiscreteDistribution_st* curandDiscreteDistribution_t;

#define WARPLOOM_RAND_REFUSED(name) \
  WARPLOOM_REFUSED(curandStatus_t, name, "cuRAND's host interface")
WARPLOOM_RAND_REFUSED(curandCreateGenerator)
WARPLOOM_RAND_REFUSED(curandCreateGeneratorHost)
WARPLOOM_RAND_REFUSED(curandDestroyGenerator)
WARPLOOM_RAND_REFUSED(curandSetStream)
WARPLOOM_RAND_REFUSED(curandSetPseudoRandomGeneratorSeed)
WARPLOOM_RAND_REFUSED(curandSetGeneratorOffset)
WARPLOOM_RAND_REFUSED(curandSetGeneratorOrdering)
WARPLOOM_RAND_REFUSED(curandSetQuasiRandomGeneratorDimensions)
WARPLOOM_RAND_REFUSED(curandGenerate)
WARPLOOM_RAND_REFUSED(curandGenerateLongLong)
WARPLOOM_RAND_REFUSED(curandGenerateUniform)
WARPLOOM_RAND_REFUSED(curandGenerateUniformDouble)
WARPLOOM_RAND_REFUSED(curandGenerateNormal)
WARPLOOM_RAND_REFUSED(curandGenerateNormalDouble)
WARPLOOM_RAND_REFUSED(curandGenerateLogNormal)
WARPLOOM_RAND_REFUSED(curandGenerateLogNormalDouble)
WARPLOOM_RAND_REFUSED(curandGeneratePoisson)
WARPLOOM_RAND_REFUSED(curandGenerateSeeds)
WARPLOOM_RAND_REFUSED(curandCreatePoissonDistribution)
WARPLOOM_RAND_REFUSED(curandDestroyDistribution)
WARPLOOM_RAND_REFUSED(curandGetDirectionVectors32)
WARPLOOM_RAND_REFUSED(curandGetDirectionVectors64)
WARPLOOM_RAND_REFUSED(curandGetScrambleConstants32)
WARPLOOM_RAND_REFUSED(curandGetScrambleConstants64)
WARPLOOM_RAND_REFUSED(curandGetVersion)
WARPLOOM_RAND_REFUSED(curandGetProperty)
#undef WARPLOOM_RAND_REFUSED
