// The controller of a load balancer: four tables hold the desired state, and three Orchs and an agent apply it to a slow device.
//
//   BACKEND name   address              a server
//   DRAIN   name                        this server gets no traffic while the row exists
//   POOL    name   backends             equivalent servers, separated by commas
//   SERVICE ip:port  pool               the address that clients connect to
//
// A backend is usable while it has a row, passes its health check and is not drained. A pool is ready while one of its backends is usable.
// A service is on the device while its pool is ready, and its members are the usable backends of the pool.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/message/agent.h"
#include "rondo/rondo.h"
#include "rondo/sched/executor.h"

namespace balancer {

/// InvalidArgument for text that is not like "10.0.0.1:80": digits, dots, a colon, a port. The device uses it as a file name.
rondo::Status check_address(std::string_view text);

/// One call of the device: sets the members of the service; without members it removes the service.
struct Request {
  std::string service;
  std::vector<std::string> members;
  rondo::Status status = {};  // Its result.
};
using Device = rondo::Executor<Request>;
inline constexpr std::size_t kRemovals = 0;  // The lanes: a removal overtakes additions.
inline constexpr std::size_t kAdditions = 1;
inline const rondo::ExecutorOptions kDeviceOptions{
    .name = "device", .target = "the load balancer", .lanes = {4, 1}, .operations_max = 1024, .batch_max = 32};

/// True if the server at 'address' answers. May block for a second; called on a thread of a pool.
using HealthCheck = std::function<bool(const std::string& address)>;

/// A message to the Drainer.
struct Drain {
  std::string backend;
  bool is_drained = true;   // False: back into service.
  rondo::Duration time{0};  // How long it is drained; 0: until the next message.
  std::function<void(const rondo::Status&)> answer = {};
};

/// Adds the whole controller to a runtime, for main() and the simulation. The device must outlive the turns of the runtime. Returns the
/// address of the Drainer, or the error of the first table that the store refused.
rondo::Result<rondo::Address> add_controller(rondo::Runtime& runtime, Device& device, HealthCheck check, rondo::Duration period);

}  // namespace balancer
