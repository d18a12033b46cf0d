// AdminConnection: one caller of the admin socket as a source: a descriptor around an AdminSession. A turn writes what waits, reads one
// piece and takes one step of the session, so it stays short whatever the caller sends. It never frees itself: it tells its owner. Nobody
// keeps a place or memory without using it: check() cuts those that owe something, or nothing for too long.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "admin/memory_share.h"
#include "admin/seats.h"
#include "admin/session.h"
#include "admin/unix_socket.h"
#include "rondo/base/clock.h"
#include "rondo/sched/reactor.h"
#include "rondo/sched/source.h"

namespace rondo {

class AdminConnection;

/// What all connections of a server share. The server's listener is one.
struct AdminHost {
  virtual ~AdminHost() = default;
  AdminHost(const AdminServerOptions& given, const CommandRegistry& of) : options(given), commands(of) { share.most = given.memory; }
  AdminHost(const AdminHost&) = delete;
  AdminHost& operator=(const AdminHost&) = delete;

  /// Called once, inside the connection's turn, check() or cut(): the owner destroys it in a later turn.
  virtual void on_closed() = 0;
  virtual void on_cut(AdminNotice::Kind kind, const Caller& caller) = 0;
  /// Less waits than before, when 'share' was short: others may go on.
  virtual void on_room() = 0;
  /// Whether the frame that 'connection' reads began before all others that are being read.
  virtual bool is_oldest_frame(const AdminConnection& connection) const = 0;

  const AdminServerOptions options;
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
  /// Cuts the connection if it made no progress for too long although it owes some, or has had nothing to do for too long.
  void check(Instant now);
  /// Tells the caller why, if it is not in the middle of an answer, and closes.
  void cut(AdminNotice::Kind kind, const Status& why);
  bool is_closed() const noexcept { return !fd_; }

  /// Meaningful while it is not closed.
  AdminSeat seat() const;
  /// Since when a part of a frame is there and the rest is not; nothing if none is.
  std::optional<Instant> frame_since() const noexcept { return frame_since_; }

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

 private:
  void read_some();
  void write_some();
  void close();
  /// Brings the instants, and what this connection holds, up to date.
  void note();
  bool may_read() const;
  /// Bytes have come, or may have.
  void end_wait();
  /// How long the frame has been waited for, without the time in which we did not read.
  Duration waited(Instant now) const { return waited_ + (dry_since_ ? now - *dry_since_ : Duration{}); }
  bool finished() const;
  /// The caller has closed both directions while we wait for an answer to come or to be read.
  bool nobody_left() const;

  Scheduler& scheduler_;
  UniqueFd fd_;
  const Caller caller_;
  AdminHost& host_;
  AdminSession session_;
  // The descriptor is edge-triggered: a flag stays set until the kernel says EAGAIN.
  bool readable_ = true;
  bool writable_ = true;
  bool looked_at_ = false;  // The reactor has reported the descriptor since the last turn.
  Instant last_written_;    // Or since when output waits.
  std::optional<Instant> frame_since_;
  std::optional<Instant> dry_since_;  // All that came has been read.
  Duration waited_{};                 // For the rest of a frame, until dry_since_.
  std::optional<Instant> idle_since_;
  std::uint64_t requests_ = 0;  // That the session had taken when note() was last called.
  std::size_t held_ = 0;        // Our part of the share.
};

}  // namespace rondo
