// Goal: writers never write beyond their buffer and readers never read beyond theirs, whatever lengths the bytes contain; and the wire
// format of a route is as expected. Method: heap buffers of exact size (the address sanitizer watches their ends), every truncation of
// valid messages, and seeded mutations.
#include "dataplane/netlink/message.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <linux/nexthop.h>
#include <net/if.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "dataplane/netlink/decode.h"
#include "dataplane/netlink/encode.h"
#include "dataplane/netlink/fake_kernel.h"
#include "dataplane/netlink/fdb_entries.h"

namespace rondo::netlink {
namespace {

using ::testing::ElementsAre;

constexpr std::uint8_t kProtocol = 201;
constexpr ObjectMarks kMarks{.protocol = kProtocol, .metric = 20};

std::vector<std::byte> encoded(const Order& order) {
  std::vector<std::byte> buffer(16 * 1024);
  MessageWriter writer{buffer};
  EXPECT_TRUE(encode(writer, order, 7, kMarks));
  buffer.resize(writer.bytes().size());
  return buffer;
}

Message first_message(std::span<const std::byte> bytes) {
  MessageReader reader{bytes};
  Message message;
  EXPECT_TRUE(reader.next(message));
  return message;
}

// One valid message of each kind that the data plane reads.
std::vector<std::vector<std::byte>> samples() {
  const auto prefix = [](const char* text) { return Prefix::parse(text).value(); };
  const IpAddress gateway = IpAddress::parse("2001:db8::1").value();
  std::vector<std::vector<std::byte>> all = {
      encoded(RouteSet{.prefix = prefix("10.9.0.0/16"), .nexthop = NexthopId{7}, .table = 1001}),
      encoded(RouteSet{.prefix = prefix("2001:db8::/48"), .nexthop = NexthopId{7}}),
      encoded(NexthopSet{.id = NexthopId{7}, .gateway = gateway, .port = IfIndex{3}}),
      encoded(GroupSet{.id = NexthopId{8}, .members = {{.nexthop = NexthopId{7}}, {.nexthop = NexthopId{9}, .weight = 256}}}),
      encoded(NeighborSet{.port = IfIndex{3}, .address = gateway, .mac = MacAddress::parse("02:00:00:00:00:01").value()}),
      encoded(AddressSet{.port = IfIndex{3}, .address = Prefix::parse_interface("10.0.0.1/24").value()}),
      encoded(VrfSet{.name = "Vrf1", .table = 1001}),
      encoded(BridgeSet{.name = "Vlan10"}),
      encoded(TaggedPortSet{.name = "swp1.10", .port = IfIndex{3}, .bridge = IfIndex{7}, .vlan = 10}),
      encoded(BondSet{.name = "PortChannel1", .mode = BondMode::Lacp, .min_links = 2}),
      FakeKernel::error(7, ENOENT, "Nexthop id does not exist"),
      FakeKernel::done(7, EINVAL, NLM_F_DUMP_INTR),
  };
  std::vector<std::byte> link(256);
  MessageWriter writer{link};
  ifinfomsg header{};
  header.ifi_index = 3;
  header.ifi_flags = IFF_UP | (1U << 16);
  writer.begin(RTM_NEWLINK, 0, 7, header);
  writer.attribute(IFLA_IFNAME, "swp1", 5);
  writer.attribute(IFLA_MTU, std::uint32_t{1500});
  writer.attribute(IFLA_CARRIER_DOWN_COUNT, std::uint32_t{4});
  writer.end();
  link.resize(writer.bytes().size());
  all.push_back(link);
  std::vector<std::byte> entry(256);
  MessageWriter entry_writer{entry};
  ndmsg station{};
  station.ndm_family = AF_BRIDGE;
  station.ndm_ifindex = 3;
  station.ndm_state = NUD_NOARP;
  entry_writer.begin(RTM_NEWNEIGH, 0, 7, station);
  entry_writer.attribute(NDA_LLADDR, MacAddress::parse("02:00:00:00:00:01").value().bytes);
  entry_writer.attribute(NDA_MASTER, std::uint32_t{7});
  entry_writer.end();
  entry.resize(entry_writer.bytes().size());
  all.push_back(entry);
  return all;
}

// Decodes the datagram with every decoder. Returns the number of entries.
std::size_t decode_all(std::span<const std::byte> datagram) {
  std::size_t entries = 0;
  MessageReader reader{datagram};
  for (Message message; reader.next(message);) {
    for (const bool decoded :
         {decode_answer(message).has_value(), decode_link(message).has_value(), decode_address(message, kProtocol).has_value(),
          decode_neighbor(message, kProtocol).has_value(), decode_nexthop(message, kProtocol).has_value(),
          decode_route(message, kMarks).has_value(), decode_fdb(message).has_value(), decode_route_holder(message).has_value()}) {
      entries += decoded ? 1U : 0U;
    }
  }
  return entries;
}

TEST(MessageWriter, AMessageThatDoesNotFitIsTakenBackWhole) {
  for (std::size_t size = 0; size < 64; ++size) {
    std::vector<std::byte> buffer(size);
    MessageWriter writer{buffer};
    const bool fits = encode(writer, RouteSet{.prefix = Prefix::parse("10.0.0.0/8").value(), .nexthop = NexthopId{1}}, 1, kMarks);
    EXPECT_EQ(fits, size >= 52) << size;
    EXPECT_EQ(writer.bytes().size(), fits ? 52U : 0U);
  }
}

TEST(MessageWriter, AnOversizeAttributeIsRefused) {
  std::vector<std::byte> buffer(128 * 1024);
  MessageWriter writer{buffer};
  writer.begin(RTM_NEWROUTE, 0, 1, rtmsg{});
  writer.attribute(RTA_DST, buffer.data(), 65'536);
  EXPECT_FALSE(writer.end());
  EXPECT_TRUE(writer.bytes().empty());
}

TEST(Encode, ARouteCarriesDestinationFixedMetricAndNexthop) {
  const auto bytes = encoded(RouteSet{.prefix = Prefix::parse("10.9.0.0/16").value(), .nexthop = NexthopId{0x01020304}});
  const Message message = first_message(bytes);
  EXPECT_EQ(message.header.nlmsg_len, bytes.size());
  EXPECT_EQ(message.header.nlmsg_type, RTM_NEWROUTE);
  EXPECT_EQ(message.header.nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_REPLACE);
  EXPECT_EQ(message.header.nlmsg_seq, 7U);
  const rtmsg header = *read_front<rtmsg>(message.payload);
  EXPECT_EQ(header.rtm_family, AF_INET);
  EXPECT_EQ(header.rtm_dst_len, 16);
  EXPECT_EQ(header.rtm_table, 254);
  EXPECT_EQ(header.rtm_protocol, kProtocol);
  AttributeReader attributes = message.attributes(sizeof(rtmsg));
  std::vector<int> types;
  std::vector<std::uint32_t> values;
  for (Attribute attribute; attributes.next(attribute);) {
    types.push_back(attribute.type);
    values.push_back(attribute.as<std::uint32_t>().value_or(0));
  }
  EXPECT_THAT(types, ElementsAre(RTA_DST, RTA_PRIORITY, RTA_NH_ID));
  EXPECT_THAT(values, ElementsAre(htonl(0x0a090000), 20, 0x01020304));
}

/// The attributes of 'bytes', as "type=u32", with nested ones in brackets.
std::string attributes_text(AttributeReader reader, std::initializer_list<int> nested) {
  std::string text;
  for (Attribute attribute; reader.next(attribute);) {
    const bool is_nested = std::ranges::find(nested, int{attribute.type}) != nested.end();
    text.append(text.empty() ? "" : " ").append(std::to_string(attribute.type)).append("=");
    if (is_nested) {
      text.append("[").append(attributes_text(AttributeReader{attribute.data}, {IFLA_INFO_DATA})).append("]");
    } else if (const auto number = attribute.as<std::uint32_t>(); number && attribute.text() != "vrf") {
      text.append(std::to_string(*number));
    } else if (attribute.type == IFLA_BR_VLAN_DEFAULT_PVID && attribute.data.size() == sizeof(std::uint16_t)) {
      text.append("#").append(std::to_string(*attribute.as<std::uint16_t>()));
    } else {
      text.append(attribute.text());
    }
  }
  return text + (reader.is_malformed() ? " malformed" : "");
}

// The same bytes as "ip link add Vrf1 up group N type vrf table 1001" sends.
TEST(Encode, AVrfIsCreatedUpWithItsTableAndOurMark) {
  const auto bytes = encoded(VrfSet{.name = "Vrf1", .table = 1001});
  const Message message = first_message(bytes);
  EXPECT_EQ(message.header.nlmsg_type, RTM_NEWLINK);
  EXPECT_EQ(message.header.nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL) << "a device of another program stays";
  EXPECT_EQ(message.header.nlmsg_len, bytes.size());
  const ifinfomsg header = *read_front<ifinfomsg>(message.payload);
  EXPECT_EQ(header.ifi_index, 0);
  EXPECT_EQ(header.ifi_flags & header.ifi_change, unsigned{IFF_UP});
  EXPECT_EQ(attributes_text(message.attributes(sizeof(ifinfomsg)), {IFLA_LINKINFO}),
            "3=Vrf1 27=" + std::to_string(device_group(kProtocol)) + " 18=[1=vrf 2=[1=1001]]");
}

// The same bytes as "ip link add Vlan10 up group N type bridge" sends: no vlan_filtering, so that kernels without it create it, too.
TEST(Encode, ABridgeIsCreatedUpWithOurMark) {
  const auto bytes = encoded(BridgeSet{.name = "Vlan10"});
  const Message message = first_message(bytes);
  EXPECT_EQ(message.header.nlmsg_type, RTM_NEWLINK);
  EXPECT_EQ(message.header.nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL);
  EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_flags, unsigned{IFF_UP});
  EXPECT_EQ(
      attributes_text(message.attributes(sizeof(ifinfomsg)), {IFLA_LINKINFO}),
      "3=Vlan10 27=" + std::to_string(device_group(kProtocol)) + " 18=[1=bridge 2=[" + std::to_string(IFLA_BR_VLAN_DEFAULT_PVID) + "=#0]]")
      << "no VLAN 1, for which the kernel would keep a second entry of each station";
}

// The same as "ip link set #9 type bridge vlan_filtering 0 vlan_default_pvid 0".
TEST(Encode, ABridgeThatExistsLosesItsFilteringAndKeepsItsState) {
  const auto bytes = encoded(BridgeSet{.name = "Vlan10", .device = IfIndex{9}});
  const Message message = first_message(bytes);
  EXPECT_EQ(message.header.nlmsg_flags, NLM_F_REQUEST);
  EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_index, 9);
  EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_change, 0U);
  EXPECT_THAT(attributes_text(message.attributes(sizeof(ifinfomsg)), {IFLA_LINKINFO}),
              testing::HasSubstr(" " + std::to_string(IFLA_BR_VLAN_DEFAULT_PVID) + "=#0]]"));
}

// The same as "ip link add link #3 name Ethernet0.10 master #7 group N type vlan id 10".
TEST(Encode, ATaggedPortIsCreatedDownOnItsPortAndInItsBridge) {
  const auto bytes = encoded(TaggedPortSet{.name = "Ethernet0.10", .port = IfIndex{3}, .bridge = IfIndex{7}, .vlan = 10});
  const Message message = first_message(bytes);
  EXPECT_EQ(message.header.nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL);
  EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_flags, 0U);
  std::vector<std::string> found;
  AttributeReader attributes = message.attributes(sizeof(ifinfomsg));
  for (Attribute one; attributes.next(one);) {
    if (one.type == IFLA_LINK || one.type == IFLA_MASTER) found.push_back(std::to_string(one.as<std::uint32_t>().value_or(0)));
    if (one.type != IFLA_LINKINFO) continue;
    AttributeReader info{one.data};
    for (Attribute part; info.next(part);) {
      if (part.type == IFLA_INFO_KIND) found.emplace_back(part.text());
      if (part.type != IFLA_INFO_DATA) continue;
      AttributeReader data{part.data};
      Attribute id;
      ASSERT_TRUE(data.next(id));
      EXPECT_EQ(id.type, IFLA_VLAN_ID);
      found.push_back(std::to_string(id.as<std::uint16_t>().value_or(0)));
    }
  }
  EXPECT_THAT(found, ElementsAre("3", "7", "vlan", "10"));
  const auto state = decode_link(first_message(bytes), kProtocol);
  EXPECT_FALSE(state) << "a request has no number of its own";
}

/// The attributes of IFLA_INFO_DATA in a message about a device, as "type=value", and before them the kind.
std::string info_text(const Message& message) {
  std::string text;
  AttributeReader attributes = message.attributes(sizeof(ifinfomsg));
  for (Attribute one; attributes.next(one);) {
    if (one.type != IFLA_LINKINFO) continue;
    AttributeReader info{one.data};
    for (Attribute part; info.next(part);) {
      if (part.type == IFLA_INFO_KIND) text.append(part.text());
      if (part.type != IFLA_INFO_DATA) continue;
      AttributeReader data{part.data};
      for (Attribute value; data.next(value);) {
        const std::uint32_t number = value.data.size() == 1 ? value.as<std::uint8_t>().value_or(0) : value.as<std::uint32_t>().value_or(0);
        text.append(" ").append(std::to_string(value.type)).append("=").append(std::to_string(number));
        text.append(value.data.size() == 1 ? "b" : "");
      }
    }
  }
  return text;
}

// The same as "ip link add PortChannel1 up group N type bond mode 802.3ad miimon 100 xmit_hash_policy layer3+4 min_links 2". The numbers
// are those of <linux/if_link.h>: IFLA_BOND_MODE 1 (a byte), MIIMON 3, XMIT_HASH_POLICY 14 (a byte), MIN_LINKS 18.
TEST(Encode, ABondIsCreatedUpWithItsModeAndOurMark) {
  const auto bytes = encoded(BondSet{.name = "PortChannel1", .mode = BondMode::Lacp, .min_links = 2});
  const Message message = first_message(bytes);
  EXPECT_EQ(message.header.nlmsg_type, RTM_NEWLINK);
  EXPECT_EQ(message.header.nlmsg_flags, NLM_F_REQUEST | NLM_F_CREATE | NLM_F_EXCL) << "a device of another program stays";
  EXPECT_EQ(message.header.nlmsg_len, bytes.size());
  EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_index, 0);
  EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_flags, unsigned{IFF_UP});
  EXPECT_EQ(info_text(message), "bond 1=4b 3=100 14=1b 18=2");
  AttributeReader attributes = message.attributes(sizeof(ifinfomsg));
  Attribute name;
  ASSERT_TRUE(attributes.next(name));
  EXPECT_EQ(name.text(), "PortChannel1");
  Attribute group;
  ASSERT_TRUE(attributes.next(group));
  EXPECT_EQ(group.as<std::uint32_t>(), device_group(kProtocol));
  EXPECT_EQ(info_text(first_message(encoded(BondSet{.name = "PortChannel1", .mode = BondMode::Static}))), "bond 1=2b 3=100 14=1b 18=0");
}

// The same as "ip link set #9 type bond miimon 100 xmit_hash_policy layer3+4 min_links 3". The kernel refuses a message with the mode of a
// bond that has ports, even if it is the same.
TEST(Encode, ABondThatExistsIsChangedWithoutItsModeAndItsState) {
  const auto bytes = encoded(BondSet{.name = {}, .mode = BondMode::Lacp, .min_links = 3, .device = IfIndex{9}});
  const Message message = first_message(bytes);
  EXPECT_EQ(message.header.nlmsg_flags, NLM_F_REQUEST);
  EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_index, 9);
  EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_change, 0U);
  EXPECT_EQ(info_text(message), "bond 3=100 14=1b 18=3");
}

// What the kernel says of bonds. IFLA_INFO_DATA of another kind has other attributes of the same numbers.
TEST(Decode, ADeviceTellsItsBond) {
  std::vector<std::byte> buffer(512);
  const auto device = [&buffer](const char* kind, std::uint8_t mode) {
    MessageWriter writer{buffer};
    ifinfomsg header{};
    header.ifi_index = 5;
    writer.begin(RTM_NEWLINK, 0, 0, header);
    writer.attribute(IFLA_IFNAME, "dev", 4);
    const std::size_t info = writer.open_nested(IFLA_LINKINFO);
    writer.attribute(IFLA_INFO_KIND, kind, std::strlen(kind) + 1);
    const std::size_t data = writer.open_nested(IFLA_INFO_DATA);
    writer.attribute(IFLA_BOND_MODE, mode);
    writer.attribute(IFLA_BOND_MIN_LINKS, std::uint32_t{2});
    writer.close_nested(data);
    writer.close_nested(info);
    EXPECT_TRUE(writer.end());
    return decode_link(first_message(writer.bytes()))->event;
  };
  EXPECT_EQ(device("bond", 4).bond, BondMode::Lacp);
  EXPECT_EQ(device("bond", 4).min_links, 2U);
  EXPECT_EQ(device("bond", 2).bond, BondMode::Static);
  EXPECT_EQ(device("bond", 1).bond, BondMode::Other) << "active-backup";
  EXPECT_EQ(device("team", 4).bond, BondMode::None);
  EXPECT_EQ(device("team", 4).min_links, 0U);
}

// What an order fixed, on a device of ours and on that of another program.
TEST(Decode, ADeviceTellsWhetherItsSettingsAreThoseOfItsOrder) {
  std::vector<std::byte> buffer(512);
  const auto is_altered = [&buffer](const char* kind, auto type, auto value, std::uint32_t group = device_group(kProtocol)) {
    MessageWriter writer{buffer};
    ifinfomsg header{};
    header.ifi_index = 5;
    writer.begin(RTM_NEWLINK, 0, 0, header);
    writer.attribute(IFLA_IFNAME, "dev", 4);
    writer.attribute(IFLA_GROUP, group);
    const std::size_t info = writer.open_nested(IFLA_LINKINFO);
    writer.attribute(IFLA_INFO_KIND, kind, std::strlen(kind) + 1);
    const std::size_t data = writer.open_nested(IFLA_INFO_DATA);
    writer.attribute(static_cast<std::uint16_t>(type), value);
    writer.close_nested(data);
    writer.close_nested(info);
    EXPECT_TRUE(writer.end());
    return decode_link(first_message(writer.bytes()), kProtocol)->event.altered;
  };
  EXPECT_FALSE(is_altered("bridge", IFLA_BR_VLAN_FILTERING, std::uint8_t{0}));
  EXPECT_TRUE(is_altered("bridge", IFLA_BR_VLAN_FILTERING, std::uint8_t{1}));
  EXPECT_FALSE(is_altered("bridge", IFLA_BR_VLAN_FILTERING, std::uint8_t{1}, 0));
  EXPECT_FALSE(is_altered("bridge", IFLA_BR_VLAN_DEFAULT_PVID, std::uint16_t{0}));
  EXPECT_TRUE(is_altered("bridge", IFLA_BR_VLAN_DEFAULT_PVID, std::uint16_t{1}));
  EXPECT_FALSE(is_altered("bond", IFLA_BOND_MIIMON, std::uint32_t{100}));
  EXPECT_TRUE(is_altered("bond", IFLA_BOND_MIIMON, std::uint32_t{0}));
  EXPECT_FALSE(is_altered("bond", IFLA_BOND_XMIT_HASH_POLICY, std::uint8_t{1}));
  EXPECT_TRUE(is_altered("bond", IFLA_BOND_XMIT_HASH_POLICY, std::uint8_t{0}));
}

TEST(Encode, AStaticEntryIsOfTheBridgeOfItsPortAndIsReadBack) {
  const MacAddress station = MacAddress::parse("02:00:00:00:00:aa").value();
  const auto bytes = encoded(FdbSet{.port = IfIndex{3}, .mac = station});
  const ndmsg header = *read_front<ndmsg>(first_message(bytes).payload);
  EXPECT_EQ(header.ndm_family, AF_BRIDGE);
  EXPECT_EQ(header.ndm_flags, NTF_MASTER | NTF_STICKY);
  EXPECT_EQ(header.ndm_state, NUD_NOARP);
  EXPECT_NE(first_message(bytes).header.nlmsg_flags & NLM_F_EXCL, 0) << "the entry of another control plane stays";
  EXPECT_FALSE(decode_fdb(first_message(bytes))) << "the kernel names the bridge";
  EXPECT_FALSE(decode_change(first_message(bytes), kMarks));
  EXPECT_EQ(first_message(encoded(FdbDelete{.port = IfIndex{3}, .mac = station})).header.nlmsg_type, RTM_DELNEIGH);
}

// What the kernel says of the entries of a bridge.
TEST(Decode, AnEntryOfABridgeIsStaticOrLearnedOrNeither) {
  std::vector<std::byte> buffer(256);
  const auto entry = [&buffer](std::uint16_t type, std::uint16_t state, std::uint8_t flags, bool has_bridge, std::uint16_t vlan = 0) {
    MessageWriter writer{buffer};
    ndmsg header{};
    header.ndm_family = AF_BRIDGE;
    header.ndm_ifindex = 3;
    header.ndm_state = state;
    header.ndm_flags = flags;
    writer.begin(type, 0, 0, header);
    writer.attribute(NDA_LLADDR, MacAddress::parse("02:00:00:00:00:aa").value().bytes);
    if (has_bridge) writer.attribute(NDA_MASTER, std::uint32_t{7});
    if (vlan != 0) writer.attribute(NDA_VLAN, vlan);
    EXPECT_TRUE(writer.end());
    return first_message(writer.bytes());
  };
  const auto learned = decode_fdb(entry(RTM_NEWNEIGH, NUD_REACHABLE, 0, true));
  ASSERT_TRUE(learned);
  EXPECT_TRUE(learned->is_learned && !learned->is_static && !learned->removed);
  EXPECT_EQ(learned->bridge, IfIndex{7});
  EXPECT_EQ(learned->port, IfIndex{3});
  EXPECT_TRUE(decode_fdb(entry(RTM_NEWNEIGH, NUD_STALE, 0, true))->is_learned);
  EXPECT_TRUE(decode_fdb(entry(RTM_NEWNEIGH, NUD_NOARP, 0, true))->is_static);
  const auto own = decode_fdb(entry(RTM_NEWNEIGH, NUD_PERMANENT, 0, true));
  EXPECT_TRUE(own && !own->is_static && !own->is_learned) << "an address of the bridge itself";
  const auto external = decode_fdb(entry(RTM_NEWNEIGH, NUD_NOARP, NTF_EXT_LEARNED, true));
  EXPECT_TRUE(external && !external->is_static && !external->is_learned && external->is_external) << "another control plane keeps it";
  EXPECT_TRUE(decode_fdb(entry(RTM_DELNEIGH, NUD_STALE, 0, true))->removed);
  EXPECT_FALSE(decode_fdb(entry(RTM_NEWNEIGH, NUD_PERMANENT, NTF_SELF, true))) << "a filter of the device";
  EXPECT_FALSE(decode_fdb(entry(RTM_NEWNEIGH, NUD_REACHABLE, 0, false)));
  const auto change = decode_change(entry(RTM_NEWNEIGH, NUD_REACHABLE, 0, true), kMarks);
  EXPECT_TRUE(change && change->is_learned && !change->is_set) << "a static entry may have become a learned one";
  EXPECT_TRUE(decode_fdb(entry(RTM_NEWNEIGH, NUD_NOARP, NTF_STICKY, true))->is_sticky);
  EXPECT_TRUE(decode_change(entry(RTM_NEWNEIGH, NUD_NOARP, NTF_STICKY, true), kMarks)->is_set);
  EXPECT_FALSE(decode_change(entry(RTM_NEWNEIGH, NUD_NOARP, 0, true), kMarks)->is_set) << "a frame may move it";
  EXPECT_FALSE(decode_change(entry(RTM_DELNEIGH, NUD_NOARP, NTF_STICKY, true), kMarks)->is_set);
  EXPECT_EQ(decode_fdb(entry(RTM_NEWNEIGH, NUD_NOARP, NTF_STICKY, true, 1))->vlan, 1U);
  EXPECT_FALSE(decode_change(entry(RTM_DELNEIGH, NUD_NOARP, NTF_STICKY, true, 1), kMarks)) << "a bridge without filtering ignores it";
  EXPECT_FALSE(decode_change(entry(RTM_NEWNEIGH, NUD_NOARP, NTF_EXT_LEARNED, true), kMarks)->is_set) << "it may be in the place of ours";
  EXPECT_FALSE(decode_change(entry(RTM_DELNEIGH, NUD_STALE, 0, true), kMarks)) << "it ages what it has learned";
}

TEST(Decode, AnEntryIsAbsentOnlyIfTheKernelSaysSo) {
  std::vector<std::byte> buffer(256);
  const auto answer = [&buffer](int error_number) {
    MessageWriter writer{buffer};
    nlmsgerr error{};
    error.error = -error_number;
    error.msg.nlmsg_len = sizeof(nlmsghdr);
    writer.begin(NLMSG_ERROR, 0, 0, error);
    EXPECT_TRUE(writer.end());
    return decode_fdb_answer(first_message(writer.bytes()));
  };
  for (const int absent : {ENOENT, ENODEV, EINVAL}) EXPECT_TRUE(answer(absent) && !*answer(absent)) << absent;
  for (const int failed : {ENOBUFS, EPERM, EOPNOTSUPP}) EXPECT_EQ(answer(failed).error().code(), StatusCode::Unavailable) << failed;
}

TEST(FdbEntries, ALookUpThatFailsDeletesNothing) {
  const NetworkNamespace where = NetworkNamespace::open({}).value();
  FdbEntries entries{where};
  Operation gone{FdbDelete{IfIndex{3}, MacAddress{{2, 0, 0, 0, 0, 0xaa}}}, {}};
  rlimit files{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &files), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = files.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool may_delete = entries.may_delete(gone);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &files), 0);
  EXPECT_FALSE(may_delete);
  EXPECT_EQ(gone.status.code(), StatusCode::Unavailable) << gone.status.to_string();
}

TEST(Encode, APortEntersAVrfAndLeavesIt) {
  for (const std::uint32_t master : {7U, 0U}) {
    const auto bytes = encoded(LinkSet{.port = IfIndex{3}, .master = IfIndex{master}});
    const Message message = first_message(bytes);
    EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_index, 3);
    EXPECT_EQ(read_front<ifinfomsg>(message.payload)->ifi_change, 0U);
    EXPECT_EQ(attributes_text(message.attributes(sizeof(ifinfomsg)), {}), "10=" + std::to_string(master));
  }
}

TEST(Encode, ADeviceIsDeletedByItsNumber) {
  const auto bytes = encoded(DeviceDelete{.device = IfIndex{9}});
  EXPECT_EQ(first_message(bytes).header.nlmsg_type, RTM_DELLINK);
  EXPECT_EQ(read_front<ifinfomsg>(first_message(bytes).payload)->ifi_index, 9);
}

TEST(Encode, ARouteOfLastResortHasItsOwnMetricAndIsReadBackWithIt) {
  const RouteSet route{.prefix = Prefix::parse("::/0").value(), .table = 1001, .type = RouteType::Unreachable, .last_resort = true};
  const auto bytes = encoded(route);
  const RouteEntry expected{
      .prefix = route.prefix, .nexthop = {}, .table = 1001, .type = RouteType::Unreachable, .metric = kLastResortMetric};
  EXPECT_EQ(decode_route(first_message(bytes), kMarks), expected);
  EXPECT_TRUE(expected.gone().is_last_resort());
  EXPECT_NE(encoded(RouteDelete{.prefix = route.prefix, .table = 1001, .metric = kLastResortMetric}),
            encoded(RouteDelete{.prefix = route.prefix, .table = 1001}));
}

// What the kernel says of a VRF, of a port in it, and of a device of another program.
TEST(Decode, ADeviceTellsItsVrf) {
  std::vector<std::byte> buffer(512);
  const auto device = [&buffer](const char* kind, std::uint32_t master, std::uint32_t group) {
    MessageWriter writer{buffer};
    ifinfomsg header{};
    header.ifi_index = 5;
    writer.begin(RTM_NEWLINK, 0, 0, header);
    writer.attribute(IFLA_IFNAME, "dev", 4);
    if (master != 0) writer.attribute(IFLA_MASTER, master);
    writer.attribute(IFLA_GROUP, group);
    const std::size_t info = writer.open_nested(IFLA_LINKINFO);
    writer.attribute(IFLA_INFO_KIND, kind, std::strlen(kind) + 1);
    const std::size_t data = writer.open_nested(IFLA_INFO_DATA);
    writer.attribute(IFLA_VRF_TABLE, std::uint32_t{1001});
    writer.close_nested(data);
    writer.close_nested(info);
    EXPECT_TRUE(writer.end());
    return decode_link(first_message(writer.bytes()), kProtocol)->event;
  };
  const LinkEvent vrf = device("vrf", 0, device_group(kProtocol));
  EXPECT_EQ(vrf.vrf_table, 1001U);
  EXPECT_TRUE(vrf.ours);
  EXPECT_FALSE(vrf.master);
  const LinkEvent port = device("veth", 7, 0);
  EXPECT_EQ(port.vrf_table, 0U) << "the same number means something else for another kind";
  EXPECT_FALSE(port.ours);
  EXPECT_EQ(port.master, IfIndex{7});
  EXPECT_FALSE(device("vrf", 0, device_group(kProtocol + 1)).ours);
  EXPECT_FALSE(device("veth", 0, device_group(kProtocol)).ours) << "no order creates such a device";
}

TEST(Encode, DeletingANexthopCarriesNoProtocolAndDeletingARouteCarriesOurs) {
  const auto nexthop = encoded(NexthopDelete{.id = NexthopId{7}});
  EXPECT_EQ(read_front<nhmsg>(first_message(nexthop).payload)->nh_protocol, 0);
  const auto route = encoded(RouteDelete{.prefix = Prefix::parse("::/0").value(), .table = 1001});
  const rtmsg header = *read_front<rtmsg>(first_message(route).payload);
  EXPECT_EQ(header.rtm_protocol, kProtocol);
  EXPECT_EQ(header.rtm_scope, RT_SCOPE_NOWHERE);
  EXPECT_EQ(header.rtm_table, RT_TABLE_UNSPEC);
}

TEST(Decode, WhatIsEncodedIsReadBack) {
  const RouteSet route{.prefix = Prefix::parse("2001:db8::/48").value(), .nexthop = NexthopId{7}, .table = 70'000};
  const auto bytes = encoded(route);
  const RouteEntry expected{.prefix = route.prefix, .nexthop = route.nexthop, .table = route.table};
  EXPECT_EQ(decode_route(first_message(bytes), kMarks), expected);
  EXPECT_EQ(decode_route(first_message(bytes), {.protocol = kProtocol + 1, .metric = 20}), std::nullopt);
  const auto holder = decode_route_holder(first_message(bytes));  // Accepts every protocol.
  ASSERT_TRUE(holder.has_value());
  EXPECT_EQ(holder->prefix, route.prefix);
  EXPECT_EQ(holder->table, 70'000U);
  EXPECT_EQ(holder->metric, 20U);
  EXPECT_EQ(holder->protocol, kProtocol);
  const RouteSet from{.prefix = route.prefix, .nexthop = route.nexthop, .source = IpAddress::parse("fc00:1::32").value()};
  EXPECT_EQ(decode_route(first_message(encoded(from)), kMarks)->source, from.source);
  for (const bool onlink : {false, true}) {
    const NexthopSet nexthop{.id = NexthopId{7}, .gateway = IpAddress::v4(1), .port = IfIndex{3}, .onlink = onlink};
    EXPECT_EQ(decode_nexthop(first_message(encoded(nexthop)), kProtocol)->onlink, onlink);
  }
  const auto group_bytes = encoded(GroupSet{.id = NexthopId{8}, .members = {{.nexthop = NexthopId{9}, .weight = 256}}});
  EXPECT_THAT(decode_nexthop(first_message(group_bytes), kProtocol)->members,
              ElementsAre(GroupMember{.nexthop = NexthopId{9}, .weight = 256}));
}

TEST(Decode, ErrorsGiveSequenceErrnoAndWords) {
  const auto bytes = FakeKernel::error(42, ENETDOWN, "Nexthop device is not up");
  const Answer answer = decode_answer(first_message(bytes)).value();
  EXPECT_EQ(answer.sequence, 42U);
  EXPECT_EQ(answer.error_number, ENETDOWN);
  EXPECT_EQ(answer.words, "Nexthop device is not up");
}

TEST(Decode, ABridgePortMessageIsNoRemovalOfTheDevice) {
  std::vector<std::byte> buffer(256);
  MessageWriter writer{buffer};
  ifinfomsg header{};
  header.ifi_family = AF_BRIDGE;
  header.ifi_index = 3;
  writer.begin(RTM_DELLINK, 0, 7, header);
  writer.attribute(IFLA_IFNAME, "swp1", 5);
  writer.end();
  EXPECT_FALSE(decode_link(first_message(writer.bytes())).has_value());
}

TEST(Decode, EveryTruncationIsSafeAndAShortMessageIsMalformed) {
  for (const auto& sample : samples()) {
    EXPECT_EQ(decode_all(sample) > 0, true);
    for (std::size_t length = 0; length < sample.size(); ++length) {
      const std::vector<std::byte> cut(sample.begin(), sample.begin() + static_cast<std::ptrdiff_t>(length));
      MessageReader reader{cut};
      Message message;
      EXPECT_FALSE(reader.next(message)) << length;  // Its header states a larger length than the buffer has.
      EXPECT_EQ(reader.is_malformed(), length != 0) << length;
      // With a header that matches the cut, the attributes are cut instead.
      if (length < sizeof(nlmsghdr)) continue;
      std::vector<std::byte> agreed = cut;
      const auto claimed = static_cast<std::uint32_t>(length);
      std::memcpy(agreed.data(), &claimed, sizeof claimed);
      decode_all(agreed);
    }
  }
}

TEST(Decode, MutatedMessagesAreSafe) {
  std::mt19937 random{3};
  const auto originals = samples();
  std::size_t decoded = 0;
  for (int round = 0; round < 100'000; ++round) {
    std::vector<std::byte> bytes = originals[random() % originals.size()];
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    decoded += decode_all(bytes);
  }
  EXPECT_GT(decoded, 10'000U);
}

TEST(Decode, LengthsBelowTheirHeaderEndTheWalk) {
  std::vector<std::byte> bytes = encoded(RouteSet{.prefix = Prefix::parse("10.9.0.0/16").value(), .nexthop = NexthopId{7}});
  const std::size_t first_attribute = kMessageHeader + sizeof(rtmsg);
  for (const std::uint16_t length : std::initializer_list<std::uint16_t>{0, 1, 3, 65'535}) {
    std::memcpy(bytes.data() + first_attribute, &length, sizeof length);
    EXPECT_FALSE(decode_route(first_message(bytes), kMarks).has_value()) << length;
    EXPECT_FALSE(decode_route_holder(first_message(bytes)).has_value()) << length;
  }
  for (const std::uint32_t length : {0U, 1U, 15U, 0xffffffffU}) {
    std::memcpy(bytes.data(), &length, sizeof length);
    MessageReader reader{bytes};
    Message message;
    EXPECT_FALSE(reader.next(message)) << length;
    EXPECT_TRUE(reader.is_malformed());
  }
}

}  // namespace
}  // namespace rondo::netlink
