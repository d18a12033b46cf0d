// ManagedRows: owns MANAGED_ROWS. It tells the managers what an earlier process made. When all tables of CONFIG_DB have been read, it
// deletes the rows whose source CONFIG_DB no longer has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "managers/managed_book.h"
#include "rondo/orch/orch.h"
#include "rondo/sched/timer.h"

namespace rondo::managers {

class ManagedRows final : public Orch {
 public:
  /// 'tables' are those of CONFIG_DB. 'book' must outlive the Orch. The managers begin when 'may_begin' returns true; empty: immediately.
  ManagedRows(Runtime& runtime, ManagedBook& book, std::vector<std::string> tables, std::function<bool()> may_begin);

  bool has_read_config() const noexcept { return config_read_; }

 private:
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  Outcome sweep(const std::string& name);
  void on_added() override;
  void look();
  bool has_read(const std::vector<std::string>& tables);

  ManagedBook& book_;
  const std::vector<std::string> tables_;
  const std::function<bool()> may_begin_;
  bool managed_read_ = false;
  bool config_read_ = false;
  TimerSource timer_;
  std::shared_ptr<char> life_ = std::make_shared<char>();
};

}  // namespace rondo::managers
