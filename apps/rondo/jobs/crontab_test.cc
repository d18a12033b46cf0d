// Goal: each line of a crontab becomes one job, or a reason with its line. Method: small crontabs, and what crontab(5) says about them.
#include "jobs/crontab.h"

#include <gtest/gtest.h>
#include <stdio.h>

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

/// What a shell prints that runs the command of the line.
std::string output_of(const std::string& line) {
  const Crontab read = read_crontab(line, kForm);
  if (read.definitions.size() != 1) return "no job";
  const std::string command = member(read.definitions[0], "parameters");
  std::string quoted;
  for (const char c : command) quoted += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  FILE* const shell = ::popen(("sh -c '" + quoted + "'").c_str(), "r");
  std::string output;
  for (int c = 0; shell != nullptr && (c = std::fgetc(shell)) != EOF;) output += static_cast<char>(c);
  ::pclose(shell);
  return output;
}

TEST(Crontab, APercentSignBeginsTheInputUnlessABackslashIsBeforeIt) {
  EXPECT_EQ(member(read_crontab("* * * * * date +\\%s\n", kForm).definitions.at(0), "parameters"), "date +%s");
  EXPECT_EQ(output_of("* * * * * cat%one%two 100\\%%$HOME END\n"), "one\ntwo 100%\n$HOME END\n");
  EXPECT_EQ(output_of("* * * * * echo first; cat # comment%text\n"), "first\ntext\n");
  EXPECT_EQ(output_of("* * * * * cat%one%\n"), "one\n");
  EXPECT_EQ(output_of("* * * * * echo no input; cat%\n"), "no input\n");
  const Crontab read = read_crontab("* * * * * mail%a\n* * * * * mail%b\n", kForm);
  EXPECT_TRUE(member(read.definitions.at(0), "name").starts_with("tab/mail-"));
  EXPECT_NE(member(read.definitions[0], "name"), member(read.definitions.at(1), "name")) << "another input is another job";
}

TEST(Crontab, TheColumnOfUsersIsNoPartOfTheCommand) {
  CrontabForm form = kForm;
  form.has_users = true;
  const Crontab read = read_crontab(
      "SHELL=/bin/sh\n17 *\t* * *\troot    cd / && run-parts\n@daily www-data clean\n@daily root clean\n@daily root\n@daily ../x y\n",
      form);
  ASSERT_EQ(read.definitions.size(), 3U);
  EXPECT_EQ(member(read.definitions[0], "handler"), "command/shell-root");
  EXPECT_EQ(member(read.definitions[0], "schedule"), "cron 17 * * * *");
  EXPECT_EQ(member(read.definitions[0], "parameters"), "cd / && run-parts");
  EXPECT_EQ(member(read.definitions[1], "handler"), "command/shell-www-data");
  EXPECT_EQ(member(read.definitions[1], "parameters"), "clean");
  EXPECT_NE(member(read.definitions[1], "name"), member(read.definitions[2], "name")) << "another user's command is another job";
  ASSERT_EQ(read.refused.size(), 2U);
  EXPECT_TRUE(read.refused[0].starts_with("line 5: ")) << read.refused[0];
  EXPECT_TRUE(read.refused[1].starts_with("line 6: '../x' is no name of a user")) << read.refused[1];
}

TEST(Crontab, TheColumnOfUsersIsKnownByThePlaceOrAHeading) {
  EXPECT_TRUE(has_column_of_users("/etc/crontab", "@daily root x\n"));
  EXPECT_TRUE(has_column_of_users("/etc/cron.d/../cron.d/backup", "@daily root x\n"));
  EXPECT_TRUE(has_column_of_users("-", "# m h dom mon dow user\tcommand\n@daily root x\n"));
  EXPECT_TRUE(has_column_of_users("copy", "# |  |  |\n# *  *  *  *  * user-name command to be executed\n"));
  EXPECT_FALSE(has_column_of_users("-", "# m h  dom mon dow   command\n@daily root x\n"));
  EXPECT_FALSE(has_column_of_users("/etc/cron.daily/x", "@daily root x\n"));
  EXPECT_FALSE(has_column_of_users("/var/spool/cron/crontabs/root", "@daily root x\n"));
}

TEST(Crontab, WhatIsNoEntryIsRefusedWithItsLine) {
  const Crontab read = read_crontab("@reboot x\n1 2 3\n61 * * * * x\n* * * * *\n@daily\n@often x\n", kForm);
  EXPECT_TRUE(read.definitions.empty());
  ASSERT_EQ(read.refused.size(), 6U);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_TRUE(read.refused[i].starts_with("line " + std::to_string(i + 1) + ": ")) << read.refused[i];
}

}  // namespace
}  // namespace rondo::cli
