// One caller's connection: reading, writing, and closing it.
#include "admin/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "rondo/sched/scheduler.h"

namespace rondo {
namespace {

/// Bytes of one read. Large enough for fast bulk writes, small enough to cost microseconds.
constexpr std::size_t kReadBytes = 64 * 1024;

}  // namespace

AdminConnection::AdminConnection(std::string name, Scheduler& scheduler, UniqueFd fd, Caller caller, std::unique_ptr<BulkSink> sink,
                                 AdminHost& host)
    : Source(std::move(name), host.options.priority),
      scheduler_(scheduler),
      fd_(std::move(fd)),
      caller_(caller),
      host_(host),
      session_(
          host.commands, std::move(sink), host.options, host.counted, [this] { wake(); }, &host.share, caller),
      is_new_(!caller_.token.empty()),
      last_written_(scheduler.clock().now()),
      idle_since_(last_written_) {}

AdminConnection::~AdminConnection() {
  if (fd_) scheduler_.reactor().unwatch(fd_.get());
}

Status AdminConnection::start() {
  scheduler_.add(*this);
  const Status watched = scheduler_.reactor().watch(fd_.get(), Interest::ReadWrite, *this);
  if (watched.ok()) wake();
  return watched;
}

Result<Backlog> AdminConnection::collect() {
  // Always gives a turn: an awaited answer stops the session from reading, and only the turn detects that the caller has hung up.
  readable_ = writable_ = polled_ = true;
  end_wait();
  return fd_ ? Backlog::More : Backlog::Empty;
}

Turn AdminConnection::run(const Budget& budget) {
  Turn turn;
  if (!fd_) return turn;
  turn.items = 1;
  is_new_ = false;
  if (readable_ && may_read()) read_some();
  if (fd_ && session_.has_step()) {
    if (session_.output().empty()) last_written_ = scheduler_.now();
    // Half of the turn's time, because the output must still be copied and sent.
    session_.step([this, half = Budget{budget.items, budget.time / 2}] { return time_is_up(half); });
  }
  if (fd_ && writable_ && !session_.output().empty()) write_some();
  if (fd_ && session_.overflowed()) {
    cut(AdminNotice::Kind::SlowReader, {StatusCode::ResourceExhausted, "too much waits for you"});
  }
  if (fd_ && (finished() || (std::exchange(polled_, false) && nobody_left()))) close();
  note();
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

bool AdminConnection::has_backlog() const {
  if (!fd_) return false;
  return (writable_ && !session_.output().empty()) || session_.has_step() || (readable_ && may_read()) || finished();
}

bool AdminConnection::may_read() const {
  return session_.wants_input() && (host_.share.has_room_to_read(session_.input().size()) || host_.is_oldest_frame(*this));
}

bool AdminConnection::finished() const {
  if (!session_.output().empty()) return false;
  return session_.closing() || session_.drained();
}

bool AdminConnection::nobody_left() const {
  // Reading detects the end by itself, after all bytes sent before it. While an answer is being made, nothing is read.
  if (!session_.is_answering() && (session_.wants_input() || session_.has_step())) return false;
  pollfd asked{.fd = fd_.get(), .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLHUP | POLLERR)) != 0;
}

void AdminConnection::read_some() {
  ByteBuffer& input = session_.input();
  const std::span<char> room = input.prepare(kReadBytes);
  const ssize_t got = ::recv(fd_.get(), room.data(), room.size(), MSG_DONTWAIT);
  if (got > 0) {
    input.commit(static_cast<std::size_t>(got));
    end_wait();
  } else if (got == 0) {
    readable_ = false;
    session_.end_input();
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    readable_ = false;
    if (!dry_since_) dry_since_ = scheduler_.now();
  } else if (errno != EINTR) {
    ++host_.counted.connection_errors;
    close();
  }
}

void AdminConnection::write_some() {
  ByteBuffer& output = session_.output();
  const std::string_view bytes = output.view();
  const ssize_t sent = ::send(fd_.get(), bytes.data(), std::min(bytes.size(), kReadBytes), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) {
    output.consume(static_cast<std::size_t>(sent));
    last_written_ = scheduler_.now();
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    writable_ = false;
  } else if (errno != EINTR) {
    if (errno != EPIPE && errno != ECONNRESET) ++host_.counted.connection_errors;
    close();
  }
}

void AdminConnection::end_wait() {
  if (dry_since_) waited_ += scheduler_.now() - *std::exchange(dry_since_, std::nullopt);
}

void AdminConnection::note() {
  const Instant now = scheduler_.now();
  had_output_ = !session_.output().empty();
  const bool has_taken = std::exchange(requests_, session_.requests_taken()) != session_.requests_taken();
  if (!fd_ || !session_.frame_cut()) {
    frame_since_.reset();
  } else if (!frame_since_ || has_taken) {
    frame_since_ = now;
    waited_ = {};
    if (dry_since_) dry_since_ = now;
  }
  if (!session_.is_idle()) {
    idle_since_.reset();
  } else if (!idle_since_ || has_taken) {
    idle_since_ = now;
  }
  const std::size_t before = std::exchange(held_, fd_ ? session_.input().size() + session_.output().size() : 0);
  const bool was_short = host_.share.used >= host_.share.most / 2;
  host_.share.used = host_.share.used - before + held_;
  if (was_short && held_ < before) host_.on_room();
}

ConnectionSlot AdminConnection::slot() const {
  const Instant since = idle_since_ ? *idle_since_ : frame_since_.value_or(last_written_);
  return {.user = caller_.user,
          .is_privileged = caller_.is_privileged,
          .is_answered = is_new_ || (!idle_since_ && !frame_since_),
          .has_requested = requests_ > 0,
          .since = since};
}

void AdminConnection::check(Instant now) {
  using Kind = AdminNotice::Kind;
  if (!fd_) return;
  const AdminServerSetup& options = host_.options;
  // An answer that was finished between two turns of this connection has been waiting only since then.
  const bool has_output = !session_.output().empty();
  if (!std::exchange(had_output_, has_output) && has_output) last_written_ = now;
  if (has_output) {
    if (now - last_written_ >= options.stall) cut(Kind::SlowReader, {StatusCode::DeadlineExceeded, "you do not read your answers"});
  } else if (frame_since_) {
    if (dry_since_ && now - *dry_since_ >= options.stall) {
      cut(Kind::StalledWriter, {StatusCode::DeadlineExceeded, "the rest of a frame did not come"});
    } else if (waited(now) >= options.frame_time) {
      cut(Kind::SlowFrame, {StatusCode::DeadlineExceeded, "a frame took too long"});
    } else if (host_.share.used >= host_.share.most && waited(now) >= options.yield) {
      cut(Kind::Memory, {StatusCode::ResourceExhausted, "a frame took long while others had no memory for theirs"});
    }
  } else if (idle_since_ && requests_ == 0) {
    if (now - *idle_since_ >= options.frame_time) cut(Kind::SlowFrame, {StatusCode::DeadlineExceeded, "no request came"});
  } else if (idle_since_ && now - *idle_since_ >= options.idle) {
    cut(Kind::Idle, {StatusCode::DeadlineExceeded, "no request came for long"});
  }
}

void AdminConnection::cut(AdminNotice::Kind kind, const Status& why) {
  if (session_.output().empty()) {
    // Best effort. Between two answers the caller treats a frame without a number as the daemon's last frame.
    const std::string frame = error_frame(0, why.with_context("the daemon closes this connection"));
    if (::send(fd_.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) ++host_.counted.connection_errors;
  }
  host_.on_cut(kind, caller_);
  close();
  note();
}

void AdminConnection::close() {
  scheduler_.reactor().unwatch(fd_.get());
  fd_.reset();
  host_.on_closed();
}

}  // namespace rondo
