// DirectStore: a store some of whose tables are direct ones (direct_server.h), so that an Orch consumes from them as from any other:
// RuntimeOptions::store makes one around the store that has the other tables. A direct table is Staged here. What its consumer has taken is
// written behind, in batches and merged by key, to a Watched table of the same name in the wrapped store: there it has rows, which others
// read.
//
//   other process -- frames --> DirectServer -- take() --> Orch
//                                                 `------> written behind --> the wrapped store's Watched table
//
// All that is not a direct table goes straight to the wrapped store. For a direct table:
//   write      an entry of this process; merges with those from the socket. 'done' tells that it is staged.
//   get, scan  ask the wrapped store: the rows lag behind what was taken by as much as waits to be written. scan_written: Unimplemented.
//   take       pauses while keys_behind_max keys of the table wait to be written: a slow store slows its consumer, and nothing is lost.
// While the wrapped store cannot write (Unavailable, DeadlineExceeded), a batch is tried again until it can; one it has no room for
// (ResourceExhausted) for a few times, and then the row is left out of the copy, counted and told. It does not keep the consumer from it.
//
// The rows that the wrapped store has from an earlier process come to the consumers first, as Sets. Until all of them are staged the server
// reads nothing and write() refuses with Unavailable, so that nothing older is laid over something newer. These rows are those of the copy:
// a Delete that was taken and not written yet when that process died is undone, and such a Set is missing. They are staged like entries, so
// SubscribeOptions::standing_rows does not leave them out; 'recover' does. A consumer that follows another in the same process begins with
// the rows that the server keeps (direct_server.h).
//
// Threads: the scheduler's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/sched/priority.h"
#include "rondo/store/direct_server.h"
#include "rondo/store/store.h"

namespace rondo {

class Scheduler;

struct DirectStoreOptions {
  /// Its tables by their names without the database, which must differ. Their keys_max is the limit that tables() shows.
  DirectServerOptions server;
  /// Of the source that writes behind, and of the completions.
  Priority priority = Priority{};
  /// Keys of one table that may wait to be written.
  std::size_t keys_behind_max = limits::kDirectKeys;
  /// Between two tries of a batch that the wrapped store refused.
  Duration retry = 100ms;
  /// See above. False: the consumers know the rows of the copy.
  bool recover = true;
  /// Told why a batch is refused, once a batch, and of each change that is left out; with 'recover' also why rows cannot be
  /// read, once a table. Must not throw.
  std::function<void(std::string_view table, const Status& why)> on_trouble = {};
};

/// Figures of the writing behind, since the start.
struct DirectStoreStats {
  std::uint64_t written = 0;    // Changes that the wrapped store has confirmed.
  std::uint64_t retries = 0;    // Batches tried again.
  std::uint64_t left_out = 0;   // Changes that it refused for good.
  std::size_t behind = 0;       // Keys that wait now, without those of the batch under way.
  std::size_t under_way = 0;    // Changes of that batch.
  std::uint64_t recovered = 0;  // Rows that were there and came to the consumers.
};

class DirectStore final : public Store {
 public:
  /// Opens the server and declares the Watched tables in 'wrapped'. Errors as DirectServer::open and Store::declare; InvalidArgument for
  /// two tables of one name.
  static Result<std::unique_ptr<DirectStore>> open(Scheduler& scheduler, std::unique_ptr<Store> wrapped, DirectStoreOptions options);
  /// Hands what waits to the wrapped store, as far as it takes it at once.
  ~DirectStore() override;

  DirectServer& server() noexcept;
  /// Where the rows are; subscribe here to watch them.
  Store& wrapped() noexcept;
  DirectStoreStats stats() const;
  /// All rows that were there are staged; at once without 'recover'.
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

 private:
  class Parts;
  explicit DirectStore(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace rondo
