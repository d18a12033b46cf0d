// Interfaces: owns INTF_TABLE. A row for a port makes it a router interface; a row for port and address assigns the address. It stores
// desired and actual state separately. The kernel drops IPv6 addresses on an administrative down, and all addresses with the device; this
// Orch restores the desired ones when the port returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/programmer.h"
#include "rondo/orch/orch.h"
#include "rondo/orch/plane_state.h"
#include "switch_agent/counted_flag.h"
#include "switch_agent/drift.h"
#include "switch_agent/mtu_rows.h"
#include "switch_agent/port_ids.h"
#include "switch_agent/refusals.h"
#include "switch_agent/retry_timer.h"
#include "switch_agent/schema.h"
#include "switch_agent/spellings.h"

namespace rondo::switch_agent {

class Interfaces final : public Orch {
 public:
  Interfaces(Runtime& runtime, Programmer& programmer, PortIds& ids, MtuRows& mtus);

  /// Called when the rows of an earlier run have come and are handled. Until then a row waits if it asks for another use of its
  /// port than the data plane shows.
  void rows_have_come();
  /// Called at a start whose tables have rows. New members of LAGs and VLANs then wait for standing_rows_end(): first of kInterfaceRows,
  /// then of kLagMemberRows.
  void await_standing_rows();
  bool has_standing_rows(std::string_view table) const { return standing_.contains(table); }
  void standing_rows_end(std::string_view table);
  /// Called at the end of the restart. Until then Deletes of addresses left by an earlier run wait. The kernel drops the neighbours of the
  /// port with the last address of a family, and the row of another address may still arrive.
  void end_restart();
  /// Returns the state in the data plane of the row 'key' of INTF_TABLE. O(log(rows)).
  RowInPlane state_of(std::string_view key) const;
  /// Returns the number of rows in each state. O(rows).
  PlaneCounts state_counts() const;
  /// Compares about 'limit' of the requested addresses with those read. Returns true at the end of both.
  bool compare(AddressLook& look, std::size_t limit, Findings& findings);
  /// Notes the state of the duplicate address detection of an address.
  void note_check(const AddressDelete& address, DuplicateCheck check);
  /// Addresses that another device of the link has, as text for operators. O(addresses).
  std::vector<std::string> duplicates() const;
  /// Orders again an address that another program deleted or changed.
  void program_again(DriftKind kind, const AddressDelete& object);
  bool has(const AddressDelete& object) const;
  /// Sets what is called when an address of a row is deleted.
  void on_address_gone(std::function<void(const IpAddress& address)> handler) { on_address_gone_ = std::move(handler); }
  /// The VRF that the row of the port asks for; empty: the default VRF.
  std::string vrf_of(std::string_view port) const {
    const auto it = interfaces_.find(port);
    return it == interfaces_.end() ? std::string{} : it->second.vrf;
  }
  /// Words about a key of NEIGH_TABLE whose address is one of this machine, so that no host answers for it; empty if it is none.
  std::string own_address_words(std::string_view neighbor_key) const;
  /// Words about a port without an address of the family; empty if it has one.
  std::string no_address_words(std::string_view port, bool ipv6) const;
  /// Words about a neighbour that is in no subnet of its port, so that the kernel refuses it as a gateway; empty if it is in one. The
  /// address must not be link-local.
  std::string no_subnet_words(std::string_view port, const IpAddress& neighbor) const;
  /// Why a port has no IPv6, and the remedy; empty if it has.
  std::string ipv6_words(std::string_view port) const;
  /// Ports of rows that another program has put into a bridge or a bond, as text for operators. O(ports).
  std::vector<std::string> taken() const;
  /// The ports of which a row of INTF_TABLE is withdrawn. O(rows).
  std::vector<std::string> withdrawn_ports() const;
  /// Adds the addresses of 'port', as they are on 'device'. O(addresses of the port).
  void add_objects_on(std::string_view port, IfIndex device, std::vector<DeleteOrder>& objects) const;

 private:
  struct Address {
    CountedFlag applied;   // The address row is applied.
    bool present = false;  // Present in the kernel, according to its last answer or event.
    bool leaving = false;  // Its Delete is under way, so it must not be restored.
    DuplicateCheck check = DuplicateCheck::Passed;
    std::string trouble;  // Why the kernel refuses to restore it, as text for operators.
  };
  struct Interface {
    CountedFlag applied;  // The base row is applied.
    std::string vrf;      // The VRF that it asks for; empty: the default VRF.
    std::map<Prefix, Address> addresses;
  };
  Outcome set(std::string_view key, const Fields& fields);
  Outcome remove(std::string_view key);
  Outcome set_base(const std::string& port, const Fields& fields);
  void provide_next();
  /// 'waits': the row of the port waits for the port alone.
  void note_next(const std::string& port, bool waits);
  std::optional<IfIndex> master_to_order(const std::string& port, const std::string& vrf) const;
  std::optional<IfIndex> master_to_leave(const std::string& port, const std::string& vrf) const;
  std::string taken_words(const std::string& port) const;
  bool is_in_its_vrf(const std::string& port, const Interface& interface) const;
  bool is_dropped_v6(const std::string& port, const Prefix& prefix, const Address& address) const;
  static bool is_duplicate(const Address& address);
  std::string tentative_words(const std::string& port, bool is_down_v6, const Address& address) const;
  void set_vrf(const std::string& port, Interface& interface, std::string vrf);
  void provide_vrf_facts();
  void release_ports();
  Outcome base_applied(const std::string& port);
  Outcome set_address(std::string_view key, const std::string& port, const Prefix& address);
  Outcome address_answered(const std::string& port, const Prefix& address, IfIndex id, const Status& status);
  Outcome remove_base(const std::string& port);
  Outcome remove_unknown(const std::string& port, const Prefix& address);
  Outcome remove_address(std::string_view key, const std::string& port, const Prefix& address);
  /// True if a row has this address, or for IPv6 the same address with another length.
  bool is_wanted(const std::string& port, const Prefix& address) const;
  /// True if another row has this address under another spelling or, for IPv6, with another length.
  bool another_row_has(std::string_view key, const std::string& port, const Prefix& address) const;
  bool is_free(const std::string& port, const Prefix& address) const;
  void tell_free(const std::string& port, bool ipv6);
  void address_gone(const std::string& port, const Prefix& address);
  void drop_if_empty(const std::string& port);
  void restored(const std::string& port, const Prefix& prefix, const Status& status);
  /// Which addresses of a port to order again.
  enum class Restore : std::uint8_t { All, Absent };
  /// While IPv6 is switched off on the port, orders only its first absent IPv6 address. Returns true if it ordered an IPv6 address.
  bool restore(const std::string& port, Restore what);
  void order_again(const std::string& port, IfIndex device, const Prefix& prefix);
  void retry(const std::string& port);
  void ipv6_mtu(const std::string& port, bool begins);
  void ipv6_dropped(const std::string& port);
  void ipv6_is_off(const std::string& port);
  void ipv6_is_on(const std::string& port);
  bool addressed(std::string_view port_and_family) const;
  bool has_subnet(std::string_view key) const;
  void tell_subnet(const std::string& port, const std::string& vrf, const Prefix& address);
  void compare_port(const std::string& port, Interface& interface, AddressLook& look, Findings& findings);

  Programmer& programmer_;
  PortIds& ids_;
  MtuRows& mtus_;
  Refusals<std::string> refusals_;  // By canonical key.
  std::size_t applied_ = 0;         // The number of applied rows, of ports and of addresses.
  std::map<std::string, Interface, std::less<>> interfaces_;
  std::set<std::string, std::less<>> next_;                    // Ports without an interface whose row waits for the port alone.
  std::map<std::string, std::size_t, std::less<>> vrf_ports_;  // The number of interfaces in each VRF.
  std::set<std::string_view> standing_;                        // Keys of kStandingRows that do not hold.
  bool restarted_ = false;
  Spellings spellings_;                           // Spellings of addresses.
  std::set<std::string, std::less<>> ipv6_off_;   // Ports where the kernel refused an IPv6 address because IPv6 is switched off.
  std::set<std::string, std::less<>> small_mtu_;  // Ports whose MTU became too small for IPv6.
  RetryTimer retry_;
  std::function<void(const IpAddress& address)> on_address_gone_;
};

/// The key of the facts kAddressed and kNeighborsGone.
std::string family_key(std::string_view port, bool ipv6);

}  // namespace rondo::switch_agent
