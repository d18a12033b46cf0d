// Core: the inside of Agents, shared by its files: the homes, the lanes, the groups, the topics, the figures. What is not atomic is guarded
// by 'lock'; nothing of it is touched by a message that is posted and handled.
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

  /// The lane of 'priority', made if need be.
  Result<std::shared_ptr<message::Lane>> lane(Priority priority);
  /// Gives 'home' those of its lanes that its scheduler does not have. On its thread.
  void add_lanes(message::Home& home);
  /// Takes 'agents' over, or leaves them all.
  Result<GroupId> add(std::vector<std::unique_ptr<Agent>>& agents);
  /// Removes the group at once; no effect if that is under way. Any thread. Allocates nothing.
  void stop_group(message::GroupState& group) noexcept;
  void stop_all() noexcept;
  Status remove(GroupId group, Removal how, std::function<void()> done);
  /// The same without words: false if there is no such group. Leaves 'done' alone if somebody else is told.
  bool begin_removal(std::uint64_t number, Removal how, std::function<void()>& done) noexcept;
  /// What is to be done about an exception of a handler; tells who wants to know.
  Reaction react(message::Cell& cell, const message::Handler& handler, std::exception_ptr error, unsigned attempts) noexcept;
  /// Of a start or an end.
  void tell_fault(const message::Cell& cell, std::string_view what, std::exception_ptr error, Reaction reaction) noexcept;
  /// The agent of 'cell' has gone: on its thread.
  void gone(message::Cell& cell) noexcept;
  /// And none of its messages waits any more: on its thread.
  void forget(message::Cell& cell) noexcept;
  /// The agent of 'cell' was never added: any thread.
  void forget_unadded(message::Cell& cell) noexcept;
  /// For good: no agent is added, and no message accepted. Any thread. O(agents).
  void accept_no_more() noexcept;
  /// Every agent finishes, every lane is closed. No scheduler gives turns any more.
  void close() noexcept;

  AgentsOptions options;
  HomeFor home_for;
  message::FiguresRegistry figures;
  mutable std::mutex lock;
  bool closed = false;  // No agent is added, no lane made.
  std::vector<std::shared_ptr<message::Home>> homes;
  std::array<std::shared_ptr<message::Lane>, limits::kPriorities> lanes;
  std::array<std::atomic<message::Lane*>, limits::kPriorities> lanes_in_use{};  // The same, for those who only read.
  std::map<std::uint64_t, std::shared_ptr<message::GroupState>> groups;
  std::uint64_t last_group = 0;
  message::Counter refused_groups{0};  // Of anybody, as is the next.
  message::Counter queue_retries{0};
  std::map<std::pair<std::string, const message::MessageType*>, std::weak_ptr<message::TopicCore>> topics;
};

struct Group::Parts {
  std::vector<std::unique_ptr<Agent>> agents;
};

}  // namespace rondo
