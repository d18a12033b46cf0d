// The timing wheel. Level and slot of a timer are determined by the highest byte in which its tick differs from the current tick. So a
// level holds only the rest of the current turn of the level above. Slots never wrap, and every timer of a lower level is due before any of
// a higher one. The next expiry is the lowest set bit of the lowest level that has one. Scheduler's thread.
//
// A slot of a higher level has four chains. When its time begins, its timers are placed again. With a million timers each placement is a
// cache miss, and along one chain the misses are sequential. Along four chains they overlap.
//
// Timers of one tick fire in the order of their insertion, whatever other timers exist, because a replay has fewer timers and must have
// the same order. So timers of one tick share a chain on each level, and move down a level before a new one is inserted there.
#include <algorithm>
#include <array>
#include <bit>

#include "rondo/base/assert.h"
#include "rondo/sched/timer.h"

namespace rondo {

namespace {

constexpr unsigned kLevels = 4;
constexpr unsigned kSlotBits = 8;
constexpr unsigned kSlots = 1U << kSlotBits;
constexpr unsigned kWords = kSlots / 64;
constexpr std::int64_t kTickNanoseconds = 1'000'000;
constexpr unsigned kChains = 4;
/// Lists: 256 of level 0, then four for each slot of the levels above.
constexpr unsigned kLists = kSlots + (kLevels - 1) * kSlots * kChains;
constexpr std::uint16_t kNoList = UINT16_MAX;  // In one of the lists outside 'lists'.
/// Maximum moves between levels for each timer that one expire() may fire. A move costs about an eighth of a fire, and most timers move at
/// most twice.
constexpr std::size_t kMovesPerFire = 16;

std::uint64_t tick_at_or_after(Instant due) noexcept {
  if (due.nanoseconds() <= 0) return 0;
  const auto ns = static_cast<std::uint64_t>(due.nanoseconds());
  return ns / kTickNanoseconds + (ns % kTickNanoseconds != 0 ? 1 : 0);
}

std::uint64_t tick_of(Instant now) noexcept {
  return now.nanoseconds() <= 0 ? 0 : static_cast<std::uint64_t>(now.nanoseconds()) / kTickNanoseconds;
}

unsigned chain_of(std::uint64_t tick) noexcept { return static_cast<unsigned>(tick % kChains); }

void make_empty(TimerHook& list) noexcept { list.next = list.previous = &list; }
bool is_empty(const TimerHook& list) noexcept { return list.next == &list; }

void append(TimerHook& list, TimerHook& node) noexcept {
  node.next = &list;
  node.previous = list.previous;
  list.previous->next = &node;
  list.previous = &node;
}

void unlink(TimerHook& node) noexcept {
  node.previous->next = node.next;
  node.next->previous = node.previous;
}

/// Appends all timers of 'from' to 'to' and leaves 'from' empty.
void splice(TimerHook& to, TimerHook& from) noexcept {
  if (is_empty(from)) return;
  to.previous->next = from.next;
  from.next->previous = to.previous;
  from.previous->next = &to;
  to.previous = from.previous;
  make_empty(from);
}

}  // namespace

struct TimerWheel::Levels {
  std::uint64_t tick = 0;  // Every slot up to this tick has been emptied.
  std::size_t size = 0;
  bool expiring = false;
  TimerHook due;                          // To be fired, in order.
  TimerHook late;                         // Armed for the past while firing: fired by the next expire().
  TimerHook far;                          // In a later span of 2^32 ticks.
  std::array<TimerHook, kChains> moving;  // From a slot of a higher level whose time has begun; must be placed again.
  std::array<std::array<std::uint64_t, kWords>, kLevels> occupied{};
  std::array<TimerHook, kLists> lists;

  Levels() noexcept {
    for (TimerHook* list : {&due, &late, &far}) make_empty(*list);
    for (TimerHook& list : moving) make_empty(list);
    for (TimerHook& list : lists) make_empty(list);
  }

  /// The first chain of slot 'index' of 'level' >= 1.
  static unsigned first_chain(unsigned level, unsigned index) noexcept { return kSlots + ((level - 1) * kSlots + index) * kChains; }

  void mark(unsigned level, unsigned index) noexcept { occupied[level][index / 64] |= 1ULL << (index % 64); }
  void unmark(unsigned level, unsigned index) noexcept { occupied[level][index / 64] &= ~(1ULL << (index % 64)); }

  /// 'list' has lost its last timer.
  void note_empty(unsigned list) noexcept {
    if (list < kSlots) return unmark(0, list);
    const unsigned slot = (list - kSlots) / kChains;
    const unsigned first = kSlots + slot * kChains;
    for (unsigned other = first; other < first + kChains; ++other) {
      if (!is_empty(lists[other])) return;
    }
    unmark(1 + slot / kSlots, slot % kSlots);
  }

  bool is_moving() const noexcept {
    return std::any_of(moving.begin(), moving.end(), [](const TimerHook& list) { return !is_empty(list); });
  }

  struct Next {
    std::uint64_t tick = UINT64_MAX;
    unsigned level = kLevels;  // kLevels with a tick: the beginning of the next span, at which far timers are placed.
    unsigned index = 0;
  };
  Next next() const noexcept {
    for (unsigned level = 0; level < kLevels; ++level) {
      for (unsigned word = 0; word < kWords; ++word) {
        if (occupied[level][word] == 0) continue;
        const unsigned index = word * 64 + static_cast<unsigned>(std::countr_zero(occupied[level][word]));
        const unsigned shift = level * kSlotBits;
        const std::uint64_t turn = tick >> (shift + kSlotBits) << (shift + kSlotBits);
        return {turn + (std::uint64_t{index} << shift), level, index};
      }
    }
    if (!is_empty(far)) return {((tick >> 32) + 1) << 32, kLevels, 0};
    return {};
  }

  /// Returns the list for a timer of tick 'when' and sets 'list' to its number.
  TimerHook& list_for(std::uint64_t when, std::uint16_t& list) noexcept {
    list = kNoList;
    if (when <= tick) return expiring ? late : due;
    const std::uint64_t difference = when ^ tick;
    if (difference >> 32 != 0) return far;
    const unsigned level = (63U - static_cast<unsigned>(std::countl_zero(difference))) / kSlotBits;
    const auto index = static_cast<unsigned>(when >> (level * kSlotBits)) & (kSlots - 1);
    mark(level, index);
    list = static_cast<std::uint16_t>(level == 0 ? index : first_chain(level, index) + chain_of(when));
    return lists[list];
  }

  /// Begins the slot at 'next.tick': its timers are due or must be placed again.
  void begin(const Next& next) noexcept {
    tick = next.tick;
    if (next.level == kLevels) return splice(moving[0], far);
    unmark(next.level, next.index);
    if (next.level == 0) return splice(due, lists[next.index]);
    for (unsigned i = 0; i < kChains; ++i) splice(moving[i], lists[first_chain(next.level, next.index) + i]);
  }
};

TimerNode::~TimerNode() { RONDO_ASSERT(!armed()); }

TimerWheel::TimerWheel(Instant start) : levels_(std::make_unique<Levels>()) { levels_->tick = tick_of(start); }

TimerWheel::~TimerWheel() {
  const auto disarm_all = [](TimerHook& list) {
    for (TimerHook* node = list.next; node != &list;) {
      TimerHook* next = node->next;
      node->next = node->previous = nullptr;
      node = next;
    }
  };
  for (TimerHook* list : {&levels_->due, &levels_->late, &levels_->far}) disarm_all(*list);
  for (TimerHook& list : levels_->moving) disarm_all(list);
  for (TimerHook& list : levels_->lists) disarm_all(list);
}

void TimerWheel::insert(TimerNode& node, Instant due) {
  if (node.armed()) cancel(node);
  node.due_ = due;
  const std::uint64_t tick = tick_at_or_after(due);
  if (levels_->is_moving() && tick >= levels_->tick) [[unlikely]] {
    node.list_ = kNoList;
    append(levels_->moving[chain_of(tick)], node);  // Behind the timers of its tick that are still moving.
  } else {
    append(levels_->list_for(tick, node.list_), node);
  }
  ++levels_->size;
}

void TimerWheel::cancel(TimerNode& node) noexcept {
  if (!node.armed()) return;
  Levels& levels = *levels_;
  unlink(node);
  // The last timer of its list: both neighbours are the list itself. (A moving timer is excluded, because its list may have other timers
  // by now.)
  if (node.list_ != kNoList && node.next == &levels.lists[node.list_] && node.previous == node.next) levels.note_empty(node.list_);
  node.next = node.previous = nullptr;
  --levels.size;
}

/// Advances the wheel to tick 'until': all due timers are in the due list, unless 'moves' did not suffice.
void TimerWheel::advance(std::uint64_t until, std::size_t moves) {
  Levels& levels = *levels_;
  for (;;) {
    while (levels.is_moving()) {
      for (TimerHook& chain : levels.moving) {
        if (is_empty(chain)) continue;
        if (moves-- == 0) return;
        auto& node = static_cast<TimerNode&>(*chain.next);
        unlink(node);
        __builtin_prefetch(chain.next, 1);  // Loaded by the time the other chains have been processed.
        append(levels.list_for(tick_at_or_after(node.due_), node.list_), node);
      }
    }
    const Levels::Next next = levels.next();
    if (next.tick > until) break;
    levels.begin(next);
  }
  levels.tick = std::max(levels.tick, until);
}

std::size_t TimerWheel::expire(Instant now, std::size_t max) {
  Levels& levels = *levels_;
  RONDO_ASSERT(!levels.expiring);
  advance(tick_of(now), max * kMovesPerFire);
  levels.expiring = true;
  std::size_t fired = 0;
  for (; fired < max && !is_empty(levels.due); ++fired) {
    auto& node = static_cast<TimerNode&>(*levels.due.next);
    __builtin_prefetch(node.next->next, 1);
    unlink(node);
    node.next = node.previous = nullptr;
    --levels.size;
    node.on_due();
  }
  levels.expiring = false;
  splice(levels.due, levels.late);
  return fired;
}

Instant TimerWheel::next_expiry() const noexcept {
  if (levels_->size == 0) return Instant::never();
  if (!is_empty(levels_->due) || levels_->is_moving()) return Instant{};
  const std::uint64_t tick = levels_->next().tick;
  if (tick > static_cast<std::uint64_t>(Instant::never().nanoseconds() / kTickNanoseconds)) return Instant::never();
  return Instant::from_nanoseconds(static_cast<std::int64_t>(tick) * kTickNanoseconds);
}

std::size_t TimerWheel::size() const noexcept { return levels_->size; }

}  // namespace rondo
