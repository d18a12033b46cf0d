// StoreSink: bulk writes of the admin socket onto the store. Where a write counts only when it is on the disk, a frame is settled when the
// disk has the last of its rows, or cannot have them. Scheduler's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "rondo/admin/bulk.h"
#include "rondo/store/store.h"
#include "rondod/watchers.h"
#include "rondod/write_failures.h"

namespace rondo::daemon {

/// NotFound, with the nearest name, for a table that nobody declared.
Status check_table(const Store& store, std::string_view table);

class StoreSink final : public BulkSink {
 public:
  StoreSink(Store& store, WriteFailures& failures, Watchers& watchers) : store_(store), failures_(failures), watchers_(watchers) {}
  Status begin(std::string_view table) override;
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override;
  Status end() override { return {}; }
  void when_settled(Settled settled) override;

 private:
  /// Rows of one frame that wait for the disk. Each has a share in it.
  struct OnTheWay {
    std::uint64_t under_way = 0;
    std::uint64_t failed = 0;
    Status first;
    Settled settled;  // Once the frame has ended.
    void settle_if_known();
  };
  Status write(Change change);
  Status accept(Change change);

  Store& store_;
  WriteFailures& failures_;
  Watchers& watchers_;
  std::string table_;
  WriteDone done_;
  std::shared_ptr<OnTheWay> on_the_way_;  // Null where accepted is done.
  std::vector<Field> fields_;
};

}  // namespace rondo::daemon
