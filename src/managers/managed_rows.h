// ManagedRows: owns MANAGED_ROWS. It tells the managers what an earlier process made. When all tables of CONFIG_DB have been read, and the
// safety stop permits it, it deletes the rows whose source CONFIG_DB no longer has. Rows of the managers that another program changes or
// deletes, and their owners, are written again (row_check.h).
//
// What the stores have is not on a journal: it has the instants at which the tables count as read and deletions are permitted, as calls
// (RecordedCalls). A replay makes these calls, and neither looks itself nor compares rows: what was written again came back as changes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "managers/managed_book.h"
#include "managers/row_check.h"
#include "rondo/orch/orch.h"
#include "rondo/sched/timer.h"
#include "sched/recorded_calls.h"

namespace rondo::managers {

struct ManagersOptions {
  /// False as long as another process may have the tables of APPL_DB; the managers wait for it. Empty: they begin immediately.
  std::function<bool()> may_begin = {};
  /// Whether 'stale' of the 'total' rows that an earlier process made may be deleted, because CONFIG_DB no longer has their sources. Called
  /// again while it returns false; with 0 if there are none. Empty: always.
  std::function<bool(std::uint64_t stale, std::uint64_t total)> may_delete = {};
};

class ManagedRows final : public Orch {
 public:
  /// 'tables' are those of CONFIG_DB. 'book' must outlive the Orch.
  ManagedRows(Runtime& runtime, ManagedBook& book, std::vector<std::string> tables, ManagersOptions options);

  bool has_read_config() const noexcept { return config_read_; }
  const RowCheck& check() const noexcept { return check_; }

 private:
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  Outcome sweep(const std::string& name);
  void on_added() override;
  void on_timer();
  /// From now on the fact holds.
  void begins(const FactKind& fact);
  bool repeat(std::string_view call);
  bool may_delete() const;
  bool has_read(const std::vector<std::string>& tables);
  RowCheckOptions check_options();
  void page_of_rows(std::string& cursor, std::size_t max, std::vector<OwnRow>& rows) const;
  bool is_current(const OwnRow& row) const;
  void repair(const OwnRow& row, const Record& found);

  ManagedBook& book_;
  const std::vector<std::string> tables_;
  const ManagersOptions options_;
  bool managed_read_ = false;
  bool config_read_ = false;
  bool may_delete_ = false;
  TimerSource timer_;
  RowCheck check_;
  RecordedCalls calls_;
  std::shared_ptr<char> life_ = std::make_shared<char>();
};

}  // namespace rondo::managers
