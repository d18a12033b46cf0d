// VrfSlots: the VRFs of the routes that RouteBook holds, each in a slot: its name, and the counts of its routes by protocol. zebra names
// the kernel's table of a VRF. The first message of a table in a session binds the table to the slot of the VRF's name. The binding holds
// for the session, so that a deletion finds its route after the VRF's device went.
//
// check() finds tables whose VRF has become known, or another one, since zebra named them: zebra must send its routes again, because those
// that were skipped are not kept.
//
// Cost: one comparison for the default VRF, O(log(VRFs)) for others. One thread.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::fpm {

class VrfSlots {
 public:
  /// Of the default VRF.
  static constexpr std::uint16_t kDefault = 0;
  static constexpr std::uint16_t kNone = UINT16_MAX;
  /// Returns the VRF of a table; empty if no VRF is known to have it.
  using NameOf = std::function<std::string(std::uint32_t table)>;

  /// 'table' is that of the default VRF.
  VrfSlots(std::uint32_t table, NameOf name_of);

  /// Forgets which VRFs the tables have. Every route is stale, and no protocol is heard.
  void begin_session();
  /// Returns the slot of the VRF that has the table. kNone: there are limits::kFpmVrfs others, or no VRF is known to have it, which is
  /// counted by table.
  std::uint16_t of_table(std::uint32_t table);
  /// Returns kNone if there are limits::kFpmVrfs others.
  std::uint16_t of_name(std::string_view name);
  /// Returns kNone if no slot has the name.
  std::uint16_t find(std::string_view name) const;
  /// Compares the tables that zebra has named with their VRFs.
  void check();
  bool wants_resend() const noexcept { return wants_resend_; }

  const std::string& name(std::uint16_t vrf) const { return slots_[vrf].name; }
  /// The tables without a VRF, and the messages about each, in this session.
  const std::map<std::uint32_t, std::uint64_t>& unknown_tables() const noexcept { return unknown_; }
  /// VRFs with routes, except the default one.
  std::size_t used() const noexcept;

  // --- counts
  void add(std::uint16_t vrf, std::uint8_t protocol);
  void remove(std::uint16_t vrf, std::uint8_t protocol);
  void add_stale(std::uint16_t vrf, std::uint8_t protocol) { ++slots_[vrf].stale[protocol]; }
  void remove_stale(std::uint16_t vrf, std::uint8_t protocol) { --slots_[vrf].stale[protocol]; }
  /// The session has named a route of this protocol in this VRF.
  void hear(std::uint16_t vrf, std::uint8_t protocol) { slots_[vrf].heard.set(protocol); }
  bool is_heard(std::uint16_t vrf, std::uint8_t protocol) const { return slots_[vrf].heard[protocol]; }
  /// Stale routes of protocols that are not heard in their VRF.
  std::size_t silent() const noexcept;

 private:
  struct Slot {
    std::string name;
    std::size_t routes = 0;
    std::array<std::uint32_t, 256> live{};   // Routes by protocol.
    std::array<std::uint32_t, 256> stale{};  // Stale routes by protocol.
    std::bitset<256> heard;
  };
  bool is_bound(std::uint16_t vrf) const;

  const std::uint32_t table_;
  const NameOf name_of_;
  std::vector<Slot> slots_;
  std::map<std::string, std::uint16_t, std::less<>> by_name_;
  std::map<std::uint32_t, std::uint16_t> by_table_;  // The tables that this session has named.
  std::map<std::uint32_t, std::uint64_t> unknown_;
  bool wants_resend_ = false;
};

}  // namespace rondo::fpm
