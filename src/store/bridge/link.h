// Link: the state that the two sides of a bridge share: rings of requests and answers between a worker's thread and the home thread, and a
// ring for each subscription. Each ring has one producer and one consumer. All other state used by both threads is atomic.
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

/// One change on its way to the worker, or a mark where events are missing.
struct Entry {
  /// WithNext: a Delete whose Set was popped with it. Gap: the entry has no change.
  enum class Mark : std::uint8_t { None, WithNext, Gap };
  Record record;
  ChangeOp op = ChangeOp::Set;
  Mark mark = Mark::None;
};

/// The changes of one subscription, from the home thread (Forwarder) to the worker's thread (WorkerSubscription).
struct ChangeRing {
  ChangeRing(const TableSpec& table, std::size_t capacity) : spec(table), entries(capacity) {}
  /// Keys (Staged), entries or events in the ring. Exact on the worker's thread while the forwarder does not run.
  std::size_t keys() const noexcept {
    const std::uint64_t taken = keys_taken.load(std::memory_order_acquire);
    return static_cast<std::size_t>(keys_put.load(std::memory_order_acquire) - taken);
  }
  /// The slots that one key may use: a Delete and its Set, or a gap and its event.
  static constexpr std::size_t kSlotsOfOne = 2;
  static constexpr std::uint64_t kUnknown = UINT64_MAX;
  /// The number of free slots at which a waiting forwarder is woken: half of the ring, so that it moves batches and not single changes.
  std::size_t wake_room() const noexcept { return std::max(entries.capacity() / 2, kSlotsOfOne); }

  const TableSpec spec;
  Ring<Entry> entries;
  Source* forwarder = nullptr;                         // Valid until the worker closes the ring; null after the home side has closed.
  std::atomic<std::uint64_t> keys_put{0};              // Written on the home thread.
  std::atomic<std::uint64_t> keys_taken{0};            // Written on the worker's thread.
  std::atomic<std::uint64_t> standing_keys{kUnknown};  // The value of keys_put when the home table's consumer had caught up.
  std::atomic<std::size_t> far_depth{0};               // The depth of the home table when the forwarder last read it.
  std::atomic<std::uint64_t> dropped{0};               // Events dropped (Channel only).
};

/// From the worker to home. 'table' belongs to the worker's side and is valid as long as that.
struct Request {
  enum class Kind : std::uint8_t { Write, Get, Scan, ScanWritten, Ack, Requeue };
  Kind kind = Kind::Write;
  std::uint64_t id = 0;  // The id of the answer; 0: no answer is wanted.
  const TableSpec* table = nullptr;
  Change change;
  std::string text;     // Get, Requeue: the key. Scans: the cursor.
  std::size_t max = 0;  // The page size of a scan.
};

/// From home to the worker: the result of a request.
struct Answer {
  std::uint64_t id = 0;
  std::variant<Status, Result<Record>, Result<RowPage>> end;
};

struct Link {
  Link(std::size_t request_capacity) : requests(request_capacity), answers(request_capacity) {}
  /// Home thread. The ring always has room: the worker has no more requests outstanding than the ring has slots.
  void answer(std::uint64_t id, std::variant<Status, Result<Record>, Result<RowPage>> end) {
    if (id == 0 || inlet == nullptr) return;
    RONDO_ASSERT(answers.room() > 0);
    answers.put({id, std::move(end)});
    if (answers.publish()) inlet->wake_from_any_thread();
  }

  Ring<Request> requests;
  Ring<Answer> answers;
  std::uint64_t full_rings = 0;  // How often a forwarder found its ring full. Home thread.
  Source* inlet = nullptr;       // The worker's source. It changes only while the worker has no thread.
};

}  // namespace rondo::store::bridge
