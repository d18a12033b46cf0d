#include "managers/state_rows.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "managers/managed_rows.h"
#include "managers/priorities.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {

constexpr Duration kTick = 100ms;
constexpr std::string_view kDataPlaneSource = "data plane";

/// The tables that are written, besides MANAGED_ROWS.
constexpr std::array kTables{kStatePorts, kStateLags, kStateLagMembers, kStateVlans,      kStateVlanMembers,
                             kStateFdb,   kStateVrfs, kStateVrfObjects, kStateInterfaces, kStateNeighbors};

/// The tables of APPL_DB, and those of STATE_DB that show their rows.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kSources{{{"PORT_TABLE", kStatePorts},
                                                                                 {"INTF_TABLE", kStateInterfaces},
                                                                                 {"VRF_TABLE", kStateVrfs},
                                                                                 {"LAG_TABLE", kStateLags},
                                                                                 {"LAG_MEMBER_TABLE", kStateLagMembers},
                                                                                 {"VLAN_TABLE", kStateVlans},
                                                                                 {"VLAN_MEMBER_TABLE", kStateVlanMembers}}};

/// "swp1:10.0.0.1/24" of APPL_DB is "swp1|10.0.0.1/24" here. Names of ports have no colon.
std::string exchange_first(std::string_view key, char from, char to) {
  std::string text{key};
  if (const std::size_t at = text.find(from); at != std::string::npos) text[at] = to;
  return text;
}

/// SONiC's numbers of ports, with the number of the device in the kernel.
std::string object_id(IfIndex device) {
  char text[32];
  std::snprintf(text, sizeof text, "oid:0x%llx", 0x1000000000000ULL + device.value());
  return text;
}

/// True if the event may change what the data plane has for the row.
bool is_end(RowEvent::What what) {
  using What = RowEvent::What;
  return what == What::Done || what == What::Rejected || what == What::Parked || what == What::Delayed || what == What::Redone;
}

Record record_of(const std::string& key, const std::map<std::string, std::string>& content) {
  std::vector<Field> fields;
  for (const auto& [field, value] : content) fields.push_back({field, value});
  return Record::make(key, fields);
}

}  // namespace

StateRows::StateRows(Runtime& runtime, Store& store, StateRowsOptions options)
    : Source("state rows", kStateRows),
      runtime_(runtime),
      store_(store),
      options_(std::move(options)),
      timer_("state rows timer", kStateRows, [this] { tick(); }),
      rows_(runtime.scheduler(), store,
            {.name = "state rows",
             .priority = kStateRows,
             .again = [this](const RowName& name) { note(name.table, name.key); },
             .owners = std::string{kManagedTable},
             .tables = kTables,
             .writes_over_types = true}) {}

StateRows::~StateRows() = default;

Result<std::unique_ptr<StateRows>> StateRows::open(Runtime& runtime, Store& store, StateRowsOptions options) {
  std::unique_ptr<StateRows> rows{new StateRows(runtime, store, std::move(options))};
  if (Status declared = rows->declare(); !declared.ok()) return failure(std::move(declared));
  if (Status followed = rows->follow(); !followed.ok()) return failure(std::move(followed));
  runtime.scheduler().add(*rows);
  runtime.scheduler().add(rows->timer_);
  rows->timer_.arm_at(runtime.scheduler().now());
  rows->rows_.start_check();
  return rows;
}

Status StateRows::declare() {
  for (const std::string_view table : kTables) {
    if (Status declared = store_.declare({.name = std::string{table}, .kind = TableKind::Watched}); !declared.ok()) return declared;
  }
  if (Status declared = store_.declare({.name = std::string{kManagedTable}, .kind = TableKind::Watched}); !declared.ok()) return declared;
  return store_.declare({.name = std::string{kNotifications}, .kind = TableKind::Channel});
}

Status StateRows::follow() {
  for (const auto& [table, state] : kSources) {
    auto tap = runtime_.tap(table, [this, state = state](const RowEvent& event) {
      if (is_end(event.what)) row_changed(state, event);
    });
    if (!tap) return tap.error();
    taps_.push_back(std::move(*tap));
  }
  return {};
}

/// What the data plane has for the row of APPL_DB may have changed.
void StateRows::row_changed(std::string_view table, const RowEvent& event) {
  std::string key = exchange_first(event.key, ':', '|');
  if (table == kStateInterfaces) {
    const bool is_gone = event.what == RowEvent::What::Done && event.op == ChangeOp::Delete;
    is_gone ? static_cast<void>(interfaces_.erase(key)) : static_cast<void>(interfaces_.insert(key));
  }
  if (table == kStateLagMembers) member_keys_.insert_or_assign(key.substr(key.find('|') + 1), key);
  if (table == kStateVrfs) note(kStateVrfObjects, key);
  note(table, std::move(key));
}

void StateRows::note(std::string_view table, std::string key) {
  changed_.insert({std::string{table}, std::move(key)});
  if (may_write_) wake();
}

void StateRows::station_changed(const std::string& station) {
  // A process that stands by hears of stations for days: it keeps those that are there.
  if (!may_write_ && (!options_.learned || !options_.learned(station))) {
    changed_.erase({std::string{kStateFdb}, station});
  } else {
    note(kStateFdb, station);
  }
}

void StateRows::note_interfaces_of(const std::string& port) {
  for (auto key = interfaces_.lower_bound(port); key != interfaces_.end() && key->starts_with(port); ++key) {
    if (key->size() == port.size() || (*key)[port.size()] == '|') note(kStateInterfaces, *key);
  }
}

void StateRows::note_lags_of(const std::string& device) {
  if (switch_agent::is_lag_name(device)) note(kStateLags, device);
  if (const auto key = member_keys_.find(device); key != member_keys_.end()) note(kStateLagMembers, key->second);
}

void StateRows::link_event(const LinkEvent& event) {
  std::string& name = names_[event.port];
  if (!name.empty() && name != event.name) {  // It was renamed.
    note(kStatePorts, name);
    note_lags_of(name);
    note_interfaces_of(name);
  }
  name = event.name;
  if (event.removed) names_.erase(event.port);
  note(kStatePorts, event.name);
  note_lags_of(event.name);
  note_interfaces_of(event.name);
  note_carrier(event);
}

void StateRows::note_carrier(const LinkEvent& event) {
  const bool up = event.carrier && !event.removed;
  Carrier& carrier = carriers_.try_emplace(event.name, Carrier{event.port, up, up}).first->second;
  carrier.device = event.port;
  carrier.now = up;
  report_carrier(event.name, carrier);
  if (event.removed) carriers_.erase(event.name);
}

/// Before this process may write, the changes of a port merge. An event that is lost with the connection is not repeated, as in SONiC.
void StateRows::report_carrier(const std::string& port, Carrier& carrier) {
  if (!may_write_ || carrier.told == carrier.now) return;
  carrier.told = carrier.now;
  if (!options_.port(port)) return;
  const std::string data =
      "[{\"port_id\":\"" + object_id(carrier.device) + "\",\"port_state\":\"SAI_PORT_OPER_STATUS_" + (carrier.now ? "UP" : "DOWN") + "\"}]";
  const Field fields[] = {{"port", port}, {"oper_status", carrier.now ? "up" : "down"}};
  if (!store_.write(kNotifications, Change::event("port_state_change", data, fields)).ok()) ++refused_events_;
}

Turn StateRows::run(const Budget& budget) {
  if (!may_write_) return {};
  Turn turn;
  while (turn.items < budget.items && !changed_.empty() && !time_is_up(budget)) {
    const RowName name = *changed_.begin();
    changed_.erase(changed_.begin());
    if (!refresh(name)) later_.insert(name);
    ++turn.items;
  }
  if (!later_.empty() && !timer_.is_armed()) timer_.arm_at(runtime_.scheduler().now() + kTick);
  turn.backlog = changed_.empty() ? Backlog::Empty : Backlog::More;
  return turn;
}

bool StateRows::refresh(const RowName& name) {
  Content content;
  const Look look = check(name, content);
  if (look == Look::Row) rows_.set(name, kDataPlaneSource, record_of(name.key, content));
  if (look == Look::NoRow) rows_.remove(name);
  return look != Look::Later;
}

StateRows::Look StateRows::check(const RowName& name, Content& content) const {
  const auto& [table, key] = name;
  if (table == kStatePorts) return check_port(key, content);
  if (table == kStateLags) return check_lag(key, content);
  if (table == kStateLagMembers) return check_lag_member(key, content);
  if (table == kStateInterfaces) return check_interface(key, content);
  if (table == kStateVrfs || table == kStateVrfObjects) {
    content["state"] = "ok";
    return check_row("VRF_TABLE", key);
  }
  if (table == kStateFdb) {
    const std::optional<std::string> port = options_.learned ? options_.learned(key) : std::nullopt;
    content = {{"port", port.value_or("")}, {"type", "dynamic"}};
    return port ? Look::Row : Look::NoRow;
  }
  if (table == kStateVlans || table == kStateVlanMembers) {
    content["state"] = "ok";
    return table == kStateVlans ? check_row("VLAN_TABLE", key) : check_row("VLAN_MEMBER_TABLE", exchange_first(key, '|', ':'));
  }
  content["restored"] = "true";
  return Look::Row;
}

StateRows::Look StateRows::check_port(const std::string& port, Content& content) const {
  const std::optional<PortState> state = options_.port(port);
  if (!state) return Look::NoRow;
  content = {{"state", "ok"},
             {"netdev_oper_status", state->carrier ? "up" : "down"},
             {"admin_status", state->admin_up ? "up" : "down"},
             {"mtu", std::to_string(state->mtu)}};
  return Look::Row;
}

/// As teamsyncd writes it.
StateRows::Look StateRows::check_lag(const std::string& lag, Content& content) const {
  const Look look = check_row("LAG_TABLE", lag);
  const std::optional<PortState> state = options_.device ? options_.device(lag) : std::nullopt;
  if (look != Look::Row || !state) return look == Look::Row ? Look::NoRow : look;
  content = {{"state", "ok"},
             {"oper_status", state->carrier ? "up" : "down"},
             {"admin_status", state->admin_up ? "up" : "down"},
             {"mtu", std::to_string(state->mtu)}};
  return Look::Row;
}

/// tlm_teamd writes what teamd tells of LACP; of that, only the field that `show interfaces portchannel` needs is here.
StateRows::Look StateRows::check_lag_member(const std::string& key, Content& content) const {
  const Look look = check_row("LAG_MEMBER_TABLE", exchange_first(key, '|', ':'));
  const std::optional<PortState> state = options_.device ? options_.device(key.substr(key.find('|') + 1)) : std::nullopt;
  const bool is_selected = state && state->carrier;
  content = {{"state", "ok"}, {"runner.aggregator.selected", is_selected ? "true" : "false"}};
  return look;
}

StateRows::Look StateRows::check_interface(std::string key, Content& content) const {
  const bool is_address = key.find('|') != std::string::npos;
  const Look look = check_row("INTF_TABLE", exchange_first(key, '|', ':'));
  if (look != Look::Row) return look;
  if (is_address) {
    content["state"] = "ok";
  } else {
    content["vrf"] = options_.vrf ? options_.vrf(key) : std::string{};
  }
  return Look::Row;
}

StateRows::Look StateRows::check_row(std::string_view table, std::string_view key) const {
  const WhyLink row = runtime_.row_state(table, key);
  using Row = WhyLink::State;
  if (row.state == Row::Queued || row.state == Row::InFlight) return Look::AsIs;
  if (row.state == Row::Parked && row.op == ChangeOp::Delete) return Look::AsIs;
  const PlaneState plane = row.state == Row::Rejected ? row.before : row.plane;  // A rejected change leaves what was there.
  if (plane == PlaneState::Pending) return Look::Later;
  const bool is_there = plane == PlaneState::Installed || plane == PlaneState::Lost;
  return is_there ? Look::Row : Look::NoRow;
}

std::string StateRows::trouble() const {
  const std::string trouble = rows_.trouble();
  return trouble.empty() ? trouble : "rows of STATE_DB " + trouble;
}

/// Runs every kTick until the start is over, and then while rows have to be compared again.
void StateRows::tick() {
  if (!may_write_ && options_.may_write()) {
    may_write_ = true;
    for (auto& [port, carrier] : carriers_) report_carrier(port, carrier);
  }
  if (may_write_) {
    changed_.merge(later_);
    later_.clear();
    if (!changed_.empty()) wake();
    if (!settled_ && !is_adopting_ && options_.is_settled()) {
      is_adopting_ = true;
      rows_.adopt([this](const Status& status) { adopted(status); });
    }
  }
  if (!settled_) timer_.arm_at(runtime_.scheduler().now() + kTick);
}

void StateRows::adopted(const Status& status) {
  is_adopting_ = false;
  if (!status.ok()) return;  // The next tick begins again.
  settled_ = true;
  note(kStateNeighbors, "Flags");
}

}  // namespace rondo::managers
