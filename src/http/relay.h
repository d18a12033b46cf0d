// Relay: moves bytes between a client and another stream socket after a handler has called Answer::relay(). A side is read only when the
// bytes before were taken by the other side, so a relay holds at most limits::kHttpRelayBytes, or one converted piece, in each direction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "http/answer.h"
#include "http/channel.h"

namespace rondo::http {

/// Not thread-safe. Its owner watches other() from begin() on, and unwatches it before it destroys the relay.
class Relay {
 public:
  enum class State : std::uint8_t {
    Open,
    Ended,  // The other side has ended, and the client's socket has taken all bytes.
    Gone,   // The client is gone, or it has ended its output, and the other side has all of it.
  };

  Relay(UniqueFd other, Convert convert) noexcept : other_(std::move(other)), convert_(std::move(convert)) {}

  /// 'head' goes to the client before all other bytes, and 'input' to the other side, or nowhere if the bytes are converted.
  void begin(std::string head, std::string input);
  /// At most one read and one write of each side. 'buffer' is used in the call. An exception of 'convert' leaves it.
  State step(Channel& client, std::span<char> buffer);
  /// True if step() would do something now.
  bool has_work(const Channel& client) const noexcept;
  /// True if a step reads from the client, which finds out that the client is gone.
  bool reads_client() const noexcept { return !to_other_.has_ended && (convert_ || to_other_.is_empty()); }
  /// Sends the comment of a stream of events, so that the client and the programs between see that the server lives.
  void beat() { to_client_.bytes = ": \n\n"; }
  /// Ends it after the bytes that it holds for the client.
  void end() noexcept { to_client_.has_ended = true; }

  Channel& other() noexcept { return other_; }
  bool converts() const noexcept { return static_cast<bool>(convert_); }
  /// Bytes for the client that its socket has not taken.
  bool output_waits() const noexcept { return !to_client_.is_empty(); }
  /// Bytes that the client's socket has taken so far.
  std::uint64_t sent() const noexcept { return sent_; }
  std::size_t held() const noexcept { return to_client_.bytes.capacity() + to_other_.bytes.capacity(); }

 private:
  /// One direction.
  struct Flow {
    bool is_empty() const noexcept { return bytes.empty(); }
    Channel::Step write(Channel& to) noexcept;

    std::string bytes = {};
    std::size_t written = 0;
    bool has_ended = false;  // Nothing more is read for it.
  };

  bool reads_other() const noexcept { return !to_client_.has_ended && to_client_.is_empty(); }
  void read_other(std::span<char> buffer);
  void write_other() noexcept;
  bool read_client(Channel& client, std::span<char> buffer);

  Channel other_;
  Convert convert_;
  Flow to_client_;
  Flow to_other_;
  std::uint64_t sent_ = 0;
  bool client_has_ended_ = false;
};

}  // namespace rondo::http
