// Breaker: decides whether the HTTP client sends a request to a host that has failed. After some failures in a row the host is left alone
// for a pause. Then one request is a probe: its success ends the pause, its failure begins one that is twice as long. A value; the caller
// gives the time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "rondo/base/time.h"

namespace rondo::http {

class Breaker {
 public:
  enum class Admission : std::uint8_t { Yes, Probe, No };

  Breaker(unsigned failures, Duration first, Duration longest) noexcept : failures_most_(failures), first_(first), longest_(longest) {}

  /// With Probe the request must end in succeeded(), failed() or abandoned(), and until then no other one is admitted.
  Admission admit(Instant now) noexcept {
    if (!is_open()) return Admission::Yes;
    if (is_probed_ || now < until_) return Admission::No;
    is_probed_ = true;
    return Admission::Probe;
  }
  void succeeded() noexcept {
    failures_ = 0;
    is_probed_ = false;
    pause_ = {};
  }
  void failed(Instant now, bool is_probe) noexcept {
    if (is_open() && !is_probe) return;  // It began before the pause.
    is_probed_ = is_probed_ && !is_probe;
    failures_ = std::min(failures_ + 1, failures_most_);
    if (!is_open()) return;
    pause_ = std::min(pause_ == Duration{0} ? first_ : 2 * pause_, longest_);
    until_ = now + pause_;
  }
  /// The probe was ended by its caller, not by the host.
  void abandoned() noexcept { is_probed_ = false; }

  bool is_open() const noexcept { return failures_ >= failures_most_; }
  /// The end of the current or last pause.
  Instant until() const noexcept { return until_; }

 private:
  unsigned failures_most_;
  Duration first_;
  Duration longest_;
  unsigned failures_ = 0;  // In a row.
  bool is_probed_ = false;
  Duration pause_{0};
  Instant until_;
};

}  // namespace rondo::http
