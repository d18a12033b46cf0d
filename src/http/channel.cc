#include "http/channel.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

namespace rondo::http {

namespace {

/// Bytes that one call writes.
constexpr std::size_t kWriteBytes = 256 * 1024;

/// The result of a call that has set errno. Clears 'may' if the descriptor must be reported before the next try.
Channel::Step failed_step(bool& may) noexcept {
  if (errno == EINTR) return {};
  may = false;
  return {.outcome = errno == EAGAIN || errno == EWOULDBLOCK ? Channel::Outcome::Later : Channel::Outcome::Failed};
}

}  // namespace

Channel::Step Channel::read(std::span<char> into) noexcept {
  const ssize_t got = ::recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
  if (got < 0) return failed_step(may_read_);
  if (got > 0) return {.outcome = Outcome::Moved, .bytes = static_cast<std::size_t>(got)};
  may_read_ = false;
  return {.outcome = Outcome::Ended};
}

Channel::Step Channel::write(std::string_view bytes) noexcept {
  const std::string_view part = bytes.substr(0, kWriteBytes);
  const ssize_t sent = ::send(fd_.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return failed_step(may_write_);
  return {.outcome = Outcome::Moved, .bytes = static_cast<std::size_t>(sent)};
}

bool Channel::is_gone() const noexcept {
  pollfd asked{.fd = fd_.get(), .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLHUP | POLLERR)) != 0;
}

void Channel::end_output() noexcept { ::shutdown(fd_.get(), SHUT_WR); }

}  // namespace rondo::http
