#include "switch_agent/fdb.h"

#include <utility>
#include <vector>

#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

std::string fdb_key(std::string_view vlan, const MacAddress& mac) { return std::string{vlan} + ":" + mac.to_string(); }

Fdb::Fdb(Runtime& runtime, Programmer& programmer, const PortIds& ids) : Orch(runtime, "fdb", kFdb), programmer_(programmer), ids_(ids) {
  consume("FDB_TABLE", this, &Fdb::set, &Fdb::remove, {.set_replaces_delete = true});
  provide(kFdbSpelling, [this](std::string_view key) {
    const Result<FdbKey> parsed = parse_fdb_key(key);
    return !parsed || !entries_.contains({parsed->vlan, parsed->mac});
  });
  runtime.explain(kFdbSpelling, [this](std::string_view key) { return FactOrigin{"", "", spellings_.explain("entry", "FDB_TABLE", key)}; });
}

/// The device of the member in the bridge of the VLAN: the port, or its 802.1Q device.
IfIndex Fdb::device_of(const Place& place, std::string_view port) const {
  if (ids_.is_in(port, place.first)) return ids_.find(port);
  const Result<std::uint16_t> number = parse_vlan_name(place.first);
  const std::string tagged = number ? tagged_port_name(port, *number) : std::string{};
  return ids_.is_in(tagged, place.first) ? ids_.find(tagged) : IfIndex{};
}

Outcome Fdb::set(std::string_view key, const Fields& fields) {
  const Result<FdbKey> parsed = parse_fdb_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  const Result<FdbRow> row = parse_fdb(fields);
  if (!row) return Outcome::reject(row.error());
  const Place place{parsed->vlan, parsed->mac};
  const std::string canonical = fdb_key(place.first, place.second);
  const Constraint member{kVlanMember, place.first + ":" + row->port};
  const auto known = entries_.find(place);
  if (known != entries_.end() && !holds({kVlanMember, place.first + ":" + known->second.port})) {
    known->second.present = false;
    known->second.holder.clear();
  }
  if (!holds(member)) {
    refusals_.forget(canonical);
    return Outcome::wait_for(member);
  }
  if (!spellings_.may_act(canonical, key, known != entries_.end())) {
    spellings_.contest(canonical);
    return Outcome::wait_for({kFdbSpelling, canonical});
  }
  spellings_.take(canonical, key);
  Entry& entry = entries_[place];
  entry.leaving = false;
  entry.port = row->port;
  entry.is_static = row->is_static;
  return row->is_static ? set_static(place) : set_dynamic(place);
}

/// An entry that was on another port moves.
Outcome Fdb::set_static(const Place& place) {
  Entry& entry = entries_.find(place)->second;
  entry.device = device_of(place, entry.port);
  if (!entry.device) return Outcome::retry_after(kSoon, device_changed(entry.port));  // The end of the membership is not announced yet.
  ++entry.orders;
  program(programmer_, FdbSet{entry.device, place.second},
          [this, ticket = current_ticket(), place, device = entry.device](const Status& status) {
            settle(ticket, refusals_.note(fdb_key(place.first, place.second), answered(place, device, status)));
          });
  return Outcome::staged();
}

Outcome Fdb::answered(const Place& place, IfIndex device, const Status& status) {
  const auto it = entries_.find(place);
  if (it == entries_.end()) {
    return Outcome::retry_after(kSoon, Status{StatusCode::Unavailable, "a row that spells the address otherwise was deleted"});
  }
  Entry& entry = it->second;
  if (entry.orders > 0) --entry.orders;
  entry.holder.clear();
  if (status.code() == StatusCode::AlreadyExists) {
    entry.present = false;
    entry.holder = std::string{status.message()};
    return Outcome::retry_after(kForeignRetry, status);
  }
  if (!status.ok()) {
    Outcome outcome = outcome_of_set(status);
    if (outcome.kind() == Outcome::Kind::Reject && !entry.applied) gone(place);
    return outcome;
  }
  if (device_of(place, entry.port) != device) return Outcome::retry_after(kSoon, device_changed(entry.port));
  entry.applied = true;
  entry.present = true;
  entry.refused_again.clear();
  entry.is_held = false;
  return Outcome::done_while({kVlanMember, place.first + ":" + entry.port});
}

/// The static entry of an earlier row goes first: the bridge learns nothing beside it.
Outcome Fdb::set_dynamic(const Place& place) {
  Entry& entry = entries_.find(place)->second;
  refusals_.forget(fdb_key(place.first, place.second));
  const bool was_static = std::exchange(entry.present, false);
  entry.holder.clear();
  entry.applied = true;
  if (!was_static || !entry.device) return Outcome::done();
  program(programmer_, FdbDelete{entry.device, place.second}, [this, ticket = current_ticket(), place](const Status& status) {
    Outcome outcome = outcome_of_delete(status);
    if (const auto it = entries_.find(place); it != entries_.end() && outcome.kind() != Outcome::Kind::Done) it->second.present = true;
    settle(ticket, std::move(outcome));
  });
  return Outcome::staged();
}

Outcome Fdb::remove(std::string_view key) {
  const Result<FdbKey> parsed = parse_fdb_key(key);
  if (!parsed) return Outcome::reject_key(parsed.error());
  const Place place{parsed->vlan, parsed->mac};
  const std::string canonical = fdb_key(place.first, place.second);
  const auto it = entries_.find(place);
  if (it == entries_.end()) return Outcome::done();
  if (!spellings_.may_act(canonical, key, true)) return Outcome::done();  // Another row has the entry.
  refusals_.forget(canonical);
  Entry& entry = it->second;
  entry.leaving = true;
  const bool has_it = entry.is_static && entry.device && entry.holder.empty() && device_of(place, entry.port) == entry.device;
  if (!has_it) {
    gone(place);  // It went with its membership, or is the bridge's or of another program.
    return Outcome::done();
  }
  program(programmer_, FdbDelete{entry.device, place.second}, [this, ticket = current_ticket(), place](const Status& status) {
    Outcome outcome = outcome_of_delete(status);
    if (outcome.kind() == Outcome::Kind::Done) gone(place);
    settle(ticket, std::move(outcome));
  });
  return Outcome::staged();
}

void Fdb::gone(const Place& place) {
  entries_.erase(place);
  const std::string canonical = fdb_key(place.first, place.second);
  if (spellings_.release(canonical)) announce({kFdbSpelling, canonical});
}

}  // namespace rondo::switch_agent
