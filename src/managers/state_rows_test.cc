// STATE_DB in a simulated world: which rows it gets, whose they are, and what becomes of them when another program or a lost Redis takes
// them away. STATE_DB is a simulated store with delays; the data plane is a map of the test.
#include "managers/state_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "orch/late_pages.h"
#include "orch/runtime_fixture.h"
#include "sim/sim_store.h"

namespace rondo::managers {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

/// Rows of PORT_TABLE and INTF_TABLE are in the data plane as soon as they are handled.
class StateRowsTest : public testing::Test {
 protected:
  StateRowsTest() {
    auto& agent = fixture.runtime.add<OpenOrch>("agent");
    for (const char* const table :
         {"PORT_TABLE", "LAG_TABLE", "LAG_MEMBER_TABLE", "VLAN_TABLE", "VLAN_MEMBER_TABLE", "VRF_TABLE", "INTF_TABLE"}) {
      agent.consume(
          table,
          [this, table](std::string_view key, const Fields& fields) {
            if (fields.contains("bad")) return Outcome::reject(Status{StatusCode::InvalidArgument, "field 'bad' is not known"});
            return applied(table, key, true);
          },
          [this, table](std::string_view key) { return applied(table, key, false); });
    }
    for (const std::string table : {"LAG_TABLE", "LAG_MEMBER_TABLE", "VLAN_TABLE", "VLAN_MEMBER_TABLE", "VRF_TABLE", "INTF_TABLE"}) {
      fixture.runtime.explain_state(table, [this, table](std::string_view key, const Record*) {
        return RowInPlane{plane.contains(table + ":" + std::string{key}) ? PlaneState::Installed : PlaneState::Unknown};
      });
    }
    EXPECT_TRUE(state.declare({.name = "OTHER", .kind = TableKind::Watched}).ok());
  }
  void open() { open(state); }
  void open(Store& store) {
    auto opened = StateRows::open(fixture.runtime, store,
                                  {.port = [this](std::string_view port) { return state_of(port); },
                                   .device = [this](std::string_view device) -> std::optional<PortState> {
                                     const auto found = ports.find(device);
                                     return found == ports.end() ? std::nullopt : std::optional{found->second};
                                   },
                                   .vrf = [this](std::string_view) { return vrf; },
                                   .learned =
                                       [this](std::string_view station) {
                                         const auto found = stations.find(station);
                                         return found == stations.end() ? std::nullopt : std::optional{found->second};
                                       },
                                   .is_settled = [this] { return settled; },
                                   .may_write = [this] { return may_write; }});
    ASSERT_TRUE(opened.has_value()) << opened.error().to_string();
    rows = std::move(*opened);
    run();
  }
  void run(Duration time = 500ms) { fixture.run_for(time); }
  /// A port and an address of it, as an operator configures them.
  void configure() {
    fixture.set("PORT_TABLE", "swp1");
    fixture.set("INTF_TABLE", "swp1");
    fixture.set("INTF_TABLE", "swp1:10.0.0.1/24");
    run();
  }
  /// What STATE_DB has, as another client sees it: "field=value ..." by "TABLE|key".
  std::map<std::string, std::string> content(const std::string& table) {
    std::map<std::string, std::string> found;
    state.server().scan(table, {}, 1000, [&](const Result<RowPage>& page) {
      for (const Record& row : page->rows) {
        std::map<std::string, std::string> sorted;
        for (const Field field : row.fields()) sorted[std::string{field.name}] = field.value;
        std::string text;
        for (const auto& [name, value] : sorted) text += (text.empty() ? "" : " ") + name + "=" + value;
        found[table + "|" + std::string{row.key()}] = text;
      }
    });
    run(1ms);
    return found;
  }
  std::set<std::string> owned() {
    std::set<std::string> keys;
    for (const auto& [key, text] : content("MANAGED_ROWS")) keys.insert(key);
    return keys;
  }
  void link_event(std::uint32_t device, const std::string& name, bool carrier) {
    LinkEvent event;
    event.port = IfIndex{device};
    event.name = name;
    event.admin_up = true;
    event.carrier = carrier;
    rows->link_event(event);
  }
  /// Of swp1.
  void set_carrier(bool carrier) {
    ports["swp1"].carrier = carrier;
    link_event(5, "swp1", carrier);
  }
  /// Another program.
  void other_sets(const std::string& table, const std::string& key, FieldList fields) {
    ASSERT_TRUE(state.server().write(table, Change::set(key, fields)).ok());
  }
  void other_deletes(const std::string& table, const std::string& key) {
    ASSERT_TRUE(state.server().write(table, Change::remove(key)).ok());
  }

  RuntimeFixture fixture;
  sim::SimStore state{fixture.runtime.scheduler()};
  std::set<std::string, std::less<>> plane;
  std::map<std::string, PortState, std::less<>> ports{{"swp1", {.admin_up = true, .carrier = true, .mtu = 9100}}};
  std::string vrf;                                           // Of each interface.
  std::map<std::string, std::string, std::less<>> stations;  // Learned, and their ports.
  bool settled = true;
  bool may_write = true;
  std::unique_ptr<StateRows> rows;

 private:
  Outcome applied(const std::string& table, std::string_view key, bool is_set) {
    const std::string name = table + ":" + std::string{key};
    is_set ? static_cast<void>(plane.insert(name)) : static_cast<void>(plane.erase(name));
    return Outcome::done();
  }
  std::optional<PortState> state_of(std::string_view port) const {
    const auto found = ports.find(port);
    if (found == ports.end() || !plane.contains("PORT_TABLE:" + std::string{port})) return std::nullopt;
    return found->second;
  }
};

constexpr std::string_view kUp = "admin_status=up mtu=9100 netdev_oper_status=up state=ok";

TEST_F(StateRowsTest, PortsAndInterfacesAreShownWithTheirOwnersAndGoWithTheirRows) {
  open();
  configure();
  EXPECT_THAT(content("PORT_TABLE"), ElementsAre(Pair("PORT_TABLE|swp1", kUp)));
  EXPECT_THAT(content("INTERFACE_TABLE"),
              ElementsAre(Pair("INTERFACE_TABLE|swp1", "vrf="), Pair("INTERFACE_TABLE|swp1|10.0.0.1/24", "state=ok")));
  EXPECT_THAT(
      content("MANAGED_ROWS"),
      UnorderedElementsAre(Pair("MANAGED_ROWS|PORT_TABLE|swp1", "fields=admin_status,mtu,netdev_oper_status,state source=data plane"),
                           Pair("MANAGED_ROWS|INTERFACE_TABLE|swp1", "fields=vrf source=data plane"),
                           Pair("MANAGED_ROWS|INTERFACE_TABLE|swp1|10.0.0.1/24", "fields=state source=data plane"),
                           Pair("MANAGED_ROWS|NEIGH_RESTORE_TABLE|Flags", "fields=restored source=data plane")));
  fixture.remove("INTF_TABLE", "swp1:10.0.0.1/24");
  fixture.remove("INTF_TABLE", "swp1");
  fixture.remove("PORT_TABLE", "swp1");
  run();
  EXPECT_THAT(content("PORT_TABLE"), IsEmpty());
  EXPECT_THAT(content("INTERFACE_TABLE"), IsEmpty());
  EXPECT_THAT(owned(), ElementsAre("MANAGED_ROWS|NEIGH_RESTORE_TABLE|Flags"));
  EXPECT_EQ(rows->repaired(), 0U);
}

TEST_F(StateRowsTest, AVrfIsShownAndItsInterfacesNameIt) {
  vrf = "Vrf1";
  open();
  fixture.set("VRF_TABLE", "Vrf1");
  configure();
  EXPECT_THAT(content("VRF_TABLE"), ElementsAre(Pair("VRF_TABLE|Vrf1", "state=ok")));
  EXPECT_THAT(content("VRF_OBJECT_TABLE"), ElementsAre(Pair("VRF_OBJECT_TABLE|Vrf1", "state=ok")));
  EXPECT_EQ(content("INTERFACE_TABLE")["INTERFACE_TABLE|swp1"], "vrf=Vrf1");
  fixture.remove("VRF_TABLE", "Vrf1");
  run();
  EXPECT_THAT(content("VRF_TABLE"), IsEmpty());
  EXPECT_THAT(content("VRF_OBJECT_TABLE"), IsEmpty());
}

TEST_F(StateRowsTest, ALagAndItsMembersAreShownAsTeamsyncdShowsThem) {
  open();
  ports["PortChannel1"] = {.admin_up = true, .carrier = true, .mtu = 9100};
  configure();
  fixture.set("LAG_TABLE", "PortChannel1");
  fixture.set("LAG_MEMBER_TABLE", "PortChannel1:swp1");
  run();
  EXPECT_THAT(content("LAG_TABLE"), ElementsAre(Pair("LAG_TABLE|PortChannel1", "admin_status=up mtu=9100 oper_status=up state=ok")));
  EXPECT_THAT(content("LAG_MEMBER_TABLE"),
              ElementsAre(Pair("LAG_MEMBER_TABLE|PortChannel1|swp1", "runner.aggregator.selected=true state=ok")));
  ports["swp1"].carrier = ports["PortChannel1"].carrier = false;
  link_event(1, "swp1", false);
  link_event(2, "PortChannel1", false);
  run();
  EXPECT_THAT(content("LAG_TABLE"), ElementsAre(Pair("LAG_TABLE|PortChannel1", HasSubstr("oper_status=down"))));
  EXPECT_THAT(content("LAG_MEMBER_TABLE"), ElementsAre(Pair("LAG_MEMBER_TABLE|PortChannel1|swp1", HasSubstr("selected=false"))));
  fixture.remove("LAG_MEMBER_TABLE", "PortChannel1:swp1");
  fixture.remove("LAG_TABLE", "PortChannel1");
  run();
  EXPECT_THAT(content("LAG_TABLE"), IsEmpty());
  EXPECT_THAT(content("LAG_MEMBER_TABLE"), IsEmpty());
}

TEST_F(StateRowsTest, AVlanAndItsMembersAreShownAsVlanmgrdShowsThem) {
  open();
  fixture.set("VLAN_TABLE", "Vlan10");
  fixture.set("VLAN_MEMBER_TABLE", "Vlan10:Ethernet0");
  run();
  EXPECT_THAT(content("VLAN_TABLE"), ElementsAre(Pair("VLAN_TABLE|Vlan10", "state=ok")));
  EXPECT_THAT(content("VLAN_MEMBER_TABLE"), ElementsAre(Pair("VLAN_MEMBER_TABLE|Vlan10|Ethernet0", "state=ok")));
  fixture.set("VLAN_MEMBER_TABLE", "Vlan10:Ethernet0", {{"bad", "1"}});
  fixture.set("VLAN_MEMBER_TABLE", "Vlan10:Ethernet4", {{"bad", "1"}});
  run();
  EXPECT_THAT(content("VLAN_MEMBER_TABLE"), ElementsAre(Pair("VLAN_MEMBER_TABLE|Vlan10|Ethernet0", "state=ok")))
      << "a refused change leaves what was there";
  fixture.remove("VLAN_MEMBER_TABLE", "Vlan10:Ethernet0");
  fixture.remove("VLAN_MEMBER_TABLE", "Vlan10:Ethernet4");
  fixture.remove("VLAN_TABLE", "Vlan10");
  run();
  EXPECT_THAT(content("VLAN_TABLE"), IsEmpty());
  EXPECT_THAT(content("VLAN_MEMBER_TABLE"), IsEmpty());
}

TEST_F(StateRowsTest, AStationThatABridgeHasLearnedIsShownAsFdborchShowsIt) {
  open();
  stations["Vlan10:02:00:00:00:00:aa"] = "Ethernet0";
  rows->station_changed("Vlan10:02:00:00:00:00:aa");
  run();
  EXPECT_THAT(content("FDB_TABLE"), ElementsAre(Pair("FDB_TABLE|Vlan10:02:00:00:00:00:aa", "port=Ethernet0 type=dynamic")));
  stations["Vlan10:02:00:00:00:00:aa"] = "Ethernet4";
  rows->station_changed("Vlan10:02:00:00:00:00:aa");
  run();
  EXPECT_THAT(content("FDB_TABLE"), ElementsAre(Pair("FDB_TABLE|Vlan10:02:00:00:00:00:aa", "port=Ethernet4 type=dynamic")));
  stations.clear();
  rows->station_changed("Vlan10:02:00:00:00:00:aa");
  run();
  EXPECT_THAT(content("FDB_TABLE"), IsEmpty());
}

/// It kept the name of each station that it had ever heard of.
TEST_F(StateRowsTest, AProcessThatStandsByKeepsOnlyTheStationsThatAreThere) {
  may_write = false;
  open();
  for (int i = 10; i < 40; ++i) {
    const std::string station = "Vlan10:02:00:00:00:00:" + std::to_string(i);
    stations[station] = "Ethernet0";
    rows->station_changed(station);
    if (i == 39) break;
    stations.erase(station);
    rows->station_changed(station);
  }
  EXPECT_EQ(rows->depth(), 1U);
  may_write = true;
  run();
  EXPECT_THAT(content("FDB_TABLE"), ElementsAre(Pair("FDB_TABLE|Vlan10:02:00:00:00:00:39", "port=Ethernet0 type=dynamic")));
}

/// A process that is killed between the two writes leaves an owner without a row, never a row without one.
TEST_F(StateRowsTest, TheOwnerIsStoredBeforeTheRow) {
  open();
  fixture.set("PORT_TABLE", "swp1");
  bool had_owner_alone = false;
  for (int i = 0; i < 200 && content("PORT_TABLE").empty(); ++i) had_owner_alone = owned().contains("MANAGED_ROWS|PORT_TABLE|swp1");
  EXPECT_TRUE(had_owner_alone);
  EXPECT_FALSE(content("PORT_TABLE").empty());
}

TEST_F(StateRowsTest, AStartDeletesItsOwnRowsThatAreStaleAndNoRowOfOthers) {
  for (const auto& table : {"PORT_TABLE", "INTERFACE_TABLE", "MANAGED_ROWS"}) {
    ASSERT_TRUE(state.declare({.name = table, .kind = TableKind::Watched}).ok());
  }
  other_sets("INTERFACE_TABLE", "swp7|10.7.0.1/24", {{"state", "ok"}});
  other_sets("INTERFACE_TABLE", "swp7", {{"vrf", ""}});
  other_sets("PORT_TABLE", "swp7", {{"state", "ok"}, {"netdev_oper_status", "up"}});
  other_sets("INTERFACE_TABLE", "swp2", {{"vrf", ""}});
  other_sets("MANAGED_ROWS", "INTERFACE_TABLE|swp2", {{"source", "data plane"}});
  other_sets("MANAGED_ROWS", "INTERFACE_TABLE|swp3", {{"source", "data plane"}});  // Its row was never written.
  other_sets("MANAGED_ROWS", "OTHER|x", {{"source", "data plane"}});               // Not by this program.
  other_sets("OTHER", "x", {{"state", "ok"}});
  settled = false;
  open();
  EXPECT_TRUE(content("INTERFACE_TABLE").contains("INTERFACE_TABLE|swp2")) << "not before all rows have been handled";
  settled = true;
  run();
  EXPECT_THAT(content("INTERFACE_TABLE"),
              ElementsAre(Pair("INTERFACE_TABLE|swp7", "vrf="), Pair("INTERFACE_TABLE|swp7|10.7.0.1/24", "state=ok")));
  EXPECT_TRUE(content("PORT_TABLE").contains("PORT_TABLE|swp7"));
  EXPECT_TRUE(content("OTHER").contains("OTHER|x"));
  EXPECT_THAT(owned(), UnorderedElementsAre("MANAGED_ROWS|NEIGH_RESTORE_TABLE|Flags", "MANAGED_ROWS|OTHER|x"));
}

/// It was taken over from the page, and the row that another program had written meanwhile was deleted.
TEST_F(StateRowsTest, ARowThatIsDeletedWhileAPageWithItsOwnerIsOnItsWayIsNotTakenOver) {
  LatePages late{std::make_unique<sim::SimStore>(fixture.runtime.scheduler())};
  late.holds = true;
  settled = false;
  open(late);
  configure();
  settled = true;
  run();
  ASSERT_EQ(late.late, "MANAGED_ROWS");
  fixture.remove("PORT_TABLE", "swp1");
  run();
  ASSERT_TRUE(late.write("PORT_TABLE", Change::set("swp1", {{"state", "other"}})).ok());
  run();
  late.deliver();
  run(5s);
  std::string found;
  late.get("PORT_TABLE", "swp1",
           [&found](const Result<Record>& row) { found = row && *row ? row->fields().find("state").value_or("") : ""; });
  run();
  EXPECT_EQ(found, "other");
  rows.reset();  // Before its store.
}

TEST_F(StateRowsTest, RowsThatAnotherProgramDeletesOrChangesAreWrittenAgainWithinSeconds) {
  open();
  configure();
  const auto ports_before = content("PORT_TABLE");
  const auto interfaces_before = content("INTERFACE_TABLE");
  const auto owners_before = content("MANAGED_ROWS");
  other_sets("PORT_TABLE", "swp1", {{"netdev_oper_status", "down"}});
  other_deletes("INTERFACE_TABLE", "swp1|10.0.0.1/24");
  other_deletes("MANAGED_ROWS", "INTERFACE_TABLE|swp1");
  run(3s);
  EXPECT_EQ(content("PORT_TABLE"), ports_before);
  EXPECT_EQ(content("INTERFACE_TABLE"), interfaces_before);
  EXPECT_EQ(content("MANAGED_ROWS"), owners_before);
  EXPECT_EQ(rows->repaired(), 3U);
  EXPECT_THAT(rows->last_repair(), HasSubstr("swp1"));
  run(10s);
  EXPECT_EQ(rows->repaired(), 3U);
}

TEST_F(StateRowsTest, AFieldOfAnotherProgramStaysAndIsNoChange) {
  open();
  configure();
  other_sets("PORT_TABLE", "swp1", {{"host_tx_ready", "true"}});
  run(5s);
  EXPECT_THAT(content("PORT_TABLE")["PORT_TABLE|swp1"], HasSubstr("host_tx_ready=true"));
  EXPECT_EQ(rows->repaired(), 0U);
}

/// Changes of the data plane itself are no repairs, however slow the store is.
TEST_F(StateRowsTest, APortThatFlapsOverASlowStoreCountsNoRepair) {
  state.set_latency(100ms, 400ms);
  open();
  configure();
  for (int i = 0; i < 40; ++i) {
    set_carrier(i % 2 == 0);
    run(170ms);
  }
  run(5s);
  EXPECT_THAT(content("PORT_TABLE")["PORT_TABLE|swp1"], HasSubstr("netdev_oper_status=down"));
  EXPECT_EQ(rows->repaired(), 0U);
}

TEST_F(StateRowsTest, AnEmptiedStoreIsWrittenAgainWithItsOwnersAndCounted) {
  open();
  configure();
  const std::set<std::string> owners = owned();
  for (const std::string table : {"PORT_TABLE", "INTERFACE_TABLE", "NEIGH_RESTORE_TABLE", "MANAGED_ROWS"}) {
    for (const auto& [key, text] : content(table)) other_deletes(table, key.substr(table.size() + 1));
  }
  rows->write_again();
  run();
  EXPECT_THAT(content("PORT_TABLE"), ElementsAre(Pair("PORT_TABLE|swp1", kUp)));
  EXPECT_EQ(content("INTERFACE_TABLE").size(), 2U);
  EXPECT_EQ(owned(), owners);
  EXPECT_EQ(rows->repaired(), 4U);
}

TEST_F(StateRowsTest, RefusedWritesAreTriedAgainUntilTheStoreTakesThem) {
  state.set_failure_chance(0.8);
  open();
  configure();
  run(300s);
  EXPECT_GT(rows->refused(), 0U);
  EXPECT_THAT(content("PORT_TABLE"), ElementsAre(Pair("PORT_TABLE|swp1", kUp)));
  EXPECT_EQ(content("INTERFACE_TABLE").size(), 2U);
  fixture.remove("INTF_TABLE", "swp1:10.0.0.1/24");
  run(300s);
  EXPECT_EQ(content("INTERFACE_TABLE").size(), 1U);
}

/// Such as a key of another type in a Redis.
TEST_F(StateRowsTest, ARowThatTheStoreGoesOnToRefuseIsTriedEverMoreRarelyAndIsATrouble) {
  open();
  state.set_failure_chance(1);
  fixture.set("PORT_TABLE", "swp1");
  run(60s);
  EXPECT_LT(rows->refused(), 20U);
  EXPECT_GT(rows->refused(), 5U);
  EXPECT_THAT(rows->trouble(), HasSubstr("PORT_TABLE|swp1"));
  state.set_failure_chance(0);
  run(35s);
  EXPECT_THAT(content("PORT_TABLE"), ElementsAre(Pair("PORT_TABLE|swp1", kUp)));
  EXPECT_EQ(rows->trouble(), "");
  // Another program deletes the row, and the store refuses to take it again.
  const std::uint64_t before = rows->repaired();
  other_deletes("PORT_TABLE", "swp1");
  state.set_failure_chance(1);
  run(60s);
  EXPECT_LE(rows->repaired(), before + 1);
  EXPECT_THAT(rows->trouble(), HasSubstr("PORT_TABLE|swp1"));
  state.set_failure_chance(0);
  run(35s);
  EXPECT_THAT(content("PORT_TABLE"), ElementsAre(Pair("PORT_TABLE|swp1", kUp)));
  EXPECT_EQ(rows->trouble(), "");
}

TEST_F(StateRowsTest, ANewRowThatTheStoreHasRefusedIsWrittenToTheNextRedis) {
  open();
  state.set_failure_chance(1);
  fixture.set("PORT_TABLE", "swp1");
  run(60s);
  EXPECT_THAT(rows->trouble(), HasSubstr("PORT_TABLE|swp1"));
  state.set_failure_chance(0);
  rows->write_again();
  EXPECT_EQ(rows->trouble(), "");
  run();
  EXPECT_THAT(content("PORT_TABLE"), ElementsAre(Pair("PORT_TABLE|swp1", kUp)));
  EXPECT_EQ(rows->trouble(), "");
}

TEST_F(StateRowsTest, ARowThatChangesBackAfterARefusalIsNoTroubleAnyMore) {
  open();
  configure();
  state.set_send_buffer(0);
  set_carrier(false);
  run();
  EXPECT_THAT(rows->trouble(), HasSubstr("PORT_TABLE|swp1"));
  set_carrier(true);
  state.set_send_buffer(1000);
  run(10s);
  EXPECT_EQ(rows->trouble(), "");
  EXPECT_THAT(content("PORT_TABLE"), ElementsAre(Pair("PORT_TABLE|swp1", kUp)));
  EXPECT_EQ(rows->repaired(), 0U);
}

TEST_F(StateRowsTest, ARefusalWhileAnEarlierWriteIsUnderWayIsTriedAgain) {
  open();
  configure();
  state.set_latency(20ms, 20ms);
  set_carrier(false);
  run(5ms);
  state.set_send_buffer(0);
  set_carrier(true);
  run(5ms);
  EXPECT_EQ(rows->refused(), 2U) << "the row and the event on NOTIFICATIONS";
  state.set_send_buffer(1000);
  run(10s);
  EXPECT_THAT(content("PORT_TABLE"), ElementsAre(Pair("PORT_TABLE|swp1", kUp)));
  EXPECT_EQ(rows->trouble(), "");
}

/// Its content was unknown from then on, and what another program did to it stayed.
TEST_F(StateRowsTest, ARowWhoseEarlierWriteIsRefusedWhileALaterOneSucceedsIsStillChecked) {
  open();
  configure();
  state.set_latency(20ms, 20ms);
  set_carrier(false);
  run(5ms);
  set_carrier(true);
  state.set_failure_chance(1);
  run(17ms);
  state.set_failure_chance(0);
  run(5s);
  EXPECT_EQ(rows->trouble(), "");
  other_deletes("PORT_TABLE", "swp1");
  run(10s);
  EXPECT_THAT(content("PORT_TABLE"), ElementsAre(Pair("PORT_TABLE|swp1", kUp)));
  EXPECT_EQ(rows->repaired(), 1U);
}

TEST_F(StateRowsTest, NothingIsWrittenBeforeItMayWrite) {
  may_write = false;
  open();
  configure();
  run(5s);
  EXPECT_THAT(content("PORT_TABLE"), IsEmpty());
  EXPECT_THAT(content("MANAGED_ROWS"), IsEmpty());
  may_write = true;
  run();
  EXPECT_EQ(content("PORT_TABLE").size(), 1U);
}

TEST_F(StateRowsTest, AChangeOfCarrierIsAnEventForPortsWithARow) {
  open();
  std::vector<std::string> events;
  auto subscription = state.server().subscribe(kNotifications);
  ASSERT_TRUE(subscription.has_value());
  configure();
  for (const bool carrier : {true, false, false, true}) {
    link_event(5, "swp1", carrier);
    link_event(6, "eth0", carrier);
    run();
  }
  std::vector<Change> taken;
  (*subscription)->take(100, taken);
  for (const Change& event : taken) {
    events.push_back(std::string{event.verb()} + " " + std::string{event.fields().find("port").value_or("")} + " " +
                     std::string{event.fields().find("oper_status").value_or("")});
  }
  EXPECT_THAT(events, ElementsAre("port_state_change swp1 down", "port_state_change swp1 up"));
}

}  // namespace
}  // namespace rondo::managers
