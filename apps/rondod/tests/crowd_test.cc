// rondod with a crowd at its admin socket: idle connections and slow frames of another user. Goal: root's `why` is answered in time,
// because places are reserved for root, and rondod's memory stays bounded. Method: a real process; RONDOD names the program.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "admin/frame.h"
#include "admin/unix_socket.h"
#include "base/unique_fd.h"
#include "rondo/admin/limits.h"
#include "rondod/tests/rondod_kit.h"

namespace rondo::daemon {
namespace {

class RondodCrowdLinux : public RondodProcess {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs root to be another user";
    RondodProcess::SetUp();
    start("");
    call("version");  // A connection that never sends a request is cut after limits::kAdminFrameTime.
    ASSERT_EQ(::chmod(file("").c_str(), 0755), 0);
    ASSERT_EQ(::chmod(file("socket").c_str(), 0666), 0);
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &descriptors_), 0);
    rlimit more = descriptors_;
    more.rlim_cur = std::min<rlim_t>(more.rlim_max, 12'000);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &more), 0);
    connections_ = std::min<std::size_t>(10'000, more.rlim_cur - 200);
    // Make the kernel grow the table of descriptors now: in a process with several threads it would wait for all processors each time.
    const int highest = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, static_cast<int>(more.rlim_cur - 1));
    ASSERT_GE(highest, 0);
    ::close(highest);
  }
  void TearDown() override {
    if (connections_ > 0) ::setrlimit(RLIMIT_NOFILE, &descriptors_);
    RondodProcess::TearDown();
  }
  /// Runs on its own thread, as another user. A third of the connections sends nothing. The others begin a frame of the largest size, and
  /// some of these send more of it while the next connections are made. Returns with all of them open.
  std::vector<UniqueFd> besiege() const {
    if (::syscall(SYS_setresuid, 65534, 65534, 65534) != 0) return {};  // Changes the user of this thread alone.
    std::string head;
    append_u32(head, limits::kAdminFrameBytes);
    head.push_back('J');
    const std::string part(64 * 1024, ' ');
    std::vector<UniqueFd> crowd;
    while (crowd.size() < connections_) {
      Result<UniqueFd> fd = connect_unix(file("socket"));
      if (!fd) break;
      if (crowd.size() % 3 != 0) ::send(fd->get(), head.data(), head.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      crowd.push_back(std::move(*fd));
      for (std::size_t talks = crowd.size() % 7; talks < crowd.size(); talks += 97) {
        if (talks % 3 != 0) ::send(crowd[talks].get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      }
    }
    return crowd;
  }

  std::size_t connections_ = 0;

 private:
  rlimit descriptors_{};
};

TEST_F(RondodCrowdLinux, TenThousandHostileConnectionsLeaveWhyQuickAndMemoryBounded) {
  const std::size_t before = resident();
  std::size_t most = before;
  Duration longest{};
  std::vector<UniqueFd> crowd;
  std::atomic<bool> all_came = false;
  std::thread hostile([&] {
    crowd = besiege();
    all_came = true;
  });
  std::unique_ptr<AdminClient> fresh;
  const auto connect_anew = [&]() -> AdminClient& {
    auto connected = AdminClient::connect(file("socket"));
    EXPECT_TRUE(connected.has_value()) << connected.error().to_string();
    if (connected) fresh = std::move(*connected);
    return connected ? *fresh : client();
  };
  do {
    longest = std::max(longest, quickest_why(connect_anew));
    most = std::max(most, resident());
  } while (!all_came && !HasFailure());
  hostile.join();
  longest = std::max(longest, quickest_why(connect_anew));
  most = std::max(most, resident());
  EXPECT_EQ(crowd.size(), connections_);
  RecordProperty("longest_why_us", static_cast<int>(longest / 1us));
  RecordProperty("more_kib", static_cast<int>((most - before) / 1024));
  if (kIsMeasured) {
    EXPECT_LT(longest, kWhyPromise);
    EXPECT_LT(most, before + kMemoryPromise);
  }
  const json::object figures = call("stats").at("admin").as_object();
  EXPECT_GT(figures.at("refused_connections").to_number<std::uint64_t>() + figures.at("gave_way").to_number<std::uint64_t>(),
            connections_ - 2 * limits::kAdminConnections);
}

}  // namespace
}  // namespace rondo::daemon
