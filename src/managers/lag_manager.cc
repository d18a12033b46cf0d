#include "managers/lag_manager.h"

#include <vector>

#include "managers/config_rows.h"
#include "managers/facts.h"
#include "managers/priorities.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {

std::string source_of(std::string_view key) { return "PORTCHANNEL|" + std::string{key}; }
Target target_of(std::string_view key) { return {"LAG_TABLE", std::string{key}}; }
std::string member_source(std::string_view key) { return "PORTCHANNEL_MEMBER|" + std::string{key}; }

/// "PortChannel1|Ethernet0" becomes "PortChannel1:Ethernet0".
Target member_target(std::string_view key) {
  std::string made{key};
  if (const std::size_t bar = made.find('|'); bar != std::string::npos) made[bar] = ':';
  return {"LAG_MEMBER_TABLE", std::move(made)};
}

}  // namespace

LagManager::LagManager(Runtime& runtime, ManagedRows& rows) : Manager(runtime, "lag-manager", kManagers, rows) {
  consume("PORTCHANNEL", this, &LagManager::set, &LagManager::remove, {.kind = TableKind::Watched});
  consume("PORTCHANNEL_MEMBER", this, &LagManager::set_member, &LagManager::remove_member, {.kind = TableKind::Watched});
  provide(kConfigLag, [this](std::string_view lag) { return written_.contains(lag); });
  explain_made("PORTCHANNEL", [](std::string_view key) { return target_of(key); });
  explain_made("PORTCHANNEL_MEMBER", [](std::string_view key) { return member_target(key); });
  runtime.explain(kConfigLag, [](std::string_view lag) { return FactOrigin{"PORTCHANNEL", std::string{lag}, ""}; });
}

Outcome LagManager::set(std::string_view key, const Fields& fields) {
  if (auto waits = begin(source_of(key))) return *waits;
  if (Status name = switch_agent::check_lag_name(key); !name.ok()) return Outcome::reject_key(std::move(name));
  if (const auto row = switch_agent::parse_lag(fields); !row) return Outcome::reject(row.error());
  std::vector<Field> wanted = fields_without_members(fields);
  if (!fields.contains("admin_status")) wanted.push_back({"admin_status", "down"});
  if (!fields.contains("mtu")) wanted.push_back({"mtu", "9100"});
  return put(source_of(key), target_of(key), wanted, [this, lag = std::string{key}] {
    if (written_.insert(lag).second) announce({kConfigLag, lag});
    return Outcome::done();
  });
}

/// The agent keeps the LAG until nothing is left in it.
Outcome LagManager::remove(std::string_view key) {
  return source_deleted(source_of(key), target_of(key), [this, lag = std::string{key}] {
    if (written_.erase(lag) != 0) withdraw({kConfigLag, lag});
    return Outcome::done();
  });
}

Outcome LagManager::set_member(std::string_view key, const Fields&) {
  if (auto waits = begin(member_source(key))) return *waits;
  const Target target = member_target(key);
  if (const auto parsed = switch_agent::parse_lag_member_key(target.key); !parsed) return Outcome::reject_key(parsed.error());
  const Field wanted[] = {{"status", "enabled"}};
  return put(member_source(key), target, wanted, [] { return Outcome::done(); });
}

Outcome LagManager::remove_member(std::string_view key) {
  return source_deleted(member_source(key), member_target(key), [] { return Outcome::done(); });
}

}  // namespace rondo::managers
