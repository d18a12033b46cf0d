// StateRows: writes the tables of STATE_DB that SONiC's portsyncd, teamsyncd, vlanmgrd, vrfmgrd, vrforch and intfmgrd write, as the data
// plane is:
// PORT_TABLE|<port> for each port that exists and has a row of PORT_TABLE, LAG_TABLE|<lag> and LAG_MEMBER_TABLE|<lag>|<port>,
// VLAN_TABLE|<vlan> and VLAN_MEMBER_TABLE|<vlan>|<port>, FDB_TABLE|<vlan>:<mac>, VRF_TABLE|<vrf> and VRF_OBJECT_TABLE|<vrf> for each VRF
// that is installed, INTERFACE_TABLE|<port> and INTERFACE_TABLE|<port>|<address> for each one that is installed, and
// NEIGH_RESTORE_TABLE|Flags when what an earlier process left has been compared. A change of carrier is also an event on the channel
// NOTIFICATIONS.
//
// The table MANAGED_ROWS of STATE_DB is the table of owners (owned_rows.h). Rows without a record there belong to other programs, and are
// never deleted. A row of its own that another program changes or deletes is written again.
//
// Level-triggered: an event notes the names that may have changed, and a turn compares them with what is written, and writes the
// difference. Rows that an earlier process left are compared when all rows of APPL_DB have been handled. Bounded by the ports and
// addresses. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orch/owned_rows.h"
#include "orch/row_tap.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"
#include "rondo/store/store.h"

namespace rondo::managers {

inline constexpr std::string_view kStatePorts = "PORT_TABLE";
inline constexpr std::string_view kStateInterfaces = "INTERFACE_TABLE";
inline constexpr std::string_view kStateLags = "LAG_TABLE";
inline constexpr std::string_view kStateLagMembers = "LAG_MEMBER_TABLE";
inline constexpr std::string_view kStateVlans = "VLAN_TABLE";
inline constexpr std::string_view kStateVlanMembers = "VLAN_MEMBER_TABLE";
inline constexpr std::string_view kStateFdb = "FDB_TABLE";
inline constexpr std::string_view kStateVrfs = "VRF_TABLE";
inline constexpr std::string_view kStateVrfObjects = "VRF_OBJECT_TABLE";
inline constexpr std::string_view kStateNeighbors = "NEIGH_RESTORE_TABLE";
inline constexpr std::string_view kNotifications = "NOTIFICATIONS";

/// A port as STATE_DB shows it.
struct PortState {
  bool admin_up = false;
  bool carrier = false;
  std::uint32_t mtu = 0;
};

struct StateRowsOptions {
  /// The state of a port; nothing for one that does not exist or has no row of PORT_TABLE.
  std::function<std::optional<PortState>(std::string_view port)> port = {};
  /// The state of any device; nothing for one that does not exist.
  std::function<std::optional<PortState>(std::string_view device)> device = {};
  /// The VRF of an installed interface; empty: the default VRF.
  std::function<std::string(std::string_view port)> vrf = {};
  /// The port behind which a bridge has learned a station ("Vlan10:02:00:00:00:00:aa"); nothing for one that it has not. Empty: none.
  std::function<std::optional<std::string>(std::string_view station)> learned = {};
  /// True if every row that the tables had at the start has been handled. Called until it returns true.
  std::function<bool()> is_settled = {};
  /// False while another process may write the rows. Called until it returns true.
  std::function<bool()> may_write = {};
};

class StateRows final : public Source {
 public:
  /// Adds itself to the runtime's scheduler. 'store' is STATE_DB. Both must outlive it. Returns the error of a table that the store
  /// refuses.
  static Result<std::unique_ptr<StateRows>> open(Runtime& runtime, Store& store, StateRowsOptions options);
  ~StateRows() override;

  /// May be called before the agent handles the event.
  void link_event(const LinkEvent& event);
  /// A bridge may have learned or forgotten the station.
  void station_changed(const std::string& station);
  /// The Redis was emptied or is another one: everything is written again.
  void write_again() { rows_.rows_were_lost(); }

  std::size_t rows() const noexcept { return rows_.rows().size(); }
  std::uint64_t refused() const noexcept { return refused_events_ + rows_.refused(); }
  /// Which rows the store refuses now, and why; empty: none.
  std::string trouble() const;
  /// Rows that another program changed or deleted, or that were lost with the data of a Redis, and that were written again.
  std::uint64_t repaired() const noexcept { return rows_.repaired(); }
  /// The newest of them, for people.
  const std::string& last_repair() const noexcept { return rows_.last_repair(); }

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return may_write_ && !changed_.empty(); }
  std::size_t depth() const override { return changed_.size(); }

 private:
  using Content = std::map<std::string, std::string>;
  /// What STATE_DB should have.
  enum class Look : std::uint8_t {
    Row,
    NoRow,
    AsIs,   // A change is under way, and an event follows.
    Later,  // An order is under way, and nothing tells of its end.
  };

  struct Carrier {
    IfIndex device;
    bool told = false;  // By the last event.
    bool now = false;
  };

  StateRows(Runtime& runtime, Store& store, StateRowsOptions options);
  Status declare();
  Status follow();
  void row_changed(std::string_view table, const RowEvent& event);
  void note(std::string_view table, std::string key);
  void note_interfaces_of(const std::string& port);
  void note_lags_of(const std::string& device);
  /// Compares a row and writes the difference. False if it has to be compared again later.
  bool refresh(const RowName& name);
  Look check(const RowName& name, Content& content) const;
  Look check_port(const std::string& port, Content& content) const;
  Look check_lag(const std::string& lag, Content& content) const;
  Look check_lag_member(const std::string& key, Content& content) const;
  Look check_interface(std::string key, Content& content) const;
  Look check_row(std::string_view table, std::string_view key) const;
  void note_carrier(const LinkEvent& event);
  void report_carrier(const std::string& port, Carrier& carrier);
  void tick();
  void adopted(const Status& status);

  Runtime& runtime_;
  Store& store_;
  const StateRowsOptions options_;
  std::vector<std::unique_ptr<RowTap>> taps_;
  std::map<std::string, Carrier> carriers_;         // By port.
  std::map<IfIndex, std::string> names_;            // Of the devices that exist.
  std::map<std::string, std::string> member_keys_;  // Of LAG_MEMBER_TABLE with '|', by port.
  std::set<std::string> interfaces_;                // Keys of INTF_TABLE whose rows exist, with '|'.
  std::set<RowName> changed_;
  std::set<RowName> later_;
  bool may_write_ = false;
  bool is_adopting_ = false;
  bool settled_ = false;
  std::uint64_t refused_events_ = 0;
  TimerSource timer_;
  OwnedRows rows_;  // Keys have '|'.
};

}  // namespace rondo::managers
