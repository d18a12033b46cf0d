// Connection: one pipelined connection to a Redis server, as a source of the scheduler. It connects, authenticates, selects the database
// and reconnects by itself (backoff with jitter). If the server does not answer in time, the connection closes. Requests sent while it is
// away are refused; the sender knows what to send again. Before it is ready again, it makes the server end its predecessor's connection, so
// that no earlier request is executed late (ADR 0011). No call blocks. Scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "rondo/base/random.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"
#include "rondo/store/redis_address.h"
#include "store/redis/commands.h"
#include "store/redis/reply.h"
#include "store/redis/resolver.h"
#include "store/redis/shape.h"
#include "store/redis/transport.h"

namespace rondo::redis {

struct ConnectionOptions {
  std::string name;  // The source's name, also used for CLIENT SETNAME.
  Priority priority = Priority{};
  Duration connect_timeout = 5s;
  Duration answer_timeout = 5s;  // If an answer is pending and nothing arrives for this long, the connection closes.
  /// The delay before the first reconnect. It doubles each time; the actual delay is random between half of it and all of it.
  Duration backoff_low = 20ms;
  Duration backoff_high = 2s;
  std::uint64_t seed = 1;
  bool subscriber = false;   // The connection carries messages: everything after the handshake goes to User::message().
  bool master_only = false;  // Close the connection if the server reports that it is a replica.
};

class Connection final : public Source {
 public:
  /// The user of the connection; it must outlive the connection. Called only in the connection's turns.
  class User {
   public:
    virtual void connected(Connection& connection) = 0;
    /// Outstanding answers will not arrive. Also called for a failed attempt to connect; then 'was_connected' is false.
    virtual void lost(Connection& connection, const Status& why, bool was_connected) = 0;
    virtual void message(const Reply& message) { static_cast<void>(message); }
    /// Called just before bytes are sent: the user may add gathered requests now.
    virtual void before_send(Connection& connection) { static_cast<void>(connection); }

   protected:
    ~User() = default;
  };
  /// Receives the last answer of a sequence, and the first error among the answers before it.
  using OnReply = std::function<void(const Reply& reply, const Status& earlier)>;

  /// The server's data from the handshake. A subscriber does not request it.
  struct Greeting {
    std::string run_id;          // The id of the server's process; empty if the server does not report it.
    std::int64_t id = 0;         // The server's id of this connection.
    bool ended_earlier = false;  // The server still had an earlier connection of ours and closed it.
    Status refused;              // The reason why the server may execute requests of an earlier connection late; ok if it cannot.
  };

  Connection(Scheduler& scheduler, RedisAddress address, ConnectionOptions options, User& user);
  ~Connection() override;

  /// If the connection is away, begins to connect in a later turn, not before 'delay'. A connection that already waits for its next attempt
  /// keeps its delay, unless the address changed.
  void start(Duration delay = {});
  /// Closes the connection at the end of the turn; it stays closed until start().
  void stop();
  /// Sets the address for the next attempt.
  void set_address(RedisAddress address);
  const RedisAddress& address() const noexcept { return address_; }
  bool is_connected() const noexcept { return state_ == State::Ready; }
  /// Why the connection is not established; ok while it is.
  const Status& trouble() const noexcept { return trouble_; }
  /// The greeting of the current connection, or of the last one that was ready.
  const Greeting& greeting() const noexcept { return greeting_; }
  /// Closes the connection as if it had broken, and reconnects. This happens at the end of the turn, so a callback may call it.
  void give_up(Status why);

  /// The number of addresses of the host; 1 before it was resolved.
  std::size_t addresses() const noexcept { return resolver_.addresses(); }

  /// The buffer for requests. After the requests of one sequence, call expect() or expect_each(). Only while is_connected().
  Commands& out() noexcept { return out_; }
  /// Announces 'answers' answers; 'on_reply' receives the last one. Wakes the connection. An answer that is neither an error nor of 'shape'
  /// closes the connection with DataLoss and a description; no callback receives it.
  void expect(std::size_t answers, const Shape& shape, OnReply on_reply) { expect({answers, &shape, std::move(on_reply), {}, false}); }
  /// Like expect(), but 'on_reply' receives each answer, and each must have the shape.
  void expect_each(std::size_t answers, const Shape& shape, OnReply on_reply) { expect({answers, &shape, std::move(on_reply), {}, true}); }
  /// In the connection's turn and its timer's: true when the time is used up. The rest is for the next turn; wake() requests one.
  bool turn_is_over() const { return time_is_up(budget_); }
  std::size_t pending() const noexcept { return pending_.size(); }
  std::size_t unsent_bytes() const noexcept { return out_.unsent().size(); }

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

 private:
  enum class State : std::uint8_t { Away, Resolving, Connecting, Greeting, Ready };
  struct Pending {
    std::size_t answers = 0;
    const Shape* shape = nullptr;
    OnReply on_reply;
    Status earlier;
    bool each = false;
    std::string command{};  // The last one, for errors.
  };
  void expect(Pending pending);
  void attempt();
  void open(const std::string& ip);
  void advance();
  void greet();
  void ask_role();
  void identify();
  void fence();
  void greeted();
  void read_some();
  Status unreadable(const Status& why) const;
  void handle(const Reply& reply);
  bool fits(const Pending& pending, const Reply& reply);
  void write_some();
  void tick();
  void lose(Status why);

  Scheduler& owner_;
  RedisAddress address_;
  const ConnectionOptions options_;
  User& user_;
  Random random_;
  TimerSource timer_;
  Resolver resolver_;
  Transport transport_;
  ReplyReader reader_;
  std::unique_ptr<char[]> buffer_;
  Budget budget_;  // The budget of this turn.
  Commands out_;
  std::deque<Pending> pending_;
  State state_ = State::Away;
  Status trouble_;
  Status doomed_;  // Not ok: the connection closes at the end of the turn.
  Duration backoff_;
  Instant ready_since_;  // When the connection last became ready.
  Instant heard_;        // When data last arrived, or when the oldest outstanding answer became due.
  Instant deadline_;     // The deadline of an attempt.
  bool resting_ = true;  // The connection must not connect.
  bool moved_ = false;   // The address has changed since the last attempt.
  bool readable_ = false;
  bool writable_ = false;
  bool waits_ping_ = false;
  Greeting greeting_;
  std::map<std::string, std::int64_t, std::less<>> earlier_;  // By run id: the server's id of our last connection to it.
};

}  // namespace rondo::redis
