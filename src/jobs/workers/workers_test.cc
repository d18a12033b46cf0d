// Workers against a worker that the test plays over a real admin socket: what it is given, what it may say, and what becomes of its runs
// when it goes, lies or is silent.
#include "jobs/jobs_view.h"
#include "jobs/remote_runs.h"
#include "jobs/workers/testing/workers_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

TEST_F(WorkersTest, ARunGoesToTheWorkerThatOffersItsCommandAndComesBackWithItsEnd) {
  put({.name = "nightly", .handler = "command/backup", .parameters = "a \"quoted\"\ntext \x01", .timeout = 1500ms});
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([this] { return runtime->awaited_facts() == 1; }));
  EXPECT_EQ(runtime->why("JOB_RUN_8", "nightly#" + std::to_string(run)).chain[0].note, "no worker offers command backup");
  PlayedWorker& host = worker("host1", kBackup);
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  EXPECT_EQ(host.starts[0].at("run").as_int64(), run);
  EXPECT_EQ(host.starts[0].at("command"), "backup");
  EXPECT_EQ(host.starts[0].at("job"), "nightly");
  EXPECT_EQ(host.starts[0].at("parameters"), "a \"quoted\"\\x0atext \\x01");
  EXPECT_EQ(host.starts[0].at("timeout_ms").to_number<int>(), 1500);
  EXPECT_EQ(report(host, {event("started", run), event("progress", run, {field("percent", "40"), field("text", "disk 2")})}), 0);
  EXPECT_EQ(JobsView(*jobs).progress(run), (Progress{40, "disk 2"}));
  EXPECT_EQ(report(host, {event("end", run, {field("code", "ok"), field("note", "12 files")})}), 0);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded 12 files"));
}

TEST_F(WorkersTest, AFailureIsRetriedByTheRulesOfTheJob) {
  PlayedWorker& host = worker("host1", kBackup);
  put({.name = "nightly", .handler = "command/backup", .retries = 1, .backoff = 1ms});
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  report(host, {event("end", run, {field("code", "internal"), field("message", "exit code 3")})});
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 2; }));
  EXPECT_EQ(host.starts[1].at("attempt").to_number<int>(), 1);
  report(host, {event("end", run, {field("code", "deadline-exceeded"), field("message", "its timeout")}, 1)});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("timed-out deadline-exceeded: its timeout"));
}

TEST_F(WorkersTest, AKillIsAnOrderAndTheEndOfTheWorkerCounts) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  ASSERT_TRUE(jobs->kill(run).ok());
  ASSERT_TRUE(becomes([&] { return host.stops.size() == 1; }));
  EXPECT_EQ(host.stops[0].at("run").as_int64(), run);
  report(host, {event("end", run, {field("code", "cancelled"), field("message", "signal 15")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre(HasSubstr("killed")));
}

/// It was never linked: its end was refused, and a kill said that its handler was not running.
TEST_F(WorkersTest, AfterARestartARunIsLinkedAtAWorkerThatOffersItsCommandNoMore) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  played.clear();
  close();
  open();
  PlayedWorker& again = worker("host1", {field("clean", "1")}, 10, {claim(run, "0 backup")});
  report(again, {event("started", run)});
  EXPECT_TRUE(says(run, HasSubstr("runs since")));
  const std::int64_t next = trigger("nightly");
  report(again, {event("end", run, {field("code", "ok")})});
  ASSERT_TRUE(says(next, HasSubstr("no worker offers command backup")));
  EXPECT_TRUE(becomes([this] { return JobsView(*jobs).awaited_handlers().size() == 1; })) << "the handler has gone";
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded", "due"));
}

TEST_F(WorkersTest, RunsBeyondThePlacesWaitAndAreSharedOut) {
  PlayedWorker& small = worker("small", {field("backup", "1")});
  PlayedWorker& large = worker("large", {field("backup", "9")}, 3);
  put(many());
  for (int i = 0; i < 6; ++i) trigger("many");
  ASSERT_TRUE(becomes([&] { return small.starts.size() + large.starts.size() == 4; }));
  runtime->scheduler().run_for(30ms);
  EXPECT_EQ(small.starts.size(), 1U);
  EXPECT_EQ(large.starts.size(), 3U);
  report(large, {event("end", large.starts[0].at("run").as_int64(), {field("code", "ok")})});
  ASSERT_TRUE(becomes([&] { return large.starts.size() == 4; }));
}

TEST_F(WorkersTest, AWorkerThatConfirmsNothingGetsAFewRunsOnly) {
  PlayedWorker& host = worker("host1", {field("backup", "64")}, 64);
  put(many());
  for (std::size_t i = 0; i < limits::kWorkerUnconfirmed + 5; ++i) trigger("many");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == limits::kWorkerUnconfirmed; }));
  runtime->scheduler().run_for(30ms);
  EXPECT_EQ(host.starts.size(), limits::kWorkerUnconfirmed);
  report(host, {event("started", host.starts[0].at("run").as_int64())});
  ASSERT_TRUE(becomes([&] { return host.starts.size() == limits::kWorkerUnconfirmed + 1; }));
}

TEST_F(WorkersTest, AWorkerThatComesBackKeepsItsRunAndReportsAnEndOfMeanwhile) {
  PlayedWorker& first = worker("host1", kBackup);
  put(many());
  const std::int64_t goes_on = trigger("many");
  const std::int64_t ended = trigger("many");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 2; }));
  report(first, {event("started", goes_on), event("started", ended)});
  first.orders.reset();
  ASSERT_TRUE(becomes([this] { return jobs->stats().running == 2 && server->stats().connections == 1; }));
  trigger("many");  // Waits: no worker is connected.
  ASSERT_TRUE(becomes([this] { return runtime->awaited_facts() == 1; }));
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(goes_on, "0 backup"), claim(ended, "0 backup ended")});
  ASSERT_TRUE(becomes([&] { return again.starts.size() == 1; }));
  EXPECT_THAT(again.stops, IsEmpty());
  EXPECT_EQ(report(again, {event("end", ended, {field("code", "ok")}), event("end", goes_on, {field("code", "ok")}),
                           event("end", again.starts[0].at("run").as_int64(), {field("code", "ok")})}),
            0);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("many"), ElementsAre("succeeded", "succeeded", "succeeded"));
}

TEST_F(WorkersTest, AStartThatNeverArrivedIsSentAgainAndARunThatTheWorkerLostFails) {
  PlayedWorker& first = worker("host1", kBackup);
  put(many());
  const std::int64_t lost = trigger("many");
  const std::int64_t unconfirmed = trigger("many");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 2; }));
  report(first, {event("started", lost)});
  first.orders.reset();
  ASSERT_TRUE(becomes([this] { return server->stats().connections == 1; }));
  PlayedWorker& again = worker("host1", kBackup);
  ASSERT_TRUE(becomes([&] { return again.starts.size() == 1; }));
  EXPECT_EQ(again.starts[0].at("run").as_int64(), unconfirmed);
  report(again, {event("end", unconfirmed, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("many"), ElementsAre("failed unavailable: the worker 'host1' has lost the run", "succeeded"));
}

/// Workers that do not come back are waited for beyond the patience of the test.
class PatientWorkers : public WorkersTest {
 protected:
  PatientWorkers() {
    close();
    options.settle = 1h;
    open();
  }
};

/// The worker that connects first got the runs of the other one, which were then stopped, or carried out twice.
TEST_F(PatientWorkers, AfterARestartARunWaitsForTheWorkerThatHasIt) {
  PlayedWorker& first = worker("host1", kBackup);
  put(many());
  const std::int64_t run = trigger("many");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  played.clear();
  close();
  open();
  PlayedWorker& other = worker("host2", kBackup);
  const std::int64_t later = trigger("many");
  ASSERT_TRUE(becomes([this] { return jobs->stats().recovered == 1 && jobs->stats().pending == 2; }));
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup")});
  ASSERT_TRUE(becomes([&] { return other.starts.size() + again.starts.size() == 1; }));
  PlayedWorker& has_later = other.starts.empty() ? again : other;
  EXPECT_EQ(has_later.starts[0].at("run").as_int64(), later);
  EXPECT_THAT(again.stops, IsEmpty());
  report(again, {event("end", run, {field("code", "ok")})});
  report(has_later, {event("end", later, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("many"), ElementsAre("succeeded", "succeeded"));
}

TEST_F(PatientWorkers, AfterARestartARunThatNoWorkerWasGivenBeginsWithTheFirstRoomAndHoldsNoOther) {
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([this] { return runtime->awaited_facts() == 1; }));
  close();
  open();
  PlayedWorker& host = worker("host1", kBackup);
  put(backup("other"));
  trigger("other");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 2; }));
  report(host, {event("end", run, {field("code", "ok")})});
  trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 3; }));
}

TEST_F(PatientWorkers, AfterARestartARunOfAnAbsentWorkerHoldsOnlyItsJobAndSaysForWhomItWaits) {
  PlayedWorker& first = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  played.clear();
  close();
  open();
  PlayedWorker& other = worker("host2", kBackup);
  put(backup("other"));
  const std::string wait = "waits until worker 'host1' reports whether it has run " + std::to_string(run) + ", at most until 20";
  EXPECT_TRUE(says(run, HasSubstr(wait))) << JobsView(*jobs).activity(run)->text;
  EXPECT_THAT(runtime->why("JOB_RUN_8", "nightly#" + std::to_string(run)).chain.at(0).note, HasSubstr(wait));
  EXPECT_TRUE(says(trigger("nightly"), "waits for run " + std::to_string(run) + " of the job"));
  const std::int64_t newer = trigger("other");
  ASSERT_TRUE(becomes([&] { return other.starts.size() == 1; }));
  EXPECT_EQ(other.starts[0].at("run").as_int64(), newer);
  // It comes back, has lost the run, and does not even offer the command.
  worker("host1", {field("clean", "1")});
  ASSERT_TRUE(becomes([&] { return other.starts.size() == 2; }));
  EXPECT_EQ(other.starts[1].at("run").as_int64(), run);
  EXPECT_EQ(other.starts[1].at("attempt").to_number<int>(), 0);
}

TEST_F(WorkersTest, AfterARestartARunIsGivenToAnotherWorkerWhenTheOneThatHadItStaysAway) {
  PlayedWorker& first = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  played.clear();
  close();
  options.settle = 1s;
  open();
  PlayedWorker& other = worker("host2", kBackup);
  EXPECT_TRUE(says(run, HasSubstr("waits until worker 'host1' reports")));
  ASSERT_TRUE(becomes([&] { return other.starts.size() == 1; }));
}

TEST_F(WorkersTest, ARunWhoseWorkerLeavesBeforeItGetsTheRunWaitsAgainAndUsesNoAttempt) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  close_store();
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([this] { return workers->stats().given == 1; }));
  host.orders.reset();
  EXPECT_TRUE(says(run, "waits: no worker offers command backup"));
  EXPECT_EQ(jobs->stats().running, 0U);
  open_store();
  EXPECT_THAT(host.starts, IsEmpty());
  PlayedWorker& other = worker("host2", kBackup);
  ASSERT_TRUE(becomes([&] { return other.starts.size() == 1; }));
  EXPECT_EQ(other.starts[0].at("attempt").to_number<int>(), 0);
  report(other, {event("end", run, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded"));
}

TEST_F(WorkersTest, RunsWhoseWorkerShrinksBeforeItGetsThemWaitAgainAndUseNoAttempt) {
  put(many());
  trigger("many");
  const std::int64_t second = trigger("many");
  ASSERT_TRUE(becomes([this] { return jobs->stats().fired == 2; }));
  close_store();
  PlayedWorker& host = worker("host1", kBackup);
  ASSERT_TRUE(becomes([this] { return workers->stats().given == 2; }));
  const auto shrunk =
      call(*host.reports, "worker-report",
           {{"session", host.session}, {"events", json::array{}}, {"places", 1}, {"offers", json::array{field("backup", "1")}}});
  ASSERT_TRUE(shrunk.has_value()) << shrunk.error().to_string();
  open_store();
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  EXPECT_TRUE(says(second, "waits for room at the handler command/backup"));
  report(host, {event("end", host.starts[0].at("run").as_int64(), {field("code", "ok")})});
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 2; }));
  EXPECT_EQ(host.starts[1].at("run").as_int64(), second);
  EXPECT_EQ(host.starts[1].at("attempt").to_number<int>(), 0);
}

TEST_F(WorkersTest, ARunThatItsWorkerRefusesWaitsAgainAndUsesNoAttempt) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  const auto refuse = [&] {
    report(host, {event("end", run, {field("code", "resource-exhausted"), field("message", "no place"), field("refused", "1")})});
  };
  refuse();
  EXPECT_TRUE(says(run, "waits for room at the handler command/backup")) << "the worker gets no run for a second";
  PlayedWorker& other = worker("host2", kBackup);
  ASSERT_TRUE(becomes([&] { return other.starts.size() == 1; }));
  EXPECT_EQ(other.starts[0].at("attempt").to_number<int>(), 0);
  other.orders.reset();
  ASSERT_TRUE(becomes([this] { return server->stats().connections == 3; }));
  // A refusal while no connection was there.
  PlayedWorker& again = worker("host2", kBackup, 10, {claim(run, "0 backup ended")});
  report(again, {event("end", run, {field("code", "not-found"), field("message", "no command"), field("refused", "1")})});
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 2; })) << "after its pause";
  // The worker that has begun a run cannot refuse it any more.
  report(host, {event("started", run, {field("begun_ms", "1700000000123")})});
  refuse();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("failed resource-exhausted: no place"));
}

/// Its command went on, and the run was shown as one that no worker has.
TEST_F(WorkersTest, AfterARestartARunThatMayBeAtAWorkerThatIsNotBackSaysSo) {
  PlayedWorker& first = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  played.clear();
  close();
  open();
  EXPECT_TRUE(says(
      run, "may run at worker host1, which has not come back since the start of this program; waits: no worker offers command backup"));
  EXPECT_EQ(JobsView(*jobs).activity(run).value_or(RunActivity{}).place, "worker host1");
  worker("host1", kBackup, 10, {claim(run, "0 backup")});
  EXPECT_TRUE(says(run, StartsWith("runs since ")));
}

/// It ended with "no worker has room for command clean", and without a retry it was lost.
TEST_F(WorkersTest, ARunThatIsClaimedForAnotherCommandThanItsJobHasNowWaitsForRoom) {
  const json::array clean{field("clean", "1")};
  PlayedWorker& first = worker("host1", kBackup);
  PlayedWorker& second = worker("host2", clean);
  put(backup());
  put({.name = "busy", .handler = "command/clean"});
  const std::int64_t run = trigger("nightly");
  const std::int64_t busy = trigger("busy");
  ASSERT_TRUE(becomes([&] { return first.starts.size() + second.starts.size() == 2; }));
  put({.name = "nightly", .handler = "command/clean"});
  played.clear();
  close();
  close_store();
  open();
  PlayedWorker& again = worker("host1", kBackup, 1, {claim(run, "0 backup")});
  PlayedWorker& full = worker("host2", clean, 1, {claim(busy, "0 clean")});
  open_store();
  ASSERT_TRUE(becomes([&] { return again.stops.size() == 1; }));
  EXPECT_EQ(again.stops[0].at("why"), "the run is of another handler");
  EXPECT_TRUE(says(run, "waits for room at the handler command/clean"));
  report(full, {event("end", busy, {field("code", "ok")})});
  ASSERT_TRUE(becomes([&] { return full.starts.size() == 1; }));
  EXPECT_EQ(full.starts[0].at("attempt").to_number<int>(), 0);
}

TEST_F(WorkersTest, AfterARestartARunAtAWorkerIsLinkedAndNotStartedAgain) {
  PlayedWorker& first = worker("host1", kBackup);
  put(many());
  const std::int64_t goes_on = trigger("many");
  const std::int64_t ended = trigger("many");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 2; }));
  played.clear();
  close();
  open();
  PlayedWorker& again =
      worker("host1", kBackup, 10, {claim(goes_on, "0 backup"), claim(ended, "0 backup ended"), claim(999999, "0 backup")});
  report(again, {event("end", ended, {field("code", "ok"), field("note", "meanwhile")})});
  ASSERT_TRUE(becomes([this] { return workers->stats().linked == 2; }));
  EXPECT_THAT(again.starts, IsEmpty());
  ASSERT_TRUE(becomes([&] { return again.stops.size() == 1; }));  // The run that never was.
  EXPECT_EQ(again.stops[0].at("run").as_int64(), 999999);
  report(again, {event("end", goes_on, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("many"), ElementsAre("succeeded", "succeeded meanwhile"));
}

/// After a new database, or a backup in its place, another run has the number of a run that the worker knows. The end of one became the end
/// of the other.
TEST_F(WorkersTest, ARunOfADatabaseThatWasReplacedIsNotTheOneOfItsNumber) {
  PlayedWorker& first = worker("host1", kBackup);
  put(many());
  const std::int64_t run = trigger("many");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  const std::string key{first.starts[0].at("key").as_string()};
  EXPECT_THAT(key, SizeIs(16));
  const std::string other = "0123456789abcdef";
  const char* const other_run = "the run of this number is another one here, because the database was replaced";
  const auto end_of = [](const std::string& of) { return json::array{field("code", "ok"), field("note", of), field("key", of)}; };
  EXPECT_EQ(report(first, {event("end", run, end_of(other))}), 1);
  const auto comes_again = [&](const std::string& claimed) -> PlayedWorker& {
    played.clear();
    return worker("host1", kBackup, 10, {claim(run, claimed)});
  };
  // While the server knows the run, and after a restart, with the claim behind the recovery and before it.
  PlayedWorker& second = comes_again("0 backup ended key=" + other);
  ASSERT_TRUE(becomes([&] { return second.stops.size() == 1 && second.starts.size() == 1; }));
  EXPECT_EQ(second.stops[0].at("why"), other_run);
  EXPECT_EQ(report(second, {event("end", run, end_of(other))}), 1);
  close();
  open();
  ASSERT_TRUE(becomes([this] { return RemoteRuns(*jobs).is_recovered(); }));
  PlayedWorker& third = comes_again("0 backup key=" + other);
  ASSERT_TRUE(becomes([&] { return third.stops.size() == 1 && third.starts.size() == 1; }));
  EXPECT_EQ(third.stops[0].at("why"), other_run);
  played.clear();
  close();
  close_store();
  open();
  PlayedWorker& fourth = worker("host1", kBackup, 10, {claim(run, "0 backup key=" + other)});
  open_store();
  ASSERT_TRUE(becomes([&] { return fourth.stops.size() == 1 && fourth.starts.size() == 1; }));
  EXPECT_EQ(fourth.stops[0].at("why"), other_run);
  EXPECT_EQ(fourth.starts[0].at("key").as_string(), key);
  EXPECT_EQ(report(fourth, {event("end", run, end_of(key))}), 0);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("many"), ElementsAre("succeeded " + key));
}

/// A worker could end each run of its commands that waited for a worker, also one of another worker after a restart.
TEST_F(WorkersTest, AClaimOfARunThatTheWorkerWasNeverGivenIsRefused) {
  PlayedWorker& first = worker("host1", {field("backup", "1")});
  put(many());
  const std::int64_t at_first = trigger("many");
  const std::int64_t waits = trigger("many");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  const auto lie = [&](const char* name) {
    PlayedWorker& liar = worker(name, {field("other", "1")}, 1, {claim(at_first, "0 backup ended"), claim(waits, "0 backup ended")});
    EXPECT_EQ(report(liar, {event("end", waits, {field("code", "ok"), field("note", "forged")}),
                            event("end", at_first, {field("code", "ok"), field("note", "forged")})}),
              2);
    ASSERT_TRUE(becomes([&] { return liar.stops.size() == 2; }));
    EXPECT_EQ(liar.stops.back().at("why"), "the run was not given to this worker");
    liar.orders.reset();
  };
  lie("liar");
  played.clear();
  close();
  open();
  ASSERT_TRUE(becomes([this] { return RemoteRuns(*jobs).is_recovered(); }));
  lie("liar");
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(at_first, "0 backup")});
  report(again, {event("end", at_first, {field("code", "ok"), field("note", "true")})});
  EXPECT_TRUE(becomes([&] { return runs("many").at(0) == "succeeded true"; }));
  EXPECT_THAT(runs("many").at(1), Not(HasSubstr("forged")));
}

/// The claim comes before the runs of the earlier process are known. The run is not given to this worker while its report may be under way.
TEST_F(WorkersTest, AnEarlyClaimOfARunThatTheWorkerWasNeverGivenIsRefused) {
  put(many());
  const std::int64_t waits = trigger("many");
  close();
  open();
  PlayedWorker& liar = worker("liar", kBackup, 10, {claim(waits, "0 backup ended")});
  report(liar, {event("end", waits, {field("code", "ok"), field("note", "forged")})});
  ASSERT_TRUE(becomes([&] { return liar.stops.size() == 1; }));
  EXPECT_EQ(liar.stops[0].at("why"), "the run was not given to this worker");
  EXPECT_THAT(runs("many"), ElementsAre("due"));
}

TEST_F(WorkersTest, AfterARestartARunHasTheBeginThatItsWorkerReports) {
  PlayedWorker& first = worker("host1", kBackup);
  put(many());
  const std::int64_t goes_on = trigger("many");
  const std::int64_t ended = trigger("many");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 2; }));
  EXPECT_EQ(JobsView(*jobs).activity(goes_on).value_or(RunActivity{}).place, "worker host1");
  played.clear();
  close();
  open();
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(goes_on, "0 backup"), claim(ended, "0 backup ended")});
  const std::int64_t since_ms = runtime->clock().wall_now().nanoseconds() / 1'000'000 - 5000;
  const WallTime since = WallTime::from_nanoseconds(since_ms * 1'000'000);
  const std::string since_text = std::to_string(since_ms);
  const auto begun = field("begun_ms", since_text);
  report(again, {event("started", goes_on, {begun}), event("end", ended, {field("code", "ok"), begun})});
  ASSERT_TRUE(becomes([this] { return workers->stats().linked == 2; }));
  EXPECT_EQ(JobsView(*jobs).activity(goes_on).value_or(RunActivity{}).begun, since);
  EXPECT_EQ(JobsView(*jobs).activity(goes_on).value_or(RunActivity{}).place, "worker host1");
  // A clock of a worker that is ahead.
  report(again, {event("started", goes_on, {field("begun_ms", "9999999999999999")})});
  EXPECT_LE(JobsView(*jobs).activity(goes_on).value_or(RunActivity{}).begun, runtime->clock().wall_now());
  report(again, {event("started", goes_on, {begun}), event("end", goes_on, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  const auto stored = answer<std::vector<JobRun>>([&](auto done) { jobs->runs("many", INT64_MAX, 2, done); });
  ASSERT_TRUE(stored && stored->size() == 2);
  for (const JobRun& run : *stored) EXPECT_EQ(run.begun, since) << run.id;
}

/// It was the time of the report, also when that came an hour later.
TEST_F(WorkersTest, TheEndOfARunIsTheTimeAtWhichItsCommandEnded) {
  PlayedWorker& host = worker("host1", kBackup);
  put(many());
  const auto end_of = [&](const char* since_ms) {
    const WallTime begun = runtime->clock().wall_now() + -100s;
    const std::int64_t run = trigger("many");
    EXPECT_TRUE(becomes([&] { return !host.starts.empty() && host.starts.back().at("run").as_int64() == run; }));
    const std::string begun_ms = std::to_string(begun.nanoseconds() / 1'000'000);
    report(host, {event("end", run, {field("code", "ok"), field("begun_ms", begun_ms), field("since_ms", since_ms)})});
    EXPECT_TRUE(all_ended());
    const auto stored = answer<std::vector<JobRun>>([&](auto done) { jobs->runs("many", INT64_MAX, 1, done); });
    EXPECT_TRUE(stored && stored->size() == 1 && stored->front().begun && stored->front().ended);
    return *stored->front().ended - *stored->front().begun;
  };
  EXPECT_THAT(end_of("60000"), testing::AllOf(testing::Ge(39s), testing::Le(70s)));
  EXPECT_EQ(end_of("9999999999999999"), Duration{0}) << "it ended before it began";
  EXPECT_GE(end_of("-1"), 99s) << "at the report";
  EXPECT_GE(end_of("0"), 99s);
}

TEST_F(WorkersTest, TheEndOfAnEarlierAttemptDoesNotCountForALaterOne) {
  PlayedWorker& first = worker("host1", kBackup);
  put({.name = "nightly", .handler = "command/backup", .retries = 2, .backoff = 1ms});
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  const json::array bad{field("code", "internal"), field("message", "bad")};
  report(first, {event("end", run, bad)});
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 2; }));
  EXPECT_EQ(report(first, {event("end", run, bad)}), 1);  // Again, because the worker did not see that it was taken.
  first.orders.reset();
  ASSERT_TRUE(becomes([this] { return server->stats().connections == 1; }));
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup ended")});
  ASSERT_TRUE(becomes([&] { return again.starts.size() == 1; }));
  EXPECT_EQ(report(again, {event("end", run, bad)}), 1);
  report(again, {event("end", run, {field("code", "ok")}, 1)});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded"));
}

/// The worker was paused as one that claims what it was not given.
TEST_F(WorkersTest, AnEarlyClaimOfAnEarlierAttemptThatHasEndedIsNotRefused) {
  PlayedWorker& first = worker("host1", kBackup);
  put({.name = "nightly", .handler = "command/backup", .retries = 2, .backoff = 1ms});
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  PlayedWorker& second = worker("host2", kBackup);
  const json::object busy{{"session", first.session}, {"events", json::array{}}, {"trouble", "the disk is full"}};
  ASSERT_TRUE(call(*first.reports, "worker-report", busy).has_value());
  report(first, {event("end", run, {field("code", "internal")})});
  ASSERT_TRUE(becomes([&] { return second.starts.size() == 1; }));
  played.clear();
  close();
  close_store();
  open();
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup ended")});
  PlayedWorker& other = worker("host2", kBackup);
  open_store();
  ASSERT_TRUE(becomes([&] { return other.starts.size() + again.starts.size() == 1; }));
  EXPECT_EQ(workers->stats().refused, 0U);
}

/// The pause of the worker was that of one that claims what it was not given; before the recovery its place was taken until the retry.
TEST_F(WorkersTest, AnAttemptWhoseEndWasTakenOccupiesNoPlaceOfAWorkerThatClaimsIt) {
  PlayedWorker& first = worker("host1", kBackup);
  put({.name = "nightly", .handler = "command/backup", .retries = 2, .backoff = 3600s});
  put(many());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  report(first, {event("end", run, {field("code", "internal")})});
  const auto takes_one = [&](PlayedWorker& claimer) {
    const std::int64_t other = trigger("many");
    EXPECT_TRUE(becomes([&] { return claimer.starts.size() == 1; }));
    EXPECT_EQ(workers->stats().refused, 0U);
    EXPECT_THAT(claimer.stops, IsEmpty());
    EXPECT_EQ(report(claimer, {event("end", other, {field("code", "ok")})}), 0);
    played.clear();
    EXPECT_TRUE(becomes([this] { return server->stats().connections == 0; }));
  };
  played.clear();
  ASSERT_TRUE(becomes([this] { return server->stats().connections == 0; }));
  const json::array claims{claim(run, "0 backup ended")};
  takes_one(worker("host1", {field("backup", "1")}, 1, claims));
  close();
  close_store();
  open();
  PlayedWorker& early = worker("host1", {field("backup", "1")}, 1, claims);
  open_store();
  ASSERT_TRUE(becomes([this] { return RemoteRuns(*jobs).is_recovered(); }));
  takes_one(early);
}

/// A run that has begun here again before its worker reports the end. Its place is free from the claim on.
TEST_F(WorkersTest, ARunThatHasEndedAtItsWorkerOccupiesNoPlaceBeforeItsEndIsReported) {
  PlayedWorker& first = worker("host1", {field("backup", "1")}, 1);
  put(many());
  const std::int64_t run = trigger("many");
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  played.clear();
  ASSERT_TRUE(becomes([this] { return server->stats().connections == 0; }));
  PlayedWorker& again = worker("host1", {field("backup", "1")}, 1, {claim(run, "0 backup ended")});
  const std::int64_t other = trigger("many");
  ASSERT_TRUE(becomes([&] { return again.starts.size() == 1; }));
  EXPECT_EQ(again.starts[0].at("run").as_int64(), other);
  EXPECT_EQ(report(again, {event("end", run, {field("code", "ok")}), event("end", other, {field("code", "ok")})}), 0);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("many"), ElementsAre("succeeded", "succeeded"));
}

class QuickWorkers : public WorkersTest {
 protected:
  QuickWorkers() {
    close();
    options = {.silent = 1s, .away = 2s, .log_wait = 500ms};
    open();
  }
};

TEST_F(QuickWorkers, AnAttemptAtAWorkerThatStaysAwayFails) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  host.orders.reset();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("failed unavailable: the worker 'host1' has been away for 2 s"));
  EXPECT_EQ(workers->stats().lost, 1U);
}

TEST_F(QuickWorkers, ARunThatAWorkerDoesNotBeginFailsAlthoughTheWorkerReports) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  const Instant begun = runtime->clock().now();
  while (jobs->stats().pending > 0 && runtime->clock().now() - begun < kPatience) {
    report(host, {});
    runtime->scheduler().run_for(50ms);
  }
  EXPECT_THAT(runs("nightly"), ElementsAre("failed unavailable: the worker 'host1' reports, and has not begun the run for 2 s"));
  ASSERT_TRUE(becomes([&] { return host.stops.size() == 1; }));
  EXPECT_EQ(host.stops[0].at("run").as_int64(), run);
}

/// The count of the silence began again when the worker was disconnected.
TEST_F(QuickWorkers, AWorkerThatHangsWithARunIsNamedByTheHealthUntilTheRunHasEnded) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  report(host, {event("started", run)});
  ASSERT_TRUE(becomes([this] { return !workers->health().ok(); }));
  const auto is_ending = [&] {
    const auto activity = JobsView(*jobs).activity(run);
    return !activity || activity->stage == RunActivity::Stage::Ending;
  };
  const auto is_named = [&] { return !workers->health().ok() || is_ending(); };
  while (jobs->stats().pending > 0 && !HasFailure()) {
    runtime->scheduler().run_for(50ms);
    ASSERT_TRUE(is_named()) << "host1 " << (host.over ? "is away" : "hangs");
  }
  EXPECT_TRUE(host.over.has_value() || becomes([&] { return host.over.has_value(); }));
}

TEST_F(QuickWorkers, AWorkerThatHangsGetsNoRunAndIsDisconnected) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  runtime->scheduler().run_for(1200ms);
  trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.over.has_value(); }));
  EXPECT_THAT(host.over->to_string(), HasSubstr("no report for 2 s"));
  EXPECT_THAT(host.starts, IsEmpty());
  EXPECT_EQ(jobs->stats().pending, 1U);  // It waits for a worker.
}

TEST_F(WorkersTest, AWorkerSpeaksOnlyAboutItsOwnRuns) {
  PlayedWorker& host = worker("host1", kBackup);
  PlayedWorker& other = worker("other", {field("clean", "1")});
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  const json::array end{field("code", "ok")};
  EXPECT_EQ(report(other, {event("end", run, end), event("progress", run, {field("percent", "99")}), event("end", 0, end),
                           event("end", INT64_MAX, end), event("started", run), event("log", 1), event("dance", run)}),
            7);
  EXPECT_EQ(report(other, {json::array{"end", "-1", "SET", end}, json::array{"end", "x", "DEL"}, json::array{"end", "", "SET", end}}), 3);
  EXPECT_EQ(workers->stats().refused, 10U);
  EXPECT_EQ(jobs->stats().running, 1U);
  // It claims a run of another handler, and one that another worker has.
  other.orders.reset();
  ASSERT_TRUE(becomes([this] { return server->stats().connections == 3; }));
  PlayedWorker& liar = worker("other", {field("clean", "1"), field("backup", "1")}, 10, {claim(run, "0 backup")});
  ASSERT_TRUE(becomes([&] { return liar.stops.size() == 1; }));
  EXPECT_EQ(report(liar, {event("end", run, end)}), 1);
  report(host, {event("end", run, {field("code", "internal"), field("message", "the true end")})});
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("failed the true end"));
}

TEST_F(WorkersTest, ASessionIsNeededToReportAndANameIsTakenOnce) {
  PlayedWorker& host = worker("host1", kBackup);
  const auto client = connect();
  EXPECT_THAT(call(*client, "worker-report", {{"session", "guessed"}, {"events", json::array{}}}).error().to_string(),
              HasSubstr("no worker with this session"));
  EXPECT_THAT(call(*client, "worker-report", {{"session", ""}, {"events", json::array{}}}).error().to_string(),
              HasSubstr("no worker with this session"));
  PlayedWorker& twin = worker("host1", kBackup);
  EXPECT_THAT(twin.over->to_string(), HasSubstr("a worker with the name 'host1' is connected"));
  EXPECT_EQ(report(host, {}), 0);
}

TEST_F(WorkersTest, AnOfferBeyondALimitIsRefused) {
  const auto refusal = [this](json::object arguments) {
    const auto client = connect();
    const auto answer = call(*client, "worker-orders", arguments);
    return answer ? std::string{"accepted"} : answer.error().to_string();
  };
  EXPECT_THAT(refusal({{"worker", "../etc"}, {"places", 1}, {"offers", kBackup}}), HasSubstr("name"));
  EXPECT_THAT(refusal({{"worker", "a"}, {"places", 0}, {"offers", kBackup}}), HasSubstr("places is 1 to 256"));
  EXPECT_THAT(refusal({{"worker", "a"}, {"places", 257}, {"offers", kBackup}}), HasSubstr("places is 1 to 256"));
  EXPECT_THAT(refusal({{"worker", "a"}, {"places", 1}, {"offers", json::array{field("backup", "none")}}}), HasSubstr("no number"));
  EXPECT_THAT(refusal({{"worker", "a"}, {"places", 1}, {"offers", json::array{field("a b", "1")}}}), HasSubstr("a command has"));
  json::array offers;
  for (std::size_t i = 0; i <= limits::kWorkerOffers; ++i) offers.push_back(field("c" + std::to_string(i), "1"));
  EXPECT_THAT(refusal({{"worker", "a"}, {"places", 1}, {"offers", offers}}), HasSubstr("at most 256 commands"));
  json::array claims;
  for (std::size_t i = 1; i <= limits::kWorkerRuns + 1; ++i) claims.push_back(claim(static_cast<std::int64_t>(i), "0 backup"));
  EXPECT_THAT(refusal({{"worker", "a"}, {"places", 1}, {"offers", kBackup}, {"runs", claims}}), HasSubstr("at most 256 runs"));
}

TEST_F(WorkersTest, AtTheLimitOfWorkersOneMoreIsRefused) {
  for (std::size_t i = 0; i < limits::kWorkers; ++i) EXPECT_FALSE(worker("host" + std::to_string(i), kBackup).session.empty());
  EXPECT_THAT(worker("more", kBackup).over->to_string(), HasSubstr("there are 16 workers"));
}

TEST_F(WorkersTest, TheLogOfARunComesFromItsWorker) {
  PlayedWorker& host = worker("host1", kBackup);
  worker("other", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([this] { return played[0]->starts.size() + played[1]->starts.size() == 1; }));
  PlayedWorker& has = host.starts.empty() ? *played[1] : host;
  const auto client = connect();
  ASSERT_TRUE(client->ask("job-log", {{"run", run}, {"from", 5}}).ok());
  ASSERT_TRUE(becomes([&] { return has.logs.size() == 1; }));
  EXPECT_EQ(has.logs[0].at("from").to_number<int>(), 5);
  const std::int64_t request = has.logs[0].at("request").to_number<std::int64_t>();
  EXPECT_EQ(report(has, {event("log", request,
                               {field("known", "1"), field("from", "5"), field("next", "9"), field("data", "a\\x1b\\x00\\x0a")})}),
            0);
  Result<std::optional<json::object>> got = std::optional<json::object>{};
  ASSERT_TRUE(becomes([&] {
    got = client->answer();
    return !got || got->has_value();
  }));
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  EXPECT_EQ((**got).at("data"), "a\\x1b\\x00\\x0a");
  EXPECT_EQ((**got).at("next").to_number<int>(), 9);
  EXPECT_EQ((**got).at("ended"), false);
}

TEST_F(WorkersTest, ALogThatNoWorkerHasIsNotFoundAndAWorkerThatGoesIsPassedOver) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  report(host, {event("end", run, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  PlayedWorker& other = worker("other", kBackup);
  const auto client = connect();
  ASSERT_TRUE(client->ask("job-log", {{"run", run}}).ok());
  ASSERT_TRUE(becomes([&] { return host.logs.size() + other.logs.size() == 1; }));
  PlayedWorker& asked = host.logs.empty() ? other : host;
  PlayedWorker& next = host.logs.empty() ? host : other;
  asked.orders.reset();
  ASSERT_TRUE(becomes([&] { return next.logs.size() == 1; }));
  report(next, {event("log", next.logs[0].at("request").to_number<std::int64_t>(), {field("known", "0")})});
  std::string error;
  ASSERT_TRUE(becomes([&] {
    const auto got = client->answer();
    if (!got) error = got.error().to_string();
    return !got;
  }));
  EXPECT_THAT(error, HasSubstr("no connected worker has a log of the run " + std::to_string(run) + "; the run has ended"));
}

TEST_F(WorkersTest, AtTheLimitOfReadersOneMoreIsRefused) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  std::vector<std::unique_ptr<AdminClient>> readers;
  for (std::size_t i = 0; i < limits::kLogReaders; ++i) {
    readers.push_back(connect());
    ASSERT_TRUE(readers.back()->ask("job-log", {{"run", run}}).ok());
  }
  ASSERT_TRUE(becomes([&] { return host.logs.size() == limits::kLogReaders; }));
  const auto one_more = connect();
  EXPECT_THAT(call(*one_more, "job-log", {{"run", run}}).error().to_string(), HasSubstr("32 readers of logs wait"));
}

TEST_F(QuickWorkers, AWorkerThatDoesNotAnswerAReaderIsGivenUp) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  const auto reader = connect();
  EXPECT_THAT(call(*reader, "job-log", {{"run", run}}).error().to_string(), HasSubstr("the worker did not answer"));
}

TEST_F(WorkersTest, TheTroubleOfAWorkerIsListedAndInTheHealthUntilItEnds) {
  PlayedWorker& host = worker("host1", kBackup);
  const auto reader = connect();
  const auto listed = [&] { return call(*reader, "workers", {})->at("rows").at(0).as_object(); };
  EXPECT_FALSE(listed().contains("trouble"));
  EXPECT_TRUE(workers->health().ok());
  const auto say = [&](const char* text) {
    const auto told = call(*host.reports, "worker-report", {{"session", host.session}, {"events", json::array{}}, {"trouble", text}});
    EXPECT_TRUE(told.has_value()) << told.error().to_string();
  };
  EXPECT_EQ(listed().at("free").to_number<int>(), 10);
  say("no space \\x1b[31mleft");
  EXPECT_EQ(listed().at("free").to_number<int>(), 0) << "it gets no run";
  EXPECT_EQ(listed().at("trouble"), "no space \\x1b[31mleft") << "it is shown escaped";
  EXPECT_THAT(workers->health().to_string(), HasSubstr("worker 'host1': no space"));
  report(host, {});
  EXPECT_FALSE(workers->health().ok()) << "a report without it changes nothing";
  say("");
  EXPECT_TRUE(workers->health().ok());
  say("again");
  host.orders.reset();
  EXPECT_TRUE(becomes([this] { return workers->health().ok(); })) << "it is gone with its worker";
}

/// Each run that it got failed, because it could not write it down.
TEST_F(WorkersTest, AWorkerWithTroubleGetsNoRunUntilTheTroubleIsOver) {
  PlayedWorker& host = worker("host1", kBackup);
  put(many());
  const auto say = [&](const char* text) {
    const auto told = call(*host.reports, "worker-report", {{"session", host.session}, {"events", json::array{}}, {"trouble", text}});
    EXPECT_TRUE(told.has_value()) << told.error().to_string();
  };
  close_store();
  const std::int64_t run = trigger("many");
  ASSERT_TRUE(becomes([this] { return workers->stats().given == 1; }));
  say("the disk is full");
  open_store();
  EXPECT_TRUE(says(run, "waits for room at the handler command/backup: worker 'host1': the disk is full"));
  runtime->scheduler().run_for(30ms);
  EXPECT_THAT(host.starts, IsEmpty());
  say("");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  EXPECT_EQ(host.starts[0].at("attempt").to_number<int>(), 0);
}

/// They waited up to a second, although another worker had room.
TEST_F(WorkersTest, RunsThatAWorkerWithTroubleHasNotGotGoToAnotherWorkerInTheSameTurn) {
  PlayedWorker& host = worker("host1", kBackup);
  put(many());
  close_store();
  trigger("many");
  ASSERT_TRUE(becomes([this] { return workers->stats().given == 1; }));
  PlayedWorker& other = worker("host2", kBackup);
  const json::object arguments{{"session", host.session}, {"events", json::array{}}, {"trouble", "the disk is full"}};
  ASSERT_TRUE(call(*host.reports, "worker-report", arguments).has_value());
  EXPECT_EQ(workers->stats().given, 2U);
  open_store();
  ASSERT_TRUE(becomes([&] { return other.starts.size() == 1; }));
  EXPECT_THAT(host.starts, IsEmpty());
}

TEST_F(WorkersTest, AChangeOfTheOfferIsConfirmedBehindTheStartsOfTheFormerOne) {
  PlayedWorker& host = worker("host1", kBackup);
  put(many());
  const std::int64_t first = trigger("many");
  trigger("many");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 2; }));
  close_store();
  const std::int64_t under_way = trigger("many");
  ASSERT_TRUE(becomes([this] { return workers->stats().given == 3; }));
  const auto left = call(*host.reports, "worker-report",
                         {{"session", host.session}, {"events", json::array{}}, {"places", 1}, {"offers", json::array{}}});
  ASSERT_TRUE(left.has_value()) << left.error().to_string();
  open_store();
  PlayedWorker& other = worker("host2", kBackup);
  ASSERT_TRUE(becomes([&] { return other.starts.size() == 1 && host.offers.size() == 1; }));
  EXPECT_EQ(other.starts[0].at("run").as_int64(), under_way);
  EXPECT_EQ(host.offers[0].at("commands").to_number<int>(), 0);
  // An order behind the confirmation arrives as the last one.
  ASSERT_TRUE(jobs->kill(first).ok());
  ASSERT_TRUE(becomes([&] { return host.stops.size() == 1; }));
  EXPECT_THAT(host.kinds, ElementsAre("welcome", "start", "start", "offers", "stop"));
}

TEST_F(WorkersTest, WorkersAreListed) {
  worker("host1", kBackup, 7);
  const auto client = connect();
  const auto answer = call(*client, "workers", {});
  ASSERT_TRUE(answer.has_value());
  const json::array rows = answer->at("rows").as_array();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].at("worker"), "host1");
  EXPECT_EQ(rows[0].at("connected"), true);
  EXPECT_EQ(rows[0].at("places").to_number<int>(), 7);
  EXPECT_EQ(rows[0].at("commands").at("backup").to_number<int>(), 10);
}

}  // namespace
}  // namespace rondo::jobs
