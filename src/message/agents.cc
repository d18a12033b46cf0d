#include "rondo/message/agents.h"

#include <algorithm>
#include <exception>
#include <new>

#include "message/core.h"
#include "message/failed_agent.h"
#include "rondo/base/assert.h"

namespace rondo {

namespace {

Status about(GroupId group, Code code, std::string_view what) {
  return {code, "group " + std::to_string(group.number) + " of agents: " + std::string{what}};
}

/// Calls 'make' and returns its result.
Status made(const std::function<Status(Group&)>& make, Group& group) {
  try {
    return make(group);
  } catch (const message::FailedAgent& failed) {
    return failed.why;
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory();
  } catch (const std::exception& error) {
    return {Code::Internal, std::string{"a group of agents: its making threw: "} + error.what()};
  } catch (...) {
    return {Code::Internal, "a group of agents: its making threw something unknown"};
  }
}

}  // namespace

Group::Group(Agents& agents) : agents_(agents), parts_(std::make_unique<Parts>()) {}

Group::~Group() {
  while (!parts_->agents.empty()) parts_->agents.pop_back();
}

void Group::adopt(std::unique_ptr<Agent> agent) { parts_->agents.push_back(std::move(agent)); }

Agents::Agents(std::unique_ptr<Core> core) : core_(std::move(core)) {}

Agents::Agents(Scheduler& scheduler, AgentsOptions options) {
  core_ = std::make_unique<Core>(std::move(options),
                                 [this](Priority) -> Result<std::shared_ptr<message::Home>> { return core_->homes.front(); });
  core_->homes.push_back(std::make_shared<message::Home>(*core_, scheduler));
  core_->homes.front()->enter();
}

Agents::~Agents() {
  if (core_ != nullptr) core_->close();
}

Result<GroupId> Agents::add_group(const std::function<Status(Group&)>& make) {
  Result<GroupId> added = try_to_add(make);
  if (!added) core_->refused_groups.fetch_add(1, std::memory_order_relaxed);
  return added;
}

Result<GroupId> Agents::try_to_add(const std::function<Status(Group&)>& make) {
  try {
    Group group(*this);
    Status status = made(make, group);
    if (!status.ok()) return failure(std::move(status));
    if (group.parts_->agents.empty()) return failure(Code::InvalidArgument, "a group of agents: it has none");
    return core_->add(group.parts_->agents);
  } catch (const std::bad_alloc&) {  // An allocation failed, possibly for an error's text.
    return failure(Status::out_of_memory());
  }
}

Status Agents::remove(GroupId group, Removal how, std::function<void()> done) { return core_->remove(group, how, std::move(done)); }

std::size_t Agents::groups() const {
  const std::lock_guard<std::mutex> guard(core_->lock);
  return core_->groups.size();
}

std::shared_ptr<message::TopicCore> Agents::topic_core(std::string_view name, const message::MessageType& type) {
  const std::lock_guard<std::mutex> guard(core_->lock);
  std::erase_if(core_->topics, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<message::TopicCore>& known = core_->topics[{std::string{name}, &type}];
  std::shared_ptr<message::TopicCore> topic = known.lock();
  if (topic == nullptr) known = topic = std::make_shared<message::TopicCore>(std::string{name});
  return topic;
}

std::vector<MessageFigures> Agents::figures_of_agents() const { return core_->figures.read_all(); }

std::vector<MessageFigures> Agents::figures_of_queues() const {
  std::vector<MessageFigures> all;
  for (unsigned level = limits::kPriorities; level-- > 0;) {
    const message::Lane* const lane = core_->lanes_in_use[level].load(std::memory_order_acquire);
    if (lane != nullptr) all.push_back(lane->figures());
  }
  for (const MessageFigures& agent : figures_of_agents()) {
    for (MessageFigures& queue : all) {
      if (queue.priority != agent.priority) continue;
      queue.served += agent.served;
      queue.refused += agent.refused;
      queue.dropped += agent.dropped;
      queue.coalesced += agent.coalesced;
      queue.faults += agent.faults;
      queue.parked += agent.parked;
      queue.wait_ns.merge(agent.wait_ns);
    }
  }
  return all;
}

AgentsFigures Agents::figures() const noexcept {
  return {.refused_groups = message::read(core_->refused_groups), .queue_retries = message::read(core_->queue_retries)};
}

// --- Core

Result<std::shared_ptr<message::Lane>> Agents::Core::lane(Priority priority) {
  const std::lock_guard<std::mutex> guard(lock);
  if (closed) return failure(Code::FailedPrecondition, "agents: they were stopped, or are ending");
  std::shared_ptr<message::Lane>& known = lanes[priority.level()];
  if (known == nullptr) {
    Result<std::shared_ptr<message::Home>> home = home_for(priority);
    if (!home) return failure(std::move(home.error()));
    known = std::make_shared<message::Lane>(*home, priority, options.messages_max);
    lanes_in_use[priority.level()].store(known.get(), std::memory_order_release);
    (*home)->life.lanes_wait();
  }
  return known;
}

void Agents::Core::add_lanes(message::Home& home) {
  const std::lock_guard<std::mutex> guard(lock);
  for (const std::shared_ptr<message::Lane>& lane : lanes) {
    if (lane != nullptr && &lane->home() == &home && lane->scheduler() == nullptr) home.scheduler.add(*lane);
  }
}

Result<GroupId> Agents::Core::add(std::vector<std::unique_ptr<Agent>>& agents) {
  auto group = std::make_shared<message::GroupState>();
  for (const std::unique_ptr<Agent>& agent : agents) group->cells.push_back(message::Cell::of(*agent));
  std::ranges::stable_sort(group->cells, std::ranges::greater{}, &message::Cell::priority);
  group->left = group->cells.size();
  const std::lock_guard<std::mutex> guard(lock);
  if (closed) return failure(Code::FailedPrecondition, "agents: they were stopped, or are ending");
  group->number = ++last_group;
  groups.emplace(group->number, group);
  // Nothing after this fails.
  for (message::Cell* cell : group->cells) {
    cell->acquire();
    cell->group = group;
  }
  for (std::unique_ptr<Agent>& agent : agents) static_cast<void>(agent.release());
  // Under the lock: the first message can stop the group, and the group would be gone before its last agent accepts messages.
  for (message::Cell* cell : group->cells) cell->lane->set_accepting(*cell, true);
  message::Cell& first = *group->cells.front();
  first.lane->home().life.request(first, message::Cell::kStart);
  return GroupId{group->number};
}

Status Agents::Core::remove(GroupId id, Removal how, std::function<void()> done) {
  if (!begin_removal(id.number, how, done)) return about(id, Code::NotFound, "there is none, or it has gone");
  return {};
}

bool Agents::Core::begin_removal(std::uint64_t number, Removal how, std::function<void()>& done) noexcept {
  const std::lock_guard<std::mutex> guard(lock);
  const auto found = groups.find(number);
  if (found == groups.end()) return false;
  message::GroupState& group = *found->second;
  if (!group.done) group.done.swap(done);
  for (message::Cell* cell : group.cells) cell->lane->set_accepting(*cell, false);
  const auto wanted = how == Removal::AtOnce ? message::Cell::kRemoveAtOnce : message::Cell::kRemoveAfterQueue;
  for (message::Cell* cell : group.cells) cell->lane->home().life.request(*cell, wanted);
  return true;
}

void Agents::Core::stop_group(message::GroupState& group) noexcept {
  std::function<void()> nobody;
  static_cast<void>(begin_removal(group.number, Removal::AtOnce, nobody));
}

void Agents::Core::stop_all() noexcept {
  if (options.on_stop) return options.on_stop();
  const std::lock_guard<std::mutex> guard(lock);
  for (const std::shared_ptr<message::Home>& home : homes) home->scheduler.stop();
}

void Agents::Core::tell_fault(const message::Cell& cell, std::string_view what, std::exception_ptr error, Reaction reaction) noexcept {
  if (!options.on_fault) return;
  options.on_fault({.agent = cell.name, .message = what, .error = std::move(error), .reaction = reaction});
}

Reaction Agents::Core::react(message::Cell& cell, const message::Handler& handler, std::exception_ptr error, unsigned attempts) noexcept {
  std::string name;
  try {
    name = message::name_of(*handler.type);
  } catch (const std::bad_alloc&) {  // The fault is reported without its text.
  }
  Reaction reaction = cell.react({.agent = cell.name, .message = name, .error = error});
  const bool may_retry = attempts < cell.agent_options().retries_max && !handler.takes_over;
  if (reaction == Reaction::Retry && !may_retry) reaction = Reaction::Drop;
  tell_fault(cell, name, std::move(error), reaction);
  return reaction;
}

void Agents::Core::gone(message::Cell& cell) noexcept {
  std::shared_ptr<message::GroupState> last;
  {
    const std::lock_guard<std::mutex> guard(lock);
    const auto found = groups.find(cell.group->number);
    if (found == groups.end() || --found->second->left > 0) return;
    last = std::move(found->second);
    groups.erase(found);
  }
  for (message::Cell* one : last->cells) one->release();
  if (last->done) last->done();
}

void Agents::Core::forget(message::Cell& cell) noexcept {
  cell.forgotten = true;
  cell.lane->absorb(cell.figures);
  forget_unadded(cell);
}

void Agents::Core::forget_unadded(message::Cell& cell) noexcept {
  figures.give_back(cell.figures);
  cell.release();
}

void Agents::Core::accept_no_more() noexcept {
  const std::lock_guard<std::mutex> guard(lock);
  closed = true;
  for (const auto& [number, group] : groups) {
    for (message::Cell* cell : group->cells) cell->lane->set_accepting(*cell, false);
  }
}

void Agents::Core::close() noexcept {
  {
    const std::lock_guard<std::mutex> guard(lock);
    closed = true;
  }
  for (const auto& lane : lanes) {
    if (lane != nullptr) lane->close();
  }
  for (const auto& home : homes) home->close();
  while (!groups.empty()) {
    const std::shared_ptr<message::GroupState> group = groups.rbegin()->second;
    // Not all cells: some agents may have gone before, and the group releases every cell with its last agent.
    for (std::size_t i = group->cells.size(); group->left > 0;) {
      message::Cell& cell = *group->cells[--i];
      cell.lane->home().life.finish(cell);
    }
  }
  for (const auto& lane : lanes) {
    if (lane != nullptr) lane->discard_all();
  }
}

}  // namespace rondo
