// Channel: a stream socket that does not block, plain or as the server's end of TLS, on an edge-triggered reactor. It remembers in which
// directions the kernel may take or give bytes: a flag stays set until the kernel returns EAGAIN. A TLS handshake and its records are part
// of reading and writing. Its owner watches the descriptor, and unwatches it before close().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "http/tls.h"

namespace rondo::http {

class Channel {
 public:
  enum class Outcome : std::uint8_t {
    Moved,   // 'bytes' is above 0.
    Later,   // Nothing now. Try again while may_read() or may_write() returns true.
    Ended,   // The peer has ended its output; only read().
    Failed,  // The connection is broken.
  };
  struct Step {
    Outcome outcome = Outcome::Later;
    std::size_t bytes = 0;
  };

  explicit Channel(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

  /// Speaks TLS from now on; before the first read. False without memory. 'context' must outlive the channel.
  bool begin_tls(SSL_CTX& context) noexcept;
  /// True if it speaks TLS.
  bool is_tls() const noexcept { return static_cast<bool>(tls_); }
  /// The first byte that the peer has sent, which stays to be read; empty if there is none yet, or no more. One system call.
  std::optional<char> first_byte() noexcept;
  /// True until the TLS handshake has ended; false for a plain channel.
  bool is_in_handshake() const noexcept { return tls_ && SSL_is_init_finished(tls_.get()) == 0; }

  /// One system call, or one record of TLS. Does not block, whatever the flags of the descriptor are.
  Step read(std::span<char> into) noexcept;
  /// The same; sends a part of long 'bytes'. After a part was sent, the next call continues with the rest.
  Step write(std::string_view bytes) noexcept;
  /// The reactor has reported the descriptor.
  void note_poll() noexcept { may_read_ = may_write_ = true; }
  bool may_read() const noexcept;
  bool may_write() const noexcept { return write_needs_read_ ? may_read_ : may_write_; }
  /// True if the connection is closed in both directions, or broken: nobody waits at the other end. One system call.
  bool is_gone() const noexcept;
  /// True if the peer has ended its output. One system call.
  bool has_peer_ended() const noexcept;
  /// The peer reads the end after what was written.
  void end_output() noexcept;
  void close() noexcept;
  int fd() const noexcept { return fd_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

 private:
  Step read_tls(std::span<char> into) noexcept;
  Step write_tls(std::string_view bytes) noexcept;
  Step failed_tls(int result, bool& needs_other, int other) noexcept;
  void notify_close() noexcept;

  UniqueFd fd_;
  TlsStream tls_;
  bool may_read_ = true;
  bool may_write_ = true;
  // TLS may have to send before it can read, and the other way round: in a handshake, or for new keys.
  bool read_needs_write_ = false;
  bool write_needs_read_ = false;
  bool is_broken_ = false;  // TLS sends nothing more.
};

}  // namespace rondo::http
