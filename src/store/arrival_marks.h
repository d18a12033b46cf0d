// ArrivalMarks: when each change of a line came, for figures of latency. The line is first in, first out, and the changes of one turn share
// a mark, so the memory follows the number of turns and not that of the changes. One thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "rondo/base/time.h"
#include "rondo/store/store.h"

namespace rondo::store {

class ArrivalMarks {
 public:
  /// At most this many marks, 24 KiB. When there are more, neighbours become one with the earlier time: a latency then counts from an
  /// earlier write than the true one, by at most 1/256 of the time since the oldest, and is never too short.
  static constexpr std::size_t kMarks = 1024;

  /// A change joins the end of the line.
  void add(Instant now) {
    if (marks_.empty()) apart_ = Duration{0};
    if (marks_.empty() || now - marks_.back().at > apart_) {
      if (marks_.size() >= kMarks) thin_out();
      marks_.push_back({now, 0});
    }
    ++marks_.back().keys;
  }
  /// 'keys' changes leave the front of the line.
  void remove(std::size_t keys) {
    while (keys > 0 && !marks_.empty()) {
      Subscription::Arrival& front = marks_.front();
      const std::size_t gone = std::min(keys, front.keys);
      front.keys -= gone;
      keys -= gone;
      if (front.keys == 0) marks_.pop_front();
    }
  }
  /// See Subscription::next_arrivals().
  void next(std::size_t max, std::vector<Subscription::Arrival>& out) const {
    for (auto mark = marks_.begin(); max > 0 && mark != marks_.end(); ++mark) {
      out.push_back({mark->at, std::min(max, mark->keys)});
      max -= out.back().keys;
    }
  }
  std::size_t size() const noexcept { return marks_.size(); }

 private:
  void thin_out() {
    std::deque<Subscription::Arrival> kept;
    for (std::size_t i = 0; i < marks_.size(); i += 2) {
      kept.push_back(marks_[i]);
      if (i + 1 < marks_.size()) kept.back().keys += marks_[i + 1].keys;
    }
    apart_ = (marks_.back().at - marks_.front().at) / (kMarks / 2);
    marks_ = std::move(kept);
  }

  std::deque<Subscription::Arrival> marks_;
  Duration apart_{0};  // A new mark is later than the one before it by more than this.
};

}  // namespace rondo::store
