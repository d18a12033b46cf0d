// The answer of worker-report: the ends in a report are stored before it, or the answer names them, whatever becomes of the store, of the
// runs and of this program meanwhile. So a worker that keeps an end until then loses none.
#include "jobs/jobs_view.h"
#include "jobs/workers/testing/workers_testbed.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ReportsOfWorkers : public WorkersTest {
 protected:
  /// A run that a worker has.
  std::int64_t placed(PlayedWorker& host, const std::string& job = "nightly") {
    const std::size_t before = host.starts.size();
    const std::int64_t run = trigger(job);
    EXPECT_TRUE(becomes([&] { return host.starts.size() == before + 1; }));
    return run;
  }
  static json::object end_of(const PlayedWorker& host, std::int64_t run) {
    return {{"session", host.session}, {"events", json::array{event("end", run, {field("code", "ok"), field("note", "all")})}}};
  }
  json::object report_end(PlayedWorker& host, std::int64_t run) {
    const auto got = call(*host.reports, "worker-report", end_of(host, run));
    EXPECT_TRUE(got.has_value()) << got.error().to_string();
    return got.value_or(json::object{});
  }
  /// As a worker does it: until the answer does not name the run.
  void report_end_until_it_is_stored(PlayedWorker& host, std::int64_t run) {
    EXPECT_TRUE(becomes([&] { return unstored(report_end(host, run)).empty(); }));
  }
  void restart() {
    played.clear();
    close();
    open();
  }
};

TEST_F(ReportsOfWorkers, TheAnswerFollowsTheStoringOfAnEnd) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = placed(host);
  hold_ends();
  ASSERT_TRUE(host.reports->ask("worker-report", end_of(host, run)).ok());
  ASSERT_TRUE(says(run, HasSubstr("its end is being stored")));
  runtime->scheduler().run_for(30ms);
  Result<std::optional<json::object>> got = host.reports->answer();
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  EXPECT_FALSE(got->has_value()) << "the end is not stored";
  store_ends();
  ASSERT_TRUE(becomes([&] {
    got = host.reports->answer();
    return !got || got->has_value();
  }));
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  EXPECT_EQ((*got)->at("refused").to_number<int>(), 0);
  EXPECT_THAT(unstored(**got), IsEmpty());
  EXPECT_EQ(jobs->stats().pending, 0U);
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded all"));
}

TEST_F(ReportsOfWorkers, AnEndThatCannotBeStoredIsNamedUntilItIsStored) {
  PlayedWorker& host = worker("host1", kBackup);
  put({.name = "nightly", .handler = "command/backup", .retries = 1, .backoff = 1ms});
  const std::int64_t run = placed(host);
  faults.is_full = true;
  EXPECT_THAT(unstored(report_end(host, run)), ElementsAre(run));
  EXPECT_THAT(unstored(report_end(host, run)), ElementsAre(run));
  // A connection that was lost meanwhile changes nothing.
  host.orders.reset();
  ASSERT_TRUE(becomes([this] { return server->stats().connections == 1; }));
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup ended")});
  EXPECT_THAT(unstored(report_end(again, run)), ElementsAre(run));
  faults.is_full = false;
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(unstored(report_end(again, run)), IsEmpty());
  EXPECT_THAT(again.starts, IsEmpty());
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded all"));
}

/// The answer came first, the worker dropped its record, and the run began again with the same id.
TEST_F(ReportsOfWorkers, AnEndThatThisProcessDidNotStoreIsTakenByTheNextOne) {
  PlayedWorker& first = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = placed(first);
  faults.is_full = true;
  EXPECT_THAT(unstored(report_end(first, run)), ElementsAre(run));
  restart();
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup ended")});
  EXPECT_THAT(unstored(report_end(again, run)), ElementsAre(run));
  faults.is_full = false;
  report_end_until_it_is_stored(again, run);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(again.starts, IsEmpty());
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded all"));
}

TEST_F(ReportsOfWorkers, TheEndOfARunThatDoesNotBeginHereYetIsKeptByItsWorker) {
  PlayedWorker& first = worker("host1", kBackup);
  put(backup());
  put(backup("other"));
  const std::int64_t run = placed(first);
  put({.name = "nightly", .handler = "command/backup", .required_facts = {"job-succeeded:other"}});
  for (int i = 0; i < 2; ++i) {
    restart();
    PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup ended")});
    ASSERT_TRUE(says(run, "waits for job-succeeded:other"));
    EXPECT_THAT(unstored(report_end(again, run)), ElementsAre(run)) << "it is in the memory of this process alone";
  }
  PlayedWorker& host = *played.back();
  report_end_until_it_is_stored(host, placed(host, "other"));
  report_end_until_it_is_stored(host, run);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(host.starts, testing::SizeIs(1)) << "of the other job";
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded all"));
}

TEST_F(ReportsOfWorkers, ARefusedRunAndARemovedOneNeedNoStore) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  put(backup("other"));
  const std::int64_t refused = placed(host);
  const std::int64_t removed = placed(host, "other");
  faults.is_full = true;
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->remove("other", done); }).has_value());
  EXPECT_THAT(unstored(report_end(host, removed)), IsEmpty());
  const json::array events{event("end", refused, {field("code", "unavailable"), field("refused", "1")})};
  const auto got = call(*host.reports, "worker-report", {{"session", host.session}, {"events", events}});
  ASSERT_TRUE(got.has_value()) << got.error().to_string();
  EXPECT_THAT(unstored(*got), IsEmpty());
}

TEST_F(ReportsOfWorkers, AWorkerThatLeavesBeforeTheAnswerChangesNothing) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = placed(host);
  hold_ends();
  ASSERT_TRUE(host.reports->ask("worker-report", end_of(host, run)).ok());
  ASSERT_TRUE(says(run, HasSubstr("its end is being stored")));
  played.clear();
  ASSERT_TRUE(becomes([this] { return server->stats().connections == 0; }));
  store_ends();
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded all"));
}

TEST_F(ReportsOfWorkers, AProgramThatEndsLeavesNoReportBehind) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = placed(host);
  hold_ends();
  ASSERT_TRUE(host.reports->ask("worker-report", end_of(host, run)).ok());
  ASSERT_TRUE(says(run, HasSubstr("its end is being stored")));
  close();
  const auto got = host.reports->answer();
  EXPECT_TRUE(!got || !got->has_value()) << "no answer says that it is stored";
  open();
  EXPECT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded all"));
}

/// A worker drops its record with the answer, whatever it has reported.
TEST_F(ReportsOfWorkers, TheEndOfARunThatIsNotKnownIsAnsweredAndNotAskedForAgain) {
  PlayedWorker& host = worker("host1", kBackup, 10, {claim(999'999, "0 backup ended")});
  ASSERT_TRUE(becomes([&] { return !host.stops.empty(); })) << "the claim, when it is known that there is no such run";
  hold_ends();
  for (const std::int64_t run : {999'999, 999'998}) {
    const json::object got = report_end(host, run);
    EXPECT_THAT(unstored(got), IsEmpty());
    EXPECT_EQ(got.at("refused").to_number<int>(), 1);
  }
}

class PatientReports : public ReportsOfWorkers {
 protected:
  PatientReports() {
    close();
    options = {.stored_wait = 1h};
    open();
  }
};

/// One worker took the room of all: each second they heard that their ends were not stored.
TEST_F(PatientReports, AFurtherReportOfAWorkerAnswersItsFormerOneAndNoOthers) {
  PlayedWorker& host = worker("host1", {field("backup", "1")});
  put(backup());
  put(backup("other"));
  const std::int64_t run = placed(host);
  PlayedWorker& honest = worker("host2", kBackup);
  const std::int64_t of_honest = placed(honest, "other");
  hold_ends();
  std::vector<std::unique_ptr<AdminClient>> more;
  for (std::size_t i = 0; i < limits::kWorkers + 1; ++i) {
    more.push_back(connect());
    ASSERT_TRUE(more.back()->ask("worker-report", end_of(host, run)).ok());
    Result<std::optional<json::object>> got = std::optional<json::object>{};
    if (i > 0) {
      ASSERT_TRUE(becomes([&] { return !(got = more[i - 1]->answer()) || got->has_value(); })) << i;
      ASSERT_TRUE(got.has_value()) << got.error().to_string();
      EXPECT_THAT(unstored(**got), ElementsAre(run));
    }
  }
  ASSERT_TRUE(honest.reports->ask("worker-report", end_of(honest, of_honest)).ok());
  ASSERT_TRUE(says(of_honest, HasSubstr("its end is being stored")));
  store_ends();
  for (AdminClient* const client : {more.back().get(), honest.reports.get()}) {
    Result<std::optional<json::object>> got = std::optional<json::object>{};
    ASSERT_TRUE(becomes([&] { return !(got = client->answer()) || got->has_value(); }));
    ASSERT_TRUE(got.has_value()) << got.error().to_string();
    EXPECT_THAT(unstored(**got), IsEmpty());
  }
  EXPECT_TRUE(all_ended());
}

class QuickReports : public ReportsOfWorkers {
 protected:
  QuickReports() {
    close();
    options = {.stored_wait = 100ms};
    open();
  }
};

TEST_F(QuickReports, AReportIsAnsweredWhileTheStoreHangs) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = placed(host);
  hold_ends();
  EXPECT_THAT(unstored(report_end(host, run)), ElementsAre(run));
  store_ends();
  report_end_until_it_is_stored(host, run);
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("succeeded all"));
}

/// It was counted as refused, and took effect.
TEST_F(WorkersTest, AProgressThatIsRefusedHasNoEffect) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  ASSERT_EQ(report(host, {event("progress", run, {field("percent", "40"), field("text", "disk 2")})}), 0);
  for (const char* const percent : {"-1", "abc", "99.5", "", "101", "9223372036854775807"})
    EXPECT_EQ(report(host, {event("progress", run, {field("percent", percent), field("text", "nonsense")})}), 1) << percent;
  EXPECT_EQ(report(host, {event("progress", run, {field("text", "nonsense")}), event("later", run)}), 2);
  EXPECT_EQ(JobsView(*jobs).progress(run), (Progress{40, "disk 2"}));
  for (const char* const percent : {"0", "100"})
    EXPECT_EQ(report(host, {event("progress", run, {field("percent", percent), field("text", "")})}), 0) << percent;
  EXPECT_EQ(JobsView(*jobs).progress(run), (Progress{100, ""}));
  report(host, {event("end", run, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
}

}  // namespace
}  // namespace rondo::jobs
