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
  for (const NamedHop& hop : hops) {
    const std::string gateway = hop.gateway.to_string();
    append(content.gateways, gateway);
    append(content.devices, hop.device);
    append(content.weights, std::to_string(hop.weight));
    name.append(name.empty() ? "" : "+").append(gateway).append("@").append(hop.device);
    if (hop.weight != 1) name.append("*").append(std::to_string(hop.weight));
    weighted = weighted || hop.weight != 1;
  }
  if (!weighted) content.weights.clear();
  if (name.size() > kLongestName) name = digest(name);
  name = std::string{kOwned}.append(name);
  const auto is_same = [&](const Set& set) {
    return set.gateways == content.gateways && set.devices == content.devices && set.weights == content.weights;
  };
  for (;; name += '\'') {  // Two contents with one digest.
    const auto known = by_name_.find(name);
    if (known != by_name_.end() && is_same(sets_[known->second])) return known->second;
    if (known != by_name_.end()) continue;
    const std::uint32_t set = add(name);
    content.name = name;
    content.unused = true;
    content.has_row = true;
    sets_[set] = std::move(content);
    return set;
  }
}

void HopSets::adopt(const Record& row) {
  const std::uint32_t set = find_or_add_name(row.key());
  Set& known = sets_[set];
  known.gateways = row.fields().find("nexthop").value_or("");
  known.devices = row.fields().find("ifname").value_or("");
  known.weights = row.fields().find("weight").value_or("");
  rows_ += known.written ? 0 : 1;
  known.has_row = known.written = true;
}

Status HopSets::write(std::uint32_t set) {
  Set& one = sets_[set];
  if ((one.written && !one.lost) || !one.has_row) return {};
  std::vector<Field> fields{{"nexthop", one.gateways}, {"ifname", one.devices}};
  if (!one.weights.empty()) fields.push_back({"weight", one.weights});
  if (Status status = store_.write(table_, Change::set(one.name, std::span<const Field>{fields})); !status.ok()) return status;
  rows_ += one.written ? 0 : 1;
  one.written = true;
  one.lost = false;
  return {};
}

void HopSets::rows_were_lost() {
  for (std::uint32_t set = 0; set < sets_.limit(); ++set) sets_[set].lost = sets_[set].written;
}

void HopSets::release(std::uint32_t set) {
  if (--sets_[set].references == 0) note_unused(set);
}

void HopSets::note_unused(std::uint32_t set) {
  if (std::exchange(sets_[set].unused, true)) return;
  unused_.push_back(set);
}

Status HopSets::delete_unused() {
  while (!unused_.empty()) {
    const std::uint32_t set = unused_.back();
    Set& one = sets_[set];
    if (one.references == 0) {
      if (one.written) {
        if (Status status = store_.write(table_, Change::remove(one.name)); !status.ok()) return status;
        --rows_;
      }
      by_name_.erase(one.name);
      one = Set{};
      sets_.give_back(set);
    } else {
      one.unused = false;
    }
    unused_.pop_back();
  }
  return {};
}

}  // namespace rondo::fpm
