// Probes: GET /healthz and GET /readyz, for service managers and load balancers, without a token. Both answer what a turn of the
// scheduler's thread found, so a daemon whose scheduler stands still answers 503.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "api/limits.h"
#include "http/http_thread.h"

namespace rondo::api {

class Probes {
 public:
  /// What keeps the daemon from its work, one word a line; empty: nothing. Called on the home thread.
  using Unready = std::function<std::string()>;

  explicit Probes(Unready unready, Duration patience = limits::kProbeTime) : unready_(std::move(unready)), patience_(patience) {}

  static bool serves(std::string_view path) noexcept { return path == "/healthz" || path == "/readyz"; }
  /// Answers a request whose path it serves: 200 with "ok", or 503 with the words of 'unready' or "stalled". HTTP thread. This must outlive
  /// the thread.
  void handle(const http::Request& request, http::Answer answer, http::HttpGate& gate) const;

 private:
  const Unready unready_;
  const Duration patience_;
};

}  // namespace rondo::api
