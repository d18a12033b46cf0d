// Notifications without a network: what is sent when (NoticeRules), how often and in which bounds (Outbox), what it says (Notice), and what
// the configuration accepts. Time is a number that the tests set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rondod/configuration/config.h"
#include "rondod/limits.h"
#include "rondod/notify/notice.h"
#include "rondod/notify/notice_rules.h"
#include "rondod/notify/outbox.h"

namespace rondo::daemon {
namespace {

namespace json = boost::json;
using jobs::JobRun;
using jobs::RunState;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class NoticeRulesTest : public testing::Test {
 protected:
  NoticeRules& rules() {
    if (!made_) made_.emplace(choice, [this](Notice notice) { sent.push_back(text_of(notice)); });
    return *made_;
  }
  /// "failure a#1 x2 +3": the second failure in a row, and three earlier ones that were not sent.
  static std::string text_of(const Notice& notice) {
    std::string text = std::string{to_string(notice.event)} + " " + notice.run.job + "#" + std::to_string(notice.run.id);
    if (notice.failures > 0) text += " x" + std::to_string(notice.failures);
    if (notice.more > 0) text += " +" + std::to_string(notice.more);
    return notice.event == Event::Late ? text + " " + std::to_string(notice.late / 1s) + "s" : text;
  }
  void end(RunState state, const std::string& job = "a") { rules().ended({.id = ++last_, .job = job, .state = state}, now); }
  JobRun due_run(std::int64_t id, const std::string& job = "a") const { return {.id = id, .job = job, .due = wall()}; }
  WallTime wall() const { return WallTime::from_nanoseconds(now.nanoseconds()); }
  void poll() {
    rules().poll(now, wall(), [this](std::int64_t id) -> const JobRun* {
      for (const JobRun& run : waiting) {
        if (run.id == id) return &run;
      }
      return nullptr;
    });
  }
  std::vector<std::string> taken() { return std::exchange(sent, {}); }

  NotifyChoice choice{.name = "n"};
  Instant now = Instant{} + 1000s;
  std::vector<std::string> sent;
  std::vector<JobRun> waiting;

 private:
  std::optional<NoticeRules> made_;
  std::int64_t last_ = 0;
};

TEST_F(NoticeRulesTest, AFailureAndTheFirstSuccessAfterItAreTold) {
  for (const RunState state : {RunState::Succeeded, RunState::Failed, RunState::Succeeded, RunState::Succeeded}) end(state);
  EXPECT_THAT(taken(), ElementsAre("failure a#2 x1", "recovery a#3 x1"));
}

TEST_F(NoticeRulesTest, ATimeoutIsAFailureAndWhatSomebodyEndedIsNone) {
  for (const RunState state : {RunState::Killed, RunState::Discarded, RunState::Skipped, RunState::TimedOut}) end(state);
  EXPECT_THAT(taken(), ElementsAre("failure a#4 x1"));
}

TEST_F(NoticeRulesTest, AJobHasOneFailureAMinuteAndTheNextOneHasTheNumber) {
  for (int i = 0; i < 4; ++i) end(RunState::Failed);
  EXPECT_THAT(taken(), ElementsAre("failure a#1 x1"));
  end(RunState::Failed, "b");
  EXPECT_THAT(taken(), ElementsAre("failure b#5 x1")) << "another job";
  now = now + 59s;
  poll();
  EXPECT_THAT(taken(), IsEmpty());
  now = now + 1s;
  poll();
  EXPECT_THAT(taken(), ElementsAre("failure a#4 x4 +2"));
  now = now + 60s;
  poll();
  EXPECT_THAT(taken(), IsEmpty());
  end(RunState::Failed);
  EXPECT_THAT(taken(), ElementsAre("failure a#6 x5"));
}

TEST_F(NoticeRulesTest, ARecoveryReplacesTheFailuresThatWait) {
  for (const RunState state : {RunState::Failed, RunState::Failed, RunState::Failed, RunState::Succeeded}) end(state);
  now = now + 60s;
  poll();
  EXPECT_THAT(taken(), ElementsAre("failure a#1 x1", "recovery a#4 x3"));
}

TEST_F(NoticeRulesTest, AJobThatFailsEachOtherSecondIsToldOnceAMinute) {
  for (int i = 0; i < 120; ++i) {
    end(i % 2 == 0 ? RunState::Failed : RunState::Succeeded);
    now = now + 1s;
    poll();
  }
  EXPECT_THAT(sent, SizeIs(testing::Le(6)));
  EXPECT_THAT(sent, testing::Contains(StartsWith("recovery")));
}

TEST_F(NoticeRulesTest, AFailureBeforeTheStartMakesTheNextSuccessARecovery) {
  rules().failed_before("a");
  end(RunState::Succeeded);
  EXPECT_THAT(taken(), ElementsAre("recovery a#1 x1"));
}

TEST_F(NoticeRulesTest, OnlyItsEventsAndItsJobsAreTold) {
  choice.events = {"recovery"};
  choice.jobs = "db/*";
  end(RunState::Failed, "db/x");
  end(RunState::Failed, "web");
  end(RunState::Succeeded, "web");
  end(RunState::Succeeded, "db/x");
  EXPECT_THAT(taken(), ElementsAre("recovery db/x#4 x1"));
}

TEST_F(NoticeRulesTest, JobsOfNotificationsTellOfNothing) {
  end(RunState::Failed, std::string{kNotifyPrefix} + "n");
  EXPECT_THAT(taken(), IsEmpty());
}

TEST_F(NoticeRulesTest, ARunThatHasNotBegunAfterTheTimeIsLateOnce) {
  waiting = {due_run(1), due_run(2)};
  for (const JobRun& run : waiting) rules().due(run, now, wall());
  rules().due(due_run(3), now, wall());  // It begins in time.
  now = now + 299s;
  poll();
  EXPECT_THAT(taken(), IsEmpty());
  now = now + 1s;
  poll();
  EXPECT_THAT(taken(), ElementsAre("late a#1 300s"));
  now = now + 60s;
  poll();
  EXPECT_THAT(taken(), ElementsAre("late a#2 300s"));
}

TEST_F(NoticeRulesTest, ARunThatIsFoundTooLateIsLateNow) {
  JobRun run = due_run(1);
  now = now + 3600s;
  rules().due(run, now, wall());
  EXPECT_THAT(taken(), ElementsAre("late a#1 3600s"));
  run.id = 2;
  run.attempt = 1;
  rules().due(run, now + 60s, wall());
  run = due_run(3);
  run.worker = "web-1";
  run.due = WallTime{};
  rules().due(run, now + 60s, wall());
  EXPECT_THAT(taken(), IsEmpty()) << "a retry, and a run that a worker had before a restart";
}

TEST_F(NoticeRulesTest, ARunThatHasEndedIsNotLate) {
  waiting = {due_run(1)};
  rules().due(waiting[0], now, wall());
  JobRun ended = waiting[0];
  ended.state = RunState::Succeeded;
  rules().ended(ended, now);
  now = now + 1000s;
  poll();
  EXPECT_THAT(taken(), IsEmpty());
}

TEST(NoticeRules, JobsAreBounded) {
  std::size_t sent = 0;
  NoticeRules rules(NotifyChoice{}, [&sent](const Notice&) { ++sent; });
  for (std::size_t i = 0; i <= limits::kNotifyJobs; ++i)
    rules.ended({.job = "j" + std::to_string(i), .state = RunState::Failed}, Instant{} + 1s);
  EXPECT_EQ(sent, limits::kNotifyJobs);
  EXPECT_EQ(rules.dropped(), 1U);
}

class OutboxTest : public testing::Test {
 protected:
  void add(std::int64_t run, std::size_t target = 0) { outbox.add(target, {.run = {.id = run}}); }
  /// The runs of the notices whose sending begins now.
  std::vector<std::int64_t> begun() {
    begun_.clear();
    outbox.poll();
    return begun_;
  }
  void end(const Status& why) { std::exchange(open, {}).front()(why); }

  Instant now = Instant{} + 1s;
  std::vector<Outbox::Done> open;
  std::vector<std::int64_t> begun_;
  std::vector<std::string> given_up;
  Outbox outbox{[this] { return now; },
                [this](std::size_t, const Notice& notice, Outbox::Done done) {
                  begun_.push_back(notice.run.id);
                  open.push_back(std::move(done));
                },
                [this](std::size_t, const Notice& notice, const Status& why) {
                  given_up.push_back(std::to_string(notice.run.id) + " " + why.to_string());
                }};
};

TEST_F(OutboxTest, ATargetThatFailsIsTriedAgainWithGrowingPausesAndGivenUp) {
  add(7);
  std::vector<std::int64_t> pauses;
  Instant last = now;
  for (; given_up.empty(); now = now + 1s) {
    if (begun().empty()) continue;
    pauses.push_back((now - last) / 1s);
    last = now;
    end({StatusCode::Unavailable, "dead"});
  }
  EXPECT_THAT(pauses, ElementsAre(0, 1, 10, 60, 300));
  EXPECT_THAT(given_up, ElementsAre("7 unavailable: dead"));
  EXPECT_EQ(outbox.figures().given_up, 1U);
  EXPECT_EQ(outbox.figures().waiting, 0U);
}

TEST_F(OutboxTest, WhatHasArrivedIsSentNoMore) {
  add(1);
  EXPECT_THAT(begun(), ElementsAre(1));
  EXPECT_THAT(begun(), IsEmpty()) << "it is under way";
  end({});
  now = now + 1000s;
  EXPECT_THAT(begun(), IsEmpty());
  EXPECT_EQ(outbox.figures().sent, 1U);
}

TEST_F(OutboxTest, ASlowTargetDoesNotHoldUpTheOthers) {
  for (std::int64_t run = 1; run <= 6; ++run) add(run);
  add(7, 1);
  EXPECT_THAT(begun(), ElementsAre(1, 2, 3, 4, 7));
}

TEST_F(OutboxTest, AnEndThatComesAfterTheOutboxIsIgnored) {
  Outbox::Done late;
  {
    Outbox other([this] { return now; }, [&late](std::size_t, const Notice&, Outbox::Done done) { late = std::move(done); }, {});
    other.add(0, {});
    other.poll();
  }
  late({StatusCode::Unavailable, "late"});
  EXPECT_THAT(given_up, IsEmpty());
}

TEST(Outbox, TheOldestIsDroppedAtTheLimit) {
  std::vector<std::int64_t> begun;
  Outbox outbox([] { return Instant{}; },
                [&begun](std::size_t, const Notice& notice, const Outbox::Done&) { begun.push_back(notice.run.id); }, {});
  for (std::size_t i = 0; i < limits::kNotices + 3; ++i) outbox.add(0, {.run = {.id = static_cast<std::int64_t>(i)}});
  EXPECT_EQ(outbox.figures().waiting, limits::kNotices);
  EXPECT_EQ(outbox.figures().dropped, 3U);
  outbox.poll();
  EXPECT_THAT(begun, ElementsAre(3, 4, 5, 6));
}

Notice failure_of(const std::string& note) {
  return {.event = Event::Failure,
          .run = {.id = 12, .job = "nightly", .state = RunState::Failed, .attempt = 3, .ended = WallTime{}, .note = note},
          .failures = 2,
          .more = 5};
}

TEST(Notice, AMailHasNoLineOfAJobInItsHeader) {
  Notice notice = failure_of("x\r\nBcc: thief@example.org\r\n\r\n.\r\nQUIT");
  notice.run.job = "a\r\nBcc: thief@example.org";  // No job has such a name.
  const std::string mail = mail_of(notice, "host", "rondo@example.org", {"a@example.org", "b@example.org"}, WallTime{});
  const std::size_t body = mail.find("\r\n\r\n");
  const std::string header = mail.substr(0, body + 2);
  EXPECT_THAT(header, Not(HasSubstr("\nBcc")));
  EXPECT_THAT(header, AllOf(HasSubstr("To: a@example.org, b@example.org\r\n"), HasSubstr("Date: Thu, 1 Jan 1970 00:00:00 +0000\r\n")));
  EXPECT_EQ(std::count(header.begin(), header.end(), '\n'), 9);
  EXPECT_EQ(mail.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=\r\n", body), std::string::npos);
  std::size_t line = 0;
  for (std::size_t at = 0; at < mail.size(); at = line + 2) {
    line = mail.find("\r\n", at);
    ASSERT_NE(line, std::string::npos) << "each line ends";
    EXPECT_LE(line - at, 200U);
  }
}

TEST(Notice, JsonHasTheRun) {
  const json::object all = json::parse(json_of(failure_of("exit \x01 status 9"), "host")).as_object();
  EXPECT_EQ(all.at("event"), "failure");
  EXPECT_EQ(all.at("job"), "nightly");
  EXPECT_EQ(all.at("run"), 12);
  EXPECT_EQ(all.at("failures"), 2);
  EXPECT_EQ(all.at("more"), 5);
  EXPECT_EQ(all.at("note"), "exit \\x01 status 9");
}

std::string refusal(const std::string& section) {
  const auto config = parse_config("[jobs]\nenabled = true\n" + section, "f");
  return config ? "accepted" : std::string{config.error().message()};
}

TEST(Notify, SectionsAreChecked) {
  const std::string hook = "[[notify]]\nname = \"a\"\ntarget = \"http://a\"\n";
  const std::string mail = "[[notify]]\nname = \"a\"\nkind = \"mail\"\ntarget = \"smtp://a\"\nfrom = \"r@a\"\nto = [\"p@a\"]\n";
  EXPECT_EQ(refusal(hook), "accepted");
  EXPECT_EQ(refusal(mail), "accepted");
  EXPECT_EQ(refusal("[[notify]]\nname = \"a\"\nkind = \"command\"\ntarget = \"page\"\n"), "accepted");
  EXPECT_THAT(refusal(hook + hook), HasSubstr("f:6: notify.name is that of another section"));
  EXPECT_THAT(refusal(hook + "events = [\"ok\"]\n"), HasSubstr("notify.events must have some of"));
  EXPECT_THAT(refusal(hook + "events = []\n"), HasSubstr("notify.events must have some of"));
  EXPECT_THAT(refusal(hook + "jobs = \"" + std::string(limits::kNotifyPattern + 1, 'x') + "\"\n"),
              HasSubstr("notify.jobs must be a pattern"));
  EXPECT_THAT(refusal(hook + "networks = [\"x\"]\n"), HasSubstr("notify.networks names no network"));
  EXPECT_THAT(refusal(hook + "tokn = 1\n"), HasSubstr("notify.tokn is not an option"));
  EXPECT_THAT(refusal("[[notify]]\nname = \"a b\"\ntarget = \"http://a\"\n"), HasSubstr("notify.name must have"));
  EXPECT_THAT(refusal("[[notify]]\nname = \"a\"\ntarget = \"ftp://a\"\n"), HasSubstr("notify.target must be the URL"));
  EXPECT_THAT(refusal("[[notify]]\nname = \"a\"\nkind = \"command\"\ntarget = \"/bin/sh\"\n"),
              HasSubstr("the name of a command of workers"));
  EXPECT_THAT(refusal("[[notify]]\nname = \"a\"\nkind = \"mail\"\ntarget = \"smtp://a\"\n"), HasSubstr("notify.from must be an address"));
  EXPECT_THAT(refusal(mail + "user = \"u\"\n"), HasSubstr("notify.user and secret_file need each other"));
  for (const char* const wrong : {"p@a\\r\\nDATA", "p@a>", "p", "@a", "p@", "a@b,c@d"})
    EXPECT_THAT(refusal("[[notify]]\nname = \"a\"\nkind = \"mail\"\ntarget = \"smtp://a\"\nfrom = \"r@a\"\nto = [\"" + std::string{wrong} +
                        "\"]\n"),
                HasSubstr("notify.to must be a list of addresses"))
        << wrong;
  EXPECT_THAT(refusal("[notify]\nname = \"a\"\n"), HasSubstr("notify must be written as [[notify]]"));
  std::string many;
  for (std::size_t i = 0; i <= limits::kNotifyTargets; ++i)
    many += "[[notify]]\nname = \"a" + std::to_string(i) + "\"\ntarget = \"http://a\"\n";
  EXPECT_THAT(refusal(many), HasSubstr("is one too many"));
  const auto without = parse_config(hook, "f");
  EXPECT_FALSE(without.has_value());
  const auto config =
      parse_config("[jobs]\nenabled = true\n" + mail + "late_s = 7\n" + hook.substr(0, 11) + "name = \"b\"\ntarget = \"http://a\"\n", "f");
  ASSERT_TRUE(config.has_value()) << config.error().to_string();
  EXPECT_EQ(parse_config(to_toml(*config), "f")->notify, config->notify);
}

}  // namespace
}  // namespace rondo::daemon
