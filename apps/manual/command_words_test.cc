// Usage errors of a program without commands: the message on standard error, and the exit code.
#include "manual/command_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

namespace rondo::manual {
namespace {

/// The exit code of a program with the options --config and --check, and its text on standard error.
std::pair<std::optional<int>, std::string> parse(std::vector<const char*> words) {
  CLI::App app{"A program", "program"};
  std::string config;
  bool check = false;
  app.add_option("--config,-c", config, "A file")->type_name("FILE");
  app.add_flag("--check", check, "Check it");
  words.insert(words.begin(), "/somewhere/else");
  testing::internal::CaptureStderr();
  const std::optional<int> code = parse_words(app, static_cast<int>(words.size()), words.data());
  return {code, testing::internal::GetCapturedStderr()};
}

constexpr const char* kUsage = "\nRun 'program --help' for usage.\n";

TEST(CommandWords, WhatIsRightGoesOn) { EXPECT_EQ(parse({"-c", "file", "--check"}).first, std::nullopt); }

TEST(CommandWords, AnUnknownOptionIsNamedWithTheNearestOne) {
  const std::vector<std::pair<const char*, std::string>> table{{"--confg", "unknown option '--confg'; did you mean '--config'?"},
                                                               {"--confg=f", "unknown option '--confg'; did you mean '--config'?"},
                                                               {"--elsewhere", "unknown option '--elsewhere'"},
                                                               {"-x", "unknown option '-x'"},
                                                               {"word", "unexpected word 'word'"}};
  for (const auto& [word, said] : table) {
    const auto [code, errors] = parse({word});
    EXPECT_EQ(code, kWrongUsage);
    EXPECT_EQ(errors, "program: " + said + kUsage);
  }
  EXPECT_THAT(parse({"--config"}).second, testing::StartsWith("program: --config: 1 required FILE missing"));
}

}  // namespace
}  // namespace rondo::manual
