// Api: the commands of the daemon over HTTP, for callers with a token (tokens.h). Each call is served as if it had come over the admin
// socket: with the same checks, turns and limits. docs/guide/http-api.md describes it.
//
//   POST /api/v1/COMMAND    a JSON object with the arguments; the answer is the command's, with the rows of all its pages. With the field
//                           "Accept: text/event-stream" each row is an event, for answers of any length and those without an end.
//   GET /api/v1/connect     with "Upgrade: rondo-admin": the frames of the admin socket, for `rondo --url` and `rondo worker`.
//   GET /api/v1/openapi.json
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "api/tokens.h"
#include "base/unique_fd.h"
#include "http/http_thread.h"

namespace rondo::api {

class Api {
 public:
  /// Serves 'caller' on 'fd': AdminServer::adopt(). Called on the home thread.
  using Adopt = std::function<void(UniqueFd fd, const Caller& caller)>;
  /// A call that was refused for its token, for people. Called on the home thread. Some are not reported if there are too many.
  using Refused = std::function<void(const std::string& what)>;

  /// 'description' is the OpenAPI document (openapi.h).
  Api(std::string description, Adopt adopt, Refused refused)
      : description_(std::move(description)), adopt_(std::move(adopt)), refused_(std::move(refused)) {}

  /// True if the path is one of the API.
  static bool serves(std::string_view path) noexcept { return path.starts_with("/api/v1/"); }
  /// Answers a request whose path it serves. HTTP thread. This must outlive the thread.
  void handle(http::Request request, http::Answer answer, http::HttpGate& gate) const;

  /// The tokens from now on. Any thread.
  void set_tokens(std::shared_ptr<const TokenTable> tokens);
  /// The caller whose token 'request' has; empty if it has none that is known. Any thread.
  std::optional<Caller> caller_of(const http::Request& request) const;

 private:
  enum class Form { Object, Events, Frames };  // How the answer is sent.

  void refuse(const http::Request& request, http::Answer answer, http::HttpGate& gate) const;
  void call(const http::Request& request, const Caller& caller, http::Answer answer, http::HttpGate& gate) const;
  void connect(const http::Request& request, const Caller& caller, http::Answer answer, http::HttpGate& gate) const;
  /// On the home thread: sends 'frame' to the daemon as 'caller', and gives the client what comes back.
  void serve(const Caller& caller, std::string_view frame, Form form, http::Answer answer) const;

  const std::string description_;
  const Adopt adopt_;
  const Refused refused_;
  mutable std::mutex guard_;  // Guards 'tokens_'.
  std::shared_ptr<const TokenTable> tokens_;
};

}  // namespace rondo::api
