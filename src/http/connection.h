// Connection: one client of the HTTP server as a source. It reads a request, gives it to the handler, sends the answer, and reads the next
// request; or it becomes a relay (relay.h). A turn makes one step of each. It never destroys itself: it tells its host that it has closed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "http/answer.h"
#include "http/channel.h"
#include "http/relay.h"
#include "http/request_parser.h"
#include "http/server_options.h"
#include "http/tls.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"

namespace rondo::http {

/// What all connections of a server share.
struct ConnectionHost {
  const ServerOptions options;
  const Handler handler;
  const std::function<void()> on_closed;  // Called once for a connection. The server destroys it in a later turn.
  ServerFigures figures = {};
  bool is_stopping = false;
  TlsContext tls = nullptr;  // Null: plain text.
  /// Receives the bytes of one read, which costs microseconds. Used by the connection that has the turn.
  std::vector<char> buffer = std::vector<char>(limits::kHttpRelayBytes);
};

class Connection final : public Source, private TimerNode, private AnswerSink {
 public:
  /// 'network': network_of() the peer's address.
  Connection(Scheduler& scheduler, UniqueFd fd, std::string peer, std::uint64_t network, ConnectionHost& host);
  ~Connection() override;

  /// Joins the scheduler, watches the descriptor, and begins TLS if the host has it.
  Status start();
  /// True if no request is under way and no byte of one was read.
  bool is_idle() const noexcept;
  /// True if a part of a request was read, and the rest has not arrived.
  bool is_unfinished() const noexcept { return channel_ && phase_ == Phase::Reading && !is_idle(); }
  bool is_closed() const noexcept { return !channel_; }
  Instant since() const noexcept { return since_; }
  std::uint64_t network() const noexcept { return network_; }
  /// Closes the descriptor; the handler's answer will be ignored.
  void close() noexcept;
  /// Closes an idle connection, and a relay after the bytes that it holds for the client. Others end after the answer under way.
  void stop() noexcept;

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

 private:
  enum class Phase : std::uint8_t { Reading, Handling, Writing, Relaying, Lingering };

  /// An answer that another side makes.
  struct Question {
    Channel other;
    Collect collect;
    Response late;
    Duration limit;
    std::size_t received = 0;  // The function keeps about so many bytes.
  };

  void step();
  bool reads_nothing() const noexcept;
  void detect_tls();
  void read_some();
  void feed(std::string_view bytes);
  void handle();
  void refuse(unsigned status, std::string_view why);
  void begin_answer();
  void write_some();
  void end_answer();
  void end_output();
  void ask_some();
  void end_ask() noexcept;
  void begin_relay();
  void relay_some();
  void end_relay() noexcept;
  void linger();
  void time_out();
  void enter(Phase phase) noexcept;
  void note_memory() noexcept;
  std::int64_t wall_seconds() const;
  Instant deadline() const noexcept;
  void arm() noexcept;
  void on_due() override;
  void answered(Response response) noexcept override;
  void relayed(Response head, UniqueFd other, Convert convert) noexcept override;
  void asked(UniqueFd other, Collect collect, Response late, Duration limit) noexcept override;
  void dropped() noexcept override;

  Scheduler& scheduler_;
  Channel channel_;
  ConnectionHost& host_;
  RequestParser parser_;
  const std::uint64_t network_;
  std::string unread_;  // Bytes after the current request.
  Phase phase_ = Phase::Reading;
  bool may_be_plain_ = false;  // The first byte decides whether it speaks TLS.
  bool was_polled_ = false;    // The reactor has reported a descriptor since the last turn.
  bool is_late_ = false;       // The timer has fired.
  bool closes_ = false;        // After the current answer.
  bool is_head_ = false;       // The current request is a HEAD.
  std::string_view route_;     // What ServerOptions::route_of() says about the current request.
  bool was_dropped_ = false;   // The handler dropped its Answer.
  Instant since_;              // Since when it is in its phase, or in the part of the request that it reads.
  Instant last_written_;
  std::shared_ptr<Answer::Slot> slot_;  // Shared with the Answer of the current request.
  std::optional<Response> response_;
  std::optional<Question> question_;
  std::optional<Relay> relay_;  // With 'response_': to begin. In the phase Relaying: under way.
  std::string output_;          // The answer that is being written.
  std::size_t written_ = 0;
  std::size_t at_handler_ = 0;  // Bytes of the body that the handler has.
  std::size_t held_ = 0;        // Its part of ServerFigures::memory.
  std::size_t public_held_ = 0;
  bool is_public_ = false;  // The answer in 'response_' or 'output_' is.
};

}  // namespace rondo::http
