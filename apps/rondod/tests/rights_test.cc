// Which users may use which commands of a rondod, and which user the log names. Method: a real process with the simulated data plane;
// RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "admin/bulk.h"
#include "admin/bulk_writer.h"
#include "base/user_name.h"
#include "journal/walk.h"
#include "rondod/configuration/config.h"
#include "rondod/configuration/user_names.h"
#include "rondod/tests/replay_kit.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class RondodRights : public RondodProcess {};

// If a command outside this list appears as a writing one, it has declared no effect: decide what it does (CommandSpec::effect).
TEST_F(RondodRights, CommandsThatWriteAreThese) {
  start("");
  const json::object commands = call("commands");
  std::vector<std::string> writing;
  for (const json::value& row : commands.at("rows").as_array()) {
    if (row.at("writes").as_bool()) writing.emplace_back(row.at("name").as_string());
  }
  EXPECT_THAT(writing, ElementsAre("confirm", "del", "resync", "set", "sim-carrier", "write"));
}

TEST_F(RondodRights, WhoWroteIsInTheLogAndInTheJournalAndAReplayPassesItBy) {
  start("[journal]\nfile = \"" + file("day") + "\"\n");
  call("set", {{"table", "PORT_TABLE"}, {"key", "swp1"}, {"fields", json::array{json::array{"admin_status", "up"}}}});
  {
    BulkWriter writer(client());
    ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
    for (const char* const key : {"10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8"}) ASSERT_TRUE(writer.row(BulkOp::Set, key, {}).ok());
    ASSERT_TRUE(writer.end().ok());
    ASSERT_TRUE(writer.finish().has_value());
  }
  call("del", {{"table", "ROUTE_TABLE"}, {"key", "10.0.0.0/8"}});
  call("write", {{"rows", json::array{json::array{"PORT_TABLE", "swp2", "DEL"}, json::array{"ROUTE_TABLE", "11.0.0.0/8", "DEL"}}}});
  call("get", {{"table", "PORT_TABLE"}, {"key", "swp1"}});
  EXPECT_EQ(end(SIGTERM), 0);
  const std::string uid = std::to_string(::geteuid());
  const std::string pid = std::to_string(::getpid());
  const std::string who =
      " user=" + (user_name(::geteuid()).empty() ? "\"\"" : user_name(::geteuid())) + " uid=" + uid + " pid=" + pid + "\n";
  EXPECT_THAT(log_text(),
              AllOf(HasSubstr("info write command=set what=\"PORT_TABLE swp1\" before=(none) after=\"admin_status=up\"" + who),
                    HasSubstr("info write command=del what=\"ROUTE_TABLE 10.0.0.0/8\" before="), HasSubstr(" after=(none)" + who),
                    HasSubstr("info bulk write table=ROUTE_TABLE rows=3" + who),
                    HasSubstr("info write command=write what=\"PORT_TABLE swp2\" before=(none) after=(none)" + who),
                    HasSubstr("info write command=write what=\"ROUTE_TABLE 11.0.0.0/8\" before="), Not(HasSubstr("command=get"))));
  std::vector<std::string> written;
  const auto reader = std::move(journal::JournalReader::open(file("day")).value());
  for (journal::JournalWalk walk(*reader); walk.next();) {
    if (walk.record().kind == journal::Kind::WrittenBy) written.push_back(walk.words());
  }
  const std::string by = "written by user " + uid + " process " + pid + ": ";
  EXPECT_THAT(written, ElementsAre(by + "set PORT_TABLE swp1", by + "load ROUTE_TABLE, 3 rows", by + "del ROUTE_TABLE 10.0.0.0/8",
                                   by + "write PORT_TABLE ROUTE_TABLE, 2 rows"));
  const replay::ReplayReport report = replay_day(file("day"));
  EXPECT_TRUE(report.same) << "record " << report.record << ": expected " << report.expected << ", came " << report.came;
}

TEST_F(RondodRights, TheRowsOfASmallBatchAreInTheLogOneByOneUpToItsRateAndThenAsSums) {
  start("");
  const auto batch = [this](std::size_t rows, const std::string& port) {
    json::array all;
    for (std::size_t i = 0; i < rows; ++i)
      all.push_back(json::array{"PORT_TABLE", port + std::to_string(i), "SET", json::array{json::array{"password", "geheim"}}});
    call("write", {{"rows", std::move(all)}});
  };
  batch(1, "\\x0a2026-01-01T00:00:00.000Z info write command=forged token=geheim ");
  for (int i = 0; i < 4; ++i) batch(16, "few");
  batch(17, "many");
  EXPECT_EQ(end(SIGTERM), 0);
  std::size_t lines = 0;
  std::size_t sums = 0;
  std::istringstream log(log_text());
  for (std::string line; std::getline(log, line);) {
    EXPECT_THAT(line, Not(testing::StartsWith("2026-01-01")));
    if (line.find(" info write command=write ") != std::string::npos) {
      EXPECT_THAT(line, Not(HasSubstr("geheim")));
    }
    if (line.find(" info write command=write what=\"PORT_TABLE few") != std::string::npos) ++lines;
    if (const std::size_t at = line.find(" info bulk write table=PORT_TABLE rows="); at != std::string::npos)
      sums += std::stoul(line.substr(line.find("rows=", at) + 5));
  }
  EXPECT_GE(lines, 15U) << "of the first 16";
  EXPECT_EQ(lines + sums, 4 * 16 + 17U);
  EXPECT_THAT(log_text(),
              AllOf(HasSubstr("what=\"PORT_TABLE few0\" before=(none) after=\"password=***\" "),
                    HasSubstr("what=\"PORT_TABLE \\\\x0a2026-01-01T00:00:00.000Z info write command=forged token=*** 0\" before=")));
}

// UMask=0077, as packaging/rondod.service sets it.
TEST_F(RondodRights, UnderTheUmaskOfTheUnitTheSocketIsOfTheGroupAndTheJournalPrivate) {
  const mode_t old = ::umask(0077);
  start("[journal]\nfile = \"" + file("day") + "\"\n");
  ::umask(old);
  const auto mode = [this](const char* name) {
    struct stat status {};
    EXPECT_EQ(::stat(file(name).c_str(), &status), 0) << name;
    return status.st_mode & 0777U;
  };
  EXPECT_EQ(mode("socket"), 0660U);
  EXPECT_EQ(mode("day"), 0600U);
}

TEST(RightsConfig, TheReadGroupIsOneOfThisSystemOrANumber) {
  const auto group = [](const std::string& name) { return parse_config("[admin]\nread_group = \"" + name + "\"\n", "rondod.toml"); };
  EXPECT_EQ(group("root").value().read_group, "root");
  EXPECT_EQ(group("54321").value().read_group, "54321");
  EXPECT_EQ(group_named("54321").value(), 54321U);
  EXPECT_EQ(group_named("root").value(), 0U);
  const auto unknown = group("no-such-group");
  ASSERT_FALSE(unknown.has_value());
  EXPECT_THAT(std::string{unknown.error().message()},
              AllOf(HasSubstr("rondod.toml:2"), HasSubstr("read_group"), HasSubstr("no group 'no-such-group'")));
}

TEST(UserNames, AreThoseOfTheMachine) {
  EXPECT_EQ(user_name(0), "root");
  EXPECT_EQ(user_name(4'000'000'123), "");
}

}  // namespace
}  // namespace rondo::daemon
