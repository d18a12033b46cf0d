// RowStates: tells `why`, `get`, `show`, `tables` and `health` where the rows of the agent's tables stand in the data plane. Each Orch says
// it of its own rows; an audit may know better.
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

class Interfaces;
class Neighbors;
class NexthopGroups;
class Ports;
class Routes;

class RowStates {
 public:
  /// The Orchs of an agent; they live as long as the runtime.
  struct Orchs {
    const Ports& ports;
    const Interfaces& interfaces;
    const Neighbors& neighbors;
    const NexthopGroups& nexthop_groups;
    const Routes& routes;
  };
  RowStates(Runtime& runtime, const Orchs& orchs);

  /// Whether an audit found the row 'key' of 'table' gone, and it is not repaired yet. O(1). Asked about rows that are installed as far as
  /// their Orch knows.
  using Lost = std::function<bool(std::string_view table, std::string_view key)>;
  /// How many such rows 'table' has. O(1).
  using LostRows = std::function<std::size_t(std::string_view table)>;
  void on_lost(Lost lost, LostRows lost_rows = {}) { *audit_ = {std::move(lost), std::move(lost_rows)}; }

  /// How many rows of 'table' stand where. O(1) for tables of many rows.
  PlaneCounts counts(std::string_view table) const;

 private:
  struct Audit {
    Lost lost;
    LostRows lost_rows;
  };
  void add(std::string_view table, Runtime::StateOf state_of, std::function<PlaneCounts()> counts);

  Runtime& runtime_;
  std::map<std::string, std::function<PlaneCounts()>, std::less<>> counts_;  // By table.
  std::shared_ptr<Audit> audit_ = std::make_shared<Audit>();                 // The runtime may outlive the agent.
};

}  // namespace rondo::switch_agent
