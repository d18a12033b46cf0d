// A route waits for its next-hop group, is installed when the group exists, and is removed when the group is removed. Two Orchs share one
// fact; neither has code for order or retries.
#include <cstdio>
#include <map>
#include <string>

#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"

using namespace rondo;

inline constexpr FactKind kNexthopGroup{"nexthop-group"};  // A fact to provide and to wait for.

// region: orchs
class NexthopGroups final : public Orch {
 public:
  explicit NexthopGroups(Runtime& runtime) : Orch(runtime, "nexthop-groups", Priority::p5) {
    consume("NEXTHOP_GROUP", this, &NexthopGroups::set, &NexthopGroups::remove);
    provide(kNexthopGroup, [this](std::string_view key) { return groups_.contains(key); });
  }

 private:
  Outcome set(std::string_view key, const Fields& fields) {
    groups_[std::string{key}] = fields.text("nexthops").value_or("");
    announce({kNexthopGroup, std::string{key}});  // Queues every change that waits for it.
    return Outcome::done();
  }
  Outcome remove(std::string_view key) {
    groups_.erase(std::string{key});
    withdraw({kNexthopGroup, std::string{key}});  // Queues every row that is done while it holds.
    return Outcome::done();
  }
  std::map<std::string, std::string, std::less<>> groups_;
};

class Routes final : public Orch {
 public:
  explicit Routes(Runtime& runtime) : Orch(runtime, "routes", Priority::p1) {
    // After a restart the groups come first: see "After a restart".
    consume("ROUTE", this, &Routes::set, &Routes::remove, {.needs = {kNexthopGroup}});
  }
  std::size_t installed() const { return fib_.size(); }

 private:
  Outcome set(std::string_view key, const Fields& fields) {
    const Result<std::string> group = fields.text("nexthop_group");
    if (!group) return Outcome::reject(group.error());  // Bad input: logged, counted, dropped.
    const Fact needed{kNexthopGroup, *group};
    if (!holds(needed)) {
      fib_.erase(std::string{key});  // Installed or not: it must not stay without its group.
      return Outcome::wait_for(needed);
    }
    fib_[std::string{key}] = *group;
    return Outcome::done_while(needed);  // The handler is called again when the group is removed.
  }
  Outcome remove(std::string_view key) {
    fib_.erase(std::string{key});
    return Outcome::done();
  }
  std::map<std::string, std::string, std::less<>> fib_;
};
// endregion

int main() {
  // region: main
  Runtime runtime({.policy = BudgetedFrames{}});  // Embedded store, real clock.
  runtime.add<NexthopGroups>();
  const Routes& routes = runtime.add<Routes>();

  if (!runtime.table("ROUTE").set("10.0.0.0/24", {{"nexthop_group", "102"}}).ok()) return 1;
  runtime.run_until_idle();
  if (routes.installed() != 0) return 1;  // Parked: group 102 is unknown.
  std::puts("10.0.0.0/24 waits for next-hop group 102");

  if (!runtime.table("NEXTHOP_GROUP").set("102", {{"nexthops", "192.168.1.1"}}).ok()) return 1;
  runtime.run_until_idle();
  if (routes.installed() != 1) return 1;  // Resolved, retried once, installed.
  std::puts("the group came, and 10.0.0.0/24 is installed");

  if (!runtime.table("NEXTHOP_GROUP").remove("102").ok()) return 1;
  runtime.run_until_idle();
  // endregion
  if (routes.installed() != 0) return 1;  // Handled again: it waits for the group as before.
  std::puts("the group went, and 10.0.0.0/24 is withdrawn and waits again");
  return 0;
}
