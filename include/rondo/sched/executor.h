// Executor: makes a blocking target asynchronous. A target is a device, a kernel, the API of a service: anything that apply() may wait for.
// Orchs submit operations; threads of the executor apply them in batches. A turn of the scheduler delivers each operation with its status.
// Turns never wait for the target. See examples/03_own_data_plane.cc. The switch's Programmer is an Executor.
//   Executor<Call> backends(runtime.scheduler(), [&api](std::span<Call> calls) { ... }, {.name = "backends", .target = "the balancer"});
//   backends.submit(0, std::move(calls), [this](std::span<Call> answered) { ... settle ... });
//
// Order: with one thread the operations of one lane are applied and delivered in the order in which they were submitted. Lanes have no
// order between them. If an operation depends on one in another lane, the caller submits it after that operation's answer.
// Errors: each operation has its own status. If apply() throws, every operation of the batch that is ok gets an Internal status.
// Bounds: a batch has at most ExecutorOptions::batch_max operations, and a turn delivers at most its budget. submit() never refuses: a
// caller that submits in bulk checks has_room() first, and holds its consumers until on_room().
// Cost: two allocations per submission; operations are moved twice.
// Journal: with an OperationCodec, a runtime with a journal records submissions and answers. A replay (replay/replay.h) delivers the
// recorded answers and applies nothing. Without a codec the operations are not in the journal: a replay applies nothing either, and ends
// with a difference at the first turn that delivered answers. Simulation: in a sim::World the executor has no thread, whatever its mode;
// FaultPlan::operations... sets the faults. Threads: all functions are called on the scheduler's thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <exception>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rondo/base/assert.h"
#include "rondo/base/status.h"
#include "rondo/sched/executor_core.h"

namespace rondo {

/// An operation is movable and has a member 'status', ok by default, which apply() sets when the operation fails. Further members hold
/// results.
template <class T>
concept ExecutorOperation = std::movable<T> && std::default_initializable<decltype(T::status)> && std::same_as<decltype(T::status), Status>;

/// Encodes the operations of an executor for a journal. The bytes may be text; `rondo journal` prints them. Set all three functions or none
/// (asserted).
template <ExecutorOperation Operation>
struct OperationCodec {
  /// Appends bytes that differ if the operations differ: a replay compares them.
  std::function<void(const Operation& operation, std::string& bytes)> encode_order = {};
  /// Appends what apply() wrote, without the status, which is recorded separately. Appends nothing if there is nothing.
  std::function<void(const Operation& operation, std::string& bytes)> encode_answer = {};
  /// Decodes the bytes into 'operation'. False if they are not an answer; the replay ends with a difference there.
  std::function<bool(std::string_view bytes, Operation& operation)> decode_answer = {};
};

/// Receives each submission and each answered batch, in order. Scheduler's thread.
template <ExecutorOperation Operation>
class ExecutorObserver {
 public:
  virtual ~ExecutorObserver() = default;
  virtual void submitted(std::size_t lane, std::span<const Operation> operations) = 0;
  /// A batch was answered: with one thread, the oldest unanswered operations of a lane.
  virtual void answered(std::size_t lane, std::span<const Operation> operations) = 0;
};

/// Replaces the target: gives the answers of a recorded run, at the recorded times.
template <ExecutorOperation Operation>
class ExecutorAnswers {
 public:
  virtual ~ExecutorAnswers() = default;
  /// Sets the source whose turns deliver answers. When it is woken, it calls next() in collect() and in its turn.
  virtual void attach(Source& source) = 0;
  /// The next batch whose answers are due: its lane and the number of its operations. False if none is due yet.
  virtual bool next(std::size_t& lane, std::size_t& count) = 0;
  /// Writes the answers of that batch into the operations; there are fewer of them if this run submitted fewer.
  virtual void answer(std::span<Operation> operations) = 0;
  /// The backlog that the recorded run reported at the end of the current turn.
  virtual Backlog backlog() = 0;
};

template <ExecutorOperation Operation>
class Executor {
 public:
  /// Carries operations out, in order, and sets the status of each that fails. May block. Runs on one thread of the executor, or
  /// concurrently on ExecutorOptions::threads of them.
  using Apply = std::function<void(std::span<Operation> operations)>;
  /// Called on the scheduler's thread with the operations of one submission in their order, each with its status. A submission may be
  /// delivered in several turns; each operation is delivered once. With more than one thread the parts are delivered in the order in which
  /// they end. If it throws, the executor's source is quarantined.
  using Done = std::function<void(std::span<Operation> operations)>;

  /// 'scheduler' must outlive it. Throws std::system_error when a thread cannot be started.
  Executor(Scheduler& scheduler, Apply apply, ExecutorOptions options = {}, OperationCodec<Operation> codec = {})
      : typed_(std::move(apply), std::move(codec)), core_(start(scheduler, std::move(options), true)) {}
  /// For callers that record and replay the operations themselves. Both pointers may be null, and must outlive the executor. The executor
  /// then uses neither the runtime's journal nor the faults of a simulated world. With 'answers' nothing is applied.
  Executor(Scheduler& scheduler, Apply apply, ExecutorOptions options, ExecutorObserver<Operation>* observer,
           ExecutorAnswers<Operation>* answers)
      : typed_(std::move(apply), observer, answers), core_(start(scheduler, std::move(options), false)) {}
  /// Waits for the apply() calls that run. Then applies the remaining operations, or drops them (ExecutorOptions::at_end). Calls no
  /// callback.
  ~Executor() = default;
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  /// Binds the threads to 'cpus' (see base/thread_settings.h for the reason and the errors). Does nothing with ExecutorMode::Inline.
  Status pin(std::span<const unsigned> cpus) { return core_->pin(cpus); }

  /// Submits operations. A turn after the current one hands them over; small submissions of a lane then share a batch. Never blocks and
  /// never refuses. 'lane' must be below the number of lanes (asserted). 'done' may be empty.
  void submit(std::size_t lane, std::vector<Operation> operations, Done done) {
    if (operations.empty()) return;
    auto lot = std::make_shared<Lot>();
    lot->size = operations.size();
    lot->operations = std::move(operations);
    lot->done = std::move(done);
    core_->submit(lane, std::move(lot));
  }

  /// True while fewer than 'operations_max' operations are in flight.
  bool has_room() const noexcept { return core_->has_room(); }
  /// Calls 'wake', in the turn that delivers answers, each time has_room() becomes true again. Several functions may be set; each is
  /// called.
  void on_room(std::function<void()> wake) { core_->on_room(std::move(wake)); }

  std::size_t in_flight() const noexcept { return core_->in_flight(); }
  const ExecutorStats& stats() const noexcept { return core_->stats(); }

 private:
  struct Lot final : executor::Lot {
    std::vector<Operation> operations;
    Done done;
  };
  struct Batch final : executor::Batch {
    std::vector<Operation> operations;
  };

  /// The functions of the core that depend on the type.
  class Typed final : public executor::Typed {
   public:
    Typed(Apply apply, OperationCodec<Operation> codec) : apply_(std::move(apply)), codec_(std::move(codec)) {
      const bool is_whole = codec_.encode_order && codec_.encode_answer && codec_.decode_answer;
      const bool is_none = !codec_.encode_order && !codec_.encode_answer && !codec_.decode_answer;
      RONDO_EXPECT(is_whole || is_none, "an OperationCodec was given some of its functions; give all three or none");
    }
    Typed(Apply apply, ExecutorObserver<Operation>* observer, ExecutorAnswers<Operation>* answers)
        : apply_(std::move(apply)), observer_(observer), answers_(answers) {}
    void set_core(executor::Core& core) noexcept { core_ = &core; }

    std::unique_ptr<executor::Batch> make_batch() const override { return std::make_unique<Batch>(); }
    void move(executor::Lot& from, std::size_t count, executor::Batch& to, std::size_t reserve) const override {
      Lot& lot = static_cast<Lot&>(from);
      std::vector<Operation>& operations = static_cast<Batch&>(to).operations;
      if (operations.empty() && lot.taken == 0 && count == lot.size) {  // Moves the whole vector instead of each operation.
        operations = std::move(lot.operations);
        return;
      }
      operations.reserve(reserve);
      const auto first = lot.operations.begin() + static_cast<std::ptrdiff_t>(lot.taken);
      std::move(first, first + static_cast<std::ptrdiff_t>(count), std::back_inserter(operations));
      // Frees the memory now, because the lot lives until its last answer.
      if (lot.taken + count == lot.size) std::vector<Operation>{}.swap(lot.operations);
    }
    void apply(executor::Batch& batch, std::size_t first, std::size_t count) override {
      const std::span<Operation> operations = part(batch, first, count);
      try {
        apply_(operations);
      } catch (const std::exception& error) {
        fail(operations, error.what());
      } catch (...) {
        fail(operations, "something that is no std::exception");
      }
    }
    std::size_t failures_of(const executor::Batch& batch) const override {
      const std::vector<Operation>& operations = static_cast<const Batch&>(batch).operations;
      return static_cast<std::size_t>(
          std::count_if(operations.begin(), operations.end(), [](const Operation& o) { return !o.status.ok(); }));
    }
    void set_status(executor::Batch& batch, std::size_t index, Status status) const override {
      static_cast<Batch&>(batch).operations[index].status = std::move(status);
    }
    void deliver(executor::Lot& lot, executor::Batch& batch, std::size_t first, std::size_t count) override {
      const Done& done = static_cast<Lot&>(lot).done;
      if (done) done(part(batch, first, count));
    }

    bool is_recorded() const override { return observer_ != nullptr || (codec_.encode_order && core_->has_journal()); }
    void record_submitted(std::size_t lane, const executor::Lot& lot) override {
      const std::vector<Operation>& operations = static_cast<const Lot&>(lot).operations;
      if (observer_ != nullptr) return observer_->submitted(lane, operations);
      executor::Texts texts;
      for (const Operation& operation : operations) texts.add([&](std::string& to) { codec_.encode_order(operation, to); });
      core_->record_orders(lane, texts);
    }
    void record_answered(const executor::Batch& batch) override {
      const std::vector<Operation>& operations = static_cast<const Batch&>(batch).operations;
      if (observer_ != nullptr) return observer_->answered(batch.lane, operations);
      executor::Texts texts;
      for (const Operation& operation : operations) {
        texts.add([&](std::string& to) {
          executor::append_status(operation.status, to);
          codec_.encode_answer(operation, to);
        });
      }
      core_->record_answers(batch.lane, batch.first, texts);
    }

    bool is_replayed() const override { return answers_ != nullptr || core_->is_replayed(); }
    void attach(Source& source) override {
      if (answers_ != nullptr) answers_->attach(source);
    }
    bool next_answered(std::size_t& lane, std::uint64_t& first, std::size_t& count) override {
      if (answers_ != nullptr) {
        first = kOldest;
        return answers_->next(lane, count);
      }
      if (!codec_.decode_answer || !core_->next_recorded(lane, first, recorded_)) return false;
      count = recorded_.size();
      return true;
    }
    void join(executor::Batch& to, executor::Batch& from) const override {
      std::vector<Operation>& operations = static_cast<Batch&>(to).operations;
      std::ranges::move(static_cast<Batch&>(from).operations, std::back_inserter(operations));
    }
    void fill(executor::Batch& batch) override {
      std::vector<Operation>& operations = static_cast<Batch&>(batch).operations;
      if (answers_ != nullptr) return answers_->answer(operations);
      for (std::size_t i = 0; i < operations.size(); ++i) {
        std::string_view bytes = recorded_[i];
        if (executor::take_status(bytes, operations[i].status) && codec_.decode_answer(bytes, operations[i])) continue;
        return core_->refuse_recorded("an answer that the codec cannot read");
      }
    }
    Backlog recorded_backlog() override { return answers_ != nullptr ? answers_->backlog() : core_->recorded_backlog(); }

   private:
    static std::span<Operation> part(executor::Batch& batch, std::size_t first, std::size_t count) {
      return std::span{static_cast<Batch&>(batch).operations}.subspan(first, count);
    }
    /// It is unknown whether the operations were carried out, so each gets an error, and the thread continues.
    void fail(std::span<Operation> operations, const char* what) const {
      for (Operation& operation : operations) {
        if (operation.status.ok()) operation.status = Status{StatusCode::Internal, core_->options().target + " threw: " + what};
      }
    }

    Apply apply_;
    OperationCodec<Operation> codec_;
    ExecutorObserver<Operation>* observer_ = nullptr;
    ExecutorAnswers<Operation>* answers_ = nullptr;
    executor::Core* core_ = nullptr;
    std::vector<std::string_view> recorded_;  // Answers found by next_answered().
  };

  std::unique_ptr<executor::Core> start(Scheduler& scheduler, ExecutorOptions options, bool uses_host) {
    auto core = std::make_unique<executor::Core>(scheduler, std::move(options), typed_, uses_host);
    typed_.set_core(*core);
    core->start();
    return core;
  }

  Typed typed_;
  std::unique_ptr<executor::Core> core_;  // Last member, destroyed first: its threads use the members before it.
};

}  // namespace rondo
