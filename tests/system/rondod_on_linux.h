// For tests: the real program rondod in its own process and folder. It uses the real kernel if a namespace can be created, otherwise (with
// a message) the simulated data plane. The kit starts it with a configuration, calls it over its admin socket, and ends it by its process
// id. RONDOD names the program. One thread.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/json.hpp>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "dataplane/netlink/lab.h"
#include "rondo/admin/client.h"
#include "rondo/base/clock.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo {

/// A socket that acts as systemd: it receives the daemon's messages to its service manager.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~NotifySocket() { ::close(fd_); }
  NotifySocket(const NotifySocket&) = delete;
  NotifySocket& operator=(const NotifySocket&) = delete;
  /// Returns true if a message that contains this arrives, possibly after others.
  bool hears(std::string_view words) const {
    for (int messages = 0; messages < 500; ++messages) {
      const std::string said = next();
      if (said.find(words) != std::string::npos) return true;
      if (said.empty()) return false;
    }
    return false;
  }

 private:
  /// The next message, or an empty text after a timeout.
  std::string next() const {
    pollfd wanted{fd_, POLLIN, 0};
    if (::poll(&wanted, 1, 20'000) != 1) return {};
    char text[512];
    const ssize_t size = ::recv(fd_, text, sizeof text, 0);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string{};
  }

  int fd_;
};

class SystemRondod : public ::testing::Test {
 protected:
  /// The namespace has this many ports, "swp1" and on; the simulated data plane has only the first.
  explicit SystemRondod(int ports = 1) : ports_(ports) {}

  void SetUp() override {
    const char* const program = std::getenv("RONDOD");
    if (program == nullptr) {
      std::cerr << "SKIPPED: RONDOD does not name the program\n";
      GTEST_SKIP() << "RONDOD does not name the program";
    }
    program_ = program;
    char name[] = "/tmp/rondod-test-XXXXXX";
    directory = ::mkdtemp(name);
    notify = std::make_unique<NotifySocket>(file("notify"));
    auto made = netlink::Lab::make();
    if (made) {
      lab = std::move(*made);
      for (int port = 1; port <= ports_; ++port) ASSERT_TRUE(lab->add_port(port));
    } else {
      std::cerr << "ON THE SIMULATED DATA PLANE: " << made.error().to_string() << '\n';
    }
    configure("rondod.toml", "socket", "[journal]\nfile = \"" + file("day.journal") + "\"\n");
  }
  void TearDown() override {
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      wait();
    }
    if (!directory.empty()) std::filesystem::remove_all(directory);
  }
  std::string file(const std::string& name) const { return (directory / name).string(); }
  std::string socket() const { return file("socket"); }

  /// Writes a configuration with all files in 'directory'; 'more' contains further sections.
  void configure(const std::string& name, const std::string& socket, const std::string& more) const {
    std::ofstream config(file(name));
    config << "[admin]\nsocket = \"" << file(socket) << "\"\n" << more << "[dataplane]\n";
    if (lab)
      config << "network_namespace = \"" << lab->path() << "\"\n";
    else
      config << "kind = \"simulated\"\nsimulated_ports = [\"swp1\"]\n";
  }
  /// Starts rondod and returns when it serves.
  void start() {
    const std::string config = file("rondod.toml");
    const std::string log = file("log");
    const std::string notify_path = file("notify");
    pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      const int inside = starts_in.empty() ? -1 : ::open(starts_in.c_str(), O_RDONLY | O_CLOEXEC);
      if (!starts_in.empty() && ::setns(inside, CLONE_NEWNET) != 0) ::_exit(126);
      ::setenv("NOTIFY_SOCKET", notify_path.c_str(), 1);
      const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(out, 2);
      ::execl(program_.c_str(), program_.c_str(), "--config", config.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ASSERT_TRUE(notify->hears("READY=1")) << log_text();
    auto connected = AdminClient::connect(socket());
    ASSERT_TRUE(connected.has_value()) << connected.error().to_string();
    client = std::move(*connected);
  }
  int wait() {
    int status = 0;
    ::waitpid(pid, &status, 0);
    pid = -1;
    return status;
  }
  std::string log_text() const {
    std::ifstream in(file("log"));
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void set(std::string_view table, std::string_view key, std::initializer_list<std::pair<const char*, const char*>> fields) {
    boost::json::array pairs;
    for (const auto& [name, value] : fields) pairs.push_back(boost::json::array{name, value});
    const auto answer = client->call("set", {{"table", table}, {"key", key}, {"fields", std::move(pairs)}});
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  }
  /// Polls until 'done' is true for the daemon's answer; returns false after a timeout.
  bool becomes(const std::function<bool()>& done) {
    const SystemClock clock;
    for (const Instant end = clock.now() + 120s; clock.now() < end;) {
      if (done()) return true;
      static_cast<void>(::poll(nullptr, 0, 10));  // The other process works meanwhile and cannot notify this one.
    }
    return false;
  }
  /// The routes of rows: without the copies of connected subnets, which have no next-hop object.
  std::size_t kernel_routes() {
    if (!lab) return 0;
    auto plane = make_linux_dataplane({.network_namespace = lab->path()});
    std::size_t routes = 0;
    EXPECT_TRUE(
        plane &&
        (*plane)->routes([&](const RouteEntry& route) { routes += route.type != RouteType::Unicast || route.nexthop ? 1U : 0U; }).ok());
    return routes;
  }

  std::filesystem::path directory;
  std::string program_;
  std::unique_ptr<NotifySocket> notify;
  std::unique_ptr<netlink::Lab> lab;
  std::unique_ptr<AdminClient> client;
  std::string starts_in;  // The path of the network namespace in which rondod starts; empty: the test's own.
  pid_t pid = -1;

 private:
  const int ports_;
};

}  // namespace rondo
