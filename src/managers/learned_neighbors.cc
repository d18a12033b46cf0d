#include "managers/learned_neighbors.h"

#include <algorithm>
#include <string>

#include "managers/priorities.h"
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
/// Neighbours that one page of the comparison with the store examines: rows of other programs cost 0.1 us each.
constexpr std::size_t kExamined = 4096;

/// The address that a row of ours names.
std::optional<MacAddress> learned_in(const Fields& fields) {
  const auto neigh = fields.find("neigh");
  const auto learned = fields.find("learned");
  if (!neigh || !learned) return std::nullopt;
  const Result<MacAddress> mac = MacAddress::parse(*neigh);
  const Result<MacAddress> known = MacAddress::parse(*learned);
  return mac && known && *mac == *known ? std::optional{*mac} : std::nullopt;
}

}  // namespace

LearnedNeighbors::LearnedNeighbors(Runtime& runtime, LearnedNeighborsOptions options)
    : Source("learned neighbors", kLearnedNeighbors),
      runtime_(runtime),
      options_(std::move(options)),
      timer_("learned neighbors again", kLearnedNeighbors, [this] { tick(); }),
      check_("learned neighbors check", kLearnedNeighbors, runtime.store(), check_options()) {}

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
  Counts counts{.kernel = kernel_.size(), .resolving = probes_.size(), .repaired = check_.repaired(), .refused = refused_};
  for (const auto& [place, rows] : rows_) counts.rows += rows.ours ? 1U : 0U;
  return counts;
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
  const bool is_canonical = event.key == switch_agent::neighbor_key(place.first, place.second);
  Rows& rows = rows_[place];
  if (is_canonical) rows.is_used = is_parked_delete;
  if (is_taken) {
    const std::optional<MacAddress> mac =
        is_canonical && event.op == ChangeOp::Set ? learned_in(event.change->fields()) : std::optional<MacAddress>{};
    if (is_canonical) rows.ours = mac;
    if (event.op == ChangeOp::Set && !mac) {
      rows.others.emplace(event.key);
    } else {
      rows.others.erase(std::string{event.key});
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
  for (auto row = rows_.lower_bound({port, IpAddress{}}); row != rows_.end() && row->first.first == port; ++row) note(row->first);
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
  const auto known = rows_.find(place);
  const std::optional<MacAddress> ours = known == rows_.end() ? std::nullopt : known->second.ours;
  const MacAddress* const mac = learned(place);
  if (mac != nullptr) probes_.erase(place);
  if (mac != nullptr && is_owned(place) && (known == rows_.end() || known->second.others.empty())) {
    if (ours == *mac) return;
    rows_[place].ours = *mac;
    return write_row(place, *mac);
  }
  if (known == rows_.end()) return;
  if (!ours) {
    if (known->second.is_empty()) rows_.erase(known);
    return;
  }
  if (!settled_) return;  // It is compared again when the start is over.
  known->second.ours.reset();
  write(place, Change::remove(switch_agent::neighbor_key(place.first, place.second)), ours);
}

void LearnedNeighbors::write_row(const Place& place, const MacAddress& mac) {
  const std::string text = mac.to_string();
  write(place,
        Change::set(switch_agent::neighbor_key(place.first, place.second),
                    {{"neigh", text}, {"family", place.second.is_v6() ? "IPv6" : "IPv4"}, {"learned", text}}),
        std::nullopt);
}

void LearnedNeighbors::write(const Place& place, Change change, std::optional<MacAddress> if_failed) {
  const Status begun =
      runtime_.store().write(kTable, std::move(change), [this, place, if_failed, life = std::weak_ptr{life_}](const Status& status) {
        if (!life.expired() && !status.ok()) write_failed(place, if_failed);
      });
  if (!begun.ok()) write_failed(place, if_failed);
}

void LearnedNeighbors::write_failed(const Place& place, const std::optional<MacAddress>& ours) {
  ++refused_;
  rows_[place].ours = ours;
  again_.insert(place);
}

// --- rows that the store lost

/// A row that differs in its fields was overwritten, and belongs to another program: only rows that are gone are written again.
RowCheckOptions LearnedNeighbors::check_options() {
  return {.page = [this](std::string& cursor, std::size_t max, std::vector<OwnRow>& rows) { page_of_rows(cursor, max, rows); },
          .is_current = [this](const OwnRow& row) { return current_row(row.key) != nullptr; },
          .repair =
              [this](const OwnRow& row, const Record&) {
                const auto key = switch_agent::parse_neighbor_key(row.key);
                if (const MacAddress* const mac = current_row(row.key); key && mac != nullptr) write_row({key->port, key->address}, *mac);
              }};
}

void LearnedNeighbors::page_of_rows(std::string& cursor, std::size_t max, std::vector<OwnRow>& rows) const {
  const auto behind = switch_agent::parse_neighbor_key(cursor);
  auto row = behind ? rows_.upper_bound({behind->port, behind->address}) : rows_.begin();
  std::string last;
  for (std::size_t examined = 0; row != rows_.end() && rows.size() < max && examined < kExamined; ++row, ++examined) {
    last = switch_agent::neighbor_key(row->first.first, row->first.second);
    if (row->second.ours) rows.push_back({std::string{kTable}, last, Record::make(last, {})});
  }
  cursor = row == rows_.end() ? std::string{} : last;
}

const MacAddress* LearnedNeighbors::current_row(std::string_view key) const {
  const auto parsed = switch_agent::parse_neighbor_key(key);
  if (!parsed) return nullptr;
  const Place place{parsed->port, parsed->address};
  const auto known = rows_.find(place);
  const MacAddress* const mac = learned(place);
  return known != rows_.end() && mac != nullptr && known->second.ours == *mac ? mac : nullptr;
}

// --- the timer

void LearnedNeighbors::tick() {
  if (!may_write_ && (!options_.may_write || options_.may_write())) may_write_ = true;
  if (!settled_ && may_write_ && (!options_.is_settled || options_.is_settled())) {
    settled_ = true;
    check_.start(runtime_.scheduler());
    for (const auto& [place, rows] : rows_) note(place);
  }
  changed_.merge(again_);
  again_.clear();
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
  for (const ParkedFact& waiting : runtime_.parked_facts(kResolvedPerTick, walk_place_)) {
    if (waiting.fact.kind == switch_agent::kNeighbor) need_named(waiting.fact.key);
  }
  if (walk_place_ != Runtime::kNoPlace) return;
  walk_place_ = 0;
  if (options_.for_each_left_out) options_.for_each_left_out(need_named);
  for (const auto& [place, rows] : rows_) {
    if (rows.is_used) need(place, left);
  }
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
  if (const auto rows = rows_.find(place); rows != rows_.end() && !rows->second.others.empty()) return false;
  Probe& probe = probes_.try_emplace(place, Probe{now, kFirstPause}).first->second;
  if (now < probe.next) return false;
  probe.next = now + probe.pause;
  probe.pause = std::min(2 * probe.pause, kLastPause);
  static_cast<void>(options_.resolve(device->second.index, place.second));  // It is tried again after the pause.
  return true;
}

}  // namespace rondo::managers
