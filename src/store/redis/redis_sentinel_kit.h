// For tests: a master, its replica and three Sentinels that watch them, all on loopback ports and in temporary folders. The master can be
// killed; the Sentinels then make the replica the master. Each of the two takes two to three seconds. One thread, see redis_process_kit.h.
#pragma once

#include <array>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "store/redis/redis_server_kit.h"

namespace rondo::redis_kit {

class SentinelGroup {
 public:
  static constexpr std::size_t kSentinels = 3;

  /// Returns when every Sentinel knows the replica and both others: from then on they can fail over.
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

  /// Where the Sentinels are, and the master's name.
  RedisAddress address(unsigned database = 0) const {
    RedisAddress result;
    result.database = database;
    result.sentinel_master = name_;
    for (const Sentinel& sentinel : sentinels_) result.sentinels.emplace_back("127.0.0.1", sentinel.port);
    return result;
  }

  /// Master and replica as they were at the beginning.
  RedisServer& first() noexcept { return first_; }
  RedisServer& second() noexcept { return second_; }

  /// The master's port as the Sentinel 'index' says; 0 when it does not answer.
  std::uint16_t master_port(std::size_t index = 0) {
    const std::vector<std::string> answer = ask(index, {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name_});
    return answer.size() == 2 ? static_cast<std::uint16_t>(std::stoi(answer[1])) : std::uint16_t{0};
  }
  /// Returns when every Sentinel that runs names 'server' as the master, and it says so itself.
  void wait_for_master(RedisServer& server) {
    wait_until("the fail-over is done", [this, &server] {
      for (std::size_t i = 0; i < kSentinels; ++i) {
        if (sentinels_[i].process.running() && master_port(i) != server.port()) return false;
      }
      return server.list({"ROLE"}).front() == "master";
    });
  }
  /// Starts the master that was killed as a replica of the new one at once; by themselves the Sentinels would take ten seconds to see to
  /// it.
  void rejoin(RedisServer& old, RedisServer& master) {
    old.start();
    old.command({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
    wait_until("the old master follows", [&old] { return old.info("replication")["master_link_status"] == "up"; });
  }
  void kill_sentinel(std::size_t index) { sentinels_.at(index).process.kill9(); }
  /// A fail-over without a death, by order; returns when it is accepted. Needs a replica that the Sentinels have seen in step.
  void order_failover() {
    wait_until("the fail-over is accepted", [this] { return ask(0, {"SENTINEL", "FAILOVER", name_}).front() == "OK"; });
  }

 private:
  struct Sentinel {
    std::uint16_t port = 0;
    ServerProcess process{};
  };

  void start_sentinel(std::size_t index) {
    Sentinel& sentinel = sentinels_[index];
    const std::string file = folder_.file("sentinel" + std::to_string(index) + ".conf");
    for (int attempt = 0;; ++attempt) {
      sentinel.port = free_port();
      // It writes what it learns into this file.
      std::ofstream(file) << "port " << sentinel.port << "\nbind 127.0.0.1\ndaemonize no\ndir " << folder_.path().string()
                          << "\nsentinel monitor " << name_ << " 127.0.0.1 " << first_.port() << " 2\nsentinel down-after-milliseconds "
                          << name_ << " 1000\nsentinel failover-timeout " << name_ << " 5000\n";
      sentinel.process.start("redis-sentinel", {file, "--sentinel"}, folder_.file("log" + std::to_string(index)));
      const auto end = std::chrono::steady_clock::now() + kPatience;
      while (sentinel.process.running()) {
        if (ask(index, {"PING"}).front() == "PONG") return;
        if (std::chrono::steady_clock::now() > end) give_up("a Sentinel does not answer:\n" + sentinel.process.log_tail());
        sentinel.process.wait_for_exit(2);
      }
      if (attempt == 5) give_up("a Sentinel does not start:\n" + sentinel.process.log_tail());
    }
  }

  std::vector<std::string> ask(std::size_t index, const RedisClient::Arguments& arguments) {
    RedisAddress address;
    address.port = sentinels_[index].port;
    std::optional<RedisClient> client = RedisClient::try_connect(address);
    return client ? client->list(arguments) : std::vector<std::string>{"(lost)"};
  }
  /// One value of what a Sentinel knows about the master.
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
  std::array<Sentinel, kSentinels> sentinels_;
};

}  // namespace rondo::redis_kit
