// Outages of the network between a worker and this program: a worker that comes back is not kept out by its own half-open connection, and
// what it did meanwhile counts.
#include "admin/reply_state.h"
#include "jobs/jobs_view.h"
#include "jobs/workers/testing/workers_testbed.h"
#include "rondo/calendar/rfc3339.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

/// A connected worker is replaced immediately.
class StaleWorkers : public WorkersTest {
 protected:
  StaleWorkers() {
    close();
    options.stale = Duration{0};
    open();
  }
};

TEST_F(StaleWorkers, AWorkerTakesOverFromItsHalfOpenConnectionWithItsRuns) {
  PlayedWorker& ghost = worker("host1", kBackup);
  put(many());
  const std::int64_t goes_on = trigger("many");
  const std::int64_t ended = trigger("many");
  ASSERT_TRUE(becomes([&] { return ghost.starts.size() == 2; }));
  report(ghost, {event("started", goes_on)});
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(goes_on, "0 backup"), claim(ended, "0 backup ended")});
  ASSERT_FALSE(again.over) << again.over->to_string();
  ASSERT_TRUE(becomes([&] { return ghost.over.has_value(); }));
  EXPECT_THAT(ghost.over->to_string(), AllOf(HasSubstr("no report for 0 s"), HasSubstr("the worker 'host1' has connected again")));
  EXPECT_THAT(call(*ghost.reports, "worker-report", {{"session", ghost.session}, {"events", json::array{}}}).error().to_string(),
              HasSubstr("no worker with this session"));
  // The connection of the ghost ends, which concerns the newcomer in no way.
  const std::size_t connections = server->stats().connections;
  ghost.orders.reset();
  ASSERT_TRUE(becomes([&] { return server->stats().connections == connections - 1; }));
  const std::int64_t next = trigger("many");
  ASSERT_TRUE(becomes([&] { return again.starts.size() == 1; }));
  EXPECT_EQ(again.starts[0].at("run").as_int64(), next);
  EXPECT_THAT(again.stops, IsEmpty());
  const json::array ok{field("code", "ok")};
  EXPECT_EQ(report(again, {event("end", ended, ok), event("end", goes_on, ok), event("end", next, ok)}), 0);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("many"), ElementsAre("succeeded", "succeeded", "succeeded"));
}

/// A caller with a token, as over HTTP.
class TokenCaller : public ReplyPort {
 public:
  explicit TokenCaller(const std::string& token)
      : state_(std::make_shared<Reply::State>(*this, 1, Caller{.user = kTokenUsers + 1, .token = token})) {}
  ~TokenCaller() override { state_->lose_caller(); }
  TokenCaller(const TokenCaller&) = delete;
  TokenCaller& operator=(const TokenCaller&) = delete;
  void connect(const CommandRegistry& registry, const std::string& worker) {
    registry.dispatch({{"id", 1}, {"command", "worker-orders"}, {"worker", worker}, {"places", 1}, {"offers", kBackup}}, Reply{state_});
  }
  const std::string& sent() const { return sent_; }

  void send(std::string_view frame) override { sent_ += frame; }
  void note_full_page() override {}
  void continue_later(Reply, Reply::Continuation) override {}
  void ended(bool) override {}
  bool turn_is_over() const override { return false; }

 private:
  std::shared_ptr<Reply::State> state_;
  std::string sent_;
};

TEST_F(StaleWorkers, OnlyTheSameTokenTakesOver) {
  TokenCaller first("backups");
  TokenCaller again("backups");
  TokenCaller other("others");
  first.connect(*registry, "host1");
  EXPECT_THAT(first.sent(), HasSubstr("welcome"));
  other.connect(*registry, "host1");
  EXPECT_THAT(other.sent(), HasSubstr("a worker with the name 'host1' is connected with another token or user"));
  EXPECT_THAT(worker("host1", kBackup).over.value_or(Status{}).to_string(), HasSubstr("with another token or user")) << "it has no token";
  again.connect(*registry, "host1");
  EXPECT_THAT(again.sent(), HasSubstr("welcome"));
  EXPECT_THAT(first.sent(), HasSubstr("has connected again"));
}

/// A worker with little time to begin a run.
class Outages : public WorkersTest {
 protected:
  Outages() {
    close();
    options = {.silent = 1s, .away = kAway, .stale = Duration{0}};
    open();
  }
  Instant now() const { return runtime->clock().now(); }
  static constexpr Duration kAway = 3s;
};

/// The verdict was: "reports, and has not begun the run".
TEST_F(Outages, ARunThatBeganAndEndedInAnOutageSucceeds) {
  PlayedWorker& ghost = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return ghost.starts.size() == 1; }));
  const Instant sent = now();
  ASSERT_TRUE(becomes([&] { return now() - sent >= kAway; }));
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup ended")});
  run_a_while(1100ms);  // The watch of the workers runs once a second.
  EXPECT_EQ(report(again, {event("end", run, {field("code", "ok")})}), 0);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded"));
}

TEST_F(Outages, ATimeWithoutReportsIsNoTimeInWhichARunWasNotBegun) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  const Instant sent = now();
  ASSERT_TRUE(becomes([&] { return now() - sent >= kAway / 2; }));
  const Instant back = now();
  while (jobs->stats().pending > 0 && now() - back < kPatience) {
    report(host, {});
    run_a_while(20ms);
  }
  EXPECT_GE(now() - back, kAway);
  EXPECT_THAT(runs("nightly"), ElementsAre("failed unavailable: the worker 'host1' reports, and has not begun the run for 3 s"));
}

/// `rondo health` named each run of more than a minute, and `rondo why` the ticket of its row.
TEST_F(WorkersTest, ARunThatTakesLongIsNoChangeWithoutAnAnswer) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  report(host, {event("started", run)});
  const auto figures = runtime->consumers();
  const auto queue = std::ranges::find(figures, "JOB_RUN_8", &ConsumerStats::table);
  ASSERT_NE(queue, figures.end());
  EXPECT_EQ(queue->in_flight, 1U);
  EXPECT_EQ(queue->unanswered_for, Duration{0});
  EXPECT_THAT(runtime->why("JOB_RUN_8", "nightly#" + std::to_string(run)).chain.at(0).note,
              AllOf(testing::StartsWith("runs since 20"), Not(HasSubstr("Outcome::staged"))));
}

/// A scheduler that had waited for longer than 'settle' gave the runs to the first worker, while another one had them.
TEST_F(WorkersTest, AStandbyTakesNoWorkerAndWaitsForThemFromTheTakeoverOn) {
  close();
  options.settle = 1h;
  open();
  PlayedWorker& first = worker("host1", kBackup);
  put(many());
  const std::int64_t run = trigger("many");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  played.clear();
  close();
  auto owner = make_sqlite_job_store(path()).value();
  ASSERT_TRUE(owner->claim().ok());
  open();
  const std::string at_least = calendar::format_rfc3339(runtime->clock().wall_now() + options.settle + 2s);
  PlayedWorker& early = worker("host1", kBackup, 10, {claim(run, "0 backup")});  // Perhaps before the first claim of the jobs.
  ASSERT_TRUE(becomes([&] { return early.over.has_value(); }));
  PlayedWorker& refused = worker("host2", kBackup);
  ASSERT_TRUE(refused.over.has_value());
  EXPECT_EQ(refused.over->to_string(), "failed-precondition: another scheduler runs the jobs at present");
  run_a_while(3s);  // Each second the scheduler counts from then on.
  owner.reset();
  ASSERT_TRUE(becomes([this] { return jobs->stats().recovered == 1; }));
  PlayedWorker& other = worker("host2", kBackup);
  const std::string wait = "waits until worker 'host1' reports whether it has run " + std::to_string(run) + ", at most until ";
  ASSERT_TRUE(says(run, StartsWith(wait)));
  EXPECT_GE(JobsView(*jobs).activity(run)->text.substr(wait.size()), at_least);
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup")});
  report(again, {event("end", run, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("many"), ElementsAre("succeeded"));
  EXPECT_THAT(other.starts, IsEmpty());
}

}  // namespace
}  // namespace rondo::jobs
