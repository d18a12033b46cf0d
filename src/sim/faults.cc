#include "sim/faults.h"

#include <algorithm>
#include <cerrno>
#include <functional>

#include "rondo/sim/world.h"
#include "sim/executor_faults.h"
#include "sim/sim_disk.h"
#include "sim/sim_store.h"

namespace rondo::sim {

namespace {

constexpr OrderKind kLimited[] = {OrderKind::Route, OrderKind::Group, OrderKind::Nexthop, OrderKind::Neighbor};
constexpr int kOrderKinds = 6;

Duration milliseconds(std::uint64_t count) { return std::chrono::milliseconds{count}; }

/// Uses its own random generator, so the caller's further draws are the same as before executors existed.
void draw_operations(FaultPlan& plan, Random random) {
  if (random.chance(0.5)) plan.operation_fails = random.real01() * 0.3;
  plan.operation_failures = {{StatusCode::Unavailable, "the target is away"}, {StatusCode::DeadlineExceeded, "the target took too long"}};
  if (random.chance(0.5)) plan.operation_time_high = milliseconds(random.between(1, 50));
  if (random.chance(0.5)) plan.operation_room_ends_every = milliseconds(random.between(20, 2000));
  plan.operation_room_ends_for = milliseconds(random.between(1, 300));
}

}  // namespace

FaultPlan FaultPlan::drawn(Random& random) {
  FaultPlan plan;
  const auto every = [&] { return random.chance(0.5) ? milliseconds(random.between(20, 2000)) : Duration{0}; };
  if (random.chance(0.5)) {
    plan.store_latency_high = milliseconds(random.between(1, 20));
    plan.store_latency_low = random.chance(0.5) ? plan.store_latency_high / 2 : Duration{0};
  }
  if (random.chance(0.5)) plan.write_refused = random.real01() * 0.2;
  plan.store_lost_every = every();
  plan.store_lost_for = milliseconds(random.between(1, 200));
  if (random.chance(0.5)) plan.keys_swapped = random.real01() * 0.5;
  if (random.chance(0.3)) plan.send_buffer = random.between(1, 64);
  if (random.chance(0.5)) plan.commit_high = milliseconds(random.between(1, 20));
  if (random.chance(0.5)) plan.order_fails = random.real01() * 0.4;
  plan.order_errnos = {ENOBUFS, ENOMEM, ENOSPC, EAGAIN, EBUSY};
  if (random.chance(0.5)) plan.order_time_high = milliseconds(random.between(0, 3));
  plan.room_ends_every = every();
  plan.room_ends_for = milliseconds(random.between(1, 300));
  plan.carrier_lost_every = every();
  plan.carrier_lost_for = milliseconds(random.between(1, 300));
  plan.crash_every = random.chance(0.5) ? milliseconds(random.between(100, 3000)) : Duration{0};
  plan.down_for = milliseconds(random.between(0, 500));
  plan.suspended_every = random.chance(0.3) ? milliseconds(random.between(200, 5000)) : Duration{0};
  plan.suspended_for = milliseconds(random.between(1, 60'000));
  plan.wall_set_every = every();
  plan.wall_set_by = std::chrono::hours{random.between(1, 10'000)};
  // Drawn last, so that the earlier draws are the same as before these faults existed.
  plan.disk_fails_every = every();
  plan.disk_fails_for = milliseconds(random.between(1, 300));
  plan.disk_stalls_every = every();
  plan.disk_stalls_for = milliseconds(random.between(1, 300));
  draw_operations(plan, random);
  return plan;
}

Duration Faults::drawn(Duration high) noexcept {
  return Duration{static_cast<std::int64_t>(random_.between(0, static_cast<std::uint64_t>(std::max(high, Duration{0}).count())))};
}

void Faults::later(Duration delay, std::function<void()> what) {
  world_.after(delay, [this, number = number_, what = std::move(what)] {
    if (number == number_) what();
  });
}

void Faults::again(Duration every, void (Faults::*what)()) {
  if (every <= Duration{0}) return;
  later(drawn(2 * every), [this, every, what] {
    (this->*what)();
    again(every, what);
  });
}

void Faults::follow(const FaultPlan& plan) {
  end_all();
  ++number_;
  plan_ = plan;
  apply_to_store();
  victim_.executors().follow(plan);
  if (plan_.order_fails > 0 && !plan_.order_errnos.empty()) again(1s, &Faults::orders_fail);
  again(plan_.store_lost_every, &Faults::store_lost);
  again(plan_.room_ends_every, &Faults::room_ends);
  again(plan_.carrier_lost_every, &Faults::carrier_lost);
  again(plan_.crash_every, &Faults::crash);
  again(plan_.suspended_every, &Faults::suspend);
  again(plan_.wall_set_every, &Faults::wall_set);
  if (victim_.disk() == nullptr) return;
  again(plan_.disk_fails_every, &Faults::disk_fails);
  again(plan_.disk_stalls_every, &Faults::disk_stalls);
}

void Faults::end_all() {
  if (SimStore* const store = victim_.remote_store()) store->reconnect();
  if (SimDisk* const disk = victim_.disk()) {
    disk->set_trouble({});
    disk->stand_still({});
  }
  SimDataPlane* const kernel = victim_.kernel();
  if (kernel == nullptr) return;
  for (int kind = 0; kind < kOrderKinds; ++kind) kernel->fail_by_chance(static_cast<OrderKind>(kind), 0, 0);
  for (const OrderKind kind : kLimited) kernel->set_capacity(kind, room_for(kind));
  for (const std::string& port : std::vector<std::string>{dark_ports_}) carrier_back(port);
}

void Faults::apply_to_store() {
  SimStore* const store = victim_.remote_store();
  if (store == nullptr) return;
  store->set_latency(plan_.store_latency_low, std::max(plan_.store_latency_low, plan_.store_latency_high));
  store->set_failure_chance(plan_.write_refused);
  store->set_keys_swapped(plan_.keys_swapped);
  store->set_send_buffer(plan_.send_buffer);
}

void Faults::store_lost() {
  SimStore* const store = victim_.remote_store();
  if (store == nullptr || !store->connected()) return;
  victim_.happened("the connection to the store is lost");
  store->disconnect();
  later(drawn(plan_.store_lost_for), [this] {
    SimStore* const back = victim_.remote_store();  // It may belong to another process, which has connected anew.
    if (back == nullptr || back->connected()) return;
    victim_.happened("the connection to the store is back");
    back->reconnect();
  });
}

void Faults::disk_fails() {
  SimDisk* const disk = victim_.disk();
  if (!disk->trouble().ok()) return;
  const bool is_full = random_.chance(0.5);
  const char* const what = is_full ? "the disk is full" : "the disk is broken";
  victim_.happened(what);
  disk->set_trouble({is_full ? StatusCode::ResourceExhausted : StatusCode::Unavailable, what});
  later(drawn(plan_.disk_fails_for), [this, disk] {
    victim_.happened("the disk is well again");
    disk->set_trouble({});
  });
}

void Faults::disk_stalls() {
  const Duration time = drawn(plan_.disk_stalls_for);
  victim_.happened("the disk stands still for " + std::to_string(time.count()) + " ns");
  victim_.disk()->stand_still(std::max(victim_.disk()->still_until(), world_.now() + time));
}

void Faults::orders_fail() {
  SimDataPlane* const kernel = victim_.kernel();
  if (kernel == nullptr) return;
  for (int kind = 0; kind < kOrderKinds; ++kind) kernel->fail_by_chance(static_cast<OrderKind>(kind), 0, 0);
  const auto kind = static_cast<OrderKind>(random_.below(kOrderKinds));
  const int error_number = plan_.order_errnos[random_.below(plan_.order_errnos.size())];
  victim_.happened("orders of kind " + std::to_string(static_cast<int>(kind)) + " fail with errno " + std::to_string(error_number));
  kernel->fail_by_chance(kind, plan_.order_fails, error_number);
}

std::size_t Faults::room_for(OrderKind kind) const noexcept {
  switch (kind) {
    case OrderKind::Route: return room_.routes_max;
    case OrderKind::Group: return room_.groups_max;
    case OrderKind::Nexthop: return room_.nexthops_max;
    default: return room_.neighbors_max;
  }
}

void Faults::room_ends() {
  SimDataPlane* const kernel = victim_.kernel();
  if (kernel == nullptr) return;
  const OrderKind kind = kLimited[random_.below(std::size(kLimited))];
  victim_.happened("the kernel has no room for objects of kind " + std::to_string(static_cast<int>(kind)));
  kernel->set_capacity(kind, 0);
  later(drawn(plan_.room_ends_for), [this, kernel, kind] {
    victim_.happened("the kernel has room again");
    kernel->set_capacity(kind, room_for(kind));
  });
}

void Faults::carrier_lost() {
  SimDataPlane* const kernel = victim_.kernel();
  if (kernel == nullptr) return;
  const std::vector<LinkEvent> ports = kernel->links().value();
  if (ports.empty()) return;
  const std::string port = ports[random_.below(ports.size())].name;
  if (std::ranges::find(dark_ports_, port) != dark_ports_.end()) return;
  victim_.happened("port " + port + " loses its carrier");
  kernel->set_carrier(port, false);
  dark_ports_.push_back(port);
  later(drawn(plan_.carrier_lost_for), [this, port] { carrier_back(port); });
}

void Faults::carrier_back(const std::string& port) {
  std::erase(dark_ports_, port);
  SimDataPlane* const kernel = victim_.kernel();
  const std::vector<LinkEvent> ports = kernel->links().value();
  if (std::ranges::find(ports, port, &LinkEvent::name) == ports.end()) return;  // The port is gone.
  victim_.happened("port " + port + " has its carrier again");
  kernel->set_carrier(port, true);
}

void Faults::crash() { victim_.crash_soon(); }

void Faults::suspend() {
  const Duration time = drawn(plan_.suspended_for);
  victim_.happened("suspended for " + std::to_string(time.count()) + " ns");
  world_.clock().advance(time);
}

void Faults::wall_set() {
  const Duration by = drawn(2 * plan_.wall_set_by) - plan_.wall_set_by;
  victim_.happened("the wall clock is set by " + std::to_string(by.count()) + " ns");
  world_.clock().set_wall(world_.clock().wall_now() + by);
}

}  // namespace rondo::sim
