// rondod with a journal, and the simulated data plane: a refused start leaves no trace in a journal, its own or another's; and rondod
// reports why records are lost while it loses them. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include "rondo/replay/replay.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class RondodWithJournal : public RondodProcess {
 protected:
  static constexpr rlim_t kFull = 20'000;  // More than the log of the program.
  /// Repeats an action that is recorded until the words appear.
  bool comes_to_say(const char* words) {
    return becomes([&] { return call("version").contains("name") && log_text().find(words) != std::string::npos; });
  }
  std::string journal(const std::string& name) const { return "[journal]\nfile = \"" + file(name) + "\"\n"; }
};

TEST_F(RondodWithJournal, OneThatIsRefusedLeavesNoTrace) {
  start(journal("day"));
  ASSERT_TRUE(becomes([this] { return std::filesystem::file_size(file("day")) > 0; }));
  // The socket is the same, so the start is refused whatever its journal is.
  EXPECT_EQ(fail_to_start(journal("other")), 69) << log_text();
  EXPECT_FALSE(std::filesystem::exists(file("other")));
  // Another socket, the same journal.
  std::ofstream(file("second")) << "[admin]\nsocket = \"" << file("socket2")
                                << "\"\n[dataplane]\nkind = \"simulated\"\n[journal]\nfile = \"" << file("day") << "\"\n";
  const std::string command = std::string{std::getenv("RONDOD")} + " --config " + file("second") + " 2> " + file("log2");
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 69) << status;
  std::ifstream said(file("log2"));
  EXPECT_THAT(std::string(std::istreambuf_iterator<char>(said), {}),
              AllOf(HasSubstr(file("day")), HasSubstr("another process has it open")));
  EXPECT_TRUE(call("version").contains("name")) << "the first one serves on";
}

TEST_F(RondodWithJournal, TheRetryQuotaOfTheConfigurationReachesTheSwitchAgent) {
  start("[scheduler]\nretry_quota = 3\n" + journal("day"));
  EXPECT_EQ(end(SIGTERM), 0) << log_text();
  const auto day = replay::Replay::open({file("day")});
  ASSERT_TRUE(day.has_value());
  EXPECT_EQ((*day)->note("agent.retry_quota"), "3");
}

// A limit on the size of its files simulates a full disk.
TEST_F(RondodWithJournal, WhyRecordsAreLostIsToldWhileTheyAre) {
  start(journal("day"));
  limit_files(kFull);
  EXPECT_TRUE(comes_to_say("the journal has errors")) << log_text();
  EXPECT_THAT(log_text(), AllOf(HasSubstr(file("day")), HasSubstr("File too large")));
  // A small group of records may still fit into the file, and then the error is over until the next group.
  const auto last_error = [this] { return json::serialize(call("stats").at("journal").at("last_error")); };
  EXPECT_TRUE(becomes([&] { return last_error().find("File too large") != std::string::npos; })) << last_error();
  json::object health;
  EXPECT_TRUE(becomes([&] { return !(health = call("health")).at("healthy").as_bool(); }));
  EXPECT_THAT(json::serialize(health.at("troubles")), HasSubstr("cannot write the journal"));
  limit_files(RLIM_INFINITY);
  EXPECT_TRUE(comes_to_say("the journal is written again")) << log_text();
  EXPECT_TRUE(becomes([&] { return (health = call("health")).at("healthy").as_bool(); })) << json::serialize(health);
  EXPECT_THAT(json::serialize(health.at("notes")), HasSubstr("records of the journal were dropped"));
  EXPECT_EQ(end(SIGTERM), 0);
  EXPECT_THAT(log_text(), Not(HasSubstr("journal not written"))) << "that was over";
}

TEST_F(RondodWithJournal, ARemovedFileAndADirectoryInItsPlaceAreTold) {
  const auto dropped = [this] { return call("stats").at("journal").at("dropped").to_number<std::uint64_t>(); };
  start(journal("day"));
  ASSERT_TRUE(becomes([this] { return std::filesystem::file_size(file("day")) > 0; }));
  std::filesystem::remove(file("day"));
  EXPECT_TRUE(comes_to_say("was removed")) << log_text();
  EXPECT_TRUE(becomes([this] { return std::filesystem::exists(file("day")) && std::filesystem::file_size(file("day")) > 0; }));
  const std::uint64_t first = dropped();
  EXPECT_GT(first, 0U);
  EXPECT_TRUE(call("history", {{"table", "ROUTE_TABLE"}, {"key", "10.0.0.0/8"}}).at("damaged").as_bool());

  for (std::error_code made; !std::filesystem::create_directory(file("day"), made);) std::filesystem::remove(file("day"));
  EXPECT_TRUE(comes_to_say("no regular file")) << log_text();
  EXPECT_GT(dropped(), first);
  json::object health = call("health");
  EXPECT_FALSE(health.at("healthy").as_bool());
  EXPECT_THAT(json::serialize(health.at("troubles")), HasSubstr("no regular file"));
  std::filesystem::remove(file("day"));
  EXPECT_TRUE(comes_to_say("the journal is written again")) << log_text();
  EXPECT_TRUE(becomes([&] { return (health = call("health")).at("healthy").as_bool(); })) << json::serialize(health);
  EXPECT_THAT(json::serialize(health.at("notes")), HasSubstr("records of the journal were dropped"));
  EXPECT_EQ(end(SIGTERM), 0);
}

TEST_F(RondodWithJournal, AFileThatIsNoJournalIsRefusedAndStaysAsItIs) {
  const auto text_of = [](const std::string& path) {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_EQ(fail_to_start(journal("toml")), 78);  // The file is rondod's own configuration.
  EXPECT_THAT(log_text(), AllOf(HasSubstr(file("toml")), HasSubstr("is no journal")));
  EXPECT_THAT(text_of(file("toml")), testing::EndsWith(journal("toml")));
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(fail_to_start(journal("pipe")), 78);
  EXPECT_THAT(log_text(), AllOf(HasSubstr(file("pipe")), HasSubstr("not a regular file")));
}

}  // namespace
}  // namespace rondo::daemon
