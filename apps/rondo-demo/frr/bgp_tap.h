// BgpTap: reads the BGP messages that arrive at the box, and notes when each IPv4 prefix first arrived, on a separate thread. It is a
// packet socket, so it sees the segments as the kernel gets them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/base/clock.h"
#include "rondo/base/result.h"
#include "rondo/dataplane/ip.h"

namespace rondo::demo {

/// The IPv4 prefixes that a BGP UPDATE announces, of a stream of messages (RFC 4271, section 4.3). Takes whole messages off the front of
/// 'stream', and searches for the next marker after bytes that are none.
std::vector<Prefix> take_announcements(std::vector<std::uint8_t>& stream);

class BgpTap {
 public:
  static Result<std::unique_ptr<BgpTap>> start(const std::string& network_namespace);
  ~BgpTap() { stop(); }
  BgpTap(const BgpTap&) = delete;
  BgpTap& operator=(const BgpTap&) = delete;

  /// Ends the thread. Idempotent.
  void stop();
  /// Call after stop().
  const std::map<Prefix, Instant>& arrived() const noexcept { return arrived_; }

 private:
  explicit BgpTap(UniqueFd socket) : socket_(std::move(socket)) {}
  void run(const std::stop_token& stop);
  void take_packet(std::span<const std::uint8_t> packet, Instant now);

  UniqueFd socket_;
  SystemClock clock_;
  std::map<std::pair<std::uint32_t, std::uint16_t>, std::vector<std::uint8_t>> streams_;  // By source address and port.
  std::map<Prefix, Instant> arrived_;                                                     // Used by the thread until it ends.
  std::jthread thread_;
};

}  // namespace rondo::demo
