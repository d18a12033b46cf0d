#include "jobs/executors/door.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "rondo/base/text.h"

namespace rondo::jobs::executors {

namespace {

/// Takes a time that depends on the length of 'given' alone.
bool is_secret(std::string_view secret, std::string_view given) noexcept {
  unsigned difference = secret.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |=
        static_cast<unsigned>(static_cast<unsigned char>(given[i])) ^ static_cast<unsigned char>(i < secret.size() ? secret[i] : 0);
  }
  return difference == 0;
}

http::Response answer_of(std::int64_t code, std::string_view message) { return {.body = answer_body(code, message)}; }

/// The only field of this name; null if there is none, or several.
const std::string* only_field(const http::Request& request, std::string_view name) {
  const std::string* found = nullptr;
  for (const http::Field& field : request.fields) {
    if (!http::equals_without_case(field.name, name)) continue;
    if (found != nullptr) return nullptr;
    found = &field.value;
  }
  return found;
}

/// "/api/registry" and "/xxl-job-admin/api/registry" are "registry"; empty: no path of executors.
std::string_view call_of(std::string_view path) {
  constexpr std::string_view kApi = "/api/";
  const std::size_t api = path.find(kApi);
  const bool is_first = api == 0;
  const bool is_second = api != std::string_view::npos && api > 1 && path.find('/', 1) == api;
  return is_first || is_second ? path.substr(api + kApi.size()) : std::string_view{};
}

std::optional<IpAddress> address_of(std::string_view peer) {
  peer = peer.substr(0, peer.rfind(':'));
  if (peer.starts_with('[') && peer.ends_with(']')) peer = peer.substr(1, peer.size() - 2);
  auto address = IpAddress::parse(peer);
  return address ? std::optional{*address} : std::nullopt;
}

}  // namespace

std::set<std::string> Door::groups_of(const http::Request& request, Dialect& dialect) const {
  const std::string* token = only_field(request, "XXL-JOB-ACCESS-TOKEN");
  if (request.field("XXL-JOB-APPNAME") != nullptr) dialect = Dialect::Later;
  if (const std::string* const orth = only_field(request, "Orth-ACCESS-TOKEN"); orth != nullptr && token == nullptr) {
    token = orth;
    dialect = Dialect::Orth;
  }
  const std::optional<IpAddress> peer = address_of(request.peer);
  std::set<std::string> allowed;
  for (const ExecutorGroup& group : groups_) {
    const bool knows = !group.token.empty() && token != nullptr && is_secret(group.token, *token);
    const bool is_near = peer && std::ranges::any_of(group.allow_without_token, [&](const Prefix& network) {
                           return network.contains(*peer) || network.contains(peer->unmapped());
                         });
    if (knows || is_near) allowed.insert(group.name);
  }
  return allowed;
}

std::size_t Door::body_limit(const http::Request& head) const {
  Dialect ignored{};
  const bool is_large = call_of(head.path()) == "callback" && !groups_of(head, ignored).empty();
  return is_large ? limits::kExecutorBody : limits::kHttpBodyBytes;
}

void Door::handle(http::Request request, http::Answer answer, http::HttpGate& gate) const {
  const std::string call{call_of(request.path())};
  const bool registers = call == "registry";
  const bool leaves = call == "registryRemove";
  if (!registers && !leaves && call != "callback") return answer.send(http::text_response(404, "there is no such path"));
  const auto refuse = [&](std::string_view why, const std::string& for_people = {}) {
    answer.send(answer_of(kCodeFailure, why));
    const std::string what =
        "a call of " + request.peer + " to " + visible_text(request.path().substr(0, limits::kExecutorAddress)) + " was refused: ";
    // Without room for it there are enough of them.
    static_cast<void>(
        gate.post([home = &home_, what, why = for_people.empty() ? std::string{why} : for_people] { home->refused(what + why); }));
  };
  if (request.method != "POST") return refuse("invalid request, HttpMethod not support.");
  if (request.body.empty()) return refuse("invalid request, requestBody empty.");
  Dialect dialect = Dialect::Classic;
  std::set<std::string> groups = groups_of(request, dialect);
  if (groups.empty()) return refuse("The access token is wrong.");
  const auto answer_with = [](http::Answer of) {
    return [shared = std::make_shared<http::Answer>(std::move(of))](std::int64_t code, std::string_view message) {
      shared->send(answer_of(code, message));
    };
  };
  if (!registers && !leaves) {
    auto items = parse_callbacks(request.body);
    if (!items) return refuse(items.error().message());
    gate.forward(std::move(answer),
                 [home = &home_, answer_with, results = CalledBack{std::move(groups), *std::move(items)}](http::Answer at_home) mutable {
                   home->called_back(std::move(results), answer_with(std::move(at_home)));
                 });
    return;
  }
  auto registration = parse_registration(request.body);
  if (!registration) return refuse(registration.error().message());
  if (!groups.contains(registration->group)) {
    // It gets one answer, whether the group exists or not.
    return refuse("The access token is wrong.",
                  "the token is not that of a group '" + registration->group + "'; the executor is " + registration->address);
  }
  gate.forward(std::move(answer),
               [home = &home_, answer_with, registered = Registered{*std::move(registration), dialect, leaves}](
                   http::Answer at_home) mutable { home->registered(std::move(registered), answer_with(std::move(at_home))); });
}

}  // namespace rondo::jobs::executors
