#include "fpm/vrf_slots.h"

#include <algorithm>
#include <utility>

#include "fpm/limits.h"

namespace rondo::fpm {

VrfSlots::VrfSlots(std::uint32_t table, NameOf name_of) : table_(table), name_of_(std::move(name_of)), slots_(1) {}

void VrfSlots::begin_session() {
  for (Slot& slot : slots_) {
    slot.stale = slot.live;
    slot.heard.reset();
  }
  by_table_.clear();
  unknown_.clear();
  wants_resend_ = false;
}

std::uint16_t VrfSlots::of_table(std::uint32_t table) {
  if (table == table_) return kDefault;
  if (const auto bound = by_table_.find(table); bound != by_table_.end()) return bound->second;
  if (const auto unknown = unknown_.find(table); unknown != unknown_.end()) {  // check() finds its VRF.
    ++unknown->second;
    return kNone;
  }
  const std::string name = name_of_ ? name_of_(table) : std::string{};
  if (name.empty() && unknown_.size() < limits::kFpmVrfs) unknown_.emplace(table, 1);
  const std::uint16_t vrf = name.empty() ? kNone : of_name(name);
  if (vrf == kNone) return kNone;
  // Another table had the VRF: some of its routes may be routes of that table, whose end zebra may not report.
  wants_resend_ = wants_resend_ || std::erase_if(by_table_, [vrf](const auto& entry) { return entry.second == vrf; }) > 0;
  by_table_.emplace(table, vrf);
  return vrf;
}

std::uint16_t VrfSlots::of_name(std::string_view name) {
  if (name.empty()) return kDefault;
  if (const auto known = by_name_.find(name); known != by_name_.end()) return known->second;
  std::uint16_t vrf = static_cast<std::uint16_t>(slots_.size());
  if (slots_.size() > limits::kFpmVrfs) {
    const auto is_free = [this](const Slot& slot) {
      return slot.routes == 0 && !is_bound(static_cast<std::uint16_t>(&slot - slots_.data()));
    };
    const auto free = std::find_if(slots_.begin() + 1, slots_.end(), is_free);
    if (free == slots_.end()) return kNone;
    vrf = static_cast<std::uint16_t>(free - slots_.begin());
    by_name_.erase(free->name);
    *free = Slot{};
  } else {
    slots_.emplace_back();
  }
  slots_[vrf].name = name;
  by_name_.emplace(name, vrf);
  return vrf;
}

std::uint16_t VrfSlots::find(std::string_view name) const {
  if (name.empty()) return kDefault;
  const auto known = by_name_.find(name);
  return known == by_name_.end() ? kNone : known->second;
}

bool VrfSlots::is_bound(std::uint16_t vrf) const {
  return std::ranges::any_of(by_table_, [vrf](const auto& entry) { return entry.second == vrf; });
}

void VrfSlots::check() {
  if (!name_of_ || wants_resend_) return;
  // The routes of a VRF without a table stay until zebra deletes them.
  const auto is_other = [this](const auto& bound) {
    const std::string now = name_of_(bound.first);
    return !now.empty() && now != slots_[bound.second].name;
  };
  const bool moved = std::erase_if(by_table_, is_other) > 0;
  wants_resend_ = moved || std::ranges::any_of(unknown_, [this](const auto& table) { return !name_of_(table.first).empty(); });
}

std::size_t VrfSlots::used() const noexcept {
  return static_cast<std::size_t>(std::count_if(slots_.begin() + 1, slots_.end(), [](const Slot& slot) { return slot.routes > 0; }));
}

void VrfSlots::add(std::uint16_t vrf, std::uint8_t protocol) {
  ++slots_[vrf].routes;
  ++slots_[vrf].live[protocol];
}

void VrfSlots::remove(std::uint16_t vrf, std::uint8_t protocol) {
  --slots_[vrf].routes;
  --slots_[vrf].live[protocol];
}

std::size_t VrfSlots::silent() const noexcept {
  std::size_t routes = 0;
  for (const Slot& slot : slots_) {
    for (std::size_t protocol = 0; slot.routes > 0 && protocol < slot.stale.size(); ++protocol) {
      routes += slot.heard[protocol] ? 0 : slot.stale[protocol];
    }
  }
  return routes;
}

}  // namespace rondo::fpm
