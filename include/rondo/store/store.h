// Store: tables that outlive their writers and readers. An interface with several implementations: the embedded store (memory_store.h), the
// durable store, Redis, tables over ZMQ (zmq_store.h), and a simulated store that is slow, fails and loses its connection
// (sim/sim_store.h). So no call blocks: a write is accepted or refused immediately and completes later. A subscription returns changes that
// have already arrived, and wakes its consumer for more.
//
// Four kinds of table (docs/sources.md has their origin in SONiC):
//   Staged   desired state, high volume. Writes of one key merge until popped; the last value of each field wins. A Delete before a Set is
//            kept and popped as one Delete and one Set. Pops are in order of first arrival, at most N keys, and move the popped fields
//            from staging to the table. One consumer. Changes that were not popped remain when the consumer is destroyed.
//   Watched  any client writes the table itself; level-triggered. A subscription reports each changed key once with its newest state,
//            however often it changed; after a gap it compares and reports the difference. Many consumers.
//   Channel  events. Each subscription that exists at the time of sending receives each event once, in order. Nothing is stored.
//   Queue    every operation in order, none merged, kept until popped. One consumer. A pop of a Set or Delete applies it to the table.
//
// A subscription of a Staged or Watched table begins with the standing rows: take() first returns each existing row once, as a Set of the
// whole row, merged with its staged change. If a Delete of the row is staged, take() returns that Delete instead. So a new process learns
// its rows in the same way from every store. SubscribeOptions::standing_rows turns this off.
//
// Threads: all functions are called on the scheduler's thread that owns the store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/store/change.h"

namespace rondo {

enum class TableKind : std::uint8_t { Staged, Watched, Channel, Queue };
std::string_view to_string(TableKind kind) noexcept;

struct TableSpec {
  std::string name;
  TableKind kind = TableKind::Staged;
  /// Staged and Watched: the most keys, counting rows and staged keys; one more is refused. Queue: the most waiting entries; one more is
  /// refused. Channel: the most waiting events of one subscription; one more is dropped. Queue and Channel hold at most
  /// limits::kQueuedEvents in any case.
  std::size_t rows_max = limits::kTableRows;
  friend bool operator==(const TableSpec&, const TableSpec&) = default;
};

/// When a write counts, so that a writer may tell others that it is done.
enum class WriteAnswer : std::uint8_t {
  Accepted,   // When write() has returned ok: it is applied, and 'done' can only report ok.
  Stored,     // When 'done' reports ok: until then it is applied, and may be lost with the process. After an error it is tried again.
  Confirmed,  // When 'done' reports ok. After an error it is not applied, unless the error is DeadlineExceeded: then that is unknown.
};

/// What an operator should know of a store besides health(). Texts hold no secrets.
struct StoreReport {
  std::vector<std::string> troubles = {};  // What an operator must mend.
  std::vector<std::string> notes = {};
  /// What was lost before the process began, part by part, and was logged nowhere else. Constant from the start of the store.
  std::vector<std::string> damage = {};
  /// Counted faults that are over once they have happened. 'what' names their kind; static storage.
  struct Incident {
    std::string_view what;
    std::uint64_t count = 0;  // Since the start.
    std::string newest = {};
  };
  std::vector<Incident> incidents = {};
  /// The process for whose end this one waits before it consumes its tables, as text; empty: it waits for none.
  std::string standby_for = {};
  /// Why this process must end, because another one consumes its tables; ok if it need not.
  Status must_end = {};
};

/// Called once, in a later turn, never inside the call that received it, and not after the store is destroyed. Must not throw.
using WriteDone = std::function<void(const Status&)>;
/// 'record' is empty (false) if there is no such row.
using GetDone = std::function<void(const Result<Record>& record)>;
/// A page of rows in unspecified but stable order. 'next' is the cursor of the next page; empty at the end. Rows added or removed during
/// the scan may be missing or present; every row that exists throughout is returned.
struct RowPage {
  std::vector<Record> rows;
  std::string next;
};
using ScanDone = std::function<void(const Result<RowPage>&)>;

/// Which fields the Sets of a subscription carry.
enum class Rows : std::uint8_t {
  Whole,    // The whole row after the change: after a Delete, only the fields written since.
  Written,  // Staged tables: only the fields written since the key was last taken, merged among themselves. For a consumer that applies
            // fields one by one to what it keeps itself. It saves the merge of a popped row with its fields, and on Redis the read of the
            // row; docs/performance.md gives the figures. The first Set of a standing row is whole. Watched tables always give whole rows.
};

/// Options of subscriptions of Staged and Watched tables. Channels and Queues ignore them.
struct SubscribeOptions {
  Rows rows = Rows::Whole;
  /// False: the consumer already has the standing rows, and receives only changes.
  bool standing_rows = true;
};

/// The subscription of one consumer. Destroying it unsubscribes; a Staged or Queue table keeps the changes that were not taken. It must not
/// outlive its store.
class Subscription {
 public:
  virtual ~Subscription();
  /// Sets 'wake', which is called on the scheduler's thread whenever take() or take_gap() has become non-empty. Level-triggered: one call
  /// stands for any number of changes, and there is no further call while empty() is false. So a consumer that leaves changes must continue
  /// by itself. 'wake' must only wake a source. Called immediately if changes already wait. Replaces an earlier function.
  virtual void on_ready(std::function<void()> wake) = 0;
  /// Appends at most 'max' changes, oldest first, and returns how many it appended. Staged: a popped Delete-then-Set counts as one key and
  /// appends two changes together. Stops before a gap, unless the gap is first. Never blocks; an asynchronous store fetches the next
  /// changes meanwhile. O(changes appended).
  virtual std::size_t take(std::size_t max, std::vector<Change>& out) = 0;
  /// True if take() would append nothing now. Exact.
  virtual bool empty() const = 0;
  /// Number of changes known to wait, here and in the store. Staged: number of keys.
  virtual std::size_t depth() const = 0;
  /// Channel: true if events may have been missed (lost connection, overflow) before the next change of take(), or in a gap that take()
  /// passed before it was read. Each gap is reported once, in order with the events.
  virtual bool take_gap() = 0;
  /// Confirms that a taken change was applied, or refused permanently: a durable store need not deliver it again after a restart. For the
  /// Deletes of a Staged table, in any order, and for all entries of a Queue, in the order in which they were taken. Sets need no
  /// confirmation: their rows are delivered after a restart anyway. 'change' must be the one from take(), or a copy of it; a separate
  /// change with equal content is ignored.
  virtual void ack(const Change& change) { static_cast<void>(change); }
  /// Delivers the row of 'key' once more: take() returns a Set of the whole row with its content at that time, also under Rows::Written.
  /// Does nothing if there is no row, or if a change of the key already waits in the table. A Set that was fetched ahead may be followed by
  /// its row. Never refused: an external store remembers the key until it can read the row, at most one entry a row. Staged and Watched
  /// tables; the others ignore it. O(1).
  virtual void requeue(std::string_view key) = 0;
  /// True if take() has returned every row that existed when the subscription was made. True from the start if there were none, or with
  /// standing_rows = false.
  virtual bool caught_up() const = 0;
  /// True if a change of 'key' is known to wait for take(). O(changes that were fetched ahead of take()), for explanations. False for a
  /// change that only the server of the store knows: see depth().
  virtual bool has_fetched(std::string_view key) const {
    static_cast<void>(key);
    return false;
  }
  /// When 'keys' keys came into this process. Without a time: unknown, or rows that existed before the subscription.
  struct Arrival {
    Instant at = {};
    std::size_t keys = 0;
  };
  /// Appends when the next 'max' keys of take() came, in their order, for figures of latency. Fewer if the store does not know.
  virtual void next_arrivals(std::size_t max, std::vector<Arrival>& out) const {
    static_cast<void>(max);
    static_cast<void>(out);
  }
  /// Channel: number of events lost to overflow since the subscription was made.
  virtual std::uint64_t dropped() const { return 0; }
};

class Store {
 public:
  virtual ~Store();

  /// Declares a table; the same spec again is allowed. FailedPrecondition if it exists with another kind or limit. InvalidArgument for a
  /// bad name (empty, or longer than limits), and for a limit of 0 or above limits::kTableRows. ResourceExhausted beyond limits::kTables.
  virtual Status declare(const TableSpec& spec) = 0;
  /// All declared tables, in the order of their names.
  virtual std::vector<TableSpec> tables() const = 0;

  /// Writes one change; ok means accepted in order, not yet applied. On the scheduler's thread (assert).
  /// Refused immediately: NotFound (no such table), InvalidArgument (an Event to a Staged or Watched table, a Set or Delete to a Channel, a
  /// Set with an empty key or name of a field, sizes beyond limits), ResourceExhausted (send buffer full, or the table is full as far as
  /// this store knows; a merged row beyond the limits of a record), Unavailable (connection lost and the store cannot hold more).
  /// 'done', if given, reports the result of an accepted write. There ResourceExhausted means a full table. DeadlineExceeded means that the
  /// connection was lost before the answer: it is unknown whether the write was applied.
  /// If a Set names a field twice, the last value counts. A Queue delivers what was written, and merges it only in its table.
  virtual Status write(std::string_view table, Change change, WriteDone done = {}) = 0;
  /// When a write to this table counts. Constant once the table is declared. O(1) for a store in this process. Confirmed is right for
  /// every store.
  virtual WriteAnswer write_answer(std::string_view table) const {
    static_cast<void>(table);
    return WriteAnswer::Confirmed;
  }
  /// True if write() has applied a change of this table when it returns ok: a writer that needs nothing but errors then passes no 'done'.
  bool applies_at_once(std::string_view table) const { return write_answer(table) == WriteAnswer::Accepted; }
  /// True if the rows and the changes of this table that no consumer has taken survive the process.
  virtual bool outlives_process(std::string_view table) const {
    static_cast<void>(table);
    return false;
  }

  /// FailedPrecondition if a Staged or Queue table already has a consumer; NotFound if the table was not declared.
  virtual Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) = 0;

  /// Reads the row: as popped by consumers (Staged, Queue) or as written (Watched). NotFound only for an unknown table; a missing row is an
  /// empty record.
  virtual void get(std::string_view table, std::string_view key, GetDone done) = 0;
  /// At most 'max' rows (0: one) behind 'cursor' (empty: from the start), which may be used again. InvalidArgument for an invalid cursor.
  virtual void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) = 0;
  /// Like scan(), but returns each row as it will be after every write before this call has been popped, and perhaps some later ones:
  /// merged with its staged change, and without rows that have a staged Delete. So a producer finds out what it has written so far
  /// (TableView). A key may be returned twice. For Staged and Watched tables; InvalidArgument for the others, and for a cursor from before
  /// a lost connection: begin again. Unimplemented where staged changes and rows are in different places (direct tables).
  virtual void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) = 0;
  /// 'rows': number of rows; empty if the store cannot count them without reading all. 'staged': keys or entries that are not yet popped,
  /// as far as this store knows. NotFound for an unknown table.
  struct Size {
    std::optional<std::size_t> rows = {};
    std::size_t staged = 0;
  };
  virtual Result<Size> size(std::string_view table) const = 0;

  /// Ok while the store is reachable; otherwise the reason, for display.
  virtual Status health() const = 0;
  /// Damage, leases, what was dropped. Without the reason of health(). O(result).
  virtual StoreReport report() const { return {}; }
  /// Checks what nothing wakes the store for. The program calls it about once a second; Service does.
  virtual void poll() {}

  // The end of a process, in this order. Service calls these functions; a store needs none of them to be consistent.
  /// Takes no more input of other processes that they could send to the next one. Consumers continue.
  virtual void begin_end() {}
  /// Accepted writes, and changes taken from other processes, that are not where they belong yet.
  virtual std::size_t unfinished() const { return 0; }
  /// Gives up what only one process may have, and delivers nothing more to consumers. True when that is complete; until then the program
  /// calls it again in later turns.
  virtual bool release() { return true; }
  /// Waits until everything accepted is where it belongs. DataLoss, with what is lost and the reason, if it is not. May block.
  virtual Status finish() { return {}; }
};

}  // namespace rondo
