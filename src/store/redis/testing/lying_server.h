// A server on a Unix socket for tests. It speaks Redis' protocol and, after lie(), sends answers that no Redis sends. It runs on its own
// thread. The public functions may be called from any thread.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "rondo/base/random.h"
#include "rondo/store/redis_address.h"
#include "store/redis/testing/empty_redis.h"
#include "store/redis/testing/process.h"

namespace rondo::redis_kit {

class LyingRedis {
 public:
  /// Answers like an empty Redis until lie().
  LyingRedis() {
    listener_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    folder_.file("l").copy(name.sun_path, sizeof name.sun_path - 1);
    EXPECT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    EXPECT_EQ(::listen(listener_, 16), 0);
    thread_ = std::thread([this] { run(); });
  }
  ~LyingRedis() {
    ending_ = true;
    thread_.join();
    for (Client& client : clients_) ::close(client.socket);
    ::close(listener_);
  }
  LyingRedis(const LyingRedis&) = delete;
  LyingRedis& operator=(const LyingRedis&) = delete;

  RedisAddress address() const {
    RedisAddress result;
    result.unix_path = folder_.file("l");
    return result;
  }
  /// From now on every answer after the handshake is 'always'. If 'always' is empty, every second answer on average is a lie drawn from
  /// 'seed'.
  void lie(std::string always, std::uint64_t seed) {
    const std::lock_guard lock(mutex_);
    always_ = std::move(always);
    random_ = Random{seed};
    lies_ = true;
  }
  void be_honest() {
    const std::lock_guard lock(mutex_);
    lies_ = false;
  }
  /// With 'endless', every SCAN returns two keys of the table and another cursor, so the scan never ends.
  void scan_without_end(bool endless) { endless_ = endless; }
  /// Does not answer the next 'count' subscriptions.
  void swallow_subscriptions(int count) { swallowed_ = count; }
  std::uint64_t lies_told() const noexcept { return told_; }

  /// Answers whose shape is wrong for most commands.
  static const std::vector<std::string>& lies() {
    static const std::vector<std::string> kLies{
        "+OK\r\n",
        ":0\r\n",
        ":-7\r\n",
        ":9223372036854775807\r\n",
        "*0\r\n",
        "*-1\r\n",
        "$-1\r\n",
        "$0\r\n\r\n",
        "$3\r\nabc\r\n",
        "*1\r\n:5\r\n",
        "*1\r\n*0\r\n",
        "*2\r\n:5\r\n:5\r\n",
        "*2\r\n:-1\r\n*0\r\n",
        "*2\r\n*0\r\n*0\r\n",
        "*2\r\n:3\r\n*1\r\n$1\r\na\r\n",
        "*2\r\n:3\r\n*3\r\n:1\r\n:2\r\n:3\r\n",
        "*2\r\n:3\r\n*3\r\n$1\r\na\r\n:0\r\n*1\r\n$1\r\nf\r\n",
        "*2\r\n:3\r\n*3\r\n$1\r\na\r\n:0\r\n:1\r\n",
        "*2\r\n:0\r\n*3\r\n$1\r\n7\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n*0\r\n",
        "*2\r\n:0\r\n*6\r\n$1\r\n7\r\n*1\r\n$1\r\na\r\n*0\r\n$1\r\n7\r\n*2\r\n$1\r\nb\r\n$1\r\nc\r\n*0\r\n",
        "*2\r\n:0\r\n*3\r\n$20\r\n18446744073709551615\r\n*1\r\n$1\r\na\r\n*0\r\n",
        "*2\r\n:0\r\n*2\r\n$1\r\n0\r\n*3\r\n$1\r\na\r\n$2\r\n[]\r\n$1\r\nS\r\n",
        "*2\r\n$1\r\n0\r\n*1\r\n:7\r\n",
        "*2\r\n$1\r\n0\r\n*2\r\n$1\r\nx\r\n$0\r\n\r\n",
        "*2\r\n$0\r\n\r\n*0\r\n",
        "*3\r\n:1\r\n:1\r\n:1\r\n",
        "*3\r\n:2\r\n*1\r\n$1\r\na\r\n$1\r\nb\r\n",
        "*3\r\n$7\r\nmessage\r\n*0\r\n*0\r\n",
        "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*0\r\n",
        "-ERR no\r\n",
        "-WRONGTYPE no\r\n",
        "-OOM no\r\n",
        "-READONLY no\r\n",
        "?\r\n",
        "*99999999999\r\n",
        ":1\r\n:1\r\n",
    };
    return kLies;
  }

 private:
  struct Client {
    int socket = -1;
    EmptyRedis redis = {};
  };

  void run() {
    while (!ending_) {
      std::vector<pollfd> watched{{listener_, POLLIN, 0}};
      for (const Client& client : clients_) watched.push_back({client.socket, POLLIN, 0});
      ::poll(watched.data(), watched.size(), 20);
      if ((watched[0].revents & POLLIN) != 0) {
        const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (socket >= 0) clients_.push_back({.socket = socket});
      }
      std::size_t at = 1;
      for (auto it = clients_.begin(); it != clients_.end() && at < watched.size(); ++at) {
        const bool gone = watched[at].revents != 0 && !serve(*it);
        if (gone) ::close(it->socket);
        it = gone ? clients_.erase(it) : std::next(it);
      }
    }
  }

  bool serve(Client& client) {
    std::array<char, 65536> buffer{};
    const ssize_t got = ::recv(client.socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    client.redis.receive({buffer.data(), static_cast<std::size_t>(got)});
    std::string out;
    for (std::vector<std::string> words; !(words = client.redis.next_command()).empty();) out += answer(client, words);
    return out.empty() || ::send(client.socket, out.data(), out.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(out.size());
  }

  static bool is_handshake(const std::vector<std::string>& words) {
    return words[0] == "AUTH" || words[0] == "SELECT" || words[0] == "PING" || words[0] == "INFO" || words[0] == "CLIENT";
  }
  std::string answer(Client& client, const std::vector<std::string>& words) {
    const bool endless = endless_ && words[0] == "SCAN" && !client.redis.in_transaction();
    const std::string honest =
        endless ? "*2\r\n$1\r\n7\r\n*2\r\n" + EmptyRedis::bulk("T:a") + EmptyRedis::bulk("T:b") : client.redis.answer(words);
    if (words[0] == "SUBSCRIBE" && swallowed_ > 0 && swallowed_-- > 0) return {};
    const std::lock_guard lock(mutex_);
    if (!lies_ || is_handshake(words)) return honest;
    if (always_.empty() && random_.below(2) == 0) return honest;
    ++told_;
    return always_.empty() ? lies()[static_cast<std::size_t>(random_.below(lies().size()))] : always_;
  }

  TempFolder folder_;
  int listener_ = -1;
  std::atomic<bool> ending_ = false;
  std::atomic<bool> endless_ = false;
  std::atomic<int> swallowed_ = 0;
  std::atomic<std::uint64_t> told_ = 0;
  std::mutex mutex_;
  bool lies_ = false;
  std::string always_;
  Random random_{1};
  std::list<Client> clients_;
  std::thread thread_;
};

}  // namespace rondo::redis_kit
