// StoreSink: bulk writes of the admin socket onto the store. Scheduler's thread.
#pragma once

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

 private:
  Status write(Change change);

  Store& store_;
  WriteFailures& failures_;
  Watchers& watchers_;
  std::string table_;
  WriteDone done_;
  std::vector<Field> fields_;
};

}  // namespace rondo::daemon
