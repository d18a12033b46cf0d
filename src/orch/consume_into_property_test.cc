// Orch::consume_into over lives with faults: rows of two tables change at random, facts come and go, the device is slow and fails, and
// processes crash. When a life has come to rest, the device has what a plain model makes of the rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orch/runtime_fixture.h"
#include "rondo/sched/executor.h"
#include "rondo/sim/world.h"

namespace rondo {
namespace {

struct VipRequest {
  std::string object;
  std::string content;  // Empty: remove it.
  Status status = {};
};
using VipDevice = Executor<VipRequest>;

/// The content of an object: its rows. It is there while one of the groups exists that they need; a row with the value "bad" makes it
/// wrong.
struct Wanted {
  std::string content;
  std::vector<std::string> needs;
  bool is_bad = false;
  void add(std::string_view table, std::string_view key, std::string_view value, std::string_view need) {
    content += std::string{table} + " " + std::string{key} + "=" + std::string{value} + ";";
    if (!need.empty()) needs.emplace_back(need);
    is_bad = is_bad || value == "bad";
  }
};

class VipGroups final : public Orch {
 public:
  explicit VipGroups(Runtime& runtime) : Orch(runtime, "groups", Priority::p5) {
    consume("GROUP", this, &VipGroups::set, &VipGroups::remove);
    provide(kGroup, [this](std::string_view key) { return groups_.contains(key); });
  }

 private:
  Outcome set(std::string_view key, const Fields&) {
    groups_.emplace(key);
    announce({kGroup, std::string{key}});
    return Outcome::done();
  }
  Outcome remove(std::string_view key) {
    groups_.erase(std::string{key});
    withdraw({kGroup, std::string{key}});
    return Outcome::done();
  }
  std::set<std::string, std::less<>> groups_;
};

class Vips final : public Orch {
 public:
  Vips(Runtime& runtime, VipDevice& device) : Orch(runtime, "objects", Priority::p3), device_(device) {
    consume_into(
        {"A", "B"}, [](std::string_view key) { return std::string{key.substr(0, 1)}; },
        [this](std::string_view object, std::span<const TableRow> rows) { return reconcile(std::string{object}, rows); },
        {.batch_max = 4, .needs = {kGroup}});
  }

 private:
  Outcome reconcile(const std::string& object, std::span<const TableRow> rows) {
    Wanted wanted;
    for (const TableRow& row : rows) wanted.add(row.table, row.key(), row.fields().text_or("v", ""), row.fields().text_or("need", ""));
    if (wanted.is_bad) return program({object, ""}, Outcome::reject_removed({StatusCode::InvalidArgument, "bad"}));
    std::vector<Fact> held;
    std::vector<Fact> missing;
    for (const std::string& need : wanted.needs) (holds({kGroup, need}) ? held : missing).push_back({kGroup, need});
    if (held.empty() && !missing.empty()) return program({object, ""}, Outcome::wait_for_any(missing));
    return program({object, wanted.content}, held.empty() ? Outcome::done() : Outcome::done_while(held));
  }
  Outcome program(VipRequest request, const Outcome& success) {
    return stage_on(device_, 0, std::move(request), [success](const VipRequest& answer) {
      return answer.status.ok() ? success : Outcome::retry_after(10ms, answer.status);
    });
  }
  VipDevice& device_;
};

class VipLife {
 public:
  VipLife(std::uint64_t seed, sim::StoreKind store) : store_(store), world_({.seed = seed, .faults = faults(), .store = store}) {}

  Status live() {
    world_.check_at_rest("the device has what the rows say", [this] { return compare(); });
    world_.start([this](Runtime& runtime) { return process(runtime); });
    for (int step = 0; step < 150 && !world_.violation(); ++step) {
      something_happens();
      world_.run_for(Duration{world_.random().below(30'000'000)});
    }
    return world_.come_to_rest() ? Status{} : Status{StatusCode::Internal, world_.report()};
  }

 private:
  static sim::FaultPlan faults() {
    sim::FaultPlan plan;
    plan.store_latency_high = 5ms;
    plan.store_lost_every = 500ms;
    plan.store_lost_for = 100ms;
    plan.commit_high = 20ms;
    plan.operation_fails = 0.1;
    plan.operation_failures = {{StatusCode::Unavailable, "the device restarts"}};
    plan.operation_time_high = 30ms;
    plan.operation_room_ends_every = 1s;
    plan.operation_room_ends_for = 100ms;
    plan.crash_every = 1s;
    plan.down_for = 50ms;
    return plan;
  }

  std::shared_ptr<void> process(Runtime& runtime) {
    if (store_ == sim::StoreKind::Embedded) plane_.clear();  // The tables ended with the process.
    auto device = std::make_shared<VipDevice>(
        runtime.scheduler(), [this](std::span<VipRequest> requests) { apply(requests); },
        ExecutorOptions{.name = "device", .target = "the device", .operations_max = 4});
    runtime.add<VipGroups>();
    runtime.add<Vips>(*device);
    return device;
  }
  void apply(std::span<VipRequest> requests) {
    for (const VipRequest& request : requests) {
      plane_.erase(request.object);
      if (!request.content.empty()) plane_.emplace(request.object, request.content);
    }
  }

  void something_happens() {
    Random& random = world_.random();
    const bool removes = random.chance(0.4);
    if (random.chance(0.3)) {
      const std::string group = "g" + std::to_string(random.below(3));
      removes ? groups_.erase(group) : groups_.insert(group).second;
      return removes ? world_.remove("GROUP", group) : world_.set("GROUP", group, FieldList{});
    }
    const std::string table = random.chance(0.5) ? "A" : "B";
    const std::string key = std::string(1, static_cast<char>('x' + random.below(3))) + std::to_string(random.below(4));
    if (removes) {
      rows_.erase({table, key});
      return world_.remove(table, key);
    }
    const std::string value = random.chance(0.1) ? "bad" : std::to_string(random.below(100));
    const std::string need = random.chance(0.5) ? "g" + std::to_string(random.below(3)) : "";
    rows_[{table, key}] = {value, need};
    world_.set(table, key, {{"v", value}, {"need", need}});
  }

  Status compare() const {
    std::map<std::string, Wanted> wanted;
    for (const auto& [name, row] : rows_) wanted[name.second.substr(0, 1)].add(name.first, name.second, row.first, row.second);
    std::map<std::string, std::string> plane;
    for (const auto& [object, one] : wanted) {
      const bool is_met =
          one.needs.empty() || std::ranges::any_of(one.needs, [&](const std::string& need) { return groups_.contains(need); });
      if (is_met && !one.is_bad) plane.emplace(object, one.content);
    }
    if (plane == plane_) return {};
    std::string text = "the device has";
    for (const auto& [object, content] : plane_) text += " " + object + "(" + content + ")";
    text += " and not";
    for (const auto& [object, content] : plane) text += " " + object + "(" + content + ")";
    return {StatusCode::Internal, text};
  }

  const sim::StoreKind store_;
  std::map<std::string, std::string> plane_;
  std::map<std::pair<std::string, std::string>, std::pair<std::string, std::string>> rows_;  // By table and key: value and need.
  std::set<std::string> groups_;
  sim::World world_;  // Last member: its processes use the others.
};

class ConsumeIntoProperty : public testing::TestWithParam<sim::StoreKind> {};

TEST_P(ConsumeIntoProperty, TheDeviceHasWhatTheRowsSay) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    VipLife life(seed, GetParam());
    const Status end = life.live();
    ASSERT_TRUE(end.ok()) << "seed " << seed << "\n" << end.message();
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, ConsumeIntoProperty,
                         testing::Values(sim::StoreKind::Embedded, sim::StoreKind::Durable, sim::StoreKind::Remote));

}  // namespace
}  // namespace rondo
