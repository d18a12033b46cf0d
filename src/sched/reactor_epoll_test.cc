// The epoll reactor on real descriptors: edges, errors, reused numbers, deadlines and interrupts.
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "sched/reactor_event.h"
#include "sim/test_source.h"

namespace rondo {
namespace {

using test::WorkSource;

class EpollReactorTest : public testing::Test {
 protected:
  std::size_t look() { return reactor_->poll(Instant{}, events_).value(); }
  static int make_eventfd() { return ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC); }
  static void notify(int fd) {
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(fd, &one, sizeof one), static_cast<ssize_t>(sizeof one));
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = std::move(make_epoll_reactor().value());
  std::array<ReactorEvent, 8> events_;
  WorkSource source_{"s", 5};
};

TEST_F(EpollReactorTest, ReportsEachEdgeOnce) {
  const int fd = make_eventfd();
  ASSERT_TRUE(reactor_->watch(fd, Interest::Read, source_).ok());
  EXPECT_EQ(look(), 0U);
  notify(fd);
  ASSERT_EQ(look(), 1U);
  EXPECT_EQ(events_[0].source, &source_);
  EXPECT_EQ(events_[0].fd, fd);
  EXPECT_FALSE(events_[0].error);
  EXPECT_EQ(look(), 0U) << "not read, and yet not reported again";
  notify(fd);
  EXPECT_EQ(look(), 1U);
  reactor_->unwatch(fd);
  ::close(fd);
}

TEST_F(EpollReactorTest, ADescriptorIsWatchedOnce) {
  const int fd = make_eventfd();
  WorkSource other("other", 5);
  ASSERT_TRUE(reactor_->watch(fd, Interest::Read, source_).ok());
  EXPECT_EQ(reactor_->watch(fd, Interest::Read, other).code(), StatusCode::AlreadyExists);
  reactor_->unwatch(fd);
  EXPECT_TRUE(reactor_->watch(fd, Interest::Read, other).ok());
  reactor_->unwatch(fd);
  ::close(fd);
}

TEST_F(EpollReactorTest, BadDescriptorsAreRefusedWithTheKernelsWord) {
  EXPECT_EQ(reactor_->watch(-1, Interest::Read, source_).code(), StatusCode::InvalidArgument);
  const int fd = make_eventfd();
  ::close(fd);
  EXPECT_EQ(reactor_->watch(fd, Interest::Read, source_).origin_errno(), EBADF);
  EXPECT_EQ(reactor_->rewatch(fd, Interest::Read).code(), StatusCode::NotFound);
  reactor_->unwatch(fd);
  reactor_->unwatch(12345);
}

TEST_F(EpollReactorTest, RewatchReportsWhatIsReadyNow) {
  const int fd = make_eventfd();
  ASSERT_TRUE(reactor_->watch(fd, Interest::Read, source_).ok());
  EXPECT_EQ(look(), 0U);
  ASSERT_TRUE(reactor_->rewatch(fd, Interest::ReadWrite).ok());
  EXPECT_EQ(look(), 1U) << "an eventfd can be written";
  reactor_->unwatch(fd);
  ::close(fd);
}

TEST_F(EpollReactorTest, AReportOfAReplacedDescriptorIsNoLongerCurrent) {
  int fd = make_eventfd();
  ASSERT_TRUE(reactor_->watch(fd, Interest::Read, source_).ok());
  notify(fd);
  ASSERT_EQ(look(), 1U);
  const ReactorEvent old = events_[0];
  EXPECT_TRUE(reactor_->is_current(old));
  reactor_->unwatch(fd);
  EXPECT_FALSE(reactor_->is_current(old));
  ASSERT_TRUE(reactor_->watch(fd, Interest::Read, source_).ok());
  EXPECT_FALSE(reactor_->is_current(old));
  ASSERT_EQ(look(), 1U);
  EXPECT_TRUE(reactor_->is_current(events_[0]));
  reactor_->unwatch(fd);
  ::close(fd);
}

TEST_F(EpollReactorTest, UnwatchAllForgetsEveryDescriptorOfOneSourceOnly) {
  WorkSource other("other", 5);
  std::array<int, 6> fds;
  for (std::size_t i = 0; i < fds.size(); ++i) {
    fds[i] = make_eventfd();
    ASSERT_TRUE(reactor_->watch(fds[i], Interest::Read, i % 2 == 0 ? source_ : other).ok());
  }
  reactor_->unwatch(fds[2]);  // From the middle of the source's list.
  reactor_->unwatch_all(source_);
  for (const int fd : fds) notify(fd);
  EXPECT_EQ(look(), 3U);
  reactor_->unwatch_all(other);
  for (const int fd : fds) ::close(fd);
}

TEST_F(EpollReactorTest, HangUpIsAnErrorThatStays) {
  int pair[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
  ASSERT_TRUE(reactor_->watch(pair[0], Interest::Read, source_).ok());
  ::close(pair[1]);
  ASSERT_EQ(look(), 1U);
  EXPECT_TRUE(events_[0].error);
  EXPECT_TRUE(reactor_->is_in_error(events_[0]));
  reactor_->unwatch(pair[0]);
  EXPECT_FALSE(reactor_->is_in_error(events_[0]));
  ::close(pair[0]);
}

TEST_F(EpollReactorTest, WaitsForItsDeadlineAndNotLess) {
  const Instant start = clock_.now();
  EXPECT_EQ(reactor_->poll(start + 3ms, events_).value(), 0U);
  EXPECT_GE(clock_.now(), start + 3ms);
  EXPECT_LT(clock_.now(), start + 2s);
}

TEST_F(EpollReactorTest, AnInterruptBeforeOrDuringTheWaitEndsItAtOnce) {
  reactor_->interrupt();
  const Instant start = clock_.now();
  EXPECT_EQ(reactor_->poll(Instant::never(), events_).value(), 0U);
  std::thread waker([this] { reactor_->interrupt(); });
  EXPECT_EQ(reactor_->poll(start + 60s, events_).value(), 0U);
  waker.join();
  EXPECT_LT(clock_.now(), start + 30s);
}

TEST_F(EpollReactorTest, AnInterruptSeenByAMereLookIsKeptForTheWait) {
  reactor_->interrupt();
  EXPECT_EQ(look(), 0U);
  const Instant start = clock_.now();
  EXPECT_EQ(reactor_->poll(start + 60s, events_).value(), 0U);
  EXPECT_LT(clock_.now(), start + 30s);
}

TEST_F(EpollReactorTest, MoreReadyThanTheArrayHoldsComeWithTheNextPoll) {
  std::array<int, 20> fds;
  for (int& fd : fds) {
    fd = make_eventfd();
    ASSERT_TRUE(reactor_->watch(fd, Interest::Read, source_).ok());
    notify(fd);
  }
  EXPECT_EQ(look(), 8U);
  EXPECT_EQ(look(), 8U);
  EXPECT_EQ(look(), 4U);
  reactor_->unwatch_all(source_);
  for (const int fd : fds) ::close(fd);
}

TEST_F(EpollReactorTest, AnInterestThatIsNoneIsRefused) {
  const int fd = make_eventfd();
  EXPECT_EQ(reactor_->watch(fd, Interest{}, source_).code(), StatusCode::InvalidArgument);
  ASSERT_TRUE(reactor_->watch(fd, Interest::Read, source_).ok());
  EXPECT_EQ(reactor_->rewatch(fd, Interest{}).code(), StatusCode::InvalidArgument);
  reactor_->unwatch(fd);
  ::close(fd);
}

}  // namespace
}  // namespace rondo
