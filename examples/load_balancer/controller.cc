#include "controller.h"

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>
#include <utility>

#include "rondo/message/runtime_agents.h"

using namespace rondo;

namespace balancer {

namespace {

constexpr FactKind kBackend{"backend"};  // Usable, by name; ends and begins again with a new address.
constexpr FactKind kPool{"pool"};        // Ready, by name; ends and begins again when its members change.

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  std::istringstream in{std::string{text}};
  for (std::string part; std::getline(in, part, ',');) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

Status check_name(std::string_view text) {
  if (!text.empty() && text.find_first_of(" ,:") == std::string_view::npos) return {};
  return {StatusCode::InvalidArgument, "'" + std::string{text} + "' is not a name, such as web"};
}

class Backends final : public Orch {
 public:
  Backends(Runtime& runtime, HealthCheck check, Duration period) : Orch(runtime, "backends", Priority::p6), check_(std::move(check)) {
    consume_into(
        {"BACKEND", "DRAIN"}, [](std::string_view name) { return std::string{name}; },
        [this](std::string_view name, std::span<const TableRow> rows) { return reconcile(name, rows); });
    provide(kBackend, [this](std::string_view name) { return !address(name).empty(); });
    runtime.explain(kBackend, [this](std::string_view name) {
      const auto it = backends_.find(name);
      const Backend backend = it != backends_.end() ? it->second : Backend{};
      const char* const healthy = backend.is_drained ? "it is drained" : "";
      return FactOrigin{"BACKEND", std::string{name}, backend.is_healthy ? healthy : "it does not answer its health check"};
    });
    every(period, [this] { check_all(); });
  }
  /// Empty: the backend is not usable.
  std::string address(std::string_view name) const {
    const auto it = backends_.find(name);
    return it != backends_.end() && it->second.is_healthy && !it->second.is_drained ? it->second.address : std::string{};
  }

 private:
  struct Backend {
    std::string address;     // Empty: it has no row.
    bool is_healthy = true;  // True until a check has failed, so that a restart takes no backend out of service.
    bool is_drained = false;
  };

  // region: reject
  /// A backend is its row and its drain. A wrong row makes none, whatever an earlier version of it made.
  Outcome reconcile(std::string_view name, std::span<const TableRow> rows) {
    Backend wanted;
    Status wrong;
    for (const TableRow& row : rows) {
      if (row.table == "DRAIN") wanted.is_drained = true;
      if (row.table == "BACKEND") wrong = check_address(wanted.address = row.fields().text_or("address", ""));
    }
    if (!wrong.ok()) wanted.address.clear();
    const auto before = backends_.find(name);
    if (before != backends_.end() && before->second.address == wanted.address) wanted.is_healthy = before->second.is_healthy;
    become(name, wanted);
    return wrong.ok() ? Outcome::done() : Outcome::reject_removed(std::move(wrong));
  }
  // endregion

  /// The only function that changes a backend. Its fact begins or ends with the change; with a new address it does both.
  void become(std::string_view name, const Backend& wanted) {
    const std::string before = address(name);
    backends_[std::string{name}] = wanted;
    if (wanted.address.empty() && !wanted.is_drained) backends_.erase(std::string{name});
    if (address(name) == before) return;
    if (!before.empty()) withdraw({kBackend, std::string{name}});
    if (!address(name).empty()) announce({kBackend, std::string{name}});
  }

  /// The checks block, so they run on a thread of the pool; their result arrives in a turn. The next round begins when this one has ended.
  void check_all() {
    std::map<std::string, bool> healthy;  // By address.
    for (const auto& [name, backend] : backends_) healthy.emplace(backend.address, true);
    if (healthy.erase(""); is_checking_ || healthy.empty()) return;
    const auto work = [check = check_, healthy]() mutable {
      for (auto& [address, is_healthy] : healthy) is_healthy = check(address);
      return healthy;
    };
    const auto done = [this](const Result<std::map<std::string, bool>>& checked) {
      is_checking_ = false;
      if (!checked) return;  // No result: the next round checks again.
      for (const auto& [name, backend] : backends_) {
        const auto found = checked->find(backend.address);
        if (found != checked->end()) become(name, {backend.address, found->second, backend.is_drained});  // Others are new since the check.
      }
    };
    is_checking_ = run_elsewhere(work, done).ok();
  }

  std::map<std::string, Backend, std::less<>> backends_;
  HealthCheck check_;
  bool is_checking_ = false;
};

class Pools final : public Orch {
 public:
  Pools(Runtime& runtime, const Backends& backends)
      : Orch(runtime, "pools", Priority::p5),
        backends_(backends),
        table_(consume("POOL", this, &Pools::set, &Pools::remove, {.needs = {kBackend}, .keeps_rows = true})) {
    provide(kPool, [this](std::string_view name) { return members_.contains(name); });
    runtime.explain(kPool, [](std::string_view name) { return FactOrigin{"POOL", std::string{name}}; });
    observe(kBackend, [this](std::string_view backend, bool is_usable) {  // A pool that is ready waits for no further backend.
      for (const Record& pool : is_usable ? rows(table_) : std::vector<Record>{}) {
        const std::vector<std::string> names = split(pool.fields().text_or("backends", ""));
        if (std::ranges::find(names, backend) != names.end()) requeue(table_, pool.key());
      }
    });
  }
  /// The addresses of the usable backends. Empty while the pool is not ready.
  std::vector<std::string> members(std::string_view name) const {
    const auto pool = members_.find(name);
    return pool == members_.end() ? std::vector<std::string>{} : pool->second;
  }

 private:
  Outcome set(std::string_view name, const Fields& fields) {
    const Result<std::string> backends = fields.text("backends");
    Status wrong = backends ? Status{} : backends.error();
    std::vector<Fact> all, usable;
    std::vector<std::string> addresses;
    for (const std::string& backend : split(backends.value_or(""))) {
      if (wrong.ok()) wrong = check_name(backend);
      all.push_back({kBackend, backend});
      if (!holds(all.back())) continue;
      usable.push_back(all.back());
      addresses.push_back(backends_.address(backend));
    }
    if (!wrong.ok()) return become(std::string{name}, {}, Outcome::reject_removed(std::move(wrong)));
    if (all.empty()) return become(std::string{name}, {}, Outcome::done());
    return become(std::string{name}, addresses, usable.empty() ? Outcome::wait_for_any(all) : Outcome::done_while(usable));
  }
  Outcome remove(std::string_view name) { return become(std::string{name}, {}, Outcome::done()); }

  /// The services of the pool were programmed with its members: the fact ends for the old members, and begins for the new ones.
  Outcome become(const std::string& name, const std::vector<std::string>& wanted, Outcome outcome) {
    if (wanted == members(name)) return outcome;
    const bool was_ready = members_.erase(name) > 0;
    if (!wanted.empty()) members_.emplace(name, wanted);
    if (was_ready) withdraw({kPool, name});
    if (!wanted.empty()) announce({kPool, name});
    return outcome;
  }

  const Backends& backends_;
  const ConsumerHandle table_;
  std::map<std::string, std::vector<std::string>, std::less<>> members_;
};

class Services final : public Orch {
 public:
  Services(Runtime& runtime, const Pools& pools, Device& device) : Orch(runtime, "services", Priority::p1), pools_(pools), device_(device) {
    consume("SERVICE", this, &Services::set, &Services::remove, {.needs = {kPool}});
  }

 private:
  Outcome set(std::string_view service, const Fields& fields) {
    if (Status wrong = check_address(service); !wrong.ok()) return Outcome::reject_key(std::move(wrong));
    const std::string name = fields.text_or("pool", "");
    if (Status wrong = check_name(name); !wrong.ok()) return program(service, {}, Outcome::reject_removed(std::move(wrong)));
    const Fact pool{kPool, name};
    if (holds(pool)) return program(service, pools_.members(name), Outcome::done_while(pool));
    return program(service, {}, Outcome::wait_for(pool));  // It must not stay on the device without a pool.
  }
  Outcome remove(std::string_view service) {
    if (!check_address(service).ok()) return Outcome::done();  // Its Set was rejected.
    return program(service, {}, Outcome::done());
  }
  // region: program
  /// The device answers later; until then the runtime delivers no other change of this service, and none at all while the device is full.
  Outcome program(std::string_view service, std::vector<std::string> members, const Outcome& success) {
    const std::size_t lane = members.empty() ? kRemovals : kAdditions;
    Request request{.service = std::string{service}, .members = std::move(members)};
    return stage_on(device_, lane, std::move(request), [this, success](const Request& answer) {
      if (answer.status.ok()) return success;
      const bool is_refused = answer.status.code() == StatusCode::InvalidArgument && !answer.members.empty();
      if (!is_refused) return Outcome::retry_after(100ms, answer.status);
      return program(answer.service, {}, Outcome::reject_removed(answer.status));  // A retry would be refused, too.
    });
  }
  // endregion

  const Pools& pools_;
  Device& device_;
};

/// Takes backends out of service and puts them back. It writes its decisions to the table DRAIN, so that they survive the process.
class Drainer final : public Agent {
 public:
  Drainer(AgentGroup& group, Runtime& runtime) : Agent(group, "drainer", Priority::p6), runtime_(runtime) { receive<&Drainer::drain>(); }

 private:
  void drain(const Drain& message) {
    Table drains = runtime_.table("DRAIN");
    const Status written = message.is_drained ? drains.set(message.backend, {}) : drains.remove(message.backend);
    ends_.erase(message.backend);
    if (message.is_drained && written.ok() && message.time > Duration{0}) undrain_later(message.backend, message.time);
    if (message.answer) return message.answer(written);
    if (!written.ok()) undrain_later(message.backend, 1s);  // Its time is over, and no other message will retry the write.
  }
  void undrain_later(const std::string& backend, Duration time) {
    ends_.emplace(backend, send_later(address(), Drain{.backend = backend, .is_drained = false}, time));
  }
  Runtime& runtime_;
  std::map<std::string, TimedMessage> ends_;  // The ends of drains with a time.
};

}  // namespace

Status check_address(std::string_view text) {
  static const std::regex kAddress("[0-9.]+:([0-9]{1,5})");
  std::cmatch parts;
  const bool is_address = std::regex_match(text.begin(), text.end(), parts, kAddress);
  if (const int port = is_address ? std::stoi(parts[1]) : 0; port >= 1 && port <= 65535) return {};
  return {StatusCode::InvalidArgument, "'" + std::string{text} + "' is not an IPv4 address and a port, such as 10.0.0.1:80"};
}

Result<Address> add_controller(Runtime& runtime, Device& device, HealthCheck check, Duration period) {
  const Result<Backends*> backends = runtime.try_add<Backends>(std::move(check), period);
  if (!backends) return failure(backends.error());
  const Result<Pools*> pools = runtime.try_add<Pools>(**backends);
  if (!pools) return failure(pools.error());
  const Result<Services*> services = runtime.try_add<Services>(**pools, device);
  if (!services) return failure(services.error());
  return agents_of(runtime).make<Drainer>(runtime);
}

}  // namespace balancer
