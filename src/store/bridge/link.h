// Link: what the two ends of a bridge share: rings of requests and answers between a worker's thread and the home thread, and a lane for
// each subscription. Each ring has one side that puts and one that takes; nothing else is touched by both without an atomic.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include "rondo/base/assert.h"
#include "rondo/sched/source.h"
#include "rondo/store/store.h"
#include "sched/ring.h"

namespace rondo::store::bridge {

/// One change under way to the worker, or the place where events are missing.
struct Entry {
  enum class Mark : std::uint8_t { None, WithNext, Gap };  // WithNext: a Delete whose Set was popped with it. Gap: no change at all.
  Record record;
  Op op = Op::Set;
  Mark mark = Mark::None;
};

/// The changes of one subscription, from the home thread (Pump) to the worker's (NearEnd).
struct Lane {
  Lane(const TableSpec& table, std::size_t capacity) : spec(table), ring(capacity) {}
  /// Keys (Staged), entries or events in the ring. Exact on the worker's thread while the pump rests.
  std::size_t keys() const noexcept {
    const std::uint64_t taken = keys_taken.load(std::memory_order_acquire);
    return static_cast<std::size_t>(keys_put.load(std::memory_order_acquire) - taken);
  }
  /// What one key may take: a Delete and its Set, or a gap and its event.
  static constexpr std::size_t kSlotsOfOne = 2;
  static constexpr std::uint64_t kUnknown = UINT64_MAX;
  /// How many slots must be free before a pump that found too few is woken: half, so that it moves batches and not single changes.
  std::size_t wake_room() const noexcept { return std::max(ring.capacity() / 2, kSlotsOfOne); }

  const TableSpec spec;
  Ring<Entry> ring;
  Source* pump = nullptr;                              // Lives until the worker gives the lane up, or home ends (null).
  std::atomic<std::uint64_t> keys_put{0};              // Written at home.
  std::atomic<std::uint64_t> keys_taken{0};            // Written by the worker.
  std::atomic<std::uint64_t> standing_keys{kUnknown};  // keys_put when the home table's consumer had caught up.
  std::atomic<std::size_t> far_depth{0};               // What waits in the home table, as the pump saw it last.
  std::atomic<std::uint64_t> dropped{0};               // Channel.
};

/// Worker to home. 'table' belongs to the worker's end and stays as long as that.
struct Request {
  enum class Kind : std::uint8_t { Write, Get, Scan, ScanWritten, DealtWith, Requeue };
  Kind kind = Kind::Write;
  std::uint64_t id = 0;  // Of the answer; 0: none is wanted.
  const TableSpec* table = nullptr;
  Change change;
  std::string text;     // Get, Requeue: the key. Scans: the cursor.
  std::size_t max = 0;  // Scans.
};

/// Home to worker: how a request ended.
struct Answer {
  std::uint64_t id = 0;
  std::variant<Status, Result<Record>, Result<RowPage>> end;
};

struct Link {
  Link(std::size_t request_capacity) : requests(request_capacity), answers(request_capacity) {}
  /// Home thread. There is room: the worker has no more requests under way than the ring has slots.
  void answer(std::uint64_t id, std::variant<Status, Result<Record>, Result<RowPage>> end) {
    if (id == 0 || inlet == nullptr) return;
    RONDO_ASSERT(answers.room() > 0);
    answers.put({id, std::move(end)});
    if (answers.publish()) inlet->wake_from_any_thread();
  }

  Ring<Request> requests;
  Ring<Answer> answers;
  std::uint64_t full_lanes = 0;  // Times a pump found its lane full. Home thread.
  Source* inlet = nullptr;       // The worker's source. Changed only while the worker has no thread.
};

}  // namespace rondo::store::bridge
