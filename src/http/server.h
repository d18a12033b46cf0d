// Server: an HTTP/1.1 server, plain or over TLS, as a source of a scheduler: one listening socket, and a source for each connection
// (connection.h). Requests of one connection are handled one after another, in the order in which they were sent.
//
// A client that is slow, silent or hostile costs a place, bounded memory and short turns (ServerOptions, limits.h), and never delays the
// scheduler by more than a step: one read, one handler or one write. A request that is refused gets a status and a text, and its connection
// is closed after it. Methods other than GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS get 501. To HEAD the handler answers as to GET,
// and the body is not sent.
//
// Threads: the scheduler's.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>
#include <vector>

#include "http/connection.h"
#include "http/server_options.h"
#include "rondo/sched/scheduler.h"

namespace rondo::http {

class Server final : public Source {
 public:
  /// Listens and accepts from now on. 'scheduler' must outlive the server. InvalidArgument for a bad address or listener, the errors of
  /// open_tls(), else the error of the system call.
  static Result<std::unique_ptr<Server>> open(Scheduler& scheduler, ServerOptions options, Handler handler);
  /// Closes all connections. Answers that the handler kept are ignored. Not in a turn of the server or of a connection.
  ~Server() override;

  /// Reads the certificate and its key again, for connections from now on. After an error the former ones stay. Ok without TLS.
  Status read_certificate_again() { return prepare_tls(); }
  /// Accepts no more connections, closes idle ones, and closes each other one after the answer that is under way; relays after the bytes
  /// that they hold.
  void stop();
  /// Called in a turn of the server when its last connection has ended after stop(); immediately if there is none.
  void on_stopped(std::function<void()> call) { on_stopped_ = std::move(call); }

  std::uint16_t port() const noexcept { return port_; }
  /// "127.0.0.1:80".
  const std::string& endpoint() const noexcept { return endpoint_; }
  const ServerFigures& figures() const noexcept { return host_.figures; }

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;

 private:
  Server(Scheduler& scheduler, ServerOptions options, Handler handler);
  Status prepare_tls();
  Status listen();
  std::uint32_t accept_some(std::uint32_t most);
  void accept(UniqueFd fd, const sockaddr_storage& peer);
  bool make_room();
  void reap();

  Scheduler& scheduler_;
  ConnectionHost host_;
  UniqueFd listener_;
  std::uint16_t port_ = 0;
  std::string endpoint_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::size_t closed_ = 0;   // Closed ones among them; a turn of the server destroys these.
  bool may_accept_ = false;  // Edge-triggered: until EAGAIN.
  std::function<void()> on_stopped_;
  TimerSource retry_;  // Accepts again after the system had no descriptor.
};

}  // namespace rondo::http
