// Pinger: sends ICMP echo requests to several addresses in turn, on two separate threads, and notes which were answered. So it shows
// whether the kernel forwards while routes, cables and programs change.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "rondo/base/clock.h"
#include "rondo/base/result.h"
#include "rondo/dataplane/ip.h"

namespace rondo::demo {

class Pinger {
 public:
  struct Packet {
    Instant sent;
    std::size_t target = 0;
    bool answered = false;
  };
  /// Begins at once: one packet each 'period'. At most 65,536 packets.
  static Result<std::unique_ptr<Pinger>> start(const std::string& network_namespace, std::vector<IpAddress> targets, Duration period);
  ~Pinger() { stop(); }
  Pinger(const Pinger&) = delete;
  Pinger& operator=(const Pinger&) = delete;

  /// Sends no more, waits for late answers, and ends the threads. Idempotent.
  void stop();
  /// Call after stop(). In the order of sending.
  const std::vector<Packet>& packets() const noexcept { return packets_; }
  std::uint64_t lost() const;
  /// The longest time, over the targets, from 'at' until a packet was sent that was answered.
  Duration longest_gap_after(Instant at) const;

 private:
  Pinger(UniqueFd socket, std::vector<IpAddress> targets, Duration period)
      : socket_(std::move(socket)), targets_(std::move(targets)), period_(period) {}
  void send(const std::stop_token& stop);
  void receive(const std::stop_token& stop);

  UniqueFd socket_;
  const std::vector<IpAddress> targets_;
  const Duration period_;
  SystemClock clock_;
  std::mutex mutex_;
  std::vector<Packet> packets_;  // Guarded by mutex_ until the threads end. The index is the packet's sequence number.
  std::jthread receiver_;
  std::jthread sender_;
};

}  // namespace rondo::demo
