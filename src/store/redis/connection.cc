#include "store/redis/connection.h"

#include <algorithm>
#include <utility>

#include "rondo/base/assert.h"
#include "store/redis/no_cluster.h"

namespace rondo::redis {

namespace {
/// hiredis moves the rest of its buffer each time it has used a kilobyte; small reads keep that cheap.
constexpr std::size_t kBite = 16 * 1024;
/// Reads per turn.
constexpr int kBites = 8;
constexpr Duration kTick = 250ms;
constexpr Duration kLookupTick = 5ms;
/// The number of servers whose last connection is remembered; more than any group of replicas has.
constexpr std::size_t kServers = 16;

/// The value of 'name' in the answer to INFO; empty if absent.
std::string_view info_value(std::string_view info, std::string_view name) {
  const std::size_t at = info.find("\n" + std::string{name} + ":");
  if (at == std::string_view::npos) return {};
  const std::string_view rest = info.substr(at + name.size() + 2);
  return rest.substr(0, rest.find_first_of("\r\n"));
}
}  // namespace

Connection::Connection(Scheduler& scheduler, RedisAddress address, ConnectionOptions options, User& user)
    : Source(options.name, options.priority),
      owner_(scheduler),
      address_(std::move(address)),
      options_(std::move(options)),
      user_(user),
      random_(options_.seed),
      timer_(options_.name + ":timer", options_.priority, [this] { tick(); }),
      buffer_(std::make_unique_for_overwrite<char[]>(kBite)),
      trouble_(StatusCode::Unavailable, "not connected yet"),
      backoff_(options_.backoff_low) {
  owner_.add(*this);
  owner_.add(timer_);
}

Connection::~Connection() {
  if (transport_.descriptor() >= 0) owner_.reactor().unwatch(transport_.descriptor());
}

void Connection::start(Duration delay) {
  const bool rested = std::exchange(resting_, false);
  if (state_ != State::Away || (!rested && !moved_)) return;
  backoff_ = options_.backoff_low;
  timer_.arm_at(owner_.now() + delay);
}

void Connection::set_address(RedisAddress address) {
  if (address == address_) return;
  address_ = std::move(address);
  moved_ = true;
}

void Connection::stop() {
  resting_ = true;
  timer_.disarm();
  give_up({StatusCode::Cancelled, "not needed"});
}

void Connection::give_up(Status why) {
  if (state_ == State::Away || !doomed_.ok()) return;
  doomed_ = std::move(why);
  wake();
}

void Connection::expect(Pending pending) {
  RONDO_ASSERT(state_ >= State::Greeting && pending.answers > 0);
  if (pending_.empty()) heard_ = owner_.now();
  pending.command = std::string{out_.last_name()};
  pending_.push_back(std::move(pending));
  wake();
}

// --- connecting and closing

void Connection::attempt() {
  moved_ = false;
  deadline_ = owner_.clock().now() + options_.connect_timeout;
  state_ = State::Resolving;
  if (!address_.unix_path.empty()) return open({});
  resolver_.ask(address_.host);
  tick();
}

void Connection::open(const std::string& ip) {
  state_ = State::Connecting;
  if (Status failed = transport_.open(address_, ip); !failed.ok()) return lose(std::move(failed));
  if (Status failed = owner_.reactor().watch(transport_.descriptor(), Interest::ReadWrite, *this); !failed.ok()) {
    return lose(std::move(failed));
  }
  timer_.arm_every(kTick, owner_.now() + kTick);
  wake();
}

void Connection::advance() {
  const Result<bool> open = transport_.advance();
  if (!open) return lose(open.error());
  if (*open) greet();
}

void Connection::greet() {
  state_ = State::Greeting;
  // Each command of the greeting puts its name into its error.
  const auto check = [this](std::string_view command) {
    return [this, command](const Reply& reply, const Status&) {
      if (reply.is_error()) give_up(status_of(reply, command));
    };
  };
  if (!address_.password.empty()) {
    if (address_.user.empty()) {
      out_.command({"AUTH", address_.password});
    } else {
      out_.command({"AUTH", address_.user, address_.password});
    }
    expect(1, shape::kText, check("AUTH"));
  }
  if (address_.database != 0) {
    out_.begin(2).word("SELECT").number(address_.database);
    expect(1, shape::kText, check("SELECT"));
  }
  out_.command({"PING"});  // The server reports LOADING and similar states here.
  expect(1, shape::kText, [this](const Reply& reply, const Status&) {
    if (reply.is_error()) return give_up(status_of(reply, "PING"));
    if (options_.subscriber && !options_.master_only) greeted();
  });
  if (options_.master_only) ask_role();
  if (!options_.subscriber) identify();
}

/// Sentinels may name a server that is not the master any more, or not yet. It would answer reads, and would not report writes made
/// elsewhere. If the user lacks permission for ROLE, the connection continues; a writer then sees READONLY.
void Connection::ask_role() {
  out_.command({"ROLE"});
  expect(1, shape::kAny, [this](const Reply& reply, const Status&) {
    if (!reply.items().empty() && reply.items()[0].text() == "slave") return give_up({StatusCode::Unavailable, "the server is a replica"});
    if (options_.subscriber) greeted();
  });
}

void Connection::identify() {
  greeting_ = {};
  out_.command({"CLIENT", "ID"});
  expect(1, shape::kCount, [this](const Reply& reply, const Status&) {
    if (reply.is_error()) greeting_.refused = status_of(reply, "CLIENT ID");
    greeting_.id = reply.integer();
  });
  out_.command({"INFO", "server"});
  expect(1, shape::kText, [this](const Reply& reply, const Status&) {
    if (!reply.is_error()) greeting_.run_id = info_value(reply.text(), "run_id");
    if (!reply.is_error() && info_value(reply.text(), "redis_mode") == "cluster") {
      return give_up({StatusCode::Unimplemented, std::string{kNoCluster}});
    }
    if (greeting_.run_id.empty()) {
      greeting_.refused = reply.is_error() ? status_of(reply, "INFO") : Status{StatusCode::Unimplemented, "INFO names no run_id"};
    }
    fence();
  });
}

/// Requests of an earlier connection that the server has not executed yet must not run after new ones. This attempt waits for the answer.
/// If it breaks before, the next attempt has the same connection to end, so there is never more than one.
void Connection::fence() {
  const auto earlier = earlier_.find(greeting_.run_id);
  if (earlier == earlier_.end()) return greeted();
  out_.begin(4).word("CLIENT").word("KILL").word("ID").number(earlier->second);
  expect(1, shape::kCount, [this](const Reply& reply, const Status&) {
    if (reply.is_error()) greeting_.refused = status_of(reply, "CLIENT KILL");
    greeting_.ended_earlier = reply.integer() > 0;
    greeted();
  });
}

void Connection::greeted() {
  if (greeting_.id != 0 && !greeting_.run_id.empty()) {
    if (earlier_.size() >= kServers && !earlier_.contains(greeting_.run_id)) earlier_.erase(earlier_.begin());
    earlier_[greeting_.run_id] = greeting_.id;
  }
  state_ = State::Ready;
  trouble_ = Status{};
  ready_since_ = owner_.clock().now();
  user_.connected(*this);
}

void Connection::lose(Status why) {
  const bool was_connected = state_ == State::Ready;
  if (transport_.descriptor() >= 0) owner_.reactor().unwatch(transport_.descriptor());
  transport_.close();
  reader_.reset();
  out_.clear();
  pending_.clear();
  doomed_ = Status{};
  readable_ = writable_ = waits_ping_ = false;
  state_ = State::Away;
  trouble_ = why.with_context("Redis at " + address_.to_string());
  // A server that accepts the connection but cannot serve it (read-only, for example) also gets a growing delay.
  if (!was_connected) resolver_.next();
  if (moved_) backoff_ = options_.backoff_low;
  if (was_connected && owner_.clock().now() - ready_since_ >= options_.backoff_high) backoff_ = options_.backoff_low;
  const auto most = static_cast<std::uint64_t>(backoff_.count());
  timer_.disarm();
  if (!resting_) timer_.arm_at(owner_.clock().now() + Duration{static_cast<std::int64_t>(random_.between(most / 2, most))});
  backoff_ = std::min(backoff_ * 2, options_.backoff_high);
  user_.lost(*this, trouble_, was_connected);
}

void Connection::tick() {
  const Instant now = owner_.clock().now();
  if (state_ == State::Away) return attempt();
  if (state_ == State::Resolving) {
    const auto ip = resolver_.answer();
    if (!ip) return lose(ip.error());
    if (*ip) return open(**ip);
    if (now >= deadline_) return lose({StatusCode::DeadlineExceeded, "looking up '" + address_.host + "' takes too long"});
    return timer_.arm_at(now + kLookupTick);
  }
  if (state_ == State::Connecting) {
    if (now >= deadline_) lose({StatusCode::DeadlineExceeded, "the server does not accept the connection"});
    return;
  }
  // Data that arrived while this process did not run counts as received now.
  read_some();
  if (state_ < State::Greeting) return;
  const Duration silence = owner_.clock().now() - heard_;
  if ((!pending_.empty() || waits_ping_) && silence >= options_.answer_timeout) {
    return lose({StatusCode::DeadlineExceeded, "the server has not answered for " + std::to_string(silence / 1ms) + " ms"});
  }
  if (options_.subscriber && state_ == State::Ready && !waits_ping_ && silence >= options_.answer_timeout / 2) {
    waits_ping_ = true;
    out_.command({"PING"});
    wake();
  }
}

// --- bytes

Result<Backlog> Connection::collect() {
  readable_ = writable_ = true;
  return Backlog::More;
}

bool Connection::has_backlog() const {
  if (state_ < State::Connecting) return false;
  return readable_ || (writable_ && unsent_bytes() > 0);
}

Turn Connection::run(const Budget& budget) {
  Turn turn;
  budget_ = budget;
  turn.items = 1;
  if (state_ == State::Connecting && (readable_ || writable_)) {
    readable_ = false;
    advance();
    if (state_ == State::Greeting) readable_ = true;
  }
  if (state_ >= State::Greeting) {
    if (readable_) read_some();
    if (state_ == State::Ready && doomed_.ok()) user_.before_send(*this);
    if (state_ >= State::Greeting && doomed_.ok()) write_some();
  }
  if (!doomed_.ok()) lose(std::exchange(doomed_, Status{}));
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

void Connection::read_some() {
  for (int bites = 0; bites < kBites && state_ >= State::Greeting && doomed_.ok(); ++bites) {
    const Result<std::size_t> got = transport_.receive({buffer_.get(), kBite});
    if (!got) return lose(got.error());
    if (*got == 0) {
      readable_ = false;
      return;
    }
    heard_ = owner_.clock().now();
    reader_.feed({buffer_.get(), *got});
    while (doomed_.ok()) {
      const Result<const Reply*> reply = reader_.next();
      if (!reply) return give_up(unreadable(reply.error()));
      if (*reply == nullptr) break;
      handle(**reply);
    }
    if (turn_is_over()) return;
  }
}

Status Connection::unreadable(const Status& why) const {
  return why.with_context(pending_.empty() ? std::string{"a message"} : "the answer to " + pending_.front().command);
}

void Connection::handle(const Reply& reply) {
  if (options_.subscriber && state_ == State::Ready) {
    waits_ping_ = false;
    if (reply.is_error()) return give_up(status_of(reply, "subscribing"));
    user_.message(reply);
    return;
  }
  if (pending_.empty()) return give_up({StatusCode::DataLoss, "the server answered what was not asked"});
  Pending& first = pending_.front();
  if (--first.answers > 0) {
    if (first.each) {
      if (fits(first, reply)) first.on_reply(reply, first.earlier);
      return;
    }
    if (reply.is_error() && first.earlier.ok()) first.earlier = status_of(reply, "an earlier command");
    return;
  }
  const Pending done = std::move(first);
  pending_.pop_front();
  if (done.on_reply && fits(done, reply)) done.on_reply(reply, done.earlier);
}

/// The only check of an answer's shape. After a mismatch, the rest of the stream is discarded, too.
bool Connection::fits(const Pending& pending, const Reply& reply) {
  if (reply.is_error() || pending.shape->fits(reply)) return true;
  give_up({StatusCode::DataLoss, "the server answered " + describe(reply) + " where " + std::string{pending.shape->name} + " is due"});
  return false;
}

void Connection::write_some() {
  while (unsent_bytes() > 0) {
    const Result<std::size_t> sent = transport_.send(out_.unsent());
    if (!sent) return lose(sent.error());
    if (*sent == 0) {
      writable_ = false;
      return;
    }
    out_.sent(*sent);
    if (turn_is_over()) return;
  }
}

}  // namespace rondo::redis
