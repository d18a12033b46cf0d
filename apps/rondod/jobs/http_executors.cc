#include "rondod/jobs/http_executors.h"

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "base/bounded_file.h"
#include "http/http_thread.h"
#include "http/listener.h"
#include "jobs/executors/executors.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using jobs::executors::ExecutorGroup;
using jobs::executors::Executors;

constexpr std::size_t kTokenFileBytes = 4096;
constexpr std::size_t kTokenBytesLeast = 16;
constexpr std::size_t kCallbackBytes = std::size_t{5} * 1024 * 1024;

Result<std::string> read_token(const std::string& path) {
  const Result<std::string> text = read_bounded_file(path, "the token", kTokenFileBytes, Pipes::Refuse);
  if (!text) return failure(text.error());
  std::string token = text->substr(0, text->find_first_of("\r\n"));
  if (token.size() < kTokenBytesLeast) {
    return failure(StatusCode::InvalidArgument, "the token in the first line of '" + path + "' has " + std::to_string(token.size()) +
                                                    " bytes, and needs " + std::to_string(kTokenBytesLeast));
  }
  if (!http::is_field("token", token)) return failure(StatusCode::InvalidArgument, "the token in '" + path + "' has control characters");
  return token;
}

Result<std::vector<Prefix>> networks_of(const std::vector<std::string>& texts) {
  std::vector<Prefix> networks;
  for (const std::string& text : texts) {
    const Result<Prefix> network = Prefix::parse(text);
    if (!network) return failure(network.error());
    networks.push_back(*network);
  }
  return networks;
}

Result<ExecutorGroup> group_of(const ExecutorGroupChoice& choice) {
  ExecutorGroup group{.name = choice.name, .is_orth = choice.orth};
  if (!choice.token_file.empty()) {
    Result<std::string> token = read_token(choice.token_file);
    if (!token) return failure(token.error());
    group.token = *std::move(token);
  }
  auto networks = networks_of(choice.allow_without_token);
  if (!networks) return failure(networks.error());
  group.allow_without_token = *std::move(networks);
  for (const std::string& text : choice.addresses) {
    const auto address = jobs::executors::parse_address(text);
    if (!address) return failure(address.error().with_context("executors.group.addresses"));
    group.addresses.push_back(address->url);
  }
  return group;
}

bool is_loopback(std::string_view endpoint) { return endpoint.starts_with("127.") || endpoint.starts_with("[::1]"); }

class HttpExecutors final : public ExecutorService {
 public:
  HttpExecutors(Runtime& runtime, jobs::Jobs& jobs, jobs::executors::ExecutorSettings settings)
      : executors_(runtime, jobs, std::move(settings), [this](http::ClientRequest request, http::CallDone done) {
          if (http_ == nullptr) return Status{StatusCode::Unavailable, "the HTTP client is not running"};
          return http_->call(std::move(request), std::move(done));
        }) {}
  /// The last answers may cause further calls, which are refused then.
  ~HttpExecutors() override {
    if (http_ != nullptr) http_->stop();
  }
  Status listen(Runtime& runtime, const HttpChoice& choice, std::vector<Prefix> networks) {
    http::HttpThreadOptions options;
    options.server.emplace().address = choice.address;
    options.server->port = choice.port;
    options.server->certificate_file = choice.certificate;
    options.server->key_file = choice.key;
    options.server->listener = http::passed_socket("http");
    is_passed_ = options.server->listener >= 0;
    options.server->body_limit = [](std::string_view target) {
      return target.substr(0, target.find('?')).ends_with("/api/callback") ? kCallbackBytes : limits::kHttpBodyBytes;
    };
    options.client.emplace().networks = std::move(networks);
    options.client->calls = kCalls;
    options.client->calls_per_host = jobs::executors::ExecutorSettings{}.in_flight_of_address + 8;  // Orders, and what else it is asked.
    auto started = http::HttpThread::start(runtime.scheduler(), std::move(options), executors_.door());
    if (!started) return started.error();
    http_ = *std::move(started);
    return {};
  }
  std::string endpoint() const { return http_->endpoint(); }
  /// True if the listening socket is that of the service manager.
  bool is_passed() const { return is_passed_; }

  Status add_commands(CommandRegistry& registry) override { return executors_.add_commands(registry); }
  bool read_log(const jobs::JobRun& run, std::int64_t from, bool wait, const std::string& address, const Reply& reply) override {
    return executors_.read_log(run, from, wait, address, reply);
  }
  Status health() const override { return executors_.health(); }
  std::string refusal() const override { return executors_.refusal(); }
  void add_stats(json::object& stats) const override {
    const jobs::executors::ExecutorStats& figures = executors_.stats();
    stats["executors"] = json::object{{"dispatched", figures.dispatched},
                                      {"refused", figures.refused},
                                      {"unsent", figures.unsent},
                                      {"callbacks", figures.callbacks},
                                      {"late", figures.late},
                                      {"lost", figures.lost},
                                      {"linked", figures.linked},
                                      {"refused_calls", figures.refused_calls}};
  }

 private:
  static constexpr std::size_t kCalls = 400;  // Orders of both lanes, and what else executors are asked.

  Executors executors_;
  std::unique_ptr<http::HttpThread> http_;
  bool is_passed_ = false;
};

}  // namespace

Result<std::unique_ptr<ExecutorService>> open_http_executors(const Config& config, Runtime& runtime, jobs::Jobs& jobs, Log& log) {
  jobs::executors::ExecutorSettings settings;
  for (const ExecutorGroupChoice& choice : config.executors.groups) {
    Result<ExecutorGroup> group = group_of(choice);
    if (!group) return failure(group.error().with_context("executors.group '" + choice.name + "'"));
    settings.groups.push_back(*std::move(group));
  }
  auto networks = networks_of(config.executors.networks);
  if (!networks) return failure(networks.error());
  settings.networks = *networks;
  settings.on_refused = [&log](const std::string& what) { log.warn("executors", {{"why", what}}); };
  auto service = std::make_unique<HttpExecutors>(runtime, jobs, std::move(settings));
  if (Status refused = service->listen(runtime, config.http, *std::move(networks)); !refused.ok())
    return failure(refused.with_context("http"));
  log.info("listening for HTTP", {{"address", service->endpoint()},
                                  {"socket", service->is_passed() ? "of the service manager" : "its own"},
                                  {"tls", config.http.certificate.empty() ? "no" : "yes"},
                                  {"groups", config.executors.groups.size()}});
  if (config.http.certificate.empty() && !is_loopback(service->endpoint())) {
    log.warn("HTTP is not encrypted", {{"address", service->endpoint()}, {"option", "certificate and key of [http]"}});
  }
  return service;
}

}  // namespace rondo::daemon
