#include "rondo/message/agents.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <new>

#include "message/agents_impl.h"
#include "rondo/base/assert.h"
#include "rondo/message/limits.h"

namespace rondo {

namespace {

Status about(GroupId group, StatusCode code, std::string_view what) {
  return {code, "group " + std::to_string(group.value()) + " of agents: " + std::string{what}};
}

/// Calls 'make' and returns its result.
Status made(const std::function<Status(AgentGroup&)>& make, AgentGroup& group) {
  try {
    return make(group);
  } catch (const message::FailedAgent& failed) {
    return failed.why;
  } catch (const std::bad_alloc&) {
    return Status::out_of_memory();
  } catch (const std::exception& error) {
    return {StatusCode::Internal, std::string{"a group of agents: its making threw: "} + error.what()};
  } catch (...) {
    return {StatusCode::Internal, "a group of agents: its making threw something unknown"};
  }
}

}  // namespace

AgentGroup::AgentGroup(Agents& agents) : agents_(agents), impl_(std::make_unique<Impl>()) {}

AgentGroup::~AgentGroup() {
  while (!impl_->agents.empty()) impl_->agents.pop_back();
}

void AgentGroup::adopt(std::unique_ptr<Agent> agent) { impl_->agents.push_back(std::move(agent)); }

Agents::Agents(std::unique_ptr<Impl> core) : impl_(std::move(core)) {}

Agents::Agents(Scheduler& scheduler, AgentsOptions options) {
  impl_ = std::make_unique<Impl>(
      std::move(options), [this](Priority) -> Result<std::shared_ptr<message::SchedulerContext>> { return impl_->contexts.front(); });
  impl_->contexts.push_back(std::make_shared<message::SchedulerContext>(*impl_, scheduler));
  impl_->contexts.front()->enter();
}

Agents::~Agents() {
  if (impl_ != nullptr) impl_->close();
}

Result<GroupId> Agents::add_group(const std::function<Status(AgentGroup&)>& make) {
  Result<GroupId> added = try_to_add(make);
  if (!added) impl_->refused_groups.fetch_add(1, std::memory_order_relaxed);
  return added;
}

Result<GroupId> Agents::try_to_add(const std::function<Status(AgentGroup&)>& make) {
  try {
    AgentGroup group(*this);
    Status status = made(make, group);
    if (!status.ok()) return failure(std::move(status));
    if (group.impl_->agents.empty()) return failure(StatusCode::InvalidArgument, "a group of agents: it has none");
    return impl_->add(group.impl_->agents);
  } catch (const std::bad_alloc&) {  // An allocation failed, possibly for an error's text.
    return failure(Status::out_of_memory());
  }
}

Status Agents::remove(GroupId group, Removal how, std::function<void()> done) { return impl_->remove(group, how, std::move(done)); }

std::size_t Agents::groups() const {
  const std::lock_guard<std::mutex> guard(impl_->lock);
  return impl_->groups.size();
}

std::shared_ptr<message::TopicCore> Agents::topic_core(std::string_view name, const message::MessageType& type) {
  const std::lock_guard<std::mutex> guard(impl_->lock);
  std::erase_if(impl_->topics, [](const auto& one) { return one.second.expired(); });
  std::weak_ptr<message::TopicCore>& known = impl_->topics[{std::string{name}, &type}];
  std::shared_ptr<message::TopicCore> topic = known.lock();
  if (topic == nullptr) known = topic = std::make_shared<message::TopicCore>(std::string{name});
  return topic;
}

std::vector<MessageFigures> Agents::figures_of_agents() const {
  const std::lock_guard<std::mutex> guard(impl_->lock);
  return impl_->figures_of_agents();
}

std::vector<MessageFigures> Agents::figures_of_queues() const {
  std::vector<MessageFigures> all;
  std::vector<MessageFigures> agents;
  {
    // Under one lock: an agent that goes meanwhile would be counted twice, as an agent and in the sum of its queue.
    const std::lock_guard<std::mutex> guard(impl_->lock);
    for (const auto& queue : impl_->queues) {
      if (queue != nullptr) all.insert(all.begin(), queue->figures());
    }
    agents = impl_->figures_of_agents();
  }
  for (const MessageFigures& agent : agents) {
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

std::uint64_t Agents::refused_groups() const noexcept { return message::read(impl_->refused_groups); }
std::uint64_t Agents::queue_retries() const noexcept { return message::read(impl_->queue_retries); }

// --- Agents::Impl

Result<std::shared_ptr<message::AgentQueue>> Agents::Impl::queue(Priority priority) {
  const std::lock_guard<std::mutex> guard(lock);
  if (closed) return failure(StatusCode::FailedPrecondition, "agents: they were stopped, or are ending");
  std::shared_ptr<message::AgentQueue>& known = queues[priority.level()];
  if (known == nullptr) {
    Result<std::shared_ptr<message::SchedulerContext>> context = context_for(priority);
    if (!context) return failure(std::move(context.error()));
    known = std::make_shared<message::AgentQueue>(*context, priority, options.messages_max);
    (*context)->add(*known);
  }
  return known;
}

message::AgentState& Agents::Impl::make_state(Agent& owner, std::string name, Priority priority) {
  Result<std::shared_ptr<message::AgentQueue>> found = queue(priority);
  if (!found) throw message::FailedAgent(found.error().with_context("agent '" + name + "'"));
  const std::lock_guard<std::mutex> guard(lock);
  if (agents.size() == limits::kAgents) {
    throw message::FailedAgent(
        {StatusCode::ResourceExhausted, "agent '" + name + "': there are " + std::to_string(limits::kAgents) + " agents"});
  }
  agents.push_back(nullptr);
  try {
    agents.back() = new message::AgentState(owner, std::move(name), priority, std::move(*found));
  } catch (...) {
    agents.pop_back();
    throw;
  }
  agents.back()->place = std::prev(agents.end());
  return *agents.back();
}

std::vector<MessageFigures> Agents::Impl::figures_of_agents() const {
  std::vector<MessageFigures> all;
  for (const message::AgentState* agent : agents) all.push_back(agent->figures.copy(agent->name, agent->priority));
  return all;
}

Result<GroupId> Agents::Impl::add(std::vector<std::unique_ptr<Agent>>& made) {
  auto group = std::make_shared<message::GroupState>();
  for (const std::unique_ptr<Agent>& agent : made) group->agents.push_back(message::AgentState::of(*agent));
  std::ranges::stable_sort(group->agents, std::ranges::greater{}, &message::AgentState::priority);
  group->left = group->agents.size();
  const std::lock_guard<std::mutex> guard(lock);
  if (closed) return failure(StatusCode::FailedPrecondition, "agents: they were stopped, or are ending");
  group->number = ++last_group;
  groups.emplace(group->number, group);
  // Nothing after this fails.
  for (message::AgentState* agent : group->agents) {
    agent->acquire();
    agent->group = group;
  }
  for (std::unique_ptr<Agent>& agent : made) static_cast<void>(agent.release());
  // Under the lock: the first message can stop the group, and the group would be gone before its last agent accepts messages.
  for (message::AgentState* agent : group->agents) agent->queue->set_accepting(*agent, true);
  message::AgentState& first = *group->agents.front();
  first.queue->context().lifecycle.request(first, message::AgentState::kStart);
  return GroupId{group->number};
}

Status Agents::Impl::remove(GroupId id, Removal how, std::function<void()> done) {
  if (!begin_removal(id.value(), how, done)) return about(id, StatusCode::NotFound, "there is none, or it has gone");
  return {};
}

bool Agents::Impl::begin_removal(std::uint64_t number, Removal how, std::function<void()>& done) noexcept {
  const std::lock_guard<std::mutex> guard(lock);
  const auto found = groups.find(number);
  if (found == groups.end()) return false;
  message::GroupState& group = *found->second;
  if (!group.done) group.done.swap(done);
  for (message::AgentState* agent : group.agents) agent->queue->set_accepting(*agent, false);
  const auto wanted = how == Removal::AtOnce ? message::AgentState::kRemoveAtOnce : message::AgentState::kRemoveAfterQueue;
  for (message::AgentState* agent : group.agents) agent->queue->context().lifecycle.request(*agent, wanted);
  return true;
}

void Agents::Impl::stop_group(message::GroupState& group) noexcept {
  std::function<void()> nobody;
  static_cast<void>(begin_removal(group.number, Removal::AtOnce, nobody));
}

void Agents::Impl::stop_all() noexcept {
  if (options.on_stop) return options.on_stop();
  const std::lock_guard<std::mutex> guard(lock);
  for (const std::shared_ptr<message::SchedulerContext>& context : contexts) context->scheduler.stop();
}

void Agents::Impl::report_fault(const message::AgentState& agent, std::string_view what, std::exception_ptr error,
                                Reaction reaction) noexcept {
  if (!options.on_fault) return;
  options.on_fault({.agent = agent.name, .message = what, .error = std::move(error), .reaction = reaction});
}

Reaction Agents::Impl::react(message::AgentState& agent, const message::Handler& handler, std::exception_ptr error,
                             unsigned attempts) noexcept {
  std::string name;
  try {
    name = message::name_of(*handler.type);
  } catch (const std::bad_alloc&) {  // The fault is reported without its text.
  }
  Reaction reaction = agent.react({.agent = agent.name, .message = name, .error = error});
  const bool may_retry = attempts < agent.agent_options().retries_max && !handler.takes_over;
  if (reaction == Reaction::Retry && !may_retry) reaction = Reaction::Drop;
  report_fault(agent, name, std::move(error), reaction);
  return reaction;
}

void Agents::Impl::gone(message::AgentState& agent) noexcept {
  std::shared_ptr<message::GroupState> last;
  {
    const std::lock_guard<std::mutex> guard(lock);
    const auto found = groups.find(agent.group->number);
    if (found == groups.end() || --found->second->left > 0) return;
    last = std::move(found->second);
    groups.erase(found);
  }
  for (message::AgentState* one : last->agents) one->release();
  if (last->done) last->done();
}

void Agents::Impl::forget(message::AgentState& agent) noexcept {
  agent.forgotten = true;
  {
    const std::lock_guard<std::mutex> guard(lock);
    agent.queue->absorb(agent.figures);
    agents.erase(agent.place);
  }
  agent.release();
}

void Agents::Impl::forget_unadded(message::AgentState& agent) noexcept {
  {
    const std::lock_guard<std::mutex> guard(lock);
    agents.erase(agent.place);
  }
  agent.release();
}

void Agents::Impl::accept_no_more() noexcept {
  const std::lock_guard<std::mutex> guard(lock);
  closed = true;
  for (const auto& [number, group] : groups) {
    for (message::AgentState* agent : group->agents) agent->queue->set_accepting(*agent, false);
  }
}

void Agents::Impl::close() noexcept {
  {
    const std::lock_guard<std::mutex> guard(lock);
    closed = true;
  }
  for (const auto& queue : queues) {
    if (queue != nullptr) queue->close();
  }
  for (const auto& context : contexts) context->close();
  while (!groups.empty()) {
    const std::shared_ptr<message::GroupState> group = groups.rbegin()->second;
    // Not all agents: some agents may have gone before, and the group releases every state with its last agent.
    for (std::size_t i = group->agents.size(); group->left > 0;) {
      message::AgentState& agent = *group->agents[--i];
      agent.queue->context().lifecycle.finish(agent);
    }
  }
  for (const auto& queue : queues) {
    if (queue != nullptr) queue->discard_all();
  }
}

}  // namespace rondo
