// nexthop_groups_refusals.cc: next hops and groups that the data plane refuses although all their facts hold, and when they are ordered
// again.
#include <algorithm>
#include <optional>
#include <utility>

#include "rondo/orch/runtime.h"
#include "rondo/sched/scheduler.h"
#include "switch_agent/facts.h"
#include "switch_agent/nexthop_groups.h"

namespace rondo::switch_agent {

/// Returns a next hop of the group that the kernel has refused although all its facts hold; null if there is none.
const NexthopGroups::Nexthop* NexthopGroups::coming_member(const Group& group) const {
  const auto member = std::ranges::find_if(
      group.members, [this](const Member& m) { return !m.nexthop->present && may_come(*m.nexthop) && !m.nexthop->failure.ok(); });
  return member == group.members.end() ? nullptr : member->nexthop;
}

/// Why the kernel refuses the group again and again, or that of a set for good; null if it does not. IPv6 that is switched off is no
/// refusal: the row waits for it.
const Status* NexthopGroups::refusal_of(const Group& group) const {
  if (group.refusals.is_refused()) return &group.refusals.why();
  const auto refused = std::ranges::find_if(group.members, [](const Member& m) { return m.nexthop->refused; });
  if (group.fact.kind == kNextHops && refused != group.members.end()) return &refused->nexthop->failure;
  const Nexthop* const coming = coming_member(group);
  return coming != nullptr && coming->refusals.is_refused() ? &coming->failure : nullptr;
}

void NexthopGroups::note_not_usable(Group& group) {
  if (ids_.at(group.fact).of_others) return count(group, PlaneState::Unknown);
  count(group, refusal_of(group) != nullptr ? PlaneState::Refused : PlaneState::Withdrawn);
}

/// Called when the kernel may have stopped to refuse the group's next hops: its row is handled again.
void NexthopGroups::tell_accepted(Group& group) {
  if (!group.awaits_kernel || (!ids_.at(group.fact).usable && coming_member(group) != nullptr)) return;
  group.awaits_kernel = false;
  announce({kGroupAccepted, group.fact.key});
}

/// Does not keep the row in flight, so that a newer change of it can be handled meanwhile.
void NexthopGroups::put_off(Group& group, const Status& status, Duration delay) {
  group.retry_at = runtime().scheduler().now() + delay;
  retry_later(delay);
  if (!ids_.at(group.fact).usable) note_not_usable(group);
  tell_accepted(group);
  settle_group(group, Outcome::retry_after(delay, status));
}

void NexthopGroups::retry_later(Duration delay) {
  const Instant due = runtime().scheduler().now() + delay;
  if (retry_timer_.is_armed() && retry_due_ <= due) return;
  retry_due_ = due;
  retry_timer_.arm_at(due);
}

void NexthopGroups::retry() {
  const Instant now = runtime().scheduler().now();
  std::optional<Instant> next;
  const auto is_due = [&](Instant retry_at) {
    if (retry_at > now) next = std::min(next.value_or(retry_at), retry_at);
    return retry_at <= now;
  };
  for (const NexthopId id : std::exchange(undeleted_, {})) delete_object(id);
  for (auto& [key, nexthop] : nexthops_) {
    if (!nexthop.present && !nexthop.asking && may_come(nexthop) && is_due(nexthop.retry_at)) ask(nexthop);
  }
  for (auto& [key, group] : groups_) {
    if (!group.asking && is_due(group.retry_at)) refresh(group);
  }
  if (next) retry_later(*next - now);
}

}  // namespace rondo::switch_agent
