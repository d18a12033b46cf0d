// ManagedRows: which rows of APPL_DB the managers have made, and from which rows of CONFIG_DB. MANAGED_ROWS is their table of owners
// (owned_rows.h); the managers write all rows through one OwnedRows. When all tables of CONFIG_DB have been read, and the safety stop
// permits it, ManagedRows deletes the rows of an earlier process whose source CONFIG_DB no longer has.
//
// What the stores have is not on a journal: it has the instants at which the tables count as read and deletions are permitted, as calls
// (RecordedCalls). A replay makes these calls, and neither looks itself nor compares rows: what was written again came back as changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orch/owned_rows.h"
#include "rondo/orch/orch.h"
#include "rondo/sched/timer.h"
#include "sched/recorded_calls.h"

namespace rondo::managers {

/// The table of owners, in the store of the tables that no group names. Key: TABLE:KEY of the row. The source is the row of CONFIG_DB, such
/// as "PORT|Ethernet0".
inline constexpr std::string_view kManagedTable = "MANAGED_ROWS";

/// A row of APPL_DB.
using Target = RowName;

struct ManagersOptions {
  /// False as long as another process may have the tables of APPL_DB; the managers wait for it. Empty: they begin immediately.
  std::function<bool()> may_begin = {};
  /// True if 'stale' of the 'total' rows that an earlier process made may be deleted, because CONFIG_DB no longer has their sources. Called
  /// again while it returns false; with 0 if there are none. Empty: always.
  std::function<bool(std::uint64_t stale, std::uint64_t total)> may_delete = {};
};

class ManagedRows final : public Orch {
 public:
  /// 'tables' are those of CONFIG_DB.
  ManagedRows(Runtime& runtime, std::vector<std::string> tables, ManagersOptions options);

  OwnedRows& rows() noexcept { return rows_; }
  /// A row of CONFIG_DB exists, also if it is refused.
  void source_exists(const std::string& source) { sources_.insert(source); }
  void source_gone(const std::string& source) { sources_.erase(source); }
  bool has_read_config() const noexcept { return config_read_; }

 private:
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  void on_added() override;
  void on_timer();
  /// From now on the fact holds.
  void begins(const FactKind& fact);
  bool repeat(std::string_view call);
  bool may_delete() const;
  bool has_read(const std::vector<std::string>& tables);
  OwnedRowsOptions row_options();

  const std::vector<std::string> tables_;
  const ManagersOptions options_;
  bool managed_read_ = false;
  bool config_read_ = false;
  bool may_delete_ = false;
  TimerSource timer_;
  std::set<std::string> sources_;
  OwnedRows rows_;
  RecordedCalls calls_;
  std::shared_ptr<char> life_ = std::make_shared<char>();
};

}  // namespace rondo::managers
