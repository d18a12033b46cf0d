// FlushChannel: takes requests on the channel FLUSHFDBREQUEST, as SONiC's fdborch does for sonic-clear fdb:
//   ["ALL","ALL"]   ["PORT","Ethernet0"]   ["VLAN","Vlan10"]   ["PORTVLAN","Ethernet0|Vlan10"]
// Only what bridges have learned is forgotten; static entries stay. Scheduler's thread.
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/store/store.h"

namespace rondo::managers {

inline constexpr std::string_view kFlushRequest = "FLUSHFDBREQUEST";

class FlushChannel final : public Source {
 public:
  /// Empty: of every port, of every VLAN.
  using Flush = std::function<void(std::string_view port, std::string_view vlan)>;

  /// Adds itself to 'scheduler'. 'store' must outlive it. Returns the error of a channel that the store refuses. 'may_flush' returns false
  /// while another process has the tables; requests are then left to that one.
  static Result<std::unique_ptr<FlushChannel>> open(Scheduler& scheduler, Store& store, std::function<bool()> may_flush, Flush flush);
  ~FlushChannel() override;

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !requests_->empty(); }
  /// Requests that could not be read.
  std::uint64_t malformed() const noexcept { return malformed_; }

 private:
  FlushChannel(std::unique_ptr<Subscription> requests, std::function<bool()> may_flush, Flush flush);
  void take(std::string_view what, std::string_view data);

  const std::unique_ptr<Subscription> requests_;
  const std::function<bool()> may_flush_;
  const Flush flush_;
  std::uint64_t malformed_ = 0;
};

}  // namespace rondo::managers
