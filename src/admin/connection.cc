// Reading, writing and giving up on one caller.
#include "admin/connection.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "rondo/sched/scheduler.h"

namespace rondo {
namespace {

/// One read. Large enough for bulk writes to fly, small enough to cost microseconds.
constexpr std::size_t kReadBytes = 64 * 1024;

}  // namespace

AdminConnection::AdminConnection(std::string name, Scheduler& scheduler, UniqueFd fd, const CommandRegistry& commands,
                                 std::unique_ptr<BulkSink> sink, const AdminServerOptions& options, AdminServerStats& stats,
                                 std::function<void()> closed)
    : Source(std::move(name), options.priority),
      scheduler_(scheduler),
      fd_(std::move(fd)),
      options_(options),
      stats_(stats),
      closed_(std::move(closed)),
      session_(commands, std::move(sink), options, stats, [this] { wake(); }),
      last_read_(scheduler.clock().now()),
      last_written_(last_read_) {}

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
  // Always a turn: an awaited answer keeps the session from reading, and only the turn finds out that the caller has hung up.
  readable_ = writable_ = looked_at_ = true;
  return fd_ ? Backlog::More : Backlog::Empty;
}

Turn AdminConnection::run(const Budget& budget) {
  Turn turn;
  if (!fd_) return turn;
  turn.items = 1;
  if (readable_ && session_.wants_input()) read_some();
  if (fd_ && session_.has_step()) {
    if (session_.output().empty()) last_written_ = scheduler_.now();
    // Half of the turn's time: what has been made has yet to be copied and sent.
    session_.step([this, half = Budget{budget.items, budget.time / 2}] { return time_is_up(half); });
  }
  if (fd_ && writable_ && !session_.output().empty()) write_some();
  if (fd_ && session_.overflowed()) {
    ++stats_.slow_readers_cut;
    close();
  }
  if (fd_ && (finished() || (std::exchange(looked_at_, false) && nobody_left()))) close();
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

bool AdminConnection::has_backlog() const {
  if (!fd_) return false;
  return (writable_ && !session_.output().empty()) || session_.has_step() || (readable_ && session_.wants_input()) || finished();
}

bool AdminConnection::finished() const {
  if (!session_.output().empty()) return false;
  return session_.closing() || session_.drained();
}

bool AdminConnection::nobody_left() const {
  // Reading finds the end by itself, after everything that was sent before it. While an answer is made, nothing is read.
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
    last_read_ = scheduler_.now();
  } else if (got == 0) {
    readable_ = false;
    session_.end_input();
  } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
    readable_ = false;
  } else if (errno != EINTR) {
    ++stats_.connection_errors;
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
    if (errno != EPIPE && errno != ECONNRESET) ++stats_.connection_errors;
    close();
  }
}

void AdminConnection::check(Instant now) {
  if (!fd_) return;
  if (!session_.output().empty()) {
    if (now - last_written_ < options_.stall) return;
    ++stats_.slow_readers_cut;
  } else if (session_.frame_cut()) {
    if (now - last_read_ < options_.stall) return;
    ++stats_.stalled_writers_cut;
  } else {
    return;
  }
  close();
}

void AdminConnection::close() {
  scheduler_.reactor().unwatch(fd_.get());
  fd_.reset();
  closed_();
}

}  // namespace rondo
