// Two rondods on one data plane: the second one refuses to start. On the real kernel only; RONDOD names the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "dataplane/netlink/network_namespace.h"
#include "rondod_on_linux.h"

namespace rondo {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int kNames = 8;

struct LockName {
  explicit LockName(int index) {
    const std::string name = "rondod/protocol-201/" + std::to_string(index);
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* general() const { return reinterpret_cast<const sockaddr*>(&address); }
  sockaddr_un address{};
  socklen_t size = 0;
};

class TwoRondods : public SystemRondod {
 protected:
  void SetUp() override {
    SystemRondod::SetUp();
    if (!IsSkipped() && !lab) GTEST_SKIP() << "needs a network namespace";
  }
  void TearDown() override {
    for (const pid_t child : children_) {
      ::kill(child, SIGKILL);
      ::waitpid(child, nullptr, 0);
    }
    SystemRondod::TearDown();
  }
  std::string text_of(const std::string& name) const {
    std::ifstream in(file(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Starts a second daemon with its own socket and its log in the file 'second.log'.
  pid_t start_second(const std::string& network_namespace, int protocol) {
    const std::string config = file("second.toml");
    const std::string log = file("second.log");
    std::ofstream(config) << "[admin]\nsocket = \"" << file("second") << "\"\n[dataplane]\nnetwork_namespace = \"" << network_namespace
                          << "\"\nprotocol = " << protocol << "\n";
    const pid_t child = ::fork();
    if (child == 0) {
      ::unsetenv("NOTIFY_SOCKET");
      ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), 2);
      ::execl(program_.c_str(), program_.c_str(), "--config", config.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    children_.push_back(child);
    return child;
  }
  /// Returns its exit code.
  int end_of_second(const std::string& network_namespace, int protocol) {
    const pid_t child = start_second(network_namespace, protocol);
    children_.pop_back();
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool second_serves(const std::string& network_namespace, int protocol) {
    start_second(network_namespace, protocol);
    return becomes([&] { return AdminClient::connect(file("second")).has_value(); });
  }
  /// True if a connection to the first name of the lock is accepted into the queue.
  bool connects() {
    bool connected = false;
    const auto where = netlink::NetworkNamespace::open(lab->path());
    EXPECT_TRUE(where && where
                             ->inside([&] {
                               const UniqueFd fd{::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0)};
                               const LockName name(0);
                               connected = ::connect(fd.get(), name.general(), name.size) == 0;
                               return Status{};
                             })
                             .ok());
    return connected;
  }
  enum class Squatter { Nobody, NobodyWithRights, OtherType, RootWithoutRights };
  /// Starts a process in the namespace that takes 'names' names of the lock, and listens there or not. It may not program the kernel.
  void squat(int names, bool listens, Squatter who = Squatter::Nobody) {
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    const std::string where = lab->path();
    const pid_t child = ::fork();
    if (child == 0) {
      bool taken = ::setns(::open(where.c_str(), O_RDONLY), CLONE_NEWNET) == 0;
      if (who == Squatter::NobodyWithRights) {
        __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        std::array<__user_cap_data_struct, 2> rights{};
        rights[0].effective = rights[0].permitted = 1U << CAP_NET_ADMIN;
        taken = taken && ::prctl(PR_SET_KEEPCAPS, 1) == 0 && ::setuid(65534) == 0 && ::syscall(SYS_capset, &header, rights.data()) == 0;
      } else if (who != Squatter::RootWithoutRights) {
        taken = taken && ::setuid(65534) == 0;
      } else {
        __user_cap_header_struct header{.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
        const std::array<__user_cap_data_struct, 2> none{};
        taken = taken && ::syscall(SYS_capset, &header, none.data()) == 0;
      }
      for (int index = 0; index < names; ++index) {
        const LockName name(index);
        const int fd = ::socket(AF_UNIX, who == Squatter::OtherType ? SOCK_SEQPACKET : SOCK_STREAM, 0);
        taken = taken && ::bind(fd, name.general(), name.size) == 0 && (!listens || ::listen(fd, 1) == 0);
      }
      static_cast<void>(!::write(ready[1], taken ? "y" : "n", 1));
      for (;;) ::pause();
    }
    children_.push_back(child);
    char answer = 0;
    EXPECT_EQ(::read(ready[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(ready[0]);
    ::close(ready[1]);
  }
  void expect_refused(int protocol = 201) {
    EXPECT_EQ(end_of_second(lab->path(), protocol), 69);
    EXPECT_THAT(text_of("second.log"), HasSubstr("pid " + std::to_string(pid) + " (rondod, user root) programs network namespace " +
                                                 lab->path() + " with protocol number 201 already"));
  }

  std::vector<pid_t> children_;
};

TEST_F(TwoRondods, TheSecondOnTheSameNamespaceAndProtocolNamesTheFirstAndTouchesNothing) {
  start();
  ASSERT_TRUE(lab->ip("addr add 10.9.0.1/24 dev swp1"));
  ASSERT_TRUE(lab->ip("link set swp1 up"));
  ASSERT_TRUE(lab->ip("route add blackhole 10.10.0.0/16 proto 201"));
  ASSERT_EQ(kernel_routes(), 1U);
  expect_refused();
  EXPECT_EQ(kernel_routes(), 1U) << "the second one deleted what the first one made";
}

/// Each refused start leaves a connection in the holder's queue.
TEST_F(TwoRondods, AFullQueueOfTheLockIsEmptiedWithinASecond) {
  start();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);  // A slow machine would not fill the queue as fast as the holder empties it.
  int connections = 0;
  while (connects()) ASSERT_LT(++connections, 100'000);
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
  EXPECT_TRUE(becomes([&] { return connects(); })) << "the queue stayed full after " << connections << " connections";
  expect_refused();
}

TEST_F(TwoRondods, AFloodOfConnectionsHidesNoHolder) {
  start();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);  // The flood is now faster than the holder.
  int connections = 0;
  while (connects()) ASSERT_LT(++connections, 100'000);
  expect_refused();
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
}

TEST_F(TwoRondods, AFloodHidesNoHolderThatIsNotRootAndMayProgram) {
  squat(1, true, Squatter::NobodyWithRights);
  int connections = 0;
  while (connects()) ASSERT_LT(++connections, 100'000);
  EXPECT_EQ(end_of_second(lab->path(), 201), 69);
  EXPECT_THAT(text_of("second.log"), HasSubstr("pid " + std::to_string(children_.front())));
}

/// Sockets of another type have separate names.
TEST_F(TwoRondods, AFloodBesideAListenerOfAnotherTypeHidesNoHolder) {
  start();
  squat(kNames, true, Squatter::OtherType);
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  int connections = 0;
  while (connects()) ASSERT_LT(++connections, 100'000);
  EXPECT_EQ(end_of_second(lab->path(), 201), 69);
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
}

TEST_F(TwoRondods, AProcessWithoutRightsThatFillsItsOwnQueueKeepsNoneFromStarting) {
  squat(1, true);
  int connections = 0;
  while (connects()) ASSERT_LT(++connections, 100'000);
  start();
  EXPECT_THAT(log_text(), HasSubstr("using another name"));
  expect_refused();
}

TEST_F(TwoRondods, ARootProcessWithoutTheRightToProgramIsNoHolder) {
  squat(1, true, Squatter::RootWithoutRights);
  start();
  EXPECT_THAT(log_text(), HasSubstr("using another name"));
  expect_refused();
}

TEST_F(TwoRondods, AnotherProtocolOrAnotherNamespaceIsAnotherDataPlane) {
  start();
  EXPECT_TRUE(second_serves(lab->path(), 202)) << text_of("second.log");
  auto other = netlink::Lab::make();
  ASSERT_TRUE(other.has_value());
  ::kill(children_.back(), SIGKILL);
  ::waitpid(children_.back(), nullptr, 0);
  children_.pop_back();
  EXPECT_TRUE(second_serves((*other)->path(), 201)) << text_of("second.log");
}

TEST_F(TwoRondods, TheLockEndsWithTheProcessThatHeldIt) {
  start();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  wait();
  EXPECT_TRUE(second_serves(lab->path(), 201)) << text_of("second.log");
}

TEST_F(TwoRondods, AStoppedHolderHoldsTheLock) {
  start();
  ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  expect_refused();
  ASSERT_EQ(::kill(pid, SIGCONT), 0);
}

TEST_F(TwoRondods, AProcessWithoutRightsKeepsNobodyFromStarting) {
  squat(1, true);
  start();
  EXPECT_THAT(log_text(), HasSubstr("using another name"));
  EXPECT_THAT(log_text(), HasSubstr("pid " + std::to_string(children_.front())));
  expect_refused();
}

TEST_F(TwoRondods, ANameThatIsBoundAndDoesNotListenKeepsNobodyFromStarting) {
  squat(1, false);
  start();
  expect_refused();
}

TEST_F(TwoRondods, AllNamesTakenByAProcessWithoutRightsCostTheLockAndAreLogged) {
  squat(kNames, true);
  start();
  EXPECT_THAT(log_text(), HasSubstr("continuing without it"));
}

TEST_F(TwoRondods, TheHolderIsFoundWhenTheNameBeforeItsOwnIsFreeAgain) {
  squat(2, true);
  start();
  ::kill(children_.front(), SIGKILL);
  ::waitpid(children_.front(), nullptr, 0);
  children_.clear();
  expect_refused();
  EXPECT_THAT(text_of("second.log"), Not(HasSubstr("continuing without it")));
}

}  // namespace
}  // namespace rondo
