// RestartChannel: answers on the channels RESTARTCHECK and RESTARTCHECKREPLY, as SONiC's orchagent does for orchagent_restart_check:
//   -> ["orchagent","","NoFreeze","true","SkipPendingTaskCheck","false"]
//   <- ["orchagent","READY"]   or   ["orchagent","NOT_READY","rows of ROUTE_TABLE wait","3",...]
// The reasons with their counts follow as fields, which SONiC's program does not read. Nothing is frozen after READY: what is written later
// stays in its table, and the next process takes it. So NoFreeze has no effect. Scheduler's thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/store/store.h"

namespace rondo::managers {

inline constexpr std::string_view kRestartCheck = "RESTARTCHECK";
inline constexpr std::string_view kRestartReply = "RESTARTCHECKREPLY";

/// Why a restart now would interrupt work, and how much of it.
struct RestartReason {
  std::string what;
  std::uint64_t count = 0;
};

class RestartChannel final : public Source {
 public:
  using Done = std::function<void(const std::vector<RestartReason>& reasons)>;
  /// Calls 'done' with the reasons, also later; none: ready. 'skip_waiting': rows that wait for facts are no reason.
  using Answer = std::function<void(bool skip_waiting, Done done)>;

  /// Adds itself to 'scheduler'. 'store' must outlive it. Returns the error of a channel that the store refuses. 'may_answer' returns false
  /// while another process has the tables; requests are then left to that one.
  static Result<std::unique_ptr<RestartChannel>> open(Scheduler& scheduler, Store& store, std::function<bool()> may_answer, Answer answer);
  ~RestartChannel() override;

  Turn run(const Budget& budget) override;
  bool has_backlog() const override { return !requests_->empty(); }

 private:
  RestartChannel(Store& store, std::unique_ptr<Subscription> requests, std::function<bool()> may_answer, Answer answer);
  void answer(const std::vector<RestartReason>& reasons);

  Store& store_;
  const std::unique_ptr<Subscription> requests_;
  const std::function<bool()> may_answer_;
  const Answer answer_;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // Answers may come after the end.
};

}  // namespace rondo::managers
