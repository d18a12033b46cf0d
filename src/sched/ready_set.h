// ReadySet: the ready sources, ordered by priority, then by the Tie. Each bit of one 64-bit word says whether a priority has any.
// Scheduler's thread; only join() allocates. Used by the policies.
//
// LeastRecentlyServed: two intrusive lists a priority, "fresh first, old after" (the idea of fq_codel, RFC 8290 section 4.2). Every
// operation is O(1). Each source has a stamp, which is a sequence number and not a clock reading: no two stamps are equal, and every run
// can be repeated. 'old' is ordered by stamp, because a source appended to it gets a new stamp. A source that becomes ready from idle
//   - goes to the end of 'fresh' if it was last served before the head of 'old' got its stamp, or if 'old' is empty;
//   - otherwise to the end of 'old'.
// A source that was served and has more work goes to the end of 'old'. 'fresh' is served first.
//
// Bound: while X waits, every other source Y of its priority gets at most one turn. Proof. Let Y be served while X waits; that gives Y
// a stamp later than any before. (1) X waits in 'old'. If Y has more, it goes behind X. If Y was idle and becomes ready, the head of
// 'old' is X or older than X, hence older than Y's stamp. So Y goes to the end of 'old', behind X, and cannot pass X, as 'old' is a queue.
// (2) X waits in 'fresh'. Y goes to the end of 'old' or of 'fresh': either way X is served before. In neither case does X change
// lists while it waits. So Y's second turn comes after X's. (ready_set_test.cc checks this on random histories.)
//
// Arrival and ConsumedTime: a binary heap a priority, ordered by a key, and among equal keys by arrival; O(log n). The keys are stored in
// the heap itself, so that ordering touches no source. join() makes room for all sources of the priority. Arrival's key is
// Source::head_arrival(), or a number taken when the source became ready. ConsumedTime's key is the time consumed, divided by the weight.
// A source that becomes ready begins at least where the source served last began, so that idle time gives no credit.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/prefetch.h"
#include "rondo/base/limits.h"
#include "rondo/sched/policy.h"
#include "rondo/sched/source.h"

namespace rondo {

/// The rules of budgeted frames that a test breaks on purpose, to verify that the checks detect it.
struct FrameRules {
  static constexpr bool kCreditIsCarried = false;
  static constexpr bool kFrameEndsEarly = false;     // When the highest class has no budget left, although others have.
  static constexpr bool kNewestServedFirst = false;  // Instead of the least recently served.
};

template <class Rules>
class BasicReadySet {
 public:
  explicit BasicReadySet(Tie tie) noexcept : tie_(tie) {}

  bool empty() const noexcept { return occupied_ == 0; }
  bool has(unsigned priority) const noexcept { return (occupied_ >> priority & 1) != 0; }
  /// The number of the last service; follow() continues from another set's number.
  std::uint64_t services() const noexcept { return sequence_; }
  void follow(std::uint64_t services) noexcept { sequence_ = services; }

  /// Registers a source that may become ready in this priority. A new source is placed behind all ready sources; otherwise sources that
  /// come and go would starve the others. Throws bad_alloc, and then the source has not joined.
  void join(Source& source) {
    Heap& heap = heaps_[source.priority_.level()];
    if (tie_ != Tie::LeastRecentlyServed && heap.entries.capacity() <= heap.members) {
      heap.entries.reserve(std::max<std::size_t>(8, 2 * heap.entries.capacity()));
    }
    ++heap.members;
    if (tie_ == Tie::ConsumedTime) source.key_ = heap.highest_key;
    source.stamp_ = ++sequence_;
  }
  void leave(const Source& source) noexcept { --heaps_[source.priority_.level()].members; }

  /// 'source' was idle and is now ready. 'key' is its key for Arrival, otherwise unused.
  void arrive(Source& source, std::uint64_t key = 0) noexcept {
    if (tie_ != Tie::LeastRecentlyServed) return push(source, key);
    Level& level = levels_[source.priority_.level()];
    if (level.old.first == nullptr || source.stamp_ < level.old.first->stamp_) {
      append_fresh(level, source);
    } else {
      append_old(level, source);
    }
  }

  /// 'source' was ready in another set. It is placed behind those that were resumed before it.
  void resume(Source& source, std::uint64_t key) noexcept {
    if (tie_ == Tie::LeastRecentlyServed) {
      append_fresh(levels_[source.priority_.level()], source);
    } else {
      arrive(source, key);
    }
  }

  /// 'source' had a turn and has more work.
  void return_served(Source& source, std::uint64_t key = 0) noexcept {
    if (tie_ == Tie::LeastRecentlyServed) return append_old(levels_[source.priority_.level()], source);
    source.stamp_ = ++sequence_;
    arrive(source, key);
  }

  /// 'source' had a turn and is now idle.
  void rest(Source& source) noexcept { source.stamp_ = ++sequence_; }

  /// ConsumedTime: a turn of 'source' took 'took'. Call it before return_served() or rest().
  static void charge(Source& source, Duration took) noexcept {
    const std::uint64_t whole = static_cast<std::uint64_t>(took.count()) * kKeysPerNanosecond + source.key_rest_;
    source.key_ += whole / source.weight_;
    source.key_rest_ = static_cast<std::uint32_t>(whole % source.weight_);
  }

  /// Takes out the next source; nullptr when empty.
  Source* take() noexcept { return occupied_ == 0 ? nullptr : &take(63U - static_cast<unsigned>(std::countl_zero(occupied_))); }

  /// Takes out the next source of 'priority', which has ready sources.
  Source& take(unsigned priority) noexcept {
    if (tie_ != Tie::LeastRecentlyServed) return pull(priority);
    Level& level = levels_[priority];
    List& list = level.fresh.first != nullptr ? level.fresh : level.old;
    Source& source = *list.first;
    list.first = source.next_;
    if (list.first != nullptr) {
      list.first->previous_ = nullptr;
      prefetch(list.first->next_);
      return source;
    }
    list.last = nullptr;
    if (level.old.first == nullptr) {
      occupied_ &= ~bit(source);
    } else {
      prefetch(level.old.first->next_);
    }
    return source;
  }

  /// Arrival: the key of the next source of 'priority'; UINT64_MAX if it has none.
  std::uint64_t next_key(unsigned priority) const noexcept {
    const std::vector<Entry>& entries = heaps_[priority].entries;
    return entries.empty() ? UINT64_MAX : entries.front().key;
  }

  static std::uint64_t key(const Source& source) noexcept { return source.key_; }

  /// Takes out 'source', which must be in the set.
  void erase(Source& source) noexcept {
    const unsigned priority = source.priority_.level();
    if (tie_ != Tie::LeastRecentlyServed) {
      pull(heaps_[priority], source);
      if (heaps_[priority].entries.empty()) occupied_ &= ~(1ULL << priority);
      return;
    }
    Level& level = levels_[priority];
    List& list = source.in_fresh_ ? level.fresh : level.old;
    (source.previous_ != nullptr ? source.previous_->next_ : list.first) = source.next_;
    (source.next_ != nullptr ? source.next_->previous_ : list.last) = source.previous_;
    if (level.fresh.first == nullptr && level.old.first == nullptr) occupied_ &= ~(1ULL << priority);
  }

 private:
  /// A fraction, so that short turns also count for heavy sources; 2^58 ns are nine years of turns.
  static constexpr std::uint64_t kKeysPerNanosecond = 64;

  struct List {
    Source* first = nullptr;
    Source* last = nullptr;
  };
  struct Level {
    List fresh;
    List old;
  };
  struct Entry {
    std::uint64_t key = 0;
    std::uint64_t order = 0;
    Source* source = nullptr;
    bool operator<(const Entry& other) const noexcept { return key != other.key ? key < other.key : order < other.order; }
  };
  struct Heap {
    std::vector<Entry> entries;
    std::size_t members = 0;
    std::uint64_t served_key = 0;   // The key of the source taken last.
    std::uint64_t highest_key = 0;  // The highest key of all sources that were ready.
  };

  static std::uint64_t bit(const Source& source) noexcept { return 1ULL << source.priority_.level(); }

  static void append(List& list, Source& source) noexcept {
    source.next_ = nullptr;
    source.previous_ = list.last;
    (list.last != nullptr ? list.last->next_ : list.first) = &source;
    list.last = &source;
  }

  void append_fresh(Level& level, Source& source) noexcept {
    append(level.fresh, source);
    source.in_fresh_ = true;
    occupied_ |= bit(source);
  }

  void append_old(Level& level, Source& source) noexcept {
    source.stamp_ = ++sequence_;
    if constexpr (Rules::kNewestServedFirst) {
      source.previous_ = nullptr;
      source.next_ = level.old.first;
      (level.old.first != nullptr ? level.old.first->previous_ : level.old.last) = &source;
      level.old.first = &source;
    } else {
      append(level.old, source);
    }
    source.in_fresh_ = false;
    occupied_ |= bit(source);
  }

  static void put(Heap& heap, std::size_t place, const Entry& entry) noexcept {
    heap.entries[place] = entry;
    entry.source->place_ = static_cast<std::uint32_t>(place);
  }

  static void rise(Heap& heap, std::size_t place, const Entry& entry) noexcept {
    while (place > 0) {
      const std::size_t parent = (place - 1) / 2;
      if (!(entry < heap.entries[parent])) break;
      put(heap, place, heap.entries[parent]);
      place = parent;
    }
    put(heap, place, entry);
  }

  [[gnu::noinline]] void push(Source& source, std::uint64_t arrival) noexcept {
    Heap& heap = heaps_[source.priority_.level()];
    const std::uint64_t key = tie_ == Tie::Arrival ? arrival : std::max(source.key_, heap.served_key);
    source.key_ = key;
    heap.highest_key = std::max(heap.highest_key, key);
    heap.entries.emplace_back();  // join() reserved the room.
    rise(heap, heap.entries.size() - 1, {key, ++order_, &source});
    occupied_ |= bit(source);
  }

  [[gnu::noinline]] Source& pull(unsigned priority) noexcept {
    Heap& heap = heaps_[priority];
    Source& source = *heap.entries.front().source;
    heap.served_key = source.key_;
    pull(heap, source);
    if (heap.entries.empty()) {
      occupied_ &= ~(1ULL << priority);
    } else {
      prefetch(heap.entries.front().source);
    }
    return source;
  }

  static void pull(Heap& heap, const Source& source) noexcept {
    std::size_t place = source.place_;
    const Entry last = heap.entries.back();
    heap.entries.pop_back();
    if (last.source == &source) return;
    const std::size_t size = heap.entries.size();
    for (std::size_t child = 2 * place + 1; child < size; child = 2 * place + 1) {
      if (child + 1 < size && heap.entries[child + 1] < heap.entries[child]) ++child;
      if (!(heap.entries[child] < last)) break;
      put(heap, place, heap.entries[child]);
      place = child;
    }
    rise(heap, place, last);
  }

  /// Prefetches the lines of a source that its turn will touch. Two turns pass before that, which keeps the cost of a turn flat when the
  /// sources exceed the cache. The last line has the first members of the derived class.
  static void prefetch(const Source* source) noexcept {
    const char* const begin = reinterpret_cast<const char*>(source);
    prefetch_to_write(begin);
    prefetch_to_write(begin + 64);
    prefetch_to_write(begin + sizeof(Source) - 1);
  }

  std::uint64_t occupied_ = 0;  // Bit p: priority p has ready sources.
  std::uint64_t sequence_ = 0;
  std::uint64_t order_ = 0;
  Tie tie_;
  std::array<Level, limits::kPriorities> levels_{};
  std::array<Heap, limits::kPriorities> heaps_{};
};

using ReadySet = BasicReadySet<FrameRules>;

}  // namespace rondo
