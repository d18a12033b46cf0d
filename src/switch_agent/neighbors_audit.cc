// neighbors_audit.cc: neighbours that differ from what was ordered, and their repair.
#include <algorithm>
#include <utility>

#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/neighbors.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

namespace {

std::string words_of(const std::string& port, const IpAddress& address, const MacAddress& mac, bool permanent) {
  return "neighbor " + address.to_string() + " at " + mac.to_string() + (port.empty() ? "" : " on " + port) +
         (permanent ? "" : ", not permanent");
}

}  // namespace

bool Neighbors::compare(NeighborLook& look, std::size_t limit, Findings& findings) const {
  look.walk(neighbors_, limit, [&](const Place& place, const Neighbor& neighbor) {
    const IfIndex id = ids_.find(place.first);
    const NeighborEntry* const actual = look.find(std::pair{id, place.second}, [](const NeighborEntry& entry) {
      return std::pair{entry.port, entry.address};
    });
    if (actual != nullptr) look.want(*actual);
    const bool is_due = id && neighbor.applied && !neighbor.learned && !neighbor.leaving && neighbor.orders == 0 &&
                        holds({kAdminUp, place.first}) && (!place.second.is_v6() || holds({kIpv6, place.first}));
    if (!is_due || (actual != nullptr && actual->mac == neighbor.mac && actual->permanent)) return;
    const DriftKind kind = actual != nullptr ? DriftKind::Changed : DriftKind::Missing;
    const NeighborDelete object{id, place.second};
    findings.add(kind, object, [&] {
      return Drift{.kind = kind,
                   .object = object,
                   .table = "NEIGH_TABLE",
                   .key = neighbor_key(place.first, place.second),
                   .wanted = words_of(place.first, place.second, neighbor.mac, true),
                   .actual = actual == nullptr ? std::string{} : words_of(place.first, place.second, actual->mac, actual->permanent)};
    });
  });
  const auto object_of = [](const NeighborEntry& entry) { return NeighborDelete{entry.port, entry.address}; };
  return look.add_unwanted(
      limit, findings, object_of, [&](const NeighborEntry& entry) { return has(object_of(entry)); },
      [this](const NeighborEntry& entry) {
        return words_of(std::string{ids_.name(entry.port)}, entry.address, entry.mac, entry.permanent);
      });
}

void Neighbors::program_again(const NeighborDelete& object) {
  order_again(object, [](const Status&) {});
}

void Neighbors::order_again(const NeighborDelete& object, std::function<void(const Status&)> then) {
  const auto it = neighbors_.find({std::string{ids_.name(object.port)}, object.address});
  if (it == neighbors_.end() || !it->second.applied || it->second.learned || it->second.leaving || it->second.orders > 0) return;
  // The next audit detects a refusal, and tries again.
  program(programmer_, NeighborSet{object.port, object.address, it->second.mac},
          [this, place = it->first, then = std::move(then)](const Status& status) {
            const auto repaired = neighbors_.find(place);
            if (repaired != neighbors_.end()) repaired->second.refused_again = status.ok() ? std::string{} : std::string{status.message()};
            then(status);
          });
}

void Neighbors::mac_changed(const std::string& port) {
  const IfIndex device = ids_.find(port);
  for (auto it = neighbors_.lower_bound({port, IpAddress{}}); it != neighbors_.end() && it->first.first == port; ++it) {
    it->second.is_dropped = it->second.orders > 0;
    if (it->second.is_dropped || !holds({kAdminUp, port})) continue;
    order_again(NeighborDelete{device, it->first.second}, [this, port](const Status& status) {
      if (!status.ok() && is_passing(status)) dropped_.add(port, kForeignRetry);
    });
  }
}

void Neighbors::add_objects_on(std::string_view port, IfIndex device, std::vector<DeleteOrder>& objects) const {
  for (auto it = neighbors_.lower_bound({std::string{port}, IpAddress{}}); it != neighbors_.end() && it->first.first == port; ++it) {
    if (!it->second.learned) objects.emplace_back(NeighborDelete{device, it->first.second});
  }
}

bool Neighbors::has(const NeighborDelete& object) const {
  const auto it = neighbors_.find({std::string{ids_.name(object.port)}, object.address});
  return it != neighbors_.end() && !it->second.learned;
}

}  // namespace rondo::switch_agent
