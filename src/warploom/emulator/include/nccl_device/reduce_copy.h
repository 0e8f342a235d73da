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

template <class _WT>
struct Sum {
  using EltType = _WT;
  _WT operator()(const _WT& _Wa, const _WT& _Wb) const { return _Wa + _Wb; }
};
// Sums of 16-bit floats are formed in 32 bits, and rounded once.
template <class Op, class _WT>
struct Accumulator {
  using Type = _WT;
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

template <class _WT>
constexpr multimem::Element element_of() {
  using multimem::Element;
  if constexpr (std::is_same_v<_WT, float>)
    return Element::F32;
  else if constexpr (std::is_same_v<_WT, double>)
    return Element::F64;
  else if constexpr (std::is_same_v<_WT, __half>)
    return Element::F16;
  else if constexpr (std::is_same_v<_WT, __nv_bfloat16>)
    return Element::Bf16;
  else if constexpr (sizeof(_WT) == 8)
    return Element::U64;
  else {
    static_assert(std::is_integral_v<_WT> && sizeof(_WT) == 4, "multimem sums have no such type");
    return Element::U32;
  }
}

struct Plain {};      // of one rank's memory
struct Multicast {};  // a multimem address

template <class _WT>
_WT load_source(Plain, _WT* _Wp) {
  return ptx::load<_WT>(_Wp);
}
template <class _WT>
_WT load_source(Multicast, _WT* _Wp) {
  _WT sum;
  multimem::load_reduce({.element = element_of<_WT>(), .wide = sizeof(_WT) == 2}, _Wp, sizeof sum,
                        &sum);
  return sum;
}
template <class _WT>
void store_target(Plain, _WT* _Wp, _WT value) {
  ptx::store<_WT>(_Wp, value);
}
template <class _WT>
void store_target(Multicast, _WT* _Wp, _WT value) {
  multimem::store({.element = element_of<_WT>()}, _Wp, sizeof value, &value);
}

// The threads of `coop` share the elements out.
template <class _WT, class From, class To, class Coop, class Source, class Target, class Op,
          class Count>
void reduce_copy(From from, To to, Coop coop, Source source, int sources, Target target,
                 int targets, const Op& op, Count count) {
  using Acc = typename Accumulator<Op, _WT>::Type;
  for (Count _Wi = static_cast<Count>(coop.thread_rank()); _Wi < count;
       _Wi += static_cast<Count>(coop.size())) {
    _WT value = load_source<_WT>(from, source(0) + _Wi);
    if (sources > 1) {
      Acc sum = static_cast<Acc>(value);
      for (int _Ws = 1; _Ws < sources; _Ws++) {
        const Acc next = static_cast<Acc>(load_source<_WT>(from, source(_Ws) + _Wi));
        if constexpr (std::is_same_v<Acc, _WT>)
          sum = op(sum, next);
        else
          sum = typename Accumulator<Op, _WT>::Combine{}(sum, next);
      }
      value = static_cast<_WT>(sum);
    }
    for (int _Wt = 0; _Wt < targets; _Wt++) store_target<_WT>(to, target(_Wt) + _Wi, value);
  }
}

template <class _WT>
struct One {
  _WT* _Wp;
  _WT* operator()(int) const { return _Wp; }
};
template <class _WT>
struct Peers {
  ncclSymPtr<_WT> _Wp;
  ncclTeam team;
  _WT* operator()(int _Wi) const { return _Wp.peerPtr(team, _Wi); }
};
template <class _WT>
struct Strided {
  _WT* _Wp;
  std::size_t stride;
  _WT* operator()(int _Wi) const { return _Wp + static_cast<std::size_t>(_Wi) * stride; }
};

}  // namespace warploom::nccl

template <typename _WT, typename Coop, typename SrcLambda, typename DstLambda, typename RedOp,
          typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceLsaCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst, int nDst,
                                 const RedOp& op, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, src,
                                   nSrc, dst, nDst, op, count);
}
template <typename _WT, typename Coop, typename SrcLambda, typename DstLambda, typename RedOp,
          typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceMultimemCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst, int nDst,
                                      const RedOp& op, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop, src,
                                   nSrc, dst, nDst, op, count);
}
template <typename _WT, typename Coop, typename SrcLambda, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSumLsaCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst, int nDst,
                                    IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, src,
                                   nSrc, dst, nDst, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename SrcLambda, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSumMultimemCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst,
                                         int nDst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop, src,
                                   nSrc, dst, nDst, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename SrcLambda, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSumLsaCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst,
                                         int nDst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop, src,
                                   nSrc, dst, nDst, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename SrcLambda, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSumMultimemCopy(Coop coop, SrcLambda src, int nSrc, DstLambda dst,
                                              int nDst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Multicast{}, warploom::nccl::Multicast{}, coop,
                                   src, nSrc, dst, nDst, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename SrcLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSum(Coop coop, SrcLambda src, int nSrc, _WT* dst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, src,
                                   nSrc, warploom::nccl::One<_WT>{dst}, 1,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSum(Coop coop, ncclSymPtr<_WT> src, _WT* dst, IntCount count,
                             ncclTeam team) {
  warploom::nccl::reduce_copy<_WT>(
      warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, warploom::nccl::Peers<_WT>{src, team},
      team.nRanks, warploom::nccl::One<_WT>{dst}, 1, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSum(Coop coop, ncclWindow_t window, size_t offset, _WT* dst,
                             IntCount count, ncclTeam team) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::Peers<_WT>{{window, offset}, team}, team.nRanks,
                                   warploom::nccl::One<_WT>{dst}, 1, warploom::nccl::Sum<_WT>{},
                                   count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSum(Coop coop, ncclSymPtr<_WT> src, _WT* dst, IntCount count,
                             ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::Peers<_WT>{src, ncclTeamLsa(comm)},
                                   ncclTeamLsa(comm).nRanks, warploom::nccl::One<_WT>{dst}, 1,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSum(Coop coop, ncclWindow_t window, size_t offset, _WT* dst,
                             IntCount count, ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::Peers<_WT>{{window, offset}, ncclTeamLsa(comm)},
                                   ncclTeamLsa(comm).nRanks, warploom::nccl::One<_WT>{dst}, 1,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSum(Coop coop, ncclSymPtr<_WT> src, _WT* dst, IntCount count,
                                  ncclMultimemHandle handle) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::One<_WT>{src.multimemPtr(handle)}, 1,
                                   warploom::nccl::One<_WT>{dst}, 1, warploom::nccl::Sum<_WT>{},
                                   count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSum(Coop coop, _WT* src, _WT* dst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::One<_WT>{src}, 1, warploom::nccl::One<_WT>{dst},
                                   1, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSum(Coop coop, ncclWindow_t window, size_t offset, _WT* dst,
                                  IntCount count, ncclMultimemHandle handle) {
  ncclMultimemReduceSum<_WT>(coop, ncclSymPtr<_WT>(window, offset), dst, count, handle);
}
template <typename _WT, typename Coop, typename SrcLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLocalReduceSum(Coop coop, SrcLambda src, int nSrc, _WT* dst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, src,
                                   nSrc, warploom::nccl::One<_WT>{dst}, 1,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLocalReduceSum(Coop coop, int nSrc, _WT* src, size_t displ, _WT* dst,
                               IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::Strided<_WT>{src, displ}, nSrc,
                                   warploom::nccl::One<_WT>{dst}, 1, warploom::nccl::Sum<_WT>{},
                                   count);
}
template <typename _WT, typename Coop, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaCopy(Coop coop, _WT* src, DstLambda dst, int nDst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::One<_WT>{src}, 1, dst, nDst,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaCopy(Coop coop, _WT* src, ncclSymPtr<_WT> dst, IntCount count, ncclTeam team) {
  warploom::nccl::reduce_copy<_WT>(
      warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, warploom::nccl::One<_WT>{src}, 1,
      warploom::nccl::Peers<_WT>{dst, team}, team.nRanks, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaCopy(Coop coop, _WT* src, ncclWindow_t window, size_t offset, IntCount count,
                        ncclTeam team) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::One<_WT>{src}, 1,
                                   warploom::nccl::Peers<_WT>{{window, offset}, team}, team.nRanks,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaCopy(Coop coop, _WT* src, ncclSymPtr<_WT> dst, IntCount count,
                        ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::One<_WT>{src}, 1,
                                   warploom::nccl::Peers<_WT>{dst, ncclTeamLsa(comm)},
                                   ncclTeamLsa(comm).nRanks, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaCopy(Coop coop, _WT* src, ncclWindow_t window, size_t offset, IntCount count,
                        ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::One<_WT>{src}, 1,
                                   warploom::nccl::Peers<_WT>{{window, offset}, ncclTeamLsa(comm)},
                                   ncclTeamLsa(comm).nRanks, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemCopy(Coop coop, _WT* src, ncclSymPtr<_WT> dst, IntCount count,
                             ncclMultimemHandle handle) {
  warploom::nccl::reduce_copy<_WT>(
      warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop, warploom::nccl::One<_WT>{src}, 1,
      warploom::nccl::One<_WT>{dst.multimemPtr(handle)}, 1, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemCopy(Coop coop, _WT* src, _WT* dst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop,
                                   warploom::nccl::One<_WT>{src}, 1, warploom::nccl::One<_WT>{dst},
                                   1, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemCopy(Coop coop, _WT* src, ncclWindow_t window, size_t offset,
                             IntCount count, ncclMultimemHandle handle) {
  ncclMultimemCopy<_WT>(coop, src, ncclSymPtr<_WT>(window, offset), count, handle);
}
template <typename _WT, typename Coop, typename DstLambda, typename IntCount,
          int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLocalCopy(Coop coop, _WT* src, DstLambda dst, int nDst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::One<_WT>{src}, 1, dst, nDst,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLocalCopy(Coop coop, _WT* src, int nDst, _WT* dst, size_t displ, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(
      warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop, warploom::nccl::One<_WT>{src}, 1,
      warploom::nccl::Strided<_WT>{dst, displ}, nDst, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<_WT> src, ncclSymPtr<_WT> dst,
                                 IntCount count, ncclTeam team) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::Peers<_WT>{src, team}, team.nRanks,
                                   warploom::nccl::Peers<_WT>{dst, team}, team.nRanks,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclWindow_t srcWindow, size_t srcOffset,
                                 ncclWindow_t dstWindow, size_t dstOffset, IntCount count,
                                 ncclTeam team) {
  ncclLsaReduceSumCopy<_WT>(coop, ncclSymPtr<_WT>(srcWindow, srcOffset),
                            ncclSymPtr<_WT>(dstWindow, dstOffset), count, team);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<_WT> src, ncclSymPtr<_WT> dst,
                                 IntCount count, ncclDevComm_t comm) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::Peers<_WT>{src, ncclTeamLsa(comm)},
                                   ncclTeamLsa(comm).nRanks,
                                   warploom::nccl::Peers<_WT>{dst, ncclTeamLsa(comm)},
                                   ncclTeamLsa(comm).nRanks, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclWindow_t srcWindow, size_t srcOffset,
                                 ncclWindow_t dstWindow, size_t dstOffset, IntCount count,
                                 ncclDevComm_t comm) {
  ncclLsaReduceSumCopy<_WT>(coop, ncclSymPtr<_WT>(srcWindow, srcOffset),
                            ncclSymPtr<_WT>(dstWindow, dstOffset), count, ncclTeamLsa(comm));
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSumCopy(Coop coop, ncclSymPtr<_WT> src, ncclTeam srcTeam,
                                 ncclSymPtr<_WT> dst, ncclTeam dstTeam, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::Peers<_WT>{src, srcTeam}, srcTeam.nRanks,
                                   warploom::nccl::Peers<_WT>{dst, dstTeam}, dstTeam.nRanks,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSumCopy(Coop coop, ncclSymPtr<_WT> src, ncclMultimemHandle srcHandle,
                                      ncclSymPtr<_WT> dst, ncclMultimemHandle dstHandle,
                                      IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Multicast{}, warploom::nccl::Multicast{}, coop,
                                   warploom::nccl::One<_WT>{src.multimemPtr(srcHandle)}, 1,
                                   warploom::nccl::One<_WT>{dst.multimemPtr(dstHandle)}, 1,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSumCopy(Coop coop, _WT* src, _WT* dst, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Multicast{}, warploom::nccl::Multicast{}, coop,
                                   warploom::nccl::One<_WT>{src}, 1, warploom::nccl::One<_WT>{dst},
                                   1, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSumCopy(Coop coop, ncclWindow_t srcWindow, size_t srcOffset,
                                      ncclMultimemHandle srcHandle, ncclWindow_t dstWindow,
                                      size_t dstOffset, ncclMultimemHandle dstHandle,
                                      IntCount count) {
  ncclMultimemReduceSumCopy<_WT>(coop, ncclSymPtr<_WT>(srcWindow, srcOffset), srcHandle,
                                 ncclSymPtr<_WT>(dstWindow, dstOffset), dstHandle, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSumMultimemCopy(Coop coop, ncclSymPtr<_WT> src, ncclTeam team,
                                         ncclSymPtr<_WT> dst, ncclMultimemHandle handle,
                                         IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop,
                                   warploom::nccl::Peers<_WT>{src, team}, team.nRanks,
                                   warploom::nccl::One<_WT>{dst.multimemPtr(handle)}, 1,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLsaReduceSumMultimemCopy(Coop coop, ncclSymPtr<_WT> src, ncclTeam team, _WT* dst,
                                         IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Multicast{}, coop,
                                   warploom::nccl::Peers<_WT>{src, team}, team.nRanks,
                                   warploom::nccl::One<_WT>{dst}, 1, warploom::nccl::Sum<_WT>{},
                                   count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSumLsaCopy(Coop coop, ncclSymPtr<_WT> src, ncclMultimemHandle handle,
                                         ncclSymPtr<_WT> dst, ncclTeam team, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::One<_WT>{src.multimemPtr(handle)}, 1,
                                   warploom::nccl::Peers<_WT>{dst, team}, team.nRanks,
                                   warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclMultimemReduceSumLsaCopy(Coop coop, _WT* src, ncclSymPtr<_WT> dst, ncclTeam team,
                                         IntCount count) {
  warploom::nccl::reduce_copy<_WT>(
      warploom::nccl::Multicast{}, warploom::nccl::Plain{}, coop, warploom::nccl::One<_WT>{src}, 1,
      warploom::nccl::Peers<_WT>{dst, team}, team.nRanks, warploom::nccl::Sum<_WT>{}, count);
}
template <typename _WT, typename Coop, typename IntCount, int UNROLL = 4 * 16 / sizeof(_WT)>
inline void ncclLocalReduceSumCopy(Coop coop, int nSrc, _WT* src, size_t srcDispl, int nDst,
                                   _WT* dst, size_t dstDispl, IntCount count) {
  warploom::nccl::reduce_copy<_WT>(warploom::nccl::Plain{}, warploom::nccl::Plain{}, coop,
                                   warploom::nccl::Strided<_WT>{src, srcDispl}, nSrc,
                                   warploom::nccl::Strided<_WT>{dst, dstDispl}, nDst,
                                   warploom::nccl::Sum<_WT>{}, count);
}
#endif
