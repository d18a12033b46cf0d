#include "http/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace rondo::http {

namespace {

/// Bytes of an answer that one turn writes.
constexpr std::size_t kWriteBytes = 256 * 1024;

}  // namespace

Connection::Connection(Scheduler& scheduler, UniqueFd fd, std::string peer, ConnectionHost& host)
    : Source("http " + peer, host.options.priority),
      scheduler_(scheduler),
      fd_(std::move(fd)),
      peer_(std::move(peer)),
      host_(host),
      parser_(host.options.body_limit),
      since_(scheduler.now()) {}

Connection::~Connection() {
  scheduler_.timers().cancel(*this);
  if (slot_) slot_->sink = nullptr;
  host_.figures.memory -= held_;
  if (fd_) scheduler_.reactor().unwatch(fd_.get());
}

Status Connection::start() {
  scheduler_.add(*this);
  Status watched = scheduler_.reactor().watch(fd_.get(), Interest::ReadWrite, *this);
  if (watched.ok()) wake();
  return watched;
}

Result<Backlog> Connection::collect() {
  may_read_ = may_write_ = was_polled_ = true;
  return fd_ ? Backlog::More : Backlog::Empty;
}

Turn Connection::run(const Budget&) {
  Turn turn{.items = 1};
  try {
    if (fd_) step();
    note_memory();
  } catch (...) {
    ++host_.figures.faults;
    close();
  }
  if (fd_) arm();
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

bool Connection::has_backlog() const {
  if (!fd_) return false;
  if (is_late_) return true;
  switch (phase_) {
    case Phase::Reading: return !unread_.empty() || may_read_;
    case Phase::Handling: return response_.has_value() || was_dropped_ || was_polled_;
    case Phase::Writing: return may_write_;
    case Phase::Lingering: return may_read_;
  }
  return false;
}

void Connection::step() {
  const bool was_polled = std::exchange(was_polled_, false);
  if (phase_ == Phase::Reading) read_some();  // First, because a busy thread is no fault of the client.
  if (std::exchange(is_late_, false) && fd_ && scheduler_.now() >= deadline()) time_out();
  if (fd_ && phase_ == Phase::Handling) {
    if (response_ || was_dropped_) {
      begin_answer();
    } else if (was_polled) {
      // Closed in both directions, or in error: nobody waits for the answer.
      pollfd asked{.fd = fd_.get(), .events = 0, .revents = 0};
      if (::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLHUP | POLLERR)) != 0) close();
    }
  }
  if (fd_ && phase_ == Phase::Writing && may_write_) write_some();
  if (fd_ && phase_ == Phase::Lingering && may_read_) linger();
}

bool Connection::is_idle() const noexcept {
  return fd_ && phase_ == Phase::Reading && parser_.progress() == RequestParser::Progress::Start && unread_.empty();
}

void Connection::enter(Phase phase) noexcept {
  phase_ = phase;
  since_ = last_written_ = scheduler_.now();
}

// --- reading

void Connection::read_some() {
  if (!unread_.empty()) {
    const std::string bytes = std::exchange(unread_, {});
    return feed(bytes);
  }
  if (!may_read_) return;
  const ssize_t got = ::recv(fd_.get(), host_.buffer.data(), host_.buffer.size(), MSG_DONTWAIT);
  if (got > 0) return feed({host_.buffer.data(), static_cast<std::size_t>(got)});
  if (got < 0 && errno == EINTR) return;
  may_read_ = false;
  if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) close();
}

void Connection::feed(std::string_view bytes) {
  const RequestParser::Progress before = parser_.progress();
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
  response_ = text_response(status, why);
  std::string{}.swap(unread_);
  parser_.clear();
}

void Connection::handle() {
  Request request = parser_.take();
  at_handler_ = request.body.capacity();
  request.peer = peer_;
  closes_ = !request.keep_alive;
  is_head_ = request.method == "HEAD";
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

void Connection::dropped() noexcept {
  ++host_.figures.dropped;
  was_dropped_ = true;
  wake();
}

// --- writing

void Connection::begin_answer() {
  slot_.reset();
  at_handler_ = 0;
  note_memory();
  if (std::exchange(was_dropped_, false)) response_ = text_response(500, "the request was not answered");
  if (const std::string why = why_unsendable(*response_); !why.empty()) {
    ++host_.figures.unsendable;
    response_ = text_response(500, "the answer cannot be sent: " + why);
  }
  if (response_->body.size() > limits::kHttpOwnBytes && host_.figures.memory + response_->body.size() > host_.options.memory) {
    ++host_.figures.without_memory;
    response_ = text_response(503, "the server has no memory for the answer now");
    closes_ = true;
  }
  closes_ = closes_ || host_.is_stopping;
  output_ = head_of(*response_, closes_, scheduler_.clock().wall_now().nanoseconds() / 1'000'000'000);
  if (!is_head_ && response_->status != 204 && response_->status != 304) output_ += response_->body;
  response_.reset();
  written_ = 0;
  enter(Phase::Writing);
}

void Connection::write_some() {
  const std::string_view rest = std::string_view{output_}.substr(written_, kWriteBytes);
  const ssize_t sent = ::send(fd_.get(), rest.data(), rest.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) {
    written_ += static_cast<std::size_t>(sent);
    last_written_ = scheduler_.now();
    if (written_ == output_.size()) end_answer();
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    may_write_ = false;
  } else if (errno != EINTR) {
    close();
  }
}

void Connection::end_answer() {
  std::string{}.swap(output_);
  if (!closes_ && !host_.is_stopping) return enter(Phase::Reading);
  ::shutdown(fd_.get(), SHUT_WR);
  enter(Phase::Lingering);
}

/// Reads and drops, so that the client can read its answer before the connection ends.
void Connection::linger() {
  const ssize_t got = ::recv(fd_.get(), host_.buffer.data(), host_.buffer.size(), MSG_DONTWAIT);
  if (got > 0 || (got < 0 && errno == EINTR)) return;
  may_read_ = false;
  if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) close();
}

// --- ends

Instant Connection::deadline() const noexcept {
  const ServerOptions& options = host_.options;
  switch (phase_) {
    case Phase::Reading:
      switch (parser_.progress()) {
        case RequestParser::Progress::Start: return since_ + options.idle_time;
        case RequestParser::Progress::Head: return since_ + options.header_time;
        default: return since_ + options.body_time;
      }
    case Phase::Handling: return Instant::never();
    case Phase::Writing: return std::min(last_written_ + options.stall_time, since_ + options.answer_time);
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
  if (phase_ == Phase::Reading) ++host_.figures.idle_closed;
  if (phase_ == Phase::Writing) ++host_.figures.slow_readers;
  close();
}

void Connection::note_memory() noexcept {
  std::size_t now = 0;
  if (fd_) now = parser_.held() + at_handler_ + unread_.capacity() + output_.capacity() + (response_ ? response_->body.capacity() : 0);
  host_.figures.memory = host_.figures.memory - std::exchange(held_, now) + now;
}

void Connection::close() noexcept {
  if (!fd_) return;
  scheduler_.reactor().unwatch(fd_.get());
  fd_.reset();
  scheduler_.timers().cancel(*this);
  if (slot_) slot_->sink = nullptr;
  slot_.reset();
  response_.reset();
  host_.on_closed();
}

}  // namespace rondo::http
