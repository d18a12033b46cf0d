#include "managers/restart_channel.h"

#include <utility>

#include "managers/priorities.h"

namespace rondo::managers {

namespace {
/// The name of the program that SONiC's tools ask.
constexpr std::string_view kAsked = "orchagent";
}  // namespace

RestartChannel::RestartChannel(Store& store, std::unique_ptr<Subscription> requests, std::function<bool()> may_answer, Answer answer)
    : Source("restart check", kStateRows),
      store_(store),
      requests_(std::move(requests)),
      may_answer_(std::move(may_answer)),
      answer_(std::move(answer)) {}

RestartChannel::~RestartChannel() = default;

Result<std::unique_ptr<RestartChannel>> RestartChannel::open(Scheduler& scheduler, Store& store, std::function<bool()> may_answer,
                                                             Answer answer) {
  for (const std::string_view channel : {kRestartCheck, kRestartReply}) {
    if (Status declared = store.declare({.name = std::string{channel}, .kind = TableKind::Channel}); !declared.ok()) {
      return failure(std::move(declared));
    }
  }
  Result<std::unique_ptr<Subscription>> requests = store.subscribe(kRestartCheck);
  if (!requests) return failure(requests.error());
  std::unique_ptr<RestartChannel> channel{new RestartChannel(store, std::move(*requests), std::move(may_answer), std::move(answer))};
  scheduler.add(*channel);
  channel->requests_->on_ready([source = channel.get()] { source->wake(); });
  return channel;
}

Turn RestartChannel::run(const Budget& budget) {
  std::vector<Change> requests;
  static_cast<void>(requests_->take_gap());  // The program asks again.
  requests_->take(budget.items, requests);
  for (const Change& request : requests) {
    if (request.verb() != kAsked || !may_answer_()) continue;
    answer_(request.fields().find("SkipPendingTaskCheck") == "true",
            [this, life = std::weak_ptr{life_}](const std::vector<RestartReason>& reasons) {
              if (!life.expired()) answer(reasons);
            });
  }
  return {static_cast<std::uint32_t>(requests.size()), requests_->empty() ? Backlog::Empty : Backlog::More};
}

void RestartChannel::answer(const std::vector<RestartReason>& reasons) {
  std::vector<std::string> counts;
  counts.reserve(reasons.size());  // Fields are views of them.
  std::vector<Field> fields;
  for (const RestartReason& reason : reasons) {
    counts.push_back(std::to_string(reason.count));
    fields.push_back({reason.what, counts.back()});
  }
  // An answer that the store refuses is lost; the program asks again.
  static_cast<void>(store_.write(kRestartReply, Change::event(kAsked, reasons.empty() ? "READY" : "NOT_READY", fields)));
}

}  // namespace rondo::managers
