// ReadySet: the ready sources, found by highest priority, then by the order of the Tie. One 64-bit word says which priorities have any;
// each priority has two intrusive lists. Scheduler's thread; every operation O(1) without allocation. Used by the policies.
//
// LeastRecentlyServed with two lists, "fresh first, old after" (the idea of fq_codel, RFC 8290 section 4.2). Each source has a stamp, a
// sequence number and never a clock reading: two equal stamps do not exist, and every run can be repeated. 'old' is ordered by stamp,
// because what is appended there gets a new stamp. A source that becomes ready from idle
//   - goes to the end of 'fresh' if it was last served before the head of 'old' got its stamp, or if 'old' is empty;
//   - else to the end of 'old'.
// A source that was served and has more goes to the end of 'old'. 'fresh' is served first.
//
// Bound: while X waits, every other source Y of its priority gets at most one turn. Proof. Let Y be served while X waits; that gives Y
// a stamp later than any before. (1) X waits in 'old'. If Y has more, it goes behind X. If Y was idle and comes back, the head of 'old'
// is X or older than X, hence older than Y's stamp, so Y goes to the end of 'old', behind X; and it cannot pass X, as 'old' is a queue.
// (2) X waits in 'fresh'. Y goes to the end of 'old' or of 'fresh': either way X is served before. In neither case does X change
// lists while it waits. So Y's second turn comes after X's. (ready_set_test.cc checks this on random histories.)
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "rondo/sched/policy.h"
#include "rondo/sched/source.h"

namespace rondo {

class ReadySet {
 public:
  explicit ReadySet(Tie tie) noexcept : tie_(tie) {}

  bool empty() const noexcept { return occupied_ == 0; }
  /// Bit p: priority p has ready sources.
  std::uint64_t occupied() const noexcept { return occupied_; }

  /// 'source' was idle and is ready.
  void arrive(Source& source) noexcept {
    Level& level = levels_[source.priority_.level()];
    const bool first = tie_ == Tie::LeastRecentlyServed && (level.old.first == nullptr || source.stamp_ < level.old.first->stamp_);
    if (first) {
      append(level.fresh, source);
      source.in_fresh_ = true;
      occupied_ |= bit(source);
    } else {
      append_old(level, source);
    }
  }

  /// 'source' had a turn and has more.
  void return_served(Source& source) noexcept { append_old(levels_[source.priority_.level()], source); }

  /// 'source' had a turn and is idle now.
  void rest(Source& source) noexcept { source.stamp_ = ++sequence_; }

  /// Takes out whose turn it is; nullptr when empty.
  Source* take() noexcept {
    if (occupied_ == 0) return nullptr;
    Level& level = levels_[63U - static_cast<unsigned>(std::countl_zero(occupied_))];
    Source& source = level.fresh.first != nullptr ? *level.fresh.first : *level.old.first;
    erase(source);
    prefetch(level.fresh.first != nullptr ? level.fresh.first : level.old.first);
    return &source;
  }

  /// Takes out 'source', which must be in the set.
  void erase(Source& source) noexcept {
    Level& level = levels_[source.priority_.level()];
    List& list = source.in_fresh_ ? level.fresh : level.old;
    (source.previous_ != nullptr ? source.previous_->next_ : list.first) = source.next_;
    (source.next_ != nullptr ? source.next_->previous_ : list.last) = source.previous_;
    source.next_ = source.previous_ = nullptr;
    if (level.fresh.first == nullptr && level.old.first == nullptr) occupied_ &= ~bit(source);
  }

 private:
  struct List {
    Source* first = nullptr;
    Source* last = nullptr;
  };
  struct Level {
    List fresh;
    List old;
  };

  static std::uint64_t bit(const Source& source) noexcept { return 1ULL << source.priority_.level(); }

  static void append(List& list, Source& source) noexcept {
    source.next_ = nullptr;
    source.previous_ = list.last;
    (list.last != nullptr ? list.last->next_ : list.first) = &source;
    list.last = &source;
  }

  void append_old(Level& level, Source& source) noexcept {
    source.stamp_ = ++sequence_;
    append(level.old, source);
    source.in_fresh_ = false;
    occupied_ |= bit(source);
  }

  /// The next source's lines arrive while this one's turn runs: that keeps a turn's cost flat when the sources outgrow the cache.
  static void prefetch(const Source* source) noexcept {
    if (source == nullptr) return;
    const char* line = reinterpret_cast<const char*>(source);
    __builtin_prefetch(line, 1);
    __builtin_prefetch(line + 64, 1);
    __builtin_prefetch(line + 128, 1);
  }

  std::uint64_t occupied_ = 0;
  std::uint64_t sequence_ = 0;
  Tie tie_;
  std::array<Level, limits::kPriorities> levels_{};
};

}  // namespace rondo
