// A user's first program: ports, next-hop groups that need their port, and routes that need their group. Rows are written in the wrong
// order, and each is applied when the fact it waits for is announced. Exits with 0 if the final state is correct.
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "rondo/rondo.h"

namespace {

constexpr rondo::FactKind kPort{"port"};
constexpr rondo::FactKind kGroup{"group"};

class Ports final : public rondo::Orch {
 public:
  explicit Ports(rondo::Runtime& runtime) : Orch(runtime, "ports", rondo::Priority::p6) {
    consume("PORT", this, &Ports::set, &Ports::remove);
    provide(kPort, [this](std::string_view name) { return ports_.contains(name); });
  }

 private:
  rondo::Outcome set(std::string_view name, const rondo::Fields&) {
    ports_.emplace(name);
    announce({kPort, std::string{name}});
    return rondo::Outcome::done();
  }
  rondo::Outcome remove(std::string_view name) {
    if (const auto found = ports_.find(name); found != ports_.end()) ports_.erase(found);
    withdraw({kPort, std::string{name}});
    return rondo::Outcome::done();
  }
  std::set<std::string, std::less<>> ports_;
};

class Groups final : public rondo::Orch {
 public:
  explicit Groups(rondo::Runtime& runtime) : Orch(runtime, "groups", rondo::Priority::p4) {
    consume("GROUP", this, &Groups::set, &Groups::remove);
    provide(kGroup, [this](std::string_view name) { return groups_.contains(name); });
  }

 private:
  rondo::Outcome set(std::string_view name, const rondo::Fields& fields) {
    const rondo::Result<std::string> port = fields.text("port");
    if (!port) return rondo::Outcome::reject(port.error());
    const rondo::Fact needed{kPort, *port};
    if (!holds(needed)) return rondo::Outcome::wait_for(needed);
    groups_.insert_or_assign(std::string{name}, *port);
    announce({kGroup, std::string{name}});
    return rondo::Outcome::done();
  }
  rondo::Outcome remove(std::string_view name) {
    groups_.erase(std::string{name});
    withdraw({kGroup, std::string{name}});
    return rondo::Outcome::done();
  }
  std::map<std::string, std::string, std::less<>> groups_;
};

class Routes final : public rondo::Orch {
 public:
  explicit Routes(rondo::Runtime& runtime) : Orch(runtime, "routes", rondo::Priority::p1) {
    consume("ROUTE", this, &Routes::set, &Routes::remove);
  }
  std::size_t installed() const { return fib_.size(); }

 private:
  rondo::Outcome set(std::string_view prefix, const rondo::Fields& fields) {
    const rondo::Result<std::string> group = fields.text("group");
    if (!group) return rondo::Outcome::reject(group.error());
    const rondo::Fact needed{kGroup, *group};
    if (!holds(needed)) {
      fib_.erase(std::string{prefix});
      return rondo::Outcome::wait_for(needed);
    }
    fib_.insert_or_assign(std::string{prefix}, *group);
    return rondo::Outcome::done_while(needed);
  }
  rondo::Outcome remove(std::string_view prefix) {
    fib_.erase(std::string{prefix});
    return rondo::Outcome::done();
  }
  std::map<std::string, std::string, std::less<>> fib_;
};

bool fails(const rondo::Status& status) {
  if (status.ok()) return false;
  std::fprintf(stderr, "%s\n", status.to_string().c_str());
  return true;
}

}  // namespace

int main() {
  rondo::Runtime runtime({.policy = rondo::BudgetedFrames{}});
  runtime.add<Ports>();
  runtime.add<Groups>();
  const Routes& routes = runtime.add<Routes>();

  if (fails(runtime.table("ROUTE").set("10.0.0.0/24", {{"group", "7"}}))) return 1;
  if (fails(runtime.table("GROUP").set("7", {{"port", "eth0"}}))) return 1;
  runtime.run_until_idle();
  if (routes.installed() != 0) return 2;

  if (fails(runtime.table("PORT").set("eth0", {}))) return 1;
  runtime.run_until_idle();
  if (routes.installed() != 1) return 3;

  if (fails(runtime.table("GROUP").remove("7"))) return 1;
  runtime.run_until_idle();
  if (routes.installed() != 0) return 4;
  std::puts("three tables: a route waited for its group, was installed, and was withdrawn with it");
  return 0;
}
