// FpmFeed: rondod's FPM server (src/fpm): names zebra's devices after the kernel's, adopts rows of an earlier run, asks the safety stop
// before it removes what zebra did not send again, and logs sessions.
#pragma once

#include <cstdint>
#include <memory>
#include <set>

#include "base/log.h"
#include "fpm/server.h"
#include "orch/row_tap.h"
#include "rondo/commands/standard_commands.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/orch/runtime.h"
#include "rondo/sched/timer.h"
#include "rondod/configuration/config.h"
#include "rondod/stores/redis_watch.h"
#include "switch_agent/agent.h"

namespace rondo::daemon {

class FpmFeed {
 public:
  ~FpmFeed();
  /// Adopts FPM's rows in the tables, and then listens. Both wait until the store of the tables can be read, and until no other process may
  /// write the rows. The others must outlive the feed.
  static Result<std::unique_ptr<FpmFeed>> open(Runtime& runtime, switch_agent::SwitchAgent& agent, const FpmChoice& choice,
                                               RedisWatch& redis, Log& log);

  /// True if the row belongs to the FPM server, or stands where zebra has a route.
  RowClaim claim_of(std::string_view table, std::string_view key) const;
  /// Called before the agent handles the event.
  void link_event(const LinkEvent& event);
  /// True if zebra has sent its routes since the start, or the time for that is over.
  bool rows_have_come(Instant now) const { return server_->has_resynced() || now >= wait_until_; }
  void stop() { server_->stop(); }
  fpm::ServerFigures figures() const { return server_->figures(); }
  /// Counts the routes of zebra that the data plane does not have, in steps of some tenths of a millisecond. Returns whether there are
  /// more.
  bool count_absent(fpm::RouteBook::Absent& absent) const;
  /// Routes of which more than the limit of the safety stop would be deleted.
  static constexpr std::string_view kHeld = "routes that zebra did not send again";

 private:
  FpmFeed(Runtime& runtime, switch_agent::SwitchAgent& agent, const FpmChoice& choice, RedisWatch& redis, Log& log);
  void find_users();
  Status may_connect(int connection) const;
  fpm::ServerOptions options(const Store& store);
  fpm::RouteBook::IsProgrammed is_programmed() const;
  void adopt();
  void adopted(const Status& status);
  void tap();
  void report(const fpm::Event& event);

  Runtime& runtime_;
  switch_agent::SwitchAgent& agent_;
  const FpmChoice choice_;
  std::set<std::uint32_t> users_;  // Who may connect; empty: all.
  RedisWatch& redis_;
  Log& log_;
  Instant wait_until_;
  std::unique_ptr<fpm::Server> server_;
  std::unique_ptr<RowTap> routes_tap_;
  std::unique_ptr<RowTap> groups_tap_;
  TimerSource adopt_timer_;
};

}  // namespace rondo::daemon
