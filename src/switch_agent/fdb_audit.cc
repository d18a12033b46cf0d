// fdb_audit.cc: static entries of VLANs that differ from what was ordered, their repair, and the states of FDB_TABLE rows.
#include <algorithm>

#include "switch_agent/facts.h"
#include "switch_agent/fdb.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

namespace {

std::string words_of(const std::string& vlan, const MacAddress& mac, std::string_view port, bool is_sticky = true) {
  return "static entry " + mac.to_string() + " of " + vlan + " on " + std::string{port} + (is_sticky ? "" : ", which a frame may move");
}

}  // namespace

bool Fdb::compare(FdbLook& look, std::size_t limit, Findings& findings) const {
  look.walk(entries_, limit, [&](const Place& place, const Entry& entry) {
    const IfIndex bridge = ids_.find(place.first);
    const FdbEntry* const actual = bridge ? look.find(std::pair{bridge, place.second},
                                                      [](const FdbEntry& one) {
                                                        return std::pair{one.bridge, one.mac};
                                                      })
                                          : nullptr;
    if (actual != nullptr && entry.is_static) look.want(*actual);
    const bool is_due = entry.is_static && entry.applied && !entry.leaving && entry.orders == 0 && entry.holder.empty() &&
                        device_of(place, entry.port) == entry.device && holds({kVlanMember, place.first + ":" + entry.port});
    // The kernel names the owner of a bridge, not of an entry: those of a bridge of another program are not read.
    const bool is_same = actual != nullptr && actual->is_sticky && actual->port == entry.device;
    if (!is_due || !ids_.device(place.first).ours || is_same) return;
    const DriftKind kind = actual != nullptr ? DriftKind::Changed : DriftKind::Missing;
    const FdbDelete object{entry.device, place.second};
    findings.add(kind, object, [&] {
      return Drift{
          .kind = kind,
          .object = object,
          .table = "FDB_TABLE",
          .key = spellings_.holder(fdb_key(place.first, place.second)),
          .wanted = words_of(place.first, place.second, entry.port),
          .actual = actual == nullptr ? std::string{} : words_of(place.first, place.second, ids_.name(actual->port), actual->is_sticky)};
    });
  });
  const auto object_of = [](const FdbEntry& entry) { return FdbDelete{entry.port, entry.mac}; };
  return look.add_unwanted(
      limit, findings, object_of, [&](const FdbEntry& entry) { return has(object_of(entry)) || is_foreign(entry); },
      [this](const FdbEntry& entry) {
        return words_of(std::string{ids_.name(entry.bridge)}, entry.mac, ids_.name(entry.port), entry.is_sticky);
      });
}

Fdb::HeldByOthers Fdb::held_by_others() const {
  HeldByOthers held;
  for (const auto& [place, entry] : entries_) {
    if (entry.holder.empty() || entry.leaving) continue;
    if (held.rows++ == 0) held.first = fdb_key(place.first, place.second) + ": " + entry.holder;
  }
  return held;
}

bool Fdb::is_foreign(const FdbEntry& entry) const {
  const std::string_view port = ids_.name(entry.port);
  const PortIds::Device device = ids_.device(port);
  return !entry.is_sticky && !holds(configured(port)) && !(device.ours && device.vlan != 0);
}

const Fdb::Entry* Fdb::find(const FdbDelete& object, Place& place) const {
  place = {std::string{ids_.name(ids_.device(ids_.name(object.port)).master)}, object.mac};
  const auto it = entries_.find(place);
  return it == entries_.end() || !it->second.is_static ? nullptr : &it->second;
}

void Fdb::program_again(const FdbDelete& object) {
  retry_soon(object.mac);
  Place place;
  const Entry* const entry = find(object, place);
  if (entry == nullptr) return;
  if (entry->orders > 0) entries_.find(place)->second.denials = 0;  // The order may have been denied before the change: retry soon.
  if (!entry->applied || entry->leaving || entry->orders > 0 || !entry->holder.empty()) return;
  program(programmer_, FdbSet{entry->device, place.second}, [this, place](const Status& status) { repaired(place, status); });
}

/// The next audit detects a refusal, and tries again. If another program has the place, the row waits for the end of that by itself.
void Fdb::repaired(const Place& place, const Status& answer) {
  const auto it = entries_.find(place);
  if (it == entries_.end() || !it->second.is_static || it->second.leaving || it->second.orders > 0) return;
  Entry& entry = it->second;
  if (!holds({kVlanMember, place.first + ":" + entry.port})) return;
  const bool is_held = answer.code() == StatusCode::AlreadyExists;
  entry.refused_again = answer.ok() || is_held ? std::string{} : std::string{answer.message()};
  if (!is_held) return;
  entry.present = false;
  entry.holder = holder_words(place, answer);
  requeue(consumer_, spellings_.holder(fdb_key(place.first, place.second)));
}

bool Fdb::is_awaited(const FdbDelete& object) const {
  const auto it = waiting_.lower_bound({object.mac, {}});
  if (it != waiting_.end() && it->first.first == object.mac) return true;
  Place place;
  const Entry* const entry = find(object, place);
  return entry != nullptr && entry->orders > 0 && entry->denials > 0;
}

bool Fdb::has(const FdbDelete& object) const {
  Place place;
  return find(object, place) != nullptr;
}

bool Fdb::is_changed_by(const FdbDelete& object, const ObjectEvent& event) const {
  Place place;
  const Entry* const entry = find(object, place);
  if (entry == nullptr || entry->leaving || !entry->holder.empty()) return false;
  if (event.is_learned) return entry->present && entry->orders == 0;  // Otherwise it was learned before the order.
  return !(event.is_set && object.port == entry->device);
}

RowInPlane Fdb::state_of(std::string_view key) const {
  const Result<FdbKey> parsed = parse_fdb_key(key);
  if (!parsed) return {};
  const std::string canonical = fdb_key(parsed->vlan, parsed->mac);
  if (const Status* const why = refusals_.why(canonical)) return {PlaneState::Refused, std::string{why->message()}, {}};
  const auto it = entries_.find({parsed->vlan, parsed->mac});
  if (it == entries_.end() || it->second.leaving || !spellings_.may_act(canonical, key, true)) return {};
  const Entry& entry = it->second;
  if (!entry.holder.empty()) return {PlaneState::Foreign, entry.holder, {}};
  if (!entry.applied) return {};
  if (!entry.is_static) return {PlaneState::Installed, "the bridge learns it itself", {}};
  if (!entry.refused_again.empty()) {
    return {PlaneState::Lost, "the kernel does not have it and refuses it: " + entry.refused_again, {}};
  }
  const Fact member{kVlanMember, parsed->vlan + ":" + entry.port};
  if (!holds(member)) return {PlaneState::Withdrawn, "it went when " + entry.port + " left " + parsed->vlan, {member}};
  return {entry.present ? PlaneState::Installed : PlaneState::Pending, {}, {}};
}

PlaneCounts Fdb::state_counts() const {
  PlaneCounts counts{.refused = refusals_.count()};
  for (const auto& [place, entry] : entries_) {
    if (!entry.holder.empty() || !entry.applied || entry.leaving || refusals_.why(fdb_key(place.first, place.second)) != nullptr) continue;
    if (entry.is_static && !entry.refused_again.empty()) {
      ++counts.lost;
    } else if (entry.is_static && !holds({kVlanMember, place.first + ":" + entry.port})) {
      ++counts.withdrawn;
    } else {
      ++(entry.present || !entry.is_static ? counts.installed : counts.pending);
    }
  }
  return counts;
}

}  // namespace rondo::switch_agent
