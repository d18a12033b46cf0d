// Notifier: tells the targets of [[notify]] what becomes of runs of jobs. NoticeRules decides what is sent, Outbox when; mail and webhooks
// leave by a NoticeSender, and a command is a run of a job that the Notifier defines, at a worker that offers it. Nothing waits for a
// target. Scheduler thread only.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "rondo/admin/command.h"
#include "rondo/jobs/jobs.h"
#include "rondo/orch/runtime.h"
#include "rondod/configuration/notify_choice.h"
#include "rondod/notify/notice_rules.h"
#include "rondod/notify/outbox.h"
#include "rondod/notify/sender.h"

namespace rondo::daemon {

class Notifier {
 public:
  /// Reads the secrets, and defines the jobs of commands. Call it before Jobs::start(). The parameters must outlive it. Errors: a secret
  /// that cannot be read; those of open_notice_sender().
  static Result<std::unique_ptr<Notifier>> open(const std::vector<NotifyChoice>& choices, Runtime& runtime, jobs::Jobs& jobs, Log& log);
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void ended(const jobs::JobRun& run);
  /// The newest stored runs of a job, the newest first.
  void stored(const std::string& job, const std::vector<jobs::JobRun>& runs);
  /// Sends what is due. Called every second.
  void poll();
  /// `job-notify`.
  Status add_commands(CommandRegistry& registry);
  void add_stats(boost::json::object& stats) const;

 private:
  /// A test whose run of a command has not ended.
  struct WaitingTest {
    std::function<void(const Status& why)> done;
    Instant until;
  };
  struct Test;

  Notifier(Runtime& runtime, jobs::Jobs& jobs, Log& log);
  Status add(const NotifyChoice& choice);
  void define_job(const NotifyChoice& choice);
  void due(const jobs::JobRun& run);
  const jobs::JobRun* waiting(std::int64_t run) const;
  void send(std::size_t target, const Notice& notice, Outbox::Done done);
  /// Adds a run of the command. Calls 'triggered' with the run.
  void run_command(std::size_t target, const Notice& notice, jobs::Jobs::Done<jobs::JobRun> triggered);
  void test(const Arguments& arguments, Reply reply);
  void test_one(std::size_t target, std::function<void(const Status& why)> done);
  void end_late_tests();

  Runtime& runtime_;
  jobs::Jobs& jobs_;
  Log& log_;
  std::deque<NotifyTarget> targets_;
  std::deque<NoticeRules> rules_;  // One for each target.
  std::map<std::int64_t, WaitingTest> tests_;
  std::unique_ptr<Outbox> outbox_;
  std::unique_ptr<NoticeSender> sender_;  // Null if there are only commands. It ends before what its answers use.
  /// For answers that come later: it is gone with the Notifier.
  std::shared_ptr<Notifier*> self_ = std::make_shared<Notifier*>(this);
};

}  // namespace rondo::daemon
