// Rondo: a source for each descriptor and an agent for each port, on one scheduler. A source with more to read returns Backlog::More; a
// message is sent by Address::post from any thread. A separate row uses a Mailbox, which relates to an agent as the others' own queues
// relate to their events: one type, one handler, no order with others of its priority, and no figures of each message.
#include <memory>
#include <utility>
#include <vector>

#include "peers/loop.h"
#include "peers/measure.h"
#include "rondo/message/agents.h"
#include "rondo/sched/mailbox.h"
#include "rondo/sched/scheduler.h"

namespace rondo::bench {

namespace {

constexpr std::size_t kMessagesMost = 4'000'000;
const SystemClock kClock;

class Descriptor final : public Source {
 public:
  Descriptor(Ready& ready, unsigned priority) : Source("descriptor", Priority{priority}), ready_(ready) {}
  Turn run(const Budget&) override { return {.items = 1, .backlog = ready_.read_and_take() ? Backlog::More : Backlog::Empty}; }

 private:
  Ready& ready_;
};

struct Letter {
  std::int64_t message;
};

class Inbox final : public Agent {
 public:
  Inbox(AgentGroup& group, Receiver& receiver, unsigned priority) : Agent(group, "inbox", Priority{priority}), receiver_(receiver) {
    receive<&Inbox::take>();
  }

 private:
  void take(const Letter& letter) { receiver_.take(letter.message); }
  Receiver& receiver_;
};

class AgentPort final : public Port {
 public:
  explicit AgentPort(Address address) : address_(std::move(address)) {}
  void send(std::int64_t message) override { post(message); }
  void send_here(std::int64_t message) override { post(message); }

 private:
  void post(std::int64_t message) {
    const Status posted = address_.post(Letter{message});
    if (!posted.ok()) [[unlikely]]
      fail(posted.to_string());
  }
  Address address_;
};

class MailboxPort final : public Port {
 public:
  MailboxPort(Scheduler& scheduler, Receiver& receiver, unsigned priority)
      : mailbox_(
            "inbox", Priority{priority}, [&receiver](std::int64_t message) { receiver.take(message); }, kMessagesMost) {
    scheduler.add(mailbox_);
  }
  void send(std::int64_t message) override { require(mailbox_.post(std::move(message)).ok(), "a mailbox is full"); }
  void send_here(std::int64_t message) override { send(message); }

 private:
  Mailbox<std::int64_t> mailbox_;
};

class RondoLoop final : public Loop {
 public:
  RondoLoop(const PolicyOptions& policy, bool mailboxes)
      : mailboxes_(mailboxes),
        reactor_(std::move(make_epoll_reactor().value())),
        scheduler_(kClock, *reactor_, std::move(make_policy(policy).value())) {}

  void watch(Ready& ready, unsigned priority) override {
    sources_.push_back(std::make_unique<Descriptor>(ready, priority));
    scheduler_.add(*sources_.back());
    const Status watched = reactor_->watch(ready.fd, Interest::Read, *sources_.back());
    if (!watched.ok()) fail(watched.to_string());
  }

  Port& open(Receiver& receiver, unsigned priority) override {
    if (mailboxes_) return *ports_.emplace_back(std::make_unique<MailboxPort>(scheduler_, receiver, priority));
    if (agents_ == nullptr) agents_ = std::make_unique<Agents>(scheduler_, AgentsOptions{.messages_max = kMessagesMost});
    Result<Address> address = agents_->make<Inbox>(receiver, priority);
    require(address.has_value(), "an agent could not be made");
    scheduler_.run_until_idle();  // The agent starts.
    return *ports_.emplace_back(std::make_unique<AgentPort>(std::move(*address)));
  }

  Promise promise(unsigned priority) const override {
    const PolicySettings& settings = scheduler_.policy().settings();
    double all = 0;
    for (unsigned p = 0; p < kPriorities; ++p) all += static_cast<double>(settings.budgets[p]);
    for (const auto& source : sources_) {
      if (source->priority() != Priority{priority}) continue;
      const Duration bound = scheduler_.bound(*source);
      if (bound == Duration::max()) return {};
      return {.share = static_cast<double>(settings.budgets[priority]) / all, .longest_wait = bound};
    }
    return {};
  }

 private:
  void run_until_done() override {
    // As Scheduler::run() does, which can be stopped only once.
    while (!done()) {
      if (scheduler_.run_until_idle(left()) == 0) scheduler_.wait(Instant::never());
    }
  }

  const bool mailboxes_;
  std::unique_ptr<Reactor> reactor_;
  Scheduler scheduler_;
  std::vector<std::unique_ptr<Descriptor>> sources_;
  std::vector<std::unique_ptr<Port>> ports_;
  std::unique_ptr<Agents> agents_;
};

Candidate ours(const char* name, unsigned works, bool strict, PolicyOptions policy, bool mailboxes = false) {
  return {name, Side::Ours, works, strict,
          [policy = std::move(policy), mailboxes](Threads) { return std::make_unique<RondoLoop>(policy, mailboxes); }};
}

}  // namespace

Candidates rondo_loops() {
  return {ours("Rondo, budgeted frames", kAll, false, BudgetedFrames{}), ours("Rondo, strict priority", kAll, true, StrictPriority{}),
          ours("Rondo, strictly ordered", kFlood | kStarvation, true, StrictlyOrdered{}),
          ours("Rondo, quoted round robin", kFlood | kStarvation, false, QuotedRoundRobin{}),
          ours("Rondo, mailbox", kHandOver, false, BudgetedFrames{}, true)};
}

}  // namespace rondo::bench
