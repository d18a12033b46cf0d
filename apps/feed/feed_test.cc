// The feed: text of prefixes, the documented next-hop mapping, synthetic tables, files, and the rows made from them. Method: check values
// that the data's description states, plain models (inet_ntop, a set), and small files written here. If RONDO_DATA_DIR is the folder of
// the real tables, the test reads these too and compares their group sizes with the documented ones.
#include "feed/feed.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/testing/temporary_folder.h"
#include "feed/route_file.h"
#include "feed/synthetic.h"

namespace rondo::feed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

NextHopPlan default_plan() { return NextHopPlan::make().value(); }

TEST(Prefix, TextComesBack) {
  for (const std::string text : {"0.0.0.0/0", "1.0.4.0/22", "255.255.255.255/32", "::/0", "2001:db8::/32", "2001:0:0:1::/64", "::1/128",
                                 "1:2:3:4:5:6:7:8/128", "2001:db8:0:1:1:1:1:1/128", "fe80::/10", "1::8/128"}) {
    const Result<Prefix> prefix = parse_prefix(text);
    ASSERT_TRUE(prefix.has_value()) << prefix.error().to_string();
    EXPECT_EQ(to_string(*prefix), text);
  }
}

TEST(Prefix, Ipv6TextIsWhatTheSystemWrites) {
  for (unsigned seed = 0; seed < 5000; ++seed) {
    std::mt19937_64 random(seed);
    unsigned char bytes[16];
    for (unsigned char& byte : bytes) byte = random() % 3 == 0 ? static_cast<unsigned char>(random()) : 0;
    bytes[0] = 0x20;  // inet_ntop writes ::a.b.c.d for some addresses, but never for routable ones.
    char system_text[64];
    ASSERT_NE(inet_ntop(AF_INET6, bytes, system_text, sizeof system_text), nullptr);
    const std::string text = std::string{system_text} + "/128";
    const Result<Prefix> prefix = parse_prefix(text);
    ASSERT_TRUE(prefix.has_value()) << text;
    ASSERT_EQ(to_string(*prefix), text) << "seed " << seed;
  }
}

TEST(Prefix, WhatIsNoPrefixIsRefusedWithTheReason) {
  const std::map<std::string, std::string> table{{"", "no '/length'"},
                                                 {"1.2.3.4", "no '/length'"},
                                                 {"1.2.3/24", "bad address"},
                                                 {"1.2.3.0/33", "bad length"},
                                                 {"1.2.3.0/", "bad length"},
                                                 {"1.2.3.0/-1", "bad length"},
                                                 {"1.2.3.0/24x", "bad length"},
                                                 {"1.2.3.4/24", "host bits"},
                                                 {"2001:db8::1/64", "host bits"},
                                                 {"::/129", "bad length"},
                                                 {"x::/16", "bad address"},
                                                 {"1.2.3.0 /24", "bad address"},
                                                 {std::string(200, '1') + "/8", "too long"}};
  for (const auto& [text, why] : table) {
    const Result<Prefix> prefix = parse_prefix(text);
    ASSERT_FALSE(prefix.has_value()) << text;
    EXPECT_THAT(std::string{prefix.error().message()}, HasSubstr(why)) << text;
  }
}

TEST(NextHopPlan, HasTheDocumentedCheckValues) {
  EXPECT_EQ(fnv1a(15169), 586886329U);
  EXPECT_EQ(fnv1a(13335), 3305301892U);
  EXPECT_EQ(fnv1a(3356), 2037770708U);
  const NextHopPlan plan = default_plan();
  const Prefix any = parse_prefix("1.0.0.0/24").value();
  EXPECT_EQ(plan.group_of(any, 15169), 0U);
  EXPECT_EQ(plan.group_of(any, 13335), 18U);
  EXPECT_EQ(plan.group_of(any, 3356), 7U);
}

TEST(NextHopPlan, WithoutAnOriginTheFirstBytesOfThePrefixDecide) {
  const NextHopPlan plan = default_plan();
  const Prefix prefix = parse_prefix("203.0.113.0/24").value();
  EXPECT_EQ(plan.group_of(prefix, {}), plan.group_of(prefix, 0xcb000000U)) << "IPv4: the last two bytes are zeroed";
  const Prefix six = parse_prefix("2001:db8:1::/48").value();
  EXPECT_EQ(plan.group_of(six, {}), plan.group_of(six, 0x20010db8U));
}

TEST(NextHopPlan, EveryNextHopLiesInItsPortsSubnetAndIsAlone) {
  std::set<std::string> addresses;
  for (const Family family : {Family::V4, Family::V6}) {
    for (unsigned k = 0; k < kGroupsMax * kHopsPerGroup; ++k) {
      const NextHop hop = NextHopPlan::hop(k, family);
      EXPECT_EQ(hop.port, k % kPorts);
      const std::string with_length = NextHopPlan::port_address(hop.port, family);
      const std::string own = with_length.substr(0, with_length.find('/'));
      const Prefix port = parse_prefix(own + (family == Family::V4 ? "/32" : "/128")).value();
      const Prefix neighbor = parse_prefix(hop.address + (family == Family::V4 ? "/32" : "/128")).value();
      const unsigned host_bits = family == Family::V4 ? 40 : 0;  // The bits of the upper half after a /24 or a /64.
      EXPECT_EQ(neighbor.high >> host_bits, port.high >> host_bits) << hop.address;
      EXPECT_EQ(address_text(neighbor), hop.address) << "canonical";
      EXPECT_NE(hop.address, own) << "the port's own address";
      EXPECT_TRUE(addresses.insert(hop.address).second) << hop.address;
    }
  }
  EXPECT_EQ(NextHopPlan::hop(13, Family::V4).address, "10.254.5.3");
  EXPECT_EQ(NextHopPlan::hop(13, Family::V6).address, "fd00:10:254:5::3");
  EXPECT_EQ(NextHopPlan::hop(8, Family::V6).address, "fd00:10:254::3");
  EXPECT_EQ(default_plan().port_name(3), "Ethernet12");
  EXPECT_FALSE(NextHopPlan::make(0).has_value());
  EXPECT_FALSE(NextHopPlan::make(kGroupsMax + 1).has_value());
}

TEST(Synthetic, CountsFollowTheRealHistogram) {
  for (const auto& [family, real] : {std::pair{Family::V4, std::uint64_t{901'899}}, std::pair{Family::V6, std::uint64_t{160'138}}}) {
    for (const std::uint64_t total : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}, real, std::uint64_t{1'000'000}}) {
      const auto counts = length_counts(family, total).value();
      const std::uint64_t sum = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0},
                                                [](std::uint64_t s, const auto& entry) { return s + entry.second; });
      EXPECT_EQ(sum, total);
    }
  }
  const auto real = length_counts(Family::V4, 901'899).value();
  EXPECT_EQ(real.at(24), 537'698U);
  EXPECT_EQ(real.at(8), 16U);
  EXPECT_EQ(length_counts(Family::V6, 160'138).value().at(48), 75'488U) << "9 of 160,147 have lengths too rare to keep";
}

TEST(Synthetic, ALengthWithoutRoomPassesTheRestOn) {
  const auto counts = length_counts(Family::V4, 50'000'000).value();
  EXPECT_EQ(counts.at(8), 221U) << "every /8 there is";
  EXPECT_EQ(counts.at(24), std::uint64_t{221} << 16U);
  EXPECT_EQ(length_counts(Family::V4, 5'000'000'000).error().code(), StatusCode::ResourceExhausted);
}

TEST(Synthetic, PrefixesAreDistinctRoutableAndWithoutHostBits) {
  const auto routes = synthetic_routes({.ipv4 = 200'000, .ipv6 = 50'000, .seed = 7}, default_plan()).value();
  ASSERT_THAT(routes, SizeIs(250'000));
  std::set<Prefix> seen;
  for (const Route& route : routes) {
    ASSERT_TRUE(seen.insert(route.prefix).second) << to_string(route.prefix) << " comes twice";
    ASSERT_FALSE(has_host_bits(route.prefix)) << to_string(route.prefix);
    ASSERT_LT(route.group, kDefaultGroups);
    if (route.prefix.family == Family::V4) {
      const auto octet = route.prefix.high >> 56U;
      ASSERT_TRUE(octet != 0 && octet != 10 && octet != 127 && octet < 224) << to_string(route.prefix);
    } else {
      ASSERT_EQ(route.prefix.high >> 61U, 1U) << to_string(route.prefix);
    }
  }
}

TEST(Synthetic, TheSeedDecidesAndNothingElse) {
  const auto keys = [](std::uint64_t seed, bool shuffled) {
    auto routes = synthetic_routes({.ipv4 = 1000, .ipv6 = 500, .seed = seed}, default_plan()).value();
    if (shuffled) shuffle_routes(routes, seed);
    std::vector<std::string> texts;
    for (const Route& route : routes) texts.push_back(to_string(route.prefix));
    return texts;
  };
  EXPECT_EQ(keys(1, true), keys(1, true));
  EXPECT_NE(keys(1, false), keys(2, false));
  auto shuffled = keys(1, true);
  auto plain = keys(1, false);
  EXPECT_NE(shuffled, plain);
  std::ranges::sort(shuffled);
  std::ranges::sort(plain);
  EXPECT_EQ(shuffled, plain) << "shuffling loses nothing";
}

class Files : public testing::Test {
 protected:
  void write(const std::string& text) const { std::ofstream(path, std::ios::binary) << text; }
  void write_gzip(const std::string& text) const {
    gzFile file = gzopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    ASSERT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
    ASSERT_EQ(gzclose(file), Z_OK);
  }
  Result<RouteFile> read() const { return read_route_file(path, default_plan()); }

  const TemporaryFolder directory;
  const std::string path = directory.file("routes");
};

TEST_F(Files, ThreeKindsOfLinesAreRead) {
  write("# comment\n1.0.0.0/24\n\n2001:db8::/32");
  const auto prefixes = read().value();
  EXPECT_EQ(prefixes.kind, RouteFileKind::Prefixes);
  ASSERT_THAT(prefixes.routes, SizeIs(2));
  EXPECT_EQ(to_string(prefixes.routes[1].prefix), "2001:db8::/32");

  write("1.0.0.0/24\t15169\r\n1.0.4.0/24\t13335\n");
  const auto origins = read().value();
  EXPECT_EQ(origins.kind, RouteFileKind::Origins);
  EXPECT_EQ(origins.routes.at(0).group, 0);
  EXPECT_EQ(origins.routes.at(1).group, 18);

  write("0\tW\t0\t199.60.22.0/24\t0\n0\tA\t1\t199.60.22.0/24\t13335\n");
  const auto updates = read().value();
  EXPECT_EQ(updates.kind, RouteFileKind::Updates);
  EXPECT_TRUE(updates.routes.at(0).withdrawn);
  EXPECT_FALSE(updates.routes.at(1).withdrawn);
  EXPECT_EQ(updates.routes.at(1).group, 18);
}

TEST_F(Files, CompressedAndPlainAreTheSame) {
  std::string text;
  const auto routes = synthetic_routes({.ipv4 = 60'000, .ipv6 = 10'000, .seed = 1}, default_plan()).value();
  for (const Route& route : routes) text += to_string(route.prefix) + "\n";
  write_gzip(text);
  const auto file = read().value();
  ASSERT_THAT(file.routes, SizeIs(routes.size()));
  for (std::size_t i = 0; i < routes.size(); ++i) {
    ASSERT_EQ(file.routes[i].prefix, routes[i].prefix);
    ASSERT_EQ(file.routes[i].group, routes[i].group);
  }
}

TEST_F(Files, ABadLineIsNamedWithFileAndNumber) {
  const std::map<std::string, std::string> table{
      {"1.0.0.0/24\n1.0.0.1/24\n", ":2: '1.0.0.1/24' has host bits set"},
      {"1.0.0.0/24\t15169\n1.0.0.0/24\n", ":2: the line has 1 columns, unlike"},
      {"1.0.0.0/24\tAS15169\n", ":1: 'AS15169' is not an AS number"},
      {"1.0.0.0/24\t99999999999\n", "is not an AS number"},
      {"a\tb\tc\n", "has 3 columns"},
      {"0\tX\t0\t1.0.0.0/24\t5\n", "says 'X'"},
      {"1.0.0.0/24\n" + std::string(5000, 'x'), ":2: the line is longer than"},
      {std::string(2'000'000, 'x'), "longer than"},
      {std::string("\0\0\0", 3), "is not a prefix"},
  };
  for (const auto& [text, why] : table) {
    write(text);
    const auto file = read();
    ASSERT_FALSE(file.has_value()) << why;
    EXPECT_THAT(std::string{file.error().message()}, HasSubstr(why));
    EXPECT_THAT(std::string{file.error().message()}, StartsWith(path + ":"));
  }
  EXPECT_EQ(read_route_file(directory.file("absent"), default_plan()).error().code(), StatusCode::NotFound);
  EXPECT_FALSE(read_route_file(directory.string(), default_plan()).has_value()) << "a directory";
}

TEST_F(Files, DamagedCompressionIsAnErrorAndNotAShortTable) {
  std::string text;
  for (unsigned i = 0; i < 50'000; ++i) text += to_string(Prefix::v4(0x01000000U + i * 256U * 7U, 24)) + "\n";
  write_gzip(text);
  std::ifstream in(path, std::ios::binary);
  std::string packed{std::istreambuf_iterator<char>(in), {}};
  in.close();
  write(packed.substr(0, packed.size() / 2));
  const auto cut = read();
  ASSERT_FALSE(cut.has_value());
  EXPECT_EQ(cut.error().code(), StatusCode::DataLoss);
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  write(packed);
  EXPECT_FALSE(read().has_value());
}

/// Rows as text.
class TextSink final : public BulkSink {
 public:
  Status begin(std::string_view table) override {
    table_ = table;
    return table_ == refuse ? Status{StatusCode::NotFound, "no such table"} : Status{};
  }
  Status row(BulkOp op, std::string_view key, std::span<const BulkField> fields) override {
    std::string text = op == BulkOp::Set ? "" : "-";
    text.append(table_).append(":").append(key);
    for (const BulkField& field : fields) text.append(" ").append(field.name).append("=").append(field.value);
    rows.push_back(std::move(text));
    return {};
  }
  Status end() override { return {}; }
  std::vector<std::string> rows;
  std::string refuse;

 private:
  std::string table_;
};

constexpr Parts kEverything{.routes = true, .groups = true, .neighbors = true, .interfaces = true, .ports = true, .mtu = 1500};

TEST(Feed, WritesRoutesThenWhatTheyWaitFor) {
  const NextHopPlan plan = NextHopPlan::make(2, {.prefix = "veth", .first = 1, .step = 1}).value();
  const std::vector<Route> routes{{parse_prefix("192.0.2.0/24").value(), 1, false}, {parse_prefix("198.51.100.0/24").value(), 0, true}};
  TextSink sink;
  ASSERT_TRUE(feed_all(routes, plan, kEverything, sink).ok());
  ASSERT_THAT(sink.rows, SizeIs(2 + 2 + 8 + 16 + 8));
  EXPECT_EQ(sink.rows.size(), count_rows(routes, plan, kEverything));
  EXPECT_EQ(sink.rows[0], "ROUTE_TABLE:192.0.2.0/24 nexthop_group=1");
  EXPECT_EQ(sink.rows[1], "-ROUTE_TABLE:198.51.100.0/24");
  EXPECT_EQ(sink.rows[2], "NEXTHOP_GROUP_TABLE:0 nexthop=10.254.0.2,10.254.1.2,10.254.2.2,10.254.3.2 ifname=veth1,veth2,veth3,veth4");
  EXPECT_EQ(sink.rows[4], "NEIGH_TABLE:veth1:10.254.0.2 neigh=02:00:0a:fe:00:02 family=IPv4");
  EXPECT_EQ(sink.rows[12], "INTF_TABLE:veth1");
  EXPECT_EQ(sink.rows[13], "INTF_TABLE:veth1:10.254.0.1/24 scope=global family=IPv4");
  EXPECT_EQ(sink.rows.back(), "PORT_TABLE:veth8 admin_status=up mtu=1500");
}

TEST(Feed, Ipv6HasItsOwnGroupsAndNextHops) {
  const NextHopPlan plan = default_plan();
  const std::vector<Route> routes{{parse_prefix("2001:db8::/32").value(), 3, false}};
  TextSink sink;
  ASSERT_TRUE(feed_all(routes, plan, kEverything, sink).ok());
  EXPECT_EQ(sink.rows.size(), count_rows(routes, plan, kEverything));
  EXPECT_EQ(sink.rows[0], "ROUTE_TABLE:2001:db8::/32 nexthop_group=v6-3");
  EXPECT_THAT(sink.rows[4], StartsWith("NEXTHOP_GROUP_TABLE:v6-3 nexthop=fd00:10:254:4::3,fd00:10:254:5::3,"));
}

TEST(Feed, ARefusedTableEndsTheFeedWithItsError) {
  TextSink sink;
  sink.refuse = "NEIGH_TABLE";
  const std::vector<Route> routes{{parse_prefix("192.0.2.0/24").value(), 1, false}};
  EXPECT_EQ(feed_all(routes, default_plan(), kEverything, sink).code(), StatusCode::NotFound);
}

TEST(RealTables, GroupSizesAreTheDocumentedOnes) {
  const char* const folder = std::getenv("RONDO_DATA_DIR");
  if (folder == nullptr || !std::filesystem::is_directory(folder)) {
    GTEST_SKIP() << "RONDO_DATA_DIR names no folder: the real tables are not checked";
  }
  const auto file = read_route_file(std::string{folder} + "/bgp_v4_2015.tsv.gz", default_plan());
  ASSERT_TRUE(file.has_value()) << file.error().to_string();
  EXPECT_THAT(file->routes, SizeIs(606'138));
  std::vector<unsigned> sizes(kDefaultGroups);
  for (const Route& route : file->routes) ++sizes[route.group];
  EXPECT_THAT(sizes,
              ElementsAre(107844, 38163, 32056, 28476, 28436, 19318, 20293, 25021, 18202, 18541, 16752, 11438, 14446, 15787, 16397, 14981,
                          14004, 12302, 10109, 15212, 10212, 11055, 10495, 11168, 10377, 15667, 10786, 10507, 8119, 8337, 14748, 6889));
  for (const auto& [name, rows] : std::map<std::string, std::size_t>{{"bgp_v6_2015.tsv.gz", 27'693},
                                                                     {"dfz_v4_2024.txt.gz", 901'899},
                                                                     {"dfz_v6_2024.txt.gz", 160'147},
                                                                     {"ris_updates_2010.tsv.gz", 53'786}}) {
    const auto other = read_route_file(std::string{folder} + "/" + name, default_plan());
    ASSERT_TRUE(other.has_value()) << other.error().to_string();
    EXPECT_THAT(other->routes, SizeIs(rows)) << name;
  }
}

}  // namespace
}  // namespace rondo::feed
