// Server: the FPM server, a source of the scheduler. zebra connects to it over TCP and sends its routes as netlink messages
// (frame_reader.h, decode.h); the server merges them by prefix (route_book.h) and writes rows of ROUTE_TABLE and NEXTHOP_GROUP_TABLE.
//
// Sessions: one at a time. A new connection replaces the session, because a zebra that restarted cannot end its old one. Malformed input
// ends the session with a reason; rows stay.
// Reading never waits for the store or the data plane: a turn reads and merges what has arrived, then writes. What is not written yet
// stays in the book, where it merges and where a later change can go first (write_order.h).
// What the book left out at a limit, zebra must send again: when there is room, the server ends the session, at most once a minute. The
// same happens when a table that zebra has named gets a VRF, or another one, a few seconds after the resend. Resync: zebra sends everything
// after it connects, without an end mark. When a session has been quiet for ServerOptions::quiet, or has named no stale route for ten times
// as long (BGP may never be quiet), the server removes the routes that the session did not name, if 'may_delete' permits. A session is not
// quiet while bytes arrive, while a frame is incomplete, and while this process does not run. After a restart of zebra its routing
// protocols connect to it later than zebra to the server, so routes of a protocol that has sent none yet stay for ServerOptions::silence.
// Rows: after each resend, and ServerOptions::compare after the last comparison, the server reads all rows, a page at a time. The book
// repeats each write whose row differs. It also repeats a write that the store accepts and then refuses: after kFirstRepeat, and each time
// after twice the time before.
//
// Threads: the scheduler's.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/unique_fd.h"
#include "fpm/frame_reader.h"
#include "fpm/route_book.h"
#include "fpm/row_reader.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/sched/timer.h"

namespace rondo::fpm {

struct ServerOptions {
  /// IPv4 or IPv6, as text. Empty: it does not listen, and connected() gives it its sessions.
  std::string address = "127.0.0.1";
  std::uint16_t port = 2620;  // 0: any free port.
  Priority priority{8};
  HopWeights weights = HopWeights::MinusOne;
  /// zebra pauses for 1 s while its buffer is full, so a shorter time ends a resend too early.
  Duration quiet = 3s;
  /// From a connect on, the routes of a protocol that sends nothing stay so long.
  Duration silence = 120s;
  /// From the end of one comparison of the rows with what was written to the begin of the next one. 0: it never compares.
  Duration compare = 60s;
  BookOptions book = {};
  /// True if the program at the other end of an accepted connection may be zebra. An error refuses it, and the current session goes on.
  /// Unavailable: it has closed the connection, which is then not counted. Empty: each may.
  std::function<Status(int connection)> may_connect = {};
  /// Asked before stale routes are removed, and again every 100 ms while it returns false.
  std::function<bool(std::uint64_t stale, std::uint64_t total)> may_delete = {};
  /// Returns how many routes are written and not answered by the data plane. The server writes no more than limits::kFpmUnderWay ahead of
  /// it, so that a row which is written next does not wait behind a whole table; routes_answered() tells it to go on. Empty: it writes
  /// everything immediately.
  std::function<std::size_t()> under_way = {};
  /// If set, the server tells zebra of each route that the data plane has (answer.h). It asks again and again, so this must be cheap.
  RouteBook::IsProgrammed is_programmed = {};
  /// zebra's number of a VRF, which is the index of its device; 0: not known, and then zebra is not told of its routes.
  std::function<std::uint32_t(std::string_view vrf)> vrf_id = {};
  /// Called when nothing is to be removed any more.
  std::function<void()> none_stale = {};
};

/// What the server tells its owner, for the log.
struct Event {
  enum class Kind : std::uint8_t { Connected, Closed, Malformed, Replaced, Refused, Resynced } kind = Kind::Connected;
  std::string peer;
  std::string why = {};        // Closed, Malformed, Replaced, Refused.
  std::uint64_t messages = 0;  // Of the session.
  std::uint64_t removed = 0;   // Resynced: routes that were stale.
};

/// Where the resync after a connect stands.
enum class Resync : std::uint8_t {
  NoSession,
  Receiving,  // Messages of the resend still arrive.
  Held,       // May not delete so many routes.
  Sweeping,
  Silent,  // Only routes of protocols that have sent nothing are stale.
  Done,
};
std::string_view to_string(Resync resync) noexcept;

struct ServerFigures {
  std::string endpoint;
  std::string peer;  // Empty: no session.
  Instant since;     // Of the session.
  Resync resync = Resync::NoSession;
  std::uint64_t sessions = 0;
  unsigned replaced = 0;        // Sessions that another connection ended, each within a minute of the one before; 0 a minute later.
  std::uint64_t resyncs = 0;    // Completed.
  std::uint64_t malformed = 0;  // Sessions closed for malformed input.
  std::uint64_t refused = 0;    // Connections that ServerOptions::may_connect refused.
  std::string last_refusal;     // Why it refused the newest of them.
  std::string last_end;         // Why the newest session ended that sent a message. Before one has: what else ended, or was refused.
  std::uint64_t bytes = 0;
  std::uint64_t frames = 0;
  std::uint64_t routes_set = 0;
  std::uint64_t routes_deleted = 0;
  std::uint64_t nexthops_set = 0;
  std::uint64_t nexthops_deleted = 0;
  std::uint64_t answers = 0;  // Sent to zebra, each for one route.
  std::uint64_t comparisons = 0;
  bool compares = false;       // A comparison is under way, or due.
  bool is_late = false;        // The resend of the session has not ended within ServerOptions::silence.
  std::uint64_t messages = 0;  // Of the session.
  std::size_t partial = 0;     // Bytes of a frame that is not complete yet.
  bool refuses = false;  // The store has refused writes that it had accepted, and their repetition has not shown yet that it takes them.
  BookFigures book;
};

class Server final : public Source {
 public:
  /// Binds its address; begin() accepts sessions. 'scheduler' and 'store' must outlive the server.
  static Result<std::unique_ptr<Server>> open(Scheduler& scheduler, Store& store, ServerOptions options);
  ~Server() override;
  /// Takes over the rows of an earlier run. Call before the first session; 'done' is called once, in a later turn.
  void adopt(std::function<void(const Status&)> done);
  /// Accepts sessions from now on. Until then zebra waits, or tries again.
  void begin();
  /// 'socket' is a session, as if it had been accepted. It does not block. For simulation.
  void connected(UniqueFd socket, std::string peer);

  void on_event(std::function<void(const Event&)> handler) { on_event_ = std::move(handler); }
  /// Devices have names that they did not have: next hops are resolved again.
  void devices_changed();
  /// The store has lost its rows: they are written again.
  void rows_were_lost();
  /// The consumer of ROUTE_TABLE or NEXTHOP_GROUP_TABLE takes a change of any writer.
  void route_taken(const Change& change) {
    book_.set_now(scheduler_.now());
    if (book_.route_taken(change)) wake();
  }
  void group_taken(const Change& change) {
    book_.set_now(scheduler_.now());
    if (book_.group_taken(change)) wake();
  }
  /// The data plane has answered routes: ServerOptions::under_way returns fewer now.
  void routes_answered();
  /// True if a session's resend is complete and everything else of FPM is removed.
  bool has_resynced() const noexcept { return resyncs_ > 0; }
  /// Accepts no more sessions and ends the current one.
  void stop();
  const RouteBook& book() const noexcept { return book_; }
  std::uint16_t port() const noexcept { return port_; }
  ServerFigures figures() const;

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  std::size_t depth() const override { return book_.unwritten(); }

 private:
  Server(Scheduler& scheduler, Store& store, ServerOptions options);
  Status listen();
  void accept_all();
  bool is_refused(int connection, const std::string& peer);
  unsigned replaced() const;
  void begin_session(UniqueFd socket, std::string peer);
  void end_session(Event::Kind kind, std::string why);
  bool read_some();
  std::uint32_t take_frames(std::uint32_t most);
  Status take(const Frame& frame);
  void take(const netlink::Message& message);
  void write(std::uint32_t most);
  std::size_t room() const;
  void answer(std::uint32_t most);
  void send_answers();
  void arm_timer(Duration wait);
  void check();
  bool is_quiet(Instant now);
  void check_rows();
  void repeat_refused(Instant now);
  void sweep_found();
  void compared(const Status& status);
  void compare_soon();
  bool may_sweep(const BookFigures& figures);
  void finish_resync();
  void report(Event event) const;

  Scheduler& scheduler_;
  Store& store_;
  const ServerOptions options_;
  RouteBook book_;
  std::function<void(const Event&)> on_event_;
  UniqueFd listener_;
  UniqueFd session_;
  std::uint16_t port_ = 0;
  std::string endpoint_;
  std::string peer_;
  std::string last_end_;
  Instant since_;
  Duration quiet_for_{0};         // Since bytes arrived last.
  Duration unnamed_for_{0};       // Since a stale route was named last.
  std::size_t stale_before_ = 0;  // At the last look.
  Instant last_check_;
  Instant next_vrf_check_;
  Instant retry_at_;  // The store refused a write: when to try again.
  FrameReader reader_;
  Decoded decoded_;
  bool may_accept_ = false;  // Edge-triggered: until EAGAIN.
  bool may_read_ = false;
  bool has_frames_ = false;  // A whole frame may be in the reader.
  bool store_refuses_ = false;
  bool has_room_ = true;  // Fewer rows than limits::kFpmUnderWay were under way when the last turn ended.
  Instant timer_due_;
  std::vector<Programmed> programmed_;
  std::string answers_;  // Frames that are not sent yet, at most those of one turn.
  std::uint64_t answered_ = 0;
  Resync resync_ = Resync::NoSession;
  std::uint64_t stale_at_sweep_ = 0;
  std::uint64_t messages_ = 0;  // Of the session.
  std::uint64_t sessions_ = 0;
  unsigned replaced_ = 0;
  Instant replaced_at_;
  std::uint64_t resyncs_ = 0;
  std::uint64_t malformed_ = 0;
  std::uint64_t refused_ = 0;
  std::string last_refusal_;
  Instant refusals_silent_until_;
  std::uint64_t bytes_ = 0;
  std::uint64_t frames_ = 0;
  std::uint64_t routes_set_ = 0;
  std::uint64_t routes_deleted_ = 0;
  std::uint64_t nexthops_set_ = 0;
  std::uint64_t nexthops_deleted_ = 0;
  std::unique_ptr<RowReader> rows_;  // While rows are read.
  bool can_compare_ = false;         // The rows were read once.
  bool is_reading_ = false;          // For a comparison.
  bool compares_again_ = false;      // Another one is due when it ends.
  Instant next_comparison_;
  std::uint64_t comparisons_ = 0;
  Instant repeat_at_;
  Duration repeat_wait_;
  bool refuses_ = false;
  bool found_held_ = false;  // The safety stop holds what a comparison found.
  TimerSource timer_;
  TimerSource room_timer_;
  TimerSource page_timer_;
};

}  // namespace rondo::fpm
