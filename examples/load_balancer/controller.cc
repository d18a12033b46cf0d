#include "controller.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "rondo/message/runtime_agents.h"

using namespace rondo;

namespace balancer {

namespace {

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

Status check_address(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view host = text.substr(0, colon);
  const std::string_view digits = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  unsigned port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool is_port = error == std::errc{} && end == digits.data() + digits.size() && port >= 1 && port <= 65535;
  const bool is_host = !host.empty() && host.find_first_not_of("0123456789.") == std::string_view::npos;
  if (is_port && is_host) return {};
  return {StatusCode::InvalidArgument, "'" + std::string{text} + "' is not an IPv4 address and a port, such as 10.0.0.1:80"};
}

Status check_name(std::string_view text) {
  if (!text.empty() && text.find_first_of(" ,:") == std::string_view::npos) return {};
  return {StatusCode::InvalidArgument, "'" + std::string{text} + "' is not a name, such as web"};
}

ExecutorOptions device_options() {
  return {.name = "device", .target = "the load balancer", .lanes = {4, 1}, .operations_max = 1024, .batch_max = 32};
}

OperationCodec<Request> request_codec() {
  return {.encode_order =
              [](const Request& request, std::string& to) {
                to += request.service;
                for (const std::string& member : request.members) to += " " + member;
              },
          .encode_answer = [](const Request&, std::string&) {},  // There is no result but the status.
          .decode_answer = [](std::string_view, Request&) { return true; }};
}

// --- Backends

// region: backends
Backends::Backends(Runtime& runtime, HealthCheck check, Duration period)
    : Orch(runtime, "backends", Priority::p6), check_(std::move(check)) {
  consume("BACKEND", this, &Backends::set, &Backends::remove);
  consume("DRAIN", this, &Backends::drain, &Backends::undrain);
  provide(kBackend, [this](std::string_view name) {
    const auto backend = backends_.find(name);
    return backend != backends_.end() && backend->second.is_usable();
  });
  runtime.explain(kBackend, [this](std::string_view name) { return origin(name); });
  every(period, [this] { check_all(); });
}

/// The only function that changes a backend. The backend's fact begins or ends with the change; with a new address it does both.
void Backends::change(std::string_view name, const std::function<void(Backend&)>& how) {
  const auto it = backends_.try_emplace(std::string{name}).first;
  const Backend before = it->second;
  how(it->second);
  const Backend now = it->second;
  if (now.address.empty() && !now.is_drained) backends_.erase(it);
  const Fact usable{kBackend, std::string{name}};
  const bool is_same = before.is_usable() && now.is_usable() && before.address == now.address;
  if (before.is_usable() && !is_same) withdraw(usable);
  if (now.is_usable() && !is_same) announce(usable);
}
// endregion

// region: reject
/// A wrong row makes no backend, whatever an earlier version of it made: after a restart only the wrong row is there.
Outcome Backends::set(std::string_view name, const Fields& fields) {
  const Result<std::string> address = fields.text("address");
  if (Status wrong = address ? check_address(*address) : address.error(); !wrong.ok()) {
    change(name, [](Backend& backend) { backend.address.clear(); });
    return Outcome::reject_removed(std::move(wrong));
  }
  // endregion
  change(name, [&](Backend& backend) {
    if (backend.address != *address) backend.is_healthy = true;
    backend.address = *address;
  });
  return Outcome::done();
}

Outcome Backends::remove(std::string_view name) {
  change(name, [](Backend& backend) { backend.address.clear(); });
  return Outcome::done();
}

Outcome Backends::drain(std::string_view name, const Fields&) {
  change(name, [](Backend& backend) { backend.is_drained = true; });
  return Outcome::done();
}

Outcome Backends::undrain(std::string_view name) {
  change(name, [](Backend& backend) { backend.is_drained = false; });
  return Outcome::done();
}

// region: health
/// The checks block, so they run on a thread of the pool; their result arrives in a turn. The next round begins when this one has ended.
void Backends::check_all() {
  std::vector<std::string> addresses;
  for (const auto& [name, backend] : backends_) {
    if (!backend.address.empty()) addresses.push_back(backend.address);
  }
  if (is_checking_ || addresses.empty()) return;
  const auto work = [check = check_, addresses] {
    std::string failed = ",";  // A type with an ElsewhereCodec, for the journal.
    for (const std::string& address : addresses) failed += check(address) ? "" : address + ",";
    return failed;
  };
  const Status begun = run_elsewhere(work, [this, addresses](const Result<std::string>& failed) {
    is_checking_ = false;
    if (!failed) return;  // No result: the next round checks again.
    for (const auto& [name, backend] : backends_) {
      if (std::ranges::find(addresses, backend.address) == addresses.end()) continue;  // It is new since the check, or has no row.
      change(name, [&](Backend& checked) { checked.is_healthy = failed->find("," + checked.address + ",") == std::string::npos; });
    }
  });
  is_checking_ = begun.ok();
}
// endregion

FactOrigin Backends::origin(std::string_view name) const {
  const auto it = backends_.find(name);
  std::string note;
  if (it != backends_.end() && it->second.is_drained) note = "it is drained";
  if (it != backends_.end() && !it->second.is_healthy) note = "it does not answer its health check";
  return {"BACKEND", std::string{name}, note};
}

// --- Pools

// region: pools
Pools::Pools(Runtime& runtime, const Backends& backends) : Orch(runtime, "pools", Priority::p5), backends_(backends) {
  consume("POOL", this, &Pools::set, &Pools::remove, {.needs = {kBackend}});
  provide(kPool, [this](std::string_view name) { return !members(name).empty(); });
  observe(kBackend, [this](std::string_view backend, bool) {
    for (auto& [name, pool] : pools_) {
      if (std::ranges::find(pool.backends, backend) != pool.backends.end()) update(name, pool);
    }
  });
  // Any usable backend is enough: `rondo why` follows each of them.
  runtime.explain(kPool, [this](std::string_view name) {
    std::vector<FactOrigin> origins;
    const auto pool = pools_.find(name);
    if (pool == pools_.end()) origins.push_back({"POOL", std::string{name}, {}});
    if (pool == pools_.end()) return origins;
    for (const std::string& backend : pool->second.backends) origins.push_back(backends_.origin(backend));
    return origins;
  });
}

/// The services of the pool were programmed with its members: the fact ends for the old members, and begins for the new ones.
void Pools::update(const std::string& name, Pool& pool) {
  std::vector<std::string> members;
  for (const std::string& backend : pool.backends) {
    if (holds({kBackend, backend})) members.push_back(backends_.address(backend));
  }
  if (members == pool.members) return;
  const bool was_ready = !pool.members.empty();
  pool.members = std::move(members);
  if (was_ready) withdraw({kPool, name});
  if (!pool.members.empty()) announce({kPool, name});
}
// endregion

std::vector<std::string> Pools::members(std::string_view name) const {
  const auto pool = pools_.find(name);
  return pool == pools_.end() ? std::vector<std::string>{} : pool->second.members;
}

Outcome Pools::set(std::string_view name, const Fields& fields) {
  const Result<std::string> backends = fields.text("backends");
  const std::vector<std::string> names = backends ? split(*backends) : std::vector<std::string>{};
  Status wrong = backends ? Status{} : backends.error();
  for (const std::string& backend : names) {
    if (wrong.ok()) wrong = check_name(backend);
  }
  if (!wrong.ok()) {
    static_cast<void>(remove(name));
    return Outcome::reject_removed(std::move(wrong));
  }
  Pool& pool = pools_[std::string{name}];
  pool.backends = names;
  update(std::string{name}, pool);
  return Outcome::done();
}

Outcome Pools::remove(std::string_view name) {
  if (pools_.erase(std::string{name}) > 0) withdraw({kPool, std::string{name}});
  return Outcome::done();
}

// --- Services

// region: services
Services::Services(Runtime& runtime, const Pools& pools, Device& device)
    : Orch(runtime, "services", Priority::p1), pools_(pools), device_(device) {
  consume("SERVICE", this, &Services::set, &Services::remove, {.needs = {kPool}});
}

Outcome Services::set(std::string_view service, const Fields& fields) {
  if (Status wrong = check_address(service); !wrong.ok()) return Outcome::reject_key(std::move(wrong));
  const Result<std::string> name = fields.text("pool");
  if (Status wrong = name ? check_name(*name) : name.error(); !wrong.ok()) {
    return program(service, {}, Outcome::reject_removed(std::move(wrong)));
  }
  const Fact pool{kPool, *name};
  if (holds(pool)) return program(service, pools_.members(*name), Outcome::done_while(pool));
  return program(service, {}, Outcome::wait_for(pool));  // It must not stay on the device without a pool.
}

Outcome Services::remove(std::string_view service) {
  if (!check_address(service).ok()) return Outcome::done();  // Its Set was rejected.
  return program(service, {}, Outcome::done());
}

// region: program
/// The device answers later; until then the runtime delivers no other change of this service, and none at all while the device is full.
Outcome Services::program(std::string_view service, std::vector<std::string> members, const Outcome& success) {
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
// endregion

// --- Drainer

// region: drainer
Drainer::Drainer(AgentGroup& group, Runtime& runtime) : Agent(group, "drainer", Priority::p6), runtime_(runtime) {
  receive<&Drainer::drain>();
  receive<&Drainer::undrain>();
}

void Drainer::drain(const Drain& message) {
  const Status written = runtime_.table("DRAIN").set(message.backend, {});
  ends_.erase(message.backend);
  if (written.ok() && message.time > Duration{0}) {
    ends_.emplace(message.backend, send_later(address(), Undrain{message.backend}, message.time));
  }
  if (message.answer) message.answer(written);
}

void Drainer::undrain(const Undrain& message) {
  ends_.erase(message.backend);
  const Status written = runtime_.table("DRAIN").remove(message.backend);
  if (message.answer) return message.answer(written);
  // Its time is over, and no other message will retry the write.
  if (!written.ok()) ends_.emplace(message.backend, send_later(address(), message, 1s));
}
// endregion

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
