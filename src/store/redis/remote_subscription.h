// RemoteSubscription: one subscription on Redis. It holds what was fetched and not taken yet; there is one class for each kind of table.
// The store calls online() and offline() when the connections come up and go down, and message() for messages on the channel. An answer
// that was outstanding when the subscription went offline is ignored (generation()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/store/redis_store.h"
#include "rondo/store/store.h"
#include "store/redis/connection.h"
#include "store/redis/target.h"

namespace rondo::redis {

class RemoteSubscription;

/// The state that every subscription uses; it must outlive them.
struct Link {
  bool may_take() const { return fence.empty() || scheduler.clock().now() < taken_until; }
  /// Calls the function 'name' of the options. An exception is logged: one that left the turn would quarantine the connection.
  void call(std::string_view name, const std::function<void()>& function) const;

  Scheduler& scheduler;
  Connection& commands;
  Connection& events;
  const RedisStoreOptions& options;
  RedisStoreStats& stats;
  bool up = false;                         // Both connections are usable.
  std::string fence{};                     // The value of the lease, which pops and acknowledgements compare; empty: no lease.
  Instant taken_until = Instant::never();  // After this time the lease may have ended: consumers of Staged and Queue tables take nothing.
  std::function<void()> on_fenced{};       // Called when the server refused an operation that only the holder may do.
  std::vector<std::weak_ptr<RemoteSubscription>> unfinished{};  // Subscriptions that continue in the next turn of 'commands'.
};

class RemoteSubscription : public std::enable_shared_from_this<RemoteSubscription> {
 public:
  RemoteSubscription(Link& link, Target& target) : link_(link), target_(target) {}
  virtual ~RemoteSubscription() = default;
  RemoteSubscription(const RemoteSubscription&) = delete;
  RemoteSubscription& operator=(const RemoteSubscription&) = delete;

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
  /// Wakes the consumer if there is something that it was not allowed to take before.
  void notify_again() const { notify(); }
  void go_offline() {
    ++generation_;
    offline();
  }

  /// The channel to subscribe to; empty for none.
  virtual std::string channel() const = 0;
  /// Called for a message on channel().
  virtual void message(std::string_view payload) = 0;
  /// Called periodically while online, to retry what failed before.
  virtual void tick() {}
  /// Called in a turn of the commands connection, to continue after continue_next_turn().
  virtual void go_on() {}

  void on_ready(std::function<void()> wake) {
    wake_ = std::move(wake);
    notify();
  }
  virtual std::size_t take(std::size_t max, std::vector<Change>& out) = 0;
  virtual bool empty() const = 0;
  virtual std::size_t depth() const = 0;
  virtual bool take_gap() { return false; }
  virtual void next_arrivals(std::size_t max, std::vector<Subscription::Arrival>& out) const {
    static_cast<void>(max);
    static_cast<void>(out);
  }
  virtual std::uint64_t dropped() const { return 0; }
  /// Call this before open().
  virtual void use(const SubscribeOptions& options) { static_cast<void>(options); }
  virtual void requeue(std::string_view key) { static_cast<void>(key); }
  virtual bool caught_up() const { return true; }
  virtual bool has_fetched(std::string_view key) const {
    static_cast<void>(key);
    return false;
  }
  virtual std::size_t fetched() const { return 0; }
  /// Why no changes arrive although the connections are up; ok otherwise.
  virtual Status trouble() const { return {}; }

 protected:
  /// Called when the store is connected and subscribed to channel(), and this is open: fetch what is there.
  virtual void online() = 0;
  virtual void offline() = 0;
  virtual void closed() {}
  virtual bool has_news() const { return !empty(); }
  void notify() const {
    if (wake_ && has_news()) wake_();
  }
  /// Wakes the consumer once when the last standing row was read, also if none waits: others may wait for that.
  void note_caught_up() {
    if (!std::exchange(was_caught_up_, was_caught_up_ || caught_up()) && was_caught_up_ && wake_) wake_();
  }
  /// Call this when the turn is over: go_on() is called in the next turn.
  void continue_next_turn() {
    link_.unfinished.push_back(weak_from_this());
    link_.commands.wake();
  }
  /// Expects the answers to what was just written to link().commands.out(). 'on_reply' is called only if the generation has not changed.
  void ask(std::size_t answers, const Shape& shape, std::function<void(const Reply&)> on_reply, bool each = false);
  Link& link() const noexcept { return link_; }
  Target& target() const noexcept { return target_; }
  RedisStoreStats& stats() const noexcept { return link_.stats; }
  std::uint64_t generation() const noexcept { return generation_; }
  /// The key of a row was read, and was a hash or of another type. Some keys of other types are remembered, for trouble_of_types().
  void note_type(std::string_view key, bool is_other);
  void forget_types() { other_types_.clear(); }
  Status trouble_of_types() const;

 private:
  Link& link_;
  Target& target_;
  std::function<void()> wake_;
  std::uint64_t generation_ = 0;
  std::set<std::string, std::less<>> other_types_;  // Keys of rows that are no hashes.
  bool open_ = false;
  bool was_caught_up_ = false;
};

/// The row in the answer to an HGETALL (or the same from a script). Returns no record if there are no fields. The field that marks an empty
/// row is removed.
Record record_of(std::string_view key, const Reply& fields);
/// The same with error checks, for the answer to an HGETALL. A key of another type (is_of_other_type()) is not a row. Every other error is
/// returned, because a row that could not be read must not be taken for a deleted one.
bool is_of_other_type(const Reply& answer);
/// Says so. 'key' is the whole key.
Status not_a_row(std::string_view key, std::string_view table);
Result<Record> row_of(std::string_view key, const Reply& answer);

}  // namespace rondo::redis
