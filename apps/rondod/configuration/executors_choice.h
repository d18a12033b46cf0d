// The sections [http] and [executors]: the HTTP server of rondod, and the executors of xxl-job and Orth that it gives runs to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::daemon {

/// Who may read /metrics: nobody, callers with a token that may read, or all callers.
enum class MetricsAccess : std::uint8_t { Off, Token, Open };

/// The HTTP server: [http].
struct HttpChoice {
  bool enabled = false;
  std::string address = "127.0.0.1";
  std::uint16_t port = 8700;
  std::string certificate = {};  // Files. With both, TLS.
  std::string key = {};
  bool api = false;  // The admin commands over HTTP.
  std::string tokens = "/var/lib/rondo/tokens";
  MetricsAccess metrics = MetricsAccess::Off;
  friend bool operator==(const HttpChoice&, const HttpChoice&) = default;
};

/// [[executors.group]]
struct ExecutorGroupChoice {
  std::string name = {};
  std::string token_file = {};  // The first line is the token.
  std::vector<std::string> allow_without_token = {};
  std::vector<std::string> addresses = {};
  bool orth = false;
  friend bool operator==(const ExecutorGroupChoice&, const ExecutorGroupChoice&) = default;
};

/// [executors]
struct ExecutorsChoice {
  std::vector<std::string> networks = {"127.0.0.0/8", "::1/128"};
  std::vector<ExecutorGroupChoice> groups = {};
  friend bool operator==(const ExecutorsChoice&, const ExecutorsChoice&) = default;
};

}  // namespace rondo::daemon
