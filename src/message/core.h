// Core: the implementation of Agents, shared by its files: the homes, lanes, groups, topics and figures. Members that are not atomic are
// guarded by 'lock'. Posting and handling a message touches none of them.
#pragma once

#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "message/cell.h"
#include "message/figures.h"
#include "message/group_state.h"
#include "message/home.h"
#include "message/lane.h"
#include "message/topic_core.h"
#include "rondo/message/agents.h"

namespace rondo {

struct Agents::Core {
  using HomeFor = std::function<Result<std::shared_ptr<message::Home>>(Priority)>;
  Core(AgentsOptions given, HomeFor find) : options(std::move(given)), home_for(std::move(find)) {}

  /// Returns the lane of 'priority' and makes it if it is absent.
  Result<std::shared_ptr<message::Lane>> lane(Priority priority);
  /// Adds to the scheduler of 'home' its lanes that are missing there. On the home's thread.
  void add_lanes(message::Home& home);
  /// Takes ownership of all 'agents', or of none.
  Result<GroupId> add(std::vector<std::unique_ptr<Agent>>& agents);
  /// Removes the group immediately; no effect if its removal is under way. Any thread. Allocates nothing.
  void stop_group(message::GroupState& group) noexcept;
  void stop_all() noexcept;
  Status remove(GroupId group, Removal how, std::function<void()> done);
  /// As remove(), without an error text: returns false if there is no such group. Leaves 'done' unchanged if another callback is notified
  /// instead.
  bool begin_removal(std::uint64_t number, Removal how, std::function<void()>& done) noexcept;
  /// Returns the reaction to an exception of a handler, and reports the exception.
  Reaction react(message::Cell& cell, const message::Handler& handler, std::exception_ptr error, unsigned attempts) noexcept;
  /// Reports an exception of a start or an end.
  void tell_fault(const message::Cell& cell, std::string_view what, std::exception_ptr error, Reaction reaction) noexcept;
  /// The agent of 'cell' has been destroyed. On its thread.
  void gone(message::Cell& cell) noexcept;
  /// The agent has gone and none of its messages waits any more. On its thread.
  void forget(message::Cell& cell) noexcept;
  /// The agent of 'cell' was never added. Any thread.
  void forget_unadded(message::Cell& cell) noexcept;
  /// From now on no agent is added, and no message accepted. Any thread. O(agents).
  void accept_no_more() noexcept;
  /// Finishes every agent and closes every lane. Called when no scheduler gives turns any more.
  void close() noexcept;

  AgentsOptions options;
  HomeFor home_for;
  message::FiguresRegistry figures;
  mutable std::mutex lock;
  bool closed = false;  // No agent is added and no lane made any more.
  std::vector<std::shared_ptr<message::Home>> homes;
  std::array<std::shared_ptr<message::Lane>, limits::kPriorities> lanes;
  std::array<std::atomic<message::Lane*>, limits::kPriorities> lanes_in_use{};  // The lanes again, for readers without the lock.
  std::map<std::uint64_t, std::shared_ptr<message::GroupState>> groups;
  std::uint64_t last_group = 0;
  message::Counter refused_groups{0};  // Written by any thread, as is queue_retries.
  message::Counter queue_retries{0};
  std::map<std::pair<std::string, const message::MessageType*>, std::weak_ptr<message::TopicCore>> topics;
};

struct Group::Parts {
  std::vector<std::unique_ptr<Agent>> agents;
};

}  // namespace rondo
