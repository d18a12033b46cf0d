// RowStates: reports the states of the agent's rows in the data plane to `why`, `get`, `show`, `tables` and `health`. Each Orch reports
// its own rows; the result of an audit overrides it.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "rondo/orch/runtime.h"

namespace rondo::switch_agent {

class Fdb;
class Interfaces;
class LagMembers;
class Lags;
class Neighbors;
class NexthopGroups;
class Ports;
class Routes;
class VlanMembers;
class Vlans;
class Vrfs;

class RowStates {
 public:
  /// The Orchs of an agent; they must outlive the runtime.
  struct Orchs {
    const Ports& ports;
    const Lags& lags;
    const LagMembers& lag_members;
    const Vlans& vlans;
    const VlanMembers& vlan_members;
    const Fdb& fdb;
    const Vrfs& vrfs;
    const Interfaces& interfaces;
    const Neighbors& neighbors;
    const NexthopGroups& nexthop_groups;
    const Routes& routes;
  };
  RowStates(Runtime& runtime, const Orchs& orchs);

  /// True if an audit found the object of the row 'key' of 'table' missing or changed, and it is not repaired yet. O(1). Called for rows
  /// that are installed according to their Orch.
  using Lost = std::function<bool(std::string_view table, std::string_view key)>;
  /// The number of such rows in 'table'. O(1).
  using LostRows = std::function<std::size_t(std::string_view table)>;
  void on_lost(Lost lost, LostRows lost_rows = {}) { *audit_ = {std::move(lost), std::move(lost_rows)}; }

  /// Returns what the data plane has for the row 'key' of 'table', also while a newer version of the row waits or was rejected. Unknown for
  /// tables of others. O(1).
  RowInPlane state_of(std::string_view table, std::string_view key) const;

  /// Returns the number of rows of 'table' in each state. O(1) for large tables.
  PlaneCounts counts(std::string_view table) const;

 private:
  struct Audit {
    Lost lost;
    LostRows lost_rows;
  };
  void add(std::string_view table, Runtime::StateOf state_of, std::function<PlaneCounts()> counts);

  Runtime& runtime_;
  std::map<std::string, std::function<PlaneCounts()>, std::less<>> counts_;  // By table.
  std::map<std::string, Runtime::StateOf, std::less<>> states_;              // By table.
  std::shared_ptr<Audit> audit_ = std::make_shared<Audit>();                 // The runtime may outlive the agent.
};

}  // namespace rondo::switch_agent
