// StateDb: rondod's connection to STATE_DB, and what it writes there (managers/state_rows.h).
#pragma once

#include <cstddef>
#include <memory>

#include "dataplane/learned.h"
#include "managers/flush_channel.h"
#include "managers/learned_fdb.h"
#include "managers/managers.h"
#include "managers/restart_channel.h"
#include "managers/state_rows.h"
#include "orch/row_tap.h"
#include "rondo/orch/runtime.h"
#include "rondo/store/store.h"
#include "rondod/configuration/config.h"
#include "rondod/stores/redis_watch.h"
#include "switch_agent/agent.h"

namespace rondo::daemon {

/// The managers wait for the leases of 'redis' and ask 'safety' before they delete; both must outlive them.
managers::ManagersOptions managers_options(const RedisWatch& redis, switch_agent::SafetyStop& safety);

class StateDb {
 public:
  /// 'managers', 'redis', 'agent' and 'runtime' must outlive it. Null if the
  /// configuration names no STATE_DB. Does not wait for the server.
  static Result<std::unique_ptr<StateDb>> open(const ManagersChoice& choice, Runtime& runtime, const switch_agent::SwitchAgent& agent,
                                               const managers::Managers& managers, RedisWatch& redis);

  /// Answers requests on the channel RESTARTCHECK with 'answer', which is called until this object ends.
  Status answer_restart_checks(managers::RestartChannel::Answer answer);
  /// Begins to follow what bridges learn, and takes requests on the channel FLUSHFDBREQUEST. 'agent' must outlive it.
  Status start(Runtime& runtime, DataPlane& plane, switch_agent::SwitchAgent& agent);
  /// Called before the agent handles the event.
  void link_event(const LinkEvent& event) {
    fdb_.link_event(event);
    rows_->link_event(event);
  }
  std::size_t stations() const noexcept { return fdb_.stations(); }
  std::uint64_t stations_left_out() const noexcept { return fdb_watch_ == nullptr ? 0 : fdb_watch_->left_out(); }
  /// Now, not only at some time since the start.
  bool leaves_stations_out() const noexcept { return fdb_watch_ != nullptr && fdb_watch_->leaves_out(); }
  std::size_t rows() const noexcept { return rows_->rows(); }
  std::uint64_t refused() const noexcept { return rows_->refused(); }
  std::string trouble() const { return rows_->trouble(); }
  std::uint64_t repaired() const noexcept { return rows_->repaired(); }
  const std::string& last_repair() const noexcept { return rows_->last_repair(); }
  /// Ok while STATE_DB can be reached.
  Status health() const { return store_->health(); }

 private:
  StateDb() = default;
  Scheduler* scheduler_ = nullptr;
  RedisWatch* redis_ = nullptr;
  std::unique_ptr<Store> store_;
  std::unique_ptr<managers::StateRows> rows_;
  std::unique_ptr<managers::RestartChannel> restart_checks_;
  managers::LearnedFdb fdb_{[this](const std::string& station) {
    if (rows_ != nullptr) rows_->station_changed(station);
  }};
  std::unique_ptr<RowTap> vlan_rows_;
  std::unique_ptr<FdbWatch> fdb_watch_;
  std::unique_ptr<managers::FlushChannel> flushes_;
};

}  // namespace rondo::daemon
