// The Front of a build with libcurl.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "api/api.h"
#include "api/metrics.h"
#include "api/probes.h"
#include "api/tokens.h"
#include "console/console.h"
#include "http/http_thread.h"
#include "rondo/sched/timer.h"
#include "rondod/http/front.h"

namespace rondo::daemon {

/// See check_front().
Status check_http_front(const Config& config);

class HttpFront final : public Front {
 public:
  static Result<std::unique_ptr<HttpFront>> open(const Config& config, Runtime& runtime, Log& log);
  ~HttpFront() override { stop(); }

  Status add_commands(CommandRegistry& registry) override;
  Status start(commands::Context& commands, std::function<std::string()> unready) override;
  void reload() override;
  void stop() override;

  /// HttpThread::call(). Unavailable before start() and after stop().
  Status call(http::ClientRequest request, http::CallDone done);
  /// Gives the requests of executors to 'door', with bodies of at most 'limit'. Before start().
  void set_door(http::GateHandler door, http::BodyLimit limit) {
    door_ = std::move(door);
    door_limit_ = std::move(limit);
  }

 private:
  HttpFront(const Config& config, Runtime& runtime, Log& log);
  http::HttpThreadOptions options() const;
  /// Gives the API the tokens as they are now, and closes the connections of callers whose token is gone.
  void publish_tokens();
  void read_tokens();
  std::size_t body_limit(const http::Request& head) const;
  void handle(http::Request request, http::Answer answer, http::HttpGate& gate) const;

  const Config& config_;
  Runtime& runtime_;
  Log& log_;
  std::vector<Prefix> networks_;
  std::set<std::string> groups_;  // The groups of executors.
  http::GateHandler door_;
  http::BodyLimit door_limit_;
  std::optional<api::Tokens> tokens_;             // Empty without an API, as api_ before start().
  std::map<std::string, std::string> published_;  // What the API knows: the name, and the digest with role and group.
  TimerSource watch_;                             // For the file of tokens, which several schedulers may share.
  std::unique_ptr<api::Api> api_;
  std::optional<console::Console> console_;  // Beside the API.
  std::unique_ptr<api::Metrics> metrics_;    // Null if they are off.
  std::unique_ptr<api::Probes> probes_;
  commands::Context* commands_ = nullptr;
  std::unique_ptr<http::HttpThread> thread_;
};

}  // namespace rondo::daemon
