#include "rondod/http/http_front.h"

#include <cerrno>
#include <utility>

#include "admin/peer.h"
#include "api/openapi.h"
#include "http/listener.h"
#include "http/tls.h"
#include "jobs/executors/executors.h"
#include "rondo/admin/limits.h"

namespace rondo::daemon {

namespace {

constexpr std::size_t kCalls = 400;  // Orders of both lanes, and what else executors are asked.

bool is_loopback(std::string_view endpoint) { return endpoint.starts_with("127.") || endpoint.starts_with("[::1]"); }

constexpr Duration kLookAtTokens = 1s;

std::string_view route_of(std::string_view path) {
  if (api::Api::serves(path)) return "api";
  if (console::Console::serves(path)) return "console";
  if (api::Probes::serves(path)) return "probes";
  return api::Metrics::serves(path) ? "metrics" : "executors";
}

}  // namespace

HttpFront::HttpFront(const Config& config, Runtime& runtime, Log& log)
    : config_(config), runtime_(runtime), log_(log), watch_("http:tokens", Priority{8}, [this] {
        if (tokens_->is_file_changed()) read_tokens();
      }) {}

Result<std::unique_ptr<HttpFront>> HttpFront::open(const Config& config, Runtime& runtime, Log& log) {
  std::unique_ptr<HttpFront> front{new HttpFront(config, runtime, log)};
  for (const std::string& text : config.executors.networks) {
    const Result<Prefix> network = Prefix::parse(text);
    if (!network) return failure(network.error());
    front->networks_.push_back(*network);
  }
  for (const ExecutorGroupChoice& group : config.executors.groups) front->groups_.insert(group.name);
  if (!config.http.api) return front;
  Result<api::Tokens> tokens = api::Tokens::open(config.http.tokens);
  if (!tokens) return failure(tokens.error().with_context("http.tokens"));
  front->tokens_ = *std::move(tokens);
  runtime.scheduler().add(front->watch_);
  front->watch_.arm_every(kLookAtTokens, runtime.scheduler().now() + kLookAtTokens);
  return front;
}

Status check_http_front(const Config& config) {
  if (!config.http.certificate.empty()) {
    if (Status refused = http::check_tls(config.http.certificate, config.http.key); !refused.ok()) return refused;
  }
  if (config.http.api) {
    if (const auto tokens = api::Tokens::open(config.http.tokens); !tokens) return tokens.error();
  }
  // The rondod that runs may have the port.
  if (http::passed_socket("http") >= 0) return {};
  const auto listener = http::listen_at(config.http.address, config.http.port);
  return listener || listener.error().origin_errno() == EADDRINUSE ? Status{} : listener.error();
}

Status HttpFront::add_commands(CommandRegistry& registry) {
  return tokens_ ? api::add_token_commands(registry, *tokens_, groups_, [this] { publish_tokens(); }) : Status{};
}

void HttpFront::publish_tokens() {
  if (api_ == nullptr) return;
  api_->set_tokens(tokens_->table());
  std::map<std::string, std::string> now;
  for (const auto& [name, token] : tokens_->all())
    now[name] = token.digest + std::string{to_string(token.caller.role)} + " " + token.caller.group;
  for (const auto& [name, digest] : std::exchange(published_, now)) {
    const auto still = now.find(name);
    const bool is_gone = still == now.end() || still->second != digest;
    if (is_gone && commands_->server != nullptr) commands_->server->cut_token(name);  // Null when the service has closed its socket.
  }
}

http::HttpThreadOptions HttpFront::options() const {
  http::HttpThreadOptions options;
  options.server.emplace().address = config_.http.address;
  options.server->port = config_.http.port;
  options.server->certificate_file = config_.http.certificate;
  options.server->key_file = config_.http.key;
  options.server->plain_too = static_cast<bool>(door_);  // Few executors speak TLS. The API needs it.
  options.server->listener = http::passed_socket("http");
  options.server->body_limit = [this](const http::Request& head) { return body_limit(head); };
  options.server->route_of = route_of;
  options.client.emplace().networks = networks_;
  options.client->calls = kCalls;
  options.client->calls_per_host = jobs::executors::ExecutorSettings{}.in_flight_of_address + 8;  // Orders, and what else it is asked.
  return options;
}

Status HttpFront::start(commands::Context& commands, std::function<std::string()> unready) {
  commands_ = &commands;
  const auto adopt = [&commands](UniqueFd fd, const Caller& caller) {
    if (commands.server != nullptr) commands.server->adopt(std::move(fd), caller);
  };
  if (tokens_) {
    api_ = std::make_unique<api::Api>(api::openapi_of(commands.registry, RONDO_VERSION), runtime_.scheduler().clock(), adopt,
                                      [this](const std::string& what) {
                                        log_.warn("API", {{"why", what}});
                                      });
    console_.emplace();
    publish_tokens();
  }
  const MetricsAccess access = config_.http.metrics;
  if (access != MetricsAccess::Off) {
    api::MetricCommands shown = api::metric_commands();
    if (config_.plane == PlaneKind::None) std::erase(shown, "ports");
    if (!config_.jobs.enabled) std::erase(shown, "workers");
    metrics_ =
        std::make_unique<api::Metrics>(RONDO_VERSION, std::move(shown), adopt, access == MetricsAccess::Token ? api_.get() : nullptr);
  }
  probes_ = std::make_unique<api::Probes>(std::move(unready));
  http::HttpThreadOptions given = options();
  const bool is_passed = given.server->listener >= 0;
  auto started = http::HttpThread::start(
      runtime_.scheduler(), std::move(given),
      [this](http::Request request, http::Answer answer, http::HttpGate& gate) { handle(std::move(request), std::move(answer), gate); });
  if (!started) return started.error().with_context("http");
  thread_ = *std::move(started);
  const bool is_plain = config_.http.certificate.empty();
  log_.info("listening for HTTP", {{"address", thread_->endpoint()},
                                   {"socket", is_passed ? "of the service manager" : "its own"},
                                   {"tls", is_plain ? "no" : "yes"},
                                   {"groups", config_.executors.groups.size()},
                                   {"api", config_.http.api}});
  if (is_plain && !is_loopback(thread_->endpoint()))
    log_.warn("HTTP is not encrypted", {{"address", thread_->endpoint()}, {"option", "certificate and key of [http]"}});
  if (tokens_ && tokens_->all().empty()) log_.info("the API has no token: rondo token-add makes one");
  return {};
}

void HttpFront::read_tokens() {
  const Status read = tokens_->read_again();
  if (!read.ok()) log_.error("cannot read the tokens again, keeping the current ones", {{"why", read}});
  publish_tokens();
}

/// The result comes back in a later turn, while this still exists: stop() ends the thread first.
void HttpFront::reload() {
  if (tokens_) read_tokens();
  if (thread_ == nullptr || config_.http.certificate.empty()) return;
  const Status posted = thread_->post([this](http::HttpGate& gate) {
    const Status read = gate.server()->read_certificate_again();
    // Without room for it nobody is told, and the certificate is read all the same.
    static_cast<void>(gate.post([this, read] {
      if (read.ok()) return log_.info("new connections use the certificate as it is now", {{"file", config_.http.certificate}});
      log_.error("cannot read the certificate again, keeping the current one", {{"why", read}});
    }));
  });
  if (!posted.ok()) log_.error("cannot read the certificate again, keeping the current one", {{"why", posted}});
}

void HttpFront::stop() {
  if (thread_ != nullptr) thread_->stop();
}

Status HttpFront::call(http::ClientRequest request, http::CallDone done) {
  if (thread_ == nullptr) return {StatusCode::Unavailable, "the HTTP client is not running"};
  return thread_->call(std::move(request), std::move(done));
}

/// More than the usual bytes only for those who may say something.
std::size_t HttpFront::body_limit(const http::Request& head) const {
  if (api_ != nullptr && api::Api::serves(head.path())) return api_->knows(head) ? limits::kAdminRequestBytes : limits::kHttpBodyBytes;
  return door_limit_ ? door_limit_(head) : limits::kHttpBodyBytes;
}

void HttpFront::handle(http::Request request, http::Answer answer, http::HttpGate& gate) const {
  if (api_ != nullptr && api::Api::serves(request.path())) return api_->handle(std::move(request), std::move(answer), gate);
  if (console_ && console::Console::serves(request.path())) {
    // Its user would enter a token.
    return answer.send(api::Api::is_private(request) ? console_->answer(request)
                                                     : http::text_response(403, "the console needs TLS for browsers of other hosts"));
  }
  if (api::Probes::serves(request.path())) return probes_->handle(request, std::move(answer), gate);
  if (metrics_ != nullptr && api::Metrics::serves(request.path())) return metrics_->handle(request, std::move(answer), gate);
  if (door_) return door_(std::move(request), std::move(answer), gate);
  answer.send(http::text_response(404, "there is no such path"));
}

}  // namespace rondo::daemon
