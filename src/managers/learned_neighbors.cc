#include "managers/learned_neighbors.h"

#include <algorithm>
#include <string>

#include "managers/priorities.h"
#include "orch/parked.h"
#include "switch_agent/facts.h"
#include "switch_agent/neighbors.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {

constexpr std::string_view kTable = "NEIGH_TABLE";
constexpr Duration kTick = 250ms;
/// Facts that one tick examines, and addresses that it lets the kernel resolve: 10 us each.
constexpr std::size_t kResolvedPerTick = 64;
/// The kernel sends three requests, a second apart. Then it is asked again after this pause, which doubles.
constexpr Duration kFirstPause = 4s;
constexpr Duration kLastPause = 30s;
/// True if the row is ours.
bool is_learned(const Fields& fields) {
  const Result<MacAddress> neigh = MacAddress::parse(fields.find("neigh").value_or(""));
  const Result<MacAddress> learned = MacAddress::parse(fields.find("learned").value_or(""));
  return neigh && learned && *neigh == *learned;
}

std::pair<std::string, IpAddress> place_of(const RowName& name) {
  const auto key = switch_agent::parse_neighbor_key(name.key);
  return {key->port, key->address};
}

RowName name_of(const std::pair<std::string, IpAddress>& place) {
  return {std::string{kTable}, switch_agent::neighbor_key(place.first, place.second)};
}

}  // namespace

LearnedNeighbors::LearnedNeighbors(Runtime& runtime, LearnedNeighborsOptions options)
    : Source("learned neighbors", kLearnedNeighbors),
      runtime_(runtime),
      options_(std::move(options)),
      timer_("learned neighbors timer", kLearnedNeighbors, [this] { tick(); }),
      rows_(runtime.scheduler(), runtime.store(),
            {.name = "learned neighbors",
             .priority = kLearnedNeighbors,
             .again = [this](const RowName& name) { note(place_of(name)); },
             .yields = true}) {}

LearnedNeighbors::~LearnedNeighbors() = default;

Result<std::unique_ptr<LearnedNeighbors>> LearnedNeighbors::open(Runtime& runtime, LearnedNeighborsOptions options) {
  std::unique_ptr<LearnedNeighbors> neighbors{new LearnedNeighbors(runtime, std::move(options))};
  if (Status followed = neighbors->follow(); !followed.ok()) return failure(std::move(followed));
  runtime.scheduler().add(*neighbors);
  runtime.scheduler().add(neighbors->timer_);
  neighbors->timer_.arm_at(runtime.scheduler().now());
  return neighbors;
}

Status LearnedNeighbors::follow() {
  auto neighbors = runtime_.tap(kTable, [this](const RowEvent& event) { neighbor_row(event); });
  if (!neighbors) return neighbors.error();
  neighbor_rows_ = std::move(*neighbors);
  auto interfaces = runtime_.tap("INTF_TABLE", [this](const RowEvent& event) { interface_row(event); });
  if (!interfaces) return interfaces.error();
  interface_rows_ = std::move(*interfaces);
  return {};
}

LearnedNeighbors::Counts LearnedNeighbors::counts() const noexcept {
  return {.kernel = kernel_.size(),
          .rows = rows_.rows().size(),
          .resolving = probes_.size(),
          .repaired = rows_.repaired(),
          .refused = rows_.refused()};
}

// --- events

void LearnedNeighbors::neighbor_event(const NeighborEvent& event) {
  if (event.removed) {
    kernel_.erase({event.port, event.address});
  } else {
    kernel_.insert_or_assign({event.port, event.address}, event.mac);
  }
  if (const auto name = names_.find(event.port); name != names_.end()) note({name->second, event.address});
}

void LearnedNeighbors::link_event(const LinkEvent& event) {
  const auto known = names_.find(event.port);
  if (known != names_.end() && known->second != event.name) {  // It was renamed.
    const std::string old = known->second;
    devices_.erase(old);
    note_port(old);
  }
  if (event.removed) {
    names_.erase(event.port);
    devices_.erase(event.name);
    const auto first = kernel_.lower_bound({event.port, IpAddress{}});
    kernel_.erase(first, std::find_if(first, kernel_.end(), [&](const auto& entry) { return entry.first.first != event.port; }));
  } else {
    names_.insert_or_assign(event.port, event.name);
    devices_.insert_or_assign(event.name, Device{event.port, event.carrier});
  }
  note_port(event.name);
}

void LearnedNeighbors::neighbor_row(const RowEvent& event) {
  using What = RowEvent::What;
  const bool is_taken = event.what == What::Taken;
  const bool is_parked_delete = event.what == What::Parked && event.op == ChangeOp::Delete;
  if (!is_taken && !is_parked_delete && (event.what != What::Done || event.op != ChangeOp::Delete)) return;
  const Result<switch_agent::NeighborKey> key = switch_agent::parse_neighbor_key(event.key);
  if (!key) return;
  const Place place{key->port, key->address};
  const RowName name = name_of(place);
  const bool is_canonical = event.key == name.key;
  if (is_canonical) is_parked_delete ? static_cast<void>(used_.insert(place)) : static_cast<void>(used_.erase(place));
  if (is_taken) {
    const bool is_ours = is_canonical && event.op == ChangeOp::Set && is_learned(event.change->fields());
    if (is_canonical) rows_.taken(name, *event.change, is_ours);
    if (event.op == ChangeOp::Set && !is_ours) {
      others_[place].emplace(event.key);
    } else if (const auto others = others_.find(place); others != others_.end()) {
      others->second.erase(std::string{event.key});
      if (others->second.empty()) others_.erase(others);
    }
  }
  note(place);
}

void LearnedNeighbors::interface_row(const RowEvent& event) {
  using What = RowEvent::What;
  const bool ends = event.op == ChangeOp::Delete && (event.what == What::Taken || event.what == What::Parked || event.what == What::Done);
  if (ends || (event.op == ChangeOp::Set && event.what == What::Done)) interface_changed(event.key, !ends);
}

void LearnedNeighbors::interface_changed(std::string_view text, bool exists) {
  const Result<switch_agent::InterfaceKey> key = switch_agent::parse_interface_key(text);
  if (!key) return;
  Port& port = ports_[key->port];
  if (!key->address) {
    port.is_interface = exists;
  } else if (exists) {
    port.addresses.insert_or_assign(std::string{text}, key->address->address.is_v6());
  } else {
    port.addresses.erase(std::string{text});
  }
  if (!port.is_interface && port.addresses.empty()) ports_.erase(key->port);
  note_port(key->port);
}

void LearnedNeighbors::note(Place place) {
  changed_.insert(std::move(place));
  if (may_write_) wake();
}

void LearnedNeighbors::note_port(const std::string& port) {
  const auto& rows = rows_.rows();
  const std::string first = port + ":";
  for (auto row = rows.lower_bound({std::string{kTable}, first}); row != rows.end() && row->first.key.starts_with(first); ++row) {
    note(place_of(row->first));
  }
  const auto device = devices_.find(port);
  if (device == devices_.end()) return;
  const IfIndex index = device->second.index;
  for (auto entry = kernel_.lower_bound({index, IpAddress{}}); entry != kernel_.end() && entry->first.first == index; ++entry) {
    note({port, entry->first.second});
  }
}

// --- rows

bool LearnedNeighbors::is_owned(const Place& place) const {
  const auto port = ports_.find(place.first);
  if (port == ports_.end() || !port->second.is_interface) return false;
  if (switch_agent::is_link_local(place.second)) return true;  // Every IPv6 device has its own link-local subnet.
  return std::ranges::any_of(port->second.addresses, [&](const auto& address) { return address.second == place.second.is_v6(); });
}

const MacAddress* LearnedNeighbors::learned(const Place& place) const {
  const auto device = devices_.find(place.first);
  if (device == devices_.end()) return nullptr;
  const auto known = kernel_.find({device->second.index, place.second});
  return known == kernel_.end() ? nullptr : &known->second;
}

Turn LearnedNeighbors::run(const Budget& budget) {
  Turn turn;
  while (turn.items < budget.items && has_backlog()) {
    const Place place = *changed_.begin();
    changed_.erase(changed_.begin());
    ++turn.items;
    refresh(place);
  }
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

void LearnedNeighbors::refresh(const Place& place) {
  const MacAddress* const mac = learned(place);
  if (mac != nullptr) probes_.erase(place);
  const RowName name = name_of(place);
  if (mac != nullptr && is_owned(place) && !others_.contains(place)) {
    const std::string text = mac->to_string();
    rows_.set(name, {}, Record::make(name.key, {{"neigh", text}, {"family", place.second.is_v6() ? "IPv6" : "IPv4"}, {"learned", text}}));
  } else if (settled_) {  // Otherwise it is compared again when the start is over.
    rows_.remove(name);
  }
}

// --- the timer

void LearnedNeighbors::tick() {
  if (!may_write_ && (!options_.may_write || options_.may_write())) may_write_ = true;
  if (!settled_ && may_write_ && (!options_.is_settled || options_.is_settled())) {
    settled_ = true;
    rows_.start_check();
    for (const auto& [name, row] : rows_.rows()) note(place_of(name));
  }
  if (may_write_ && options_.resolve) resolve_needed();
  if (has_backlog()) wake();
  timer_.arm_at(runtime_.scheduler().now() + kTick);
}

void LearnedNeighbors::need(const Place& place, std::size_t& left) {
  needed_.insert(place);
  if (left > 0 && probe(place, runtime_.scheduler().now())) --left;
}

/// Walks through the awaited facts, a page a tick, and forgets the probes of what a whole walk did not find.
void LearnedNeighbors::resolve_needed() {
  std::size_t left = kResolvedPerTick;
  const auto need_named = [&](std::string_view name) {
    if (const auto key = switch_agent::parse_neighbor_key(name)) need({key->port, key->address}, left);
  };
  for (const ParkedFact& waiting : parked_facts(runtime_, kResolvedPerTick, walk_place_)) {
    if (waiting.fact.kind == switch_agent::kNeighbor) need_named(waiting.fact.key);
  }
  if (walk_place_ != kNoPlace) return;
  walk_place_ = 0;
  if (options_.for_each_left_out) options_.for_each_left_out(need_named);
  for (const Place& place : used_) need(place, left);
  std::erase_if(probes_, [this](const auto& probe) { return !needed_.contains(probe.first); });
  needed_.clear();
}

std::string LearnedNeighbors::words_about(std::string_view key) const {
  const auto parsed = switch_agent::parse_neighbor_key(key);
  const auto probe = parsed ? probes_.find({parsed->port, parsed->address}) : probes_.end();
  if (probe == probes_.end() || probe->second.pause <= 2 * kFirstPause) return {};  // It was asked once, a moment ago.
  return "the kernel is asked again and again to resolve " + parsed->address.to_string() + " on " + parsed->port +
         ", and no host has answered (ip neigh show dev " + parsed->port + ")";
}

bool LearnedNeighbors::probe(const Place& place, Instant now) {
  const auto device = devices_.find(place.first);
  if (device == devices_.end() || !device->second.carrier || !is_owned(place) || learned(place) != nullptr) return false;
  if (others_.contains(place)) return false;
  Probe& probe = probes_.try_emplace(place, Probe{now, kFirstPause}).first->second;
  if (now < probe.next) return false;
  probe.next = now + probe.pause;
  probe.pause = std::min(2 * probe.pause, kLastPause);
  static_cast<void>(options_.resolve(device->second.index, place.second));  // It is tried again after the pause.
  return true;
}

}  // namespace rondo::managers
