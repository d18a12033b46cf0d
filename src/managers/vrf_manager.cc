#include "managers/vrf_manager.h"

#include <vector>

#include "managers/priorities.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {
std::string source_of(std::string_view key) { return "VRF|" + std::string{key}; }
Target target_of(std::string_view key) { return {"VRF_TABLE", std::string{key}}; }
}  // namespace

VrfManager::VrfManager(Runtime& runtime, ManagedRows& rows) : Manager(runtime, "vrf-manager", kManagers, rows) {
  consume("VRF", this, &VrfManager::set, &VrfManager::remove, {.kind = TableKind::Watched});
  explain_made("VRF", [](std::string_view key) { return target_of(key); });
}

Outcome VrfManager::set(std::string_view key, const Fields& fields) {
  if (auto waits = begin(source_of(key))) return *waits;
  if (Status name = switch_agent::check_vrf_name(key); !name.ok()) return Outcome::reject_key(std::move(name));
  const std::vector<Field> wanted{fields.begin(), fields.end()};
  return put(source_of(key), target_of(key), wanted, [] { return Outcome::done(); });
}

/// The agent keeps the VRF until nothing is left in it.
Outcome VrfManager::remove(std::string_view key) {
  return source_deleted(source_of(key), target_of(key), [] { return Outcome::done(); });
}

}  // namespace rondo::managers
