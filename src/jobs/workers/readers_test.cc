// Readers of logs, and what people read of a run whose worker is silent: a worker that the test plays over a real admin socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jobs/jobs_view.h"
#include "jobs/workers/limits.h"
#include "jobs/workers/testing/workers_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class ReadersTest : public WorkersTest {
 protected:
  /// A reader that waits asks for the log from a byte on.
  void ask(std::int64_t run, std::int64_t from, const std::string& of) {
    json::object arguments{{"run", run}, {"from", from}, {"wait", true}};
    if (!of.empty()) arguments["worker"] = of;
    EXPECT_TRUE(reader->ask("job-log", arguments).ok());
  }
  /// Its answer.
  Result<json::object> read() {
    Result<std::optional<json::object>> got = std::optional<json::object>{};
    EXPECT_TRUE(becomes([&] {
      got = reader->answer();
      return !got || got->has_value();
    }));
    if (!got) return failure(got.error());
    return got->value_or(json::object{});
  }
  std::string data(const Result<json::object>& answer) {
    EXPECT_TRUE(answer.has_value()) << answer.error().to_string();
    return answer ? std::string{answer->at("data").as_string()} : std::string{};
  }
  /// The worker's answer to the last question about a log.
  json::array log(const PlayedWorker& of, std::int64_t from, const std::string& output, int attempt, bool is_end) {
    const std::int64_t request = of.logs.back().at("request").to_number<std::int64_t>();
    return event("log", request,
                 {field("known", "1"), field("from", std::to_string(from)),
                  field("next", std::to_string(from + static_cast<std::int64_t>(output.size()))), field("attempt", std::to_string(attempt)),
                  field("ended", is_end ? "1" : "0"), field("data", output)});
  }
  bool is_asked(const PlayedWorker& of, std::size_t times) {
    return becomes([&] { return of.logs.size() == times; });
  }
  static json::array failed() { return {field("code", "internal"), field("message", "bad")}; }

  std::unique_ptr<AdminClient> reader = connect();
};

/// The answer was that no connected worker has a log.
TEST_F(ReadersTest, TheLogOfARunWhoseEndCannotBeStoredComesFromItsWorker) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  faults.is_full = true;
  report(host, {event("end", run, failed())});
  ASSERT_TRUE(says(run, "has ended as failed: bad; its end is being stored, and the last try failed: the disk is full"));
  EXPECT_TRUE(reader->ask("job-log", {{"run", run}}).ok());
  ASSERT_TRUE(is_asked(host, 1));
  EXPECT_EQ(host.logs[0].at("key"), host.starts[0].at("key"));
  report(host, {log(host, 0, "all of it", 0, true)});
  EXPECT_EQ(data(read()), "all of it");
  const auto none = call(*reader, "job-log", {{"run", run + 1}});
  EXPECT_EQ(none.error().to_string(), "not-found: there is no run " + std::to_string(run + 1));
}

TEST_F(ReadersTest, AReaderOfARunThatHasNotBegunHearsForWhatItWaits) {
  put(backup());
  ask(trigger("nightly"), 0, "");
  const auto waits = read();
  EXPECT_EQ(data(waits), "");
  EXPECT_EQ(waits->at("activity"), "waits: no worker offers command backup");
  EXPECT_EQ(waits->at("ended"), false);
}

/// Readers wait as long as the test.
class PatientReaders : public ReadersTest {
 protected:
  PatientReaders() {
    reader.reset();
    close();
    options.log_held = 1h;
    options.log_wait = 1h;
    open();
    reader = connect();
  }
};

TEST_F(PatientReaders, AReaderWaitsForTheBeginOfItsRunAndGoesOnOverItsAttempts) {
  put({.name = "nightly", .handler = "command/backup", .retries = 1, .backoff = 1ms});
  const std::int64_t run = trigger("nightly");
  ask(run, 0, "");
  PlayedWorker& host = worker("host1", kBackup);
  ASSERT_TRUE(is_asked(host, 1));
  EXPECT_EQ(host.starts.size(), 1U) << "the order is before the question";
  EXPECT_EQ(host.logs[0].at("wait"), true);
  report(host, {event("started", run), log(host, 0, "one", 0, false)});
  const auto first = read();
  EXPECT_EQ(data(first), "one");
  EXPECT_EQ(first->at("attempt").to_number<int>(), 1);
  // The attempt ends while the reader waits for more. It waits for the next one.
  ask(run, 3, "host1");
  ASSERT_TRUE(is_asked(host, 2));
  report(host, {event("end", run, failed()), log(host, 3, "", 0, true)});
  ASSERT_TRUE(is_asked(host, 3));
  EXPECT_EQ(host.starts.size(), 2U);
  report(host, {event("started", run, {}, 1), log(host, 3, "two", 1, false)});
  const auto second = read();
  EXPECT_EQ(data(second), "two");
  EXPECT_EQ(second->at("attempt").to_number<int>(), 2);
  ask(run, 6, "host1");
  ASSERT_TRUE(is_asked(host, 4));
  report(host, {event("end", run, {field("code", "ok")}, 1), log(host, 6, "", 1, true)});
  ASSERT_TRUE(is_asked(host, 5)) << "once more when the run has ended";
  EXPECT_EQ(host.logs.back().at("wait"), false);
  report(host, {log(host, 6, "!", 1, true)});
  const auto last = read();
  EXPECT_EQ(data(last), "!");
  EXPECT_EQ(last->at("ended"), true);
}

TEST_F(PatientReaders, AReaderHearsAtWhichWorkerTheNextAttemptIs) {
  put({.name = "nightly", .handler = "command/backup", .retries = 1, .backoff = 1ms});
  const std::int64_t run = trigger("nightly");
  PlayedWorker& first = worker("host1", kBackup);
  ASSERT_TRUE(becomes([&] { return first.starts.size() == 1; }));
  ask(run, 4, "host1");
  ASSERT_TRUE(is_asked(first, 1));
  // It offers the command no more, so another worker gets the next attempt.
  const auto ended = call(*first.reports, "worker-report",
                          {{"session", first.session},
                           {"places", 1},
                           {"offers", json::array{field("other", "1")}},
                           {"events", json::array{event("end", run, failed()), log(first, 4, "", 0, true)}}});
  ASSERT_TRUE(ended.has_value()) << ended.error().to_string();
  PlayedWorker& second = worker("host2", kBackup);
  ASSERT_TRUE(is_asked(first, 2)) << "for what is left of its attempt";
  report(first, {log(first, 4, "", 0, true)});
  const auto answer = read();
  EXPECT_EQ(data(answer), "");
  EXPECT_EQ(answer->at("worker"), "host2");
  EXPECT_EQ(answer->at("from").to_number<int>(), 0);
  EXPECT_EQ(answer->at("next").to_number<int>(), 0);
  EXPECT_EQ(answer->at("ended"), false);
  EXPECT_THAT(second.logs, IsEmpty()) << "the reader knows how much it has of this log";
}

TEST_F(PatientReaders, ALogOfARunThatEndedWithoutABeginSaysHow) {
  put(backup());
  const std::int64_t run = trigger("nightly");
  ask(run, 0, "");
  ASSERT_TRUE(becomes([this] { return runtime->awaited_facts() == 1; }));
  ASSERT_TRUE(jobs->kill(run).ok());
  const auto answer = read();
  ASSERT_FALSE(answer.has_value());
  EXPECT_THAT(answer.error().to_string(),
              AllOf(HasSubstr("no connected worker has a log of the run " + std::to_string(run) + "; the run has ended at 20"),
                    HasSubstr("as killed: killed by a user")));
  jobs->handle_in_turn("here", [](const JobContext&) { return Status{}; });
  put({.name = "other", .handler = "here", .required_facts = {"job-succeeded:nightly"}});
  ask(trigger("other"), 0, "");
  EXPECT_THAT(read().error().to_string(), HasSubstr("has no log: its handler here is not a command of a worker"));
}

TEST_F(ReadersTest, APieceThatLeadsNowhereIsRefused) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  for (const char* const next : {"5", "0", "9", "x", "-1", "9223372036854775807"}) {
    ask(run, 5, "");
    const std::size_t asked = host.logs.size();
    ASSERT_TRUE(becomes([&] { return host.logs.size() > asked; }));
    const std::int64_t request = host.logs.back().at("request").to_number<std::int64_t>();
    EXPECT_EQ(
        report(host, {event("log", request,
                            {field("known", "1"), field("from", "5"), field("next", next), field("ended", "0"), field("data", "abc")})}),
        1)
        << next;
    const auto answer = read();
    ASSERT_FALSE(answer.has_value());
    EXPECT_THAT(answer.error().to_string(), HasSubstr("the worker 'host1' answers with a piece of the log that leads nowhere"));
    reader = connect();
  }
}

/// A worker counts as silent soon, and is given up late.
class SilentWorkers : public ReadersTest {
 protected:
  SilentWorkers() {
    reader.reset();
    close();
    options = {.silent = 200ms, .away = 1h};
    open();
    reader = connect();
  }
  RunActivity activity(std::int64_t run) const { return JobsView(*jobs).activity(run).value_or(RunActivity{}); }
};

TEST_F(SilentWorkers, ARunSaysSinceWhenItsWorkerIsSilentAndWhatFollows) {
  put({.name = "nightly", .handler = "command/backup", .retries = 1});
  PlayedWorker& host = worker("host1", kBackup);
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  report(host, {event("started", run)});
  ASSERT_TRUE(becomes([&] { return !activity(run).trouble.empty(); }));
  EXPECT_THAT(activity(run).trouble, AllOf(StartsWith("worker host1 has not reported since 20"),
                                           HasSubstr(": unless it does, the attempt fails at 20"), HasSubstr(", and is tried again")));
  EXPECT_THAT(activity(run).text, HasSubstr(", worker host1; worker host1 has not reported since 20"));
  EXPECT_THAT(runtime->why("JOB_RUN_8", "nightly#" + std::to_string(run)).chain.at(0).note, HasSubstr("has not reported since"));
  ASSERT_TRUE(becomes([&] {
    report(host, {});
    return activity(run).trouble.empty();
  })) << "it has reported";
  host.orders.reset();
  ASSERT_TRUE(becomes([&] { return activity(run).trouble.starts_with("worker host1 has been away since 20"); }));
  EXPECT_THAT(activity(run).trouble, HasSubstr(": unless it comes back, the attempt fails at 20"));
  ASSERT_TRUE(jobs->kill(run).ok());
  PlayedWorker& again = worker("host1", kBackup, 10, {claim(run, "0 backup")});
  ASSERT_TRUE(becomes([&] {
    report(again, {});
    return activity(run).trouble.empty();
  })) << "it is back";
  ASSERT_TRUE(becomes([&] { return again.stops.size() == 1; }));
  again.orders.reset();
  ASSERT_TRUE(becomes([&] { return !activity(run).trouble.empty(); }));
  EXPECT_THAT(activity(run).trouble, HasSubstr(", and the run ends"));
}

class HeldRuns : public ReadersTest {
 protected:
  HeldRuns() {
    reader.reset();
    close();
    options.settle = 1h;
    open();
  }
};

TEST_F(HeldRuns, ARunThatIsKilledBeforeItsWorkerIsBackSaysThatItMayHaveBegun) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  played.clear();
  close();
  open();
  worker("host2", kBackup);
  ASSERT_TRUE(says(run, HasSubstr("waits until worker 'host1' reports")));
  ASSERT_TRUE(jobs->kill(run).ok());
  ASSERT_TRUE(all_ended());
  EXPECT_THAT(runs("nightly"), ElementsAre("killed killed by a user; worker 'host1' may have begun it"));
}

}  // namespace
}  // namespace rondo::jobs
