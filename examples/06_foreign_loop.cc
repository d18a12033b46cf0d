// Agents in a program that already has an event loop, here systemd's sd-event. That loop waits, and runs our scheduler when our descriptor
// is readable or our next timer is due. No additional thread, no busy polling.
#include <systemd/sd-event.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "rondo/base/clock.h"
#include "rondo/message/agents.h"
#include "rondo/sched/scheduler.h"

using namespace rondo;

// region: bridge
/// Runs a scheduler in an sd-event loop.
class Bridge {
 public:
  Bridge(sd_event* loop, Scheduler& scheduler, Reactor& reactor) : scheduler_(scheduler) {
    if (sd_event_add_io(loop, &io_, reactor.wait_descriptor(), EPOLLIN, &Bridge::on_readable, this) < 0) return;
    if (sd_event_add_time(loop, &timer_, CLOCK_MONOTONIC, 0, 1, &Bridge::on_time, this) < 0) return;
    // Called each time before the loop waits.
    ok_ = sd_event_source_set_prepare(io_, &Bridge::before_wait) >= 0;
  }
  ~Bridge() {
    sd_event_source_unref(timer_);
    sd_event_source_unref(io_);
  }
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;
  bool ok() const { return ok_; }

 private:
  static int before_wait(sd_event_source*, void* self) {
    auto& bridge = *static_cast<Bridge*>(self);
    const Instant until = bridge.scheduler_.before_foreign_wait();
    const auto microseconds = static_cast<std::uint64_t>(until.nanoseconds() / 1000 + 1);  // Rounded up: never early.
    const int set = sd_event_source_set_time(bridge.timer_, microseconds);
    return set < 0 ? set : sd_event_source_set_enabled(bridge.timer_, SD_EVENT_ONESHOT);
  }
  static int on_readable(sd_event_source*, int, std::uint32_t, void* self) { return static_cast<Bridge*>(self)->give_turns(); }
  static int on_time(sd_event_source*, std::uint64_t, void* self) { return static_cast<Bridge*>(self)->give_turns(); }
  int give_turns() {
    // After 1,000 turns the other sources of the loop run; before_foreign_wait() reports the remaining work.
    for (int turns = 0; turns < 1000 && !scheduler_.stopping(); ++turns) {
      if (!scheduler_.turn()) break;
    }
    return scheduler_.stopping() ? sd_event_exit(sd_event_source_get_event(io_), 0) : 0;  // An agent or other code has called stop().
  }
  Scheduler& scheduler_;
  sd_event_source* io_ = nullptr;
  sd_event_source* timer_ = nullptr;
  bool ok_ = false;
};
// endregion

struct Greeting {
  int number = 0;
};

class Greeter final : public Agent {
 public:
  explicit Greeter(AgentGroup& group) : Agent(group, "greeter", Priority::p3) {
    receive<&Greeter::greet>();
    receive<&Greeter::tick>();
  }
  int greetings = 0;
  int ticks = 0;

 private:
  struct Tick {};
  void on_start() override { timer_ = send_every(address(), Tick{}, 5ms); }
  void greet(const Greeting&) {
    ++greetings;
    end_if_done();
  }
  void tick(const Tick&) {
    ++ticks;
    end_if_done();
  }
  void end_if_done() {
    if (greetings == 100 && ticks >= 3) scheduler().stop();
  }
  TimedMessage timer_;
};

int main() {
  sd_event* loop = nullptr;
  if (sd_event_new(&loop) < 0) return 1;
  int result = 1;
  {
    const SystemClock clock;
    const auto reactor = std::move(make_epoll_reactor().value());
    Scheduler scheduler(clock, *reactor, std::move(make_policy(StrictPriority{}).value()));
    Agents agents(scheduler);
    Greeter* greeter = nullptr;
    const Result<GroupId> added = agents.add([&](AgentGroup& group) {
      greeter = &group.make<Greeter>();
      return Status{};
    });
    const Bridge bridge(loop, scheduler, *reactor);
    if (!added || !bridge.ok()) return 1;
    std::thread elsewhere([to = greeter->address()] {
      for (int number = 0; number < 100; ++number) {
        if (!to.post(Greeting{number}).ok()) std::printf("a greeting was refused\n");
      }
    });
    result = sd_event_loop(loop);
    elsewhere.join();
    std::printf("%d greetings, %d ticks\n", greeter->greetings, greeter->ticks);
  }
  sd_event_unref(loop);
  return result;
}
