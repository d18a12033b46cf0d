// Observers: the observers of a runtime, and the numbers of the tables that its Orchs consume or listen to. Scheduler's thread.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orch/runtime_events.h"

namespace rondo {

class Observers {
 public:
  /// Call it before the first table is added. 'observer' must outlive this.
  void add(RuntimeEvents& observer) { all_.push_back(&observer); }
  /// Numbers a table, from 1, and reports it.
  std::uint32_t add_table(std::string_view name) {
    ++tables_;
    for (RuntimeEvents* const one : all_) one->table_added(tables_, name);
    return tables_;
  }
  std::uint32_t tables() const noexcept { return tables_; }
  const std::vector<RuntimeEvents*>& all() const noexcept { return all_; }
  bool empty() const noexcept { return all_.empty(); }

  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }

 private:
  std::vector<RuntimeEvents*> all_;
  std::uint32_t tables_ = 0;
};

}  // namespace rondo
