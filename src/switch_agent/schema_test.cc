// The schema of the tables: valid rows become values, and invalid rows are rejected with the field and its value.
#include "switch_agent/schema.h"
#include "switch_agent/nexthop_sets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "rondo/store/change.h"
#include "switch_agent/tables.h"

namespace rondo::switch_agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Row {
  explicit Row(FieldList given) : change(Change::set("key", given)) {}
  Fields fields() const { return change.fields(); }
  Change change;
};

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "no error" : result.error().to_string();
}

TEST(PortSchema, ReadsAdminStatusAndMtuAndIgnoresTheRest) {
  const Result<PortRow> row = parse_port(Row{{"lanes", "1,2"}, {"speed", "100000"}, {"admin_status", "up"}, {"mtu", "9100"}}.fields());
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->admin_up, true);
  EXPECT_EQ(row->mtu, 9100U);
}

TEST(PortSchema, WhatIsNotGivenIsNotAsked) {
  const Result<PortRow> row = parse_port(Row{{"alias", "x"}}.fields());
  ASSERT_TRUE(row.has_value());
  EXPECT_FALSE(row->admin_up.has_value());
  EXPECT_FALSE(row->mtu.has_value());
}

TEST(PortSchema, BadValuesAreNamed) {
  for (const char* bad : {"UP", "", "1", "up ", "\xff\x01"}) {
    EXPECT_THAT(error_of(parse_port(Row{{"admin_status", bad}}.fields())), HasSubstr("admin_status")) << bad;
  }
  for (const char* bad : {"", "67", "65536", "-1", "9100x", "0x100", " 9100", "1e3", "99999999999999999999"}) {
    EXPECT_THAT(error_of(parse_port(Row{{"mtu", bad}}.fields())), AllOf(HasSubstr("mtu"), HasSubstr("'" + std::string{bad} + "'")));
  }
}

TEST(VlanSchema, ANameHasANumberFrom1To4094WithoutZerosBeforeIt) {
  EXPECT_EQ(parse_vlan_name("Vlan1").value(), 1);
  EXPECT_EQ(parse_vlan_name("Vlan4094").value(), 4094);
  for (const char* bad :
       {"", "Vlan", "Vlan0", "Vlan4095", "Vlan65537", "Vlan010", "Vlan10 ", "Vlan-1", "Vlan+1", "vlan10", "VLAN10", "Vlan1.2"}) {
    EXPECT_FALSE(is_vlan_name(bad)) << bad;
  }
  EXPECT_FALSE(check_port_key("Vlan10").ok());
  EXPECT_FALSE(check_port_key("lo").ok());
  EXPECT_TRUE(check_port_key("Vlan4095").ok());
}

TEST(VlanSchema, AMemberHasAVlanAndAPort) {
  const Result<VlanMemberKey> key = parse_vlan_member_key("Vlan10:Ethernet0");
  ASSERT_TRUE(key.has_value());
  EXPECT_EQ(key->vlan, "Vlan10");
  EXPECT_EQ(key->number, 10);
  EXPECT_EQ(key->port, "Ethernet0");
  for (const char* bad : {"", "Vlan10", "Vlan10:", ":Ethernet0", "Vlan10:Vlan20", "Vlan10:a/b", "Ethernet0:Vlan10"}) {
    EXPECT_FALSE(parse_vlan_member_key(bad).has_value()) << bad;
  }
}

TEST(VlanSchema, TheDeviceOfATaggedMemberHasAShorterNameWhereTheLongOneDoesNotFit) {
  EXPECT_EQ(tagged_port_name("Ethernet0", 10), "Ethernet0.10");
  EXPECT_EQ(tagged_port_name("Ethernet12", 4094), "Ethernet12.4094");
  EXPECT_EQ(tagged_port_name("Ethernet124", 4094), "Eth124.4094");
  EXPECT_EQ(tagged_port_name("PortChannel99", 4094), "Po99.4094");
  EXPECT_EQ(tagged_port_name("LongPortName0", 4094), "");
}

TEST(LagSchema, ANameHasOneToFourDigits) {
  for (const char* good : {"PortChannel0", "PortChannel1", "PortChannel0001", "PortChannel9999"}) {
    EXPECT_TRUE(check_lag_name(good).ok()) << good;
    EXPECT_FALSE(check_port_key(good).ok()) << good;
    EXPECT_TRUE(parse_vlan_member_key(std::string{"Vlan10:"} + good).has_value()) << good;
  }
  for (const char* bad :
       {"", "PortChannel", "PortChannel12345", "PortChannel1 ", "PortChannel-1", "PortChannel1a", "portchannel1", "Port"}) {
    EXPECT_FALSE(is_lag_name(bad)) << bad;
  }
}

TEST(LagSchema, ARowHasDefaultsAndAMemberIsEnabled) {
  const LagRow plain = parse_lag(Row{{"fast_rate", "true"}}.fields()).value();
  EXPECT_TRUE(plain.admin_up && !plain.mtu && plain.mode == BondMode::Lacp && plain.min_links == 1);
  const LagRow other = parse_lag(Row{{"admin_status", "down"}, {"mtu", "9000"}, {"static", "true"}, {"min_links", "0"}}.fields()).value();
  EXPECT_TRUE(!other.admin_up && other.mtu == 9000U && other.mode == BondMode::Static && other.min_links == 0);
  EXPECT_TRUE(parse_lag_member(Row{{"NULL", "NULL"}}.fields()).value());
  EXPECT_FALSE(parse_lag_member(Row{{"status", "disabled"}}.fields()).value());
  const LagMemberKey key = parse_lag_member_key("PortChannel1:Ethernet0").value();
  EXPECT_EQ(key.lag, "PortChannel1");
  EXPECT_EQ(key.port, "Ethernet0");
  for (const char* bad : {"", "PortChannel1", "PortChannel1:", "Vlan10:Ethernet0", "PortChannel1:Vlan10", "PortChannel1:PortChannel2"}) {
    EXPECT_FALSE(parse_lag_member_key(bad).has_value()) << bad;
  }
}

TEST(VlanSchema, AnEntryHasTheAddressOfOneStationInTwoSpellings) {
  for (const char* key : {"Vlan10:00:11:22:33:44:FF", "Vlan10:00-11-22-33-44-ff", "Vlan10:00:11:22:33:44:ff"}) {
    const Result<FdbKey> parsed = parse_fdb_key(key);
    ASSERT_TRUE(parsed.has_value()) << key;
    EXPECT_EQ(parsed->vlan, "Vlan10");
    EXPECT_EQ(parsed->mac.to_string(), "00:11:22:33:44:ff");
    EXPECT_EQ(canonical_fdb_key(key).value_or(key), "Vlan10:00:11:22:33:44:ff");
  }
  EXPECT_FALSE(canonical_fdb_key("Vlan10:00:11:22:33:44:ff"));
  for (const char* bad : {"", "Vlan10", "Vlan10:", "Vlan10:00:11:22:33:44", "Vlan10:00:00:00:00:00:00", "Vlan10:01:00:5e:00:00:01",
                          "Vlan10:00-11:22:33:44:55", "swp1:00:11:22:33:44:55"}) {
    EXPECT_FALSE(parse_fdb_key(bad).has_value()) << bad;
  }
}

TEST(Schema, ARejectedRowNamesItsUnknownField) {
  EXPECT_THAT(error_of(parse_route(Row{{"nexthop_grup", "102"}}.fields())),
              AllOf(HasSubstr("needs one of"), HasSubstr("ROUTE_TABLE has no field 'nexthop_grup'; did you mean 'nexthop_group'?")));
  EXPECT_THAT(error_of(parse_group(Row{{"nexthops", "10.0.0.1"}, {"ifname", "swp1"}}.fields())), HasSubstr("did you mean 'nexthop'?"));
  const NeighborKey key{"swp1", IpAddress::parse("10.0.0.1").value()};
  EXPECT_THAT(error_of(parse_neighbor(key, Row{{"mac", "02:00:00:00:00:01"}}.fields())), HasSubstr("NEIGH_TABLE has no field 'mac'"));
  EXPECT_THAT(error_of(parse_port(Row{{"lanes", "1"}, {"mtu", "1"}}.fields())), Not(HasSubstr("lanes"))) << "SONiC's fields are known";
  EXPECT_TRUE(parse_port(Row{{"colour", "blue"}}.fields()).has_value()) << "an unknown field alone is no reason";
}

/// A row of 'table' in which only 'name' is wrong.
Row row_with_a_bad(std::string_view name) {
  if (name == "family") return Row{{"neigh", "02:00:00:00:00:01"}, {"family", "?"}};
  if (name == "learned") return Row{{"neigh", "02:00:00:00:00:01"}, {"learned", "?"}};
  if (name == "nexthop") return Row{{"nexthop", "?"}, {"ifname", "swp1"}};
  if (name == "ifname") return Row{{"nexthop", "10.0.0.1"}, {"ifname", "a/b"}};
  if (name == "port") return Row{{"port", "a/b"}};
  if (name == "type") return Row{{"port", "swp1"}, {"type", "?"}};
  if (name == "onlink") return Row{{"nexthop", "10.0.0.1"}, {"ifname", "swp1"}, {"onlink", "?"}};
  if (name == "weight") return Row{{"nexthop", "10.0.0.1"}, {"ifname", "swp1"}, {"weight", "?"}};
  return Row{{name, "?"}};
}

// The declaration matches the parsers: each declared field is read, and its range is enforced.
TEST(Schema, EachDeclaredFieldIsReadByItsParser) {
  const NeighborKey key{"swp1", IpAddress::parse("10.0.0.1").value()};
  const auto error = [&key](std::string_view table, const Row& row) {
    if (table == "PORT_TABLE") return error_of(parse_port(row.fields()));
    if (table == "LAG_TABLE") return error_of(parse_lag(row.fields()));
    if (table == "LAG_MEMBER_TABLE") return error_of(parse_lag_member(row.fields()));
    if (table == "VLAN_TABLE") return error_of(parse_vlan(row.fields()));
    if (table == "VLAN_MEMBER_TABLE") return error_of(parse_tagged(row.fields()));
    if (table == "FDB_TABLE") return error_of(parse_fdb(row.fields()));
    if (table == "INTF_TABLE") return error_of(parse_interface(row.fields()));
    if (table == "NEIGH_TABLE") return error_of(parse_neighbor(key, row.fields()));
    if (table == "NEXTHOP_GROUP_TABLE") return error_of(parse_group(row.fields()));
    return error_of(parse_route(row.fields()));
  };
  std::size_t fields = 0;
  for (const TableReference& table : tables()) {
    for (const FieldReference* const one : table.fields) {
      ++fields;
      if (one->name == "vrf_name" || one->name == "nexthop_group") continue;  // Any text.
      EXPECT_THAT(error(table.name, row_with_a_bad(one->name)), HasSubstr("field '" + std::string{one->name} + "'")) << table.name;
    }
  }
  EXPECT_EQ(fields, 29U);
  EXPECT_EQ(field::kMtu.type, std::to_string(field::kMtu.low) + " to " + std::to_string(field::kMtu.high));
  EXPECT_THAT(std::string{field::kWeight.type},
              HasSubstr(std::to_string(field::kWeight.low) + " to " + std::to_string(field::kWeight.high)));
}

TEST(PortSchema, NamesAreThoseTheKernelTakes) {
  for (const char* good : {"Ethernet0", "a", "swp1s0", "PortChannel1234"}) EXPECT_TRUE(check_port_name(good).ok()) << good;
  const std::string with_nul("a\0b", 3);
  for (const std::string& bad : {std::string{}, std::string{"."}, std::string{".."}, std::string{"a/b"}, std::string{"a b"}, with_nul,
                                 std::string(16, 'x'), std::string(70'000, 'x')}) {
    const Status status = check_port_name(bad);
    EXPECT_FALSE(status.ok());
    EXPECT_LT(status.message().size(), 400U);
  }
}

TEST(InterfaceSchema, AKeyIsAPortOrAPortAndAnAddress) {
  const Result<InterfaceKey> base = parse_interface_key("Ethernet0");
  ASSERT_TRUE(base.has_value());
  EXPECT_EQ(base->port, "Ethernet0");
  EXPECT_FALSE(base->address.has_value());
  const Result<InterfaceKey> v4 = parse_interface_key("Ethernet0:10.0.0.1/24");
  ASSERT_TRUE(v4 && v4->address);
  EXPECT_EQ(v4->address->to_string(), "10.0.0.1/24");
  const Result<InterfaceKey> v6 = parse_interface_key("Ethernet0:2001:db8::1/64");
  ASSERT_TRUE(v6 && v6->address);
  EXPECT_EQ(v6->port, "Ethernet0");
  EXPECT_EQ(v6->address->to_string(), "2001:db8::1/64");
}

TEST(InterfaceSchema, AnAddressWithoutALengthIsThatOfAHost) {
  EXPECT_EQ(parse_interface_key("Ethernet0:10.0.0.1").value().address->to_string(), "10.0.0.1/32");
  EXPECT_EQ(parse_interface_key("Ethernet0:fd00::1").value().address->to_string(), "fd00::1/128");
  EXPECT_EQ(canonical_interface_key("Ethernet0:10.0.0.1"), "Ethernet0:10.0.0.1/32");
  EXPECT_EQ(canonical_interface_key("Ethernet0:fd00::1"), "Ethernet0:fd00::1/128");
}

/// The kernel replaces "%d" by a number and refuses every other '%'.
TEST(PortSchema, ANameIsOneThatTheKernelTakes) {
  using namespace std::string_literals;
  for (const std::string& name : {""s, "."s, ".."s, "sixteen-letters-"s, "a/b"s, "a:b"s, "a b"s, "a\tb"s, "a\nb"s, "a\vb"s, "a\fb"s,
                                  "a\rb"s, "a\xc3\xa0"s, "a%d"s, "a\0b"s}) {
    EXPECT_FALSE(check_port_key(name).ok()) << name;
  }
  for (const char* name : {"fifteen-letters", "Ethernet0", "a.b", "...", "eth0@x", "\xc3\xa4"})
    EXPECT_TRUE(check_port_key(name).ok()) << name;
}

TEST(InterfaceSchema, BadKeysAreRefused) {
  for (const char* bad :
       {"", ":", ":10.0.0.1/24", "Ethernet0:", "Ethernet0:10.0.0.1/33", "Ethernet0:10.0.0/24", "Ethernet0:::1/129",
        "Ethernet0:10.0.0.1/24/24", "Ethernet0:10.0.0.1/-1", "a b:10.0.0.1/24", "Ethernet0:10.0.0.1/", "Ethernet0:10.0.0.1/ 24"}) {
    EXPECT_FALSE(parse_interface_key(bad).has_value()) << bad;
  }
}

TEST(InterfaceSchema, ReadsVrfAndMtu) {
  const Result<InterfaceRow> row = parse_interface(Row{{"vrf_name", "VrfRed"}, {"mtu", "1500"}}.fields());
  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->vrf, "VrfRed");
  EXPECT_EQ(row->mtu, 1500U);
  EXPECT_THAT(error_of(parse_interface(Row{{"mtu", "many"}}.fields())), AllOf(HasSubstr("mtu"), HasSubstr("many")));
}

TEST(NeighborSchema, ReadsBothFamilies) {
  for (const auto& [key, family] : {std::pair{"Ethernet0:10.0.0.2", "IPv4"}, std::pair{"Ethernet0:fe80::2", "IPv6"}}) {
    const Result<NeighborKey> parsed = parse_neighbor_key(key);
    ASSERT_TRUE(parsed.has_value()) << key;
    EXPECT_EQ(parsed->port, "Ethernet0");
    const Result<NeighborRow> row = parse_neighbor(*parsed, Row{{"neigh", "02:00:00:00:00:0A"}, {"family", family}}.fields());
    ASSERT_TRUE(row.has_value()) << error_of(row);
    EXPECT_EQ(row->mac.to_string(), "02:00:00:00:00:0a");
    EXPECT_FALSE(row->learned);
  }
}

TEST(NeighborSchema, IsLearnedWhileLearnedIsTheSameAsNeigh) {
  const NeighborKey key{"Ethernet0", *IpAddress::parse("10.0.0.2")};
  const auto learned = [&](const char* with) {
    const Result<NeighborRow> row = parse_neighbor(key, Row{{"neigh", "02:00:00:00:00:0a"}, {"learned", with}}.fields());
    return row.has_value() && row->learned;
  };
  EXPECT_TRUE(learned("02:00:00:00:00:0A"));
  EXPECT_FALSE(learned("02:00:00:00:00:0b"));
  EXPECT_FALSE(learned(""));
  EXPECT_THAT(error_of(parse_neighbor(key, Row{{"neigh", "02:00:00:00:00:0a"}, {"learned", "yes"}}.fields())),
              AllOf(HasSubstr("learned"), HasSubstr("yes")));
}

TEST(NeighborSchema, BadKeysAndFieldsAreNamed) {
  for (const char* bad :
       {"", "Ethernet0", "Ethernet0:", ":10.0.0.1", "Ethernet0:10.0.0", "Ethernet0:10.0.0.1/32", "a/b:10.0.0.1", "Ethernet0:g::1"}) {
    EXPECT_FALSE(parse_neighbor_key(bad).has_value()) << bad;
  }
  const NeighborKey key{"Ethernet0", *IpAddress::parse("10.0.0.2")};
  EXPECT_THAT(error_of(parse_neighbor(key, Row{{"family", "IPv4"}}.fields())), HasSubstr("neigh"));
  for (const char* bad :
       {"", "none", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "02:00:00:00:00", "02:00:00:00:00:01:02"}) {
    EXPECT_THAT(error_of(parse_neighbor(key, Row{{"neigh", bad}}.fields())), AllOf(HasSubstr("neigh"), HasSubstr(bad)));
  }
  EXPECT_THAT(error_of(parse_neighbor(key, Row{{"neigh", "02:00:00:00:00:01"}, {"family", "IPv6"}}.fields())),
              AllOf(HasSubstr("family"), HasSubstr("IPv6")));
}

TEST(HopsSchema, ListsAreZippedSortedAndEqualHopsAddTheirWeights) {
  const auto hops = parse_hops(Row{{"nexthop", "10.0.1.1,10.0.0.1,10.0.1.1"}, {"ifname", "B,A,B"}, {"weight", "1,2,3"}}.fields());
  ASSERT_TRUE(hops.has_value()) << error_of(hops);
  ASSERT_EQ(hops->size(), 2U);
  EXPECT_EQ(name_of(*hops), "10.0.0.1 on A (weight 2), 10.0.1.1 on B (weight 4)");
}

TEST(HopsSchema, TheNameOfASetDoesNotDependOnTheOrder) {
  const auto one = parse_hops(Row{{"nexthop", "10.0.0.1,10.0.1.1"}, {"ifname", "A,B"}}.fields());
  const auto other = parse_hops(Row{{"nexthop", "10.0.1.1,10.0.0.1"}, {"ifname", "B,A"}, {"weight", "1,1"}}.fields());
  ASSERT_TRUE(one && other);
  EXPECT_EQ(name_of(*one), name_of(*other));
}

/// The check compared the first and the last port, so that the names of the ports decided.
TEST(HopsSchema, NextHopsOfBothFamiliesAreTakenInAnyOrder) {
  for (const auto& [gateways, ports] : {std::pair{"10.0.0.2,fe80::9", "e0,e1"}, std::pair{"fe80::9,10.0.0.2", "e0,e1"},
                                        std::pair{"10.0.0.2,fe80::9,10.0.2.2", "e0,e1,e2"}}) {
    const auto hops = parse_hops(Row{{"nexthop", gateways}, {"ifname", ports}}.fields());
    ASSERT_TRUE(hops.has_value()) << error_of(hops);
    const RouteRow row{.group = {}, .hops = *hops};
    EXPECT_TRUE(check_families(Prefix::parse("10.0.0.0/8").value(), row).ok());
    EXPECT_THAT(check_families(Prefix::parse("2001:db8::/32").value(), row).to_string(), HasSubstr("IPv4 next hop")) << gateways;
  }
}

TEST(HopsSchema, WeightsThatTheKernelDoesNotTakeKeepTheirProportion) {
  const auto weights = [](const char* text) {
    const auto hops = parse_hops(Row{{"nexthop", "10.0.0.1,10.0.1.1,10.0.2.1"}, {"ifname", "A,B,C"}, {"weight", text}}.fields());
    std::vector<unsigned> values;
    if (hops) {
      for (const Hop& hop : *hops) values.push_back(hop.weight);
    }
    return values;
  };
  EXPECT_THAT(weights("2,4,255"), ElementsAre(2, 4, 255)) << "these fit";
  EXPECT_THAT(weights("300,900,600"), ElementsAre(1, 3, 2)) << "exactly";
  EXPECT_THAT(weights("65535,13107,26214"), ElementsAre(5, 1, 2));
  EXPECT_THAT(weights("1021,509,257"), ElementsAre(255, 127, 64)) << "primes";
  EXPECT_THAT(weights("65535,1,65534"), ElementsAre(255, 1, 255)) << "never 0";
  const auto equal = parse_hops(Row{{"nexthop", "10.0.0.1,10.0.0.1,10.0.1.1"}, {"ifname", "A,A,B"}, {"weight", "200,100,150"}}.fields());
  ASSERT_TRUE(equal.has_value()) << error_of(equal);
  EXPECT_EQ(name_of(*equal), "10.0.0.1 on A (weight 2), 10.0.1.1 on B") << "the weights of equal next hops are added before";
}

TEST(HopsSchema, OnlinkBelongsToTheNextHop) {
  const auto parse = [](const char* onlink) {
    return parse_hops(
        Row{{"nexthop", "10.0.0.1,10.0.0.1,10.0.1.1"}, {"ifname", "A,A,B"}, {"weight", "1,2,1"}, {"onlink", onlink}}.fields());
  };
  for (const auto& [onlink, name] :
       {std::pair{"", "10.0.0.1 on A (weight 3), 10.0.1.1 on B"},
        std::pair{"true,true,false", "10.0.0.1 on A (weight 3) (onlink), 10.0.1.1 on B"},
        std::pair{"true,false,true", "10.0.0.1 on A (onlink), 10.0.0.1 on A (weight 2), 10.0.1.1 on B (onlink)"}}) {
    const auto hops = parse(onlink);
    ASSERT_TRUE(hops.has_value()) << error_of(hops);
    EXPECT_EQ(name_of(*hops), name);
  }
  EXPECT_THAT(error_of(parse("true")), AllOf(HasSubstr("onlink"), HasSubstr("'true'")));
}

TEST(HopsSchema, BadListsAreNamed) {
  struct Case {
    const char* nexthop;
    const char* ifname;
    const char* weight;
    const char* field;
    const char* value;
  };
  const Case cases[] = {
      {"", "A", "", "nexthop", "missing"},
      {"10.0.0.1", "", "", "ifname", "''"},
      {"10.0.0.1,10.0.0.2", "A", "", "ifname", "'A'"},
      {"10.0.0.1", "A,B", "", "ifname", "'A,B'"},
      {"10.0.0.1,", "A,B", "", "nexthop", "''"},
      {"10.0.0.1,10.0.0.2", "A,", "", "ifname", "''"},
      {"10.0.0.1", "A", "1,2", "weight", "'1,2'"},
      {"10.0.0.1", "A", "0", "weight", "'0'"},
      {"10.0.0.1", "A", "65536", "weight", "'65536'"},
      {"10.0.0.1", "A", "-1", "weight", "'-1'"},
      {"10.0.0.1", "A", "18446744073709551617", "weight", "18446744073709551617"},
      {"10.0.0", "A", "", "nexthop", "'10.0.0'"},
      {"10.0.0.1", "a/b", "", "ifname", "'a/b'"},
      {"10.0.0.1", "Ethernet123456789", "", "ifname", "'Ethernet123456789'"},
      {"10.0.0.1/32", "A", "", "nexthop", "10.0.0.1/32"},
      {"10.0.0.1 ", "A", "", "nexthop", "'10.0.0.1 '"},
  };
  for (const Case& c : cases) {
    const auto hops = parse_hops(Row{{"nexthop", c.nexthop}, {"ifname", c.ifname}, {"weight", c.weight}}.fields());
    EXPECT_THAT(error_of(hops), AllOf(HasSubstr(c.field), HasSubstr(c.value))) << c.nexthop << " " << c.ifname << " " << c.weight;
  }
}

TEST(HopsSchema, HugeListsAreRefusedAtOnceAndQuotedShort) {
  std::string gateways = "10.0.0.1";
  std::string ports = "A";
  for (int i = 0; i < 300'000; ++i) {
    gateways += ",10.0.0.1";
    ports += ",A";
  }
  const auto hops = parse_hops(Row{{"nexthop", gateways}, {"ifname", ports}}.fields());
  ASSERT_FALSE(hops.has_value());
  EXPECT_THAT(hops.error().to_string(), AllOf(HasSubstr("nexthop"), HasSubstr("300001")));
  EXPECT_LT(hops.error().message().size(), 400U);
}

TEST(RouteSchema, AKeyIsAPrefixPerhapsAfterAVrf) {
  const struct {
    const char* key;
    const char* vrf;
    const char* prefix;
  } cases[] = {{"10.0.0.0/8", "", "10.0.0.0/8"},
               {"10.0.0.1", "", "10.0.0.1/32"},
               {"0.0.0.0/0", "", "0.0.0.0/0"},
               {"2001:db8::/32", "", "2001:db8::/32"},
               {"::/0", "", "::/0"},
               {"2001:db8::1", "", "2001:db8::1/128"},
               {"VrfRed:10.0.0.0/8", "VrfRed", "10.0.0.0/8"},
               {"VrfRed:2001:db8::/32", "VrfRed", "2001:db8::/32"}};
  for (const auto& c : cases) {
    const Result<RouteKey> key = parse_route_key(c.key);
    ASSERT_TRUE(key.has_value()) << c.key;
    EXPECT_EQ(key->vrf, c.vrf);
    EXPECT_EQ(key->prefix.to_string(), c.prefix);
  }
}

TEST(Schema, AKeyHasOneCanonicalSpelling) {
  const struct {
    const char* table;
    const char* key;
    const char* canonical;
  } cases[] = {{"ROUTE_TABLE", "2001:DB8:7::/48", "2001:db8:7::/48"},
               {"ROUTE_TABLE", "2001:db8:0:0:0::/48", "2001:db8::/48"},
               {"ROUTE_TABLE", "10.0.0.1", "10.0.0.1/32"},
               {"ROUTE_TABLE", "::FFFF:10.0.0.1/128", "::ffff:10.0.0.1/128"},
               {"ROUTE_TABLE", "VrfRed:2001:DB8::/32", "VrfRed:2001:db8::/32"},
               {"ROUTE_TABLE", "VrfRed:10.0.0.1", "VrfRed:10.0.0.1/32"},
               {"NEIGH_TABLE", "A:2001:DB8::2", "A:2001:db8::2"},
               {"INTF_TABLE", "A:2001:DB8::1/64", "A:2001:db8::1/64"}};
  for (const auto& c : cases) {
    const auto canonical_key = find_table(c.table)->canonical_key;
    ASSERT_NE(canonical_key, nullptr) << c.table;
    EXPECT_EQ(canonical_key(c.key), c.canonical) << c.key;
    EXPECT_EQ(canonical_key(c.canonical), std::nullopt) << c.canonical;
  }
  // A shortcut handles most keys; every result must agree with the formatted prefix.
  for (const char* const key : {"2001:db8::/32",
                                "2a00:1450:4000::/37",
                                "2001:db8:0:1::/64",
                                "2001:db8:1:2:3:4:5:6/128",
                                "2001:db8:1:2:3:4:5::/128",
                                "2001:db8:1:2:3:4::/128",
                                "2001:db8::1:2:3:4:5/128",
                                "2001:db8:0:1:2:3:4:5/128",
                                "::/0",
                                "::1/128",
                                "::1.2.3.4/128",
                                "::102:304/128",
                                "::ffff:1.2.3.4/128",
                                "1::/16",
                                "1::1/128",
                                "2001:db8::0:1/128",
                                "2001:0db8::/32",
                                "2001:dB8::/32",
                                "2001:db8::1:0:0:1/128",
                                "2001:db8:0:0:1::1/128",
                                "2001:db8::"}) {
    const Result<Prefix> prefix = Prefix::parse(key);
    ASSERT_TRUE(prefix.has_value()) << key;
    EXPECT_EQ(parse_route_key(key)->canonical, prefix->to_string() == key) << key;
  }
  // Canonical keys, other names, and texts that are no keys: a prefix with bits beyond its length is refused, as the kernel refuses it.
  for (const char* const key : {"10.0.0.0/8", "10.0.0.1/8", "2001:DB8::1/32", "nonsense", "", "resync"})
    EXPECT_EQ(canonical_route_key(key), std::nullopt) << key;
  for (const char* const key : {"A", "Ethernet0", "A:10.0.0.1/24", ""}) EXPECT_EQ(canonical_interface_key(key), std::nullopt) << key;
  EXPECT_EQ(find_table("PORT_TABLE")->canonical_key, nullptr);
  EXPECT_EQ(find_table("NEXTHOP_GROUP_TABLE")->canonical_key, nullptr);
}

TEST(RouteSchema, BadKeysAreRefusedWithTheirText) {
  for (const char* bad : {"", "Vrf", "VrfRed:", "VrfRed", "10.0.0.1/8", "10.0.0.0/33", "2001:db8::1/32", "10.0.0.0/", "red:10.0.0.0/8",
                          "10.0.0.0/8 ", "::/129"}) {
    EXPECT_FALSE(parse_route_key(bad).has_value()) << bad;
  }
  EXPECT_THAT(error_of(parse_route_key("10.0.0.1/8")), HasSubstr("10.0.0.1/8"));
  EXPECT_THAT(error_of(parse_route_key("default")), HasSubstr("0.0.0.0/0"));
  EXPECT_THAT(error_of(parse_route_key("Vrf1:default")), HasSubstr("0.0.0.0/0"));
  EXPECT_LT(error_of(parse_route_key(std::string(60'000, '1'))).size(), 400U);
}

TEST(RouteSchema, AGroupOrHopsOrABlackhole) {
  const Row by_group{{"nexthop_group", "7"}, {"protocol", "bgp"}};
  const Result<RouteRow> group = parse_route(by_group.fields());
  ASSERT_TRUE(group.has_value());
  EXPECT_EQ(group->group, "7");
  const Row by_hops{{"nexthop", "10.0.0.1"}, {"ifname", "A"}, {"nexthop_group", ""}};
  const Result<RouteRow> hops = parse_route(by_hops.fields());
  ASSERT_TRUE(hops.has_value());
  EXPECT_EQ(hops->hops.size(), 1U);
  const Row dropped{{"blackhole", "true"}};
  const Result<RouteRow> blackhole = parse_route(dropped.fields());
  ASSERT_TRUE(blackhole.has_value());
  EXPECT_EQ(blackhole->type, RouteType::Blackhole);
}

TEST(RouteSchema, APreferredSourceIsOfThePrefixsFamily) {
  const auto checked = [](const char* prefix, const char* source, const char* group = "7") {
    const Row fields{{"nexthop_group", group}, {"prefsrc", source}};
    const Result<RouteRow> row = parse_route(fields.fields());
    return row ? check_families(Prefix::parse(prefix).value(), *row) : row.error();
  };
  EXPECT_TRUE(checked("10.0.0.0/8", "10.1.0.32").ok());
  EXPECT_TRUE(checked("2001:db8::/32", "fc00:1::32").ok());
  EXPECT_TRUE(checked("10.0.0.0/8", "").ok()) << "none";
  EXPECT_THAT(checked("10.0.0.0/8", "fc00:1::32").to_string(), AllOf(HasSubstr("prefsrc"), HasSubstr("family")));
  EXPECT_THAT(checked("2001:db8::/32", "10.1.0.32").to_string(), HasSubstr("family"));
  for (const char* const bad : {"lo", "0.0.0.0", "::", "224.0.0.1", "127.0.0.1"}) {
    EXPECT_THAT(checked("10.0.0.0/8", bad).to_string(), AllOf(HasSubstr("prefsrc"), HasSubstr(bad)));
  }
  const Row black{{"blackhole", "true"}, {"prefsrc", "10.1.0.32"}};
  EXPECT_EQ(parse_route(black.fields()).value().source, IpAddress{}) << "packets go nowhere";
}

TEST(RouteSchema, BadFieldsAreNamed) {
  EXPECT_THAT(error_of(parse_route(Row{}.fields())), HasSubstr("needs one of"));
  EXPECT_THAT(error_of(parse_route(Row{{"blackhole", "false"}}.fields())), HasSubstr("needs one of"));
  EXPECT_THAT(error_of(parse_route(Row{{"blackhole", "yes"}}.fields())), AllOf(HasSubstr("blackhole"), HasSubstr("yes")));
  EXPECT_THAT(error_of(parse_route(Row{{"nexthop_group", "7"}, {"ifname", "A"}}.fields())),
              AllOf(HasSubstr("nexthop_group"), HasSubstr("'7'")));
  EXPECT_THAT(error_of(parse_route(Row{{"nexthop_group", "7"}, {"weight", "1,2"}}.fields())),
              AllOf(HasSubstr("weight"), HasSubstr("'1,2'"), HasSubstr("nexthop_group")));
  EXPECT_THAT(error_of(parse_route(Row{{"nexthop_group", "7"}, {"onlink", "true"}}.fields())),
              AllOf(HasSubstr("onlink"), HasSubstr("'true'")));
  EXPECT_TRUE(parse_route(Row{{"nexthop_group", "7"}, {"weight", ""}, {"onlink", ""}}.fields()).has_value());
  EXPECT_THAT(error_of(parse_route(Row{{"nexthop", "10.0.0.1"}}.fields())), HasSubstr("ifname"));
  EXPECT_THAT(error_of(parse_route(Row{{"ifname", "A"}}.fields())), HasSubstr("nexthop"));
}

TEST(RouteSchema, BlackholeOverridesNextHopsAsTheReferenceSays) {
  for (const Row& row :
       {Row{{"nexthop_group", "g1"}, {"blackhole", "true"}}, Row{{"nexthop", "10.0.0.1"}, {"ifname", "A"}, {"blackhole", "true"}}}) {
    const Result<RouteRow> parsed = parse_route(row.fields());
    ASSERT_TRUE(parsed.has_value());
    EXPECT_EQ(parsed->type, RouteType::Blackhole);
  }
  EXPECT_THAT(find_table("ROUTE_TABLE")->rule, HasSubstr("With blackhole=true they have no effect"));
}

TEST(InterfaceSchema, AnAddressThatNoStationCanHaveIsRejected) {
  for (const char* const bad :
       {"0.0.0.0/0", "0.0.0.0/32", "::/64", "::/0", "224.0.0.1/24", "239.1.1.1/32", "255.255.255.255/32", "ff02::1/64"}) {
    EXPECT_THAT(error_of(parse_interface_key("A:" + std::string{bad})), HasSubstr("is not the address of one station")) << bad;
  }
  for (const char* const bad : {"0.0.0.0", "::", "224.0.0.1", "ff02::1"}) {
    EXPECT_THAT(error_of(parse_neighbor_key("A:" + std::string{bad})), HasSubstr("is not the address of one station")) << bad;
  }
  for (const char* const loopback : {"127.0.0.5/8", "::1/128"}) {
    EXPECT_THAT(error_of(parse_interface_key("A:" + std::string{loopback})), HasSubstr("is a loopback address")) << loopback;
  }
  for (const char* const good : {"10.0.0.0/24", "0.0.0.1/8", "126.0.0.1/8", "240.0.0.1/24", "::2/128", "fe80::1/64", "fd00::/64"}) {
    EXPECT_TRUE(parse_interface_key("A:" + std::string{good}).has_value()) << good;
  }
}

TEST(RouteSchema, RoutesOfOtherSoftwareAreLeftAlone) {
  for (const char* port : {"eth0", "docker0", "usb0", "lo", "tun0", "Loopback0"}) {
    const Row row{{"nexthop", "0.0.0.0"}, {"ifname", port}};
    const Result<RouteRow> parsed = parse_route(row.fields());
    ASSERT_TRUE(parsed.has_value()) << port;
    EXPECT_TRUE(parsed->not_ours) << port;
  }
  for (const auto& [ports, is_left] : {std::pair{"eth0,docker0", true}, {"eth0,Ethernet0", false}, {"Ethernet0,eth0", false}}) {
    const Row row{{"nexthop", "10.0.0.2,10.0.0.3"}, {"ifname", ports}};
    EXPECT_EQ(parse_route(row.fields()).value().not_ours, is_left) << ports;
  }
}

}  // namespace
}  // namespace rondo::switch_agent
