// A Sentinel for tests; and a master, its replica and three Sentinels that watch them, all on loopback ports and in temporary folders. The
// master can be killed; the Sentinels then promote the replica. Start and fail-over each take two to three seconds. One thread, see
// process.h.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "store/redis/testing/server.h"

namespace rondo::redis_kit {

/// One Sentinel, on a port that was free.
class SentinelProcess {
 public:
  /// Returns when the Sentinel listens. 'tls': its port uses TLS.
  void start(const TempFolder& folder, const std::string& name, const std::string& settings, bool tls = false) {
    const std::string file = folder.file(name + ".conf");
    for (int attempt = 0;; ++attempt) {
      port_ = free_port();
      const std::string port = std::to_string(port_);
      std::ofstream(file) << (tls ? "port 0\ntls-port " + port : "port " + port) << "\nbind 127.0.0.1\ndaemonize no\ndir "
                          << folder.path().string() << "\n"
                          << settings;
      process_.start("redis-sentinel", {file, "--sentinel"}, folder.file(name + ".log"));
      const auto end = std::chrono::steady_clock::now() + kPatience;
      while (process_.running()) {
        if (listens()) return;
        if (std::chrono::steady_clock::now() > end) give_up("a Sentinel does not answer:\n" + process_.log_tail());
        process_.wait_for_exit(2);
      }
      if (attempt == 5) give_up("a Sentinel does not start:\n" + process_.log_tail());
    }
  }
  std::uint16_t port() const noexcept { return port_; }
  bool running() { return process_.running(); }
  void kill9() { process_.kill9(); }

  /// Uses a separate connection, without TLS and password.
  std::vector<std::string> ask(const RedisClient::Arguments& arguments) const {
    RedisAddress address;
    address.port = port_;
    std::optional<RedisClient> client = RedisClient::try_connect(address);
    return client ? client->list(arguments) : std::vector<std::string>{"(lost)"};
  }

 private:
  bool listens() const {
    RedisAddress address;
    address.port = port_;
    return RedisClient::try_connect(address).has_value();
  }

  std::uint16_t port_ = 0;
  ServerProcess process_{};
};

class SentinelGroup {
 public:
  static constexpr std::size_t kSentinels = 3;

  /// Returns when every Sentinel knows the replica and both other Sentinels: from then on a fail-over is possible.
  explicit SentinelGroup(std::string name = "mymaster")
      : name_(std::move(name)),
        first_({.tcp = true}),
        second_({.tcp = true, .arguments = {"--replicaof", "127.0.0.1 " + std::to_string(first_.port())}}) {
    wait_until("the replica is in step", [this] { return second_.info("replication")["master_link_status"] == "up"; });
    for (std::size_t i = 0; i < kSentinels; ++i) start_sentinel(i);
    wait_until("the Sentinels know each other", [this] {
      for (std::size_t i = 0; i < kSentinels; ++i) {
        if (field(i, "num-slaves") != "1" || field(i, "num-other-sentinels") != "2") return false;
      }
      return true;
    });
  }

  /// The Sentinels' addresses and the master's name.
  RedisAddress address(unsigned database = 0) const {
    RedisAddress result;
    result.database = database;
    result.sentinel_master = name_;
    for (const SentinelProcess& sentinel : sentinels_) result.sentinels.emplace_back("127.0.0.1", sentinel.port());
    return result;
  }

  /// The initial master and the initial replica.
  RedisServer& first() noexcept { return first_; }
  RedisServer& second() noexcept { return second_; }

  /// The master's port as the Sentinel 'index' reports it; 0 when it does not answer.
  std::uint16_t master_port(std::size_t index = 0) {
    const std::vector<std::string> answer = ask(index, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name_});
    return answer.size() == 2 ? static_cast<std::uint16_t>(std::stoi(answer[1])) : std::uint16_t{0};
  }
  /// Returns when every running Sentinel names 'server' as the master, and the server itself reports that role.
  void wait_for_master(RedisServer& server) {
    wait_until("the fail-over is done", [this, &server] {
      for (std::size_t i = 0; i < kSentinels; ++i) {
        if (sentinels_[i].running() && master_port(i) != server.port()) return false;
      }
      return server.list({"ROLE"}).front() == "master";
    });
  }
  /// Starts the killed master immediately as a replica of the new one; the Sentinels would need ten seconds for that.
  void rejoin(RedisServer& old, RedisServer& master) {
    old.start();
    old.command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
    wait_until("the old master follows", [&old] { return old.info("replication")["master_link_status"] == "up"; });
  }
  void kill_sentinel(std::size_t index) { sentinels_.at(index).kill9(); }
  /// Orders a fail-over without a failure; returns when it is accepted. The Sentinels must have seen a replica in sync.
  void order_failover() {
    wait_until("the fail-over is accepted", [this] { return ask(0, {"SENTINEL", "FAILOVER", name_}).front() == "OK"; });
  }

 private:
  void start_sentinel(std::size_t index) {
    // The Sentinel writes what it learns into its file.
    sentinels_[index].start(folder_, "sentinel" + std::to_string(index),
                            "sentinel monitor " + name_ + " 127.0.0.1 " + std::to_string(first_.port()) +
                                " 2\nsentinel down-after-milliseconds " + name_ + " 1000\nsentinel failover-timeout " + name_ + " 5000\n");
  }

  std::vector<std::string> ask(std::size_t index, const RedisClient::Arguments& arguments) { return sentinels_[index].ask(arguments); }
  /// One value of a Sentinel's data about the master.
  std::string field(std::size_t index, const std::string& name) {
    const std::vector<std::string> all = ask(index, {"SENTINEL", "MASTER", name_});
    for (std::size_t i = 0; i + 1 < all.size(); i += 2) {
      if (all[i] == name) return all[i + 1];
    }
    return "";
  }

  std::string name_;
  RedisServer first_;
  RedisServer second_;
  TempFolder folder_;
  std::array<SentinelProcess, kSentinels> sentinels_;
};

}  // namespace rondo::redis_kit
