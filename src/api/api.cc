#include "api/api.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "admin/frame.h"
#include "api/answers.h"
#include "base/doubled_name.h"
#include "base/json.h"
#include "rondo/admin/limits.h"
#include "rondo/base/text.h"

namespace rondo::api {

namespace {

constexpr std::string_view kRoot = "/api/v1/";
constexpr std::string_view kProtocol = "rondo-admin";
constexpr std::size_t kPathBytes = 64;  // A log shows so much of a refused path.
constexpr int kSendBytes = 512 * 1024;  // Room for a request of the admin socket with the kernel's own bytes.

struct Ends {
  UniqueFd ours;
  UniqueFd daemons;
};

Result<Ends> make_ends() {
  int fds[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) != 0)
    return failure(status_from_errno(errno, "the daemon has no descriptor for the call"));
  ::setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &kSendBytes, sizeof kSendBytes);
  return Ends{UniqueFd{fds[0]}, UniqueFd{fds[1]}};
}

/// The field's only value, without "Bearer ".
std::string_view secret_of(const http::Request& request) {
  constexpr std::string_view kScheme = "bearer ";
  const auto is_authorization = [](const http::Field& field) { return http::equals_without_case(field.name, "Authorization"); };
  if (std::ranges::count_if(request.fields, is_authorization) != 1) return {};
  const std::string_view value = *request.field("Authorization");
  return http::equals_without_case(value.substr(0, kScheme.size()), kScheme) ? value.substr(kScheme.size()) : std::string_view{};
}

/// True if 'token' is in the comma-separated list of a field, whatever follows it after a semicolon.
bool names(const http::Request& request, std::string_view field, std::string_view token) {
  const std::string* const value = request.field(field);
  for (std::string_view rest = value == nullptr ? std::string_view{} : *value; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view item = rest.substr(0, std::min(rest.find(';'), comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
    while (item.starts_with(' ') || item.starts_with('\t')) item.remove_prefix(1);
    while (item.ends_with(' ') || item.ends_with('\t')) item.remove_suffix(1);
    if (http::equals_without_case(item, token)) return true;
  }
  return false;
}

bool is_of_this_host(std::string_view peer) {
  return peer.starts_with("127.") || peer.starts_with("[::1]:") || peer.starts_with("[::ffff:127.");
}

/// The frame of a call of 'command' with the arguments in 'body'.
Result<std::string> frame_of(std::string_view command, std::string_view body) {
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
  json::object request = std::move(value.get_object());
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

http::Response not_found() { return error_response({StatusCode::NotFound, "there is no such path: docs/guide/http-api.md lists them"}); }

http::Response wrong_method(std::string allowed) {
  http::Response response = error_response({StatusCode::InvalidArgument, "the method must be " + allowed});
  response.status = 405;
  response.fields.push_back({"Allow", std::move(allowed)});
  return response;
}

}  // namespace

void Api::set_tokens(std::shared_ptr<const TokenTable> tokens) {
  const std::scoped_lock held{guard_};
  tokens_ = std::move(tokens);
}

std::optional<Caller> Api::caller_of(const http::Request& request) const {
  std::shared_ptr<const TokenTable> tokens;
  {
    const std::scoped_lock held{guard_};
    tokens = tokens_;
  }
  const std::string_view secret = secret_of(request);
  return secret.empty() || tokens == nullptr ? std::nullopt : tokens->find(secret);
}

void Api::refuse(const http::Request& request, http::Answer answer, http::HttpGate& gate) const {
  const bool has_one = request.field("Authorization") != nullptr;
  const std::string why = has_one ? "the token is unknown" : "a token is missing: the field \"Authorization: Bearer TOKEN\"";
  http::Response response = error_response({StatusCode::PermissionDenied, why});
  response.status = 401;
  response.fields.push_back({"WWW-Authenticate", "Bearer"});
  answer.send(std::move(response));
  const std::string what =
      "a call of " + request.peer + " to " + visible_text(request.path().substr(0, kPathBytes)) + " was refused: " + why;
  // Without room for it there are enough of them.
  static_cast<void>(gate.post([this, what] { refused_(what); }));
}

void Api::handle(http::Request request, http::Answer answer, http::HttpGate& gate) const {
  if (!request.is_secure && !is_of_this_host(request.peer))
    return answer.send(error_response({StatusCode::PermissionDenied, "the API needs TLS for callers of other hosts: make a new token"}));
  const std::optional<Caller> caller = caller_of(request);
  if (!caller) return refuse(request, std::move(answer), gate);
  const std::string_view path = request.path().substr(kRoot.size());
  if (path == "connect") return connect(request, *caller, std::move(answer), gate);
  if (path != "openapi.json") return call(request, *caller, std::move(answer), gate);
  if (request.method != "GET" && request.method != "HEAD") return answer.send(wrong_method("GET"));
  answer.send({.body = description_});
}

void Api::call(const http::Request& request, const Caller& caller, http::Answer answer, http::HttpGate& gate) const {
  const std::string_view command = request.path().substr(kRoot.size());
  if (command.empty() || command.find('/') != std::string_view::npos) return answer.send(not_found());
  if (request.method != "POST") return answer.send(wrong_method("POST"));
  // Browsers send other types to any site without asking it.
  if (!request.body.empty() && !names(request, "Content-Type", "application/json"))
    return answer.send(error_response({StatusCode::InvalidArgument, "the Content-Type must be application/json"}));
  Result<std::string> frame = frame_of(command, request.body);
  if (!frame) return answer.send(error_response(frame.error()));
  const Form form = names(request, "Accept", "text/event-stream") ? Form::Events : Form::Object;
  gate.forward(std::move(answer),
               [this, caller, form, sent = *std::move(frame)](http::Answer at_home) { serve(caller, sent, form, std::move(at_home)); });
}

void Api::connect(const http::Request& request, const Caller& caller, http::Answer answer, http::HttpGate& gate) const {
  if (request.method != "GET") return answer.send(wrong_method("GET"));
  if (!names(request, "Upgrade", kProtocol) || !names(request, "Connection", "upgrade") || !request.body.empty()) {
    http::Response response = error_response({StatusCode::InvalidArgument, "the request must upgrade to " + std::string{kProtocol}});
    response.status = 426;
    response.fields = {{"Upgrade", std::string{kProtocol}}};
    return answer.send(std::move(response));
  }
  gate.forward(std::move(answer), [this, caller](http::Answer at_home) { serve(caller, {}, Form::Frames, std::move(at_home)); });
}

void Api::serve(const Caller& caller, std::string_view frame, Form form, http::Answer answer) const {
  Result<Ends> ends = make_ends();
  if (!ends) return answer.send(error_response(ends.error()));
  if (!frame.empty()) {
    if (::send(ends->ours.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL) != static_cast<ssize_t>(frame.size()))
      return answer.send(error_response({StatusCode::ResourceExhausted, "the system has no room for the arguments now"}));
    ::shutdown(ends->ours.get(), SHUT_WR);  // The daemon closes its end after the answer.
  }
  adopt_(std::move(ends->daemons), caller);
  switch (form) {
    case Form::Frames:
      return answer.relay({.status = 101, .content_type = {}, .fields = {{"Upgrade", std::string{kProtocol}}}}, std::move(ends->ours));
    case Form::Events:
      return answer.relay({.content_type = "text/event-stream", .fields = {{"Cache-Control", "no-store"}}}, std::move(ends->ours),
                          [writer = std::make_shared<EventWriter>()](std::string_view bytes) { return writer->put(bytes); });
    case Form::Object:
      return answer.ask(
          std::move(ends->ours), [reader = std::make_shared<AnswerReader>()](std::string_view bytes) { return reader->put(bytes); },
          error_response({StatusCode::DeadlineExceeded, "the answer took too long: ask for events (\"Accept: text/event-stream\")"}));
  }
}

}  // namespace rondo::api
