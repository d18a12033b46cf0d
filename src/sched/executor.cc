// executor.cc: lanes of submissions, divided into batches; workers that apply them (threads, turns, or a simulated target); and a source
// that delivers the answers.
//
// On a loaded machine a thread may be descheduled for milliseconds, and a turn must never wait for it. So batches pass through lock-free
// rings. The scheduler's thread allocates and frees all memory of a batch, because the allocator has locks too.
#include "rondo/sched/executor.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <string>
#include <thread>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/base/limits.h"
#include "rondo/base/thread_settings.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "sched/executor_host.h"
#include "sched/executor_lanes.h"
#include "sched/executor_tap.h"
#include "sched/executor_texts.h"
#include "sched/limits.h"
#include "sched/ring.h"

namespace rondo {

namespace executor {

void append_status(const Status& status, std::string& to) {
  const auto code = static_cast<unsigned char>(status.code());
  to.push_back(static_cast<char>(code));
  if (status.ok()) return;
  const auto origin = static_cast<std::int32_t>(status.origin_errno());
  const auto length = static_cast<std::uint32_t>(status.message().size());
  to.append(reinterpret_cast<const char*>(&origin), sizeof origin);
  to.append(reinterpret_cast<const char*>(&length), sizeof length);
  to.append(status.message());
}

bool take_status(std::string_view& from, Status& status) {
  if (from.empty()) return false;
  const auto code = static_cast<unsigned char>(from.front());
  from.remove_prefix(1);
  if (code > static_cast<unsigned char>(StatusCode::Internal)) return false;
  status = {};
  if (static_cast<StatusCode>(code) == StatusCode::Ok) return true;
  std::int32_t origin = 0;
  std::uint32_t length = 0;
  if (from.size() < sizeof origin + sizeof length) return false;
  std::memcpy(&origin, from.data(), sizeof origin);
  std::memcpy(&length, from.data() + sizeof origin, sizeof length);
  from.remove_prefix(sizeof origin + sizeof length);
  if (from.size() < length) return false;
  status = Status{static_cast<StatusCode>(code), std::string{from.substr(0, length)}, origin};
  from.remove_prefix(length);
  return true;
}

}  // namespace executor

namespace {

using executor::Batch;
using executor::LaneChoice;
using executor::LaneQueue;
using executor::Lot;
using executor::Share;

/// Maximum number of answers between two readings of the clock.
constexpr std::uint32_t kStep = 16;

using BatchPtr = std::unique_ptr<Batch>;

/// A thread and the rings to and from it.
struct Worker {
  Worker(std::size_t lanes, std::size_t batches, const std::vector<unsigned>& shares)
      : choice(shares), finished(lanes * batches + 2) {  // Room for all batches that were ready and the one being applied.
    for (std::size_t lane = 0; lane < lanes; ++lane) ready.emplace_back(batches);
  }
  LaneChoice choice;                 // Used by the thread.
  std::deque<Ring<BatchPtr>> ready;  // By lane.
  Ring<BatchPtr> finished;
  std::size_t with_thread = 0;               // Used by the scheduler's thread: batches that were handed over and are not answered yet.
  std::atomic<std::uint32_t> wake_count{0};  // Incremented when batches are ready, and at the end.
  std::jthread thread;

  void signal() {
    wake_count.fetch_add(1, std::memory_order_seq_cst);
    wake_count.notify_one();
  }
};

/// A batch that a simulated target is applying.
struct Simulated {
  BatchPtr batch;
  ExecutorTrouble::Times times;
  bool is_applied = false;
};

}  // namespace

struct ExecutorBase::Impl final : public Source {
  Impl(Scheduler& its_scheduler, ExecutorOptions given, ExecutorTap* its_tap)
      : Source(given.name, given.priority),
        home(its_scheduler),
        tap(its_tap),
        clock(its_scheduler.clock()),
        options(std::move(given)),
        lanes(options.lanes.size()),
        choice(options.lanes) {
    RONDO_EXPECT(options.operations_max > 0 && options.batch_max > 0, called("with room or batches of 0 operations"));
    RONDO_EXPECT(options.threads >= 1 && options.threads <= limits::kExecutorThreads,
                 called("with " + std::to_string(options.threads) + " threads, and 1 to " + std::to_string(limits::kExecutorThreads) +
                        " are possible"));
    RONDO_EXPECT(!options.lanes.empty() && options.lanes.size() <= limits::kExecutorLanes,
                 called("with " + std::to_string(options.lanes.size()) + " lanes, and 1 to " + std::to_string(limits::kExecutorLanes) +
                        " are possible"));
    RONDO_EXPECT(std::ranges::all_of(options.lanes, [](unsigned share) { return share >= 1; }),
                 called("with a lane that may have 0 batches in a row"));
    if (tap == nullptr && home.executor_host() != nullptr) connections = home.executor_host()->connections();
  }
  ~Impl() override { stop(); }

  /// Before the functions of the executor's type end. Has an effect once.
  void stop() {
    if (std::exchange(is_stopped, true)) return;
    if (!workers.empty()) home.expect_same_process("the end of the executor '" + options.name + "'");
    for (Worker& worker : workers) {
      worker.thread.request_stop();
      worker.signal();
    }
    for (Worker& worker : workers) worker.thread = {};
    if (!is_started) return;
    if (connections.records != nullptr) connections.records->left(options.name);
    if (!is_replayed) end();
    if (connections.trouble != nullptr) connections.trouble->left(*this);
  }

  void start(std::unique_ptr<Operations> its_kind) {
    kind = std::move(its_kind);
    is_replayed = tap != nullptr ? tap->is_replayed() : connections.records != nullptr;
    is_recorded = tap != nullptr ? tap->is_recorded() : kind->has_codec() && connections.journal != nullptr;
    home.add(*this);
    is_started = true;
    if (tap != nullptr && is_replayed) tap->attach(*this);
    if (connections.records != nullptr) connections.records->joined(options.name, *this);
    if (connections.trouble != nullptr) connections.trouble->joined(*this);
    if (is_replayed) return;
    if (connections.trouble != nullptr) {
      simulated.resize(options.threads);
      return;
    }
    if (options.in_line) return;
    // A batch that waits behind a long one cannot move to another thread, so each of several threads has one batch at a time.
    const std::size_t batches = options.threads == 1 ? limits::kExecutorBatches : 1;
    for (unsigned i = 0; i < options.threads; ++i) {
      Worker& worker = workers.emplace_back(lanes.size(), batches, options.lanes);
      worker.thread = std::jthread([this, &worker](const std::stop_token& stop) { work(worker, stop); });
    }
  }

  /// Ends the batches that no worker has begun.
  void end() {
    std::deque<BatchPtr> left;
    for (Simulated& slot : simulated) {
      if (slot.batch != nullptr && !slot.is_applied) left.push_back(std::move(slot.batch));
    }
    for (Worker& worker : workers) {
      for (Ring<BatchPtr>& ring : worker.ready) {
        while (ring.available() > 0) left.push_back(ring.take());
      }
    }
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      while (!lanes[lane].empty()) left.push_back(take_batch(lane, options.batch_max));
    }
    std::size_t operations = 0;
    for (const BatchPtr& batch : left) operations += batch->size;
    std::size_t applied = options.at_end == ExecutorEnd::Apply ? operations : 0;
    if (connections.trouble != nullptr) applied = std::min(applied, connections.trouble->applied_at_end(operations));
    for (const BatchPtr& batch : left) {
      const std::size_t count = std::min(batch->size, applied);
      if (count > 0) batch->operations->apply(0, count);
      applied -= count;
    }
  }

  std::string called(const std::string& how) const { return "the executor '" + options.name + "' was called " + how; }

  // --- Scheduler's thread.

  // The submissions of a turn are handed over together in the next turn, so small submissions share a batch.
  void submit(std::size_t lane, std::shared_ptr<Lot> lot) {
    RONDO_EXPECT(lane < lanes.size(), called("to submit to lane " + std::to_string(lane) + " of " + std::to_string(lanes.size())));
    RONDO_EXPECT(home.is_here(), called("to submit on a thread that is not its scheduler's; use Runtime::post"));
    if (is_recorded) record_submitted(lane, *lot->operations);  // First: if the codec throws, nothing has been submitted.
    lot->submitted = clock.now();
    in_flight += lot->size;
    if (!full && in_flight >= options.operations_max) {
      full = true;
      ++stats.full;
    }
    stats.submitted += lot->size;
    lanes[lane].push(std::move(lot));
    wake();
  }

  bool has_room() const noexcept { return in_flight < options.operations_max && target_has_room; }

  BatchPtr take_batch(std::size_t lane, std::size_t max) {
    BatchPtr batch = make_batch(lane);
    lanes[lane].take(*batch, max);
    return batch;
  }

  BatchPtr make_batch(std::size_t lane) const {
    auto batch = std::make_unique<Batch>();
    batch->operations = kind->make();
    batch->lane = lane;
    return batch;
  }

  void apply(Batch& batch) {
    const Instant start = clock.now();
    batch.operations->apply(0, batch.size);
    batch.busy = clock.now() - start;
    batch.failed = batch.operations->failures();
  }

  void hand_over() {
    if (workers.empty()) return;
    if (options.threads == 1) return fill(workers.front());
    for (Worker& worker : workers) {
      if (worker.with_thread > 0) continue;
      const auto lane = choice.next([this](std::size_t of) { return !lanes[of].empty(); });
      if (!lane) return;
      RONDO_ASSERT(worker.ready[*lane].room() > 0);  // The worker has no batch.
      put(worker, *lane);
      static_cast<void>(worker.ready[*lane].publish());
      worker.signal();
    }
  }

  void put(Worker& worker, std::size_t lane) {
    ++worker.with_thread;
    worker.ready[lane].put(take_batch(lane, options.batch_max));
  }

  void fill(Worker& worker) {
    bool any = false;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      Ring<BatchPtr>& ring = worker.ready[lane];
      for (; !lanes[lane].empty() && ring.room() > 0 && worker.with_thread < worker.finished.capacity(); any = true) put(worker, lane);
      static_cast<void>(ring.publish());
    }
    if (any) worker.signal();
  }

  void take_answers() {
    if (is_replayed) return take_recorded_answers();
    for (Worker& worker : workers) {
      for (; worker.finished.available() > 0; --worker.with_thread) came_back(worker.finished.take());
      static_cast<void>(worker.finished.release(1));
    }
  }

  void came_back(BatchPtr batch) {
    if (is_recorded) record_answered(*batch);
    answers.push_back(std::move(batch));
  }

  void record_submitted(std::size_t lane, Operations& operations) {
    if (tap != nullptr) return tap->submitted(lane, operations);
    executor::Texts texts;
    for (std::size_t i = 0; i < operations.size(); ++i) texts.add([&](std::string& to) { operations.encode_order(i, to); });
    connections.journal->ordered(options.name, lane, texts);
  }

  void record_answered(const Batch& batch) {
    if (tap != nullptr) return tap->answered(batch.lane, *batch.operations);
    executor::Texts texts;
    for (std::size_t i = 0; i < batch.size; ++i) {
      texts.add([&](std::string& to) {
        executor::append_status(batch.operations->status(i), to);
        batch.operations->encode_answer(i, to);
      });
    }
    connections.journal->order_answers(options.name, batch.lane, batch.first, texts);
  }

  /// Value for 'first': the batch has the oldest operations of its lane.
  static constexpr std::uint64_t kOldest = UINT64_MAX;

  /// The next recorded batch whose answers are due: its lane, the number of its first operation (Batch::first) or kOldest, and the number
  /// of its operations. False if none is due yet.
  bool next_answered(std::size_t& lane, std::uint64_t& first, std::size_t& count) {
    if (tap != nullptr) {
      first = kOldest;
      return tap->next(lane, count);
    }
    if (!kind->has_codec() || !connections.records->next(options.name, lane, first, recorded)) return false;
    count = recorded.size();
    return true;
  }

  /// Writes the recorded answers of that batch into 'batch', which has fewer operations if this run submitted fewer.
  void fill_in(Batch& batch) {
    Operations& operations = *batch.operations;
    if (tap != nullptr) return tap->answer(operations);
    for (std::size_t i = 0; i < batch.size; ++i) {
      std::string_view bytes = recorded[i];
      if (executor::take_status(bytes, operations.status(i)) && operations.decode_answer(i, bytes)) continue;
      return connections.records->refuse("an answer that the codec cannot read");
    }
  }

  void take_recorded_answers() {
    std::size_t lane = 0;
    std::uint64_t first = 0;
    std::size_t count = 0;
    while (next_answered(lane, first, count)) {
      if (lane >= lanes.size()) return;
      BatchPtr batch = take_recorded(lane, first, count);
      // This run submitted fewer operations than the recorded one. The comparison of the two runs reports it.
      fill_in(*batch);
      if (batch->size == 0) return;
      batch->failed = batch->operations->failures();
      came_back(std::move(batch));
    }
  }

  /// With several threads a batch may have been answered before older ones. The older operations then wait separately, one by one, because
  /// the replay does not know their batches until they are answered.
  BatchPtr take_recorded(std::size_t lane, std::uint64_t first, std::size_t count) {
    LaneQueue& queue = lanes[lane];
    if (first == kOldest) return take_batch(lane, count);
    while (queue.next() < first && !queue.empty()) {
      const std::pair number{lane, queue.next()};
      overtaken.emplace(number, take_batch(lane, 1));
    }
    if (queue.next() <= first) return take_batch(lane, queue.next() == first ? count : 0);
    BatchPtr batch = make_batch(lane);
    batch->first = first;
    for (auto next = overtaken.find({lane, first}); batch->size < count && next != overtaken.end();
         next = overtaken.find({lane, first + batch->size})) {
      join(*batch, *next->second);
      overtaken.erase(next);
    }
    return batch;
  }

  /// Moves all operations of 'from' to the end of 'to'.
  void join(Batch& to, Batch& from) {
    to.operations->take(*from.operations, 0, from.size, to.size + from.size);
    to.size += from.size;
    for (Share& share : from.shares) {
      if (to.shares.empty() || to.shares.back().lot != share.lot) {
        to.shares.push_back(std::move(share));
      } else {
        to.shares.back().count += share.count;
        to.shares.back().is_last = share.is_last;
      }
    }
  }

  Result<Backlog> collect() override {
    take_answers();
    return has_backlog() ? Backlog::More : Backlog::Empty;
  }

  Turn run(const Budget& budget) override {
    Turn turn;
    const bool had_room = has_room();
    check_room();
    take_answers();
    hand_over();
    if (!is_replayed && workers.empty() && answers.empty()) {
      if (connections.trouble != nullptr) {
        simulate(budget);
      } else {
        apply_inline(budget);
      }
    }
    while (turn.items < budget.items && !answers.empty()) {
      turn.items += deliver(std::min(kStep, budget.items - turn.items));
      if (time_is_up(budget)) break;
    }
    report_room(had_room);
    hand_over();  // Hands over what the answers' callbacks submitted.
    turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
    if (is_replayed) turn.backlog = tap != nullptr ? tap->backlog() : connections.records->backlog();
    return turn;
  }

  void check_room() {
    if (connections.records != nullptr) {
      while (connections.records->next_room(options.name, target_has_room)) record_room();
    } else if (connections.trouble != nullptr && connections.trouble->has_room() != target_has_room) {
      target_has_room = !target_has_room;
      record_room();
    }
  }

  void record_room() {
    if (connections.journal != nullptr) connections.journal->room_changed(options.name, target_has_room);
  }

  void report_room(bool had_room) {
    const bool room_came_back = (full || !had_room) && has_room();
    if (in_flight < options.operations_max) full = false;
    if (!room_came_back) return;
    for (const auto& listener : listeners) listener();
  }

  bool has_backlog() const override {
    if (!answers.empty() || std::ranges::any_of(workers, [](const Worker& worker) { return worker.finished.size() > 0; })) return true;
    if (is_replayed) return false;
    const bool any_waits = std::ranges::any_of(lanes, [](const LaneQueue& lane) { return !lane.empty(); });
    if (connections.trouble != nullptr) {
      const Instant now = clock.now();
      return connections.trouble->has_room() != target_has_room || std::ranges::any_of(simulated, [&](const Simulated& slot) {
               return slot.batch == nullptr ? any_waits : (slot.is_applied ? slot.times.answered : slot.times.applied) <= now;
             });
    }
    // If a thread has batches, the waiting operations of a lane are handed over when one of those batches is answered.
    return any_waits && (workers.empty() || std::ranges::any_of(workers, [](const Worker& worker) { return worker.with_thread == 0; }));
  }

  std::size_t depth() const override { return in_flight; }

  void apply_inline(const Budget& budget) {
    const auto lane = choice.next([this](std::size_t of) { return !lanes[of].empty(); });
    if (!lane) return;
    BatchPtr batch = take_batch(*lane, std::min<std::size_t>(budget.items, options.batch_max));
    apply(*batch);
    came_back(std::move(batch));
  }

  /// Does the part of the simulated target's work that is due. Each of its threads has one batch at a time.
  void simulate(const Budget& budget) {
    for (Simulated& slot : simulated) {
      if (slot.batch == nullptr) {
        const auto lane = choice.next([this](std::size_t of) { return !lanes[of].empty(); });
        if (!lane) continue;
        slot.batch = take_batch(*lane, std::min<std::size_t>(budget.items, options.batch_max));
        slot.times = connections.trouble->begin(*this, slot.batch->size);
        slot.is_applied = false;
      }
      if (!slot.is_applied && slot.times.applied <= clock.now()) {
        apply_with_failures(*slot.batch);
        slot.is_applied = true;
      }
      if (slot.is_applied && slot.times.answered <= clock.now()) came_back(std::move(slot.batch));
    }
  }

  void apply_with_failures(Batch& batch) {
    for (std::size_t first = 0; first < batch.size;) {
      std::size_t next = first;
      ExecutorTrouble::Failure failure;
      while (next < batch.size && failure.status.ok()) {
        failure = connections.trouble->next_failure();
        ++next;
      }
      const bool fails = !failure.status.ok();
      const std::size_t count = next - first - (fails && !failure.is_applied ? 1U : 0U);
      if (count > 0) batch.operations->apply(first, count);
      if (fails) batch.operations->status(next - 1) = std::move(failure.status);
      first = next;
    }
    batch.failed = batch.operations->failures();
  }

  // Delivers up to 'max' operations of the oldest batch; returns how many.
  std::uint32_t deliver(std::uint32_t max) {
    Batch& batch = *answers.front();
    if (delivered_shares == 0 && delivered == 0) {
      ++stats.batches;
      stats.full_batches += batch.size >= options.batch_max ? 1U : 0U;
      stats.failed += batch.failed;
      stats.busy += batch.busy;
    }
    Share& share = batch.shares[delivered_shares];
    const std::size_t count = std::min<std::size_t>(share.count, max);
    const std::size_t first = std::exchange(delivered, delivered + count);
    share.count -= count;
    const std::shared_ptr<Lot> lot = share.count == 0 ? std::move(share.lot) : share.lot;
    if (share.count == 0) {
      if (share.is_last)
        stats.latency_ns.add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, (clock.now() - lot->submitted).count())));
      ++delivered_shares;
    }
    in_flight -= count;
    stats.applied += count;
    // 'delivering' keeps the operations alive during the callback. The state above is complete, so the callback may submit.
    BatchPtr delivering;
    if (delivered_shares == batch.shares.size()) {
      delivering = std::move(answers.front());
      answers.pop_front();
      delivered_shares = delivered = 0;
    }
    lot->operations->deliver(*batch.operations, first, count);
    return static_cast<std::uint32_t>(std::max<std::size_t>(count, 1));
  }

  // --- Threads. Each ends on request, after its present batch.

  void work(Worker& worker, const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const std::uint32_t heard =
          worker.wake_count.load(std::memory_order_seq_cst);  // Read before the rings: a later batch changes it again.
      const auto lane = worker.choice.next([&worker](std::size_t of) { return worker.ready[of].available() > 0; });
      if (!lane) {
        if (!stop.stop_requested()) worker.wake_count.wait(heard, std::memory_order_seq_cst);
        continue;
      }
      Ring<BatchPtr>& ring = worker.ready[*lane];
      BatchPtr batch = ring.take();
      static_cast<void>(ring.release(1));
      apply(*batch);
      RONDO_ASSERT(worker.finished.room() > 0);  // fill() and hand_over() keep that room.
      worker.finished.put(std::move(batch));
      static_cast<void>(worker.finished.publish());
      wake_from_any_thread();
    }
  }

  Scheduler& home;
  ExecutorTap* const tap;            // Null: the host has the journal and the replay.
  std::unique_ptr<Operations> kind;  // Empty; makes the batches.
  const Clock& clock;
  const ExecutorOptions options;
  ExecutorHost::Connections connections;
  bool is_started = false;
  bool is_stopped = false;
  bool is_replayed = false;
  bool is_recorded = false;

  // Used by the scheduler's thread.
  std::vector<LaneQueue> lanes;
  LaneChoice choice;  // Used where no thread chooses.
  std::deque<BatchPtr> answers;
  std::vector<Simulated> simulated;                                     // One for each thread that the simulated target models.
  std::vector<std::string_view> recorded;                               // For a replay: the answers found by next_answered().
  std::map<std::pair<std::size_t, std::uint64_t>, BatchPtr> overtaken;  // For a replay, by lane and number: one operation each.
  std::size_t delivered_shares = 0;                                     // Shares of answers.front() that were delivered.
  std::size_t delivered = 0;
  std::size_t in_flight = 0;
  bool full = false;
  bool target_has_room = true;  // False only in a simulated world.
  std::vector<std::function<void()>> listeners;
  ExecutorStats stats;

  std::deque<Worker> workers;
};

ExecutorBase::ExecutorBase(Scheduler& scheduler, ExecutorOptions options, ExecutorTap* tap)
    : impl_(std::make_unique<Impl>(scheduler, std::move(options), tap)) {}
ExecutorBase::~ExecutorBase() = default;
ExecutorBase::Operations::~Operations() = default;

void ExecutorBase::start(std::unique_ptr<Operations> kind) { impl_->start(std::move(kind)); }
void ExecutorBase::end() { impl_->stop(); }

Status ExecutorBase::pin(std::span<const unsigned> cpus) {
  for (Worker& worker : impl_->workers) {
    if (Status pinned = pin_thread(worker.thread.native_handle(), cpus); !pinned.ok()) return pinned;
  }
  return {};
}

void ExecutorBase::submit(std::size_t lane, std::unique_ptr<Operations> operations) {
  auto lot = std::make_shared<Lot>();
  lot->size = operations->size();
  lot->operations = std::move(operations);
  impl_->submit(lane, std::move(lot));
}
bool ExecutorBase::has_room() const noexcept { return impl_->has_room(); }
void ExecutorBase::on_room(std::function<void()> wake) { impl_->listeners.push_back(std::move(wake)); }
std::size_t ExecutorBase::in_flight() const noexcept { return impl_->in_flight; }
const ExecutorStats& ExecutorBase::stats() const noexcept { return impl_->stats; }
const ExecutorOptions& ExecutorBase::options() const noexcept { return impl_->options; }

}  // namespace rondo
