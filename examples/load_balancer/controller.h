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
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/message/agent.h"
#include "rondo/rondo.h"
#include "rondo/sched/executor.h"

namespace balancer {

inline constexpr rondo::FactKind kBackend{"backend"};  // Usable, by name.
inline constexpr rondo::FactKind kPool{"pool"};        // Ready, by name; ends and begins again when its members change.

/// InvalidArgument for text that is not like "10.0.0.1:80": digits, dots, a colon, a port. The device uses it as a file name.
rondo::Status check_address(std::string_view text);

/// InvalidArgument for an empty text, and one with blanks, commas or colons.
rondo::Status check_name(std::string_view text);

// region: operation
/// One call of the device: sets the members of the service; without members it removes the service.
struct Request {
  std::string service;
  std::vector<std::string> members;
  rondo::Status status = {};  // Its result.
};
using Device = rondo::Executor<Request>;
inline constexpr std::size_t kRemovals = 0;  // The lanes: a removal overtakes additions.
inline constexpr std::size_t kAdditions = 1;
rondo::ExecutorOptions device_options();
rondo::OperationCodec<Request> request_codec();
// endregion

/// True if the server at 'address' answers. May block for a second; called on a thread of a pool.
using HealthCheck = std::function<bool(const std::string& address)>;

class Backends final : public rondo::Orch {
 public:
  Backends(rondo::Runtime& runtime, HealthCheck check, rondo::Duration period);
  /// The row that makes a backend usable, and the reason why it is not usable now.
  rondo::FactOrigin origin(std::string_view name) const;
  /// The address of a usable backend.
  const std::string& address(std::string_view name) const { return backends_.find(name)->second.address; }

 private:
  struct Backend {
    std::string address;     // Empty: it has no row.
    bool is_healthy = true;  // True until a check has failed, so that a restart takes no backend out of service.
    bool is_drained = false;
    bool is_usable() const { return !address.empty() && is_healthy && !is_drained; }
  };
  rondo::Outcome set(std::string_view name, const rondo::Fields& fields);
  rondo::Outcome remove(std::string_view name);
  rondo::Outcome drain(std::string_view name, const rondo::Fields& fields);
  rondo::Outcome undrain(std::string_view name);
  void change(std::string_view name, const std::function<void(Backend&)>& how);
  void check_all();

  std::map<std::string, Backend, std::less<>> backends_;
  HealthCheck check_;
  bool is_checking_ = false;
};

class Pools final : public rondo::Orch {
 public:
  Pools(rondo::Runtime& runtime, const Backends& backends);
  /// The addresses of the usable backends. Empty while the pool is not ready.
  std::vector<std::string> members(std::string_view name) const;

 private:
  struct Pool {
    std::vector<std::string> backends;
    std::vector<std::string> members;
  };
  rondo::Outcome set(std::string_view name, const rondo::Fields& fields);
  rondo::Outcome remove(std::string_view name);
  void update(const std::string& name, Pool& pool);

  const Backends& backends_;
  std::map<std::string, Pool, std::less<>> pools_;
};

class Services final : public rondo::Orch {
 public:
  Services(rondo::Runtime& runtime, const Pools& pools, Device& device);

 private:
  rondo::Outcome set(std::string_view service, const rondo::Fields& fields);
  rondo::Outcome remove(std::string_view service);
  rondo::Outcome program(std::string_view service, std::vector<std::string> members, const rondo::Outcome& success);

  const Pools& pools_;
  Device& device_;
};

// region: messages
struct Drain {
  std::string backend;
  rondo::Duration time{0};  // 0: until Undrain.
  std::function<void(const rondo::Status&)> answer = {};
};
struct Undrain {
  std::string backend;
  std::function<void(const rondo::Status&)> answer = {};
};
// endregion

/// Takes backends out of service and puts them back. It writes its decisions to the table DRAIN, so that they survive the process.
class Drainer final : public rondo::Agent {
 public:
  Drainer(rondo::AgentGroup& group, rondo::Runtime& runtime);

 private:
  void drain(const Drain& message);
  void undrain(const Undrain& message);
  rondo::Runtime& runtime_;
  std::map<std::string, rondo::TimedMessage> ends_;  // The ends of drains with a time.
};

/// Adds the whole controller to a runtime, for main() and the simulation. The device must outlive the turns of the runtime. Returns the
/// address of the Drainer, or the error of the first table that the store refused.
rondo::Result<rondo::Address> add_controller(rondo::Runtime& runtime, Device& device, HealthCheck check, rondo::Duration period);

}  // namespace balancer
