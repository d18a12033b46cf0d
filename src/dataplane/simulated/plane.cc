// plane.cc: the lock, the failures, the costs and the monitors around SimKernel. See rondo/dataplane/simulated.h.
#include "rondo/dataplane/simulated.h"

#include <algorithm>
#include <cerrno>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <utility>

#include "dataplane/fdb_book.h"
#include "dataplane/kernel_status.h"
#include "dataplane/learned.h"
#include "dataplane/order_check.h"
#include "dataplane/order_digest.h"
#include "dataplane/simulated/kernel.h"
#include "rondo/base/assert.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

namespace {

constexpr std::size_t kKinds = 7;

struct FailureRule {
  std::vector<std::pair<std::uint64_t, int>> at;  // Order number of this kind -> errno.
  double chance = 0;
  int error_number = 0;
  std::uint64_t seen = 0;
};

class SimMonitor;
class SimObjectMonitor;
class SimFdbMonitor;

// The listeners, shared by the data plane and its monitors; either may be destroyed first.
struct Listeners {
  std::mutex mutex;
  std::vector<SimMonitor*> monitors;
  std::vector<SimObjectMonitor*> object_monitors;
  std::vector<SimFdbMonitor*> fdb_monitors;
};

// Events for one listener. The kernel's side pushes and wakes; the scheduler's side takes.
class SimMonitor final : public Source {
 public:
  SimMonitor(Priority priority, std::function<void(const LinkEvent&)> handler, std::shared_ptr<Listeners> listeners)
      : Source("link-monitor", priority), handler_(std::move(handler)), listeners_(std::move(listeners)) {}
  ~SimMonitor() override {
    const std::lock_guard lock(listeners_->mutex);
    std::erase(listeners_->monitors, this);
  }

  void push(const LinkEvent& event) {
    const std::lock_guard lock(mutex_);
    const auto [known, added] = known_.try_emplace(event.port, event);
    if (!added && known->second == event) return;
    known->second = event;
    if (event.removed) known_.erase(known);
    arriving_.push_back(event);
  }

  Result<Backlog> collect() override {
    const std::lock_guard lock(mutex_);
    const Instant now = scheduler()->clock().now();
    for (LinkEvent& event : arriving_) {
      event.seen = now;
      taken_.push_back(std::move(event));
    }
    arriving_.clear();
    return next_ < taken_.size() ? Backlog::More : Backlog::Empty;
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    while (turn.items < budget.items && next_ < taken_.size()) {
      const LinkEvent event = std::move(taken_[next_++]);
      ++turn.items;
      handler_(event);
    }
    if (next_ < taken_.size()) {
      turn.backlog = Backlog::More;
    } else {
      taken_.clear();
      next_ = 0;
    }
    return turn;
  }

  bool has_backlog() const override { return next_ < taken_.size(); }

 private:
  std::function<void(const LinkEvent&)> handler_;
  std::shared_ptr<Listeners> listeners_;
  std::mutex mutex_;
  std::map<IfIndex, LinkEvent> known_;  // Guarded by mutex_.
  std::vector<LinkEvent> arriving_;     // Guarded by mutex_.
  std::vector<LinkEvent> taken_;        // Scheduler's thread.
  std::size_t next_ = 0;                // Scheduler's thread.
};

// Events in a queue. The kernel's side pushes; the scheduler's side takes.
template <class Watch, class Event, class Handler>
class QueuedMonitor : public Watch {
 public:
  QueuedMonitor(const char* name, Priority priority, Handler handler, std::shared_ptr<Listeners> listeners)
      : Watch(name, priority), listeners_(std::move(listeners)), handler_(std::move(handler)) {}

  Turn run(const Budget& budget) override {
    Turn turn;
    for (; turn.items < budget.items; ++turn.items) {
      const std::optional<Event> event = next();
      if (!event) break;
      handler_(*event);
    }
    turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
    return turn;
  }
  bool has_backlog() const override {
    const std::lock_guard lock(mutex_);
    return !events_.empty();
  }

 protected:
  const std::shared_ptr<Listeners> listeners_;
  mutable std::mutex mutex_;
  std::deque<Event> events_;  // Guarded by mutex_.

 private:
  std::optional<Event> next() {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) return std::nullopt;
    Event event = events_.front();
    events_.pop_front();
    return event;
  }

  Handler handler_;
};

// Reports what bridges learn and forget.
class SimFdbMonitor final : public QueuedMonitor<FdbWatch, FdbEvent, std::function<void(const FdbEvent&)>> {
 public:
  using QueuedMonitor::QueuedMonitor;
  ~SimFdbMonitor() override {
    const std::lock_guard lock(listeners_->mutex);
    std::erase(listeners_->fdb_monitors, this);
  }

  void push(const FdbEvent& event) {
    const std::lock_guard lock(mutex_);
    if (book_.learn(event)) events_.push_back(event);
  }
  std::uint64_t left_out() const noexcept override {
    const std::lock_guard lock(mutex_);
    return book_.left_out();
  }
  bool leaves_out() const noexcept override {
    const std::lock_guard lock(mutex_);
    return book_.leaves_out();
  }

 private:
  FdbBook book_;  // Guarded by mutex_.
};

// Reports objects that another program changed.
class SimObjectMonitor final : public QueuedMonitor<Source, ObjectEvent, DataPlane::ObjectHandler> {
 public:
  using QueuedMonitor::QueuedMonitor;
  ~SimObjectMonitor() override {
    const std::lock_guard lock(listeners_->mutex);
    std::erase(listeners_->object_monitors, this);
  }

  void push(const ObjectEvent& event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(event);
  }
};

// The object that 'order' changes, if changes of its kind are reported.
std::optional<DeleteOrder> object_of(const Order& order) {
  if (const auto* set = std::get_if<AddressSet>(&order)) return AddressDelete{set->port, set->address};
  if (const auto* gone = std::get_if<AddressDelete>(&order)) return *gone;
  if (const auto* set = std::get_if<NeighborSet>(&order)) return NeighborDelete{set->port, set->address};
  if (const auto* gone = std::get_if<NeighborDelete>(&order)) return *gone;
  if (const auto* set = std::get_if<FdbSet>(&order)) return FdbDelete{set->port, set->mac};
  if (const auto* gone = std::get_if<FdbDelete>(&order)) return *gone;
  if (const auto* set = std::get_if<NexthopSet>(&order)) return NexthopDelete{set->id};
  if (const auto* set = std::get_if<GroupSet>(&order)) return NexthopDelete{set->id};
  if (const auto* gone = std::get_if<NexthopDelete>(&order)) return *gone;
  // As on Linux, not of another metric.
  if (const auto* set = std::get_if<RouteSet>(&order); set != nullptr && !set->last_resort) return RouteDelete{set->prefix, set->table};
  if (const auto* gone = std::get_if<RouteDelete>(&order); gone != nullptr && !gone->is_last_resort()) return *gone;
  return std::nullopt;
}

}  // namespace

OrderKind kind_of(const Order& order) noexcept {
  if (std::holds_alternative<RouteSet>(order) || std::holds_alternative<RouteDelete>(order)) return OrderKind::Route;
  if (std::holds_alternative<GroupSet>(order)) return OrderKind::Group;
  if (std::holds_alternative<NexthopSet>(order) || std::holds_alternative<NexthopDelete>(order)) return OrderKind::Nexthop;
  if (std::holds_alternative<NeighborSet>(order) || std::holds_alternative<NeighborDelete>(order)) return OrderKind::Neighbor;
  if (std::holds_alternative<AddressSet>(order) || std::holds_alternative<AddressDelete>(order)) return OrderKind::Address;
  if (std::holds_alternative<FdbSet>(order) || std::holds_alternative<FdbDelete>(order)) return OrderKind::Fdb;
  return OrderKind::Link;
}

struct SimDataPlane::Impl {
  explicit Impl(SimDataPlaneOptions given) : options(std::move(given)), kernel(options), random(options.seed) {}

  Duration cost_of(OrderKind kind) const {
    if (kind == OrderKind::Route) return options.route_cost;
    return kind == OrderKind::Group ? options.group_cost : options.other_cost;
  }

  // Returns the errno of an injected failure, or 0.
  int failure_of(OrderKind kind) {
    FailureRule& rule = failures[static_cast<std::size_t>(kind)];
    ++rule.seen;
    const auto due = std::find_if(rule.at.begin(), rule.at.end(), [&rule](const auto& entry) { return entry.first == rule.seen; });
    if (due != rule.at.end()) {
      const int error_number = due->second;
      rule.at.erase(due);
      return error_number;
    }
    if (rule.chance <= 0) return 0;
    const double drawn = static_cast<double>(random() >> 11) * 0x1p-53;
    return drawn < rule.chance ? rule.error_number : 0;
  }

  void execute(Operation& op) {
    ++executed;
    op.status = check_order(op.order);
    if (!op.status.ok()) return;
    const int failure = failure_of(kind_of(op.order));
    if (failure != 0) ++injected;
    const Verdict verdict = failure != 0 ? Verdict{failure, "injected failure"} : kernel.execute(op.order);
    if (verdict.error_number != 0) op.status = status_from_kernel(op.order, verdict.error_number, verdict.words);
    // As on Linux, where these notifications name no sender.
    const bool is_entry = std::holds_alternative<FdbSet>(op.order) || std::holds_alternative<FdbDelete>(op.order);
    if (is_entry && op.status.ok()) report_order(op.order);
  }

  // Reports the kernel's events to the monitors. Waking a monitor only marks it.
  void publish() {
    const std::vector<LinkEvent> events = kernel.take_events();
    const std::vector<FdbEvent> fdb_events = kernel.take_fdb_events();
    if (events.empty() && fdb_events.empty()) return;
    const std::lock_guard lock(listeners->mutex);
    for (SimFdbMonitor* const monitor : listeners->fdb_monitors) {
      for (const FdbEvent& event : fdb_events) monitor->push(event);
      monitor->wake_from_any_thread();
    }
    for (SimMonitor* const monitor : listeners->monitors) {
      for (const LinkEvent& event : events) monitor->push(event);
      monitor->wake_from_any_thread();
    }
  }

  // Reports to the monitors that an object was changed.
  void report(const ObjectEvent& event) const {
    const std::lock_guard lock(listeners->mutex);
    for (SimObjectMonitor* const monitor : listeners->object_monitors) {
      monitor->push(event);
      monitor->wake_from_any_thread();
    }
  }
  void report_order(const Order& order) const {
    if (const std::optional<DeleteOrder> object = object_of(order)) report({*object, std::holds_alternative<FdbSet>(order)});
  }

  SimDataPlaneOptions options;  // The capacities in it are guarded by the mutex.
  mutable std::mutex mutex;
  SimKernel kernel;
  std::mt19937_64 random;
  FailureRule failures[kKinds];
  const std::shared_ptr<Listeners> listeners = std::make_shared<Listeners>();
  std::uint64_t executed = 0;
  std::uint64_t injected = 0;
  std::uint64_t digest = 0;
};

SimDataPlane::SimDataPlane(SimDataPlaneOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
SimDataPlane::~SimDataPlane() = default;

void SimDataPlane::apply(std::span<Operation> ops) {
  Duration cost{0};
  {
    const std::lock_guard lock(impl_->mutex);
    for (Operation& op : ops) {
      cost += impl_->cost_of(kind_of(op.order));
      impl_->execute(op);
      impl_->digest = (impl_->digest ^ digest_of({&op, 1})) * 0x9E3779B97F4A7C15ULL + static_cast<std::uint64_t>(op.status.code());
      impl_->digest ^= impl_->digest >> 32U;
      impl_->publish();
    }
  }
  if (impl_->options.spend) impl_->options.spend(cost);
}

Result<std::vector<LinkEvent>> SimDataPlane::links() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.links();
}
Result<std::vector<AddressEntry>> SimDataPlane::addresses() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.addresses();
}
Result<std::vector<NeighborEntry>> SimDataPlane::neighbors() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.neighbors();
}
Result<std::vector<NexthopEntry>> SimDataPlane::nexthops() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.nexthops();
}
Status SimDataPlane::routes(const std::function<void(const RouteEntry&)>& visit) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.routes(visit);
  return {};
}

Result<std::vector<FdbEntry>> SimDataPlane::fdb() {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.fdb();
}

Result<std::unique_ptr<FdbWatch>> SimDataPlane::watch_fdb(Scheduler& scheduler, Priority priority,
                                                          std::function<void(const FdbEvent&)> handler) {
  auto monitor = std::make_unique<SimFdbMonitor>("fdb-monitor", priority, std::move(handler), impl_->listeners);
  scheduler.add(*monitor);
  const std::lock_guard kernel_lock(impl_->mutex);
  const std::lock_guard listeners_lock(impl_->listeners->mutex);
  for (const FdbEvent& event : impl_->kernel.learned()) monitor->push(event);
  impl_->listeners->fdb_monitors.push_back(monitor.get());
  monitor->wake_from_any_thread();
  return std::unique_ptr<FdbWatch>{std::move(monitor)};
}

Result<std::unique_ptr<Source>> SimDataPlane::monitor(Scheduler& scheduler, Priority priority,
                                                      std::function<void(const LinkEvent&)> handler) {
  auto monitor = std::make_unique<SimMonitor>(priority, std::move(handler), impl_->listeners);
  scheduler.add(*monitor);
  const std::lock_guard kernel_lock(impl_->mutex);
  const std::lock_guard listeners_lock(impl_->listeners->mutex);
  for (const LinkEvent& event : impl_->kernel.links()) monitor->push(event);
  impl_->listeners->monitors.push_back(monitor.get());
  monitor->wake_from_any_thread();
  return std::unique_ptr<Source>{std::move(monitor)};
}

Result<std::unique_ptr<Source>> SimDataPlane::watch_objects(Scheduler& scheduler, Priority priority, ObjectHandler handler) {
  auto monitor = std::make_unique<SimObjectMonitor>("object-monitor", priority, std::move(handler), impl_->listeners);
  scheduler.add(*monitor);
  const std::lock_guard lock(impl_->listeners->mutex);
  impl_->listeners->object_monitors.push_back(monitor.get());
  return std::unique_ptr<Source>{std::move(monitor)};
}

Status SimDataPlane::meddle(const Order& order) {
  const std::lock_guard lock(impl_->mutex);
  if (Status wrong = check_order(order); !wrong.ok()) return wrong;
  const Verdict verdict = impl_->kernel.execute(order);
  impl_->publish();
  if (verdict.error_number != 0) return status_from_kernel(order, verdict.error_number, verdict.words);
  impl_->report_order(order);
  return {};
}

std::uint8_t SimDataPlane::protocol() const noexcept { return impl_->options.protocol; }
std::string SimDataPlane::describe() const { return "simulated"; }

IfIndex SimDataPlane::add_port(std::string name) {
  const std::lock_guard lock(impl_->mutex);
  const IfIndex index = impl_->kernel.add_port(std::move(name));
  impl_->publish();
  return index;
}

IfIndex SimDataPlane::add_vrf(std::string name, std::uint32_t table) {
  const std::lock_guard lock(impl_->mutex);
  const IfIndex index = impl_->kernel.add_vrf(std::move(name), table, false);
  impl_->publish();
  return index;
}

IfIndex SimDataPlane::add_bridge(std::string name) {
  const std::lock_guard lock(impl_->mutex);
  const IfIndex index = impl_->kernel.add_bridge(std::move(name), false);
  impl_->publish();
  return index;
}

IfIndex SimDataPlane::add_bond(std::string name, BondMode mode) {
  const std::lock_guard lock(impl_->mutex);
  const IfIndex index = impl_->kernel.add_bond(std::move(name), mode, 0, false);
  impl_->publish();
  return index;
}

void SimDataPlane::hear(std::string_view port, const MacAddress& station) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.hear(port, station);
  impl_->publish();
}

void SimDataPlane::age(std::string_view bridge, const MacAddress& station) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.age(bridge, station);
  impl_->publish();
}

void SimDataPlane::add_external_entry(std::string_view port, const MacAddress& station) {
  const std::lock_guard lock(impl_->mutex);
  const IfIndex of = impl_->kernel.add_external_entry(port, station);
  impl_->publish();
  impl_->report({FdbDelete{of, station}});
}

void SimDataPlane::add_movable_entry(std::string_view port, const MacAddress& station) {
  const std::lock_guard lock(impl_->mutex);
  const IfIndex of = impl_->kernel.add_movable_entry(port, station);
  impl_->publish();
  impl_->report({FdbDelete{of, station}});
}

void SimDataPlane::add_dynamic_entry(std::string_view port, const MacAddress& station) {
  const std::lock_guard lock(impl_->mutex);
  const IfIndex of = impl_->kernel.add_dynamic_entry(port, station);
  impl_->publish();
  impl_->report({.object = FdbDelete{of, station}, .is_learned = true});
}

bool SimDataPlane::remove_external_entry(std::string_view bridge, const MacAddress& station) {
  const std::lock_guard lock(impl_->mutex);
  const IfIndex of = impl_->kernel.remove_external_entry(bridge, station);
  if (of) impl_->report({FdbDelete{of, station}});
  return static_cast<bool>(of);
}

void SimDataPlane::add_foreign_route(const Prefix& prefix, std::uint8_t protocol, std::uint32_t table) {
  const std::lock_guard lock(impl_->mutex);
  if (impl_->kernel.add_foreign_route(prefix, table, protocol)) impl_->report({RouteDelete{prefix, table}});
}

void SimDataPlane::add_stray_route(const RouteDelete& route) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.add_stray_route(route);
}

bool SimDataPlane::remove_foreign_route(const Prefix& prefix, std::uint32_t table) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.remove_foreign_route(prefix, table);
}

void SimDataPlane::add_foreign_nexthop(NexthopId id, const IpAddress& gateway, IfIndex port, std::uint8_t protocol) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.add_foreign_nexthop(id, gateway, port, protocol);
}

bool SimDataPlane::remove_foreign_nexthop(NexthopId id) {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.remove_foreign_nexthop(id);
}

void SimDataPlane::set_carrier(std::string_view name, bool signal) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.set_signal(name, signal);
  impl_->publish();
}

void SimDataPlane::set_mtu_max(std::string_view name, std::uint32_t mtu) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.set_mtu_max(name, mtu);
}

void SimDataPlane::set_in_use(std::string_view name, bool in_use) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.set_in_use(name, in_use);
}

void SimDataPlane::remove_port(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.remove_port(name);
  impl_->publish();
}

void SimDataPlane::rename_port(std::string_view name, std::string new_name) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.rename_port(name, std::move(new_name));
  impl_->publish();
}

void SimDataPlane::alter(std::string_view name) {
  const std::lock_guard lock(impl_->mutex);
  impl_->kernel.alter(name);
  impl_->publish();
}

void SimDataPlane::fail_nth(OrderKind kind, std::uint64_t nth, int error_number) {
  RONDO_EXPECT(nth >= 1 && error_number > 0, "SimDataPlane::fail_nth: nth and the errno are above 0");
  const std::lock_guard lock(impl_->mutex);
  FailureRule& rule = impl_->failures[static_cast<std::size_t>(kind)];
  rule.at.emplace_back(rule.seen + nth, error_number);
}

void SimDataPlane::fail_by_chance(OrderKind kind, double chance, int error_number) {
  RONDO_EXPECT(chance >= 0 && chance <= 1 && (chance == 0 || error_number > 0),
               "SimDataPlane::fail_by_chance: a chance is from 0 to 1, and the errno above 0");
  const std::lock_guard lock(impl_->mutex);
  FailureRule& rule = impl_->failures[static_cast<std::size_t>(kind)];
  rule.chance = chance;
  rule.error_number = error_number;
}

void SimDataPlane::set_capacity(OrderKind kind, std::size_t objects_max) {
  const std::lock_guard lock(impl_->mutex);
  SimDataPlaneOptions& options = impl_->options;
  switch (kind) {
    case OrderKind::Route: options.routes_max = objects_max; return;
    case OrderKind::Group: options.groups_max = objects_max; return;
    case OrderKind::Nexthop: options.nexthops_max = objects_max; return;
    case OrderKind::Neighbor: options.neighbors_max = objects_max; return;
    case OrderKind::Address:
    case OrderKind::Link:
    case OrderKind::Fdb: break;
  }
  RONDO_ASSERT(!"a kind of object without a capacity");
}

std::size_t SimDataPlane::route_count() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.route_count();
}
std::optional<RouteEntry> SimDataPlane::route(const Prefix& prefix, std::uint32_t table) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.route(prefix, table);
}
std::optional<NexthopEntry> SimDataPlane::nexthop(NexthopId id) const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->kernel.nexthop(id);
}
std::uint64_t SimDataPlane::executed() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->executed;
}
std::uint64_t SimDataPlane::injected() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->injected;
}
std::uint64_t SimDataPlane::digest() const {
  const std::lock_guard lock(impl_->mutex);
  return impl_->digest;
}

}  // namespace rondo
