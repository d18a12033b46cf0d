// Readers of logs whose workers do not answer, answer too much, or have a run that was removed.
#include <memory>
#include <string>

#include "jobs/workers/testing/workers_testbed.h"

namespace rondo::jobs {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class SlowReaders : public WorkersTest {
 protected:
  SlowReaders() {
    close();
    options = {.silent = 1h, .away = 1h, .log_wait = 600ms};
    open();
  }
  Result<json::object> read(std::int64_t run, bool waits, std::string_view of = {}) {
    json::object arguments{{"run", run}, {"wait", waits}};
    if (!of.empty()) arguments["worker"] = of;
    return call(*connect(), "job-log", arguments);
  }
  /// A reader whose answer is not waited for.
  std::unique_ptr<AdminClient> reader_of(std::int64_t run, bool waits) {
    auto reader = connect();
    EXPECT_TRUE(reader->ask("job-log", {{"run", run}, {"wait", waits}}).ok());
    return reader;
  }
  Result<json::object> answer_of(AdminClient& reader) {
    Result<std::optional<json::object>> got = std::optional<json::object>{};
    EXPECT_TRUE(becomes([&] { return !(got = reader.answer()) || got->has_value(); }));
    if (!got) return failure(got.error());
    return got->value_or(json::object{});
  }
  static json::array piece(const PlayedWorker& of, const std::string& output, bool is_end) {
    return event("log", of.logs.back().at("request").to_number<std::int64_t>(),
                 {field("known", "1"), field("from", "0"), field("next", std::to_string(output.size())), field("attempt", "0"),
                  field("ended", is_end ? "1" : "0"), field("size", "77"), field("data", output)});
  }
};

/// It ended with an error after 20 s, although the run went on.
TEST_F(SlowReaders, AReaderThatWaitsHearsThatTheWorkerDoesNotAnswerAndAsksAgain) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  for (int i = 0; i < 2; ++i) {
    const auto answer = read(run, true, "host1");
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
    EXPECT_EQ(answer->at("activity"), "worker host1 does not answer");
    EXPECT_EQ(answer->at("ended"), false);
    EXPECT_EQ(answer->at("worker"), "host1");
  }
  EXPECT_THAT(read(run, false).error().to_string(), HasSubstr("the worker did not answer: host1"));
}

/// The first one that did not answer took the time of all.
TEST_F(SlowReaders, AWorkerThatDoesNotAnswerLeavesTimeForTheOthers) {
  PlayedWorker& host = worker("host2", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  report(host, {event("end", run, {field("code", "ok")})});
  ASSERT_TRUE(all_ended());
  // The last worker of the run is asked first.
  PlayedWorker& other = worker("host1", kBackup);
  const auto reader = reader_of(run, false);
  ASSERT_TRUE(becomes([&] { return other.logs.size() == 1; })) << "host2 does not answer";
  EXPECT_EQ(host.logs.size(), 1U);
  report(other, {piece(other, "of host1", true)});
  const auto answer = answer_of(*reader);
  ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  EXPECT_EQ(answer->at("data"), "of host1");
  EXPECT_EQ(answer->at("size").to_number<int>(), 77);
}

TEST_F(SlowReaders, APieceThatIsLargerThanTheQuestionIsRefused) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  const auto reader = reader_of(run, false);
  ASSERT_TRUE(becomes([&] { return host.logs.size() == 1; }));
  EXPECT_EQ(report(host, {piece(host, std::string(limits::kLogPiece + 1, 'x'), false)}), 1);
  EXPECT_THAT(answer_of(*reader).error().to_string(),
              AllOf(HasSubstr("a piece of the log of 16385 bytes"), HasSubstr("it was asked for at most 16384")));
}

/// The reader ended without a word, or followed a command that did not stop for as long as it ran.
TEST_F(SlowReaders, AReaderOfARunWhoseJobWasRemovedGetsTheOutputAndASentence) {
  PlayedWorker& host = worker("host1", kBackup);
  put(backup());
  const std::int64_t run = trigger("nightly");
  ASSERT_TRUE(becomes([&] { return host.starts.size() == 1; }));
  const auto last = reader_of(run, true);
  ASSERT_TRUE(becomes([&] { return host.logs.size() == 1; }));
  ASSERT_TRUE(answer<StoredJob>([&](auto done) { jobs->remove("nightly", done); }).has_value());
  ASSERT_TRUE(becomes([&] { return host.stops.size() == 1; }));
  report(host, {piece(host, "its last words", false)});
  EXPECT_EQ(answer_of(*last)->at("data"), "its last words");
  const auto reader = reader_of(run, true);
  ASSERT_TRUE(becomes([&] { return host.logs.size() == 2; }));
  report(host, {piece(host, "", false)});
  EXPECT_EQ(answer_of(*reader).error().to_string(),
            "not-found: the run " + std::to_string(run) + " was removed with its job; worker 'host1' was ordered to stop its command");
  // One that waits when the command ends.
  const auto gone = reader_of(run, true);
  ASSERT_TRUE(becomes([&] { return host.logs.size() == 3; }));
  report(host, {event("end", run, {field("code", "cancelled")}), piece(host, "", true)});
  EXPECT_EQ(answer_of(*gone).error().to_string(),
            "not-found: there is no run " + std::to_string(run) + " any more: its job was removed, or it is no longer kept");
}

}  // namespace
}  // namespace rondo::jobs
