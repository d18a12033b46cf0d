#include "managers/port_manager.h"

#include <vector>

#include "managers/facts.h"
#include "managers/priorities.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {
std::string source_of(std::string_view key) { return "PORT|" + std::string{key}; }
}  // namespace

PortManager::PortManager(Runtime& runtime, ManagedRows& rows) : Manager(runtime, "port-manager", kManagers, rows) {
  consume("PORT", this, &PortManager::set, &PortManager::remove, {.kind = TableKind::Watched});
  provide(kConfigPort, [this](std::string_view port) { return written_.contains(port); });
  explain_made("PORT", [](std::string_view key) { return Target{"PORT_TABLE", std::string{key}}; });
  runtime.explain(kConfigPort, [](std::string_view port) { return FactOrigin{"PORT", std::string{port}, ""}; });
}

Outcome PortManager::set(std::string_view key, const Fields& fields) {
  const std::string port{key};
  if (auto waits = begin(source_of(key))) return *waits;
  if (Status name = switch_agent::check_port_key(key); !name.ok()) return Outcome::reject_key(std::move(name));
  if (const auto row = switch_agent::parse_port(fields); !row) return Outcome::reject(row.error());
  std::vector<Field> wanted{fields.begin(), fields.end()};
  if (!fields.contains("admin_status")) wanted.push_back({"admin_status", "down"});
  if (!fields.contains("mtu")) wanted.push_back({"mtu", "9100"});
  return put(source_of(key), {"PORT_TABLE", port}, wanted, [this, port] {
    if (written_.insert(port).second) announce({kConfigPort, port});
    return Outcome::done();
  });
}

Outcome PortManager::remove(std::string_view key) {
  const std::string port{key};
  return source_deleted(source_of(key), {"PORT_TABLE", port}, [this, port] {
    if (written_.erase(port) != 0) withdraw({kConfigPort, port});
    return Outcome::done();
  });
}

}  // namespace rondo::managers
