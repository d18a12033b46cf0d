// Fuzzes whole conversations with a Redis: a store with a consumer of each kind of table sends commands, and the input provides the
// answers. For any answer, the store neither crashes nor loops: it closes the connection and reports the reason. An input is a list of
// answers, each a byte with its length and then its bytes as sent on the socket; length 0 is the correct answer of an empty Redis. After
// the last answer the server closes the connection.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/base/assert.h"
#include "rondo/base/clock.h"
#include "rondo/sched/scheduler.h"
#include "rondo/store/redis_store.h"
#include "store/redis/testing/empty_redis.h"

namespace {

using namespace rondo;

/// The answers of the input, one after the other.
class Script {
 public:
  explicit Script(std::string_view bytes) : rest_(bytes) {}
  bool at_end() const { return rest_.empty(); }
  std::size_t left() const { return rest_.size(); }
  std::string_view next() {
    const std::size_t size = std::min<std::size_t>(static_cast<unsigned char>(rest_[0]), rest_.size() - 1);
    const std::string_view answer = rest_.substr(1, size);
    rest_.remove_prefix(1 + size);
    return answer;
  }

 private:
  std::string_view rest_;
};

/// The server's end of one connection.
class Peer {
 public:
  explicit Peer(UniqueFd socket) : socket_(std::move(socket)) {}

  /// Reads, and answers complete commands. Returns false if the connection or the script has ended.
  bool serve(Script& script) {
    std::array<char, 65536> buffer;
    const ssize_t size = ::recv(socket_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size == 0) return false;
    if (size > 0) redis_.receive({buffer.data(), static_cast<std::size_t>(size)});
    for (std::vector<std::string> words; !(words = redis_.next_command()).empty();) {
      if (script.at_end()) return false;
      const std::string_view scripted = script.next();
      const std::string honest = redis_.answer(words);
      const std::string_view answer = scripted.empty() ? std::string_view{honest} : scripted;
      if (::send(socket_.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT) < 0) return false;
    }
    return true;
  }

 private:
  UniqueFd socket_;
  redis_kit::EmptyRedis redis_;
};

/// Listens once for all inputs.
class Server {
 public:
  Server() : listener_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    char folder[] = "/tmp/rondo-fuzz-XXXXXX";
    RONDO_ASSERT(::mkdtemp(folder) != nullptr);
    folder_ = folder;
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    path().copy(name.sun_path, sizeof name.sun_path - 1);
    RONDO_ASSERT(::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
    RONDO_ASSERT(::listen(listener_.get(), 16) == 0);
  }
  ~Server() {
    ::unlink(path().c_str());
    ::rmdir(folder_.c_str());
  }
  std::string path() const { return folder_ + "/redis"; }
  void accept(std::vector<Peer>& peers) const {
    for (;;) {
      UniqueFd socket{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)};
      if (!socket) return;
      peers.emplace_back(std::move(socket));
    }
  }

 private:
  UniqueFd listener_;
  std::string folder_;
};

/// A store with all kinds of tables, and a consumer of each.
class Client {
 public:
  explicit Client(const std::string& path) : store_(scheduler_, options(path)) {
    for (const auto& [table, kind] : kTables) {
      RONDO_ASSERT(store_.declare({.name = table, .kind = kind}).ok());
      consumers_.push_back(std::move(store_.subscribe(table, {}).value()));
    }
  }
  /// 'waits': waits for data in transit, a millisecond at most.
  void run(bool waits) {
    if (waits) scheduler_.wait(clock_.now() + 1ms);
    RONDO_ASSERT(scheduler_.run_until_idle(kTurns) < kTurns);  // A finite answer must lead to finitely many turns.
    std::vector<Change> out;
    for (const auto& consumer : consumers_) consumer->take(100, out);
  }
  /// Sends a command of each kind.
  void use() {
    for (const auto& [table, kind] : kTables) {
      const bool is_event = kind == TableKind::Channel;
      static_cast<void>(store_.write(table, is_event ? Change::event("verb", "key", {}) : Change::set("key", {{"n", "1"}})));
      if (kind != TableKind::Staged && kind != TableKind::Watched) continue;
      static_cast<void>(store_.write(table, Change::remove("other")));
      store_.get(table, "key", [](const Result<Record>&) {});
      store_.scan(table, "", 10, [](const Result<RowPage>&) {});
      store_.scan_written(table, "", 10, [](const Result<RowPage>&) {});
    }
  }

 private:
  static constexpr std::uint64_t kTurns = 100'000;
  static inline const std::vector<std::pair<std::string, TableKind>> kTables{
      {"T", TableKind::Staged}, {"W", TableKind::Watched}, {"Q", TableKind::Queue}, {"C", TableKind::Channel}};
  static RedisStoreOptions options(const std::string& path) {
    RedisStoreOptions options;
    options.address.unix_path = path;
    options.backoff_low = options.backoff_high = 1ms;
    options.lease = kShortestRedisLease;
    return options;
  }

  SystemClock clock_;
  std::unique_ptr<Reactor> reactor_ = make_epoll_reactor().value();
  Scheduler scheduler_{clock_, *reactor_, *make_policy(StrictPriority{})};
  RedisStore store_;
  std::vector<std::unique_ptr<Subscription>> consumers_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Server server;
  Script script{{reinterpret_cast<const char*>(data), size}};
  std::vector<Peer> peers;
  Client client{server.path()};
  // Each round answers at least one command, or is one of a few consecutive rounds without any.
  for (unsigned quiet = 0, round = 0; quiet < 4 && !script.at_end(); ++round) {
    const std::size_t left = script.left();
    client.run(quiet > 0);
    if (round % 8 == 4) client.use();
    client.run(false);
    server.accept(peers);
    std::erase_if(peers, [&script](Peer& peer) { return !peer.serve(script); });
    quiet = script.left() == left ? quiet + 1 : 0;
  }
  client.run(false);
  peers.clear();
  client.run(false);
  return 0;
}
