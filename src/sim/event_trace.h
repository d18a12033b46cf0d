// EventTrace: a digest of all events in a world, and its last events as text. Every turn and event is added, so an addition costs tens of
// nanoseconds and allocates nothing once its buffers have grown.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "rondo/sim/checker.h"
#include "sim/turn_seen.h"

namespace rondo::sim {

class EventTrace {
 public:
  void turn(Instant now, const TurnSeen& seen) noexcept {
    mix(static_cast<std::uint64_t>(now.nanoseconds()));
    mix(seen.number << 32U | seen.turn.items);
  }
  /// The kernel received orders; 'digest' covers all its orders so far.
  void orders(std::uint64_t digest) noexcept { mix(digest); }
  void add(Instant now, std::uint64_t turn, const Event& event);
  std::uint64_t hash() const noexcept { return hash_; }
  /// text(): the last events, oldest first, one a line. last(): the newest event.
  std::string text() const;
  std::string last() const;

 private:
  static constexpr std::size_t kKept = 48;
  struct Kept {
    Event::Kind kind = Event::Kind::Fault;
    std::uint64_t turn = 0;
    Instant when;
    Instant until;
    std::string table;
    Change change;
    bool has_change = false;
    std::vector<Fact> facts;
    std::string text;
  };
  static void write(const Kept& event, std::string& out);
  void mix(std::uint64_t value) noexcept {
    hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15ULL;
    hash_ ^= hash_ >> 32;
  }

  std::array<Kept, kKept> kept_;
  std::uint64_t count_ = 0;
  std::uint64_t hash_ = 0x243F6A8885A308D3ULL;
};

}  // namespace rondo::sim
