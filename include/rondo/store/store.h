// Store: tables that outlive their writers and readers. A seam with several implementations - the embedded one (make_memory_store), Redis
// later, and a simulated one that is slow, fails and loses its connection (sim/sim_store.h). So nothing here waits: a write is accepted or
// refused at once and completes later; a subscription hands out what has already arrived and wakes its consumer when more has.
//
// Four kinds of table (seed 001; see docs/sources.md):
//   Staged   desired state, high volume. Writes of one key merge until popped; each field's last value wins; a Delete before a Set is
//            kept as both and is popped as one Delete and one Set; pops are in order of first arrival, at most N keys, and move the
//            popped fields from staging to the table. One consumer. What was not popped stays when the consumer goes.
//   Watched  any client writes the table itself; level-triggered. A subscription reports each changed key once with its newest state,
//            however often it changed; after a gap it compares and reports the difference. Many consumers.
//   Channel  events, each delivered once, in order, to each subscription that exists when it is sent. Nothing is stored.
//   Queue    every operation in order, none merged, kept until popped. One consumer. A Set or Delete is applied to the table when popped.
//
// A subscription of a Staged or Watched table begins with the standing rows: take() first gives each row of the table once, as a Set of the
// whole row, merged with what is staged for it. A row whose Delete is staged is not given; its Delete is. So a consumer that forgot what it
// took, because its process ended, needs no other way to learn its rows, whatever the store. SubscribeOptions::standing_rows opts out.
//
// Threads: everything on the scheduler's thread that owns the store.
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
  /// Staged and Watched: keys, whether a row or staged; one more is refused. Queue: entries that wait; one more is refused. Channel: events
  /// that wait in one subscription; one more is dropped. Of the latter two no more than limits::kQueuedEvents, whatever is said here.
  std::size_t rows_max = limits::kTableRows;
  friend bool operator==(const TableSpec&, const TableSpec&) = default;
};

/// Called once, from a later turn, never inside the call that took it, and not at all if the store is destroyed before. Must not throw.
using WriteDone = std::function<void(const Status&)>;
/// 'record' is empty (false) when there is no such row.
using GetDone = std::function<void(const Result<Record>& record)>;
/// A page of rows in unspecified but stable order. 'next' continues after it; empty when done. Rows added or removed in between may be
/// missed or seen, none that stays is missed.
struct RowPage {
  std::vector<Record> rows;
  std::string next;
};
using ScanDone = std::function<void(const Result<RowPage>&)>;

/// What a subscription can say beside changes.
enum class Gap : std::uint8_t {
  None,
  Possible,  // Channel: events may have been missed (lost connection, overflow). Reported once for each gap, in order with the events.
};

/// What the Sets of a subscription carry.
enum class Rows : std::uint8_t {
  Whole,    // The whole row as it stands once the change is applied: after a Delete, only the fields written since.
  Written,  // Staged tables: only the fields written since the key was last taken, merged among themselves. For a consumer that applies
            // fields one by one to what it keeps itself. It saves the merge of a popped row with its fields, and on Redis the read of the
            // row; docs/performance.md gives the figures. The first Set of a standing row is whole. Watched tables always give whole rows.
};

/// How a Staged or Watched table is subscribed to. Channels and Queues ignore it.
struct SubscribeOptions {
  Rows rows = Rows::Whole;
  /// False: the consumer knows the rows that stand, and is given only what changes.
  bool standing_rows = true;
};

/// One consumer's end of a table. Destroying it unsubscribes; a Staged or Queue table keeps what was not taken. It does not outlive its
/// store.
class Subscription {
 public:
  virtual ~Subscription();
  /// Called on the scheduler's thread whenever take() or take_gap() has become non-empty. A level: one call stands for any number of
  /// changes, and there is none while empty() is false, so a consumer that leaves something behind comes back by itself.
  /// Must only wake a source. Called at once if there is something already. Replaces an earlier one.
  virtual void on_ready(std::function<void()> wake) = 0;
  /// Appends at most 'max' changes, oldest first, and returns how many it appended. Staged: a popped Delete-then-Set counts as one key and
  /// appends two changes, together. Stops before a gap, unless the gap comes first. Never waits; an asynchronous store fetches the next
  /// ones meanwhile. O(changes appended).
  virtual std::size_t take(std::size_t max, std::vector<Change>& out) = 0;
  /// Exact: would take() append something now?
  virtual bool empty() const = 0;
  /// Changes known to wait, here and in the store. Staged: keys.
  virtual std::size_t depth() const = 0;
  /// The gap before the next change that take() will append, or one that take() went past unread; reading it clears it.
  virtual Gap take_gap() = 0;
  /// What this change, which was taken, asked for is done, or refused for good: a durable store need not tell it again after a restart. For
  /// the Deletes of a Staged table, in any order, and for all entries of a Queue, in the order in which they were taken. Sets need no such
  /// word: their rows are told after a restart anyway. 'change' is the one that take() gave, or a copy of it; of another that says the same
  /// nothing is known.
  virtual void dealt_with(const Change& change) { static_cast<void>(change); }
  /// Gives the row of 'key' once more: take() returns a Set of the whole row as it then stands, also under Rows::Written. Does nothing if
  /// there is no row, or if a change of the key waits in the table already; a Set that was fetched ahead may be followed by its row. Never
  /// refused: a store elsewhere remembers the key until it can read the row, at most one entry a row. Staged and Watched tables; the others
  /// ignore it. O(1).
  virtual void requeue(std::string_view key) = 0;
  /// take() has given every row that stood when the subscription was made. True from the start where no rows stood or none were asked for.
  virtual bool caught_up() const = 0;
  /// Channel: events lost to overflow since the subscription was made.
  virtual std::uint64_t dropped() const { return 0; }
};

class Store {
 public:
  virtual ~Store();

  /// Makes a table known; the same spec again is fine. FailedPrecondition if it exists with another kind or limit, InvalidArgument for a
  /// bad name (empty, or longer than limits) or a limit of 0 or above limits::kTableRows, ResourceExhausted beyond limits::kTables.
  virtual Status declare(const TableSpec& spec) = 0;
  /// In the order of their names.
  virtual std::vector<TableSpec> tables() const = 0;

  /// Writes one change; ok means accepted in order, not yet done. Refused at once: NotFound (no such table), InvalidArgument (an
  /// Event to a Staged or Watched table, a Set or Delete to a Channel, sizes beyond limits), ResourceExhausted (send buffer full, or the
  /// table as far as is known here; a merged row beyond the limits of a record), Unavailable (connection lost and the store cannot hold
  /// more). 'done', if given, tells the end of an accepted write; there too ResourceExhausted is a full table. DeadlineExceeded there:
  /// the connection was lost before the answer, and whether it happened is unknown.
  /// A Set that names a field twice means the last of them. A Queue delivers what was written, merged only in its table.
  virtual Status write(std::string_view table, Change change, WriteDone done = {}) = 0;

  /// FailedPrecondition if a Staged or Queue table has a consumer already; NotFound if the table was not declared.
  virtual Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) = 0;

  /// The row as consumers have popped it (Staged, Queue) or as written (Watched). NotFound as a Status only for an unknown table.
  virtual void get(std::string_view table, std::string_view key, GetDone done) = 0;
  /// At most 'max' rows (at least one is allowed for) after 'cursor' (empty: from the start). InvalidArgument for a cursor that is none.
  virtual void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) = 0;
  /// As scan(), but each row as it will be when everything that was written before the scan began has been popped: with what is staged for
  /// it, and without the rows whose Delete waits. It is how a producer finds out what it has said so far (TableView). A key may come twice.
  /// Of Staged and Watched tables; InvalidArgument for the others, and for a cursor from before the connection was lost: begin anew.
  /// Unimplemented where what is staged and the rows lie in different places (direct tables).
  virtual void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) = 0;
  /// Rows of the table (nothing where the store cannot know without reading them all), and keys or entries staged and not yet popped, as
  /// far as is known here. NotFound for an unknown table.
  struct Size {
    std::optional<std::size_t> rows = {};
    std::size_t staged = 0;
  };
  virtual Result<Size> size(std::string_view table) const = 0;

  /// Ok while the store is reachable; else why not, for people.
  virtual Status health() const = 0;
};

}  // namespace rondo
