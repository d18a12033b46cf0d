// For tests: a real rondod with the simulated data plane, in its own process and folder. The kit starts it, calls it over its admin
// socket, and ends it by its process id. RONDOD names the program. One thread.
#pragma once

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "base/testing/temporary_folder.h"
#include "rondo/admin/client.h"
#include "rondo/base/clock.h"

namespace rondo::daemon {

namespace json = boost::json;

class RondodProcess : public testing::Test {
 protected:
  void SetUp() override {
    notify_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = file("notify");
    ASSERT_LT(path.size(), sizeof address.sun_path);
    std::memcpy(address.sun_path, path.c_str(), path.size());
    ASSERT_EQ(::bind(notify_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  void TearDown() override {
    end(SIGKILL);
    if (notify_ >= 0) ::close(notify_);
  }
  std::string file(const std::string& name) const { return folder_.file(name); }

  /// Writes its configuration, which rondod reads when it starts; SIGHUP reads the policy again. 'store' is the content of [store], and
  /// other sections may follow.
  void configure(const std::string& store, const char* socket = "socket") const {
    std::ofstream(file("toml")) << "[admin]\nsocket = \"" << file(socket) << "\"\n[dataplane]\nkind = \"simulated\"\n"
                                << "simulated_ports = [\"swp1\"]\n[store]\n"
                                << store;
  }
  /// Starts rondod and returns when it serves. 'store' is the content of [store].
  void start(const std::string& store) {
    configure(store);
    const char* const program = std::getenv("RONDOD");
    ASSERT_NE(program, nullptr) << "RONDOD does not name the program";
    const std::string config = file("toml");
    const std::string log = file("log");
    const std::string notify_path = file("notify");
    pid_ = ::fork();
    ASSERT_GE(pid_, 0);
    if (pid_ == 0) {
      ::setenv("NOTIFY_SOCKET", notify_path.c_str(), 1);
      ::dup2(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600), 2);
      ::execl(program, program, "--config", config.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ASSERT_TRUE(hears("READY=1\nSTATUS=serving")) << log_text();
    auto connected = AdminClient::connect(file("socket"));
    ASSERT_TRUE(connected.has_value()) << connected.error().to_string() << log_text();
    client_ = std::move(*connected);
  }
  /// Returns the exit code of a rondod that fails to start. With the socket of a running one it always fails.
  int fail_to_start(const std::string& store, const char* socket = "socket") {
    configure(store, socket);
    const std::string command = std::string{std::getenv("RONDOD")} + " --config " + file("toml") + " 2> " + file("log");
    const int status = std::system(command.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// The process id; does not wait for rondod.
  pid_t pid() const { return pid_; }
  void signal(int signal) const { ::kill(pid_, signal); }
  /// Stops the process until SIGCONT. It does nothing any more when this returns.
  void stop() const {
    signal(SIGSTOP);
    int status = 0;
    ASSERT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
    ASSERT_TRUE(WIFSTOPPED(status));
  }
  AdminClient& client() { return *client_; }
  /// Sends 'signal' and waits. Returns the exit code; -1 if it was killed.
  int end(int signal) {
    if (pid_ <= 0) return -1;
    client_.reset();
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    while (!told(0).empty()) continue;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// Limits the size of each file that it writes.
  void limit_files(rlim_t bytes) const {
    const rlimit limit{bytes, RLIM_INFINITY};
    EXPECT_EQ(::prlimit(pid_, RLIMIT_FSIZE, &limit, nullptr), 0);
  }
  /// Returns its next message to the service manager, or an empty text after this many milliseconds.
  std::string told(int patience) const {
    pollfd said{notify_, POLLIN, 0};
    char text[512];
    if (::poll(&said, 1, patience) != 1) return {};
    const ssize_t length = ::recv(notify_, text, sizeof text, 0);
    return {text, length < 0 ? 0 : static_cast<std::size_t>(length)};
  }
  /// Returns true if this message arrives, possibly after others.
  bool hears(std::string_view words) const {
    for (int messages = 0; messages < 500; ++messages) {
      const std::string said = told(20'000);
      if (said == words) return true;
      if (said.empty()) return false;
    }
    return false;
  }
  std::string log_text() const {
    std::ifstream in(file("log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  json::object call(std::string_view command, const json::object& arguments = {}) {
    auto answer = client_->call(command, arguments);
    EXPECT_TRUE(answer.has_value()) << answer.error().to_string() << log_text();
    return answer ? *answer : json::object{};
  }
  static bool becomes(const std::function<bool()>& done) {
    const SystemClock clock;
    for (const Instant deadline = clock.now() + 20s; clock.now() < deadline;) {
      if (done()) return true;
    }
    return false;
  }
  /// The resident memory of rondod in bytes.
  std::size_t resident() const {
    std::ifstream statm("/proc/" + std::to_string(pid()) + "/statm");
    std::size_t size = 0;
    std::size_t pages = 0;
    statm >> size >> pages;
    return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  }
  /// The most that it was, in bytes.
  std::size_t most_resident() const {
    std::ifstream status("/proc/" + std::to_string(pid()) + "/status");
    for (std::string word; status >> word;) {
      std::size_t kilobytes = 0;
      if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
    }
    return 0;
  }
  /// The shortest of three calls of `why`, each over the connection that 'connect' returns. A shared machine may suspend either process
  /// for longer than the promised time. It does not do so three times in a row, while a rondod that is busy with its callers is slow each
  /// time.
  template <class Connect>
  static Duration quickest_why(Connect connect) {
    const SystemClock clock;
    Duration quickest = Duration::max();
    for (int i = 0; i < 3; ++i) {
      const Instant asked = clock.now();
      const auto answer = connect().call("why", {{"table", "ROUTE_TABLE"}, {"key", "10.0.0.0/8"}});
      EXPECT_TRUE(answer.has_value()) << answer.error().to_string();
      quickest = std::min(quickest, clock.now() - asked);
    }
    return quickest;
  }
  /// The promise with 10,000 hostile connections or slow frames: `why` within this time, and at most this memory of rondod above its rows.
  static constexpr Duration kWhyPromise = 100ms;
  static constexpr std::size_t kMemoryPromise = 64 * 1024 * 1024;
  /// Sanitizers slow every instruction and keep freed memory, so neither promise holds under them.
  static constexpr bool kIsMeasured =
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
      false;
#else
      true;
#endif
  bool has_route(const std::string& prefix) { return json::serialize(call("sim-routes")).find("\"" + prefix) != std::string::npos; }

 private:
  const TemporaryFolder folder_;
  std::unique_ptr<AdminClient> client_;
  int notify_ = -1;
  pid_t pid_ = -1;
};

}  // namespace rondo::daemon
