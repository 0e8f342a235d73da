// Low-latency all-to-all: each eight bytes travel in a line of their own with the number of the
// epoch beside them, so that who reads the line knows whether the data is there.
#pragma once

#include <warploom/multimem.h>

#include "core.h"
#include "host.h"

struct ncclLLA2AHandle {
  ncclDevResourceHandle_t bufHandle;
  uint32_t nSlots;
};
typedef struct ncclLLA2AHandle ncclLLA2AHandle_t;

namespace warploom::nccl {

struct alignas(16) LowLatencyLine {
  uint32_t low, first_epoch, high, second_epoch;
};

// A line is written and read as a whole.
WARPLOOM_UNCHECKED inline void store_line(LowLatencyLine* line, const LowLatencyLine& value) {
  atomic_access(line, sizeof value, false, true, Order::Relaxed, Scope::System);
  std::memcpy(static_cast<void*>(line), &value, sizeof value);
  atomic_changed();
}
WARPLOOM_UNCHECKED inline LowLatencyLine load_line(const LowLatencyLine* line) {
  atomic_access(line, sizeof *line, true, false, Order::Relaxed, Scope::System);
  LowLatencyLine value;
  std::memcpy(static_cast<void*>(&value), line, sizeof value);
  return value;
}

template <class _WT>
constexpr int kLines = static_cast<int>((sizeof(_WT) + 7) / 8);

}  // namespace warploom::nccl

extern "C" {

WARPLOOM_UNCHECKED inline int ncclLLA2ACalcSlots(int maxElts, int maxEltSize) {
  return maxElts * ((maxEltSize + 7) / 8);
}
WARPLOOM_UNCHECKED inline ncclResult_t ncclLLA2ACreateRequirement(
    int nBlocks, int nSlots, ncclLLA2AHandle_t* outHandle, ncclDevResourceRequirements_t* outReq) {
  outHandle->nSlots = static_cast<uint32_t>(nSlots);
  *outReq = ncclDevResourceRequirements_t{};
  outReq->bufferSize = static_cast<size_t>(nBlocks) * (1 + 2 * static_cast<size_t>(nSlots)) *
                       sizeof(warploom::nccl::LowLatencyLine);
  outReq->bufferAlign = sizeof(warploom::nccl::LowLatencyLine);
  outReq->outBufferHandle = &outHandle->bufHandle;
  return ncclSuccess;
}

}  // extern "C"

template <typename Coop>
struct ncclLLA2ASession {
  WARPLOOM_UNCHECKED ncclLLA2ASession(Coop coop, const ncclDevComm& comm, ncclTeam team,
                                      ncclLLA2AHandle handle, uint32_t block, int maxElts,
                                      bool multimem = false, ncclMultimemHandle mmHandle = {})
      : coop(coop),
        comm(comm),
        team(team),
        handle(handle),
        block(block),
        pitch(maxElts),
        multimem(multimem),
        mmHandle(mmHandle) {
    std::memcpy(&epoch, lines(local()), sizeof epoch);
    epoch += 2;
  }
  WARPLOOM_UNCHECKED ~ncclLLA2ASession() {
    if (coop.thread_rank() == 0) {
      const uint32_t last = epoch - 2;
      std::memcpy(static_cast<void*>(lines(local())), &last, sizeof last);
    }
    coop.sync();
  }
  ncclLLA2ASession(const ncclLLA2ASession&) = delete;

  template <typename _WT>
  WARPLOOM_UNCHECKED void send(int peer, int slot, _WT data) {
    void* there = ncclGetResourceBufferPeerPointer(comm, handle.bufHandle, team, peer);
    for (int _Wi = 0; _Wi < warploom::nccl::kLines<_WT>; _Wi++) {
      warploom::nccl::store_line(at(there, slot, _Wi, "ncclLLA2ASession::send"),
                                 line_of(data, _Wi));
    }
  }

  template <typename _WT>
  WARPLOOM_UNCHECKED void bcast(int slot, _WT data) {
    if (!multimem) {
      for (int _Wi = 0; _Wi < team.nRanks; _Wi++) send((team.rank + _Wi) % team.nRanks, slot, data);
      return;
    }
    void* all = ncclGetResourceBufferMultimemPointer(comm, handle.bufHandle, mmHandle);
    const warploom::multimem::Access access{
        .weak = false, .order = warploom::Order::Relaxed, .scope = warploom::Scope::System};
    for (int _Wi = 0; _Wi < warploom::nccl::kLines<_WT>; _Wi++) {
      const warploom::nccl::LowLatencyLine line = line_of(data, _Wi);
      warploom::multimem::store(access, at(all, slot, _Wi, "ncclLLA2ASession::bcast"), sizeof line,
                                &line);
    }
  }

  template <typename _WT>
  WARPLOOM_UNCHECKED _WT recv(int slot) {
    uint64_t words[warploom::nccl::kLines<_WT>];
    for (int _Wi = 0; _Wi < warploom::nccl::kLines<_WT>; _Wi++) {
      auto* line = at(local(), slot, _Wi, "ncclLLA2ASession::recv");
      for (;;) {
        const warploom::nccl::LowLatencyLine got = warploom::nccl::load_line(line);
        words[_Wi] = uint64_t{got.high} << 32 | got.low;
        if (got.first_epoch == epoch && got.second_epoch == epoch) break;
      }
    }
    _WT data;
    std::memcpy(static_cast<void*>(&data), words, sizeof data);
    return data;
  }

  template <int MinEltCount, int MaxEltCount, typename _WT>
  WARPLOOM_UNCHECKED void recvUnrolled(int eltStart, int eltCount, int eltStride,
                                       _WT (&vals)[MaxEltCount]) {
    for (int _Wi = 0; _Wi < MaxEltCount && (_Wi < MinEltCount || _Wi < eltCount); _Wi++) {
      vals[_Wi] = recv<_WT>(eltStart + _Wi * eltStride);
    }
  }

  template <int Unroll, typename Elt, typename EltToAcc, typename Reduce>
  WARPLOOM_UNCHECKED auto recvReduce(int eltStart, int eltCount, int eltStride, EltToAcc eltToAcc,
                                     Reduce red) -> decltype(eltToAcc(std::declval<Elt>())) {
    decltype(eltToAcc(std::declval<Elt>())) sum{};
    for (int _Wi = 0; _Wi < eltCount; _Wi++) {
      auto value = eltToAcc(recv<Elt>(eltStart + _Wi * eltStride));
      sum = _Wi == 0 ? value : red(sum, value);
    }
    return sum;
  }

  WARPLOOM_UNCHECKED void endEpoch(Coop) {
    coop.sync();
    epoch += epoch == ~0u ? 3 : 1;
  }

 private:
  WARPLOOM_UNCHECKED void* local() const {
    return ncclGetResourceBufferLocalPointer(comm, handle.bufHandle);
  }
  WARPLOOM_UNCHECKED warploom::nccl::LowLatencyLine* lines(void* buffer) const {
    return static_cast<warploom::nccl::LowLatencyLine*>(buffer) +
           size_t{block} * (1 + 2 * size_t{handle.nSlots});
  }
  // Two epochs have slots of their own: whoever is ahead writes into the other half.
  WARPLOOM_UNCHECKED warploom::nccl::LowLatencyLine* at(void* buffer, int slot, int part,
                                                        const char* call) const {
    const int line = slot + part * pitch;
    warploom::nccl::check_slot(line, static_cast<int>(handle.nSlots), call);
    return lines(buffer) + 1 + (epoch & 1) * handle.nSlots + line;
  }
  template <typename _WT>
  WARPLOOM_UNCHECKED warploom::nccl::LowLatencyLine line_of(const _WT& data, int part) const {
    uint64_t words[warploom::nccl::kLines<_WT>] = {};
    std::memcpy(words, &data, sizeof data);
    return {static_cast<uint32_t>(words[part]), epoch, static_cast<uint32_t>(words[part] >> 32),
            epoch};
  }

  Coop coop;
  const ncclDevComm& comm;
  ncclTeam team;
  ncclLLA2AHandle handle;
  uint32_t block;
  int pitch;
  bool multimem;
  ncclMultimemHandle mmHandle;
  uint32_t epoch = 0;
};
