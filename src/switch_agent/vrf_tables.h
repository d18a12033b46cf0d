// VrfTables: the kernel's table of each VRF. The vrfs Orch writes it; routes read it. A known table says nothing about the VRF's device:
// kVrf does. Scheduler thread only. All functions: O(log(VRFs)).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace rondo::switch_agent {

class VrfTables {
 public:
  /// Returns 0 if the VRF is unknown.
  std::uint32_t find(std::string_view vrf) const {
    const auto it = by_name_.find(vrf);
    return it == by_name_.end() ? 0 : it->second;
  }
  /// Returns an empty name if the table is that of no VRF.
  std::string_view name(std::uint32_t table) const {
    const auto it = by_table_.find(table);
    return it == by_table_.end() ? std::string_view{} : it->second.name;
  }
  /// The table must be that of no other VRF.
  void set(std::string_view vrf, std::uint32_t table) {
    if (find(vrf) == table) return;
    erase(vrf);
    by_name_.insert_or_assign(std::string{vrf}, table);
    by_table_.insert_or_assign(table, Table{std::string{vrf}});
  }
  void erase(std::string_view vrf) {
    const auto it = by_name_.find(vrf);
    if (it == by_name_.end()) return;
    by_table_.erase(it->second);
    by_name_.erase(it);
  }

  /// True if the data plane has confirmed the table's routes of last resort.
  void set_ended(std::string_view vrf, bool ended) {
    if (const auto it = by_table_.find(find(vrf)); it != by_table_.end()) it->second.ended = ended;
  }
  /// Calls 'visit' with each table that has them.
  template <class Visit>
  void for_each_ended(Visit visit) const {
    for (const auto& [table, entry] : by_table_) {
      if (entry.ended) visit(table);
    }
  }

 private:
  struct Table {
    std::string name;
    bool ended = false;
  };
  std::map<std::string, std::uint32_t, std::less<>> by_name_;
  std::map<std::uint32_t, Table> by_table_;
};

}  // namespace rondo::switch_agent
