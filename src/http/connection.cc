#include "http/connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

namespace rondo::http {

namespace {

/// A relay may be silent for long, and its client may be gone without a word: the kernel asks after 30 s, and ends it after a minute.
void keep_alive(int fd) noexcept {
  struct Setting {
    int level;
    int option;
    int value;
  };
  constexpr std::array<Setting, 5> kSettings{{{SOL_SOCKET, SO_KEEPALIVE, 1},
                                              {IPPROTO_TCP, TCP_KEEPIDLE, 30},
                                              {IPPROTO_TCP, TCP_KEEPINTVL, 10},
                                              {IPPROTO_TCP, TCP_KEEPCNT, 3},
                                              {IPPROTO_TCP, TCP_USER_TIMEOUT, 60'000}}};
  for (const auto& [level, option, value] : kSettings) {
    ::setsockopt(fd, level, option, &value, sizeof value);
  }
}

}  // namespace

Connection::Connection(Scheduler& scheduler, UniqueFd fd, std::string peer, std::uint64_t network, ConnectionHost& host)
    : Source("http " + peer, host.options.priority),
      scheduler_(scheduler),
      channel_(std::move(fd)),
      host_(host),
      parser_(host.options.body_limit, std::move(peer)),
      network_(network),
      since_(scheduler.now()) {}

Connection::~Connection() {
  scheduler_.timers().cancel(*this);
  if (slot_) slot_->sink = nullptr;
  host_.figures.memory -= held_;
  end_ask();
  end_relay();
  if (channel_) scheduler_.reactor().unwatch(channel_.fd());
}

Status Connection::start() {
  may_be_plain_ = host_.tls && host_.options.plain_too;
  if (host_.tls && !may_be_plain_ && !channel_.begin_tls(*host_.tls)) return Status::out_of_memory();
  scheduler_.add(*this);
  Status watched = scheduler_.reactor().watch(channel_.fd(), Interest::ReadWrite, *this);
  if (watched.ok()) wake();
  return watched;
}

Result<Backlog> Connection::collect() {
  was_polled_ = true;
  channel_.note_poll();
  if (question_) question_->other.note_poll();
  if (relay_) relay_->other().note_poll();
  return channel_ ? Backlog::More : Backlog::Empty;
}

Turn Connection::run(const Budget&) {
  Turn turn{.items = 1};
  try {
    if (channel_) step();
    note_memory();
  } catch (...) {
    ++host_.figures.faults;
    close();
  }
  if (channel_) arm();
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

bool Connection::has_backlog() const {
  if (!channel_) return false;
  if (is_late_) return true;
  switch (phase_) {
    case Phase::Reading: return !unread_.empty() || channel_.may_read();
    case Phase::Handling: return response_.has_value() || was_dropped_ || was_polled_ || (question_ && question_->other.may_read());
    case Phase::Writing: return channel_.may_write();
    case Phase::Relaying: return relay_->has_work(channel_);
    case Phase::Lingering: return channel_.may_read();
  }
  return false;
}

void Connection::step() {
  const bool was_polled = std::exchange(was_polled_, false);
  // First, because a busy thread is no fault of the client.
  if (phase_ == Phase::Reading) read_some();
  if (phase_ == Phase::Relaying) relay_some();
  if (std::exchange(is_late_, false) && channel_ && scheduler_.now() >= deadline()) time_out();
  if (channel_ && question_ && question_->other.may_read()) ask_some();
  if (channel_ && phase_ == Phase::Handling && (response_ || was_dropped_)) begin_answer();
  // Nobody waits for the answer. A client that ends its output might, but the other side must not work for long for one that has left.
  if (channel_ && was_polled && reads_nothing() && (question_ ? channel_.has_peer_ended() : channel_.is_gone())) close();
  if (channel_ && phase_ == Phase::Writing && channel_.may_write()) write_some();
  if (channel_ && phase_ == Phase::Lingering && channel_.may_read()) linger();
}

/// True if no read finds out that the client is gone.
bool Connection::reads_nothing() const noexcept {
  return phase_ == Phase::Handling || (phase_ == Phase::Relaying && !relay_->reads_client());
}

bool Connection::is_idle() const noexcept {
  return channel_ && phase_ == Phase::Reading && parser_.progress() == RequestParser::Progress::Start && unread_.empty();
}

std::int64_t Connection::wall_seconds() const { return scheduler_.clock().wall_now().nanoseconds() / 1'000'000'000; }

void Connection::enter(Phase phase) noexcept {
  phase_ = phase;
  since_ = last_written_ = scheduler_.now();
}

// --- reading

/// RFC 8446, section 5.1: a handshake begins with the content type 22. A request begins with a letter.
void Connection::detect_tls() {
  constexpr char kHandshake = 22;
  const std::optional<char> first = channel_.first_byte();
  if (!first) return;  // Reading finds the end, or the byte is not there yet.
  may_be_plain_ = false;
  if (*first == kHandshake && !channel_.begin_tls(*host_.tls)) close();
}

void Connection::read_some() {
  if (may_be_plain_ && channel_.may_read()) detect_tls();
  if (!channel_) return;
  if (!unread_.empty()) {
    const std::string bytes = std::exchange(unread_, {});
    return feed(bytes);
  }
  if (!channel_.may_read()) return;
  const Channel::Step step = channel_.read(host_.buffer);
  if (step.outcome == Channel::Outcome::Moved) return feed({host_.buffer.data(), step.bytes});
  if (step.outcome == Channel::Outcome::Later) return;
  if (channel_.is_in_handshake()) ++host_.figures.failed_handshakes;
  close();
}

void Connection::feed(std::string_view bytes) {
  const RequestParser::Progress before = parser_.progress();
  parser_.set_secure(channel_.is_tls());
  const std::size_t taken = parser_.put(bytes);
  unread_.assign(bytes.substr(taken));
  // The header's time begins with its first byte, the body's with the end of the header.
  if (parser_.progress() != before) since_ = scheduler_.now();
  note_memory();
  if (parser_.progress() == RequestParser::Progress::Refused) {
    ++host_.figures.refused_requests;
    return refuse(parser_.refusal().status, parser_.refusal().why);
  }
  if (held_ > limits::kHttpOwnBytes && host_.figures.memory > host_.options.memory) {
    ++host_.figures.without_memory;
    return refuse(503, "the server has no memory for the request now");
  }
  if (parser_.progress() == RequestParser::Progress::Done) handle();
}

/// Answers a request that the handler does not get.
void Connection::refuse(unsigned status, std::string_view why) {
  enter(Phase::Handling);
  closes_ = true;
  is_head_ = false;
  route_ = {};
  response_ = text_response(status, why);
  std::string{}.swap(unread_);
  parser_.clear();
}

void Connection::handle() {
  Request request = parser_.take();
  at_handler_ = request.body.capacity();
  closes_ = !request.keep_alive;
  is_head_ = request.method == "HEAD";
  route_ = host_.options.route_of ? host_.options.route_of(request.path()) : std::string_view{};
  enter(Phase::Handling);
  ++host_.figures.requests;
  slot_ = std::make_shared<Answer::Slot>(Answer::Slot{this});
  try {
    host_.handler(std::move(request), Answer{slot_});
  } catch (...) {
    ++host_.figures.thrown;
    if (!response_) was_dropped_ = true;
    slot_->sink = nullptr;
  }
}

void Connection::answered(Response response) noexcept {
  response_ = std::move(response);
  wake();
}

void Connection::relayed(Response head, UniqueFd other, Convert convert) noexcept {
  response_ = std::move(head);
  relay_.emplace(std::move(other), std::move(convert));
  wake();
}

void Connection::dropped() noexcept {
  ++host_.figures.dropped;
  was_dropped_ = true;
  wake();
}

// --- writing

void Connection::begin_answer() {
  slot_.reset();
  at_handler_ = 0;
  is_public_ = response_ && response_->is_public;
  note_memory();
  if (std::exchange(was_dropped_, false)) response_ = text_response(500, "the request was not answered");
  if (const std::string why = why_unsendable(*response_, relay_.has_value()); !why.empty()) {
    ++host_.figures.unsendable;
    response_ = text_response(500, "the answer cannot be sent: " + why);
    relay_.reset();
  }
  const std::size_t held = is_public_ ? host_.figures.public_memory : host_.figures.memory;
  const std::size_t most = is_public_ ? host_.options.public_memory : host_.options.memory;
  if (response_->body.size() > limits::kHttpOwnBytes && held + response_->body.size() > most) {
    ++host_.figures.without_memory;
    response_ = text_response(503, "the server has no memory for the answer now");
    closes_ = true;
    relay_.reset();
  }
  const unsigned status = response_->status;
  if (relay_) begin_relay();
  ++host_.figures.answers[{route_, response_ ? response_->status : status}];
  if (phase_ == Phase::Relaying) return;
  closes_ = closes_ || host_.is_stopping;
  output_ = head_of(*response_, closes_ ? After::Close : After::Request, wall_seconds());
  if (!is_head_ && response_->status != 204 && response_->status != 304) output_ += response_->body;
  response_.reset();
  written_ = 0;
  enter(Phase::Writing);
}

void Connection::write_some() {
  const Channel::Step step = channel_.write(std::string_view{output_}.substr(written_));
  if (step.outcome == Channel::Outcome::Failed) return close();
  if (step.outcome != Channel::Outcome::Moved) return;
  written_ += step.bytes;
  last_written_ = scheduler_.now();
  if (written_ == output_.size()) end_answer();
}

void Connection::end_answer() {
  std::string{}.swap(output_);
  if (!closes_ && !host_.is_stopping) return enter(Phase::Reading);
  end_output();
}

void Connection::end_output() {
  channel_.end_output();
  enter(Phase::Lingering);
}

/// Reads and drops, so that the client can read its answer before the connection ends.
void Connection::linger() {
  const Channel::Outcome outcome = channel_.read(host_.buffer).outcome;
  if (outcome == Channel::Outcome::Ended || outcome == Channel::Outcome::Failed) close();
}

// --- an answer of another side

void Connection::asked(UniqueFd other, Collect collect, Response late, Duration limit) noexcept {
  if (Status watched = scheduler_.reactor().watch(other.get(), Interest::ReadWrite, *this); !watched.ok()) return dropped();
  question_.emplace(
      Question{Channel{std::move(other)}, std::move(collect), std::move(late), limit > Duration::zero() ? limit : host_.options.ask_time});
  since_ = scheduler_.now();
  wake();
}

void Connection::ask_some() {
  const Channel::Step step = question_->other.read(host_.buffer);
  if (step.outcome == Channel::Outcome::Later) return;
  const bool has_more = step.outcome == Channel::Outcome::Moved;
  question_->received += step.bytes;
  response_ = question_->collect(has_more ? std::string_view{host_.buffer.data(), step.bytes} : std::string_view{});
  if (!response_ && !has_more) was_dropped_ = true;
  note_memory();
  if (!response_ && held_ > limits::kHttpOwnBytes && host_.figures.memory > host_.options.memory) {
    ++host_.figures.without_memory;
    response_ = text_response(503, "the server has no memory for the answer now");
  }
  if (response_ || was_dropped_) end_ask();
}

void Connection::end_ask() noexcept {
  if (!question_) return;
  scheduler_.reactor().unwatch(question_->other.fd());
  question_.reset();
}

// --- relay

/// Begins the relay that the handler has given, or makes 'response_' an answer in its place.
void Connection::begin_relay() {
  if (is_head_) {
    relay_.reset();
    closes_ = true;
  } else if (Status watched = scheduler_.reactor().watch(relay_->other().fd(), Interest::ReadWrite, *this);
             !watched.ok() || host_.is_stopping) {
    response_ = text_response(503, host_.is_stopping ? "the server stops" : "the other side: " + watched.to_string());
    end_relay();
  } else {
    keep_alive(channel_.fd());
    relay_->begin(head_of(*response_, After::Relay, wall_seconds()) + response_->body, std::exchange(unread_, {}));
    response_.reset();
    ++host_.figures.relays;
    enter(Phase::Relaying);
  }
}

void Connection::relay_some() {
  const bool waited = relay_->output_waits();
  const std::uint64_t sent = relay_->sent();
  const Relay::State state = relay_->step(channel_, host_.buffer);
  if (relay_->sent() != sent || (!waited && relay_->output_waits())) last_written_ = scheduler_.now();
  note_memory();
  if (held_ > limits::kHttpOwnBytes && host_.figures.memory > host_.options.memory) {
    ++host_.figures.without_memory;
    close();
  } else if (state == Relay::State::Gone) {
    close();
  } else if (state == Relay::State::Ended) {
    end_relay();
    end_output();
  }
}

void Connection::end_relay() noexcept {
  if (!relay_) return;
  scheduler_.reactor().unwatch(relay_->other().fd());
  relay_.reset();
  if (phase_ == Phase::Relaying) --host_.figures.relays;
}

// --- ends

Instant Connection::deadline() const noexcept {
  const ServerOptions& options = host_.options;
  switch (phase_) {
    case Phase::Reading:
      switch (parser_.progress()) {
        case RequestParser::Progress::Start: return since_ + (channel_.is_in_handshake() ? options.header_time : options.idle_time);
        case RequestParser::Progress::Head: return since_ + options.header_time;
        default: return since_ + options.body_time;
      }
    case Phase::Handling: return question_ ? since_ + question_->limit : Instant::never();
    case Phase::Writing: return std::min(last_written_ + options.stall_time, since_ + options.answer_time);
    case Phase::Relaying:
      if (relay_->output_waits()) return last_written_ + options.stall_time;
      return relay_->converts() ? last_written_ + options.relay_beat : Instant::never();
    case Phase::Lingering: return since_ + options.linger_time;
  }
  return Instant::never();
}

void Connection::arm() noexcept {
  const Instant due = deadline();
  if (due == Instant::never()) {
    scheduler_.timers().cancel(*this);
  } else {
    scheduler_.timers().insert(*this, due);
  }
}

void Connection::on_due() {
  is_late_ = true;
  wake();
}

void Connection::time_out() {
  if (phase_ == Phase::Reading && parser_.progress() != RequestParser::Progress::Start) {
    ++host_.figures.slow_requests;
    return refuse(408, parser_.progress() == RequestParser::Progress::Head ? "the header took too long" : "the body took too long");
  }
  if (phase_ == Phase::Relaying && !relay_->output_waits()) {
    relay_->beat();
    last_written_ = scheduler_.now();
    return;
  }
  if (phase_ == Phase::Handling) {
    Response late = std::move(question_->late);
    end_ask();
    return answered(std::move(late));
  }
  if (phase_ == Phase::Reading) ++(channel_.is_in_handshake() ? host_.figures.slow_requests : host_.figures.idle_closed);
  if (phase_ == Phase::Writing || phase_ == Phase::Relaying) ++host_.figures.slow_readers;
  close();
}

void Connection::note_memory() noexcept {
  std::size_t now = 0;
  std::size_t now_public = 0;
  if (channel_) {
    now = parser_.held() + at_handler_ + unread_.capacity() + (relay_ ? relay_->held() : 0) + (question_ ? question_->received : 0);
    (is_public_ ? now_public : now) += output_.capacity() + (response_ ? response_->body.capacity() : 0);
  }
  host_.figures.memory = host_.figures.memory - std::exchange(held_, now) + now;
  host_.figures.public_memory = host_.figures.public_memory - std::exchange(public_held_, now_public) + now_public;
}

void Connection::close() noexcept {
  if (!channel_) return;
  end_ask();
  end_relay();
  scheduler_.reactor().unwatch(channel_.fd());
  channel_.close();
  scheduler_.timers().cancel(*this);
  if (slot_) slot_->sink = nullptr;
  slot_.reset();
  response_.reset();
  host_.on_closed();
}

void Connection::stop() noexcept {
  if (is_idle()) return close();
  if (phase_ != Phase::Relaying || !channel_) return;
  relay_->end();
  wake();
}

}  // namespace rondo::http
