// StoreSink: bulk writes of the admin socket into the store. If a write counts only when it is on the disk, a frame is settled when the
// disk has the last of its rows or has refused it. Scheduler's thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/bulk.h"
#include "commands/watchers.h"
#include "commands/write_failures.h"
#include "rondo/commands/standard_commands.h"
#include "rondo/orch/runtime.h"
#include "rondo/store/store.h"

namespace rondo::commands {

/// NotFound, with the nearest name, for a table that was not declared.
Status check_table(const Store& store, std::string_view table);
/// FailedPrecondition if the row belongs to another part of the program.
Status check_claim(const RowClaim& claim, std::string_view table, std::string_view key);

/// As check_table(), and FailedPrecondition for a table that commands may not write: Runtime::reserve().
Status check_written_table(Runtime& runtime, std::string_view table);

class StoreSink final : public BulkSink {
 public:
  using CanonicalKeyOf = std::function<CanonicalKey(std::string_view table)>;
  using ClaimOf = std::function<RowClaim(std::string_view table, std::string_view key)>;
  /// With 'canonical_key_of', rows are written under the canonical spelling of their key. With 'claim_of', rows that another part of the
  /// program owns are refused.
  StoreSink(Runtime& runtime, WriteFailures& failures, Watchers& watchers, CanonicalKeyOf canonical_key_of = {}, ClaimOf claim_of = {})
      : runtime_(runtime),
        store_(runtime.store()),
        failures_(failures),
        watchers_(watchers),
        canonical_key_of_(std::move(canonical_key_of)),
        claim_of_(std::move(claim_of)) {}
  Status begin(std::string_view table) override;
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override;
  Status end() override { return {}; }
  void when_settled(Settled settled) override;

 private:
  /// Rows of one frame that wait for the disk or for a server. The callback of each row shares it.
  struct OnTheWay {
    struct Row {
      std::uint64_t number = 0;
      std::size_t key_end = 0;  // Offset in 'keys'.
    };
    std::vector<Row> rows;
    std::string keys;
    std::size_t ended = 0;  // The rows end in the order in which they were written.
    Unwritten unwritten;
    Settled settled;  // Set once the frame has ended.
    void end(const Status& status);
    void settle_if_known();
  };
  Status begin_table(std::string_view table);
  Status take(BulkOp op, std::string_view key, std::span<const BulkField> fields);
  Status write(Change change);
  Status accept(Change change);

  Runtime& runtime_;
  Store& store_;
  WriteFailures& failures_;
  Watchers& watchers_;
  const CanonicalKeyOf canonical_key_of_;
  const ClaimOf claim_of_;
  CanonicalKey canonical_key_ = nullptr;  // Set for the table.
  std::string table_;
  std::uint64_t row_ = 0;  // Since begin().
  WriteDone done_;
  std::shared_ptr<OnTheWay> on_the_way_;  // Null if a write is done when it is accepted.
  std::vector<Field> fields_;
};

}  // namespace rondo::commands
