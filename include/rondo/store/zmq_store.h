// ZmqStore: a store with some direct tables (zmq_server.h), so that an Orch consumes them like any other table. RuntimeOptions::store
// makes one around the store that has the other tables. A direct table is Staged here. The store writes the changes that its consumer took
// to a Watched table of the same name in the wrapped store (write-behind). It writes in batches, merged by key. That copy has rows, which
// other programs read.
//
//   other process -- frames --> ZmqServer -- take() --> Orch
//                                                 `------> written behind --> the wrapped store's Watched table
//
// All other tables go directly to the wrapped store. For a direct table:
//   write      an entry of this process; it merges with those from the socket. 'done' reports that it is staged.
//   get, scan  read the wrapped store: its rows lag behind by the changes that wait to be written. scan_written: Unimplemented.
//   take       pauses while keys_behind_max keys of the table wait to be written: a slow store slows its consumer, and nothing is lost.
// While the wrapped store cannot write (Unavailable, DeadlineExceeded), a batch is retried until it succeeds. If it has no room
// (ResourceExhausted), the batch is retried a few times. Then the row is left out of the copy, counted and reported; its consumer still
// gets it.
//
// Recovery: the rows that the wrapped store has from an earlier process are delivered to the consumers first, as Sets. Until all of them
// are staged, the server reads nothing, and write() returns Unavailable, so that no old row overwrites a newer entry. These rows are those
// of the copy. If a change was taken but not yet written when that process died, a Delete is undone and a Set is missing. The rows are
// staged like entries, so SubscribeOptions::standing_rows does not leave them out; 'recover' does. A consumer that follows another in the
// same process begins with the rows that the server keeps (zmq_server.h).
//
// Threads: the scheduler's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/sched/priority.h"
#include "rondo/store/store.h"
#include "rondo/store/zmq_limits.h"
#include "rondo/store/zmq_server.h"

namespace rondo {

class Scheduler;

struct ZmqStoreOptions {
  /// Its tables, named without the database; the names must differ. tables() reports their keys_max as the limit.
  ZmqServerOptions server;
  /// Priority of the source that writes behind, and of the completions.
  Priority priority = Priority{};
  /// The most keys of one table that may wait to be written.
  std::size_t keys_behind_max = limits::kZmqKeys;
  /// Time between two attempts to write a batch that the wrapped store refused.
  Duration retry = 100ms;
  /// See above. False: the consumers already have the rows of the copy.
  bool recover = true;
  /// Called with the reason of each refused batch, once a batch, and for each change that is left out. With 'recover' it is also called
  /// with the reason why rows cannot be read, once a table. Must not throw.
  std::function<void(std::string_view table, const Status& why)> on_trouble = {};
};

/// Figures of the write-behind, since the start.
struct ZmqStoreStats {
  std::uint64_t written = 0;    // Changes that the wrapped store has confirmed.
  std::uint64_t retries = 0;    // Batches that were retried.
  std::uint64_t left_out = 0;   // Changes that the store dropped.
  std::size_t behind = 0;       // Keys that wait now, without those of the batch in flight.
  std::size_t under_way = 0;    // Changes of that batch.
  std::uint64_t recovered = 0;  // Rows of an earlier process that were delivered to the consumers.
};

class ZmqStore final : public Store {
 public:
  /// Opens the server and declares the Watched tables in 'wrapped'. Errors as ZmqServer::open and Store::declare; InvalidArgument for
  /// two tables of one name.
  static Result<std::unique_ptr<ZmqStore>> open(Scheduler& scheduler, std::unique_ptr<Store> wrapped, ZmqStoreOptions options);
  /// Writes the waiting changes to the wrapped store, as far as it accepts them immediately.
  ~ZmqStore() override;

  ZmqServer& server() noexcept;
  /// The store that has the rows; subscribe here to watch them.
  Store& wrapped() noexcept;
  ZmqStoreStats stats() const;
  /// True if all rows of an earlier process are staged; always true without 'recover'.
  bool is_recovered() const noexcept;

  Status declare(const TableSpec& spec) override;
  std::vector<TableSpec> tables() const override;
  Status write(std::string_view table, Change change, WriteDone done = {}) override;
  Result<std::unique_ptr<Subscription>> subscribe(std::string_view table, const SubscribeOptions& options = {}) override;
  void get(std::string_view table, std::string_view key, GetDone done) override;
  void scan(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  void scan_written(std::string_view table, std::string_view cursor, std::size_t max, ScanDone done) override;
  Result<Size> size(std::string_view table) const override;
  Status health() const override;
  /// Accepted for a direct table: the entry is staged. The others as in the wrapped store.
  WriteAnswer write_answer(std::string_view table) const override;
  /// As in the wrapped store: what was not written there yet is lost.
  bool outlives_process(std::string_view table) const override;
  StoreReport report() const override;
  void poll() override;
  /// The server reads no more.
  void begin_end() override;
  /// Staged entries, changes that are not in the wrapped store yet, and what that has not finished.
  std::size_t unfinished() const override;
  bool release() override;
  Status finish() override;

 private:
  class Impl;
  explicit ZmqStore(std::unique_ptr<Impl> parts);
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo
