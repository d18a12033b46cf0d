// The neighbours that next-hop groups wait for, and for how long.
#include <algorithm>
#include <optional>
#include <utility>

#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "switch_agent/facts.h"
#include "switch_agent/neighbors.h"
#include "switch_agent/nexthop_groups.h"

namespace rondo::switch_agent {

namespace {

/// How long a row of several next hops waits for a neighbour that may come soon. It spares the kernel smaller groups while neighbours
/// arrive one by one. At a restart it is shorter than the time without a change after which the restart ends.
constexpr Duration kPatience = 300ms;

}  // namespace

/// Returns the fact that a row waits for: a neighbour expected soon, or nothing. A neighbour on a port that is down or absent is not
/// expected soon, and neither is one that did not come for kPatience while another was there: its next hop joins the group when the
/// neighbour appears, and the other next hops carry the traffic meanwhile. If there is no neighbour at all, the row waits for any of them.
/// Returns one fact at a time, because the expected neighbours change; the handler runs again then.
std::optional<Fact> NexthopGroups::missing_neighbor(const std::vector<Hop>& hops) {
  forget_what_is_not_lacking();
  std::vector<std::string> away;
  std::vector<std::string> expected;
  std::size_t ours = 0;
  for (const Hop& hop : hops) {
    if (is_of_others(hop.port)) continue;  // It never joins.
    ++ours;
    std::string neighbor = neighbor_key(hop.port, hop.gateway);
    if (hop.is_to_device() || holds({kNeighbor, neighbor})) continue;
    const bool may_come_soon = holds({kAdminUp, hop.port}) && !overdue_.contains(neighbor);
    (may_come_soon ? expected : away).push_back(std::move(neighbor));
  }
  const std::string front = !expected.empty() ? expected.front() : !away.empty() ? away.front() : std::string{};
  if (expected.size() + away.size() == ours) {
    for (const auto* const missing : {&expected, &away}) {
      for (const std::string& neighbor : *missing) {
        std::set<std::string>& parked_on = lacking_[neighbor];
        if (neighbor != front) parked_on.insert(front);
      }
    }
    return Fact{kNeighbor, front};
  }
  if (expected.empty()) return {};
  for (const std::string& neighbor : expected) expect(neighbor);
  lacking_[front];
  return Fact{kNeighbor, front};
}

void NexthopGroups::expect(const std::string& neighbor) {
  const Instant now = runtime().scheduler().now();
  expected_.try_emplace(neighbor, now);
  if (!patience_timer_.is_armed()) patience_timer_.arm_at(now + kPatience);
}

/// The handlers of the rows that wait for a neighbour that has not come run again, and leave its next hop out.
void NexthopGroups::give_up_expected() {
  std::erase_if(overdue_, [this](const std::string& name) {
    const Result<NeighborKey> parsed = parse_neighbor_key(name);
    return parsed && !is_used(*parsed) && !is_missed(name);
  });
  const Instant now = runtime().scheduler().now();
  Instant next = Instant::never();
  for (auto it = expected_.begin(); it != expected_.end();) {
    if (now - it->second < kPatience) {
      next = std::min(next, it->second + kPatience);
      ++it;
      continue;
    }
    const std::string neighbor = it->first;
    it = expected_.erase(it);
    overdue_.insert(neighbor);
    handle_again(neighbor);
  }
  if (next != Instant::never()) patience_timer_.arm_at(next);
}

void NexthopGroups::forget_what_is_not_lacking() {
  if (lacking_.size() < look_through_at_) return;
  const auto is_over = [this](const std::string& key) { return !is_missed(key); };
  std::erase_if(lacking_, [&](const auto& entry) { return is_over(entry.first) && std::ranges::all_of(entry.second, is_over); });
  look_through_at_ = std::max<std::size_t>(1024, 2 * lacking_.size());
}

/// Called when expected neighbours are no longer expected: the handlers of the rows that wait for one run again.
void NexthopGroups::port_went() {
  for (const auto& [neighbor, others] : std::exchange(lacking_, {})) handle_again(neighbor);
}

/// Called when the kernel has accepted the neighbour.
void NexthopGroups::neighbor_came(std::string_view name) {
  if (const auto known = expected_.find(name); known != expected_.end()) expected_.erase(known);
  if (const auto known = overdue_.find(name); known != overdue_.end()) overdue_.erase(known);
  if (const auto rows = lacking_.find(name); rows != lacking_.end()) {
    const std::set<std::string> parked_on = std::move(rows->second);
    lacking_.erase(rows);
    for (const std::string& other : parked_on) handle_again(other);
  }
  handle_sets_again(name);  // Its announcement queues the rows.
  const Result<NeighborKey> parsed = parse_neighbor_key(name);
  if (!parsed) return;
  for (const bool onlink : {false, true}) {
    const auto it = nexthops_.find({parsed->port, parsed->address, onlink});
    if (it == nexthops_.end() || std::exchange(it->second.resolved, true)) continue;
    if (!it->second.present && !it->second.asking) ask(it->second);
  }
}

}  // namespace rondo::switch_agent
