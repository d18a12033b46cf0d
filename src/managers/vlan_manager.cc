#include "managers/vlan_manager.h"

#include <vector>

#include "managers/config_rows.h"
#include "managers/facts.h"
#include "managers/priorities.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {

std::string source_of(std::string_view key) { return "VLAN|" + std::string{key}; }
Target target_of(std::string_view key) { return {"VLAN_TABLE", std::string{key}}; }
std::string member_source(std::string_view key) { return "VLAN_MEMBER|" + std::string{key}; }

/// "Vlan10|Ethernet0" becomes "Vlan10:Ethernet0".
Target member_target(std::string_view key) {
  std::string made{key};
  if (const std::size_t bar = made.find('|'); bar != std::string::npos) made[bar] = ':';
  return {"VLAN_MEMBER_TABLE", std::move(made)};
}

}  // namespace

VlanManager::VlanManager(Runtime& runtime, ManagedRows& rows) : Manager(runtime, "vlan-manager", kManagers, rows) {
  consume("VLAN", this, &VlanManager::set, &VlanManager::remove, {.kind = TableKind::Watched});
  consume("VLAN_MEMBER", this, &VlanManager::set_member, &VlanManager::remove_member, {.kind = TableKind::Watched});
  provide(kConfigVlan, [this](std::string_view vlan) { return written_.contains(vlan); });
  explain_made("VLAN", [](std::string_view key) { return target_of(key); });
  explain_made("VLAN_MEMBER", [](std::string_view key) { return member_target(key); });
  runtime.explain(kConfigVlan, [](std::string_view vlan) { return FactOrigin{"VLAN", std::string{vlan}, ""}; });
}

Outcome VlanManager::set(std::string_view key, const Fields& fields) {
  if (auto waits = begin(source_of(key))) return *waits;
  if (const auto name = switch_agent::parse_vlan_name(key); !name) return Outcome::reject_key(name.error());
  if (const auto row = switch_agent::parse_vlan(fields); !row) return Outcome::reject(row.error());
  std::vector<Field> wanted = fields_without_members(fields);
  if (!fields.contains("admin_status")) wanted.push_back({"admin_status", "up"});
  if (!fields.contains("mtu")) wanted.push_back({"mtu", "9100"});
  return put(source_of(key), target_of(key), wanted, [this, vlan = std::string{key}] {
    if (written_.insert(vlan).second) announce({kConfigVlan, vlan});
    return Outcome::done();
  });
}

/// The agent keeps the VLAN until nothing is left in it.
Outcome VlanManager::remove(std::string_view key) {
  return source_deleted(source_of(key), target_of(key), [this, vlan = std::string{key}] {
    if (written_.erase(vlan) != 0) withdraw({kConfigVlan, vlan});
    return Outcome::done();
  });
}

Outcome VlanManager::set_member(std::string_view key, const Fields& fields) {
  if (auto waits = begin(member_source(key))) return *waits;
  const Target target = member_target(key);
  if (const auto parsed = switch_agent::parse_vlan_member_key(target.key); !parsed) return Outcome::reject_key(parsed.error());
  if (const auto tagged = switch_agent::parse_tagged(fields); !tagged) return Outcome::reject(tagged.error());
  std::vector<Field> wanted{fields.begin(), fields.end()};
  if (!fields.contains("tagging_mode")) wanted.push_back({"tagging_mode", "untagged"});
  return put(member_source(key), target, wanted, [] { return Outcome::done(); });
}

Outcome VlanManager::remove_member(std::string_view key) {
  return source_deleted(member_source(key), member_target(key), [] { return Outcome::done(); });
}

}  // namespace rondo::managers
