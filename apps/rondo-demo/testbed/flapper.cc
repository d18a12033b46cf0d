#include "rondo-demo/testbed/flapper.h"

#include <chrono>
#include <condition_variable>
#include <utility>

namespace rondo::demo {

Flapper::Flapper(Duration period, SetCarrier set_carrier)
    : period_(period), set_carrier_(std::move(set_carrier)), thread_([this](const std::stop_token& stop) { run(stop); }) {}

Flapper::~Flapper() { stop(); }

void Flapper::stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

std::vector<Flapper::Flap> Flapper::flaps() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return flaps_;
}

Status Flapper::status() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return status_;
}

void Flapper::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any ended;
  bool up = true;
  std::unique_lock<std::mutex> lock(mutex);
  // The wait is intended: the cable moves at a steady pace.
  while (!ended.wait_for(lock, stop, period_, [&stop] { return stop.stop_requested(); })) {
    up = !up;
    flap(up);
  }
  if (!up) flap(true);
}

void Flapper::flap(bool up) {
  const Instant asked = clock_.now();
  Status status = set_carrier_(up);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!status.ok() && status_.ok()) status_ = std::move(status);
  flaps_.push_back({up, asked});
}

}  // namespace rondo::demo
