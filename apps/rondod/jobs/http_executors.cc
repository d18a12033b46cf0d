#include "rondod/jobs/http_executors.h"

#include <boost/json.hpp>
#include <string>
#include <utility>

#include "base/bounded_file.h"
#include "commands/answers.h"
#include "jobs/executors/executors.h"

namespace rondo::daemon {

namespace {

namespace json = boost::json;
using jobs::executors::ExecutorGroup;
using jobs::executors::Executors;

constexpr std::size_t kTokenFileBytes = 4096;
constexpr std::size_t kTokenBytesLeast = 16;

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

class HttpExecutors final : public ExecutorService {
 public:
  HttpExecutors(Runtime& runtime, jobs::Jobs& jobs, jobs::executors::ExecutorSettings settings, HttpFront& front)
      : front_(front), executors_(runtime, jobs, std::move(settings), [&front](http::ClientRequest request, http::CallDone done) {
          return front.call(std::move(request), std::move(done));
        }) {
    front_.set_door(executors_.door(), executors_.body_limit());
  }
  /// The last answers may cause further calls, which are refused then.
  ~HttpExecutors() override { front_.stop(); }

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
                                      {"accepted_histogram", commands::histogram_json(figures.accepted_ns)},
                                      {"refused_histogram", commands::histogram_json(figures.refused_ns)},
                                      {"unsent_histogram", commands::histogram_json(figures.unsent_ns)},
                                      {"unanswered_histogram", commands::histogram_json(figures.unanswered_ns)},
                                      {"callbacks", figures.callbacks},
                                      {"late", figures.late},
                                      {"lost", figures.lost},
                                      {"linked", figures.linked},
                                      {"refused_calls", figures.refused_calls},
                                      {"groups", executors_.counts()}};
  }

 private:
  HttpFront& front_;
  Executors executors_;
};

}  // namespace

Status check_http_executors(const Config& config) {
  for (const ExecutorGroupChoice& choice : config.executors.groups) {
    if (const Result<ExecutorGroup> group = group_of(choice); !group) return group.error().with_context("group '" + choice.name + "'");
  }
  return {};
}

Result<std::unique_ptr<ExecutorService>> open_http_executors(const Config& config, Runtime& runtime, jobs::Jobs& jobs, Log& log,
                                                             HttpFront& front) {
  jobs::executors::ExecutorSettings settings;
  for (const ExecutorGroupChoice& choice : config.executors.groups) {
    Result<ExecutorGroup> group = group_of(choice);
    if (!group) return failure(group.error().with_context("executors.group '" + choice.name + "'"));
    settings.groups.push_back(*std::move(group));
  }
  auto networks = networks_of(config.executors.networks);
  if (!networks) return failure(networks.error());
  settings.networks = *std::move(networks);
  settings.on_refused = [&log](const std::string& what) { log.warn("executors", {{"why", what}}); };
  return std::make_unique<HttpExecutors>(runtime, jobs, std::move(settings), front);
}

}  // namespace rondo::daemon
