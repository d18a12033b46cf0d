// Goal: one text form per value, strict parsing, containment and hashing of addresses. Method: tables of accepted and refused texts, and a
// comparison with the C library over seeded random input.
#include "rondo/dataplane/ip.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <unordered_set>

#include "dataplane/ip_hash.h"

namespace rondo {
namespace {

TEST(IpAddress, AcceptsExactlyWhatInetPtonAccepts) {
  for (const char* text : {"0.0.0.0", "255.255.255.255", "10.0.0.1", "::", "::1", "2001:db8::1", "fe80::1", "::ffff:1.2.3.4",
                           "1:2:3:4:5:6:7:8", "2001:DB8::A"}) {
    EXPECT_TRUE(IpAddress::parse(text).has_value()) << text;
  }
  for (const char* text : {"",           "1",        "1.2.3",        "1.2.3.4.5", "256.0.0.1", "01.2.3.4",          "1.2.3.04",
                           "1.2.3.4 ",   " 1.2.3.4", "1..2.3",       "a.b.c.d",   "-1.2.3.4",  "1.2.3.4/8",         ":",
                           ":::",        "1:2",      "fe80::1%eth0", "12345::",   "::g",       "1:2:3:4:5:6:7:8:9", "0x1.2.3.4",
                           "1.2.3.1000", "[::1]"}) {
    const auto parsed = IpAddress::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code(), StatusCode::InvalidArgument) << text;
  }
}

TEST(IpAddress, AgreesWithTheLibraryOnMutatedTexts) {
  constexpr std::string_view kAlphabet = "0123456789abcdef.:/ %";
  std::mt19937 random{7};
  int accepted = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string text = round % 2 == 0 ? "192.168.10.255" : "2001:db8:1::ff:7";
    const auto edits = random() % 3;
    for (unsigned i = 0; i < edits; ++i) {
      const std::size_t at = random() % text.size();
      if (random() % 4 == 0)
        text.erase(at, 1);
      else
        text[at] = kAlphabet[random() % kAlphabet.size()];
    }
    std::uint8_t bytes[16];
    const bool v6 = text.find(':') != std::string::npos;
    const bool expected = ::inet_pton(v6 ? AF_INET6 : AF_INET, text.c_str(), bytes) == 1;
    const auto parsed = IpAddress::parse(text);
    ASSERT_EQ(parsed.has_value(), expected) << "seed 7, round " << round << ": " << text;
    if (!expected) continue;
    ++accepted;
    ASSERT_EQ(std::memcmp(parsed->bytes().data(), bytes, v6 ? 16 : 4), 0) << text;
    char again[INET6_ADDRSTRLEN];
    ASSERT_EQ(parsed->to_string(), ::inet_ntop(v6 ? AF_INET6 : AF_INET, bytes, again, sizeof again));
  }
  EXPECT_GT(accepted, 10'000);
}

TEST(IpAddress, AgreesWithTheLibraryOnGroupsOfZeroWhereverTheyAre) {
  std::mt19937 random{11};
  for (unsigned round = 0; round < 100'000; ++round) {
    std::uint8_t bytes[16] = {};
    for (std::size_t group = 0; group < 8; ++group) {
      if ((round >> group & 1U) == 0) continue;  // Each set of groups, some hundred times.
      const auto value = random() >> (16 + random() % 16);
      bytes[2 * group] = static_cast<std::uint8_t>(value >> 8);
      bytes[2 * group + 1] = static_cast<std::uint8_t>(value);
    }
    char text[INET6_ADDRSTRLEN];
    ASSERT_NE(::inet_ntop(AF_INET6, bytes, text, sizeof text), nullptr);
    const auto parsed = IpAddress::parse(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    ASSERT_EQ(std::memcmp(parsed->bytes().data(), bytes, 16), 0) << "seed 11, round " << round << ": " << text;
    ASSERT_EQ(parsed->to_string(), text) << "seed 11, round " << round;
  }
}

TEST(IpAddress, AgreesWithTheLibraryOnTextsOfColonsAndDigits) {
  std::mt19937 random{13};
  int accepted = 0;
  for (int round = 0; round < 300'000; ++round) {
    std::string text;
    for (std::size_t i = 0, length = 1 + random() % 24; i < length; ++i) text.push_back(random() % 5 < 2 ? ':' : "0aF19"[random() % 5]);
    if (text.find(':') == std::string::npos) continue;
    std::uint8_t bytes[16];
    const bool expected = ::inet_pton(AF_INET6, text.c_str(), bytes) == 1;
    const auto parsed = IpAddress::parse(text);
    ASSERT_EQ(parsed.has_value(), expected) << "seed 13, round " << round << ": " << text;
    if (!expected) continue;
    ++accepted;
    ASSERT_EQ(std::memcmp(parsed->bytes().data(), bytes, 16), 0) << text;
  }
  EXPECT_GT(accepted, 1'000);
}

TEST(IpAddress, AnIPv4AddressWithinIPv6IsUnmapped) {
  const auto unmapped = [](std::string_view text) { return IpAddress::parse(text).value().unmapped().to_string(); };
  EXPECT_EQ(unmapped("::ffff:10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(unmapped("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(IpAddress::parse("::ffff:10.0.0.1").value().unmapped(), IpAddress::parse("10.0.0.1").value());
  for (const char* const other : {"::", "::1", "::10.0.0.1", "64:ff9b::a00:1", "fe80::ffff:a00:1"}) {
    EXPECT_EQ(IpAddress::parse(other).value().unmapped(), IpAddress::parse(other).value()) << other;
  }
}

TEST(IpAddress, RefusesEmbeddedNulAndLongTexts) {
  EXPECT_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0", 8)).has_value());
  EXPECT_FALSE(IpAddress::parse(std::string_view("::1\0x", 5)).has_value());
  const auto parsed = IpAddress::parse(std::string(100'000, ':'));
  ASSERT_FALSE(parsed.has_value());
  EXPECT_LT(parsed.error().message().size(), 200U);
}

TEST(IpAddress, OrdersByFamilyThenBytes) {
  const auto address = [](const char* text) { return IpAddress::parse(text).value(); };
  EXPECT_LT(address("9.255.255.255"), address("10.0.0.0"));
  EXPECT_LT(address("255.0.0.0"), address("::"));
  EXPECT_LT(address("2001:db8::1"), address("2001:db8::2"));
  EXPECT_EQ(IpAddress::v4(0x0a000001), address("10.0.0.1"));
}

TEST(Prefix, ParsesAndPrintsOneForm) {
  for (const char* text : {"0.0.0.0/0", "10.0.0.0/8", "192.0.2.1/32", "::/0", "2001:db8::/32", "2001:db8::1/128", "128.0.0.0/1"}) {
    const auto parsed = Prefix::parse(text);
    ASSERT_TRUE(parsed.has_value()) << text;
    EXPECT_EQ(parsed->to_string(), text);
  }
}

TEST(Prefix, AnAddressAloneIsAHostPrefix) {
  EXPECT_EQ(Prefix::parse("10.0.0.1").value().to_string(), "10.0.0.1/32");
  EXPECT_EQ(Prefix::parse("2001:db8::1").value().to_string(), "2001:db8::1/128");
  EXPECT_EQ(Prefix::parse_interface("10.0.0.1").value().to_string(), "10.0.0.1/32");
  EXPECT_EQ(Prefix::parse_interface("2001:db8::1").value().to_string(), "2001:db8::1/128");
  EXPECT_FALSE(Prefix::parse_interface("").has_value());
}

TEST(Prefix, RefusesHostBitsAndBadLengths) {
  for (const char* text : {"10.0.0.1/8", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/08", "10.0.0.0/-1", "10.0.0.0/8x", "10.0.0.0/8/8", "/8", "",
                           "::1/64", "::/129", "10.0.0.0/ 8", "255.255.255.255/0", "10.0.0.0/1000"}) {
    const auto parsed = Prefix::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_NE(parsed.error().message().find(text), std::string_view::npos) << parsed.error().message();
  }
}

TEST(Prefix, InterfaceFormKeepsHostBits) {
  const Prefix prefix = Prefix::parse_interface("10.0.0.1/24").value();
  EXPECT_EQ(prefix.to_string(), "10.0.0.1/24");
  EXPECT_TRUE(prefix.has_host_bits());
  EXPECT_EQ(prefix.network().to_string(), "10.0.0.0/24");
  EXPECT_EQ(Prefix::parse_interface("2001:db8:ffff::1/36").value().network().to_string(), "2001:db8:f000::/36");
}

TEST(Prefix, HostBitsAreWhatTheNetworkLacks) {
  std::mt19937 random{11};
  for (int round = 0; round < 20'000; ++round) {
    std::array<std::uint8_t, 16> bytes{};
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % 3 == 0 ? random() : 0);
    const auto v4 = static_cast<std::uint32_t>(random() % 3 == 0 ? random() : random() & 0xffff0000U);
    const bool is_v6 = round % 2 == 0;
    const Prefix prefix{is_v6 ? IpAddress::v6(bytes) : IpAddress::v4(v4), static_cast<std::uint8_t>(random() % (is_v6 ? 129 : 33))};
    ASSERT_EQ(prefix.has_host_bits(), prefix.network() != prefix) << "seed 11, round " << round << ": " << prefix.to_string();
    ASSERT_TRUE(prefix.network().contains(prefix.address)) << prefix.to_string();
    ASSERT_FALSE(prefix.network().has_host_bits()) << prefix.to_string();
  }
}

TEST(Prefix, ContainsComparesOnlyTheLeadingBits) {
  const Prefix prefix = Prefix::parse("10.0.8.0/21").value();
  EXPECT_TRUE(prefix.contains(IpAddress::parse("10.0.8.0").value()));
  EXPECT_TRUE(prefix.contains(IpAddress::parse("10.0.15.255").value()));
  EXPECT_FALSE(prefix.contains(IpAddress::parse("10.0.16.0").value()));
  EXPECT_FALSE(prefix.contains(IpAddress::parse("::10.0.8.0").value()));
  EXPECT_TRUE(Prefix::parse("0.0.0.0/0").value().contains(IpAddress::parse("203.0.113.9").value()));
  EXPECT_FALSE(Prefix::parse("::/0").value().contains(IpAddress::parse("203.0.113.9").value()));
  EXPECT_TRUE(Prefix::parse("2001:db8::1/128").value().contains(IpAddress::parse("2001:db8::1").value()));
}

TEST(MacAddress, ParsesAndPrintsOneForm) {
  EXPECT_EQ(MacAddress::parse("02:00:00:00:00:01").value().to_string(), "02:00:00:00:00:01");
  EXPECT_EQ(MacAddress::parse("AA:bb:Cc:dD:0e:F0").value().to_string(), "aa:bb:cc:dd:0e:f0");
  for (const char* text : {"", "02:00:00:00:00", "02:00:00:00:00:0", "02-00-00-00-00-01", "02:00:00:00:00:01:", "0g:00:00:00:00:00",
                           "+2:00:00:00:00:00", " 2:00:00:00:00:00", "020000000001"}) {
    EXPECT_FALSE(MacAddress::parse(text).has_value()) << text;
  }
}

TEST(IpHash, SpreadsARealisticTableOverAllBuckets) {
  constexpr std::size_t kBuckets = 1024;
  std::vector<int> buckets(kBuckets);
  std::unordered_set<std::size_t> seen;
  for (std::uint32_t i = 0; i < 64 * kBuckets; ++i) {
    const std::size_t hash = IpHash{}(Prefix{IpAddress::v4(0x0a000000 + (i << 8)), 24});
    ++buckets[hash % kBuckets];
    seen.insert(hash);
  }
  EXPECT_EQ(seen.size(), 64 * kBuckets);
  for (const int count : buckets) {
    EXPECT_GT(count, 24);
    EXPECT_LT(count, 110);
  }
}

TEST(IpHash, LengthAndFamilyAreHashed) {
  const IpHash hash;
  EXPECT_NE(hash(Prefix::parse("10.0.0.0/8").value()), hash(Prefix::parse("10.0.0.0/9").value()));
  EXPECT_NE(hash(Prefix::parse("0.0.0.0/0").value()), hash(Prefix::parse("::/0").value()));
  EXPECT_NE(hash(IpAddress::parse("0.0.0.0").value()), hash(IpAddress::parse("::").value()));
}

}  // namespace
}  // namespace rondo
