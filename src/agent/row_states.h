// RowStates: tells `why`, `get`, `show`, `tables` and `health` where the rows of the agent's tables stand in the data plane. Each Orch says
// it of its own rows; an audit may know better.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "rondo/orch/runtime.h"

namespace rondo::agent {

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
  void on_lost(std::function<bool(std::string_view table, std::string_view key)> lost) { *lost_ = std::move(lost); }

 private:
  using Lost = std::function<bool(std::string_view table, std::string_view key)>;
  void add(std::string_view table, Runtime::StateOf state_of);

  Runtime& runtime_;
  std::shared_ptr<Lost> lost_ = std::make_shared<Lost>();  // The runtime may outlive the agent.
};

}  // namespace rondo::agent
