// Channel: a stream socket that does not block, on an edge-triggered reactor. It remembers in which directions the kernel may take or give
// bytes: a flag stays set until the kernel returns EAGAIN. Its owner watches the descriptor, and unwatches it before close().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace rondo::http {

class Channel {
 public:
  enum class Outcome : std::uint8_t {
    Moved,   // 'bytes' is above 0.
    Later,   // Nothing now. Try again while the flag of the direction is set.
    Ended,   // The peer has ended its output; only read().
    Failed,  // The connection is broken.
  };
  struct Step {
    Outcome outcome = Outcome::Later;
    std::size_t bytes = 0;
  };

  explicit Channel(UniqueFd fd) noexcept : fd_(std::move(fd)) {}

  /// One system call. Does not block, whatever the flags of the descriptor are.
  Step read(std::span<char> into) noexcept;
  /// The same; sends a part of long 'bytes'.
  Step write(std::string_view bytes) noexcept;
  /// The reactor has reported the descriptor.
  void note_poll() noexcept { may_read_ = may_write_ = true; }
  bool may_read() const noexcept { return may_read_; }
  bool may_write() const noexcept { return may_write_; }
  /// True if the connection is closed in both directions, or broken: nobody waits at the other end. One system call.
  bool is_gone() const noexcept;
  /// The peer reads the end after what was written.
  void end_output() noexcept;
  void close() noexcept { fd_.reset(); }
  int fd() const noexcept { return fd_.get(); }
  explicit operator bool() const noexcept { return static_cast<bool>(fd_); }

 private:
  UniqueFd fd_;
  bool may_read_ = true;
  bool may_write_ = true;
};

}  // namespace rondo::http
