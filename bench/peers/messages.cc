// Messages. On the loop's own thread: a handler queues a million for eight priorities, which are then handled, highest first; and one
// message that sends itself again; processor time. From another thread: a producer that never pauses sends to the loop; elapsed time.
#include <array>
#include <atomic>
#include <cstdio>
#include <memory>
#include <thread>
#include <vector>

#include "peers/measure.h"
#include "peers/works.h"

namespace rondo::bench {

namespace {

constexpr std::uint64_t kMessages = 1'000'000;

/// Counts messages, and sends further ones up to a given number.
class Counter final : public Receiver {
 public:
  explicit Counter(Loop& loop, unsigned priority, unsigned& previous, std::uint64_t& steps_up)
      : loop_(loop), priority_(priority), previous_(previous), steps_up_(steps_up) {}
  void take(std::int64_t message) override {
    sum += static_cast<std::uint64_t>(message);
    ++handled;
    if (priority_ > previous_) ++steps_up_;
    previous_ = priority_;
    if (sends_left > 0) {
      --sends_left;
      port->send_here(1);
    }
    loop_.count();
  }
  Port* port = nullptr;
  std::uint64_t sum = 0;
  std::uint64_t handled = 0;
  std::uint64_t sends_left = 0;

 private:
  Loop& loop_;
  const unsigned priority_;
  unsigned& previous_;
  std::uint64_t& steps_up_;
};

struct Stage {
  Stage(const Candidate& candidate, Threads threads) : loop(candidate.make(threads)) {
    for (unsigned priority = 0; priority < kPriorities; ++priority) {
      counters[priority] = std::make_unique<Counter>(*loop, priority, previous, steps_up);
      counters[priority]->port = &loop->open(*counters[priority], priority);
    }
  }
  /// Checks that 'wanted' messages arrived and that their numbers add up to the given sum.
  void check(const Candidate& candidate, std::uint64_t wanted, std::uint64_t wanted_sum) const {
    std::uint64_t handled = 0;
    std::uint64_t sum = 0;
    for (const auto& counter : counters) {
      handled += counter->handled;
      sum += counter->sum;
    }
    require(handled == wanted && sum == wanted_sum, candidate.name + " handled other messages than were sent");
  }
  unsigned previous = kPriorities;
  std::uint64_t steps_up = 0;
  std::array<std::unique_ptr<Counter>, kPriorities> counters;
  std::unique_ptr<Loop> loop;
};

/// Sends a million messages from its handler.
class Queueing final : public Receiver {
 public:
  explicit Queueing(Stage& stage) : stage_(stage) {}
  void take(std::int64_t) override {
    const Instant begin = spent();
    for (std::uint64_t i = 0; i < kMessages; ++i) stage_.counters[i % kPriorities]->port->send_here(static_cast<std::int64_t>(i));
    queued_at = spent();
    queueing = queued_at - begin;
    stage_.previous = kPriorities;
    stage_.steps_up = 0;
    stage_.loop->count();
  }
  Instant queued_at;
  Duration queueing{0};

 private:
  Stage& stage_;
};

/// Nanoseconds to queue a message, and to handle it.
std::vector<double> queued_then_handled(const Candidate& candidate) {
  Stage stage(candidate, Threads::One);
  Queueing queueing(stage);
  Port& port = stage.loop->open(queueing, kPriorities - 1);
  // The first round allocates the places that the second one uses, in every loop that keeps any.
  Duration handling{0};
  for (const std::uint64_t times : {1U, 2U}) {
    port.send_here(1);
    stage.loop->run(kMessages + 1);
    handling = spent() - queueing.queued_at;
    stage.check(candidate, times * kMessages, times * (kMessages * (kMessages - 1) / 2));
    require(!candidate.strict || stage.steps_up == 0, candidate.name + " did not keep the order that it promises");
  }
  return {nanoseconds_each(queueing.queueing, kMessages), nanoseconds_each(handling, kMessages)};
}

double self_send(const Candidate& candidate) {
  Stage stage(candidate, Threads::One);
  Counter& counter = *stage.counters[3];
  counter.sends_left = kMessages;
  counter.port->send_here(1);
  const Instant begin = spent();
  stage.loop->run(kMessages + 1);
  const Duration time = spent() - begin;
  stage.check(candidate, kMessages + 1, kMessages + 1);
  return nanoseconds_each(time, kMessages);
}

/// Nanoseconds a message, from the first post to the last handler.
double from_another_thread(const Candidate& candidate) {
  Stage stage(candidate, Threads::Several);
  Port& port = *stage.counters[3]->port;
  std::atomic<bool> go{false};
  std::thread producer([&] {
    stay_on(1);
    while (!go.load()) {
    }
    for (std::uint64_t i = 0; i < kMessages; ++i) port.send(1);
  });
  const Instant begin = now();
  go.store(true);
  stage.loop->run(kMessages);
  const Duration time = now() - begin;
  producer.join();
  stage.check(candidate, kMessages, kMessages);
  return nanoseconds_each(time, kMessages);
}

}  // namespace

void local_messages(const Settings& settings) {
  std::printf(
      "Messages on the loop's own thread, ns of processor time, best of %d: a handler queues a million for eight priorities, which\n",
      settings.rounds);
  std::printf("are handled then; and one message sends itself again a million times.\n");
  const Candidates all = chosen(kLocal, settings);
  Table table(all, {{"queue", 1}, {"handle", 1}, {"self-send", 1}});
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t row = 0; row < all.size(); ++row) {
      table.add(row, in_own_process([&] {
                  std::vector<double> figures = queued_then_handled(all[row]);
                  figures.push_back(self_send(all[row]));
                  return figures;
                }));
    }
  }
  table.print();
}

void hand_over(const Settings& settings) {
  std::printf(
      "A message from another thread that sends a million, elapsed ns from the first to the last handler, best of %d. sd-event and\n",
      settings.rounds);
  std::printf(
      "rows with a queue of their own: a vector behind a mutex, emptied by one handler; what is more urgent waits for all of it.\n");
  const Candidates all = chosen(kHandOver, settings);
  Table table(all, {{"hand-over", 1}});
  for (int round = 0; round < settings.rounds; ++round) {
    for (std::size_t row = 0; row < all.size(); ++row) {
      table.add(row, in_own_process([&] { return std::vector<double>{from_another_thread(all[row])}; }));
    }
  }
  table.print();
}

}  // namespace rondo::bench
