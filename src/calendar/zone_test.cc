// Time zones: the offsets of the system's tz database against a table that Python's zoneinfo made, the POSIX rule for the far future, spans
// around gaps and overlaps, refusals of bytes and names, and a file that changes.
#include "rondo/calendar/zone.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "calendar/posix_rule.h"
#include "calendar/zone_span.h"
#include "rondo/calendar/limits.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::calendar {
namespace {

std::string bytes_of(std::uint64_t value, int count) {
  std::string bytes;
  for (int i = count - 1; i >= 0; --i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
  return bytes;
}

struct Change {
  std::int64_t at;
  int type;
};

/// A TZif block with 'offsets' as its types.
std::string block(char version, int time_bytes, const std::vector<Change>& changes, const std::vector<std::int32_t>& offsets,
                  int leaps = 0) {
  std::string bytes = std::string{"TZif"} + version + std::string(15, '\0');
  for (const std::size_t count :
       {std::size_t{0}, std::size_t{0}, static_cast<std::size_t>(leaps), changes.size(), offsets.size(), std::size_t{4}}) {
    bytes += bytes_of(count, 4);
  }
  for (const Change& change : changes) bytes += bytes_of(static_cast<std::uint64_t>(change.at), time_bytes);
  for (const Change& change : changes) bytes += static_cast<char>(change.type);
  for (const std::int32_t offset : offsets) bytes += bytes_of(static_cast<std::uint32_t>(offset), 4) + std::string(2, '\0');
  return bytes + std::string("XYZ\0", 4) + std::string(static_cast<std::size_t>(leaps * (time_bytes + 4)), '\0');
}

std::string zone_file(const std::string& rule, const std::vector<Change>& changes = {}, const std::vector<std::int32_t>& offsets = {0}) {
  return block('2', 4, {}, {0}) + block('2', 8, changes, offsets) + "\n" + rule + "\n";
}

Seconds at(const std::string& text) { return parse_rfc3339(text)->nanoseconds() / 1'000'000'000; }

class ZoneFiles : public ::testing::Test {
 protected:
  ZoneFiles() : folder_(std::filesystem::temp_directory_path() / ("rondo-zones-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_ / "Area");
  }
  ~ZoneFiles() override { std::filesystem::remove_all(folder_); }
  /// As the package manager does: a new file takes the place of the old one.
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / "new", std::ios::binary) << bytes;
    std::filesystem::rename(folder_ / "new", folder_ / name);
  }
  std::filesystem::path folder_;
};

TEST(ZoneTable, OffsetsAreThoseOfPythonsZoneinfo) {
  std::ifstream in("tests/fixtures/cron/offsets.txt");
  ZoneDirectory zones;
  int rows = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.front() == '#') continue;
    std::stringstream words(line);
    std::string name, bar, instant;
    int offset = 0;
    words >> name >> bar >> instant >> bar >> offset;
    const auto zone = zones.find(name);
    ASSERT_TRUE(zone.has_value()) << zone.error().to_string();
    EXPECT_EQ((*zone)->offset_at(at(instant)), offset) << line;
    ++rows;
  }
  EXPECT_GE(rows, 400);
}

TEST(Zone, TheRuleAtTheEndOfTheFileHoldsInTheFarFuture) {
  const auto zone = Zone::parse("Test", zone_file("CET-1CEST,M3.5.0,M10.5.0/3"));
  ASSERT_TRUE(zone.has_value()) << zone.error().to_string();
  // The last Sunday of March 2260 is the 25th, the last of October the 28th.
  EXPECT_EQ(zone->offset_at(at("2260-03-25T00:59:59Z")), 3600);
  EXPECT_EQ(zone->offset_at(at("2260-03-25T01:00:00Z")), 7200);
  EXPECT_EQ(zone->offset_at(at("2260-10-28T00:59:59Z")), 7200);
  EXPECT_EQ(zone->offset_at(at("2260-10-28T01:00:00Z")), 3600);
}

TEST(Zone, TheRuleFollowsTheLastChangeOfTheTable) {
  const auto zone = Zone::parse("Test", zone_file("CET-1CEST,M3.5.0,M10.5.0/3", {{at("2024-06-01T00:00:00Z"), 1}}, {0, 7200}));
  ASSERT_TRUE(zone.has_value());
  EXPECT_EQ(zone->offset_at(at("2024-05-31T23:59:59Z")), 0);
  EXPECT_EQ(zone->offset_at(at("2024-06-01T00:00:00Z")), 7200);
  EXPECT_EQ(zone->offset_at(at("2024-12-01T00:00:00Z")), 3600);
}

TEST(Zone, RulesOfTheSouthWithNegativeTimesAndJulianDaysAreRead) {
  const auto south = Zone::parse("S", zone_file("<-03>3<-02>,M10.3.0/0,M2.3.0/0"));
  EXPECT_EQ(south->offset_at(at("2100-01-15T00:00:00Z")), -7200);
  EXPECT_EQ(south->offset_at(at("2100-06-15T00:00:00Z")), -10800);
  const auto nuuk = Zone::parse("N", zone_file("<-02>2<-01>,M3.5.0/-1,M10.5.0/0"));
  EXPECT_EQ(nuuk->offset_at(at("2027-03-28T00:59:59Z")), -7200);
  EXPECT_EQ(nuuk->offset_at(at("2027-03-28T01:00:00Z")), -3600);
  const auto julian = Zone::parse("J", zone_file("AAA0BBB,J60,J300"));
  EXPECT_EQ(julian->offset_at(at("2024-03-01T01:59:59Z")), 0);
  EXPECT_EQ(julian->offset_at(at("2024-03-01T02:00:00Z")), 3600);
  const auto counted = Zone::parse("Z", zone_file("AAA0BBB,59,300"));
  EXPECT_EQ(counted->offset_at(at("2024-02-29T02:00:00Z")), 3600);
  const auto half = Zone::parse("L", zone_file("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"));
  EXPECT_EQ(half->offset_at(at("2090-07-01T00:00:00Z")), 37800);
  EXPECT_EQ(half->offset_at(at("2090-01-01T00:00:00Z")), 39600);
  // Daylight saving time all the year (RFC 8536, section 3.3.1).
  const auto always = Zone::parse("A", zone_file("XXX3EDT4,0/0,J365/23"));
  EXPECT_EQ(always->spans().size(), 2U);
  EXPECT_EQ(always->offset_at(at("2050-07-01T00:00:00Z")), -14400);
  EXPECT_EQ(always->offset_at(at("2051-01-01T03:30:00Z")), -14400);
}

TEST(Zone, ARuleThatIsNotOfPosixIsRefused) {
  for (const char* rule :
       {"X0", "AAA", "AAA25", "AAA0BBB", "AAA0BBB,M13.1.0,M1.1.0", "AAA0BBB,M1.6.0,M1.1.0", "AAA0BBB,M1.1.7,M1.1.0", "AAA0BBB,J0,J1",
        "AAA0BBB,366,1", "AAA0BBB,1/168,2", "AAA0BBB,1,2,3", "<AA0", "AAA1:60", "AAA0BBB,M1.1,M2.1.0"}) {
    EXPECT_FALSE(PosixRule::parse(rule).has_value()) << rule;
    EXPECT_FALSE(Zone::parse("Test", zone_file(rule)).has_value()) << rule;
  }
}

TEST(Zone, SpansSayWhichLocalTimesAreMissingAndWhichAreTwice) {
  ZoneDirectory zones;
  const auto zone = zones.find("Europe/Berlin");
  const Zone::Span& summer = (*zone)->spans()[(*zone)->span_at(at("2024-06-01T00:00:00Z"))];
  EXPECT_TRUE(summer.follows_gap());
  EXPECT_EQ(summer.seen_until, at("2024-03-31T02:00:00Z"));
  EXPECT_EQ(summer.fresh_from, at("2024-03-31T03:00:00Z"));
  EXPECT_EQ(summer.last_until, at("2024-10-27T02:00:00Z"));
  EXPECT_EQ(summer.local_end(), at("2024-10-27T03:00:00Z"));
  // The first of two, and the end of a gap.
  EXPECT_EQ((*zone)->first_at(at("2024-10-27T02:30:00Z")), at("2024-10-27T00:30:00Z"));
  EXPECT_EQ((*zone)->first_at(at("2024-03-31T02:30:00Z")), at("2024-03-31T01:00:00Z"));
}

TEST(Zone, BytesThatAreNoZoneAreRefusedWithTheReason) {
  const std::string good = zone_file("UTC0");
  ASSERT_TRUE(Zone::parse("Test", good).has_value());
  const std::vector<std::pair<std::string, std::string>> cases{
      {"", "is not a TZif file"},
      {"hello", "is not a TZif file"},
      {good.substr(0, 50), "is cut off"},
      {good.substr(0, good.size() - 3), "no line at its end"},
      {block('2', 4, {}, {0}) + "TZxx", "no second header"},
      {block('\0', 4, {{1, 1}}, {0}), "unknown time type"},
      {block('\0', 4, {{5, 0}, {5, 0}}, {0}), "out of order"},
      {block('\0', 4, {}, {}), "no time types"},
      {block('\0', 4, {}, {200'000}), "beyond 26 hours"},
      {block('\0', 4, {}, {0}, 1), "leap seconds"},
      {zone_file("nonsense"), "not one of POSIX"},
  };
  for (const auto& [bytes, reason] : cases) {
    const auto zone = Zone::parse("Test", bytes);
    ASSERT_FALSE(zone.has_value()) << reason;
    EXPECT_EQ(zone.error().code(), StatusCode::InvalidArgument);
    EXPECT_NE(std::string{zone.error().message()}.find(reason), std::string::npos) << zone.error().to_string();
  }
  EXPECT_FALSE(Zone::parse("Test", std::string(limits::kZoneFileBytes + 1, 'x')).has_value());
}

TEST(Zone, AFileOfVersion1IsRead) {
  const auto zone = Zone::parse("Test", block('\0', 4, {{1000, 1}}, {0, 3600}));
  ASSERT_TRUE(zone.has_value()) << zone.error().to_string();
  EXPECT_EQ(zone->offset_at(999), 0);
  EXPECT_EQ(zone->offset_at(1000), 3600);
}

TEST(Zone, EachZoneOfTheSystemIsRead) {
  ZoneDirectory zones;
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("/usr/share/zoneinfo")) {
    const std::string name = std::filesystem::relative(entry.path(), "/usr/share/zoneinfo").string();
    if (!entry.is_regular_file() || name.find('.') != std::string::npos || name.rfind("right", 0) == 0) continue;
    if (name == "leapseconds" || name == "leap-seconds" || name == "SECURITY" || name == "tzdata") continue;
    const auto zone = zones.find(name);
    EXPECT_TRUE(zone.has_value()) << zone.error().to_string();
    ++count;
  }
  EXPECT_GT(count, 300);
}

TEST_F(ZoneFiles, AreReadOnceAndAgainWhenTheyChange) {
  write("Area/City", zone_file("AAA-1"));
  ZoneDirectory zones{folder_.string()};
  const auto before = zones.find("Area/City");
  ASSERT_TRUE(before.has_value()) << before.error().to_string();
  EXPECT_TRUE(zones.refresh().empty());
  write("Area/City", zone_file("AAA-2"));
  EXPECT_EQ((*zones.find("Area/City"))->offset_at(0), 3600);
  EXPECT_EQ(zones.refresh(), std::vector<std::string>{"Area/City"});
  EXPECT_EQ((*zones.find("Area/City"))->offset_at(0), 7200);
  EXPECT_EQ((*before)->offset_at(0), 3600);  // Who holds the old one keeps it.
}

TEST_F(ZoneFiles, WithTheSameContentOrAFaultChangeNothing) {
  write("Area/City", zone_file("AAA-1"));
  ZoneDirectory zones{folder_.string()};
  ASSERT_TRUE(zones.find("Area/City").has_value());
  write("Area/City", zone_file("BBB-1"));
  EXPECT_TRUE(zones.refresh().empty());
  write("Area/City", "no zone");
  EXPECT_TRUE(zones.refresh().empty());
  std::filesystem::remove(folder_ / "Area/City");
  EXPECT_TRUE(zones.refresh().empty());
  EXPECT_EQ((*zones.find("Area/City"))->offset_at(0), 3600);
}

TEST_F(ZoneFiles, HaveNamesThatStayInTheirFolder) {
  write("secret", zone_file("AAA-1"));
  ZoneDirectory zones{(folder_ / "Area").string()};
  for (const std::string& name :
       {std::string{}, std::string{"../secret"}, std::string{"/etc/localtime"}, std::string{"A//B"}, std::string{"A/"}, std::string{"A B"},
        std::string{"A\0B", 3}, std::string(limits::kZoneNameBytes + 1, 'A')}) {
    const auto zone = zones.find(name);
    ASSERT_FALSE(zone.has_value()) << name;
    EXPECT_EQ(zone.error().code(), StatusCode::InvalidArgument) << name;
  }
  EXPECT_EQ(zones.find("Nowhere").error().code(), StatusCode::NotFound);
  EXPECT_EQ(ZoneDirectory{folder_.string()}.find("Area").error().code(), StatusCode::InvalidArgument);
}

TEST_F(ZoneFiles, AreNotNeededForUtc) {
  ZoneDirectory zones{folder_.string()};
  const auto zone = zones.find("UTC");
  ASSERT_TRUE(zone.has_value());
  EXPECT_EQ((*zone)->offset_at(0), 0);
}

}  // namespace
}  // namespace rondo::calendar
