// FpmFeed: rondod's FPM server (src/fpm): names zebra's devices after the kernel's, adopts rows of an earlier run, asks the safety stop
// before it removes what zebra did not send again, and logs sessions.
#pragma once

#include <memory>

#include "fpm/adoption.h"
#include "fpm/server.h"
#include "rondo/base/log.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/orch/runtime.h"
#include "rondod/configuration/config.h"
#include "switch_agent/agent.h"

namespace rondo::daemon {

class FpmFeed {
 public:
  ~FpmFeed() { agent_.on_route_answers({}); }
  /// Adopts FPM's rows in the tables, and then listens. The others must outlive the feed.
  static Result<std::unique_ptr<FpmFeed>> open(Runtime& runtime, switch_agent::Agent& agent, const FpmChoice& choice, Log& log);

  /// Called before the agent handles the event.
  void link_event(const LinkEvent& event);
  /// Whether zebra has sent its routes since the start, or the time for that is over.
  bool rows_have_come(Instant now) const { return server_->has_resynced() || now >= wait_until_; }
  void stop() { server_->stop(); }
  fpm::ServerFigures figures() const { return server_->figures(); }
  /// Routes of which more than the limit of the safety stop would be deleted.
  static constexpr std::string_view kHeld = "routes that zebra did not send again";

 private:
  FpmFeed(switch_agent::Agent& agent, const FpmChoice& choice, Log& log) : agent_(agent), choice_(choice), log_(log) {}
  fpm::ServerOptions options(const Store& store);
  void tell(const fpm::Event& event);

  switch_agent::Agent& agent_;
  const FpmChoice choice_;
  Log& log_;
  Instant wait_until_;
  std::unique_ptr<fpm::Server> server_;
  std::unique_ptr<fpm::Adoption> adoption_;
};

}  // namespace rondo::daemon
