// FlushChannel: takes requests on the channel FLUSHFDBREQUEST, as SONiC's fdborch does for sonic-clear fdb:
//   ["ALL","ALL"]   ["PORT","Ethernet0"]   ["VLAN","Vlan10"]   ["PORTVLAN","Ethernet0|Vlan10"]
// Only what bridges have learned is forgotten; static entries stay. A request is carried out in pieces, each after the answer to the one
// before, so that other orders are not held up. Scheduler's thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "managers/learned_fdb.h"
#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/store/store.h"

namespace rondo::managers {

inline constexpr std::string_view kFlushRequest = "FLUSHFDBREQUEST";

class FlushChannel final : public Source {
 public:
  /// Orders the next piece of the walk. Returns false if that needs no order; otherwise 'answered' is called when the orders are answered.
  using Flush = std::function<bool(FlushWalk& walk, std::function<void()> answered)>;

  /// Adds itself to 'scheduler'. 'store' must outlive it. Returns the error of a channel that the store refuses. 'may_flush' returns false
  /// while another process has the tables; requests are then left to that one.
  static Result<std::unique_ptr<FlushChannel>> open(Scheduler& scheduler, Store& store, std::function<bool()> may_flush, Flush flush);
  ~FlushChannel() override;

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !*waits_ && (walk_ || !requests_->empty()); }
  /// Requests that could not be read.
  std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  FlushChannel(std::unique_ptr<Subscription> requests, std::function<bool()> may_flush, Flush flush);
  void take(std::string_view what, std::string_view data);
  void go_on();

  const std::unique_ptr<Subscription> requests_;
  const std::function<bool()> may_flush_;
  const Flush flush_;
  std::optional<FlushWalk> walk_;                                      // The request that is under way.
  const std::shared_ptr<bool> waits_ = std::make_shared<bool>(false);  // For answers, which may come after the end of this object.
  std::uint64_t malformed_ = 0;
};

}  // namespace rondo::managers
