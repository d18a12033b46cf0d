// The admin socket against hostile callers: idle connections, frames that arrive slowly, readers that do not read, a removed file. Method:
// a real socket; the hostile callers are raw descriptors of the caller's thread. Goal: a request is always answered, the memory that
// callers hold is bounded, and each cut is counted and reported.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "admin/admin_socket_kit.h"
#include "admin/bulk_writer.h"
#include "rondo/admin/limits.h"
#include "rondo/sched/timer.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

using Kind = AdminNotice::Kind;
using SteadyClock = std::chrono::steady_clock;

class AdminCrowd : public AdminSocket {
 protected:
  AdminCrowd() {
    add("memory", {}, [this](const Arguments&, Reply reply) { reply.finish(json::object{{"bytes", server->stats().memory_bytes}}); });
    add("never", {}, [this](const Arguments&, Reply reply) {
      kept.push_back(std::move(reply));
      ++kept_now;
    });
    add("release", {}, [this](const Arguments&, Reply reply) {
      for (Reply& waits : kept) waits.finish();
      reply.finish();
    });
  }
  ~AdminCrowd() override { kept.clear(); }

  UniqueFd join() const {
    Result<UniqueFd> fd = connect_unix(options.path);
    EXPECT_TRUE(fd.has_value()) << fd.error().to_string();
    return fd ? std::move(*fd) : UniqueFd{};
  }
  std::vector<UniqueFd> crowd(std::size_t size) const {
    std::vector<UniqueFd> all;
    while (all.size() < size) all.push_back(join());
    return all;
  }
  static bool is_cut(const UniqueFd& fd) {
    pollfd asked{.fd = fd.get(), .events = 0, .revents = 0};
    return ::poll(&asked, 1, 0) == 1 && (asked.revents & POLLHUP) != 0;
  }
  /// Reads what the daemon sends until it closes.
  static std::string last_words(const UniqueFd& fd) {
    std::string heard;
    char buffer[4096];
    for (ssize_t got = 0; (got = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;) heard.append(buffer, static_cast<std::size_t>(got));
    return heard;
  }
  static void say(const UniqueFd& fd, std::string_view bytes) {
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  std::uint64_t memory_of(AdminClient& client) { return client.call("memory", {}).value().at("bytes").to_number<std::uint64_t>(); }

  std::vector<Reply> kept;
  std::atomic<std::size_t> kept_now{0};
};

/// Returns the beginning of a frame of the largest size: all but its last bytes.
std::string long_frame(std::size_t bytes) {
  std::string frame;
  append_u32(frame, limits::kAdminFrameBytes);
  frame.push_back('J');
  frame.resize(bytes, ' ');
  return frame;
}

TEST_F(AdminCrowd, SixtyFourIdleConnectionsLockNobodyOut) {
  EXPECT_EQ(options.connections, limits::kAdminConnections);
  EXPECT_EQ(options.yield, limits::kAdminYield);
  options.reserved = 0;
  with_caller([this] {
    const std::vector<UniqueFd> idle = crowd(limits::kAdminConnections);
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(connect()->call("echo", {{"text", "x"}}).has_value());
    EXPECT_THAT(last_words(idle.front()), HasSubstr("no request under way"));
  });
  EXPECT_EQ(server->stats().refused_connections, 0U);
  EXPECT_THAT(server->stats().displaced, AllOf(Ge(1U), Le(3U))) << "one who has asked and gone may have left a place";
  EXPECT_THAT(notices, ElementsAre(Kind::Displaced));
}

TEST_F(AdminCrowd, WithoutDescriptorsTheOwnerIsToldAndTheCallerIsAcceptedLater) {
  with_caller([this] {
    const auto known = connect();
    const auto calls = [](AdminClient& client) { EXPECT_TRUE(client.call("echo", {{"text", "x"}}).has_value()); };
    calls(*known);
    const UniqueFd waiting{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    options.path.copy(address.sun_path, sizeof address.sun_path - 1);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{3, before.rlim_max};  // What is open stays open.
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    EXPECT_EQ(::connect(waiting.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    for (int i = 0; i < 3; ++i) calls(*known);  // Meanwhile the listener has had its turns.
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    calls(*connect());
  });
  EXPECT_THAT(notices, ElementsAre(Kind::NotAccepted));
  EXPECT_EQ(server->stats().accepted, 3U);
}

/// The admin socket with few descriptors. Descriptors of the callers, which are in this process, have high numbers and do not count.
class AdminCrowdOfFewDescriptors : public AdminCrowd {
 protected:
  static constexpr int kHigh = 500;
  AdminCrowdOfFewDescriptors() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    for (int i = 0; i < 100; ++i) {
      const UniqueFd low{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
      callers.emplace_back(::fcntl(low.get(), F_DUPFD_CLOEXEC, kHigh));
    }
  }
  ~AdminCrowdOfFewDescriptors() override { limit(before_.rlim_cur); }
  void limit(rlim_t descriptors) const {
    const rlimit now{descriptors, before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  /// The limit with which so many descriptors are free.
  static rlim_t limit_for(int free) {
    int number = 0;
    for (; free > 0; ++number) free -= ::fcntl(number, F_GETFD) < 0 ? 1 : 0;
    return static_cast<rlim_t>(number);
  }
  /// All but the last caller connect and say nothing. The last one asks. Returns its answer.
  std::string answer_beside_idle_callers() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    options.path.copy(address.sun_path, sizeof address.sun_path - 1);
    for (const UniqueFd& caller : callers)
      EXPECT_EQ(::connect(caller.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    say(callers.back(), request_of(R"({"id":1,"command":"version"})"));
    char buffer[4096];
    const ssize_t got = ::recv(callers.back().get(), buffer, sizeof buffer, 0);
    return {buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
  }
  std::vector<UniqueFd> callers;

 private:
  rlimit before_{};
};

TEST_F(AdminCrowdOfFewDescriptors, CallersHaveAtMostHalfOfThem) {
  limit(84);
  with_caller([this] { EXPECT_THAT(answer_beside_idle_callers(), HasSubstr("testd")); });
  EXPECT_EQ(server->stats().refused_connections, 0U);
  EXPECT_EQ(server->stats().accepted, 100U);
  EXPECT_GE(server->stats().displaced, 100U - 84U / 2U);
  EXPECT_THAT(notices, testing::Each(Kind::Displaced));
}

TEST_F(AdminCrowdOfFewDescriptors, AnIdleCallerGivesItsDescriptorToOneThatAsks) {
  with_caller([this] {
    limit(limit_for(8));
    EXPECT_THAT(answer_beside_idle_callers(), HasSubstr("testd"));
    EXPECT_THAT(last_words(callers.front()), HasSubstr("the program has no descriptors left"));
  });
  EXPECT_EQ(server->stats().accepted, 100U);
  EXPECT_THAT(notices, testing::Each(Kind::Displaced)) << "no caller had to wait until another one was too slow";
}

TEST_F(AdminCrowd, TenThousandConnectionsThatSayNothingLockNobodyOut) {
  with_caller([this] {
    const auto client = connect();
    std::vector<UniqueFd> idle;
    for (int i = 0; i < 10'000; ++i) {
      idle.push_back(join());
      if (i % 1000 != 0) continue;
      EXPECT_TRUE(connect()->call("echo", {{"text", "x"}}).has_value());
      EXPECT_TRUE(client->call("echo", {{"text", "x"}}).has_value()) << "one that asks keeps its place";
      idle.clear();  // Frees their descriptors, of which the test has a limited number.
    }
  });
  EXPECT_EQ(server->stats().refused_connections, 0U);
  EXPECT_GE(server->stats().displaced, 9000U);
  EXPECT_THAT(notices, testing::SizeIs(Le(2U))) << "and the log has no thousand lines of it";
}

TEST_F(AdminCrowd, AFrameThatTricklesIsCutWhenItsTimeIsOver) {
  EXPECT_EQ(options.frame_time, limits::kAdminFrameTime);
  options.frame_time = 300ms;
  with_caller([this] {
    const UniqueFd slow = join();
    say(slow, long_frame(100));
    pollfd watched{.fd = slow.get(), .events = POLLIN, .revents = 0};
    const auto deadline = SteadyClock::now() + 20s;
    // One byte every 20 ms, so that the frame never stalls.
    while (::poll(&watched, 1, 20) == 0 && SteadyClock::now() < deadline) say(slow, " ");
    EXPECT_THAT(last_words(slow), HasSubstr("a frame took too long"));
  });
  EXPECT_EQ(server->stats().slow_frames_cut, 1U);
  EXPECT_EQ(server->stats().stalled_writers_cut, 0U);
  EXPECT_THAT(notices, ElementsAre(Kind::SlowFrame));
}

TEST_F(AdminCrowd, OneThatNeverAsksIsCutWhenTheTimeOfAFrameIsOver) {
  options.frame_time = 100ms;
  with_caller([this] { EXPECT_THAT(last_words(join()), HasSubstr("no request came")); });
  EXPECT_EQ(server->stats().slow_frames_cut, 1U);
}

TEST_F(AdminCrowd, AnIdleConnectionIsCutAndOneThatWaitsForItsAnswerIsNot) {
  EXPECT_EQ(options.idle, limits::kAdminIdle);
  options.idle = 200ms;
  with_caller([this] {
    const auto waits = connect();
    ASSERT_TRUE(waits->ask("never", {}).ok());
    const UniqueFd idle = join();
    say(idle, request_of(R"({"id":1,"command":"version"})"));
    EXPECT_THAT(last_words(idle), AllOf(HasSubstr("testd"), HasSubstr("no request came for long")));
    EXPECT_TRUE(connect()->call("release", {}).has_value());
    pollfd watched{.fd = waits->fd(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(::poll(&watched, 1, 20'000), 1);
    EXPECT_TRUE(waits->answer().value().has_value()) << "the reader of a long answer is not idle";
  });
  // On a busy machine the reader is idle, too, between its answer and the end of the test.
  EXPECT_THAT(server->stats().idle_cut, AllOf(Ge(1U), Le(2U)));
  EXPECT_THAT(notices, AllOf(testing::Not(testing::IsEmpty()), testing::Each(Kind::Idle)));
}

/// Another source finishes the answer, and the check of all connections gets its turn before the connection's own.
TEST_F(AdminCrowd, AnAnswerThatTookLongerThanTheTimeForReadingReachesItsCaller) {
  options.stall = 100ms;
  std::vector<Reply> late;
  TimerSource due("due", Priority::p7, [&late] {
    for (Reply& reply : late) reply.finish();
    late.clear();
  });
  // While its turn lasts, both the answer and the check become due.
  TimerSource blocker("blocker", Priority::p7, [this] {
    const Instant end = clock.now() + 60ms;
    while (clock.now() < end) std::this_thread::yield();
  });
  scheduler->add(due);
  scheduler->add(blocker);
  add("late", {}, [&](const Arguments&, Reply reply) {
    late.push_back(std::move(reply));
    blocker.arm_at(clock.now() + 150ms);
    due.arm_at(clock.now() + 160ms);
  });
  with_caller([this] {
    const auto client = connect();
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(client->call("late", {}).has_value()) << i;
  });
  EXPECT_EQ(server->stats().slow_readers_cut, 0U);
}

TEST_F(AdminCrowd, SixtySlowFramesHoldNoMoreThanTheirShareAndAreCut) {
  EXPECT_EQ(options.memory, limits::kAdminMemory);
  options.yield = 100ms;
  options.frame_time = 2s;
  std::uint64_t most = 0;
  with_caller([&, this] {
    const std::string almost = long_frame(limits::kAdminFrameBytes - 100);
    std::vector<UniqueFd> slow = crowd(60);
    std::vector<std::size_t> sent(slow.size());
    const auto client = connect();
    const auto deadline = SteadyClock::now() + 60s;
    std::size_t cut = 0;
    while (cut < slow.size() && SteadyClock::now() < deadline) {
      cut = 0;
      for (std::size_t i = 0; i < slow.size(); ++i) {
        if (is_cut(slow[i])) {
          ++cut;
          continue;
        }
        const ssize_t went = ::send(slow[i].get(), almost.data() + sent[i], almost.size() - sent[i], MSG_NOSIGNAL | MSG_DONTWAIT);
        if (went > 0) sent[i] += static_cast<std::size_t>(went);
      }
      most = std::max(most, memory_of(*client));
      ASSERT_TRUE(connect()->call("echo", {{"text", "x"}}).has_value());
    }
    EXPECT_EQ(cut, slow.size());
  });
  // Beyond the share: each connection's own part with the piece that one read adds, and the oldest frame.
  EXPECT_LE(most, limits::kAdminMemory + 64 * 2 * 64 * 1024 + limits::kAdminFrameBytes);
  EXPECT_GE(most, limits::kAdminMemory);
  EXPECT_GE(server->stats().memory_cut, 50U);
  EXPECT_THAT(notices, Contains(Kind::Memory));
}

TEST_F(AdminCrowd, FramesThatComeInWhileMemoryIsShortAreReadOneAfterTheOther) {
  options.memory = 1024 * 1024;
  options.yield = 5s;
  with_caller([this] {
    std::vector<std::thread> feeders;
    for (int i = 0; i < 8; ++i) {
      feeders.emplace_back([this] {
        const auto client = connect();
        const std::string large(limits::kAdminFrameBytes / 2, 'x');
        BulkWriter writer(*client, {.frame_bytes = limits::kAdminFrameBytes});
        const std::vector<BulkField> fields{{"value", large}};
        EXPECT_TRUE(writer.begin("T").ok());
        for (int row = 0; row < 10; ++row) EXPECT_TRUE(writer.row(BulkOp::Set, "k", fields).ok());
        EXPECT_TRUE(writer.end().ok());
        const Result<BulkTotals> totals = writer.finish();
        ASSERT_TRUE(totals.has_value()) << totals.error().to_string();
        EXPECT_EQ(totals->accepted, 10U);
      });
    }
    for (std::thread& feeder : feeders) feeder.join();
  });
  EXPECT_EQ(server->stats().memory_cut, 0U) << "who waits for us is not slow";
  EXPECT_EQ(rows["T"], 80U);
}

TEST_F(AdminCrowd, ReadersThatDoNotReadHoldNoMoreThanHalfOfTheShareAndAPageEach) {
  std::uint64_t most = 0;
  with_caller([&, this] {
    const std::vector<UniqueFd> readers = crowd(60);
    for (const UniqueFd& reader : readers) say(reader, request_of(R"({"id":1,"command":"count","rows":50000000})"));
    const auto client = connect();
    std::uint64_t before = UINT64_MAX;
    for (int same = 0; same < 50;) {
      const std::uint64_t now = memory_of(*client);
      same = now == before ? same + 1 : 0;
      before = now;
      most = std::max(most, now);
    }
  });
  EXPECT_GE(most, limits::kAdminMemory / 2) << "the bound was met";
  EXPECT_LE(most, limits::kAdminMemory / 2 + 64 * 2 * limits::kAdminPageBytes);
}

TEST_F(AdminCrowd, PlacesAreKeptForRootAndTheDaemonsUserLinux) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to be somebody else";
  EXPECT_EQ(options.reserved, limits::kAdminReserved);
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  options.mode = 0666;
  options.connections = 4;
  with_caller([this] {
    std::vector<UniqueFd> others;
    std::thread other([&, this] {
      ASSERT_EQ(::syscall(SYS_setresuid, 65534, 65534, 65534), 0);  // Changes this thread only.
      for (int i = 0; i < 4; ++i) {
        others.push_back(join());
        say(others.back(), request_of(R"({"id":1,"command":"never"})"));
      }
      while (kept_now < 4) std::this_thread::yield();
      EXPECT_THAT(last_words(join()), HasSubstr("connections of the admin socket are in use"));
    });
    other.join();
    std::vector<std::unique_ptr<AdminClient>> ours;
    for (std::size_t i = 0; i < limits::kAdminReserved; ++i) {
      ours.push_back(connect());
      EXPECT_TRUE(ours.back()->ask("never", {}).ok());
      while (kept_now < 4 + i + 1) std::this_thread::yield();
    }
    EXPECT_EQ(connect()->call("version", {}).error().code(), StatusCode::ResourceExhausted) << "and no more than those";
  });
  EXPECT_EQ(server->stats().refused_connections, 2U);
  EXPECT_THAT(notices, ElementsAre(Kind::Refused));
}

TEST_F(AdminCrowd, ASocketWhoseFileHasGoneIsMadeAnew) {
  EXPECT_EQ(options.check_period, limits::kAdminSocketCheckPeriod);
  options.check_period = 10ms;
  with_caller([this] {
    const auto old = connect();
    ASSERT_EQ(::unlink(options.path.c_str()), 0);
    const auto deadline = SteadyClock::now() + 20s;
    Result<UniqueFd> anew = connect_unix(options.path);
    while (!anew && SteadyClock::now() < deadline) anew = connect_unix(options.path);
    ASSERT_TRUE(anew.has_value());
    struct stat status {};
    EXPECT_EQ(::stat(options.path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0660U);
    EXPECT_TRUE(connect()->call("version", {}).has_value());
    EXPECT_TRUE(old->call("version", {}).has_value()) << "who was connected stays";
  });
  EXPECT_EQ(server->stats().sockets_made_anew, 1U);
  EXPECT_THAT(notices, ElementsAre(Kind::SocketMade));
}

TEST_F(AdminCrowd, AnEmptyFileInTheSocketsPlaceIsReplaced) {
  options.check_period = 10ms;
  with_caller([this] {
    const auto old = connect();
    ASSERT_EQ(::unlink(options.path.c_str()), 0);
    { std::ofstream(options.path); }
    const auto deadline = SteadyClock::now() + 20s;
    Result<UniqueFd> anew = connect_unix(options.path);
    while (!anew && SteadyClock::now() < deadline) anew = connect_unix(options.path);
    EXPECT_TRUE(anew.has_value());
  });
  EXPECT_THAT(notices, ElementsAre(Kind::SocketMade));
}

TEST_F(AdminCrowd, AClientNamesAFileThatIsNoSocket) {
  { std::ofstream(options.path) << "precious"; }
  const auto client = AdminClient::connect(options.path);
  ASSERT_FALSE(client.has_value());
  EXPECT_EQ(client.error().code(), StatusCode::Unavailable);
  EXPECT_THAT(client.error().to_string(), testing::HasSubstr("it is no socket"));
}

TEST_F(AdminCrowd, WhatStandsInTheSocketsPlaceIsLeftAloneAndToldUntilItGoes) {
  options.check_period = 10ms;
  with_caller([this] {
    const auto client = connect();
    ASSERT_EQ(::unlink(options.path.c_str()), 0);
    { std::ofstream(options.path) << "precious"; }
    const auto in_vain = SteadyClock::now() + 200ms;
    while (SteadyClock::now() < in_vain) EXPECT_TRUE(client->call("version", {}).has_value());
    std::string content;
    std::ifstream(options.path) >> content;
    EXPECT_EQ(content, "precious");
    ASSERT_EQ(::unlink(options.path.c_str()), 0);
    const auto deadline = SteadyClock::now() + 20s;
    Result<UniqueFd> anew = connect_unix(options.path);
    while (!anew && SteadyClock::now() < deadline) anew = connect_unix(options.path);
    EXPECT_TRUE(anew.has_value());
  });
  EXPECT_THAT(notices, ElementsAre(Kind::SocketLost, Kind::SocketMade));
}

}  // namespace
}  // namespace rondo
