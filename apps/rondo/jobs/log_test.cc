// Goal: `rondo job log` shows each byte once, a line between attempts and what is missing, and ends. Method: a daemon in the hands of the
// test, which answers with pieces.
#include "jobs/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "admin/bulk_writer.h"
#include "commands/command_limits.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

json::object piece(std::string_view worker, std::int64_t from, std::string_view data, std::int64_t attempt = 1, bool has_ended = false) {
  return {{"run", 7},
          {"worker", worker},
          {"from", from},
          {"next", from + static_cast<std::int64_t>(data.size())},
          {"attempt", attempt},
          {"ended", has_ended},
          {"data", escape_text(data)}};
}

/// Gives the answers of the test, and notes what was asked.
class Answers final : public Backend {
 public:
  explicit Answers(std::vector<json::object> answers) : answers_(std::move(answers)) {}
  Result<json::object> call(const std::string& command, const json::object& arguments, const OnRow&) override {
    EXPECT_EQ(command, "job-log");
    const json::value* const worker = arguments.if_contains("worker");
    asked.push_back((worker == nullptr ? "" : std::string{worker->as_string()}) + "@" + json::serialize(arguments.at("from")));
    if (endless) return *endless;
    if (made) return made(arguments.at("from").to_number<std::int64_t>());
    if (answers_.empty()) return failure(StatusCode::NotFound, "no further answer");
    json::object first = std::move(answers_.front());
    answers_.erase(answers_.begin());
    return first;
  }
  Result<BulkTotals> write(const std::function<Status(BulkSink&)>&, const std::function<void(const BulkTotals&)>&) override {
    return failure(StatusCode::Unimplemented, "not here");
  }
  std::vector<std::string> asked;
  std::optional<json::object> endless;
  std::function<json::object(std::int64_t from)> made;

 private:
  std::vector<json::object> answers_;
};

struct Printed {
  int code = -1;
  std::string out;
  std::string err;
};

Printed log_of(Answers& answers, bool follow = true) {
  Printed printed;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  printed.code = print_log(Options{}, answers, 7, follow);
  printed.out = testing::internal::GetCapturedStdout();
  printed.err = testing::internal::GetCapturedStderr();
  return printed;
}

TEST(JobLog, ALineIsBetweenAttemptsAlsoOfDifferentWorkers) {
  Answers answers({piece("a", 0, "one\n"), piece("a", 4, "two", 2), piece("b", 0, ""), piece("b", 0, "three\n", 3), piece("a", 0, "", 1),
                   piece("a", 7, "four\n", 4), piece("a", 12, "", 4, true)});
  const Printed printed = log_of(answers);
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out, "one\n--- attempt 2, worker a ---\ntwo\n--- attempt 3, worker b ---\nthree\n--- attempt 4, worker a ---\nfour\n");
  EXPECT_THAT(answers.asked, ElementsAre("@0", "a@4", "a@7", "b@0", "b@6", "a@7", "a@12"));
  EXPECT_THAT(printed.err, IsEmpty());
}

TEST(JobLog, WhatIsMissingIsNamedWithItsAttempts) {
  Answers lost({piece("a", 100, "late\n", 3), piece("a", 105, "", 3, true)});
  const Printed printed = log_of(lost, false);
  EXPECT_EQ(printed.out, "--- attempt 3, worker a ---\nlate\n");
  EXPECT_THAT(printed.err, HasSubstr("(100 bytes of attempts 1 to 3 are not kept)"));
  Answers elsewhere({piece("b", 0, "late\n", 3), piece("b", 5, "", 3, true)});
  EXPECT_THAT(log_of(elsewhere, false).err, HasSubstr("(no output of attempts 1 to 2 at worker b)"));
  Answers only({piece("a", 100, "late\n"), piece("a", 105, "", 1, true)});
  EXPECT_THAT(log_of(only, false).err, HasSubstr("(100 bytes are not kept)"));
}

TEST(JobLog, WhatIsMissingAtTheEndIsNamed) {
  Answers lost({piece("a", 0, "early\n"), piece("a", 100, "", 1, true)});
  const Printed printed = log_of(lost, false);
  EXPECT_EQ(printed.out, "early\n");
  EXPECT_THAT(printed.err, HasSubstr("(94 bytes are not kept)"));
}

TEST(JobLog, WhatTheRunWaitsForIsPrintedOnceWhileItIsFollowed) {
  json::object waits = piece("", 0, "");
  waits["activity"] = "waits: no worker offers command x";
  Answers answers({waits, waits, waits, piece("a", 0, "one\n", 1, true)});
  const Printed printed = log_of(answers);
  EXPECT_EQ(printed.code, 0);
  EXPECT_EQ(printed.out, "one\n");
  EXPECT_EQ(printed.err, "(waits: no worker offers command x)\n");
}

/// They were repeated without end.
TEST(JobLog, PiecesThatLeadNowhereEndTheCommand) {
  const auto code_of = [](json::object answer, bool follow) {
    Answers answers({});
    answers.endless = std::move(answer);
    const Printed printed = log_of(answers, follow);
    EXPECT_THAT(printed.err, AllOf(HasSubstr("the log of the run 7 cannot be read on"), HasSubstr("worker a")));
    return std::pair{printed.code, answers.asked.size()};
  };
  json::object standing = piece("a", 0, "same\n");
  standing["next"] = 0;
  for (const bool follow : {false, true}) {
    EXPECT_EQ(code_of(standing, follow), (std::pair{1, std::size_t{1}}));
    EXPECT_EQ(code_of(piece("a", 0, "same\n"), follow), (std::pair{1, std::size_t{2}})) << "the answer goes back";
  }
  EXPECT_EQ(code_of(piece("a", 0, ""), true), (std::pair{1, limits::kEmptyAnswers}));
}

/// A command that printed faster than its log was read kept the reader for as long as it ran.
TEST(JobLog, WithoutFollowingALogEndsWhereItWasAtTheBegin) {
  Answers answers({});
  answers.made = [](std::int64_t from) {
    json::object more = piece("a", from, "more\n");
    more["size"] = from + 15;  // At byte 0 there are 15 bytes.
    return more;
  };
  const Printed printed = log_of(answers, false);
  EXPECT_EQ(printed.code, 0) << printed.err;
  EXPECT_EQ(printed.out, "more\nmore\nmore\n");
}

/// A worker of an earlier version does not say how long its log is, and one that lies says anything.
TEST(JobLog, WithoutFollowingALogHasALimit) {
  Answers answers({});
  answers.made = [](std::int64_t from) { return piece("a", from, "more\n"); };
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(print_log(Options{}, answers, 7, false, 12), 1);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "more\nmore\n");
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("it has more than 12 bytes"));
}

}  // namespace
}  // namespace rondo::cli
