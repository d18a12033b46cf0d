// HttpThread: a thread of its own for the HTTP server and client, with a scheduler and a reactor, so that neither a crowd of clients nor a
// TLS handshake delays the turns of the home scheduler. What crosses between the threads are values in two bounded mailboxes.
//
//   requests  the handler runs on the HTTP thread. It answers there, or it forwards the Answer: HttpGate::forward() runs a function on the
//             home thread, which gets an Answer of that thread.
//   calls     call() on the home thread sends a request to another host; its 'done' runs on the home thread.
//   posts     post() runs a function on the HTTP thread, and HttpGate::post() one on the home thread.
//
// Each forward and each call has its place in the mailboxes from its beginning on, so no answer is ever refused or lost.
//
// Threads: an HttpThread belongs to the thread of its home scheduler; its HttpGate belongs to the HTTP thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "http/client.h"
#include "http/limits.h"
#include "http/server.h"

namespace rondo::http {

/// The end of an HttpThread on the HTTP thread.
class HttpGate {
 public:
  /// Calls 'at_home' in a turn of the home scheduler, with an Answer that belongs to the home thread and may outlive the HttpThread. If
  /// limits::kHttpForwards requests are at home, it answers 503 instead.
  virtual void forward(Answer answer, std::function<void(Answer answer)> at_home) = 0;
  /// Calls 'at_home' in a turn of the home scheduler. ResourceExhausted if too many functions wait.
  virtual Status post(std::function<void()> at_home) = 0;
  /// Null without the option.
  virtual Server* server() noexcept = 0;
  virtual Client* client() noexcept = 0;

 protected:
  ~HttpGate() = default;
};

/// Handles a request on the HTTP thread, as Handler does.
using GateHandler = std::function<void(Request request, Answer answer, HttpGate& gate)>;

struct HttpThreadOptions {
  std::string name = "rondo-http";  // The name of the thread; Linux keeps 15 bytes.
  std::optional<ServerOptions> server = {};
  std::optional<ClientOptions> client = {};
  Priority home_priority{8};  // The priority of what arrives at the home scheduler.
  std::size_t forwards = limits::kHttpForwards;
  std::size_t calls = limits::kHttpHomeCalls;
  std::size_t posts = limits::kHttpPosts;
  Duration drain = limits::kHttpDrainTime;
};

struct HttpThreadFigures {
  std::uint64_t refused_forwards = 0;
  std::uint64_t thrown = 0;  // Exceptions of functions that were posted, forwarded or called back.
};

class HttpThread {
 public:
  /// Starts the thread, and returns when the server listens. 'home' must outlive it. The error of the server, the client or the settings;
  /// then no thread runs. 'handler' is called on the HTTP thread.
  static Result<std::unique_ptr<HttpThread>> start(Scheduler& home, HttpThreadOptions options, GateHandler handler);
  /// Calls stop().
  ~HttpThread();

  /// Client::post() on the HTTP thread. 'done' is called once in a turn of the home scheduler or in stop(), also with the errors of post().
  /// If this returns an error, 'done' is not called: ResourceExhausted (limits::kHttpHomeCalls), FailedPrecondition (no client, or
  /// stopped).
  Status call(ClientRequest request, CallDone done);
  /// Calls 'function' in a turn of the HTTP thread, for example to set the thread's nice value or CPUs (rondo/base/thread_settings.h).
  /// ResourceExhausted if too many wait, FailedPrecondition after stop().
  Status post(std::function<void(HttpGate& gate)> function);
  /// Sends the answers that were given before. Requests that the home thread has not answered get 503. Connections and calls that are open
  /// after HttpThreadOptions::drain are ended. Then joins the thread and calls the remaining 'done', with Cancelled if there is no answer.
  /// Not in a turn of the HTTP thread (assert).
  void stop();

  /// 0 and empty without a server.
  std::uint16_t port() const noexcept;
  const std::string& endpoint() const noexcept;
  HttpThreadFigures figures() const noexcept;

 private:
  struct Impl;
  explicit HttpThread(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::http
