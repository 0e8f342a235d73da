// Loops over LSA and multimem memory: reduce from several sources, copy to several destinations.
//
// As the real ones these say nothing to other threads or ranks: a barrier comes before and after.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <warploom/ptx.h>

#include "core.h"
#include "ptr.h"

#if WARPLOOM_NCCL_VERSION >= 22900

namespace warploom::nccl {

template <class T>
struct Sum {
  using EltType = T;
  T operator()(const T& a, const T& b) const { return a + b; }
};
// Sums of 16-bit floats are formed in 32 bits, and rounded once.
template <class Op, class T>
struct Accumulator {
  using Type = T;
  using Combine = Op;
};
template <>
struct Accumulator<Sum<__half>, __half> {
  using Type = float;
  using Combine = Sum<float>;
};
template <>
struct Accumulator<Sum<__nv_bfloat16>, __nv_bfloat16> {
  using Type = float;
  using Combine = Sum<float>;
};

template <class T>
constexpr multimem::Element element_of() {
  using multimem::Element;
  if constexpr (std::is_same_v<T, float>)
    return Element::F32;
  else if constexpr (std::is_same_v<T, double>)
    return Element::F64;
  else if constexpr (std::is_same_v<T, __half>)
    return Element::F16;
  else if constexpr (std::is_same_v<T, __nv_bfloat16>)
    return Element::Bf16;
  else if constexpr (sizeof(T) == 8)
    return Element::U64;
  else {
    static_assert(std::is_integral_v<T> && sizeof(T) == 4, "multimem sums have no such type");
    return Element::U32;
  }
}

struct Plain {};      // of one rank's memory
struct Multicast {};  // a multimem address

template <class T>
T load_source(Plain, T* p) {
  return ptx::load<T>(p);
}
template <class T>
T load_source(Multicast, T* p) {
  T sum;
  multimem::load_reduce({.element = element_of<T>(), .wide = sizeof(T) == 2}, p, sizeof sum, &sum);
  return sum;
}
template <class T>
void store_target(Plain, T* p, T value) {
  ptx::store<T>(p, value);
}
template <class T>
void store_target(Multicast, T* p, T value) {
  multimem::store({.element = element_of<T>()}, p, sizeof value, &value);
}

// The threads of `coop` share the elements out.
template <class T, class From, class To, class Coop, class Source, class Target, class Op,
          class Count>
void reduce_copy(From from, To to, Coop coop, Source source, int sources, Target target,
                 int targets, const Op& op, Count count) {
  using Acc = typename Accumulator<Op, T>::Type;
  for (Count i = static_cast<Count>(coop.thread_rank()); i < count;
       i += static_cast<Count>(coop.size())) {
    T value = load_source<T>(from, source(0) + i);
    if (sources > 1) {
      Acc sum = static_cast<Acc>(value);
      for (int s = 1; s < sources; s++) {
        const Acc next = static_cast<Acc>(load_source<T>(from, source(s) + i));
        if constexpr (std::is_same_v<Acc, T>)
          sum = op(sum, next);
        else
          sum = typename Accumulator<Op, T>::Combine{}(sum, next);
      }
      value = static_cast<T>(sum);
    }
    for (int t = 0; t < targets; t++) store_target<T>(to, target(t) + i, value);
  }
}

template <class T>
struct One {
  T* p;
  T* operator()(int) const { return p; }
};
template <class T>
struct Peers {
  ncclSymPtr<T> p;
  ncclTeam team;
  T* operator()(int i) const { return p.peerPtr(team, i); }
};
template <class T>
struct Strided {
  T* p;
  std::size_t stride;
  T* operator()(int i) const { return p + static_cast<std::size_t>(i) * stride; }
};

}  // namespace warploom::nccl

template <typename T, typename Coop, typename SrcLambda, typename DstLambda, typename RedOp,
          typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceLsaCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst, int nDst,
                                 const RedOp& op, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, src, nSrc,
                                 dst, nDst, op, count);
}
template <typename T, typename Coop, typename SrcLambda, typename DstLambda, typename RedOp,
          typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceMultimemCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst, int nDst,
                                      const RedOp& op, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop, src,
                                 nSrc, dst, nDst, op, count);
}
template <typename T, typename Coop, typename SrcLambda, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSumLsaCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst, int nDst,
                                    IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, src, nSrc,
                                 dst, nDst, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename SrcLambda, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSumMultimemCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst,
                                         int nDst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop, src,
                                 nSrc, dst, nDst, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename SrcLambda, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSumLsaCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst,
                                         int nDst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop, src,
                                 nSrc, dst, nDst, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename SrcLambda, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSumMultimemCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst,
                                              int nDst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Multicast{}, warploom::nccl::Multicast{}, coop,
                                 src, nSrc, dst, nDst, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename SrcLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSum(Coop coop, SrcLambda src, int nSrc, T* dst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, src, nSrc,
                                 warploom::nccl::One<T>{dst}, 1, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSum(Coop coop, ncclSymPtr<T> src, T* dst, IntCount count, ncclTeam team) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::Peers<T>{src, team}, team.nRanks,
                                 warploom::nccl::One<T>{dst}, 1, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSum(Coop coop, ncclWindow_t window, size_t offset, T* dst, IntCount count,
                             ncclTeam team) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::Peers<T>{{window, offset}, team}, team.nRanks,
                                 warploom::nccl::One<T>{dst}, 1, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSum(Coop coop, ncclSymPtr<T> src, T* dst, IntCount count,
                             ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::Peers<T>{src, ncclTeamLsa(comm)},
                                 ncclTeamLsa(comm).nRanks, warploom::nccl::One<T>{dst}, 1,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSum(Coop coop, ncclWindow_t window, size_t offset, T* dst, IntCount count,
                             ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::Peers<T>{{window, offset}, ncclTeamLsa(comm)},
                                 ncclTeamLsa(comm).nRanks, warploom::nccl::One<T>{dst}, 1,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSum(Coop coop, ncclSymPtr<T> src, T* dst, IntCount count,
                                  ncclMultimemHandle handle) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::One<T>{src.multimemPtr(handle)}, 1,
                                 warploom::nccl::One<T>{dst}, 1, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSum(Coop coop, T* src, T* dst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::One<T>{src}, 1, warploom::nccl::One<T>{dst}, 1,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSum(Coop coop, ncclWindow_t window, size_t offset, T* dst,
                                  IntCount count, ncclMultimemHandle handle) {
  ncclMultimemReduceSum<T>(coop, ncclSymPtr<T>(window, offset), dst, count, handle);
}
template <typename T, typename Coop, typename SrcLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLocalReduceSum(Coop coop, SrcLambda src, int nSrc, T* dst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, src, nSrc,
                                 warploom::nccl::One<T>{dst}, 1, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLocalReduceSum(Coop coop, int nSrc, T* src, size_t displ, T* dst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::Strided<T>{src, displ}, nSrc,
                                 warploom::nccl::One<T>{dst}, 1, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaCopy(Coop coop, T* src, DstLambda dst, int nDst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::One<T>{src}, 1, dst, nDst,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaCopy(Coop coop, T* src, ncclSymPtr<T> dst, IntCount count, ncclTeam team) {
  warploom::nccl::reduce_copy<T>(
      warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, warploom::nccl::One<T>{src}, 1,
      warploom::nccl::Peers<T>{dst, team}, team.nRanks, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaCopy(Coop coop, T* src, ncclWindow_t window, size_t offset, IntCount count,
                        ncclTeam team) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::One<T>{src}, 1,
                                 warploom::nccl::Peers<T>{{window, offset}, team}, team.nRanks,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaCopy(Coop coop, T* src, ncclSymPtr<T> dst, IntCount count, ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::One<T>{src}, 1,
                                 warploom::nccl::Peers<T>{dst, ncclTeamLsa(comm)},
                                 ncclTeamLsa(comm).nRanks, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaCopy(Coop coop, T* src, ncclWindow_t window, size_t offset, IntCount count,
                        ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::One<T>{src}, 1,
                                 warploom::nccl::Peers<T>{{window, offset}, ncclTeamLsa(comm)},
                                 ncclTeamLsa(comm).nRanks, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemCopy(Coop coop, T* src, ncclSymPtr<T> dst, IntCount count,
                             ncclMultimemHandle handle) {
  warploom::nccl::reduce_copy<T>(
      warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop, warploom::nccl::One<T>{src}, 1,
      warploom::nccl::One<T>{dst.multimemPtr(handle)}, 1, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemCopy(Coop coop, T* src, T* dst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop,
                                 warploom::nccl::One<T>{src}, 1, warploom::nccl::One<T>{dst}, 1,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemCopy(Coop coop, T* src, ncclWindow_t window, size_t offset, IntCount count,
                             ncclMultimemHandle handle) {
  ncclMultimemCopy<T>(coop, src, ncclSymPtr<T>(window, offset), count, handle);
}
template <typename T, typename Coop, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLocalCopy(Coop coop, T* src, DstLambda dst, int nDst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::One<T>{src}, 1, dst, nDst,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLocalCopy(Coop coop, T* src, int nDst, T* dst, size_t displ, IntCount count) {
  warploom::nccl::reduce_copy<T>(
      warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, warploom::nccl::One<T>{src}, 1,
      warploom::nccl::Strided<T>{dst, displ}, nDst, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<T> src, ncclSymPtr<T> dst, IntCount count,
                                 ncclTeam team) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::Peers<T>{src, team}, team.nRanks,
                                 warploom::nccl::Peers<T>{dst, team}, team.nRanks,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclWindow_t srcWindow, size_t srcOffset,
                                 ncclWindow_t dstWindow, size_t dstOffset, IntCount count,
                                 ncclTeam team) {
  ncclLsaReduceSumCopy<T>(coop, ncclSymPtr<T>(srcWindow, srcOffset),
                          ncclSymPtr<T>(dstWindow, dstOffset), count, team);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<T> src, ncclSymPtr<T> dst, IntCount count,
                                 ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::Peers<T>{src, ncclTeamLsa(comm)},
                                 ncclTeamLsa(comm).nRanks,
                                 warploom::nccl::Peers<T>{dst, ncclTeamLsa(comm)},
                                 ncclTeamLsa(comm).nRanks, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclWindow_t srcWindow, size_t srcOffset,
                                 ncclWindow_t dstWindow, size_t dstOffset, IntCount count,
                                 ncclDevComm_t comm) {
  ncclLsaReduceSumCopy<T>(coop, ncclSymPtr<T>(srcWindow, srcOffset),
                          ncclSymPtr<T>(dstWindow, dstOffset), count, ncclTeamLsa(comm));
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<T> src, ncclTeam srcTeam, ncclSymPtr<T> dst,
                                 ncclTeam dstTeam, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::Peers<T>{src, srcTeam}, srcTeam.nRanks,
                                 warploom::nccl::Peers<T>{dst, dstTeam}, dstTeam.nRanks,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSumCopy(Coop coop, ncclSymPtr<T> src, ncclMultimemHandle srcHandle,
                                      ncclSymPtr<T> dst, ncclMultimemHandle dstHandle,
                                      IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Multicast{}, warploom::nccl::Multicast{}, coop,
                                 warploom::nccl::One<T>{src.multimemPtr(srcHandle)}, 1,
                                 warploom::nccl::One<T>{dst.multimemPtr(dstHandle)}, 1,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSumCopy(Coop coop, T* src, T* dst, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Multicast{}, warploom::nccl::Multicast{}, coop,
                                 warploom::nccl::One<T>{src}, 1, warploom::nccl::One<T>{dst}, 1,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSumCopy(Coop coop, ncclWindow_t srcWindow, size_t srcOffset,
                                      ncclMultimemHandle srcHandle, ncclWindow_t dstWindow,
                                      size_t dstOffset, ncclMultimemHandle dstHandle,
                                      IntCount count) {
  ncclMultimemReduceSumCopy<T>(coop, ncclSymPtr<T>(srcWindow, srcOffset), srcHandle,
                               ncclSymPtr<T>(dstWindow, dstOffset), dstHandle, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSumMultimemCopy(Coop coop, ncclSymPtr<T> src, ncclTeam team,
                                         ncclSymPtr<T> dst, ncclMultimemHandle handle,
                                         IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop,
                                 warploom::nccl::Peers<T>{src, team}, team.nRanks,
                                 warploom::nccl::One<T>{dst.multimemPtr(handle)}, 1,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLsaReduceSumMultimemCopy(Coop coop, ncclSymPtr<T> src, ncclTeam team, T* dst,
                                         IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop,
                                 warploom::nccl::Peers<T>{src, team}, team.nRanks,
                                 warploom::nccl::One<T>{dst}, 1, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSumLsaCopy(Coop coop, ncclSymPtr<T> src, ncclMultimemHandle handle,
                                         ncclSymPtr<T> dst, ncclTeam team, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::One<T>{src.multimemPtr(handle)}, 1,
                                 warploom::nccl::Peers<T>{dst, team}, team.nRanks,
                                 warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclMultimemReduceSumLsaCopy(Coop coop, T* src, ncclSymPtr<T> dst, ncclTeam team,
                                         IntCount count) {
  warploom::nccl::reduce_copy<T>(
      warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop, warploom::nccl::One<T>{src}, 1,
      warploom::nccl::Peers<T>{dst, team}, team.nRanks, warploom::nccl::Sum<T>{}, count);
}
template <typename T, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(T)>
inline void ncclLocalReduceSumCopy(Coop coop, int nSrc, T* src, size_t srcDispl, int nDst, T* dst,
                                   size_t dstDispl, IntCount count) {
  warploom::nccl::reduce_copy<T>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                 warploom::nccl::Strided<T>{src, srcDispl}, nSrc,
                                 warploom::nccl::Strided<T>{dst, dstDispl}, nDst,
                                 warploom::nccl::Sum<T>{}, count);
}
#endif
