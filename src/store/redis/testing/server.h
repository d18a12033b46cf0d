// A real redis-server for tests, on a Unix socket in a temporary folder; on request also on a loopback port, with TLS, with a password,
// with persistence. It can be stopped, killed, restarted on the same folder, frozen and thawed.
//   RONDO_NEEDS_REDIS();
//   redis_kit::RedisServer server;
//   EXPECT_EQ(server.command({"SET", "a", "1"}), "OK");
// One thread, see process.h.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "rondo/store/redis_address.h"
#include "store/redis/testing/client.h"
#include "store/redis/testing/process.h"
#include "store/redis/testing/tls.h"

/// The first line of a test that starts a server: without the program the test is skipped, with a message.
#define RONDO_NEEDS_REDIS() \
  if (::rondo::redis_kit::server_program().empty()) GTEST_SKIP() << "SKIPPED: no redis-server; install Debian's package redis-tools"

namespace rondo::redis_kit {

struct RedisServerOptions {
  bool tcp = false;        // Also listen on a free port of 127.0.0.1.
  bool tls = false;        // Also listen with TLS on another port; see tls_address().
  std::string password{};  // The setting requirepass; the kit's own commands use it.
  /// More settings, as on the command line: {"--appendonly", "yes"}. By default nothing is saved and there are 100 databases, as in SONiC.
  std::vector<std::string> arguments{};
};

class RedisServer {
 public:
  using Arguments = RedisClient::Arguments;

  /// Starts the server and returns when it answers. On failure, throws with the end of its log.
  explicit RedisServer(RedisServerOptions options = {}) : options_(std::move(options)) {
    if (options_.tls) certificates_.emplace(folder_.path());
    start();
  }

  /// Starts again after stop() or kill9(), on the same folder, socket and ports, and waits until the server answers.
  void start() {
    for (int attempt = 0;; ++attempt) {
      process_.start("redis-server", settings(), log());
      if (came_up()) return;
      // Another process took the port after free_port() and before the server's bind.
      const bool taken = process_.log_tail().find("bind: Address") != std::string::npos;
      if (attempt == 5 || !taken) give_up("redis-server does not start:\n" + process_.log_tail());
      process_.kill9();
      port_ = tls_port_ = 0;
    }
  }
  /// SIGTERM: the server saves if it is configured to save.
  void stop() {
    client_.reset();
    process_.stop();
  }
  void kill9() {
    client_.reset();
    process_.kill9();
  }
  void restart() {
    stop();
    start();
  }
  /// Stops the process; its connections stay open. Do not call command() meanwhile: it would block.
  void freeze() { process_.signal(SIGSTOP); }
  void thaw() { process_.signal(SIGCONT); }
  bool running() { return process_.running(); }
  pid_t pid() const noexcept { return process_.pid(); }

  RedisAddress address(unsigned database = 0) const {
    RedisAddress result;
    result.unix_path = socket();
    result.database = database;
    result.password = options_.password;
    return result;
  }
  RedisAddress tcp_address(unsigned database = 0) const {
    RedisAddress result = address(database);
    result.unix_path.clear();
    result.port = port_;
    return result;
  }
  /// With the test authority's certificate and one for the client. The server's certificate is for 127.0.0.1 and "localhost".
  RedisAddress tls_address(unsigned database = 0) const {
    RedisAddress result = tcp_address(database);
    result.tls = true;
    result.port = tls_port_;
    result.ca_file = certificates_->ca_file();
    result.cert_file = certificates_->client_cert_file();
    result.key_file = certificates_->client_key_file();
    return result;
  }
  std::string socket() const { return folder_.file("s"); }
  std::uint16_t port() const noexcept { return port_; }
  const std::filesystem::path& folder() const noexcept { return folder_.path(); }
  const std::optional<TlsFiles>& certificates() const noexcept { return certificates_; }
  std::string log() const { return folder_.file("log"); }

  /// Uses the kit's own connection to database 0; see RedisClient. A lost connection is replaced.
  std::string command(const Arguments& arguments) { return client().command(arguments); }
  std::vector<std::string> list(const Arguments& arguments) { return client().list(arguments); }
  /// The content of a hash, by field.
  std::map<std::string, std::string> hash(const std::string& key) { return pairs({"HGETALL", key}); }
  /// CONFIG GET of a pattern.
  std::map<std::string, std::string> config(const std::string& pattern = "*") { return pairs({"CONFIG", "GET", pattern}); }
  /// The lines "name:value" of INFO.
  std::map<std::string, std::string> info(const std::string& section = "everything") {
    std::map<std::string, std::string> values;
    std::istringstream lines(command({"INFO", section}));
    for (std::string line; std::getline(lines, line);) {
      if (!line.empty() && line.back() == '\r') line.pop_back();
      const std::size_t colon = line.find(':');
      if (colon != std::string::npos) values[line.substr(0, colon)] = line.substr(colon + 1);
    }
    return values;
  }
  /// CPU time that the server has used, user and system, over all its threads.
  std::int64_t cpu_microseconds() {
    const auto values = info("cpu");
    return microseconds(values.at("used_cpu_user")) + microseconds(values.at("used_cpu_sys"));
  }

 private:
  std::vector<std::string> settings() {
    if (options_.tcp && port_ == 0) port_ = free_port();
    if (options_.tls && tls_port_ == 0) tls_port_ = free_port();
    std::vector<std::string> all{"--port",
                                 std::to_string(port_),
                                 "--bind",
                                 "127.0.0.1",
                                 "--unixsocket",
                                 socket(),
                                 "--unixsocketperm",
                                 "700",
                                 "--dir",
                                 folder_.path().string(),
                                 "--databases",
                                 "100",
                                 "--save",
                                 "",
                                 "--repl-diskless-sync-delay",
                                 "0",
                                 "--daemonize",
                                 "no"};
    if (options_.tls) {
      const std::vector<std::string> tls{
          "--tls-port",     std::to_string(tls_port_),        "--tls-cert-file",    certificates_->server_cert_file(),
          "--tls-key-file", certificates_->server_key_file(), "--tls-ca-cert-file", certificates_->ca_file()};
      all.insert(all.end(), tls.begin(), tls.end());
    }
    if (!options_.password.empty()) all.insert(all.end(), {"--requirepass", options_.password});
    all.insert(all.end(), options_.arguments.begin(), options_.arguments.end());
    return all;
  }

  /// Waits until the server answers PING; false if it ended instead.
  bool came_up() {
    if (socket().size() > 107) give_up("the path of a socket may have 107 bytes: " + socket());
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (process_.running()) {
      std::optional<RedisClient> client = RedisClient::try_connect(address());
      if (client && client->command({"PING"}) == "PONG") {
        client_ = std::make_unique<RedisClient>(std::move(*client));
        return true;
      }
      if (std::chrono::steady_clock::now() > end) give_up("redis-server does not answer:\n" + process_.log_tail());
      process_.wait_for_exit(2);
    }
    return false;
  }

  RedisClient& client() {
    if (!client_ || !client_->connected()) client_ = std::make_unique<RedisClient>(address());
    return *client_;
  }

  std::map<std::string, std::string> pairs(const Arguments& arguments) {
    const std::vector<std::string> flat = list(arguments);
    std::map<std::string, std::string> result;
    for (std::size_t i = 0; i + 1 < flat.size(); i += 2) result[flat[i]] = flat[i + 1];
    return result;
  }

  static std::int64_t microseconds(const std::string& seconds) { return static_cast<std::int64_t>(std::stod(seconds) * 1e6 + 0.5); }

  RedisServerOptions options_;
  TempFolder folder_;
  std::optional<TlsFiles> certificates_;
  std::uint16_t port_ = 0;
  std::uint16_t tls_port_ = 0;
  ServerProcess process_;
  std::unique_ptr<RedisClient> client_;
};

}  // namespace rondo::redis_kit
