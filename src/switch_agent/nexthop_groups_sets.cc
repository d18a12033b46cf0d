// nexthop_groups_sets.cc: the groups of the sets of next hops that routes name themselves. No row asks for such a group, so this Orch
// keeps what the ledger keeps of a row: which neighbour the set waits for, and that it is to be handled again.
#include <algorithm>
#include <utility>

#include "orch/ask_again.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "switch_agent/facts.h"
#include "switch_agent/neighbors.h"
#include "switch_agent/nexthop_groups.h"
#include "switch_agent/priorities.h"

namespace rondo::switch_agent {

/// The sets to handle, at the priority of the groups' rows.
class NexthopGroups::SetQueue final : public Source {
 public:
  explicit SetQueue(NexthopGroups& groups) : Source("next hops of routes", kNexthopGroups), groups_(groups) {}
  Turn run(const Budget& budget) override {
    Turn turn;
    while (turn.items < budget.items && !changed().empty()) {
      groups_.update_set(changed().extract(changed().begin()).value());
      if (++turn.items % limits::kItemsPerStep == 0 && time_is_up(budget)) break;
    }
    turn.backlog = changed().empty() ? Backlog::Empty : Backlog::More;
    return turn;
  }
  bool has_backlog() const override { return !changed().empty(); }
  std::size_t depth() const override { return changed().size(); }

 private:
  std::set<std::string>& changed() const { return groups_.changed_sets_; }
  NexthopGroups& groups_;
};

void NexthopGroups::follow_sets() {
  set_queue_ = std::make_unique<SetQueue>(*this);
  runtime().scheduler().add(*set_queue_);
  sets_.on_change([this](const std::string& name) { queue_set(name); });
  provide(kNextHops, [this](std::string_view name) {
    const auto entry = ids_.find(kNextHops, name);
    return entry && entry->usable;
  });
  runtime().explain(kNextHops, [this](std::string_view name) { return origins_of_set(name); });
}

void NexthopGroups::queue_set(const std::string& name) {
  changed_sets_.insert(name);
  set_queue_->wake();
}

/// A set that waits leads to the neighbours that it lacks; another one to the ports that it lacks.
std::vector<FactOrigin> NexthopGroups::origins_of_set(std::string_view name) const {
  if (set_waits_.contains(name)) {
    std::vector<FactOrigin> lacked;
    for (const Hop& hop : *sets_.find(name)) {
      const Fact neighbor{kNeighbor, neighbor_key(hop.port, hop.gateway)};
      if (!is_of_others(hop.port) && !hop.is_to_device() && !holds(neighbor)) lacked.push_back({.fact = neighbor});
    }
    return lacked;
  }
  RowInPlane in = state_of_row(kNextHops, name);
  std::vector<FactOrigin> origins{{.note = std::move(in.note)}};
  for (Fact& lacked : in.facts) origins.push_back({.fact = std::move(lacked)});
  return origins;
}

/// Makes the group of a set that is wanted, and deletes that of one that is not.
void NexthopGroups::update_set(const std::string& name) {
  end_wait(name);
  const Fact fact{kNextHops, name};
  const auto known = groups_.find({std::string{kNextHops.name()}, name});
  if (known != groups_.end() && known->second.deleting) return;  // finish_remove() queues it again.
  const std::vector<Hop>* const hops = sets_.find(name);
  if (hops == nullptr && known == groups_.end()) return ids_.forget(fact);
  if (hops == nullptr) return refresh(known->second);
  if (const std::optional<Fact> missing = lacks(fact, *hops)) {
    set_waits_.emplace(name, missing->key);
    waiting_sets_[missing->key].insert(name);
    return;
  }
  Group& group = group_at(fact, *hops);
  set_members(group, *hops);
  refresh(group);
}

void NexthopGroups::end_wait(const std::string& name) {
  const auto waits = set_waits_.find(name);
  if (waits == set_waits_.end()) return;
  const auto sets = waiting_sets_.find(waits->second);
  sets->second.erase(name);
  if (sets->second.empty()) waiting_sets_.erase(sets);
  set_waits_.erase(waits);
}

bool NexthopGroups::is_unwanted_set(const Group& group) const {
  return group.fact.kind == kNextHops && sets_.find(group.fact.key) == nullptr;
}

void NexthopGroups::handle_sets_again(std::string_view neighbor) {
  const auto sets = waiting_sets_.find(neighbor);
  if (sets == waiting_sets_.end()) return;
  for (const std::string& name : sets->second) queue_set(name);
}

bool NexthopGroups::is_missed(const std::string& neighbor) const {
  return waiting_sets_.contains(neighbor) || is_awaited({kNeighbor, neighbor});
}

void NexthopGroups::handle_again(const std::string& neighbor) {
  handle_sets_again(neighbor);
  if (is_awaited({kNeighbor, neighbor})) AskAgain::rows_that_wait_for(*this, {kNeighbor, neighbor});
}

void NexthopGroups::for_each_lacking(const std::function<void(std::string_view neighbor)>& visit) const {
  for (const std::string& neighbor : overdue_) visit(neighbor);
  for (const auto& [neighbor, parked_on] : lacking_) {
    const bool is_lacking = is_missed(neighbor) || std::ranges::any_of(parked_on, [this](const auto& other) { return is_missed(other); });
    if (is_lacking && !overdue_.contains(neighbor)) visit(neighbor);
  }
}

}  // namespace rondo::switch_agent
