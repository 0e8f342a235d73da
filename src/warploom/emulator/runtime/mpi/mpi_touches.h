// The last accesses of one sort, by bytes.
#pragma once

#include <cstddef>
#include <iterator>
#include <map>

namespace warploom::mpi {

// Where neighbors are equal they are one.
template <class Touch>
class Touches {
 public:
  void enter(std::size_t start, std::size_t end, const Touch& touch) {
    if (extend(start, end, touch)) return;
    cut(start);
    cut(end);
    spans_.erase(spans_.lower_bound(start), spans_.lower_bound(end));
    last_ = spans_.emplace(start, Span{end, touch}).first;
    join(last_);
    if (last_ == spans_.begin()) return;
    const auto before = std::prev(last_);
    if (join(before)) last_ = before;
  }

  template <class Function>
  void each(std::size_t start, std::size_t end, Function&& function) const {
    auto span = spans_.upper_bound(start);
    if (span != spans_.begin()) span--;
    for (; span != spans_.end() && span->first < end; span++) {
      if (span->second.end > start) function(span->second.touch);
    }
  }

 private:
  struct Span {
    std::size_t end;
    Touch touch;
  };
  using Spans = std::map<std::size_t, Span>;
  using Place = typename Spans::iterator;

  // A loop goes on where it was, or comes again.
  bool extend(std::size_t start, std::size_t end, const Touch& touch) {
    if (spans_.empty()) return false;
    auto& [first, span] = *last_;
    if (start < first || start > span.end || !(span.touch == touch)) return false;
    if (end <= span.end) return true;
    const auto next = std::next(last_);
    if (next != spans_.end() && next->first < end) {
      if (next->second.end <= end || next->second.touch == touch) return false;
      auto rest = spans_.extract(next);
      rest.key() = end;
      spans_.insert(std::move(rest));
    }
    span.end = end;
    return true;
  }

  void cut(std::size_t at) {
    auto span = spans_.upper_bound(at);
    if (span == spans_.begin()) return;
    span--;
    if (span->first == at || span->second.end <= at) return;
    spans_.emplace(at, span->second);
    span->second.end = at;
  }

  // Is what lies behind it one with it now?
  bool join(Place first) {
    const auto next = std::next(first);
    if (next == spans_.end() || next->first != first->second.end) return false;
    if (!(next->second.touch == first->second.touch)) return false;
    first->second.end = next->second.end;
    spans_.erase(next);
    return true;
  }

  Spans spans_;
  Place last_;  // the one that was entered last, if there is any
};

}  // namespace warploom::mpi
