// A data plane of one's own: a chip whose SDK blocks, behind the DataPlane seam. The Programmer calls it from a thread of its own, so that
// no turn waits for the chip; the Orch hands over orders in bulk and settles each change when its answer comes back.
#include <cstdio>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "rondo/dataplane/dataplane.h"
#include "rondo/dataplane/programmer.h"
#include "rondo/orch/batch.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/runtime.h"

using namespace rondo;

// region: plane
/// Only what this chip can do; what it cannot is answered, not ignored.
class Chip final : public DataPlane {
 public:
  static constexpr std::size_t kRoom = 900;

  void apply(std::span<Operation> ops) override {
    for (Operation& op : ops) {  // Here the SDK would be called, which takes its time.
      if (const auto* set = std::get_if<RouteSet>(&op.order)) {
        op.status = add(*set);
      } else if (const auto* gone = std::get_if<RouteDelete>(&op.order)) {
        if (table_.erase(gone->prefix) == 0) op.status = {Code::NotFound, "the chip has no such route"};
      } else {
        op.status = {Code::Unimplemented, "the chip knows routes only"};
      }
    }
  }
  Status routes(const std::function<void(const RouteEntry&)>& visit) override {
    for (const auto& [prefix, type] : table_) visit({.prefix = prefix, .nexthop = {}, .type = type});
    return {};
  }
  std::string describe() const override { return "a chip with room for 900 routes"; }

  // It has no ports of its own.
  Result<std::vector<LinkEvent>> links() override { return std::vector<LinkEvent>{}; }
  Result<std::vector<AddressEntry>> addresses() override { return std::vector<AddressEntry>{}; }
  Result<std::vector<NeighborEntry>> neighbors() override { return std::vector<NeighborEntry>{}; }
  Result<std::vector<NexthopEntry>> nexthops() override { return std::vector<NexthopEntry>{}; }
  Result<std::unique_ptr<Source>> monitor(Scheduler&, Priority, std::function<void(const LinkEvent&)>) override {
    return failure(Code::Unimplemented, "the chip has no ports");
  }

 private:
  Status add(const RouteSet& set) {
    if (table_.size() >= kRoom && !table_.contains(set.prefix)) return {Code::ResourceExhausted, "the chip's table is full"};
    table_[set.prefix] = set.type;
    return {};
  }
  std::map<Prefix, RouteType> table_;
};
// endregion

// region: orch
class Routes final : public Orch {
 public:
  Routes(Runtime& runtime, Programmer& programmer) : Orch(runtime, "routes", Priority::p1), programmer_(programmer) {
    table_ = &consume_batches("ROUTE", [this](Batch& batch) { order(batch); });
    programmer_.on_room([this] { release(*table_); });
  }

 private:
  void order(Batch& batch) {
    std::vector<Operation> ops;
    auto tickets = std::make_shared<std::vector<Ticket>>();
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const Result<Prefix> prefix = Prefix::parse(batch[i].key());
      if (!prefix) {
        batch.answer(i, Outcome::reject_key(prefix.error()));
        continue;
      }
      ops.push_back(
          {batch[i].op() == Op::Set ? Order{RouteSet{.prefix = *prefix, .type = RouteType::Blackhole}} : Order{RouteDelete{*prefix}}});
      tickets->push_back(batch.stage(i));  // Its answer comes later.
    }
    programmer_.submit(Lane::Bulk, std::move(ops), [this, tickets, next = std::size_t{0}](std::span<Operation> answered) mutable {
      for (const Operation& op : answered) settle((*tickets)[next++], outcome(op.status));
    });
    if (!programmer_.has_room()) hold(*table_);  // What is not taken merges in the table.
  }

  static Outcome outcome(const Status& status) {
    if (status.ok() || status.code() == Code::NotFound) return Outcome::done();  // Gone is gone.
    if (status.code() == Code::ResourceExhausted) return Outcome::retry_after(1ms, status);
    return Outcome::reject(status);
  }

  Programmer& programmer_;
  Consumer* table_ = nullptr;
};
// endregion

int main() {
  Chip chip;
  Runtime runtime;
  Programmer programmer(runtime.scheduler(), chip, {});
  runtime.add<Routes>(programmer);

  Table table = runtime.table("ROUTE");
  const auto prefix = [](int i) { return "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24"; };
  bool accepted = table.set("nonsense", {}).ok();
  for (int i = 0; i < 1000; ++i) accepted = accepted && table.set(prefix(i), {}).ok();

  // 900 fit; the others wait, and are tried again. A hundred that go make room for them.
  const auto at_rest = [&runtime](std::size_t parked) {
    const ConsumerStats now = runtime.consumers().front();
    return now.queued == 0 && now.in_flight == 0 && now.parked == parked;
  };
  const auto run_until = [&runtime](const auto& done) {
    const Instant end = runtime.clock().now() + 10s;
    while (!done() && runtime.clock().now() < end) {
      runtime.run_until_idle();
      runtime.scheduler().wait(runtime.clock().now() + 1ms);
    }
    return done();
  };
  const bool full = run_until([&] { return at_rest(1000 - Chip::kRoom); });
  for (int i = 0; i < 100; ++i) accepted = accepted && table.remove(prefix(i)).ok();
  const bool done = run_until([&] { return at_rest(0); });

  std::size_t there = 0;
  const bool read = chip.routes([&there](const RouteEntry&) { ++there; }).ok();
  std::printf("%s: %zu routes, %d rejected\n", chip.describe().c_str(), there, static_cast<int>(runtime.consumers().front().rejected));
  return accepted && full && done && read && there == Chip::kRoom && runtime.consumers().front().rejected == 1 ? 0 : 1;
}
