// programmer.cc: two lanes of submissions, cut into batches, a worker that gives them to DataPlane::apply (a thread, or turns), and a
// source that hands the answers back. Small submissions of a lane share a batch; large ones are cut. Orders are moved at most twice and
// never one by one through a queue.
//
// On a busy machine the programming thread may stand still for milliseconds, and a turn must never wait for it. So batches go to and fro
// through rings without locks, and all that is allocated with them is allocated and freed by the scheduler's thread: the allocator has
// locks, too.
#include "rondo/dataplane/programmer.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/base/thread_settings.h"
#include "rondo/sched/scheduler.h"
#include "sched/ring.h"

namespace rondo {

namespace {

// Most orders of one apply(): what one netlink send holds.
constexpr std::size_t kBatch = limits::kNetlinkBatch;

// Most answers between two looks at the clock.
constexpr std::uint32_t kStep = 16;

// What one submit() handed over.
struct Submission {
  std::vector<Operation> ops;
  Programmer::Done done;
  Instant submitted;
};

// Part of a batch that belongs to one submission.
struct Share {
  std::size_t count = 0;
  bool is_last = false;  // The submission ends with it.
  Instant submitted;
  std::shared_ptr<const Programmer::Done> done;
};

// One apply(): the orders of one or more submissions side by side, and whose they are.
struct Batch {
  std::vector<Operation> ops;
  std::vector<Share> shares;
  Lane lane = Lane::Urgent;
  std::uint64_t failed = 0;
  Duration busy{0};
};

// Submissions in order, cut into batches. Not thread-safe.
class LaneQueue {
 public:
  void push(Submission submission) {
    auto done = std::make_shared<const Programmer::Done>(std::move(submission.done));
    left_ += submission.ops.size();
    waiting_.push_back({std::move(submission.ops), std::move(done), submission.submitted, 0});
  }
  bool empty() const noexcept { return waiting_.empty(); }

  // Fills 'batch' with up to 'max' orders, oldest first. A submission that fits a batch exactly is handed over without moving its orders.
  void take(Batch& batch, std::size_t max) {
    batch.shares.reserve(std::min(max, waiting_.size()));
    while (!waiting_.empty() && batch.ops.size() < max) {
      Waiting& front = waiting_.front();
      const std::size_t left = front.ops.size() - front.taken;
      const std::size_t room = max - batch.ops.size();
      const std::size_t count = std::min(left, room);
      if (batch.ops.empty() && front.taken == 0 && count == left) {
        batch.ops = std::move(front.ops);
      } else {
        batch.ops.reserve(std::min(max, batch.ops.size() + left_));
        const auto first = front.ops.begin() + static_cast<std::ptrdiff_t>(front.taken);
        std::move(first, first + static_cast<std::ptrdiff_t>(count), std::back_inserter(batch.ops));
      }
      front.taken += count;
      left_ -= count;
      const bool is_last = count == left;
      batch.shares.push_back(
          {.count = count, .is_last = is_last, .submitted = front.submitted, .done = is_last ? std::move(front.done) : front.done});
      if (is_last) waiting_.pop_front();
    }
  }

 private:
  struct Waiting {
    std::vector<Operation> ops;
    std::shared_ptr<const Programmer::Done> done;
    Instant submitted;
    std::size_t taken = 0;
  };
  std::deque<Waiting> waiting_;
  std::size_t left_ = 0;  // Orders that wait.
};

// Urgent before Bulk, but after a batch of Urgent one of Bulk if any waits: replacing groups is slow (0.1 ms each), and a port that flaps
// without end must not stop the routes.
class LaneChoice {
 public:
  std::optional<Lane> next(bool urgent, bool bulk) {
    if (!urgent && !bulk) return std::nullopt;
    last_was_urgent_ = urgent && (!bulk || !last_was_urgent_);
    return last_was_urgent_ ? Lane::Urgent : Lane::Bulk;
  }

 private:
  bool last_was_urgent_ = false;
};

constexpr std::size_t index_of(Lane lane) { return static_cast<std::size_t>(lane); }

void apply(Batch& batch, DataPlane& plane, const Clock& clock) {
  const Instant start = clock.now();
  try {
    plane.apply(batch.ops);
  } catch (const std::exception& error) {
    // Whether it was carried out is unknown; the one who ordered it must hear of it, and the thread goes on.
    for (Operation& op : batch.ops) {
      if (op.status.ok()) op.status = Status{Code::Internal, std::string{"the data plane threw: "} + error.what()};
    }
  }
  batch.busy = clock.now() - start;
  batch.failed =
      static_cast<std::uint64_t>(std::count_if(batch.ops.begin(), batch.ops.end(), [](const Operation& op) { return !op.status.ok(); }));
}

}  // namespace

struct Programmer::Impl final : public Source {
  Impl(Scheduler& scheduler, DataPlane& data_plane, Options given)
      : Source("programmer", given.priority), plane(data_plane), clock(scheduler.clock()), options(given) {
    RONDO_ASSERT(options.ops_max > 0);
    scheduler.add(*this);
    if (options.answers != nullptr) {
      options.answers->attach(*this);
      return;
    }
    if (options.mode == Mode::Thread) thread = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }
  ~Impl() override {
    if (thread.joinable()) {
      thread.request_stop();
      ring_bell();
      thread.join();
    }
    if (options.answers != nullptr) return;
    // What the thread had not come to.
    for (Ring<std::unique_ptr<Batch>>& ring : ready) {
      while (ring.available() > 0) apply(*ring.take(), plane, clock);
    }
    for (LaneQueue& lane : lanes) {
      for (Batch batch; !lane.empty(); batch = Batch{}) {
        lane.take(batch, kBatch);
        apply(batch, plane, clock);
      }
    }
  }

  // --- Scheduler's thread.

  // What a turn submits is handed over in the turn after it, together: small submissions share a batch.
  void submit(Lane lane, Submission submission) {
    in_flight += submission.ops.size();
    if (!full && in_flight >= options.ops_max) {
      full = true;
      ++stats.full;
    }
    stats.submitted += submission.ops.size();
    if (options.watch != nullptr) options.watch->submitted(lane, submission.ops);
    lanes[index_of(lane)].push(std::move(submission));
    wake();
  }

  void hand_over() {
    if (options.mode == Mode::Inline || options.answers != nullptr) return;
    bool any = false;
    for (const Lane lane : {Lane::Urgent, Lane::Bulk}) {
      LaneQueue& queue = lanes[index_of(lane)];
      Ring<std::unique_ptr<Batch>>& ring = ready[index_of(lane)];
      for (; !queue.empty() && ring.room() > 0 && with_thread < finished.capacity(); any = true) {
        ++with_thread;
        auto batch = std::make_unique<Batch>();
        batch->lane = lane;
        queue.take(*batch, kBatch);
        ring.put(std::move(batch));
      }
      static_cast<void>(ring.publish());
    }
    if (any) ring_bell();
  }

  void ring_bell() {
    bell.fetch_add(1, std::memory_order_seq_cst);
    bell.notify_one();
  }

  void take_answers() {
    if (options.answers != nullptr) return take_recorded_answers();
    for (; finished.available() > 0; --with_thread) came_back(finished.take());
    static_cast<void>(finished.release(1));
  }

  void came_back(std::unique_ptr<Batch> batch) {
    if (options.watch != nullptr) options.watch->answered(batch->lane, batch->ops);
    answers.push_back(std::move(batch));
  }

  void take_recorded_answers() {
    Lane lane = Lane::Urgent;
    for (std::vector<Status> statuses; options.answers->next(lane, statuses); statuses.clear()) {
      auto batch = std::make_unique<Batch>();
      batch->lane = lane;
      lanes[index_of(lane)].take(*batch, statuses.size());
      // Fewer than were answered then: this run ordered less. Whoever compares the two sees it.
      for (std::size_t i = 0; i < batch->ops.size(); ++i) batch->ops[i].status = std::move(statuses[i]);
      if (batch->ops.empty()) return;
      came_back(std::move(batch));
    }
  }

  Result<Backlog> collect() override {
    take_answers();
    return has_backlog() ? Backlog::More : Backlog::Empty;
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    take_answers();
    hand_over();
    if (options.mode == Mode::Inline && options.answers == nullptr && answers.empty()) program_inline(budget);
    while (turn.items < budget.items && !answers.empty()) {
      turn.items += deliver(std::min(kStep, budget.items - turn.items));
      if (time_is_up(budget)) break;
    }
    if (full && in_flight < options.ops_max) {
      full = false;
      for (const auto& listener : listeners) listener();
    }
    hand_over();  // What the answers led to.
    turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
    if (options.answers != nullptr) turn.backlog = options.answers->backlog();
    return turn;
  }

  bool has_backlog() const override {
    // What waits in a lane while the thread has batches goes on when one of them is answered.
    if (!answers.empty() || finished.size() > 0) return true;
    if (options.answers != nullptr) return false;
    return with_thread == 0 && std::ranges::any_of(lanes, [](const LaneQueue& lane) { return !lane.empty(); });
  }

  void program_inline(Budget budget) {
    const auto lane = choice.next(!lanes[index_of(Lane::Urgent)].empty(), !lanes[index_of(Lane::Bulk)].empty());
    if (!lane) return;
    auto batch = std::make_unique<Batch>();
    batch->lane = *lane;
    lanes[index_of(*lane)].take(*batch, std::min<std::size_t>(budget.items, kBatch));
    apply(*batch, plane, clock);
    came_back(std::move(batch));
  }

  // Hands out up to 'max' orders of the oldest batch; returns how many.
  std::uint32_t deliver(std::uint32_t max) {
    Batch& batch = *answers.front();
    if (delivered_shares == 0 && delivered_ops == 0) {
      ++stats.batches;
      stats.full_batches += batch.ops.size() >= kBatch ? 1U : 0U;
      stats.failed += batch.failed;
      stats.busy += batch.busy;
    }
    Share& share = batch.shares[delivered_shares];
    const std::size_t count = std::min<std::size_t>(share.count, max);
    const std::span<Operation> ops = std::span{batch.ops}.subspan(delivered_ops, count);
    delivered_ops += count;
    share.count -= count;
    const std::shared_ptr<const Done> done = share.count == 0 ? std::move(share.done) : share.done;
    if (share.count == 0) {
      if (share.is_last)
        stats.latency_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, (clock.now() - share.submitted).count())));
      ++delivered_shares;
    }
    in_flight -= count;
    stats.applied += count;
    // 'delivering' keeps the orders alive while they are looked at; the books above are closed, so that the handler may submit.
    std::unique_ptr<Batch> delivering;
    if (delivered_shares == batch.shares.size()) {
      delivering = std::move(answers.front());
      answers.pop_front();
      delivered_shares = delivered_ops = 0;
    }
    if (*done) (*done)(ops);
    return static_cast<std::uint32_t>(std::max<std::size_t>(count, 1));
  }

  // --- Programming thread. Ends when asked, after the batch in hand.

  void work(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const std::uint32_t heard = bell.load(std::memory_order_seq_cst);  // Before the look: what comes later rings again.
      const auto lane = choice.next(ready[index_of(Lane::Urgent)].available() > 0, ready[index_of(Lane::Bulk)].available() > 0);
      if (!lane) {
        if (!stop.stop_requested()) bell.wait(heard, std::memory_order_seq_cst);
        continue;
      }
      Ring<std::unique_ptr<Batch>>& ring = ready[index_of(*lane)];
      std::unique_ptr<Batch> batch = ring.take();
      static_cast<void>(ring.release(1));
      apply(*batch, plane, clock);
      RONDO_ASSERT(finished.room() > 0);  // hand_over() sees to it.
      finished.put(std::move(batch));
      static_cast<void>(finished.publish());
      wake_from_any_thread();
    }
  }

  DataPlane& plane;
  const Clock& clock;
  const Options options;

  // Scheduler's thread.
  std::array<LaneQueue, 2> lanes;  // By Lane.
  std::deque<std::unique_ptr<Batch>> answers;
  std::size_t with_thread = 0;       // Batches that were handed over and have not come back.
  std::size_t delivered_shares = 0;  // Of answers.front().
  std::size_t delivered_ops = 0;
  std::size_t in_flight = 0;
  bool full = false;
  std::vector<std::function<void()>> listeners;
  ProgrammerStats stats;

  LaneChoice choice;  // Whoever programs.

  // Between the threads.
  std::array<Ring<std::unique_ptr<Batch>>, 2> ready{Ring<std::unique_ptr<Batch>>{limits::kProgrammerBatches},
                                                    Ring<std::unique_ptr<Batch>>{limits::kProgrammerBatches}};  // By Lane.
  Ring<std::unique_ptr<Batch>> finished{2 * limits::kProgrammerBatches + 2};  // Room for all that was ready and the one in hand.
  std::atomic<std::uint32_t> bell{0};                                         // Rung when there are batches, or the end.

  std::jthread thread;
};

Programmer::Programmer(Scheduler& scheduler, DataPlane& plane, Options options)
    : impl_(std::make_unique<Impl>(scheduler, plane, options)) {}
Programmer::~Programmer() = default;

Status Programmer::pin(std::span<const unsigned> cpus) {
  return impl_->thread.joinable() ? pin_thread(impl_->thread.native_handle(), cpus) : Status{};
}

void Programmer::submit(Lane lane, std::vector<Operation> ops, Done done) {
  if (ops.empty()) return;
  impl_->submit(lane, {.ops = std::move(ops), .done = std::move(done), .submitted = impl_->clock.now()});
}

bool Programmer::has_room() const noexcept { return impl_->in_flight < impl_->options.ops_max; }
void Programmer::on_room(std::function<void()> wake) { impl_->listeners.push_back(std::move(wake)); }
std::size_t Programmer::in_flight() const noexcept { return impl_->in_flight; }
const ProgrammerStats& Programmer::stats() const noexcept { return impl_->stats; }
DataPlane& Programmer::plane() noexcept { return impl_->plane; }

}  // namespace rondo
