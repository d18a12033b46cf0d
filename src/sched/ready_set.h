// ReadySet: the ready sources, found by priority, then by the order of the Tie. One 64-bit word says which priorities have any.
// Scheduler's thread; nothing but join() allocates. Used by the policies.
//
// LeastRecentlyServed: two intrusive lists a priority, "fresh first, old after" (the idea of fq_codel, RFC 8290 section 4.2); every
// operation O(1). Each source has a stamp, a sequence number and never a clock reading: two equal stamps do not exist, and every run can be
// repeated. 'old' is ordered by stamp, because what is appended there gets a new stamp. A source that becomes ready from idle
//   - goes to the end of 'fresh' if it was last served before the head of 'old' got its stamp, or if 'old' is empty;
//   - else to the end of 'old'.
// A source that was served and has more goes to the end of 'old'. 'fresh' is served first.
//
// Bound: while X waits, every other source Y of its priority gets at most one turn. Proof. Let Y be served while X waits; that gives Y
// a stamp later than any before. (1) X waits in 'old'. If Y has more, it goes behind X. If Y was idle and comes back, the head of 'old'
// is X or older than X, hence older than Y's stamp, so Y goes to the end of 'old', behind X; and it cannot pass X, as 'old' is a queue.
// (2) X waits in 'fresh'. Y goes to the end of 'old' or of 'fresh': either way X is served before. In neither case does X change
// lists while it waits. So Y's second turn comes after X's. (ready_set_test.cc checks this on random histories.)
//
// Arrival and ConsumedTime: a binary heap a priority, ordered by a key and among equal keys by who came first; O(log n). The keys stand in
// the heap itself, so that finding an order touches no source. Room for all sources of the priority is made when they join. Arrival's key
// is Source::head_arrival(), or a number taken when the source became ready. ConsumedTime's is the time consumed, divided by the weight;
// who becomes ready begins at least where the one served last began, so that nobody catches up for having been idle.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "base/prefetch.h"
#include "rondo/sched/policy.h"
#include "rondo/sched/source.h"

namespace rondo {

/// The rules of budgeted frames that a test breaks on purpose, to see that it would be found.
struct FrameRules {
  static constexpr bool kCreditIsCarried = false;
  static constexpr bool kFrameEndsEarly = false;     // When the highest class has no budget left, though others have.
  static constexpr bool kNewestServedFirst = false;  // First, in place of the least recently served.
};

template <class Rules>
class BasicReadySet {
 public:
  explicit BasicReadySet(Tie tie) noexcept : tie_(tie) {}

  bool empty() const noexcept { return occupied_ == 0; }
  bool has(unsigned priority) const noexcept { return (occupied_ >> priority & 1) != 0; }
  /// The number of the last service; goes on from another set's.
  std::uint64_t services() const noexcept { return sequence_; }
  void follow(std::uint64_t services) noexcept { sequence_ = services; }

  /// A source of this priority may be ready some day. Who is new goes behind all who are ready: else those who come and go would starve
  /// those who stay. Throws bad_alloc, and then it has not joined.
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

  /// 'source' was idle and is ready. 'key' is its key for Arrival, else of no matter.
  void arrive(Source& source, std::uint64_t key = 0) noexcept {
    if (tie_ != Tie::LeastRecentlyServed) return push(source, key);
    Level& level = levels_[source.priority_.level()];
    if (level.old.first == nullptr || source.stamp_ < level.old.first->stamp_) {
      append_fresh(level, source);
    } else {
      append_old(level, source);
    }
  }

  /// 'source' was ready in another set, and goes behind those that came from there before.
  void resume(Source& source, std::uint64_t key) noexcept {
    if (tie_ == Tie::LeastRecentlyServed) {
      append_fresh(levels_[source.priority_.level()], source);
    } else {
      arrive(source, key);
    }
  }

  /// 'source' had a turn and has more.
  void return_served(Source& source, std::uint64_t key = 0) noexcept {
    if (tie_ == Tie::LeastRecentlyServed) return append_old(levels_[source.priority_.level()], source);
    source.stamp_ = ++sequence_;
    arrive(source, key);
  }

  /// 'source' had a turn and is idle now.
  void rest(Source& source) noexcept { source.stamp_ = ++sequence_; }

  /// ConsumedTime: a turn of 'source' took so long. Before it returns or rests.
  static void charge(Source& source, Duration took) noexcept {
    const std::uint64_t whole = static_cast<std::uint64_t>(took.count()) * kKeysPerNanosecond + source.key_rest_;
    source.key_ += whole / source.weight_;
    source.key_rest_ = static_cast<std::uint32_t>(whole % source.weight_);
  }

  /// Takes out whose turn it is; nullptr when empty.
  Source* take() noexcept { return occupied_ == 0 ? nullptr : &take(63U - static_cast<unsigned>(std::countl_zero(occupied_))); }

  /// The same of 'priority', which has ready sources.
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

  /// Arrival: the key of who is next in 'priority'; UINT64_MAX if nobody is.
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
  /// So that short turns count for heavy sources, too; 2^58 ns are nine years of turns.
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
    std::uint64_t served_key = 0;   // Of the one taken last.
    std::uint64_t highest_key = 0;  // Of all that were ready.
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
    heap.entries.emplace_back();  // There is room since it joined.
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

  /// What a turn touches of the source after the next arrives during two turns: that keeps a turn's cost flat when the sources outgrow the
  /// cache. The last is the line with the first members of the derived class.
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
