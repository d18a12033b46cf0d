#include "switch_agent/fdb.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "dataplane/kernel_status.h"
#include "rondo/orch/runtime.h"
#include "switch_agent/answer.h"
#include "switch_agent/facts.h"
#include "switch_agent/priorities.h"
#include "switch_agent/program.h"

namespace rondo::switch_agent {

std::string fdb_key(std::string_view vlan, const MacAddress& mac) { return std::string{vlan} + ":" + mac.to_string(); }

Fdb::Fdb(Runtime& runtime, Programmer& programmer, const PortIds& ids)
    : Orch(runtime, "fdb", kFdb), programmer_(programmer), ids_(ids), retry_timer_("fdb retry", kFdb, [this] { retry_due(); }) {
  consumer_ = consume("FDB_TABLE", this, &Fdb::set, &Fdb::remove, {.set_replaces_delete = true});
  runtime.scheduler().add(retry_timer_);
  provide(kFdbFree, [this](std::string_view key) {
    const Result<FdbKey> parsed = parse_fdb_key(key);
    return !parsed || !waiting_.contains({parsed->mac, parsed->vlan});
  });
  runtime.explain(kFdbFree, [this](std::string_view key) {
    const Result<FdbKey> parsed = parse_fdb_key(key);
    const auto it = parsed ? entries_.find({parsed->vlan, parsed->mac}) : entries_.end();
    return FactOrigin{"", "", it == entries_.end() ? std::string{} : it->second.holder};
  });
  observe(kVlanMember, [this](std::string_view key, bool is_member) { member_changed(key, is_member); });
  provide(kFdbSpelling, [this](std::string_view key) {
    const Result<FdbKey> parsed = parse_fdb_key(key);
    return !parsed || !entries_.contains({parsed->vlan, parsed->mac});
  });
  runtime.explain(kFdbSpelling, [this](std::string_view key) { return FactOrigin{"", "", spellings_.explain("entry", "FDB_TABLE", key)}; });
}

/// The device of the member in the bridge of the VLAN: the port, or its 802.1Q device. The port of a tagged member may be in the bridge,
/// too: an earlier run or another program put it there.
IfIndex Fdb::device_of(const Place& place, std::string_view port) const {
  if (!holds({kTaggedMember, place.first + ":" + std::string{port}})) return ids_.is_in(port, place.first) ? ids_.find(port) : IfIndex{};
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
  const Fact member{kVlanMember, place.first + ":" + row->port};
  const auto known = entries_.find(place);
  if (known != entries_.end() && !holds({kVlanMember, place.first + ":" + known->second.port})) {
    Entry& entry = known->second;
    entry.present = false;
    entry.holder.clear();
    entry.denials = 0;
    entry.refused_again.clear();
    retry_now({place.second, place.first});
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
  retry_now({place.second, place.first});
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
    await_end(place, status);
    return Outcome::wait_for({kFdbFree, fdb_key(place.first, place.second)});
  }
  entry.denials = 0;
  if (!status.ok()) {
    Outcome outcome = outcome_of_set(status);
    if (outcome.kind() == Outcome::Kind::Reject && !entry.applied) gone(place);
    return outcome;
  }
  if (device_of(place, entry.port) != device) return Outcome::retry_after(kSoon, device_changed(entry.port));
  entry.applied = true;
  entry.present = true;
  entry.refused_again.clear();
  return Outcome::done_while({kVlanMember, place.first + ":" + entry.port});
}

/// The static entry of an earlier row goes first: the bridge learns nothing beside it.
Outcome Fdb::set_dynamic(const Place& place) {
  Entry& entry = entries_.find(place)->second;
  refusals_.forget(fdb_key(place.first, place.second));
  const bool was_static = std::exchange(entry.present, false);
  entry.holder.clear();
  entry.denials = 0;
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

/// Who has the address in the bridge. The kernel marks an entry that a program makes local as it marks the addresses of its devices.
std::string Fdb::holder_words(const Place& place, const Status& answer) const {
  std::string words{answer.message()};
  const std::size_t at = words.find(kAddressOfDevice);
  bool is_of_device = at == std::string::npos;
  if (!is_of_device) {
    ids_.for_each_device_at(place.second, [&](const std::string& name) {
      is_of_device = is_of_device || name == place.first || ids_.is_in(name, place.first);
    });
  }
  if (!is_of_device) words.replace(at, std::string::npos, "another program made the entry of this address local ('bridge fdb' shows it)");
  return words;
}

/// The delay doubles from kForeignRetry to kSlowestForeignRetry.
void Fdb::await_end(const Place& place, const Status& answer) {
  Entry& entry = entries_.find(place)->second;
  entry.present = false;
  entry.holder = holder_words(place, answer);
  entry.denied_at = runtime().scheduler().now();
  const Duration delay = doubled(kForeignRetry, entry.denials++, kSlowestForeignRetry);
  const Waiting waiting{place.second, place.first};
  const auto [it, added] = waiting_.try_emplace(waiting);
  if (!added) due_.erase({it->second, waiting});
  it->second = entry.denied_at + delay;
  due_.emplace(it->second, waiting);
  retry_timer_.arm_at(due_.begin()->first);
  if (added) withdraw({kFdbFree, fdb_key(place.first, place.second)});
}

void Fdb::retry_now(const Waiting& waiting) {
  const auto it = waiting_.find(waiting);
  if (it == waiting_.end()) return;
  due_.erase({it->second, waiting});
  waiting_.erase(it);
  announce({kFdbFree, fdb_key(waiting.second, waiting.first)});
}

void Fdb::retry_due() {
  while (!due_.empty() && due_.begin()->first <= runtime().scheduler().now()) retry_now(Waiting{due_.begin()->second});
  if (!due_.empty()) retry_timer_.arm_at(due_.begin()->first);
}

/// Not sooner than kForeignRetry after the last answer, because the other program may change its entry often.
void Fdb::retry_soon(const MacAddress& mac) {
  for (auto it = waiting_.lower_bound({mac, {}}); it != waiting_.end() && it->first.first == mac; ++it) {
    const auto entry = entries_.find({it->first.second, mac});
    const Instant soon = entry == entries_.end() ? runtime().scheduler().now() : entry->second.denied_at + kForeignRetry;
    if (soon >= it->second) continue;
    due_.erase({it->second, it->first});
    it->second = soon;
    due_.emplace(soon, it->first);
  }
  if (!due_.empty()) retry_timer_.arm_at(due_.begin()->first);
}

/// The row of an entry whose membership ends waits for the membership again.
void Fdb::member_changed(std::string_view key, bool is_member) {
  if (is_member) return;
  std::vector<Waiting> ended;
  for (const auto& [waiting, due] : waiting_) {
    const auto entry = entries_.find({waiting.second, waiting.first});
    if (entry != entries_.end() && key == waiting.second + ":" + entry->second.port) ended.push_back(waiting);
  }
  for (const Waiting& waiting : ended) retry_now(waiting);
}

void Fdb::gone(const Place& place) {
  retry_now({place.second, place.first});
  entries_.erase(place);
  const std::string canonical = fdb_key(place.first, place.second);
  if (spellings_.release(canonical)) announce({kFdbSpelling, canonical});
}

}  // namespace rondo::switch_agent
