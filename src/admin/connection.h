// AdminConnection: one caller of the admin socket as a source: a descriptor and an AdminSession. A turn writes waiting output, reads one
// piece and takes one step of the session, so it is short whatever the caller sends. It never destroys itself: it notifies its owner.
// check() closes connections that hold a place or memory without progress: those with pending bytes, and those that were idle too long.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "admin/connection_slots.h"
#include "admin/memory_share.h"
#include "admin/session.h"
#include "admin/unix_socket.h"
#include "rondo/base/clock.h"
#include "rondo/sched/reactor.h"
#include "rondo/sched/source.h"

namespace rondo {

class AdminConnection;

/// The state that all connections of a server share. The server's listener implements it.
struct AdminHost {
  virtual ~AdminHost() = default;
  AdminHost(const AdminServerSetup& given, const CommandRegistry& of) : options(given), commands(of) { share.most = given.memory; }
  AdminHost(const AdminHost&) = delete;
  AdminHost& operator=(const AdminHost&) = delete;

  /// Called once, in the connection's turn, check() or cut(). The owner destroys it in a later turn.
  virtual void on_closed() = 0;
  virtual void on_cut(AdminNotice::Kind kind, const Caller& caller) = 0;
  /// Fewer bytes wait than before, after 'share' was short: other connections may continue.
  virtual void on_room() = 0;
  /// True if the frame that 'connection' is reading began before all others being read.
  virtual bool is_oldest_frame(const AdminConnection& connection) const = 0;

  const AdminServerSetup options;
  const CommandRegistry& commands;
  AdminServerStats counted;
  MemoryShare share;
};

class AdminConnection final : public Source {
 public:
  AdminConnection(std::string name, Scheduler& scheduler, UniqueFd fd, Caller caller, std::unique_ptr<BulkSink> sink, AdminHost& host);
  ~AdminConnection() override;

  /// Joins the scheduler and watches the descriptor.
  Status start();
  /// Closes the connection if it had to make progress and made none for too long, or was idle too long.
  void check(Instant now);
  /// Sends the reason to the caller, unless an answer is being sent, and closes.
  void cut(AdminNotice::Kind kind, const Status& why);
  bool is_closed() const noexcept { return !fd_; }
  const Caller& caller() const noexcept { return caller_; }

  /// Valid while it is not closed.
  ConnectionSlot slot() const;
  /// Since when a part of a frame has arrived without the rest; empty if there is none.
  std::optional<Instant> frame_since() const noexcept { return frame_since_; }

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

 private:
  void read_some();
  void write_some();
  void close();
  /// Updates the instants and the bytes that this connection holds.
  void note();
  bool may_read() const;
  /// Bytes have arrived, or may have arrived.
  void end_wait();
  /// How long the rest of the frame has been awaited, without the time in which this connection did not read.
  Duration waited(Instant now) const { return waited_ + (dry_since_ ? now - *dry_since_ : Duration{}); }
  bool finished() const;
  /// True if the caller has closed both directions while an answer is being made or waits to be read.
  bool nobody_left() const;

  Scheduler& scheduler_;
  UniqueFd fd_;
  const Caller caller_;
  AdminHost& host_;
  AdminSession session_;
  // The descriptor is edge-triggered: a flag stays set until the kernel returns EAGAIN.
  bool readable_ = true;
  bool writable_ = true;
  bool is_new_;              // It has had no turn, and comes with a request.
  bool polled_ = false;      // The reactor has reported the descriptor since the last turn.
  Instant last_written_;     // Time of the last write, or the time since which output waits.
  bool had_output_ = false;  // At the last turn or check.
  std::optional<Instant> frame_since_;
  std::optional<Instant> dry_since_;  // Since when all received bytes have been read.
  Duration waited_{};                 // The time spent waiting for the rest of a frame, until dry_since_.
  std::optional<Instant> idle_since_;
  std::uint64_t requests_ = 0;  // The session's requests at the last call of note().
  std::size_t held_ = 0;        // This connection's part of the share.
};

}  // namespace rondo
