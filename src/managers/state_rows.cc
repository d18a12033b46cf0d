#include "managers/state_rows.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>
#include <vector>

#include "managers/managed_book.h"
#include "managers/priorities.h"
#include "switch_agent/schema.h"

namespace rondo::managers {

namespace {

constexpr Duration kTick = 100ms;
/// The longest time between two writes of a row that the store refuses.
constexpr Duration kLastWait = 5s;
constexpr std::string_view kDataPlaneSource = "data plane";
constexpr std::size_t kPage = 256;  // Rows of an earlier process that one turn reads.

/// The tables that are written.
constexpr std::array kTables{kStatePorts, kStateLags,       kStateLagMembers, kStateVlans,     kStateVlanMembers, kStateFdb,
                             kStateVrfs,  kStateVrfObjects, kStateInterfaces, kStateNeighbors, kManagedTable};

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

/// Whether the event may change what the data plane has for the row.
bool is_end(RowEvent::What what) {
  using What = RowEvent::What;
  return what == What::Done || what == What::Rejected || what == What::Parked || what == What::Delayed || what == What::Redone;
}

/// The key of the row of MANAGED_ROWS.
std::string owner_key(const std::pair<std::string, std::string>& name) { return name.first + "|" + name.second; }

/// The row of STATE_DB that the row is, or whose owner it is.
std::pair<std::string, std::string> name_of(const OwnRow& row) {
  const std::size_t bar = row.table == kManagedTable ? row.key.find('|') : std::string::npos;
  if (bar == std::string::npos) return {row.table, row.key};
  return {row.key.substr(0, bar), row.key.substr(bar + 1)};
}

Record record_of(const std::string& key, const std::map<std::string, std::string>& content) {
  std::vector<Field> fields;
  for (const auto& [field, value] : content) fields.push_back({field, value});
  return Record::make(key, fields);
}

Record owner_record(const std::pair<std::string, std::string>& name, const std::map<std::string, std::string>& content) {
  std::string names;
  for (const auto& entry : content) names.append(names.empty() ? "" : ",").append(entry.first);
  return Record::make(owner_key(name), {{kSourceField, kDataPlaneSource}, {kFieldsField, names}});
}

}  // namespace

StateRows::StateRows(Runtime& runtime, Store& store, StateRowsOptions options)
    : Source("state rows", kStateRows),
      runtime_(runtime),
      store_(store),
      options_(std::move(options)),
      timer_("state rows again", kStateRows, [this] { tick(); }),
      check_("state rows check", kStateRows, store, check_options()) {}

StateRows::~StateRows() = default;

Result<std::unique_ptr<StateRows>> StateRows::open(Runtime& runtime, Store& store, StateRowsOptions options) {
  std::unique_ptr<StateRows> rows{new StateRows(runtime, store, std::move(options))};
  if (Status declared = rows->declare(); !declared.ok()) return failure(std::move(declared));
  if (Status followed = rows->follow(); !followed.ok()) return failure(std::move(followed));
  runtime.scheduler().add(*rows);
  runtime.scheduler().add(rows->timer_);
  rows->arm_timer(runtime.scheduler().now());
  rows->check_.start(runtime.scheduler());
  return rows;
}

Status StateRows::declare() {
  for (const std::string_view table : kTables) {
    if (Status declared = store_.declare({.name = std::string{table}, .kind = TableKind::Watched}); !declared.ok()) return declared;
  }
  return store_.declare({.name = std::string{kNotifications}, .kind = TableKind::Channel});
}

Status StateRows::follow() {
  auto ports = runtime_.tap("PORT_TABLE", [this](const RowEvent& event) {
    if (is_end(event.what)) note(kStatePorts, std::string{event.key});
  });
  if (!ports) return ports.error();
  port_rows_ = std::move(*ports);
  auto interfaces = runtime_.tap("INTF_TABLE", [this](const RowEvent& event) {
    if (!is_end(event.what)) return;
    const std::string key = exchange_first(event.key, ':', '|');
    if (event.what == RowEvent::What::Done && event.op == ChangeOp::Delete) {
      interfaces_.erase(key);
    } else {
      interfaces_.insert(key);
    }
    note(kStateInterfaces, key);
  });
  if (!interfaces) return interfaces.error();
  interface_rows_ = std::move(*interfaces);
  auto vrfs = runtime_.tap("VRF_TABLE", [this](const RowEvent& event) {
    if (!is_end(event.what)) return;
    for (const std::string_view table : {kStateVrfs, kStateVrfObjects}) note(table, std::string{event.key});
  });
  if (!vrfs) return vrfs.error();
  vrf_rows_ = std::move(*vrfs);
  auto lags = runtime_.tap("LAG_TABLE", [this](const RowEvent& event) {
    if (is_end(event.what)) note(kStateLags, std::string{event.key});
  });
  if (!lags) return lags.error();
  lag_rows_ = std::move(*lags);
  auto ports_of_lags = runtime_.tap("LAG_MEMBER_TABLE", [this](const RowEvent& event) {
    if (!is_end(event.what)) return;
    std::string key = exchange_first(event.key, ':', '|');
    member_keys_.insert_or_assign(key.substr(key.find('|') + 1), key);
    note(kStateLagMembers, std::move(key));
  });
  if (!ports_of_lags) return ports_of_lags.error();
  lag_member_rows_ = std::move(*ports_of_lags);
  auto vlans = runtime_.tap("VLAN_TABLE", [this](const RowEvent& event) {
    if (is_end(event.what)) note(kStateVlans, std::string{event.key});
  });
  if (!vlans) return vlans.error();
  vlan_rows_ = std::move(*vlans);
  auto members = runtime_.tap("VLAN_MEMBER_TABLE", [this](const RowEvent& event) {
    if (is_end(event.what)) note(kStateVlanMembers, exchange_first(event.key, ':', '|'));
  });
  if (!members) return members.error();
  vlan_member_rows_ = std::move(*members);
  return {};
}

void StateRows::note(std::string_view table, std::string key) {
  changed_.emplace(table, std::move(key));
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
  if (!store_.write(kNotifications, Change::event("port_state_change", data, fields)).ok()) ++refused_;
}

Turn StateRows::run(const Budget& budget) {
  if (!may_write_) return {};
  Turn turn;
  while (turn.items < budget.items && !changed_.empty() && !time_is_up(budget)) {
    const Name name = *changed_.begin();
    changed_.erase(changed_.begin());
    if (!refresh(name)) later_.insert(name);
    ++turn.items;
  }
  if (!later_.empty()) arm_timer(runtime_.scheduler().now() + kTick);
  turn.backlog = changed_.empty() ? Backlog::Empty : Backlog::More;
  return turn;
}

bool StateRows::refresh(const Name& name) {
  Content content;
  const Look look = check(name, content);
  if (look == Look::AsIs || look == Look::Later) return look == Look::AsIs;
  const auto row = written_.find(name);
  if (look == Look::Row) {
    if (row == written_.end() || row->second != content) write(name, content);
  } else if (row != written_.end() || owned_.contains(name)) {
    remove(name);
  } else {
    refused_rows_.erase(name);
  }
  return true;
}

StateRows::Look StateRows::check(const Name& name, Content& content) const {
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

WriteDone StateRows::answered(const Name& name, std::function<void()> then) {
  return [this, name, then = std::move(then), life = std::weak_ptr{life_}](const Status& status) {
    if (life.expired()) return;
    if (status.ok()) {
      refused_rows_.erase(name);
      // Another write of the row was refused meanwhile.
      if (const auto row = written_.find(name); row != written_.end() && !row->second) note(name.first, name.second);
      return then ? then() : void();
    }
    refuse(name, status);
  };
}

/// The content is then not known, even if nothing was sent: a row that changes back to what was written before is written as well, which
/// ends the trouble, and the success of an earlier write is not taken for this one's.
void StateRows::refuse(const Name& name, const Status& why) {
  written_[name] = std::nullopt;
  try_again(name, why);
}

void StateRows::try_again(const Name& name, const Status& why) {
  ++refused_;
  Refused& row = refused_rows_[name];
  row.wait = std::clamp(2 * row.wait, kTick, kLastWait);
  row.due = runtime_.scheduler().now() + row.wait;
  row.why = why;
  arm_timer(row.due);
}

std::string StateRows::trouble() const {
  if (refused_rows_.empty()) return {};
  const auto& [name, row] = *refused_rows_.begin();
  return "rows of STATE_DB that are refused and tried again: " + std::to_string(refused_rows_.size()) +
         "; the first of them: " + owner_key(name) + ": " + std::string{row.why.message()};
}

void StateRows::arm_timer(Instant due) {
  if (timer_.is_armed() && timer_due_ <= due) return;
  timer_due_ = due;
  timer_.arm_at(due);
}

void StateRows::write(const Name& name, const Content& content) {
  if (!owned_.contains(name)) return write_owner(name, content);
  const Status written = store_.write(name.first, Change{ChangeOp::Set, record_of(name.second, content)}, answered(name));
  if (!written.ok()) return refuse(name, written);
  written_[name] = content;
}

/// The row follows when the store has its owner.
void StateRows::write_owner(const Name& name, const Content& content) {
  const auto stored = [this, name, life = std::weak_ptr{life_}](const Status& status) {
    if (life.expired()) return;
    if (!status.ok()) return try_again(name, status.with_context("its owner in MANAGED_ROWS"));
    refused_rows_.erase(name);
    owned_.insert(name);
    note(name.first, name.second);
  };
  const Status written = store_.write(kManagedTable, Change{ChangeOp::Set, owner_record(name, content)}, stored);
  if (!written.ok()) try_again(name, written);
}

void StateRows::remove(const Name& name) {
  const Status written = store_.write(name.first, Change::remove(name.second), answered(name, [this, name] { removed(name); }));
  if (!written.ok()) return refuse(name, written);
  written_.erase(name);
}

void StateRows::removed(const Name& name) {
  if (written_.contains(name) || owned_.erase(name) == 0) return;                   // It has been written again meanwhile.
  static_cast<void>(store_.write(kManagedTable, Change::remove(owner_key(name))));  // If it is lost, the next start deletes it.
}

/// Runs every kTick until the start is over, and then while rows have to be compared again.
void StateRows::tick() {
  const Instant now = runtime_.scheduler().now();
  if (!may_write_ && options_.may_write()) {
    may_write_ = true;
    for (auto& [port, carrier] : carriers_) report_carrier(port, carrier);
  }
  if (may_write_) {
    changed_.merge(later_);
    later_.clear();
    for (auto& [name, row] : refused_rows_) {
      if (row.due <= now) changed_.insert(name);
    }
    if (!changed_.empty()) wake();
    if (!settled_ && !is_adopting_ && options_.is_settled()) {
      is_adopting_ = true;
      adopt({});
    }
  }
  if (!settled_) arm_timer(now + kTick);
  for (const auto& [name, row] : refused_rows_) {
    if (row.due > now) arm_timer(row.due);
  }
}

void StateRows::adopt(const std::string& cursor) {
  store_.scan(kManagedTable, cursor, kPage, [this, life = std::weak_ptr{life_}](const Result<RowPage>& page) {
    if (life.expired()) return;
    if (!page) {
      is_adopting_ = false;  // The next tick begins again.
      return;
    }
    adopt_rows(*page);
    page->next.empty() ? end_start() : adopt(page->next);
  });
}

void StateRows::adopt_rows(const RowPage& page) {
  for (const Record& record : page.rows) {
    const std::size_t bar = record.key().find('|');
    if (bar == std::string_view::npos) continue;
    const Name name{std::string{record.key().substr(0, bar)}, std::string{record.key().substr(bar + 1)}};
    if (name.first == kManagedTable || std::ranges::find(kTables, name.first) == kTables.end()) continue;
    owned_.insert(name);
    if (written_.try_emplace(name, std::nullopt).second) note(name.first, name.second);
  }
}

void StateRows::end_start() {
  settled_ = true;
  note(kStateNeighbors, "Flags");
}

RowCheckOptions StateRows::check_options() {
  return {.page = [this](std::string& cursor, std::size_t max, std::vector<OwnRow>& rows) { page_of_rows(cursor, max, rows); },
          .is_current = [this](const OwnRow& row) { return is_current(row); },
          .repair = [this](const OwnRow& row, const Record&) { repair(row); },
          .writes_over_types = true};
}

/// Of each row also its owner. The cursor is the key of the owner.
void StateRows::page_of_rows(std::string& cursor, std::size_t max, std::vector<OwnRow>& rows) const {
  const std::size_t bar = cursor.find('|');
  auto row = written_.begin();
  if (bar != std::string::npos) row = written_.upper_bound({cursor.substr(0, bar), cursor.substr(bar + 1)});
  for (; row != written_.end(); ++row) {
    if (rows.size() + 2 > max) return;
    const auto& [name, content] = *row;
    cursor = owner_key(name);
    if (!content || !owned_.contains(name)) continue;  // A write is under way.
    rows.push_back({name.first, name.second, record_of(name.second, *content)});
    rows.push_back({std::string{kManagedTable}, cursor, owner_record(name, *content)});
  }
  cursor.clear();
}

bool StateRows::is_current(const OwnRow& row) const {
  const Name name = name_of(row);
  const auto found = written_.find(name);
  if (found == written_.end() || !found->second || !owned_.contains(name)) return false;
  const Record now = row.table == kManagedTable ? owner_record(name, *found->second) : record_of(row.key, *found->second);
  return now.content_hash() == row.content.content_hash();
}

/// What the store refuses is not compared until it is written.
void StateRows::repair(const OwnRow& row) {
  const Name name = name_of(row);
  const auto refused = [this, name, is_owner = row.table == kManagedTable](const Status& why) {
    if (is_owner) owned_.erase(name);
    refuse(name, is_owner ? why.with_context("its owner in MANAGED_ROWS") : why);
  };
  const Status written =
      store_.write(row.table, Change{ChangeOp::Set, row.content}, [refused, life = std::weak_ptr{life_}](const Status& end) {
        if (!life.expired() && !end.ok()) refused(end);
      });
  if (!written.ok()) refused(written);
}

void StateRows::write_again() {
  lost_ += written_.size();
  owned_.clear();
  for (const auto& [name, row] : std::exchange(refused_rows_, {})) note(name.first, name.second);  // Some were never written.
  for (const auto& [name, content] : std::exchange(written_, {})) note(name.first, name.second);
}

}  // namespace rondo::managers
