// The real program: rondod is started with a configuration, spoken to over its admin socket, killed, started again, asked to rotate its
// journal and to end. On the real kernel where a namespace may be made, otherwise (said loudly) on the simulated data plane. RONDOD names
// the program.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
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
#include <iostream>
#include <memory>

#include "dataplane/netlink/lab.h"
#include "rondo/admin/client.h"
#include "rondo/base/clock.h"
#include "rondo/dataplane/dataplane.h"

namespace rondo {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

/// A socket in the part of systemd: what the daemon tells its service manager.
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
  /// The next message, or nothing after a while.
  std::string next() const {
    pollfd wanted{fd_, POLLIN, 0};
    if (::poll(&wanted, 1, 20'000) != 1) return {};
    char text[512];
    const ssize_t size = ::recv(fd_, text, sizeof text, 0);
    return size > 0 ? std::string(text, static_cast<std::size_t>(size)) : std::string{};
  }

 private:
  int fd_;
};

class RondodOnLinux : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* const program = std::getenv("RONDOD");
    if (program == nullptr) {
      std::cerr << "SKIPPED: RONDOD does not name the program\n";
      GTEST_SKIP() << "RONDOD does not name the program";
    }
    program_ = program;
    char name[] = "/tmp/rondod-test-XXXXXX";
    directory = ::mkdtemp(name);
    notify = std::make_unique<NotifySocket>(directory / "notify");
    auto made = netlink::Lab::make();
    if (made) {
      lab = std::move(*made);
      ASSERT_TRUE(lab->add_port(1));
    } else {
      std::cerr << "ON THE SIMULATED DATA PLANE: " << made.error().to_string() << '\n';
    }
    std::ofstream config(directory / "rondod.toml");
    config << "[admin]\nsocket = \"" << socket() << "\"\n[journal]\nfile = \"" << (directory / "day.journal").string()
           << "\"\n[dataplane]\n";
    if (lab)
      config << "network_namespace = \"" << lab->path() << "\"\n";
    else
      config << "kind = \"simulated\"\nsimulated_ports = [\"swp1\"]\n";
  }
  void TearDown() override {
    if (pid > 0) {
      ::kill(pid, SIGKILL);
      wait();
    }
    if (!directory.empty()) fs::remove_all(directory);
  }
  std::string socket() const { return (directory / "socket").string(); }

  void start() {
    const std::string config = (directory / "rondod.toml").string();
    const std::string log = (directory / "log").string();
    const std::string notify_path = (directory / "notify").string();
    pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      ::setenv("NOTIFY_SOCKET", notify_path.c_str(), 1);
      const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
      ::dup2(out, 2);
      ::execl(program_.c_str(), program_.c_str(), "--config", config.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ASSERT_THAT(notify->next(), ::testing::HasSubstr("READY=1")) << log_text();
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
    std::ifstream in(directory / "log");
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void set(std::string_view table, std::string_view key, std::initializer_list<std::pair<const char*, const char*>> fields) {
    json::array pairs;
    for (const auto& [name, value] : fields) pairs.push_back(json::array{name, value});
    const auto answer = client->call("set", {{"table", table}, {"key", key}, {"fields", std::move(pairs)}});
    ASSERT_TRUE(answer.has_value()) << answer.error().to_string();
  }
  void write_rows() {
    set("ROUTE_TABLE", "192.168.0.0/16", {{"nexthop_group", "1"}});
    set("NEXTHOP_GROUP_TABLE", "1", {{"nexthop", "10.0.0.2"}, {"ifname", "swp1"}});
    set("NEIGH_TABLE", "swp1:10.0.0.2", {{"neigh", "02:00:00:00:00:02"}});
    set("INTF_TABLE", "swp1:10.0.0.1/24", {{"scope", "global"}});
    set("INTF_TABLE", "swp1", {{"mtu", "1500"}});
    set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
  }
  /// Asks until 'done' is true of the daemon's answer; false after a while.
  bool becomes(const std::function<bool()>& done) {
    const SystemClock clock;
    for (const Instant end = clock.now() + 20s; clock.now() < end;) {
      if (done()) return true;
      static_cast<void>(::poll(nullptr, 0, 10));  // Another process works; nothing here could be told of it.
    }
    return false;
  }
  bool route_is_done() {
    const auto answer = client->call("why", {{"table", "ROUTE_TABLE"}, {"key", "192.168.0.0/16"}});
    return answer && json::serialize(*answer).find("\"done\"") != std::string::npos && kernel_routes() == (lab ? 1U : 0U);
  }
  std::size_t kernel_routes() {
    if (!lab) return 0;
    auto plane = make_linux_dataplane({.network_namespace = lab->path()});
    std::size_t routes = 0;
    EXPECT_TRUE(plane && (*plane)->routes([&](const RouteEntry&) { ++routes; }).ok());
    return routes;
  }

  fs::path directory;
  std::string program_;
  std::unique_ptr<NotifySocket> notify;
  std::unique_ptr<netlink::Lab> lab;
  std::unique_ptr<AdminClient> client;
  pid_t pid = -1;
};

TEST_F(RondodOnLinux, ServesAndEndsWithZeroWhenAsked) {
  start();
  write_rows();
  ASSERT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
  ASSERT_EQ(::kill(pid, SIGTERM), 0);
  EXPECT_THAT(notify->next(), ::testing::HasSubstr("STOPPING=1"));
  const int status = wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << log_text();
  EXPECT_EQ(kernel_routes(), lab ? 1U : 0U) << "forwarding goes on while the daemon is away";
}

TEST_F(RondodOnLinux, FinishesWhatItAcceptedBeforeItEnds) {
  start();
  write_rows();
  ASSERT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
  constexpr unsigned kBacklog = 20'000;
  BulkWriter writer(*client);
  ASSERT_TRUE(writer.begin("ROUTE_TABLE").ok());
  const BulkField group{"nexthop_group", "1"};
  for (unsigned i = 0; i < kBacklog; ++i) {
    const std::string key = "20." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24";
    ASSERT_TRUE(writer.row(BulkOp::Set, key, {&group, 1}).ok());
  }
  ASSERT_TRUE(writer.end().ok());
  const auto totals = writer.finish();
  ASSERT_TRUE(totals.has_value() && totals->accepted == kBacklog);
  ASSERT_EQ(::kill(pid, SIGTERM), 0);
  const int status = wait();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << log_text();
  EXPECT_THAT(log_text(), ::testing::HasSubstr("drained=true"));
  EXPECT_EQ(kernel_routes(), lab ? kBacklog + 1 : 0U);
}

TEST_F(RondodOnLinux, AfterAKillItStartsAnewOverWhatWasLeft) {
  start();
  write_rows();
  ASSERT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
  ASSERT_EQ(::kill(pid, SIGKILL), 0);
  EXPECT_TRUE(WIFSIGNALED(wait()));
  EXPECT_EQ(kernel_routes(), lab ? 1U : 0U) << "the kernel forwards on";
  start();
  EXPECT_TRUE(becomes([&] { return kernel_routes() == 0; })) << "nobody asked for it\n" << log_text();
  write_rows();
  EXPECT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
}

TEST_F(RondodOnLinux, BadRowsAreRefusedByNameAndTheNextGoOn) {
  start();
  const auto refusal = [this](const json::object& arguments) {
    const auto answer = client->call("set", arguments);
    return answer ? "accepted: " + json::serialize(*answer) : answer.error().to_string();
  };
  EXPECT_THAT(refusal({{"table", "NO_SUCH_TABLE"}, {"key", "a"}, {"fields", json::array{}}}), ::testing::HasSubstr("NO_SUCH_TABLE"));
  EXPECT_THAT(refusal({{"key", "a"}, {"fields", json::array{}}}), ::testing::HasSubstr("table"));
  EXPECT_THAT(refusal({{"table", 7}, {"key", "a"}, {"fields", json::array{}}}), ::testing::HasSubstr("table"));
  EXPECT_THAT(refusal({{"table", "PORT_TABLE"}, {"key", "swp1"}, {"fields", "mtu"}}), ::testing::HasSubstr("fields"));
  EXPECT_THAT(refusal({{"table", "PORT_TABLE"}, {"key", "swp1"}, {"fields", json::array{json::array{"mtu", 1500}}}}),
              ::testing::HasSubstr("fields"));
  // What is a row but no route is the agent's to refuse: by table, key, field and value.
  const std::string table = "ROUTE_TABLE";
  for (const char* key : {"192.0.2.0/33", "not an address", "2001:db8::/129"}) {
    set(table, key, {{"nexthop_group", "1"}});
    EXPECT_TRUE(becomes([&] { return log_text().find(key) != std::string::npos; })) << key;
  }
  set("INTF_TABLE", "swp1", {{"mtu", "many"}});
  EXPECT_TRUE(becomes([&] { return log_text().find("many") != std::string::npos; })) << log_text();
  write_rows();
  EXPECT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
}

TEST_F(RondodOnLinux, ReopensItsJournalOnHangup) {
  start();
  set("PORT_TABLE", "swp1", {{"admin_status", "up"}});
  const fs::path record = directory / "day.journal";
  ASSERT_TRUE(becomes([&] { return fs::exists(record) && fs::file_size(record) > 0; }));
  fs::rename(record, directory / "day.journal.1");
  ASSERT_EQ(::kill(pid, SIGHUP), 0);
  ASSERT_TRUE(becomes([&] { return log_text().find("asked the journal to reopen") != std::string::npos; }));
  set("INTF_TABLE", "swp1", {{"mtu", "1500"}});
  EXPECT_TRUE(becomes([&] { return fs::exists(record) && fs::file_size(record) > 0; }));
}

TEST_F(RondodOnLinux, RefusesToStartTwiceOnOneSocketAndTouchesNothing) {
  start();
  write_rows();
  ASSERT_TRUE(becomes([&] { return route_is_done(); })) << log_text();
  const pid_t first = pid;
  const std::string command = program_ + " --config " + (directory / "rondod.toml").string() + " 2>/dev/null";
  const int status = std::system(command.c_str());
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 69);
  EXPECT_EQ(::kill(first, 0), 0);
  EXPECT_TRUE(client->call("tables", {}).has_value());
  EXPECT_EQ(kernel_routes(), lab ? 1U : 0U) << "the second one took the first one's routes for leftovers";
}

}  // namespace
}  // namespace rondo
