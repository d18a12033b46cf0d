#include "dataplane/programmer.h"

#include "dataplane/order_records.h"
#include "rondo/dataplane/limits.h"
#include "sched/executor_tap.h"

namespace rondo {

namespace {

class OrderTap final : public ExecutorTap {
 public:
  OrderTap(OrderObserver* observer, RecordedAnswers* answers) noexcept : observer_(observer), answers_(answers) {}
  bool is_recorded() const noexcept override { return observer_ != nullptr; }
  void submitted(std::size_t lane, Operations& operations) override { observer_->submitted(lane, of<Operation>(operations)); }
  void answered(std::size_t lane, Operations& operations) override { observer_->answered(lane, of<Operation>(operations)); }
  bool is_replayed() const noexcept override { return answers_ != nullptr; }
  void attach(Source& source) override { answers_->attach(source); }
  bool next(std::size_t& lane, std::size_t& count) override { return answers_->next(lane, count); }
  void answer(Operations& operations) override { answers_->answer(of<Operation>(operations)); }
  Backlog backlog() override { return answers_->backlog(); }

 private:
  OrderObserver* const observer_;
  RecordedAnswers* const answers_;
};

}  // namespace

Programmer::Programmer(Scheduler& scheduler, DataPlane& plane, Options options)
    : plane_(plane),
      on_refused_(std::move(options.on_refused)),
      reword_(std::move(options.reword)),
      tap_(std::make_unique<OrderTap>(options.observer, options.answers)),
      executor_(
          scheduler, [this](std::span<Operation> ops) { apply(ops); },
          {.name = "programmer",
           .target = "the data plane",
           .in_line = options.in_line,
           .lanes = {1, 1},
           .priority = options.priority,
           .operations_max = options.ops_max,
           .batch_max = limits::kNetlinkBatch},
          *tap_) {}

Programmer::~Programmer() = default;

Programmer::Done Programmer::reworded(Done done) const {
  return [this, done = std::move(done)](std::span<Operation> ops) {
    for (Operation& op : ops) {
      if (!op.status.ok()) op.status = reword_(op.status);
    }
    done(ops);
  };
}

void Programmer::apply(std::span<Operation> ops) {
  plane_.apply(ops);
  std::array<std::uint64_t, 4> answered{};
  for (const Operation& op : ops) {
    const bool deletes = is_delete(op.order);
    const bool is_gone = deletes && op.status.code() == StatusCode::NotFound;
    const bool is_refused = !op.status.ok() && !is_gone;
    ++answered[(deletes ? 2U : 0U) + (is_refused ? 1U : 0U)];
    if (is_gone) gone_deletes_.fetch_add(1, std::memory_order_relaxed);
    if (is_refused && on_refused_) on_refused_(op);
  }
  for (std::size_t i = 0; i < answered.size(); ++i) answered_[i].fetch_add(answered[i], std::memory_order_relaxed);
}

}  // namespace rondo
