// Goal: the name of the machine's zone, from each place where a system has it. Method: TZ as a text, and a folder in place of /etc.
#include "jobs/machine_zone.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/testing/temporary_folder.h"

namespace rondo::cli {
namespace {

class MachineZoneTest : public ::testing::Test {
 protected:
  std::string zone(const char* tz = nullptr) const {
    const auto found = machine_zone(tz, etc);
    return found ? found->name : "error: " + found.error().to_string();
  }
  const TemporaryFolder folder;
  const std::string etc = folder.string();
};

TEST_F(MachineZoneTest, TzGoesFirst) {
  std::filesystem::create_symlink("/usr/share/zoneinfo/Asia/Tokyo", etc + "/localtime");
  EXPECT_EQ(zone("Europe/Berlin"), "Europe/Berlin");
  EXPECT_EQ(zone(":America/New_York"), "America/New_York");
  EXPECT_EQ(zone("/usr/share/zoneinfo/Europe/Paris"), "Europe/Paris");
  EXPECT_EQ(zone(""), "UTC");
  EXPECT_EQ(zone(), "Asia/Tokyo");
}

TEST_F(MachineZoneTest, ARuleInTzHasNoName) {
  EXPECT_NE(zone("CET-1CEST,M3.5.0,M10.5.0/3").find("is no name"), std::string::npos);
  EXPECT_NE(zone("/opt/zones/mine").find("is no name"), std::string::npos);
}

TEST_F(MachineZoneTest, LocaltimeIsALink) {
  std::filesystem::create_symlink("../usr/share/zoneinfo/posix/Europe/Berlin", etc + "/localtime");
  EXPECT_EQ(zone(), "Europe/Berlin");
  EXPECT_EQ(machine_zone(nullptr, etc)->source, etc + "/localtime");
}

constexpr const char* kDatabase = "/usr/share/zoneinfo/";

TEST_F(MachineZoneTest, TheContentOfACopyIsTheTruth) {
  std::filesystem::copy_file(std::string{kDatabase} + "America/New_York", etc + "/localtime");
  EXPECT_EQ(zone(), "America/New_York");
  EXPECT_EQ(machine_zone(nullptr, etc)->source, etc + "/localtime");
  std::ofstream(etc + "/timezone") << "Europe/Berlin\n";
  EXPECT_EQ(zone(), "America/New_York");
  std::ofstream(etc + "/timezone") << "US/Eastern\n";
  EXPECT_EQ(zone(), "US/Eastern") << "another name of the same zone";
  std::filesystem::copy_file(std::string{kDatabase} + "Etc/Zulu", etc + "/localtime", std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(zone(), "UTC");
}

TEST_F(MachineZoneTest, ALinkToACopyIsOne) {
  std::filesystem::copy_file(std::string{kDatabase} + "Asia/Tokyo", etc + "/copy");
  std::filesystem::create_symlink("copy", etc + "/localtime");
  std::ofstream(etc + "/timezone") << "Europe/Berlin\n";
  EXPECT_EQ(zone(), "Asia/Tokyo");
}

TEST_F(MachineZoneTest, TheFileTimezoneAloneDecidesOnlyWithoutAReadableZone) {
  std::ofstream(etc + "/localtime") << "TZif";
  EXPECT_NE(zone().find("error: "), std::string::npos);
  std::ofstream(etc + "/timezone") << "Europe/Madrid\n";
  EXPECT_EQ(zone(), "Europe/Madrid");
  std::filesystem::copy_file(std::string{kDatabase} + "Asia/Tokyo", etc + "/localtime", std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(machine_zone(nullptr, etc, etc + "/nowhere").error().message().find("does not tell"), std::string::npos)
      << "a database without this zone";
}

TEST_F(MachineZoneTest, WithoutAFileItIsUtc) { EXPECT_EQ(zone(), "UTC"); }

}  // namespace
}  // namespace rondo::cli
