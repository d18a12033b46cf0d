// `rondo cron`: what it prints, and its exit codes. The instants themselves are tested in src/calendar.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::HasSubstr;

struct Said {
  int code = -1;
  std::string out;
  std::string errors;
};

std::string read_all(FILE* pipe) {
  std::string text;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) text.push_back(static_cast<char>(c));
  return text;
}

/// Runs `rondo cron` in the shell, with what it prints on either of the two outputs.
Said cron(const std::string& words) {
  Said said;
  for (const bool errors : {false, true}) {
    const std::string line =
        "RONDO_SOCKET=/nowhere " + std::string{std::getenv("RONDO")} + " cron " + words + (errors ? " 2>&1 >/dev/null" : " 2>/dev/null");
    FILE* const pipe = ::popen(line.c_str(), "r");
    (errors ? said.errors : said.out) = read_all(pipe);
    const int status = ::pclose(pipe);
    said.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  return said;
}

TEST(CronCommand, NextPrintsInstantsInUtcOneALine) {
  const Said said = cron("next '30 2 * * *' --zone Europe/Berlin --from 2024-03-30T00:00:00Z --count 3");
  EXPECT_EQ(said.code, 0) << said.errors;
  EXPECT_EQ(said.out, "2024-03-30T01:30:00Z\n2024-03-31T01:00:00Z\n2024-04-01T00:30:00Z\n");
  EXPECT_EQ(said.errors, "");
}

TEST(CronCommand, TheRuleForDaylightSavingTimeIsChosen) {
  const std::string words = "next '0 30 2 * * ?' --zone Europe/Berlin --from 2024-03-30T12:00:00Z --count 1 --dst ";
  EXPECT_EQ(cron(words + "vixie").out, "2024-03-31T01:00:00Z\n");
  EXPECT_EQ(cron(words + "quartz").out, "2024-04-01T00:30:00Z\n");
  EXPECT_EQ(cron(words + "spring").out, "2024-04-01T00:30:00Z\n");
  EXPECT_EQ(cron(words + "systemd").out, "2024-04-01T00:30:00Z\n");
  EXPECT_EQ(cron(words + "lunar").code, 2);
}

TEST(CronCommand, AStepWithoutEffectIsWarnedOf) {
  const Said next = cron("next '*/90 * * * *' --from 2024-03-30T00:00:00Z --count 2");
  EXPECT_EQ(next.code, 0);
  EXPECT_EQ(next.out, "2024-03-30T01:00:00Z\n2024-03-30T02:00:00Z\n");
  EXPECT_EQ(next.errors, "rondo: warning: the step 90 of the minute reaches no second value, so '*/90' is only 0\n");
  EXPECT_EQ(cron("explain '*/90 * * * *'").errors, next.errors);
}

TEST(CronCommand, AnExpressionOfKubernetesMayNameItsZone) {
  const std::string tail = " --zone Asia/Tokyo --dst spring --from 2024-03-30T12:00:00Z --count 1";
  EXPECT_EQ(cron("next 'CRON_TZ=Europe/Berlin 30 2 ? * *'" + tail).out, "2024-04-01T00:30:00Z\n");
  EXPECT_EQ(cron("next '@every 1h30m'" + tail).out, "2024-03-30T13:30:00Z\n");
}

TEST(CronCommand, TenInstantsFromNowAreTheDefault) {
  const Said said = cron("next '* * * * *'");
  EXPECT_EQ(said.code, 0) << said.errors;
  EXPECT_EQ(std::count(said.out.begin(), said.out.end(), '\n'), 10);
}

TEST(CronCommand, NeverIsSaidWhenNoInstantIsLeft) {
  EXPECT_EQ(cron("next '0 0 0 1 1 ? 2030' --from 2029-01-01T00:00:00Z").out, "2030-01-01T00:00:00Z\nNEVER\n");
  const Said never = cron("next '0 0 30 2 *'");
  EXPECT_EQ(never.code, 0) << never.errors;
  EXPECT_EQ(never.out, "NEVER\n");
}

TEST(CronCommand, AWrongExpressionZoneOrInstantIsWrongUsageWithItsPlaceAndReason) {
  const Said expression = cron("next '0 24 * * *'");
  EXPECT_EQ(expression.code, 2);
  EXPECT_EQ(expression.out, "");
  EXPECT_THAT(expression.errors, HasSubstr("column 3: the hour 24 is above 23"));
  const Said zone = cron("next '0 2 * * *' --zone Europe/Nowhere");
  EXPECT_EQ(zone.code, 2);
  EXPECT_THAT(zone.errors, HasSubstr("no time zone 'Europe/Nowhere'"));
  EXPECT_EQ(cron("next 'Mon 10:00 Europe/Nowhere'").code, 2);
  EXPECT_EQ(cron("next '0 2 * * *' --zone ../passwd").code, 2);
  const Said from = cron("next '0 2 * * *' --from 2026-02-29T00:00:00Z");
  EXPECT_EQ(from.code, 2);
  EXPECT_THAT(from.errors, HasSubstr("column 9"));
  EXPECT_EQ(cron("next ''").code, 2);
  EXPECT_EQ(cron("next '0 2 * * *' --count 0").code, 2);
  EXPECT_EQ(cron("next '0 2 * * *' --dialect nobody").code, 2);
  EXPECT_EQ(cron("explain '0 0 30 2 *'").code, 2);
}

TEST(CronCommand, TheDialectIsDetectedOrChosen) {
  const std::string tail = " --from 2024-01-01T00:00:00Z --count 1";
  // Friday is 5 in unix6 and 6 in quartz.
  EXPECT_EQ(cron("next '0 0 0 ? * 6'" + tail).out, "2024-01-05T00:00:00Z\n");
  EXPECT_EQ(cron("next '0 0 0 * * 5' --dialect unix6" + tail).out, "2024-01-05T00:00:00Z\n");
  EXPECT_EQ(cron("next 'Fri *-*-*'" + tail).out, "2024-01-05T00:00:00Z\n");
  EXPECT_THAT(cron("next '0 0 0 13 * FRI'" + tail).errors, HasSubstr("choose the dialect"));
}

TEST(CronCommand, AnExpressionsOwnZoneComesFirst) {
  EXPECT_EQ(cron("next '10:00 Asia/Tokyo' --zone Europe/Berlin --from 2024-01-01T00:00:00Z --count 1").out, "2024-01-01T01:00:00Z\n");
}

TEST(CronCommand, ExplainSaysItInWords) {
  EXPECT_EQ(cron("explain '30 2 * * 1-5'").out, "at 02:30, on Monday to Friday\n");
  EXPECT_EQ(cron("explain '0 0 0 13 * FRI' --dialect spring").out, "at 00:00, on day 13 of the month if it is Friday\n");
}

TEST(CronCommand, JsonHasTheInstantsAndWhatWasAssumed) {
  const json::object next = json::parse(cron("next --json '0 0 0 1 1 ? 2030' --from 2029-01-01T00:00:00+01:00").out).as_object();
  EXPECT_EQ(next.at("dialect"), "quartz");
  EXPECT_EQ(next.at("zone"), "UTC");
  EXPECT_EQ(next.at("dst"), "vixie");
  EXPECT_EQ(next.at("from"), "2028-12-31T23:00:00Z");
  EXPECT_EQ(next.at("instants"), json::value({"2030-01-01T00:00:00Z"}));
  EXPECT_EQ(next.at("ended"), true);
  EXPECT_EQ(json::parse(cron("explain --json '@daily'").out).as_object().at("words"), "at 00:00, every day");
  const json::object error = json::parse(cron("next --json '0 24 * * *'").errors).as_object().at("error").as_object();
  EXPECT_EQ(error.at("code"), "invalid-argument");
}

/// Runs each command of docs/guide/schedules.md and compares the lines below it.
TEST(CronCommand, PrintsWhatTheGuideShows) {
  std::ifstream guide("docs/guide/schedules.md");
  std::string command;
  std::string expected;
  int commands = 0;
  for (std::string line; std::getline(guide, line);) {
    constexpr std::string_view kPrompt = "$ rondo cron ";
    const bool begins = line.starts_with(kPrompt);
    if (!command.empty() && (begins || line == "```")) {
      const Said said = cron(command);
      EXPECT_EQ(said.out + said.errors, expected) << command;
      command.clear();
      ++commands;
    }
    if (begins) {
      command = line.substr(kPrompt.size());
      expected.clear();
    } else if (!command.empty()) {
      expected += line + "\n";
    }
  }
  EXPECT_GE(commands, 10);
}

}  // namespace
}  // namespace rondo::cli
