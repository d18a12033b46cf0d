// The runs that a worker names when it connects: in pieces if they are many, and one that cannot be taken keeps neither the worker nor its
// other runs away.
#include "jobs/workers/testing/workers_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class ClaimsOfWorkers : public WorkersTest {
 protected:
  /// Runs that host1 has confirmed before its connection ends.
  std::vector<std::int64_t> left_runs(std::size_t count) {
    PlayedWorker& host = worker("host1", {field("backup", "64")}, 64);
    put(many());
    std::vector<std::int64_t> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(trigger("many"));
      EXPECT_TRUE(becomes([&] { return host.starts.size() == i + 1; }));
      report(host, {event("started", made.back())});
    }
    host.orders.reset();
    EXPECT_TRUE(becomes([this] { return server->stats().connections == 1; }));
    return made;
  }
  Result<json::object> name(PlayedWorker& host, json::array runs, bool more) {
    return call(*host.reports, "worker-report",
                {{"session", host.session}, {"events", json::array{}}, {"runs", std::move(runs)}, {"more", more}});
  }
};

TEST_F(ClaimsOfWorkers, RunsAreNamedInPiecesAndNoneIsLostMeanwhile) {
  const std::vector<std::int64_t> left = left_runs(3);
  PlayedWorker& host = worker("host1", {field("backup", "64")}, 64, {claim(left[0], "0 backup ended")}, true);
  const std::int64_t next = trigger("many");
  runtime->scheduler().run_for(30ms);
  EXPECT_THAT(host.starts, IsEmpty()) << "it has not named all its runs";
  report(host, {event("end", left[0], {field("code", "ok")})});
  EXPECT_EQ(workers->stats().lost, 0U);
  ASSERT_TRUE(name(host, {claim(left[1], "0 backup ended")}, true).has_value());
  report(host, {event("end", left[1], {field("code", "ok")})});
  ASSERT_TRUE(name(host, {}, false).has_value());
  EXPECT_EQ(workers->stats().lost, 1U);
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  EXPECT_EQ(host.starts[0].at("run").as_int64(), next);
  report(host, {event("end", next, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("many"), testing::ElementsAre("succeeded", "succeeded", HasSubstr("has lost the run"), "succeeded"));
}

TEST_F(ClaimsOfWorkers, ARunThatCannotBeTakenBlocksNoOther) {
  const std::vector<std::int64_t> left = left_runs(1);
  json::array runs{claim(left[0], "0 backup ended"), claim(-3, "0 backup")};
  const std::vector<const char*> malformed{"", "0", "x backup", "0 back up", "-1 backup", "0  ended"};
  for (std::size_t i = 0; i < malformed.size(); ++i) runs.push_back(claim(static_cast<std::int64_t>(1000 + i), malformed[i]));
  PlayedWorker& host = worker("host1", kBackup, 10, runs);
  ASSERT_FALSE(host.over.has_value()) << host.over->to_string();
  ASSERT_TRUE(becomes([&] { return host.refused.size() == malformed.size(); }));
  EXPECT_EQ(host.refused[3].at("run").as_int64(), 1003);
  EXPECT_THAT(host.refused[3].at("why").as_string().c_str(), AllOf(HasSubstr("has an attempt and a command"), HasSubstr("'0 back up'")));
  EXPECT_EQ(workers->stats().refused, malformed.size() + 1);
  report(host, {event("end", left[0], {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(this->runs("many"), AllOf(SizeIs(1), Each("succeeded")));
}

TEST_F(ClaimsOfWorkers, AWorkerThatNamesRunsWithoutEndIsRefused) {
  close_store();  // So each claim is believed until the runs of the earlier process are read.
  close();
  faults.is_closed = true;
  open();
  PlayedWorker& host = worker("host1", kBackup, 10, {}, true);
  std::string refused;
  for (std::int64_t piece = 0; piece < 3 && refused.empty(); ++piece) {
    json::array runs;
    for (std::int64_t i = 1; i <= static_cast<std::int64_t>(limits::kWorkerRuns); ++i)
      runs.push_back(claim(1000 * (piece + 1) + i, "0 backup ended"));
    const auto named = name(host, std::move(runs), true);
    if (!named) refused = named.error().to_string();
  }
  EXPECT_THAT(refused, HasSubstr("reports no ends"));
}

/// The run failed as lost, and the worker heard nothing: its command went on.
TEST_F(ClaimsOfWorkers, AClaimOfAnotherAttemptOrCommandIsStoppedWithTheReason) {
  for (const auto& [text, why] : {std::pair{"5 backup", "another attempt of the run"}, {"0 other", "another command"}}) {
    const std::vector<std::int64_t> left = left_runs(1);
    PlayedWorker& host = worker("host1", {field("backup", "64")}, 64, {claim(left[0], text)});
    ASSERT_TRUE(becomes([&] { return host.stops.size() == 1; })) << text;
    EXPECT_EQ(host.stops[0].at("run").as_int64(), left[0]);
    EXPECT_THAT(host.stops[0].at("why").as_string().c_str(), HasSubstr(why));
    ASSERT_TRUE(all_ended());
    played.clear();
    ASSERT_TRUE(becomes([this] { return server->stats().connections == 0; }));
  }
  EXPECT_THAT(runs("many"), AllOf(SizeIs(2), Each(HasSubstr("has lost the run"))));
}

}  // namespace
}  // namespace rondo::jobs
