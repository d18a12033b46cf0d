// ManagedBook: which rows of APPL_DB the managers have made, and from which rows of CONFIG_DB. The table MANAGED_ROWS keeps this beyond the
// process: its row is written before the first write of the row that it names, and is deleted after that row. So a killed process leaves
// no row without its owner. The managers and ManagedRows share one book. Scheduler's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <ranges>
#include <set>
#include <string>
#include <string_view>

#include "orch/owned_rows.h"
#include "rondo/store/record.h"

namespace rondo::managers {

/// The table of owners, in the store of the tables that no group names. Key: TABLE:KEY of the row. Fields: kSourceField, such as
/// "PORT|Ethernet0", and kFieldsField.
inline constexpr std::string_view kManagedTable = "MANAGED_ROWS";
/// A row of APPL_DB.
struct Target {
  std::string table;
  std::string key;
  std::string name() const { return table + ":" + key; }
};

struct ManagedRow {
  std::string source;
  std::string fields;    // As kFieldsField; empty: not known.
  Record content;        // As it was last written; empty: not by this process, or a write is under way.
  bool here = false;     // A manager of this process has it. Otherwise an earlier process made it.
  bool stored = false;   // MANAGED_ROWS has it.
  bool leaving = false;  // Its Delete is under way.
};

class ManagedBook {
 public:
  /// Null if no manager has made the row.
  ManagedRow* find(std::string_view target) {
    const auto found = rows_.find(target);
    return found == rows_.end() ? nullptr : &found->second;
  }
  ManagedRow& add(const std::string& target) { return rows_[target]; }
  void erase(const std::string& target) {
    if (rows_.erase(target) != 0 && on_free_) on_free_(target);
  }
  std::size_t size() const noexcept { return rows_.size(); }
  /// The rows whose names are behind 'after', in their order.
  auto rows_behind(const std::string& after) const { return std::ranges::subrange(rows_.upper_bound(after), rows_.end()); }
  /// Rows of an earlier process whose source does not exist. O(rows).
  std::size_t stale() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(rows_, [this](const auto& row) { return !row.second.here && !has_source(row.second.source); }));
  }
  /// 'handler' is called when a row is erased.
  void on_free(std::function<void(const std::string& target)> handler) { on_free_ = std::move(handler); }

  /// A row of CONFIG_DB exists, also if it is refused.
  void source_exists(std::string_view source) { sources_.emplace(source); }
  void source_gone(std::string_view source) {
    if (const auto found = sources_.find(source); found != sources_.end()) sources_.erase(found);
  }
  bool has_source(std::string_view source) const { return sources_.contains(source); }

 private:
  std::map<std::string, ManagedRow, std::less<>> rows_;
  std::set<std::string, std::less<>> sources_;
  std::function<void(const std::string& target)> on_free_;
};

}  // namespace rondo::managers
