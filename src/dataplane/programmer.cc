// programmer.cc: two lanes of submissions, a worker that turns them into batches for DataPlane::apply (a thread, or turns), and a source
// that hands the answers back. Small submissions of a lane share a batch; large ones are cut. Orders are moved at most twice and never one
// by one through a queue. Hand-over costs one lock a batch on either side.
#include "rondo/dataplane/programmer.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/base/thread_settings.h"
#include "rondo/sched/scheduler.h"

namespace rondo {

namespace {

// Most orders of one apply(): what one netlink send holds.
constexpr std::size_t kBatch = limits::kNetlinkBatch;

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
  std::uint64_t failed = 0;
  Duration busy{0};
};

// Submissions in order, cut into batches. Not thread-safe.
class LaneQueue {
 public:
  void push(Submission submission) {
    auto done = std::make_shared<const Programmer::Done>(std::move(submission.done));
    waiting_.push_back({std::move(submission.ops), std::move(done), submission.submitted, 0});
  }
  bool empty() const noexcept { return waiting_.empty(); }

  // Fills 'batch' with up to 'max' orders, oldest first. A submission that fits a batch exactly is handed over without moving its orders.
  void take(Batch& batch, std::size_t max) {
    while (!waiting_.empty() && batch.ops.size() < max) {
      Waiting& front = waiting_.front();
      const std::size_t left = front.ops.size() - front.taken;
      const std::size_t room = max - batch.ops.size();
      const std::size_t count = std::min(left, room);
      if (batch.ops.empty() && front.taken == 0 && count == left) {
        batch.ops = std::move(front.ops);
      } else {
        batch.ops.reserve(max);
        const auto first = front.ops.begin() + static_cast<std::ptrdiff_t>(front.taken);
        std::move(first, first + static_cast<std::ptrdiff_t>(count), std::back_inserter(batch.ops));
      }
      front.taken += count;
      batch.shares.push_back({.count = count, .is_last = count == left, .submitted = front.submitted, .done = front.done});
      if (count == left) waiting_.pop_front();
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
};

void apply(Batch& batch, DataPlane& plane, const Clock& clock) {
  const Instant start = clock.now();
  plane.apply(batch.ops);
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
    if (options.mode == Mode::Thread) thread = std::jthread([this](const std::stop_token& stop) { work(stop); });
  }
  ~Impl() override {
    hand_over();
    if (thread.joinable()) {
      thread.request_stop();
      thread.join();
    } else {
      for (Batch batch; take_work(batch); batch = Batch{}) apply(batch, plane, clock);
    }
  }

  // --- Scheduler's thread.

  // What a turn submits is handed over together, in the turn after it: one lock and one wake for all, and small submissions share a batch.
  void submit(Lane lane, Submission submission) {
    in_flight += submission.ops.size();
    full = full || in_flight >= options.ops_max;
    stats.submitted += submission.ops.size();
    outgoing.emplace_back(lane, std::move(submission));
    wake();
  }

  void hand_over() {
    if (outgoing.empty()) return;
    bool was_empty = false;
    {
      const std::lock_guard lock(mutex);
      was_empty = lanes[0].empty() && lanes[1].empty();
      for (auto& [lane, submission] : outgoing) lanes[static_cast<std::size_t>(lane)].push(std::move(submission));
    }
    outgoing.clear();
    if (was_empty && options.mode == Mode::Thread) work_came.notify_one();
  }

  Result<Backlog> collect() override {
    const std::lock_guard lock(mutex);
    std::move(finished.begin(), finished.end(), std::back_inserter(answers));
    finished.clear();
    return has_backlog_locked() ? Backlog::More : Backlog::Empty;
  }

  Turn run(Budget budget) override {
    Turn turn;
    hand_over();
    if (options.mode == Mode::Inline && answers.empty()) program_inline(budget);
    while (turn.items < budget.items && !answers.empty()) turn.items += deliver(budget.items - turn.items);
    if (full && in_flight < options.ops_max) {
      full = false;
      for (const auto& listener : listeners) listener();
    }
    hand_over();  // What the answers led to.
    turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
    return turn;
  }

  bool has_backlog() const override {
    const std::lock_guard lock(mutex);
    return has_backlog_locked();
  }

  bool has_backlog_locked() const {
    return !outgoing.empty() || !answers.empty() || !finished.empty() ||
           (options.mode == Mode::Inline && !(lanes[0].empty() && lanes[1].empty()));
  }

  void program_inline(Budget budget) {
    Batch batch;
    if (!take_work(batch, std::min<std::size_t>(budget.items, kBatch))) return;
    apply(batch, plane, clock);
    answers.push_back(std::move(batch));
  }

  // Hands out up to 'max' orders of the oldest batch; returns how many.
  std::uint32_t deliver(std::uint32_t max) {
    Batch& batch = answers.front();
    if (delivered_shares == 0 && delivered_ops == 0) {
      ++stats.batches;
      stats.failed += batch.failed;
      stats.busy += batch.busy;
    }
    Share& share = batch.shares[delivered_shares];
    const std::size_t count = std::min<std::size_t>(share.count, max);
    const std::span<Operation> ops = std::span{batch.ops}.subspan(delivered_ops, count);
    const auto done = share.done;
    delivered_ops += count;
    share.count -= count;
    if (share.count == 0) {
      if (share.is_last)
        stats.latency_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, (clock.now() - share.submitted).count())));
      ++delivered_shares;
    }
    in_flight -= count;
    stats.applied += count;
    // 'delivering' keeps the orders alive while they are looked at; the books above are closed, so that the handler may submit.
    Batch delivering;
    if (delivered_shares == batch.shares.size()) {
      delivering = std::move(batch);
      answers.pop_front();
      delivered_shares = delivered_ops = 0;
    }
    if (*done) (*done)(ops);
    return static_cast<std::uint32_t>(std::max<std::size_t>(count, 1));
  }

  // --- Either thread.

  // Urgent before Bulk, but after a batch of Urgent one of Bulk if any waits: replacing groups is slow (0.1 ms each), and a port that flaps
  // without end must not stop the routes. A batch is of one lane. False when there is nothing to do.
  bool take_work(Batch& batch, std::size_t max = kBatch) {
    const std::lock_guard lock(mutex);
    return take_work_locked(batch, max);
  }
  bool take_work_locked(Batch& batch, std::size_t max) {
    LaneQueue& urgent = lanes[static_cast<std::size_t>(Lane::Urgent)];
    LaneQueue& bulk = lanes[static_cast<std::size_t>(Lane::Bulk)];
    if (urgent.empty() && bulk.empty()) return false;
    bulk_next = !urgent.empty() && (bulk.empty() || !bulk_next);
    (bulk_next ? urgent : bulk).take(batch, max);
    return true;
  }

  // --- Programming thread. Ends when asked and the lanes are empty.

  void work(const std::stop_token& stop) {
    for (;;) {
      Batch batch;
      {
        std::unique_lock lock(mutex);
        work_came.wait(lock, stop, [this] { return !lanes[0].empty() || !lanes[1].empty(); });
        if (!take_work_locked(batch, kBatch)) return;
      }
      apply(batch, plane, clock);
      bool first = false;
      {
        const std::lock_guard lock(mutex);
        first = finished.empty();
        finished.push_back(std::move(batch));
      }
      if (first) wake_from_any_thread();
    }
  }

  DataPlane& plane;
  const Clock& clock;
  const Options options;

  // Scheduler's thread.
  std::deque<Batch> answers;
  std::vector<std::pair<Lane, Submission>> outgoing;
  std::size_t delivered_shares = 0;  // Of answers.front().
  std::size_t delivered_ops = 0;
  std::size_t in_flight = 0;
  bool full = false;
  std::vector<std::function<void()>> listeners;
  ProgrammerStats stats;

  mutable std::mutex mutex;
  LaneQueue lanes[2];           // By Lane; guarded by 'mutex'.
  bool bulk_next = false;       // The last batch was of Urgent; guarded by 'mutex'.
  std::vector<Batch> finished;  // Guarded by 'mutex'.
  std::condition_variable_any work_came;
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
