// Goal: after a gap the common part of the monitors reads the objects again, once in 50 ms, never before the socket is empty, and stops
// after eight failures. Method: simulated time, and a socket whose other end is the test; a malformed datagram makes the gap.
#include "dataplane/netlink/event_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "dataplane/netlink/fake_kernel.h"
#include "rondo/sched/sim_clock.h"
#include "sched/sim_reactor.h"

namespace rondo::netlink {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::uint16_t kType = 100;

/// Reports each sequence number that it did not know, as a monitor of objects does.
class NumberMonitor final : public EventMonitor<Source, int> {
 public:
  NumberMonitor(Scheduler& scheduler, Handler handler, Socket socket)
      : EventMonitor("number-monitor", "numbers", scheduler, Priority{50}, std::move(handler), std::move(socket)) {}
  using EventMonitor::start;

  Status answer;  // The answer to each resync.
  int resyncs = 0;
  int noticed = 0;
  int noticed_before_resync = 0;

 private:
  void notice(const Message& message) override {
    ++noticed;
    report(static_cast<int>(message.header.nlmsg_seq));
  }
  Status resync() override {
    ++resyncs;
    noticed_before_resync = noticed;
    return answer;
  }
};

class EventMonitorTest : public testing::Test {
 protected:
  EventMonitorTest() {
    Socket socket = kernel.socket();
    descriptor = socket.descriptor();
    monitor = std::make_unique<NumberMonitor>(
        scheduler, [this](const int& number) { seen.push_back(number); }, std::move(socket));
    EXPECT_TRUE(monitor->start().ok());
    scheduler.run_until_idle();
  }
  static std::vector<std::byte> message(std::uint32_t number) {
    std::vector<std::byte> buffer(64);
    MessageWriter writer{buffer};
    writer.begin(kType, 0, number, int{0});
    writer.end();
    buffer.resize(writer.bytes().size());
    return buffer;
  }
  void say(std::uint32_t number) { EXPECT_TRUE(kernel.queue(message(number))); }
  void break_off() {
    std::vector<std::byte> half = message(99);
    half.resize(half.size() - 4);
    EXPECT_TRUE(kernel.queue(half));
  }
  void deliver() {
    reactor.make_ready(descriptor);
    scheduler.wait(clock.now());
    scheduler.run_until_idle();
  }
  void pass(Duration time) {
    const Instant end = clock.now() + time;
    while (clock.now() < end) {
      scheduler.wait(end);
      scheduler.run_until_idle();
    }
  }

  SimClock clock;
  SimReactor reactor{clock};
  Scheduler scheduler{clock, reactor, make_policy(StrictPriority{}).value()};
  FakeKernel kernel;
  int descriptor = -1;
  std::vector<int> seen;
  std::unique_ptr<NumberMonitor> monitor;
};

TEST_F(EventMonitorTest, EventsAreDeliveredInOrderAndCauseNoResync) {
  for (std::uint32_t number : {1U, 2U, 3U}) say(number);
  deliver();
  EXPECT_THAT(seen, ElementsAre(1, 2, 3));
  EXPECT_EQ(monitor->resyncs, 0);
  EXPECT_FALSE(monitor->has_backlog());
}

TEST_F(EventMonitorTest, AfterAGapTheSocketIsEmptiedBeforeTheResync) {
  say(1);
  break_off();
  for (std::uint32_t number = 2; number < 12; ++number) say(number);
  deliver();
  EXPECT_EQ(monitor->resyncs, 1);
  EXPECT_EQ(monitor->noticed_before_resync, 11);
  EXPECT_EQ(seen.size(), 11U);
  EXPECT_EQ(monitor->turned_away(), 1U);
}

TEST_F(EventMonitorTest, AStormOfGapsCostsOneResyncIn50Milliseconds) {
  for (int i = 0; i < 20; ++i) {
    break_off();
    deliver();
  }
  EXPECT_EQ(monitor->resyncs, 1);
  EXPECT_FALSE(monitor->has_backlog()) << "the timer wakes it";
  pass(40ms);
  EXPECT_EQ(monitor->resyncs, 1);
  pass(20ms);
  EXPECT_EQ(monitor->resyncs, 2) << "the end of the storm is compared";
  pass(1s);
  EXPECT_EQ(monitor->resyncs, 2);
}

TEST_F(EventMonitorTest, AFailedResyncIsRepeatedUntilItSucceeds) {
  monitor->answer = Status{StatusCode::Unavailable, "busy"};
  break_off();
  deliver();
  pass(120ms);
  EXPECT_EQ(monitor->resyncs, 3);
  monitor->answer = Status{};
  pass(1s);
  EXPECT_EQ(monitor->resyncs, 4);
  EXPECT_TRUE(monitor->quarantine().ok());
}

TEST_F(EventMonitorTest, EightFailedResyncsQuarantineTheMonitorWithTheReason) {
  monitor->answer = Status{StatusCode::Unavailable, "busy"};
  break_off();
  deliver();
  pass(1s);
  EXPECT_EQ(monitor->resyncs, 8);
  EXPECT_THAT(monitor->quarantine().to_string(), HasSubstr("numbers could not be read again after a gap: "));
  EXPECT_THAT(seen, IsEmpty());
}

}  // namespace
}  // namespace rondo::netlink
