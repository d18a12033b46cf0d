// End: the near end of one subscription on Redis: what has been fetched and not yet taken. One class a kind of table. An end hears when the
// connections are there (online) or not (offline), and of messages on its channel; answers that were on their way when it went offline are
// not believed (generation()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/store/redis_store.h"
#include "rondo/store/store.h"
#include "store/redis/connection.h"
#include "store/redis/target.h"

namespace rondo::redis {

class End;

/// What every end needs; outlives it.
struct Link {
  bool may_take() const { return fence.empty() || scheduler.clock().now() < taken_until; }

  Scheduler& scheduler;
  Connection& commands;
  Connection& events;
  const RedisStoreOptions& options;
  RedisStoreStats& stats;
  bool up = false;                               // Both connections are usable.
  std::string fence{};                           // The value of the lease, which pops and acknowledgements compare; empty: no lease.
  Instant taken_until = Instant::never();        // Later the lease may have ended: consumers of Staged and Queue tables take nothing.
  std::function<void()> on_fenced{};             // The server refused what only the holder may do.
  std::vector<std::weak_ptr<End>> unfinished{};  // Ends that go on in the next turn of 'commands'.
};

class End : public std::enable_shared_from_this<End> {
 public:
  End(Link& link, Target& target) : link_(link), target_(target) {}
  virtual ~End() = default;
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  const TableSpec& spec() const noexcept { return target_.spec; }
  const TableKeys& keys() const noexcept { return target_.keys; }
  bool is_open() const noexcept { return open_; }
  void open() { open_ = true; }
  void close() {
    open_ = false;
    wake_ = nullptr;
    closed();
  }
  void go_online() {
    go_offline();
    online();
  }
  /// It may have something that it was not to give for a while.
  void tell_again() const { tell(); }
  void go_offline() {
    ++generation_;
    offline();
  }

  /// The channel to subscribe to; empty for none.
  virtual std::string channel() const = 0;
  /// Something came on channel().
  virtual void message(std::string_view payload) = 0;
  /// Now and then, while online: for what failed a moment ago.
  virtual void tick() {}
  /// In a turn of the commands connection: what an earlier one had no time for, see later().
  virtual void go_on() {}

  void on_ready(std::function<void()> wake) {
    wake_ = std::move(wake);
    tell();
  }
  virtual std::size_t take(std::size_t max, std::vector<Change>& out) = 0;
  virtual bool empty() const = 0;
  virtual std::size_t depth() const = 0;
  virtual Gap take_gap() { return Gap::None; }
  virtual std::uint64_t dropped() const { return 0; }
  /// Before open().
  virtual void use(const SubscribeOptions& options) { static_cast<void>(options); }
  virtual void requeue(std::string_view key) { static_cast<void>(key); }
  virtual bool caught_up() const { return true; }
  virtual std::size_t fetched() const { return 0; }
  /// Why nothing comes although the connections are there; ok while something may.
  virtual Status trouble() const { return {}; }

 protected:
  /// Connected, subscribed to channel(), and somebody consumes: look what is there.
  virtual void online() = 0;
  virtual void offline() = 0;
  virtual void closed() {}
  virtual bool has_news() const { return !empty(); }
  void tell() const {
    if (wake_ && has_news()) wake_();
  }
  /// The turn is over: go_on() is called in the next one.
  void later() {
    link_.unfinished.push_back(weak_from_this());
    link_.commands.wake();
  }
  /// Sends what was just written to link().commands.out(), and answers only while this end is what it was.
  void ask(std::size_t answers, const Shape& shape, std::function<void(const Reply&)> on_reply, bool each = false);
  Link& link() const noexcept { return link_; }
  Target& target() const noexcept { return target_; }
  RedisStoreStats& stats() const noexcept { return link_.stats; }
  std::uint64_t generation() const noexcept { return generation_; }

 private:
  Link& link_;
  Target& target_;
  std::function<void()> wake_;
  std::uint64_t generation_ = 0;
  bool open_ = false;
};

/// The row that an HGETALL (or the same from a script) tells. False (no record) when there are no fields at all; the convention of the
/// empty row is undone.
Record record_of(std::string_view key, const Reply& fields);
/// The same of the answer to an HGETALL. A key that holds something else is no row; every other error is one: a row that could not be read
/// must not be taken for one that is gone.
Result<Record> row_of(std::string_view key, const Reply& answer);

}  // namespace rondo::redis
