#include "fpm/hop_sets.h"

#include <algorithm>
#include <utility>

namespace rondo::fpm {

namespace {

/// Longer names are replaced by a digest: a name is part of each route's row.
constexpr std::size_t kLongestName = 48;

std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a.
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[hash >> static_cast<unsigned>(shift) & 15U];
  return digits;
}

void append(std::string& list, std::string_view item) { list.append(list.empty() ? "" : ",").append(item); }

}  // namespace

std::uint32_t HopSets::add(std::string name) {
  const std::uint32_t set = sets_.take();
  sets_[set] = Set{};
  sets_[set].name = name;
  by_name_.emplace(std::move(name), set);
  note_unused(set);
  return set;
}

std::uint32_t HopSets::find_or_add_name(std::string_view name) {
  const auto known = by_name_.find(name);
  return known != by_name_.end() ? known->second : add(std::string{name});
}

std::uint32_t HopSets::find_or_add(std::vector<NamedHop> hops) {
  std::ranges::sort(hops);
  Set content;
  std::string name;
  bool weighted = false;
  bool onlink = false;
  for (const NamedHop& hop : hops) {
    const std::string gateway = hop.gateway.to_string();
    append(content.gateways, gateway);
    append(content.devices, hop.device);
    append(content.weights, std::to_string(hop.weight));
    name.append(name.empty() ? "" : "+").append(gateway).append("@").append(hop.device);
    append(content.onlinks, hop.onlink ? "true" : "false");
    if (hop.weight != 1) name.append("*").append(std::to_string(hop.weight));
    if (hop.onlink) name.append("/onlink");
    weighted = weighted || hop.weight != 1;
    onlink = onlink || hop.onlink;
  }
  if (!weighted) content.weights.clear();
  if (!onlink) content.onlinks.clear();
  if (name.size() > kLongestName) name = digest(name);
  name = std::string{kOwned}.append(name);
  for (;; name += '\'') {  // Two contents with one digest.
    const auto known = by_name_.find(name);
    if (known != by_name_.end() && is_same(sets_[known->second], content)) return known->second;
    if (known != by_name_.end()) continue;
    if (const auto longer = find_longer_name(name, content)) return *longer;
    const std::uint32_t set = add(name);
    content.name = name;
    content.unused = true;
    content.has_row = true;
    sets_[set] = std::move(content);
    return set;
  }
}

bool HopSets::is_same(const Set& a, const Set& b) noexcept {
  return a.gateways == b.gateways && a.devices == b.devices && a.weights == b.weights && a.onlinks == b.onlinks;
}

/// The content got a longer name in an earlier run, where another one had this name.
std::optional<std::uint32_t> HopSets::find_longer_name(const std::string& name, const Set& content) const {
  for (auto it = by_name_.upper_bound(name); it != by_name_.end() && it->first.starts_with(name); ++it) {
    const bool is_longer = it->first.find_first_not_of('\'', name.size()) == std::string::npos;
    if (is_longer && is_same(sets_[it->second], content)) return it->second;
  }
  return std::nullopt;
}

Status HopSets::write(std::uint32_t set) {
  Set& one = sets_[set];
  if ((one.written && !one.lost) || !one.has_row) return {};
  const std::vector<Field> fields = fields_of(one);
  if (one.changed) {  // The row may have further fields.
    if (Status status = store_.write(table_, Change::remove(one.name), ended(one.name)); !status.ok()) return status;
    reports_.note_delete(one.name, now_);
  }
  const Change change = Change::set(one.name, std::span<const Field>{fields});
  if (Status status = store_.write(table_, change, ended(one.name)); !status.ok()) return status;
  rows_ += one.written ? 0 : 1;
  one.written = true;
  one.lost = one.changed = false;
  one.reading = reading_;
  return {};
}

void HopSets::rows_were_lost() {
  for (std::uint32_t set = 0; set < sets_.limit(); ++set) sets_[set].lost = sets_[set].written;
}

void HopSets::release(std::uint32_t set) {
  if (--sets_[set].references == 0) note_unused(set);
}

void HopSets::let_go(std::uint32_t set) {
  if (--sets_[set].holders == 0 && sets_[set].references == 0) note_unused(set);
}

void HopSets::note_unused(std::uint32_t set) {
  if (std::exchange(sets_[set].unused, true)) return;
  unused_.push_back(set);
}

Status HopSets::delete_unused() {
  while (!unused_.empty() && !reads_) {
    const std::uint32_t set = unused_.back();
    Set& one = sets_[set];
    if (one.references == 0 && one.written) {
      if (Status status = store_.write(table_, Change::remove(one.name), ended(one.name)); !status.ok()) return status;
      reports_.note_delete(one.name, now_);
      --rows_;
      one.written = one.lost = one.changed = false;
    }
    one.unused = false;
    if (one.references == 0 && one.holders == 0) {
      by_name_.erase(one.name);
      one = Set{};
      sets_.give_back(set);
    }
    unused_.pop_back();
  }
  return {};
}

// --- the rows as the table holds them

bool HopSets::has_row(std::string_view name) const {
  const auto known = by_name_.find(name);
  return known != by_name_.end() && sets_[known->second].written;
}

std::vector<Field> HopSets::fields_of(const Set& set) {
  std::vector<Field> fields{{"nexthop", set.gateways}, {"ifname", set.devices}};
  if (!set.weights.empty()) fields.push_back({"weight", set.weights});
  if (!set.onlinks.empty()) fields.push_back({"onlink", set.onlinks});
  return fields;
}

bool HopSets::is_as_written(const Set& set, const Fields& fields) {
  const std::vector<Field> written = fields_of(set);
  return fields.size() == written.size() &&
         std::ranges::all_of(written, [&fields](const Field& field) { return fields.find(field.name) == field.value; });
}

void HopSets::read(const Record& row) {
  if (!has_row(row.key()) && reports_.is_changed(row.key())) return;
  const bool is_new = !by_name_.contains(row.key());
  const std::uint32_t set = find_or_add_name(row.key());
  Set& known = sets_[set];
  const Fields fields = row.fields();
  if (known.written) {
    if (std::exchange(known.reading, reading_) != reading_ && !is_as_written(known, fields)) differs(set, true);
    return;
  }
  if (is_new) {
    known.gateways = fields.find("nexthop").value_or("");
    known.devices = fields.find("ifname").value_or("");
    known.weights = fields.find("weight").value_or("");
    known.onlinks = fields.find("onlink").value_or("");
    known.has_row = true;
  }
  if (!known.has_row) return;  // The name of what routes wait for.
  ++rows_;
  known.written = true;
  known.reading = reading_;
  if (known.references == 0) note_unused(set);  // Its Delete may be under way.
  if (!is_as_written(known, fields)) differs(set, true);
}

void HopSets::end_reading() {
  reads_ = false;
  for (std::uint32_t set = 0; set < sets_.limit(); ++set) {
    if (sets_[set].written && sets_[set].reading != reading_) differs(set, false);
  }
}

void HopSets::taken(const Change& change) {
  const auto known = by_name_.find(change.key());
  if (known == by_name_.end() || !sets_[known->second].written) return;
  if (!is_as_written(sets_[known->second], change.fields())) differs(known->second, true);
}

void HopSets::removed(std::string_view name) {
  if (has_row(name)) differs(by_name_.find(name)->second, false);
}

void HopSets::differs(std::uint32_t set, bool changed) {
  sets_[set].changed = sets_[set].changed || changed;
  if (std::exchange(sets_[set].lost, true)) return;
  repairs_.push_back(set);
  ++repaired_;
}

Status HopSets::repair() {
  for (; !repairs_.empty(); repairs_.pop_back()) {
    const std::uint32_t set = repairs_.back();
    if (!sets_[set].lost) continue;  // A route has had it written, or it is gone.
    if (Status status = write(set); !status.ok()) return status;
  }
  return {};
}

WriteDone HopSets::ended(const std::string& name) {
  return [ends = ends_, name](const Status& end) {
    if (!end.ok() && ends->sets != nullptr) ends->sets->refuse(name, end);
  };
}

void HopSets::refuse(const std::string& name, const Status& why) {
  on_refused_(why);
  refused_.push_back(name);
}

bool HopSets::repeat_refused() {
  for (const std::string& name : std::exchange(refused_, {})) {
    const auto known = by_name_.find(name);
    if (known == by_name_.end() || !sets_[known->second].written) {
      refused_deletes_ = true;
    } else {
      sets_[known->second].changed = true;
      if (!std::exchange(sets_[known->second].lost, true)) repairs_.push_back(known->second);
    }
  }
  return std::exchange(refused_deletes_, false);
}

}  // namespace rondo::fpm
