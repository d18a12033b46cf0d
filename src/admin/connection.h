// AdminConnection: one caller of the admin socket as a source: a descriptor around an AdminSession. A turn writes what waits, reads one
// piece and takes one step of the session, so it stays short whatever the caller sends. It never frees itself: it tells its owner.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "admin/session.h"
#include "admin/unix_socket.h"
#include "rondo/base/clock.h"
#include "rondo/sched/reactor.h"
#include "rondo/sched/source.h"

namespace rondo {

class AdminConnection final : public Source {
 public:
  /// 'closed' is called once, inside this connection's turn or check(): the owner destroys it in a later turn.
  AdminConnection(std::string name, Scheduler& scheduler, UniqueFd fd, const CommandRegistry& commands, std::unique_ptr<BulkSink> sink,
                  const AdminServerOptions& options, AdminServerStats& stats, std::function<void()> closed);
  ~AdminConnection() override;

  /// Joins the scheduler and watches the descriptor.
  Status start();
  /// Cuts the connection if it made no progress for options.stall although it owes some.
  void check(Instant now);
  bool is_closed() const noexcept { return !fd_; }

  Result<Backlog> collect() override;
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

 private:
  void read_some();
  void write_some();
  void close();
  bool finished() const;
  /// The caller has closed both directions while we wait for an answer to come or to be read.
  bool nobody_left() const;

  Scheduler& scheduler_;
  UniqueFd fd_;
  const AdminServerOptions& options_;
  AdminServerStats& stats_;
  const std::function<void()> closed_;
  AdminSession session_;
  // The descriptor is edge-triggered: a flag stays set until the kernel says EAGAIN.
  bool readable_ = true;
  bool writable_ = true;
  bool looked_at_ = false;  // The reactor has reported the descriptor since the last turn.
  Instant last_read_;
  Instant last_written_;  // Or since when output waits.
};

}  // namespace rondo
