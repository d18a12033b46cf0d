// Api: the commands of the daemon over HTTP, for callers with a token (tokens.h). Each call is served as if it had come over the admin
// socket: with the same checks, turns and limits. docs/guide/http-api.md describes it.
//
//   POST /api/v1/COMMAND    a JSON object with the arguments; the answer is the command's, with the rows of all its pages. With the field
//                           "Accept: text/event-stream" each row is an event, for answers of any length and those without an end.
//   /api/v1/session         POST signs a browser in with a token, GET says who is signed in, DELETE signs out (sessions.h).
//   GET /api/v1/connect     with "Upgrade: rondo-admin": the frames of the admin socket, for `rondo --url` and `rondo worker`.
//   GET /api/v1/openapi.json
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "api/sessions.h"
#include "api/tokens.h"
#include "base/unique_fd.h"
#include "http/http_thread.h"

namespace rondo::api {

/// A connection with the daemon: both ends of a pair of sockets.
struct Ends {
  static Result<Ends> make();
  /// Sends requests that have no further ones behind them. ResourceExhausted.
  Status ask(std::string_view frames) const;

  UniqueFd ours;
  UniqueFd daemons;
};

class Api {
 public:
  /// Serves 'caller' on 'fd': AdminServer::adopt(). Called on the home thread.
  using Adopt = std::function<void(UniqueFd fd, const Caller& caller)>;
  /// A call that was refused for its token, for people. Called on the home thread. Some are not reported if there are too many.
  using Refused = std::function<void(const std::string& what)>;

  /// 'description' is the OpenAPI document (openapi.h). 'clock', which must outlive this, is for sessions.
  Api(std::string description, const Clock& clock, Adopt adopt, Refused refused)
      : description_(std::move(description)), clock_(clock), adopt_(std::move(adopt)), refused_(std::move(refused)), sessions_(clock) {}

  /// True if the path is one of the API.
  static bool serves(std::string_view path) noexcept { return path.starts_with("/api/v1/"); }
  /// True if no other host reads the token in 'request': it came over TLS, or from this host.
  static bool is_private(const http::Request& request) noexcept;
  /// Answers a request whose path it serves. HTTP thread. This must outlive the thread.
  void handle(http::Request request, http::Answer answer, http::HttpGate& gate);

  /// The tokens from now on. Any thread.
  void set_tokens(std::shared_ptr<const TokenTable> tokens);
  /// True if the head of 'request' has a token or a session that is known. HTTP thread.
  bool knows(const http::Request& request) { return identify(request).status == 200; }
  /// The caller of a request that needs one: if there is none, or its token was sent in plain text by another host, answers the request.
  /// HTTP thread.
  std::optional<Caller> admit(const http::Request& request, http::Answer& answer, http::HttpGate& gate);

 private:
  enum class Form { Object, Events, Frames };  // How the answer is sent.

  /// Who calls, or why nobody is known.
  struct Identity {
    unsigned status = 200;  // 401, or 403 for a page of another site.
    std::string why = {};
    Caller caller = {};
    std::shared_ptr<Usage> usage = {};  // What the session has under way; null with a token.
  };

  std::shared_ptr<const TokenTable> tokens() const;
  Identity identify(const http::Request& request);
  Identity identify_session(const http::Request& request);
  void refuse(const http::Request& request, const Identity& nobody, http::Answer answer, http::HttpGate& gate) const;
  void session(const http::Request& request, http::Answer answer, http::HttpGate& gate);
  /// Ends the sessions whose secrets 'request' has.
  void end_sessions(const http::Request& request);
  void sign_in(const http::Request& request, http::Answer answer, http::HttpGate& gate);
  void call(const http::Request& request, const Identity& who, http::Answer answer, http::HttpGate& gate) const;
  void connect(const http::Request& request, const Caller& caller, http::Answer answer, http::HttpGate& gate) const;
  /// On the home thread: sends 'frame' to the daemon as 'caller', and gives the client what comes back.
  void serve(const Caller& caller, std::string_view frame, Form form, http::Answer answer, Place place = nullptr) const;

  const std::string description_;
  const Clock& clock_;
  const Adopt adopt_;
  const Refused refused_;
  mutable std::mutex guard_;  // Guards 'tokens_'.
  std::shared_ptr<const TokenTable> tokens_;
  Sessions sessions_;
};

}  // namespace rondo::api
