#include "network/gin_early.h"

#include <algorithm>
#include <ranges>
#include <set>
#include <string_view>
#include <utility>

#include "network/gin.h"
#include "order/early.h"

namespace warploom::nccl {

namespace {

constexpr std::size_t kMostRaised = 32, kMostWaits = 16, kLooked = 8, kTold = 4;

std::set<SignalNotes*>& all_notes() {
  static std::set<SignalNotes*> notes;
  return notes;
}

bool same_place(const Frames& a, const Frames& b) { return std::ranges::equal(a.pc, b.pc); }

std::string by_text(OpId by) {
  const Op& op = op_of(by);
  if (op.kind != OpKind::Kernel) return "the host";
  return format("kernel %s, launch %u", op.name, op.launch);
}

// Is the wait one that the read came after? `clock` is what the reader knew, if that is known.
bool is_before(const WaitOver& wait, const EarlyRead& read) {
  const Moment& moment = wait.moment;
  if (moment.op == read.op && moment.block == read.block) {
    return read.clock || moment.time <= read.time;
  }
  if (read.clock) return covers(*read.clock, moment);
  return moment.op < read.op;
}

// The signals that the put's sender sends this rank, by the newest.
const Raised* newest_of(const SignalNotes& notes, int sender) {
  for (const Raised& raised : notes.raised() | std::views::reverse) {
    if (raised.rank == sender) return &raised;
  }
  return nullptr;
}

// Is it the launch of the sender that belongs to the waiting one: of the same kernel, as often
// started?
bool belongs_to(OpId by, const WaitOver& wait) {
  const Op &sender = op_of(by), &reader = op_of(wait.moment.op);
  return sender.kind == OpKind::Kernel && reader.kind == OpKind::Kernel &&
         std::string_view(sender.name) == reader.name && sender.launch == reader.launch;
}

// Does that launch signal, and was the wait over without it?
bool lacks_its_launch(const WaitOver& wait, const SignalNotes& notes, const EarlyRead& read) {
  const auto lacks = [&](OpId by) {
    return belongs_to(by, wait) && std::ranges::none_of(wait.raised, [&](const Raised& raised) {
             return raised.rank == read.sender && raised.by == by;
           });
  };
  if (read.put_by) return lacks(read.put_by);
  return std::ranges::any_of(notes.raised(), [&](const Raised& raised) {
    return raised.rank == read.sender && lacks(raised.by);
  });
}

// Were the signals that met it others than the put's? Those that an earlier wait had asked for,
// none from where the put's signal is sent, or none of the launch that the put belongs to.
bool is_early(const WaitOver& wait, const SignalNotes& notes, const Raised& meant,
              const EarlyRead& read) {
  if (wait.asked_before || lacks_its_launch(wait, notes, read)) return true;
  return std::ranges::none_of(wait.raised, [&](const Raised& raised) {
    return raised.rank == meant.rank && same_place(raised.where, meant.where);
  });
}

std::string raised_text(const WaitOver& wait) {
  std::string text;
  std::size_t told = 0;
  for (const Raised& raised : wait.raised) {
    if (told++ == kTold) return text + " and others";
    text += format("%s%llu by rank %d (%s)", text.empty() ? "" : ", ",
                   static_cast<unsigned long long>(raised.arrived), raised.rank,
                   by_text(raised.by).c_str());
  }
  return text.empty() ? "by nobody yet" : text;
}

FindingInfo finding_of(const WaitOver& wait, const SignalNotes& notes, const EarlyRead& read) {
  const Op& op = op_of(wait.moment.op);
  FindingInfo info{
      .kind = kinds::early_wait, .message = "", .where = wait.where, .rank = notes.rank()};
  if (op.kind == OpKind::Kernel) info.kernel = op.name;
  info.host = true;  // whatever runs now is not who waited
  info.message = format(
      "the wait for %s on rank %d (%s) was met by other signals: it needed %llu, and there were "
      "%llu: %s%s; the put of rank %d that is read after it is not among them",
      signal_name(wait.name, wait.context).c_str(), notes.rank(), by_text(wait.moment.op).c_str(),
      static_cast<unsigned long long>(wait.least), static_cast<unsigned long long>(wait.value),
      raised_text(wait).c_str(), wait.asked_before ? ", as an earlier wait had asked for" : "",
      read.sender);
  info.hint =
      "let each wait need its own signals on top of those before: wait for what the signal had "
      "plus what is to come (its shadow), reset it after a warm-up, or take another signal";
  if (!wait.raised.empty()) info.other = wait.raised.back().where;
  info.other_rank = read.sender;
  return info;
}

}  // namespace

SignalNotes::SignalNotes(int rank) : rank_(rank) { all_notes().insert(this); }
SignalNotes::~SignalNotes() { all_notes().erase(this); }

uint32_t SignalNotes::sent(int rank, OpId by, const Frames& where) {
  const std::size_t looked = std::min(kLooked, raised_.size());
  for (std::size_t i = 0; i < looked; i++) {
    const std::size_t at = raised_.size() - 1 - i;
    const Raised& known = raised_[at];
    if (known.rank == rank && known.by == by && same_place(known.where, where)) {
      return dropped_ + static_cast<uint32_t>(at);
    }
  }
  raised_.push_back({rank, by, where});
  if (raised_.size() > kMostRaised) {
    raised_.pop_front();
    dropped_++;
  }
  return dropped_ + static_cast<uint32_t>(raised_.size() - 1);
}

void SignalNotes::arrived(uint32_t sent, uint64_t amount) {
  if (sent >= dropped_ && sent - dropped_ < raised_.size()) {
    raised_[sent - dropped_].arrived += amount;
  }
}

bool SignalNotes::asked_before(const WaitOver& wait, int bits) const {
  const bool other_launch = wait.moment.op != last_;
  if (other_launch && any_last_ && at_least(last_most_, wait.least, bits)) return true;
  if (any_earlier_ && at_least(earlier_most_, wait.least, bits)) return true;
  return std::ranges::any_of(waits_, [&](const WaitOver& known) {
    const Moment &a = known.moment, &b = wait.moment;
    return a.op == b.op && a.block == b.block && a.thread == b.thread && a.time < b.time &&
           at_least(known.least, wait.least, bits);
  });
}

void SignalNotes::waited(WaitOver wait, int bits) {
  static uint64_t waits = 0;
  wait.number = ++waits;
  wait.asked_before = asked_before(wait, bits);
  for (const Raised& raised : raised_) {
    if (raised.arrived) wait.raised.push_back(raised);
  }
  if (wait.moment.op != last_) {
    if (any_last_ && (!any_earlier_ || at_least(last_most_, earlier_most_, bits))) {
      earlier_most_ = last_most_;
      any_earlier_ = true;
    }
    any_last_ = false;
    last_ = wait.moment.op;
  }
  if (!any_last_ || at_least(wait.least, last_most_, bits)) last_most_ = wait.least;
  any_last_ = true;
  const auto same = std::ranges::find_if(waits_, [&](const WaitOver& known) {
    return known.moment.op == wait.moment.op && known.moment.block == wait.moment.block &&
           known.moment.thread == wait.moment.thread && same_place(known.where, wait.where);
  });
  if (same != waits_.end()) waits_.erase(same);
  if (waits_.size() == kMostWaits) waits_.erase(waits_.begin());
  waits_.push_back(std::move(wait));
}

void SignalNotes::reset() {
  dropped_ += static_cast<uint32_t>(raised_.size());
  raised_.clear();
  waits_.clear();
  last_ = 0;
  any_last_ = any_earlier_ = false;
}

}  // namespace warploom::nccl

namespace warploom {

EarlyCause explain_early(const EarlyRead& read) {
  using namespace nccl;
  const SignalNotes* of = nullptr;
  const WaitOver* last = nullptr;
  for (const SignalNotes* notes : all_notes()) {
    if (notes->rank() != read.rank) continue;
    const Raised* meant = newest_of(*notes, read.sender);
    if (!meant) continue;
    for (const WaitOver& wait : notes->waits()) {
      if ((last && wait.number < last->number) || !is_before(wait, read)) continue;
      if (!is_early(wait, *notes, *meant, read)) continue;
      last = &wait;
      of = notes;
    }
  }
  if (!last) return {};
  report_finding(finding_of(*last, *of, read));
  // What follows from one wait is told once.
  static std::set<std::pair<uint32_t, int>> told;
  return {.where = last->where,
          .found = true,
          .first = told.insert({last->where.pc[0], read.rank}).second};
}

}  // namespace warploom
