#include "rondod/notify/notifier.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <utility>

#include "base/bounded_file.h"
#include "commands/answers.h"
#include "jobs/jobs_view.h"
#include "jobs/remote_runs.h"
#include "rondod/configuration/notify_section.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using commands::sentence;
using commands::text;

constexpr std::size_t kSecretBytes = 4096;
constexpr Duration kTestOfCommand = 20s;  // For the end of its run. `rondo` waits longer for the answer.

std::string job_of(const NotifyChoice& choice) { return std::string{kNotifyPrefix} + choice.name; }

/// The first line of a file.
Result<std::string> read_secret(const std::string& path) {
  const Result<std::string> text = read_bounded_file(path, "the secret", kSecretBytes, Pipes::Refuse);
  if (!text) return failure(text.error());
  std::string secret = text->substr(0, text->find_first_of("\r\n"));
  const bool is_plain = std::ranges::all_of(secret, [](char c) { return c >= ' ' && c <= '~'; });
  if (!secret.empty() && is_plain) return secret;
  return failure(StatusCode::InvalidArgument, "the first line of '" + path + "' is " +
                                                  (secret.empty() ? "empty" : "no secret: it has other characters than printable ASCII"));
}

}  // namespace

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data() : "localhost";
}

/// The answer of job-notify, which waits for its targets.
struct Notifier::Test {
  explicit Test(Reply to) : reply(std::move(to)) {}
  void ended(const NotifyTarget& target, const Status& why) {
    json::object row{{"name", text(target.choice.name)}, {"kind", to_string(target.choice.kind)}, {"target", text(target.choice.target)}};
    row["arrived"] = why.ok();
    if (!why.ok()) row["why"] = sentence(why.message());
    reply.row(std::move(row));
    if (--open == 0) reply.finish();
  }
  Reply reply;
  std::size_t open = 0;
};

Notifier::Notifier(Runtime& runtime, jobs::Jobs& jobs, Log& log)
    : runtime_(runtime),
      jobs_(jobs),
      log_(log),
      outbox_(std::make_unique<Outbox>(
          [this] { return runtime_.scheduler().now(); },
          [this](std::size_t target, const Notice& notice, Outbox::Done done) { send(target, notice, std::move(done)); },
          [this](std::size_t target, const Notice& notice, const Status& why) {
            log_.warn("a notification was not delivered", {{"notify", targets_[target].choice.name},
                                                           {"event", to_string(notice.event)},
                                                           {"job", notice.run.job},
                                                           {"run", notice.run.id},
                                                           {"why", why}});
          })) {}

Result<std::unique_ptr<Notifier>> Notifier::open(const std::vector<NotifyChoice>& choices, Runtime& runtime, jobs::Jobs& jobs, Log& log) {
  std::unique_ptr<Notifier> notifier{new Notifier(runtime, jobs, log)};
  for (const NotifyChoice& choice : choices) {
    if (Status wrong = notifier->add(choice); !wrong.ok()) return failure(wrong.with_context("notify '" + choice.name + "'"));
  }
  const auto has_event = [](const NotifyChoice& choice) { return std::ranges::find(choice.events, "late") != choice.events.end(); };
  if (std::ranges::any_of(choices, has_event)) jobs.on_due([of = notifier.get()](const jobs::JobRun& run) { of->due(run); });
  return notifier;
}

Status Notifier::add(const NotifyChoice& choice) {
  NotifyTarget target{.choice = choice};
  if (!choice.secret_file.empty()) {
    Result<std::string> secret = read_secret(choice.secret_file);
    if (!secret) return secret.error();
    target.secret = *std::move(secret);
  }
  for (const std::string& network : choice.networks) target.networks.push_back(Prefix::parse(network).value());
  if (choice.kind == NotifyKind::Command) define_job(choice);
  if (choice.kind != NotifyKind::Command && sender_ == nullptr) {
    auto opened = open_notice_sender(runtime_);
    if (!opened) return opened.error();
    sender_ = *std::move(opened);
  }
  const std::size_t place = targets_.size();
  targets_.push_back(std::move(target));
  rules_.emplace_back(choice, [this, place](Notice notice) { outbox_->add(place, std::move(notice)); });
  return {};
}

void Notifier::define_job(const NotifyChoice& choice) {
  jobs::Job job{.name = job_of(choice), .handler = "command/" + choice.target};
  job.overlap = jobs::Overlap::Concurrent;
  job.concurrency = 4;
  job.retries = 3;
  job.backoff = 5s;
  job.note = "rondod defines it for [[notify]] of its configuration";
  jobs_.define(std::move(job), [this, name = choice.name](const Result<jobs::StoredJob>& stored) {
    if (!stored) log_.error("the job of a notification cannot be stored", {{"notify", name}, {"why", stored.error()}});
  });
}

void Notifier::due(const jobs::JobRun& run) {
  for (NoticeRules& rules : rules_) rules.due(run, runtime_.scheduler().now(), runtime_.clock().wall_now());
}

void Notifier::ended(const jobs::JobRun& run) {
  for (NoticeRules& rules : rules_) rules.ended(run, runtime_.scheduler().now());
  const auto test = tests_.extract(run.id);
  if (test.empty()) return;
  const bool has_arrived = run.state == jobs::RunState::Succeeded;
  test.mapped().done(has_arrived
                         ? Status{}
                         : Status{StatusCode::FailedPrecondition, "the run " + std::to_string(run.id) + " of its command ended as " +
                                                                      std::string{to_string(run.state)} + ": " + run.note});
}

void Notifier::stored(const std::string& job, const std::vector<jobs::JobRun>& runs) {
  const auto has_result = [](const jobs::JobRun& run) {
    return run.state == jobs::RunState::Succeeded || run.state == jobs::RunState::Failed || run.state == jobs::RunState::TimedOut;
  };
  const auto newest = std::ranges::find_if(runs, has_result);
  if (newest == runs.end() || newest->state == jobs::RunState::Succeeded) return;
  for (NoticeRules& rules : rules_) rules.failed_before(job);
}

const jobs::JobRun* Notifier::waiting(std::int64_t run) const {
  const auto activity = jobs::JobsView(jobs_).activity(run);
  const jobs::JobRun* const row = jobs::RemoteRuns(jobs_).find(run);
  const bool waits = activity && activity->stage <= jobs::RunActivity::Stage::Waiting && row != nullptr && row->attempt == 0;
  return waits ? row : nullptr;
}

void Notifier::poll() {
  for (NoticeRules& rules : rules_)
    rules.poll(runtime_.scheduler().now(), runtime_.clock().wall_now(), [this](std::int64_t run) { return waiting(run); });
  outbox_->poll();
  end_late_tests();
}

void Notifier::send(std::size_t target, const Notice& notice, Outbox::Done done) {
  if (targets_[target].choice.kind != NotifyKind::Command) return sender_->send(targets_[target], notice, std::move(done));
  // The run is stored, and has the retries of its job: the rest is not the matter of the Outbox.
  run_command(target, notice, [done = std::move(done)](const Result<jobs::JobRun>& run) { done(run ? Status{} : run.error()); });
}

void Notifier::run_command(std::size_t target, const Notice& notice, jobs::Jobs::Done<jobs::JobRun> triggered) {
  jobs_.trigger(job_of(targets_[target].choice), {.parameters = json_of(notice, host_name())}, std::move(triggered));
}

Status Notifier::add_commands(CommandRegistry& registry) {
  return registry.add({.name = "job-notify",
                       .help = "Send a test to the targets of notifications",
                       .arguments = {{"name", ArgumentKind::Text, false, "Only to this one"}}},
                      [this](const Arguments& arguments, Reply reply) { test(arguments, std::move(reply)); });
}

void Notifier::test(const Arguments& arguments, Reply reply) {
  const std::string name = arguments.text("name");
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    if (name.empty() || targets_[i].choice.name == name) places.push_back(i);
  }
  if (places.empty()) {
    return reply.fail({StatusCode::NotFound, name.empty() ? "the configuration of rondod has no section [[notify]]"
                                                          : "the configuration of rondod has no [[notify]] with the name '" + name + "'"});
  }
  reply.expect_rows();
  const auto test = std::make_shared<Test>(std::move(reply));
  test->open = places.size();
  for (const std::size_t place : places)
    test_one(place, [test, &target = targets_[place]](const Status& why) { test->ended(target, why); });
}

void Notifier::test_one(std::size_t target, std::function<void(const Status& why)> done) {
  Notice notice{.event = Event::Test};
  if (targets_[target].choice.kind != NotifyKind::Command) return sender_->send(targets_[target], notice, std::move(done));
  run_command(target, notice, [weak = std::weak_ptr<Notifier*>(self_), done = std::move(done)](const Result<jobs::JobRun>& run) {
    const auto notifier = weak.lock();
    if (!run || notifier == nullptr) return done(run ? Status{StatusCode::Cancelled, "rondod ends"} : run.error());
    (*notifier)->tests_.emplace(run->id, WaitingTest{done, (*notifier)->runtime_.scheduler().now() + kTestOfCommand});
  });
}

void Notifier::end_late_tests() {
  const Instant now = runtime_.scheduler().now();
  for (auto at = tests_.begin(); at != tests_.end();) {
    if (now < at->second.until) {
      ++at;
      continue;
    }
    const auto activity = jobs::JobsView(jobs_).activity(at->first);
    const std::string what = activity ? ": it " + activity->text : std::string{};
    at->second.done({StatusCode::DeadlineExceeded, "the run " + std::to_string(at->first) + " of its command has not ended after " +
                                                       std::to_string(kTestOfCommand / 1s) + " s" + what});
    at = tests_.erase(at);
  }
}

void Notifier::add_stats(json::object& stats) const {
  if (targets_.empty()) return;
  const OutboxFigures figures = outbox_->figures();
  std::uint64_t dropped = figures.dropped;
  for (const NoticeRules& rules : rules_) dropped += rules.dropped();
  stats["notify"] =
      json::object{{"sent", figures.sent}, {"given_up", figures.given_up}, {"dropped", dropped}, {"waiting", figures.waiting}};
}

}  // namespace rondo::daemon
