#include "sim/sim_wire.h"

#include <algorithm>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"

namespace rondo::sim {

SimWire::SimWire(Scheduler& scheduler, std::uint64_t seed, Duration low, Duration high)
    : scheduler_(scheduler), random_(seed), low_(low), high_(high), timer_("sim-wire", Priority::p7, [this] { deliver(); }) {
  scheduler.add(timer_);
}

void SimWire::set_latency(Duration low, Duration high) {
  RONDO_EXPECT(Duration{0} <= low && low <= high, "a SimStore's latency is below 0, or its least above its most");
  low_ = low;
  high_ = high;
}

/// Appends to everything that travels the same way. Only the front of a way moves, so requests that are due earlier arrive with it.
void SimWire::put(Way& way, Request request) {
  const auto low = static_cast<std::uint64_t>(low_.count());
  const auto high = static_cast<std::uint64_t>(high_.count());
  const Instant due = scheduler_.clock().now() + Duration{static_cast<std::int64_t>(random_.between(low, high))};
  way.push_back({std::move(request), due});
}

void SimWire::send(Request request) {
  if (!connected_ && !request.kept) {
    if (request.lost) request.lost();
    return;
  }
  put(to_server_, std::move(request));
  arm();
}

bool SimWire::step() {
  const Instant now = scheduler_.clock().now();
  const bool arrives = !to_server_.empty() && to_server_.front().due <= now;
  const bool returns = !to_client_.empty() && to_client_.front().due <= now;
  if (arrives && (!returns || to_server_.front().due < to_client_.front().due)) {
    Request request = std::move(to_server_.front().request);
    to_server_.pop_front();
    const std::function<void()> perform = std::move(request.perform);
    put(to_client_, std::move(request));
    if (perform) perform();
    return true;
  }
  if (returns) {
    const Request request = std::move(to_client_.front().request);
    to_client_.pop_front();
    if (request.deliver) request.deliver();
    return true;
  }
  return false;
}

void SimWire::deliver() {
  for (std::uint32_t steps = 0; connected_ && steps < limits::kBatchItems && step(); ++steps) {
  }
  arm();
}

void SimWire::arm() {
  Instant due = Instant::never();
  if (connected_ && !to_server_.empty()) due = to_server_.front().due;
  if (connected_ && !to_client_.empty()) due = std::min(due, to_client_.front().due);
  if (due == Instant::never()) {
    timer_.disarm();
  } else {
    timer_.arm_at(due);
  }
}

void SimWire::disconnect() {
  if (!std::exchange(connected_, false)) return;
  Way broken = std::exchange(to_client_, {});
  Way waiting = std::exchange(to_server_, {});
  for (Travelling& travelling : waiting) (travelling.request.kept ? to_server_ : broken).push_back(std::move(travelling));
  arm();
  for (const Travelling& travelling : broken) {
    if (travelling.request.lost) travelling.request.lost();
  }
}

void SimWire::reconnect() {
  if (std::exchange(connected_, true)) return;
  for (Travelling& travelling : std::exchange(to_server_, {})) put(to_server_, std::move(travelling.request));
  arm();
}

}  // namespace rondo::sim
