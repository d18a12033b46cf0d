// Goal: each line of a crontab becomes one job, or a reason with its line. Method: small crontabs, and what crontab(5) says about them.
#include "jobs/crontab.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace rondo::cli {
namespace {

const CrontabForm kForm{.handler = "command/shell", .prefix = "tab", .zone = ""};

std::string member(const boost::json::object& object, const char* name) {
  const auto* const value = object.if_contains(name);
  return value == nullptr ? "" : std::string{value->as_string()};
}

TEST(Crontab, ALineBecomesAJobWithItsCommentsAndTheZoneAboveIt) {
  const Crontab read =
      read_crontab("# first\n#\n# second\n30 2 * * 1-5\t backup  --all\n\n# of nothing\n\nCRON_TZ = \"Europe/Berlin\"\n@daily x", kForm);
  ASSERT_EQ(read.definitions.size(), 2U);
  EXPECT_TRUE(read.refused.empty());
  EXPECT_TRUE(member(read.definitions[0], "name").starts_with("tab/backup-")) << member(read.definitions[0], "name");
  EXPECT_EQ(member(read.definitions[0], "note"), "first second");
  EXPECT_EQ(member(read.definitions[0], "schedule"), "cron 30 2 * * 1-5");
  EXPECT_EQ(member(read.definitions[0], "parameters"), "backup  --all");
  EXPECT_EQ(member(read.definitions[0], "zone"), "");
  EXPECT_EQ(member(read.definitions[1], "note"), "") << "an empty line separates a comment from what follows";
  EXPECT_EQ(member(read.definitions[1], "zone"), "Europe/Berlin");
  EXPECT_EQ(member(read.definitions[1], "schedule"), "cron @daily");
}

TEST(Crontab, AHeaderAndCommentsOfSettingsAreNoNoteOfTheFirstJob) {
  const Crontab read = read_crontab(
      "# of the system\n#\n# m h  dom mon dow   command\n1 2 * * * a\n# where mail goes\nMAILTO=x\n# nightly\n1 2 * * * b\n", kForm);
  ASSERT_EQ(read.definitions.size(), 2U);
  EXPECT_EQ(member(read.definitions[0], "note"), "");
  EXPECT_EQ(member(read.definitions[1], "note"), "nightly");
}

std::vector<std::string> names(const Crontab& read) {
  std::vector<std::string> all;
  for (const auto& definition : read.definitions) all.push_back(member(definition, "name"));
  return all;
}

TEST(Crontab, ALineKeepsItsNameWhenOthersComeAndGo) {
  const std::vector<std::string> before = names(read_crontab("1 2 * * * /usr/bin/a -x\n@daily 'b c'\n", kForm));
  const std::vector<std::string> after =
      names(read_crontab("# new\n0 0 * * * c\n\n# other note\n1  2\t* * *  /usr/bin/a -x\nMAILTO=x\n@daily 'b c'\n", kForm));
  ASSERT_EQ(after.size(), 3U);
  EXPECT_EQ(before, (std::vector<std::string>{after[1], after[2]}));
  // Another schedule, command or argument is another job; the same line once more is, too.
  const std::vector<std::string> all = names(read_crontab("1 2 * * * a\n1 3 * * * a\n1 2 * * * a -x\n1 2 * * * a\n", kForm));
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), 4U);
  EXPECT_EQ(all[3], all[0] + "-2");
}

TEST(Crontab, ACommentNamesAJob) {
  const Crontab read = read_crontab("# of the disks\n# rondo-job: nightly\n1 2 * * * a\n1 2 * * * b\n", kForm);
  ASSERT_EQ(read.definitions.size(), 2U);
  EXPECT_EQ(member(read.definitions[0], "name"), "tab/nightly");
  EXPECT_EQ(member(read.definitions[0], "note"), "of the disks");
  EXPECT_TRUE(member(read.definitions[1], "name").starts_with("tab/b-"));
}

TEST(Crontab, LinesAboveCronTzHaveTheZoneOfTheForm) {
  CrontabForm form = kForm;
  form.zone = "Asia/Tokyo";
  const Crontab read = read_crontab("@daily a\nCRON_TZ=Europe/Berlin\n@daily b\nCRON_TZ=\n@daily c\n", form);
  ASSERT_EQ(read.definitions.size(), 3U);
  EXPECT_EQ(member(read.definitions[0], "zone"), "Asia/Tokyo");
  EXPECT_EQ(member(read.definitions[1], "zone"), "Europe/Berlin");
  EXPECT_EQ(member(read.definitions[2], "zone"), "Asia/Tokyo");
}

TEST(Crontab, VariablesWithoutAMeaningAreNamed) {
  const Crontab read = read_crontab("MAILTO=x\nSHELL=/bin/sh\n* * * * * a=b c\n", kForm);
  EXPECT_EQ(read.left_out, (std::vector<std::string>{"line 1: MAILTO", "line 2: SHELL"}));
  ASSERT_EQ(read.definitions.size(), 1U) << "a command may contain '='";
  EXPECT_EQ(member(read.definitions[0], "parameters"), "a=b c");
}

TEST(Crontab, APercentSignNeedsABackslash) {
  const Crontab read = read_crontab("* * * * * date +\\%s\n* * * * * mail%text\n", kForm);
  ASSERT_EQ(read.definitions.size(), 1U);
  EXPECT_EQ(member(read.definitions[0], "parameters"), "date +%s");
  ASSERT_EQ(read.refused.size(), 1U);
  EXPECT_TRUE(read.refused[0].starts_with("line 2: ")) << read.refused[0];
}

TEST(Crontab, WhatIsNoEntryIsRefusedWithItsLine) {
  const Crontab read = read_crontab("@reboot x\n1 2 3\n61 * * * * x\n* * * * *\n@daily\n@often x\n", kForm);
  EXPECT_TRUE(read.definitions.empty());
  ASSERT_EQ(read.refused.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(read.refused[i].starts_with("line " + std::to_string(i + 1) + ": ")) << read.refused[i];
}

}  // namespace
}  // namespace rondo::cli
