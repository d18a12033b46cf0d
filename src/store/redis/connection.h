// Connection: one pipelined connection to a Redis server as a source of the scheduler. It connects, authenticates, selects the database and
// comes back by itself (backoff with jitter); a server that does not answer in time is left. What is sent while it is away is refused:
// whoever sends knows what to send again. Before it is ready again it has the server end what is left there of its predecessor, so that
// nothing that was sent earlier is carried out later (ADR 0011). Nothing here waits. Scheduler's thread.
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
  std::string name;  // Of the source, and for CLIENT SETNAME.
  Priority priority = Priority{};
  Duration connect_timeout = 5s;
  Duration answer_timeout = 5s;  // Nothing heard for so long while an answer is owed: the connection is given up.
  Duration backoff_low = 20ms;   // Before the first new attempt; doubled each time, drawn from half of it to all of it.
  Duration backoff_high = 2s;
  std::uint64_t seed = 1;
  bool subscriber = false;   // Carries messages: everything but the handshake goes to User::message().
  bool master_only = false;  // A server that says it is a replica is given up.
};

class Connection final : public Source {
 public:
  /// Whoever uses the connection; outlives it. Called in the connection's turns only.
  class User {
   public:
    virtual void connected(Connection& connection) = 0;
    /// Answers that were owed never come. Called for a failed attempt to connect, too ('was_connected' is false).
    virtual void lost(Connection& connection, const Status& why, bool was_connected) = 0;
    virtual void message(const Reply& message) { static_cast<void>(message); }
    /// The last moment before bytes go out: what was gathered may be sent now.
    virtual void before_send(Connection& connection) { static_cast<void>(connection); }

   protected:
    ~User() = default;
  };
  /// The last answer of a sequence, and the first error among those before it.
  using OnReply = std::function<void(const Reply& reply, const Status& earlier)>;

  /// What the server said in the handshake; a subscriber does not ask.
  struct Greeting {
    std::string run_id;          // Of the server's process; empty when it does not say.
    std::int64_t id = 0;         // The server's number of this connection.
    bool ended_earlier = false;  // It still had an earlier connection of ours, and what that had sent.
    Status refused;              // Why it may carry out late what an earlier connection had sent; ok if it cannot.
  };

  Connection(Scheduler& scheduler, RedisAddress address, ConnectionOptions options, User& user);
  ~Connection() override;

  /// Begins to connect, in a turn to come and not before 'delay', if it is away. What waits for its next attempt goes on waiting, unless
  /// that goes elsewhere.
  void start(Duration delay = {});
  /// Ends the connection at the end of the turn, for good until start().
  void stop();
  /// Where the next attempt goes.
  void set_address(RedisAddress address);
  const RedisAddress& address() const noexcept { return address_; }
  bool is_connected() const noexcept { return state_ == State::Ready; }
  /// Why it is not connected; ok while it is.
  const Status& trouble() const noexcept { return trouble_; }
  /// Of the connection that is, or was last, ready.
  const Greeting& greeting() const noexcept { return greeting_; }
  /// Gives the connection up, as if it had broken, and connects anew. Takes place at the end of the turn, so that a callback may ask for
  /// it.
  void give_up(Status why);

  /// How many addresses the host was found to have; 1 until it was looked up.
  std::size_t addresses() const noexcept { return resolver_.addresses(); }

  /// Where requests go; after those of one sequence say what answers are due. Only while is_connected().
  Commands& out() noexcept { return out_; }
  /// 'answers' answers come; 'on_reply' gets the last. Wakes the connection.
  /// One that is neither an error nor of 'shape' ends the connection, and nobody gets it: DataLoss, which says what came.
  void expect(std::size_t answers, const Shape& shape, OnReply on_reply) { expect({answers, &shape, std::move(on_reply), {}, false}); }
  /// The same, and 'on_reply' gets each of them, each of 'shape'.
  void expect_each(std::size_t answers, const Shape& shape, OnReply on_reply) { expect({answers, &shape, std::move(on_reply), {}, true}); }
  /// In its turn, and in that of its timer: the time is up, what is left is for the next one (wake() asks for it).
  bool turn_is_over() const { return time_is_up(budget_); }
  std::size_t owed() const noexcept { return owed_.size(); }
  std::size_t unsent_bytes() const noexcept { return out_.unsent().size(); }

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

 private:
  enum class State : std::uint8_t { Away, Resolving, Connecting, Greeting, Ready };
  struct Owed {
    std::size_t answers = 0;
    const Shape* shape = nullptr;
    OnReply on_reply;
    Status earlier;
    bool each = false;
  };
  void expect(Owed owed);
  void attempt();
  void open(const std::string& ip);
  void advance();
  void greet();
  void ask_role();
  void identify();
  void fence();
  void greeted();
  void read_some();
  void handle(const Reply& reply);
  bool fits(const Owed& owed, const Reply& reply);
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
  Budget budget_;  // Of this turn.
  Commands out_;
  std::deque<Owed> owed_;
  State state_ = State::Away;
  Status trouble_;
  Status doomed_;  // Given up; carried out at the end of the turn.
  Duration backoff_;
  Instant ready_since_;  // Of the last time it was Ready.
  Instant heard_;        // Or when the first of the owed answers began to be owed.
  Instant deadline_;     // Of an attempt.
  bool resting_ = true;  // Not to be connected.
  bool moved_ = false;   // The address is not that of the last attempt.
  bool readable_ = false;
  bool writable_ = false;
  bool waits_ping_ = false;
  Greeting greeting_;
  std::map<std::string, std::int64_t, std::less<>> earlier_;  // By run id: the server's number of our last connection to it.
};

}  // namespace rondo::redis
