#include "managers/copy_manager.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "managers/facts.h"
#include "managers/priorities.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {

using Wanted = Result<std::vector<Field>>;

template <class T>
Status status_of(const Result<T>& parsed) {
  return parsed ? Status{} : parsed.error();
}

/// 'fields' and the 'defaults' of those that are missing. If 'parsed' is an error, that error.
template <class T>
Wanted fields_with(const Result<T>& parsed, const Fields& fields, std::initializer_list<Field> defaults) {
  if (!parsed) return failure(parsed.error());
  std::vector<Field> wanted{fields.begin(), fields.end()};
  std::ranges::copy_if(defaults, std::back_inserter(wanted), [&fields](const Field& field) { return !fields.contains(field.name); });
  return wanted;
}

/// Without the list of members, which older SONiC images write beside the rows of the members.
Wanted without_members(Wanted wanted) {
  if (wanted) std::erase_if(*wanted, [](const Field& field) { return field.name == "members@" || field.name == "members"; });
  return wanted;
}

std::string source_of(const CopiedTable& table, std::string_view key) { return table.source + "|" + std::string{key}; }

/// "Vlan10|Ethernet0" becomes "Vlan10:Ethernet0".
Target target_of(const CopiedTable& table, std::string_view key) {
  std::string made{key};
  if (const std::size_t bar = made.find('|'); bar != std::string::npos) made[bar] = ':';
  return {table.target, std::move(made)};
}

}  // namespace

CopiedTables port_copies() {
  const auto fields_of = [](const Fields& fields) -> Wanted {
    return fields_with(switch_agent::parse_port(fields), fields, {{"admin_status", "down"}, {"mtu", "9100"}});
  };
  return {"port-manager", {{"PORT", "PORT_TABLE", kConfigPort, switch_agent::check_port_key, fields_of}}};
}

CopiedTables lag_copies() {
  const auto fields_of = [](const Fields& fields) -> Wanted {
    return without_members(fields_with(switch_agent::parse_lag(fields), fields, {{"admin_status", "down"}, {"mtu", "9100"}}));
  };
  const auto check_member = [](std::string_view key) { return status_of(switch_agent::parse_lag_member_key(key)); };
  const auto enabled = [](const Fields&) -> Wanted { return std::vector<Field>{{"status", "enabled"}}; };
  return {"lag-manager",
          {{"PORTCHANNEL", "LAG_TABLE", kConfigLag, switch_agent::check_lag_name, fields_of},
           {"PORTCHANNEL_MEMBER", "LAG_MEMBER_TABLE", {}, check_member, enabled}}};
}

CopiedTables vlan_copies() {
  const auto check = [](std::string_view key) { return status_of(switch_agent::parse_vlan_name(key)); };
  const auto fields_of = [](const Fields& fields) -> Wanted {
    return without_members(fields_with(switch_agent::parse_vlan(fields), fields, {{"admin_status", "up"}, {"mtu", "9100"}}));
  };
  const auto check_member = [](std::string_view key) { return status_of(switch_agent::parse_vlan_member_key(key)); };
  const auto member_fields = [](const Fields& fields) -> Wanted {
    return fields_with(switch_agent::parse_tagged(fields), fields, {{"tagging_mode", "untagged"}});
  };
  return {"vlan-manager",
          {{"VLAN", "VLAN_TABLE", kConfigVlan, check, fields_of}, {"VLAN_MEMBER", "VLAN_MEMBER_TABLE", {}, check_member, member_fields}}};
}

CopiedTables vrf_copies() {
  const auto fields_of = [](const Fields& fields) -> Wanted { return std::vector<Field>{fields.begin(), fields.end()}; };
  return {"vrf-manager", {{"VRF", "VRF_TABLE", {}, switch_agent::check_vrf_name, fields_of}}};
}

CopyManager::CopyManager(Runtime& runtime, ManagedRows& rows, CopiedTables copies)
    : Manager(runtime, std::move(copies.manager), kManagers, rows) {
  for (CopiedTable& table : copies.tables) copies_.push_back({std::move(table), {}});
  for (Copy& copy : copies_) {
    const CopiedTable& table = copy.table;
    consume(
        table.source, [this, &copy](std::string_view key, const Fields& fields) { return set(copy, key, fields); },
        [this, &copy](std::string_view key) { return remove(copy, key); }, {.kind = TableKind::Watched});
    explain_made(table.source, [table](std::string_view key) { return target_of(table, key); });
    if (table.written == FactKind{}) continue;
    provide(table.written, [&copy](std::string_view key) { return copy.written.contains(key); });
    runtime.explain(table.written, [source = table.source](std::string_view key) { return FactOrigin{source, std::string{key}, ""}; });
  }
}

Outcome CopyManager::set(Copy& copy, std::string_view key, const Fields& fields) {
  const std::string source = source_of(copy.table, key);
  if (auto waits = begin(source)) return *waits;
  const Target target = target_of(copy.table, key);
  if (Status wrong = copy.table.check_key(target.key); !wrong.ok()) return Outcome::reject_key(std::move(wrong));
  const Wanted wanted = copy.table.fields_of(fields);
  if (!wanted) return Outcome::reject(wanted.error());
  return put(source, target, *wanted, [this, &copy, row = std::string{key}] {
    if (copy.table.written != FactKind{} && copy.written.insert(row).second) announce({copy.table.written, row});
    return Outcome::done();
  });
}

/// The agent keeps a VLAN, LAG or VRF until nothing is left in it.
Outcome CopyManager::remove(Copy& copy, std::string_view key) {
  return source_deleted(source_of(copy.table, key), target_of(copy.table, key), [this, &copy, row = std::string{key}] {
    if (copy.written.erase(row) != 0) withdraw({copy.table.written, row});
    return Outcome::done();
  });
}

}  // namespace rondo::managers
