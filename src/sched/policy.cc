// The policies behind make_policy(). Each is a small class over the ready set; the scheduler knows only the seam.
#include "rondo/sched/policy.h"

#include <type_traits>

#include "sched/ready_set.h"

namespace rondo {

namespace {

class StrictPriorityPolicy final : public Policy {
 public:
  explicit StrictPriorityPolicy(StrictPriority options) : options_(options), set_(options.tie) {
    by_arrival_ = options.tie == Tie::Arrival;
  }

  void arrived(Source& source) override {
    set_.arrive(source);
    ready_ = set_.occupied();
    overtaken_ = overtaken_ || (by_arrival_ && source.priority() == picked_);
  }
  void served(Source& source, const Turn& turn, Duration) override {
    if (turn.backlog == Backlog::More) {
      set_.return_served(source);
    } else {
      set_.rest(source);
    }
    ready_ = set_.occupied();
  }
  Source* pick() override {
    Source* source = set_.take();
    if (source == nullptr) return nullptr;
    picked_ = source->priority();
    ready_ = set_.occupied();
    above_ = ~((2ULL << picked_.level()) - 1);
    overtaken_ = false;
    return source;
  }
  void removed(Source& source) override {
    set_.erase(source);
    ready_ = set_.occupied();
  }
  Budget budget(const Source&) const override { return Budget{.items = options_.batch, .time = options_.turn}; }
  bool empty() const override { return set_.empty(); }
  std::string describe() const override {
    const char* tie = options_.tie == Tie::LeastRecentlyServed ? "least recently served first" : "in order of arrival";
    return std::string{"strict priority, "} + tie + ", " + std::to_string(options_.batch) + (options_.batch == 1 ? " item" : " items") +
           " or " + std::to_string(options_.turn / 1us) + " us a turn";
  }

 private:
  StrictPriority options_;
  ReadySet set_;
  Priority picked_;
};

Result<std::unique_ptr<Policy>> make(const StrictPriority& options) {
  if (options.batch == 0) return failure(Code::InvalidArgument, "policy strict priority: batch must be at least 1 item a turn");
  if (options.turn <= Duration{0}) return failure(Code::InvalidArgument, "policy strict priority: the time of a turn must be more than 0");
  return std::make_unique<StrictPriorityPolicy>(options);
}

}  // namespace

Result<std::unique_ptr<Policy>> make_policy(const PolicyOptions& options) {
  return std::visit([](const auto& chosen) { return make(chosen); }, options);
}

}  // namespace rondo
