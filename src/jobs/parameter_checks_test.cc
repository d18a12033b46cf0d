// Jobs::put_checked(): what the handlers' checks refuse is not stored, and what they cannot check is stored with the reason. In simulated
// time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jobs/testing/simulated_jobs.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ParameterChecksTest : public ::testing::Test {
 protected:
  using Checked = std::function<void(const Status& checked)>;

  void add_handlers(Jobs& jobs) {
    const auto run = [](const JobContext&) { return Status{}; };
    jobs.handle("plain", run);
    jobs.handle_in_turn("strict", run, [](const Job& job, const Checked& done) {
      done(job.parameters == "bad" ? Status{StatusCode::InvalidArgument, "the word 'bad'"} : Status{});
    });
    jobs.handle("throws", run, [](const Job&, const Checked&) { throw std::runtime_error("boom"); });
    jobs.handle("away", run, [](const Job&, const Checked& done) { done({StatusCode::Unavailable, "the server is away"}); });
    jobs.handle_async("later", {.begin = [](const AsyncRun& attempt) { attempt.end({}); },
                                .check = [this](const Job& job, Checked done) { asked.emplace_back(job.parameters, std::move(done)); }});
    jobs.wait_for_handlers("command/", [](std::string_view) { return "no worker offers it"; });
  }
  static JobEdit edit(std::string name, std::string handler, std::string parameters = {}) {
    return {.job = {.name = std::move(name), .handler = std::move(handler), .parameters = std::move(parameters)}};
  }
  void put(std::vector<JobEdit> edits, bool is_dry = false) {
    got.reset();
    program.jobs().put_checked(std::move(edits), is_dry, [this](Result<std::vector<StoredJob>> result) {
      EXPECT_FALSE(got.has_value()) << "one answer";
      got = std::move(result);
    });
  }
  const std::vector<StoredJob>& stored() {
    for (int i = 0; i < 1000 && !got; ++i) program.world.run_for(1ms);
    static const std::vector<StoredJob> kNone;
    EXPECT_TRUE(got && got->has_value()) << (got ? got->error().to_string() : "no answer");
    return got && got->has_value() ? **got : kNone;
  }
  std::vector<std::string> unchecked() {
    std::vector<std::string> why;
    for (const StoredJob& job : stored()) why.push_back(job.unchecked);
    return why;
  }
  bool is_stored(std::string_view name) { return program.store().find(name).has_value(); }

  std::vector<std::pair<std::string, Checked>> asked;  // Of "later": parameters.
  std::optional<Result<std::vector<StoredJob>>> got;
  test::SimulatedJobs program{1, {}, [this](Jobs& jobs) { add_handlers(jobs); }};
};

TEST_F(ParameterChecksTest, OfAllJobsNoneIsStoredIfAHandlerRefusesTheParametersOfOne) {
  put({edit("first", "strict", "good"), edit("second", "strict", "bad"), edit("third", "later")});
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->error().to_string(), "invalid-argument: job 'second': the word 'bad'");
  program.world.run_for(1s);
  EXPECT_FALSE(is_stored("first"));
  EXPECT_THAT(asked, IsEmpty()) << "the first wrong job decides";
  put({edit("second", "strict", "bad")}, true);
  EXPECT_FALSE(got->has_value()) << "a dry run checks, too";
}

TEST_F(ParameterChecksTest, WhatCannotBeCheckedIsStoredWithTheReason) {
  put({edit("a", "strict", "good"), edit("b", "away"), edit("c", "throws"), edit("d", "command/x"), edit("e", "absent"),
       edit("f", "plain")});
  EXPECT_THAT(unchecked(), ElementsAre("", "the server is away", HasSubstr("boom"), "no worker offers it", "", ""));
  EXPECT_THAT(stored(), SizeIs(6));
  EXPECT_TRUE(is_stored("f"));
}

TEST_F(ParameterChecksTest, JobsAreCheckedOneAfterTheOtherAndTheFirstAnswerCounts) {
  put({edit("a", "later", "1"), edit("b", "strict"), edit("c", "later", "2")});
  program.world.run_for(1s);
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_FALSE(is_stored("a"));
  const Checked first = asked[0].second;
  first({});
  first({StatusCode::InvalidArgument, "too late"});
  ASSERT_THAT(asked, SizeIs(2));
  EXPECT_EQ(asked[1].first, "2");
  asked[1].second({StatusCode::Unavailable, "away"});
  asked[1].second({});
  EXPECT_THAT(unchecked(), ElementsAre("", "", "away"));
  first({StatusCode::InvalidArgument, "far too late"});
  put({edit("c", "later", "3")});
  asked[2].second({StatusCode::InvalidArgument, "no such number"});
  EXPECT_EQ(got->error().to_string(), "invalid-argument: job 'c': no such number");
  asked[2].second({});
  EXPECT_EQ(program.store().find("c")->job.parameters, "2");
}

TEST_F(ParameterChecksTest, NoCheckBeginsAfterTheTimeOfTheCall) {
  put({edit("a", "later"), edit("b", "later"), edit("c", "plain")});
  ASSERT_THAT(asked, SizeIs(1));
  program.world.run_for(limits::kParameterChecks);
  asked[0].second({});
  EXPECT_THAT(unchecked(), ElementsAre("", "the checks of the jobs before it took 2 s", ""));
  EXPECT_THAT(asked, SizeIs(1));
}

TEST_F(ParameterChecksTest, ParametersBeyondTheLimitReachNoHandler) {
  put({edit("a", "later", std::string(limits::kJobParameters + 1, 'x'))});
  EXPECT_THAT(asked, IsEmpty());
  for (int i = 0; i < 1000 && !got; ++i) program.world.run_for(1ms);
  ASSERT_TRUE(got.has_value());
  EXPECT_THAT(got->error().to_string(), HasSubstr("parameters"));
}

TEST_F(ParameterChecksTest, AnAnswerAfterTheEndOfJobsDoesNothing) {
  put({edit("a", "later")});
  ASSERT_THAT(asked, SizeIs(1));
  program.world.crash();
  program.world.run_for(1s);
  asked[0].second({});
  asked.clear();
  EXPECT_FALSE(got.has_value());
  EXPECT_FALSE(is_stored("a"));
}

}  // namespace
}  // namespace rondo::jobs
