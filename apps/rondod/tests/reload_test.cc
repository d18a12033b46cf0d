// SIGHUP: which settings of a changed configuration rondod applies at run time, which it reports as applied at the next start, and its
// messages to the service manager. RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>

#include "rondod/configuration/config.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(ConfigDifferences, AreNamedAsInTheFile) {
  const Config one;
  EXPECT_THAT(differences(one, one), IsEmpty());
  Config other;
  other.socket = "/other";
  other.table = 7;
  other.policy.budgets_us = {{3, 100}};
  other.store.url = "file:///t";
  EXPECT_THAT(differences(one, other), ElementsAre("admin.socket", "dataplane.table", "scheduler.budgets_us", "store.url"));
}

class RondodReload : public RondodProcess {
 protected:
  /// Returns the log of a reload when it is over.
  std::string reload() {
    const std::string before = log_text();
    while (!told(0).empty()) continue;
    signal(SIGHUP);
    reloading_ = told(20'000);
    EXPECT_TRUE(hears("READY=1\nSTATUS=serving")) << log_text();
    return log_text().substr(before.size());
  }
  std::string reloading_;  // The first message to the service manager.
};

TEST_F(RondodReload, TheServiceManagerHearsWhenAReloadBeginsAndEnds) {
  start("");
  timespec before{};
  ::clock_gettime(CLOCK_MONOTONIC, &before);
  reload();
  constexpr std::string_view kBegins = "RELOADING=1\nMONOTONIC_USEC=";
  ASSERT_THAT(reloading_, StartsWith(std::string{kBegins}));
  EXPECT_GE(std::stoll(reloading_.substr(kBegins.size())), before.tv_sec * 1'000'000LL + before.tv_nsec / 1000);
}

// Two messages per reload, more than the queue of an unread socket holds. The time is longer than a busy machine stops a process.
TEST_F(RondodReload, AServiceManagerThatDoesNotReadHoldsUpNothing) {
  start("[scheduler]\nstall_ms = 10000\n");
  for (int i = 0; i < 600; ++i) {
    signal(SIGHUP);
    call("version");
  }
  EXPECT_THAT(log_text(), Not(HasSubstr("turn still running")));
}

TEST_F(RondodReload, TheLevelOfTheLogIsTaken) {
  start("[log]\nlevel = \"warn\"\n");
  configure("[log]\nlevel = \"info\"\n");
  EXPECT_THAT(reload(), HasSubstr("info log level changed level=info"));
  EXPECT_EQ(call("config").at("log").at("level"), "info");
  configure("[log]\nlevel = \"error\"\n");
  reload();
  const std::string before = log_text();
  call("set", {{"table", "ROUTE_TABLE"}, {"key", "no prefix"}, {"wait_ms", 20'000}});
  EXPECT_EQ(log_text(), before) << "who wrote, and that it was rejected, are no errors";
}

TEST_F(RondodReload, WhatNeedsARestartIsNamedAndNothingElse) {
  start("");
  EXPECT_THAT(reload(), Not(HasSubstr("changed settings")));
  configure("[journal]\nfile = \"" + file("day") + "\"\n[scheduler]\npolicy = \"strict\"\nstall_ms = 500\n");
  EXPECT_THAT(reload(),
              AllOf(HasSubstr("policy changed"),
                    HasSubstr("warn changed settings are taken at the next start only settings=\"journal.file, scheduler.stall_ms\"")));
  EXPECT_EQ(call("config").at("journal").at("file"), "") << "what is in force";
  std::ofstream(file("toml")) << "[admin]\nscoket = \"/s\"\n";
  EXPECT_THAT(reload(), AllOf(HasSubstr("error cannot read the configuration, keeping the current one"), HasSubstr("socket")));
  EXPECT_THAT(boost::json::serialize(call("health").at("notes")), AllOf(HasSubstr("next start"), HasSubstr("scoket")));
  EXPECT_THAT(boost::json::serialize(call("restart-check")), HasSubstr("error is in the configuration"));
  configure("");
  reload();
  EXPECT_THAT(boost::json::serialize(call("health").at("notes")), Not(HasSubstr("next start")));
}

/// To open a pipe without a writer blocks.
TEST_F(RondodReload, AConfigurationThatIsAPipeIsNotReadAgain) {
  start("");
  std::filesystem::remove(file("toml"));
  ASSERT_EQ(::mkfifo(file("toml").c_str(), 0600), 0);
  EXPECT_THAT(reload(), AllOf(HasSubstr("error cannot read the configuration, keeping the current one"), HasSubstr("is a pipe")));
}

}  // namespace
}  // namespace rondo::daemon
