// interfaces_audit.cc: addresses that differ from what was ordered, and their repair.
#include <algorithm>

#include "switch_agent/facts.h"
#include "switch_agent/interfaces.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

namespace {

constexpr std::uint32_t kPassingMetric = 1;

/// IPv6 identifies an address by its bits alone, IPv4 by its bits and prefix length.
bool is_same(const Prefix& a, const Prefix& b) noexcept { return a.address == b.address && (a.address.is_v6() || a.length == b.length); }

std::string words_of(const AddressEntry& entry, const std::string& port, bool is_wanted) {
  return "address " + entry.address.to_string() + (port.empty() ? "" : " on " + port) +
         (entry.expires                          ? " that expires"
          : is_wanted && !entry.has_subnet_route ? " without the route to its subnet"
                                                 : "");
}

}  // namespace

bool Interfaces::compare(AddressLook& look, std::size_t limit, Findings& findings) {
  look.walk(interfaces_, limit, [&](const std::string& port, Interface& interface) {
    compare_port(port, interface, look, findings);
    limit -= std::min(limit - 1, interface.addresses.size());
  });
  const auto object_of = [](const AddressEntry& entry) { return AddressDelete{entry.port, entry.address}; };
  // A row may have asked for it after the Orch's own addresses were compared.
  const auto is_left = [&](const AddressEntry& entry) { return !entry.ours || has(object_of(entry)); };
  return look.add_unwanted(limit, findings, object_of, is_left,
                           [this](const AddressEntry& entry) { return words_of(entry, std::string{ids_.name(entry.port)}, false); });
}

void Interfaces::compare_port(const std::string& port, Interface& interface, AddressLook& look, Findings& findings) {
  const IfIndex id = ids_.find(port);
  if (!id) return;
  const auto place = [](const AddressEntry& entry) { return std::pair{entry.port, entry.address}; };
  for (auto& [prefix, address] : interface.addresses) {
    const AddressEntry* actual = nullptr;
    auto it = std::ranges::lower_bound(look.actual, std::pair{id, Prefix{prefix.address, 0}}, {}, place);
    for (; it != look.actual.end() && it->port == id && it->address.address == prefix.address; ++it) {
      if (!is_same(it->address, prefix)) continue;
      look.want(*it);
      if (actual == nullptr || it->address == prefix) actual = &*it;
    }
    if (actual != nullptr) address.check = actual->check;
    // A device without IPv6 keeps no IPv6 address, one that is down keeps those that were set since.
    const bool has_family = !prefix.address.is_v6() || (holds({kIpv6, port}) && (holds({kAdminUp, port}) || address.present));
    const bool is_due = address.applied && !address.leaving && has_family;
    const bool lacks_route = actual != nullptr && !actual->has_subnet_route && holds({kAdminUp, port});
    // Refused before: it is retried until the kernel accepts it, and `why` names the cause.
    const bool is_refused = actual == nullptr && !address.present && !address.trouble.empty();
    if (!is_due || is_refused || (actual != nullptr && actual->address == prefix && !actual->expires && !lacks_route)) continue;
    const DriftKind kind = actual == nullptr ? DriftKind::Missing : DriftKind::Changed;
    const AddressDelete object{id, actual == nullptr ? prefix : actual->address};
    findings.add(kind, object, [&, &wanted = prefix] {
      return Drift{.kind = kind,
                   .object = object,
                   .table = "INTF_TABLE",
                   .key = port + ":" + wanted.to_string(),
                   .wanted = "address " + wanted.to_string() + " on " + port,
                   .actual = actual == nullptr ? std::string{} : words_of(*actual, port, true)};
    });
  }
}

void Interfaces::program_again(DriftKind kind, const AddressDelete& object) {
  const std::string port{ids_.name(object.port)};
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return;
  auto& addresses = it->second.addresses;
  for (auto entry = addresses.lower_bound(Prefix{object.address.address, 0}); entry != addresses.end(); ++entry) {
    const Prefix& prefix = entry->first;
    Address& address = entry->second;
    if (prefix.address != object.address.address) break;
    if (!is_same(prefix, object.address) || address.leaving || !address.applied) continue;
    address.present = false;
    if (kind == DriftKind::Changed && prefix != object.address) program(programmer_, object, [](const Status&) {});
    // The next order sets it back to 0, and the kernel makes the route to the subnet again. That of IPv6 it makes with any order.
    if (kind == DriftKind::Changed && !prefix.address.is_v6())
      program(programmer_, AddressSet{object.port, prefix, kPassingMetric}, [](const Status&) {});
    order_again(port, object.port, prefix);
  }
}

void Interfaces::note_check(const AddressDelete& address, DuplicateCheck check) {
  const auto it = interfaces_.find(ids_.name(address.port));
  if (it == interfaces_.end()) return;
  const auto entry = it->second.addresses.find(address.address);
  if (entry != it->second.addresses.end()) entry->second.check = check;
}

bool Interfaces::has(const AddressDelete& object) const {
  const auto it = interfaces_.find(ids_.name(object.port));
  if (it == interfaces_.end()) return false;
  // The data plane names the subnet itself when its route was deleted.
  const auto is_in_subnet = [&](const auto& entry) { return entry.first.network() == object.address; };
  if (std::ranges::any_of(it->second.addresses, is_in_subnet)) return true;
  if (!object.address.address.is_v6()) return it->second.addresses.contains(object.address);
  const auto entry = it->second.addresses.lower_bound(Prefix{object.address.address, 0});
  return entry != it->second.addresses.end() && is_same(entry->first, object.address);
}

void Interfaces::add_objects_on(std::string_view port, IfIndex device, std::vector<DeleteOrder>& objects) const {
  const auto it = interfaces_.find(port);
  if (it == interfaces_.end()) return;
  for (const auto& [prefix, address] : it->second.addresses) objects.emplace_back(AddressDelete{device, prefix});
}

}  // namespace rondo::switch_agent
