#include "api/api.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "admin/frame.h"
#include "admin/peer.h"
#include "api/answers.h"
#include "api/browser.h"
#include "base/doubled_name.h"
#include "base/json.h"
#include "rondo/admin/limits.h"
#include "rondo/base/text.h"
#include "rondo/base/trace_context.h"

namespace rondo::api {

namespace {

constexpr std::string_view kRoot = "/api/v1/";
constexpr std::string_view kJson = "application/json";
constexpr std::string_view kProtocol = "rondo-admin";
constexpr std::size_t kPathBytes = 64;  // A log shows so much of a refused path.
constexpr int kSendBytes = 512 * 1024;  // Room for a request of the admin socket with the kernel's own bytes.

/// The field's only value, without "Bearer ".
std::string_view secret_of(const http::Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const auto is_authorization = [](const http::Field& field) { return http::equals_without_case(field.name, "Authorization"); };
  if (std::ranges::count_if(request.fields, is_authorization) != 1) return {};
  const std::string_view value = *request.field("Authorization");
  return http::equals_without_case(value.substr(0, kScheme.size()), kScheme) ? value.substr(kScheme.size()) : std::string_view{};
}

/// The object in the body of a request.
Result<json::object> body_object(std::string_view body) {
  if (body.size() > limits::kAdminRequestBytes) {
    return failure(StatusCode::InvalidArgument, "the arguments have " + std::to_string(body.size()) + " bytes, and may have " +
                                                    std::to_string(limits::kAdminRequestBytes));
  }
  if (has_many_values(body, limits::kAdminRequestValues)) return failure(StatusCode::InvalidArgument, "the arguments have too many values");
  json::error_code failed;
  json::value value = body.empty() ? json::value(json::object()) : json::parse(json::string_view{body.data(), body.size()}, failed);
  if (failed || !value.is_object()) return failure(StatusCode::InvalidArgument, "the body must be a JSON object with the arguments");
  if (const auto doubled = doubled_name(body)) {
    return failure(StatusCode::InvalidArgument, "the body has the name '" + visible_text(doubled->name) + "' twice");
  }
  return std::move(value.get_object());
}

/// The token in the body of who signs in.
Result<std::string> token_in(std::string_view body) {
  const Result<json::object> object = body_object(body);
  if (!object) return failure(object.error());
  const json::value* const token = object->if_contains("token");
  if (object->size() != 1 || token == nullptr || !token->is_string())
    return failure(StatusCode::InvalidArgument, "the body must be {\"token\": \"...\"}");
  return std::string{view(token->get_string())};
}

/// The frame of a call of 'command' with the arguments in 'body'.
Result<std::string> frame_of(std::string_view command, std::string_view body) {
  Result<json::object> arguments = body_object(body);
  if (!arguments) return failure(arguments.error());
  json::object request = *std::move(arguments);
  for (const std::string_view ours : {"id", "command"}) {
    if (request.contains(ours)) return failure(StatusCode::InvalidArgument, "no argument has the name '" + std::string{ours} + "'");
  }
  request["id"] = 1;
  request["command"] = command;
  std::string frame;
  const std::size_t start = begin_frame(frame, FrameKind::Json);
  append_json(frame, request);
  end_frame(frame, start);
  return frame;
}

/// The trace of a call; null if it has none, or an invalid one, which W3C Trace Context has ignored.
std::shared_ptr<const TraceContext> trace_of(const http::Request& request) {
  std::vector<std::string_view> parents;
  std::string state;
  for (const http::Field& field : request.fields) {
    if (http::equals_without_case(field.name, "traceparent")) parents.push_back(field.value);
    if (http::equals_without_case(field.name, "tracestate")) state.append(state.empty() ? "" : ",").append(field.value);
  }
  const std::optional<TraceContext> context = parents.size() == 1 ? TraceContext::parse(parents.front(), state) : std::nullopt;
  return context ? std::make_shared<const TraceContext>(*context) : nullptr;
}

http::Response not_found() { return error_response({StatusCode::NotFound, "there is no such path: docs/guide/http-api.md lists them"}); }

http::Response wrong_type() { return error_response({StatusCode::InvalidArgument, "the Content-Type must be application/json"}); }

/// The answer to a request of nobody that is known.
http::Response refusal(unsigned status, const std::string& why) {
  http::Response response = error_response({StatusCode::PermissionDenied, why});
  response.status = status;
  if (status == 401) response.fields.push_back({"WWW-Authenticate", "Bearer"});
  return response;
}

/// 'key': of a session that begins.
http::Response signed_in(const Caller& caller, std::string_view key = {}) {
  json::object who{{"name", caller.token}, {"role", to_string(caller.role)}};
  if (!caller.group.empty()) who["group"] = caller.group;
  if (!key.empty()) who["key"] = key;
  std::string text;
  append_json(text, who);
  return json_response(std::move(text));
}

http::Response needs_tls() {
  return error_response({StatusCode::PermissionDenied, "the API needs TLS for callers of other hosts: make a new token"});
}

}  // namespace

Result<Ends> Ends::make() {
  int fds[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
    return failure(status_from_errno(errno, "the daemon has no descriptor for the call"));
  ::setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof kSendBytes);
  return Ends{UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

Status Ends::ask(std::string_view frames) const {
  if (::send(ours.get(), frames.data(), frames.size(), MSG_DONTWAIT | MSG_NOSIGNAL) != static_cast<ssize_t>(frames.size()))
    return {StatusCode::ResourceExhausted, "the system has no room for the arguments now"};
  ::shutdown(ours.get(), SHUT_WR);  // The daemon closes its end after the answer.
  return {};
}

bool Api::is_private(const http::Request& request) noexcept {
  const std::string_view peer = request.peer;
  return request.is_secure || peer.starts_with("127.") || peer.starts_with("[::1]:") || peer.starts_with("[::ffff:127.");
}

void Api::set_tokens(std::shared_ptr<const TokenTable> tokens) {
  const std::scoped_lock held{guard_};
  tokens_ = std::move(tokens);
}

std::shared_ptr<const TokenTable> Api::tokens() const {
  const std::scoped_lock held{guard_};
  return tokens_;
}

Api::Identity Api::identify(const http::Request& request) {
  if (request.field("Authorization") == nullptr) return identify_session(request);
  const std::string_view secret = secret_of(request);
  const std::shared_ptr<const TokenTable> table = tokens();
  const std::optional<Caller> caller = secret.empty() || table == nullptr ? std::nullopt : table->find(secret);
  return caller ? Identity{.caller = *caller} : Identity{.status = 401, .why = "the token is unknown"};
}

Api::Identity Api::identify_session(const http::Request& request) {
  const std::vector<std::string_view> cookies = session_cookies(request);
  // Frames have no origin that a later check could see: the cookie does not open them.
  if (cookies.empty() || request.path() == "/api/v1/connect")
    return {.status = 401, .why = "a token is missing: the field \"Authorization: Bearer TOKEN\""};
  if (const std::string_view why = why_foreign(request, false); !why.empty()) return {.status = 403, .why = std::string{why}};
  const std::string_view key = session_key(request);
  const std::shared_ptr<const TokenTable> table = tokens();
  for (const std::string_view cookie : cookies) {
    const Sessions::Session* const found = sessions_.find(cookie, key);
    if (found == nullptr) continue;
    const std::optional<Caller> caller = table == nullptr ? std::nullopt : table->find_digest(found->token);
    if (caller) return {.caller = *caller, .usage = found->usage};
    sessions_.end(cookie);  // Its token is gone.
  }
  return {.status = 401, .why = "the session has ended: sign in again"};
}

void Api::refuse(const http::Request& request, const Identity& nobody, http::Answer answer, http::HttpGate& gate) const {
  answer.send(refusal(nobody.status, nobody.why));
  const std::string what =
      "a call of " + request.peer + " to " + visible_text(request.path().substr(0, kPathBytes)) + " was refused: " + nobody.why;
  // Without room for it there are enough of them.
  static_cast<void>(gate.post([this, what] { refused_(what); }));
}

std::optional<Caller> Api::admit(const http::Request& request, http::Answer& answer, http::HttpGate& gate) {
  const Identity who = is_private(request) ? identify(request) : Identity{.status = 403};
  if (who.status == 200) return who.caller;
  if (is_private(request)) {
    refuse(request, who, std::move(answer), gate);
  } else {
    answer.send(needs_tls());
  }
  return std::nullopt;
}

void Api::handle(http::Request request, http::Answer answer, http::HttpGate& gate) {
  if (!is_private(request)) return answer.send(needs_tls());
  const std::string_view path = request.path().substr(kRoot.size());
  if (path == "session") return session(request, std::move(answer), gate);
  const Identity who = identify(request);
  if (who.status != 200) return refuse(request, who, std::move(answer), gate);
  if (path == "connect") return connect(request, who.caller, std::move(answer), gate);
  if (path != "openapi.json") return call(request, who, std::move(answer), gate);
  if (request.method != "GET" && request.method != "HEAD") return answer.send(wrong_method("GET"));
  answer.send(json_response(description_));
}

void Api::session(const http::Request& request, http::Answer answer, http::HttpGate& gate) {
  if (request.method == "POST") return sign_in(request, std::move(answer), gate);
  const bool signs_out = request.method == "DELETE";
  if (!signs_out && request.method != "GET" && request.method != "HEAD") return answer.send(wrong_method("DELETE, GET, HEAD, POST"));
  const Identity who = identify(request);
  // A page asks whether it is signed in: the answer "no" is none for the log.
  const bool only_asks = who.status == 401 && request.field("Authorization") == nullptr;
  if (only_asks) return answer.send(refusal(who.status, who.why));
  if (who.status != 200) return refuse(request, who, std::move(answer), gate);
  if (!signs_out) return answer.send(signed_in(who.caller));
  if (who.usage == nullptr) return answer.send(error_response({StatusCode::InvalidArgument, "a call with a token has no session to end"}));
  end_sessions(request);
  http::Response response = json_response("{}");
  response.fields.push_back(set_cookie(request, {}));
  answer.send(std::move(response));
}

void Api::end_sessions(const http::Request& request) {
  const std::string_view key = session_key(request);
  for (const std::string_view cookie : session_cookies(request)) {
    if (sessions_.find(cookie, key) != nullptr) sessions_.end(cookie);
  }
}

void Api::sign_in(const http::Request& request, http::Answer answer, http::HttpGate& gate) {
  // Another site could sign its visitor in with a token of its own, and see what the visitor enters then.
  if (const std::string_view why = why_foreign(request, true); !why.empty())
    return refuse(request, {.status = 403, .why = std::string{why}}, std::move(answer), gate);
  if (!request.lists("Content-Type", kJson)) return answer.send(wrong_type());
  const Result<std::string> token = token_in(request.body);
  if (!token) return answer.send(error_response(token.error()));
  const std::string digest = digest_of(*token);
  const std::shared_ptr<const TokenTable> table = tokens();
  const std::optional<Caller> caller = table == nullptr ? std::nullopt : table->find_digest(digest);
  if (!caller) return refuse(request, {.status = 401, .why = "the token is unknown"}, std::move(answer), gate);
  end_sessions(request);  // The browser forgets it.
  const Result<SessionSecrets> secrets = sessions_.begin(digest);
  if (!secrets) return answer.send(error_response(secrets.error()));
  http::Response response = signed_in(*caller, secrets->key);
  response.fields.push_back(set_cookie(request, secrets->cookie));
  answer.send(std::move(response));
}

void Api::call(const http::Request& request, const Identity& who, http::Answer answer, http::HttpGate& gate) const {
  const std::string_view command = request.path().substr(kRoot.size());
  if (command.empty() || command.find('/') != std::string_view::npos) return answer.send(not_found());
  if (request.method != "POST") return answer.send(wrong_method("POST"));
  // Browsers send other types to any site without asking it.
  if ((who.usage != nullptr || !request.body.empty()) && !request.lists("Content-Type", kJson)) return answer.send(wrong_type());
  Result<std::string> frame = frame_of(command, request.body);
  if (!frame) return answer.send(error_response(frame.error()));
  const Form form = request.lists("Accept", "text/event-stream") ? Form::Events : Form::Object;
  Place place;
  if (who.usage != nullptr) {
    Result<Place> taken = place_in(who.usage, form == Form::Events);
    if (!taken) return answer.send(error_response(taken.error()));
    place = *std::move(taken);
  }
  Caller caller = who.caller;
  caller.trace = trace_of(request);
  gate.forward(std::move(answer), [this, caller = std::move(caller), form, sent = *std::move(frame), place = std::move(place)](
                                      http::Answer at_home) { serve(caller, sent, form, std::move(at_home), place); });
}

void Api::connect(const http::Request& request, const Caller& caller, http::Answer answer, http::HttpGate& gate) const {
  if (request.method != "GET") return answer.send(wrong_method("GET"));
  if (!request.lists("Upgrade", kProtocol) || !request.lists("Connection", "upgrade") || !request.body.empty()) {
    http::Response response = error_response({StatusCode::InvalidArgument, "the request must upgrade to " + std::string{kProtocol}});
    response.status = 426;
    response.fields.push_back({"Upgrade", std::string{kProtocol}});
    return answer.send(std::move(response));
  }
  gate.forward(std::move(answer), [this, caller](http::Answer at_home) { serve(caller, {}, Form::Frames, std::move(at_home)); });
}

void Api::serve(const Caller& caller, std::string_view frame, Form form, http::Answer answer, Place place) const {
  Result<Ends> ends = Ends::make();
  if (!ends) return answer.send(error_response(ends.error()));
  if (const Status sent = frame.empty() ? Status{} : ends->ask(frame); !sent.ok()) return answer.send(error_response(sent));
  adopt_(std::move(ends->daemons), caller);
  switch (form) {
    case Form::Frames:
      return answer.relay({.status = 101, .content_type = {}, .fields = {{"Upgrade", std::string{kProtocol}}}}, std::move(ends->ours));
    case Form::Events:
      return answer.relay({.content_type = "text/event-stream", .fields = kept_to_the_caller()}, std::move(ends->ours),
                          [this, place = std::move(place), writer = std::make_shared<EventWriter>()](std::string_view bytes) {
                            const bool is_over = place != nullptr && clock_.now() >= place->until;
                            return is_over ? std::nullopt : writer->put(bytes);
                          });
    case Form::Object:
      return answer.ask(
          std::move(ends->ours),
          [place = std::move(place), reader = std::make_shared<AnswerReader>()](std::string_view bytes) { return reader->put(bytes); },
          error_response({StatusCode::DeadlineExceeded, "the answer took too long: ask for events (\"Accept: text/event-stream\")"}));
  }
}

}  // namespace rondo::api
