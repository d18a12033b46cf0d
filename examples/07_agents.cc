// A stream of tasks, and a new configuration that must not wait behind them: an urgent and a less urgent agent on one scheduler. They share
// data without a lock because they share a thread. It is the example of SObjectizer's priority dispatchers. A third agent subscribes to a
// topic, and a timer produces the tasks.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "rondo/base/clock.h"
#include "rondo/message/agents.h"
#include "rondo/sched/scheduler.h"

using namespace rondo;

// region: messages
struct TakeJob {
  int number = 0;
};
struct NewConfig {
  std::string name;
};
struct JobDone {
  int number = 0;
  std::string config;
};
// endregion

/// Data of both agents. They share a thread, so it needs no lock.
struct Shared {
  std::string config = "first";
  Topic<JobDone> done;
};

// region: agents
class Configurator final : public Agent {
 public:
  Configurator(AgentGroup& group, std::shared_ptr<Shared> shared) : Agent(group, "configurator", Priority::p1), shared_(std::move(shared)) {
    receive<&Configurator::configure>();
  }

 private:
  void configure(const NewConfig& config) { shared_->config = config.name; }
  std::shared_ptr<Shared> shared_;
};

class JobTaker final : public Agent {
 public:
  JobTaker(AgentGroup& group, std::shared_ptr<Shared> shared) : Agent(group, "jobs", Priority::p0), shared_(std::move(shared)) {
    limit<TakeJob>({.most = 100, .overflow = Overflow::Reject});  // Further senders get an error.
    receive<&JobTaker::take>();
  }

 private:
  void take(const TakeJob& job) { shared_->done.publish({job.number, shared_->config}); }
  std::shared_ptr<Shared> shared_;
};
// endregion

// region: topic
class Reporter final : public Agent {
 public:
  Reporter(AgentGroup& group, const Topic<JobDone>& done, int last) : Agent(group, "reporter", Priority::p3), last_(last) {
    if (!subscribe<&Reporter::job_done>(done).ok()) std::abort();  // Only a second handler for one topic is refused.
  }
  std::string report;

 private:
  void job_done(const JobDone& job) {
    report += std::to_string(job.number) + ":" + job.config + " ";
    if (job.number == last_) scheduler().stop();
  }
  const int last_;
};
// endregion

// region: timer
class Beat final : public Agent {
 public:
  Beat(AgentGroup& group, Address jobs) : Agent(group, "beat", Priority::p2), jobs_(std::move(jobs)) { receive<&Beat::tick>(); }

 private:
  struct Tick {};
  void on_start() override { timer_ = send_every(address(), Tick{}, 2ms); }
  void tick(const Tick&) {
    if (!jobs_.post(TakeJob{++number_}).ok()) --number_;  // Too many wait: retry at the next tick.
    if (number_ == 6) timer_.cancel();
  }
  Address jobs_;
  TimedMessage timer_;
  int number_ = 3;
};
// endregion

int main() {
  // region: main
  const SystemClock clock;
  const auto reactor = std::move(make_epoll_reactor().value());
  Scheduler scheduler(clock, *reactor, std::move(make_policy(StrictPriority{}).value()));
  Agents agents(scheduler, {.on_fault = [](const MessageFault& fault) { std::printf("%s threw\n", std::string{fault.agent}.c_str()); }});

  const auto shared = std::make_shared<Shared>(Shared{.done = agents.topic<JobDone>("job done")});
  Address jobs;
  Address configurator;
  Reporter* reporter = nullptr;
  const Result<GroupId> added = agents.add([&](AgentGroup& group) {  // All of them, or none.
    configurator = group.make<Configurator>(shared).address();
    jobs = group.make<JobTaker>(shared).address();
    reporter = &group.make<Reporter>(shared->done, 6);
    group.make<Beat>(jobs);
    return Status{};
  });
  if (!added) return 1;
  for (int number = 1; number <= 3; ++number) {
    if (!jobs.post(TakeJob{number}).ok()) return 1;
  }
  if (!configurator.post(NewConfig{"second"}).ok()) return 1;  // Sent last, handled first.
  scheduler.run();                                             // Until the reporter has received job 6.
  // endregion
  std::printf("%s\n", reporter->report.c_str());
  return reporter->report == "1:second 2:second 3:second 4:second 5:second 6:second " ? 0 : 1;
}
