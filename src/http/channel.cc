#include "http/channel.h"

#include <openssl/err.h>
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

bool Channel::begin_tls(SSL_CTX& context) noexcept {
  tls_ = accept_tls(context, fd_.get());
  return static_cast<bool>(tls_);
}

std::optional<char> Channel::first_byte() noexcept {
  char byte = 0;
  const ssize_t got = ::recv(fd_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) failed_step(may_read_);
  return got == 1 ? std::optional{byte} : std::nullopt;
}

Channel::Step Channel::read(std::span<char> into) noexcept {
  if (tls_) return read_tls(into);
  const ssize_t got = ::recv(fd_.get(), into.data(), into.size(), MSG_DONTWAIT);
  if (got < 0) return failed_step(may_read_);
  if (got > 0) return {.outcome = Outcome::Moved, .bytes = static_cast<std::size_t>(got)};
  may_read_ = false;
  return {.outcome = Outcome::Ended};
}

Channel::Step Channel::write(std::string_view bytes) noexcept {
  const std::string_view part = bytes.substr(0, kWriteBytes);
  if (tls_) return write_tls(part);
  const ssize_t sent = ::send(fd_.get(), part.data(), part.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0) return failed_step(may_write_);
  return {.outcome = Outcome::Moved, .bytes = static_cast<std::size_t>(sent)};
}

/// Bytes that are decrypted already cause no report of the reactor.
bool Channel::may_read() const noexcept {
  return (read_needs_write_ ? may_write_ : may_read_) || (tls_ && !is_broken_ && SSL_pending(tls_.get()) > 0);
}

bool Channel::is_gone() const noexcept {
  pollfd asked{.fd = fd_.get(), .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLHUP | POLLERR)) != 0;
}

bool Channel::has_peer_ended() const noexcept {
  pollfd asked{.fd = fd_.get(), .events = POLLRDHUP, .revents = 0};
  return ::poll(&asked, 1, 0) == 1;
}

void Channel::end_output() noexcept {
  notify_close();
  ::shutdown(fd_.get(), SHUT_WR);
}

void Channel::close() noexcept {
  notify_close();
  tls_.reset();
  fd_.reset();
}

// --- TLS

Channel::Step Channel::read_tls(std::span<char> into) noexcept {
  read_needs_write_ = false;
  ERR_clear_error();
  std::size_t got = 0;
  const int result = SSL_read_ex(tls_.get(), into.data(), into.size(), &got);
  if (result == 1) return {.outcome = Outcome::Moved, .bytes = got};
  return failed_tls(result, read_needs_write_, SSL_ERROR_WANT_WRITE);
}

/// A call of OpenSSL writes one record.
Channel::Step Channel::write_tls(std::string_view bytes) noexcept {
  write_needs_read_ = false;
  std::size_t sent = 0;
  Step step;
  while (sent < bytes.size()) {
    ERR_clear_error();
    std::size_t taken = 0;
    const int result = SSL_write_ex(tls_.get(), bytes.data() + sent, bytes.size() - sent, &taken);
    sent += taken;
    if (result == 1) continue;
    step = failed_tls(result, write_needs_read_, SSL_ERROR_WANT_READ);
    break;
  }
  if (sent > 0 && step.outcome == Outcome::Later) step = {.outcome = Outcome::Moved, .bytes = sent};
  return step;
}

/// The result of a call of OpenSSL that moved no byte. Sets 'needs_other' if its error is 'other': it waits for the other direction.
Channel::Step Channel::failed_tls(int result, bool& needs_other, int other) noexcept {
  const int error = SSL_get_error(tls_.get(), result);
  needs_other = error == other;
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    (error == SSL_ERROR_WANT_READ ? may_read_ : may_write_) = false;
    return {};
  }
  may_read_ = false;
  if (error == SSL_ERROR_ZERO_RETURN) return {.outcome = Outcome::Ended};
  may_write_ = false;
  is_broken_ = true;
  return {.outcome = Outcome::Failed};
}

/// Sends the end of TLS, if the kernel takes it now.
void Channel::notify_close() noexcept {
  if (!tls_ || is_broken_ || is_in_handshake() || (SSL_get_shutdown(tls_.get()) & SSL_SENT_SHUTDOWN) != 0) return;
  ERR_clear_error();
  SSL_shutdown(tls_.get());
}

}  // namespace rondo::http
