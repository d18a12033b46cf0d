// Executor: makes a blocking target asynchronous. A target is a device, a kernel, the API of a service: anything that apply() may wait for.
// Orchs submit operations; threads of the executor apply them in batches. A turn of the scheduler delivers each operation with its status.
// Turns never wait for the target. See examples/03_own_data_plane.cc. A Switch has one, too.
//   Executor<Call> backends(runtime.scheduler(), [&api](std::span<Call> calls) { ... }, {.name = "backends", .target = "the balancer"});
//   backends.submit(0, std::move(calls), [this](std::span<Call> answered) { ... settle ... });
//
// Order: with one thread the operations of one lane are applied and delivered in the order in which they were submitted. Lanes have no
// order between them. If an operation depends on one in another lane, the caller submits it after that operation's answer.
// Errors: each operation has its own status. If apply() throws, every operation of the batch that is ok gets an Internal status.
// Bounds: a batch has at most ExecutorOptions::batch_max operations, and a turn delivers at most its budget. submit() never refuses: a
// caller that submits in bulk checks has_room() first, and holds its consumers until on_room().
// Cost: four allocations per submission; operations are moved twice.
// Journal: with an OperationCodec, a runtime with a journal records submissions and answers. A replay (replay/replay.h) delivers the
// recorded answers and applies nothing. Without a codec the operations are not in the journal: a replay applies nothing either, and ends
// with a difference at the first turn that delivered answers. Simulation: in a sim::World the executor has no thread;
// FaultPlan::operations... sets the faults. Threads: all functions are called on the scheduler's thread.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
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
#include "rondo/base/limits.h"
#include "rondo/base/metrics.h"
#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/sched/priority.h"

namespace rondo {

class ExecutorTap;
class Scheduler;

/// What the destructor of an executor does with the operations whose apply() has not begun.
enum class ExecutorEnd : std::uint8_t { Apply, Drop };

struct ExecutorOptions {
  /// Names the executor's source, and its records in a journal. Two executors of a runtime need different names for a replay.
  std::string name = "executor";
  /// For messages: the name of what apply() calls.
  std::string target = "the target";
  /// apply() runs in turns of the executor's source, not on threads: for tests, and for targets that do not block.
  bool in_line = false;
  /// 1 to limits::kExecutorThreads (asserted). With more than one thread, batches are applied concurrently and delivered in the order in
  /// which they end. Use several threads only for operations that do not depend on each other.
  unsigned threads = 1;
  /// One number per lane, the most urgent lane first; 1 to limits::kExecutorLanes lanes (asserted). The number, at least 1 (asserted),
  /// limits how many batches the lane gets in a row while a less urgent lane waits. So an urgent lane overtakes between two batches, and no
  /// lane starves.
  std::vector<unsigned> lanes = {1};
  /// Priority of the turns that deliver answers. It should be above the priority of the sources that wait for the answers.
  Priority priority{48};
  /// has_room() is false while this many operations are in flight.
  std::size_t operations_max = limits::kExecutorOperations;
  /// The most operations of one apply().
  std::size_t batch_max = limits::kExecutorBatch;
  ExecutorEnd at_end = ExecutorEnd::Apply;
};

/// Figures; read on the scheduler's thread.
struct ExecutorStats {
  std::uint64_t submitted = 0;
  std::uint64_t applied = 0;  // Operations with an answer, failed ones included.
  std::uint64_t failed = 0;
  std::uint64_t batches = 0;
  std::uint64_t full_batches = 0;  // Batches of ExecutorOptions::batch_max operations.
  std::uint64_t full = 0;          // Times has_room() became false because operations_max operations were in flight.
  Duration busy{0};                // Time inside apply(), summed over all threads.
  Histogram latency_ns;            // From submit to the answer's turn, one sample per submission.
};

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

/// The part of an Executor that does not depend on the type of its operations.
class ExecutorBase {
 public:
  ExecutorBase(const ExecutorBase&) = delete;
  ExecutorBase& operator=(const ExecutorBase&) = delete;

  /// Binds the threads to 'cpus' (see base/thread_settings.h for the reason and the errors). Does nothing with ExecutorOptions::in_line.
  Status pin(std::span<const unsigned> cpus);
  /// True while fewer than 'operations_max' operations are in flight.
  bool has_room() const noexcept;
  /// Calls 'wake', in the turn that delivers answers, each time has_room() becomes true again. Several functions may be set; each is
  /// called.
  void on_room(std::function<void()> wake);
  std::size_t in_flight() const noexcept;
  const ExecutorStats& stats() const noexcept;

 protected:
  /// A vector of operations: those of one submission, or those of one apply().
  class Operations {
   public:
    Operations() = default;
    Operations(const Operations&) = delete;
    Operations& operator=(const Operations&) = delete;
    virtual ~Operations();
    /// An empty one of the same executor.
    virtual std::unique_ptr<Operations> make() const = 0;
    virtual std::size_t size() const noexcept = 0;
    /// Moves 'count' operations of 'from' to the end, which then has at most 'reserve' of them; 'first' is the number of the first of them.
    /// Frees the memory of 'from' when its last operation is moved.
    virtual void take(Operations& from, std::size_t first, std::size_t count, std::size_t reserve) = 0;
    /// Applies 'count' operations; does not throw. Called on a thread of the executor.
    virtual void apply(std::size_t first, std::size_t count) = 0;
    virtual std::size_t failures() const = 0;
    virtual Status& status(std::size_t index) = 0;
    /// Calls the callback of this submission with operations of 'batch'.
    virtual void deliver(Operations& batch, std::size_t first, std::size_t count) const = 0;
    // See OperationCodec.
    virtual bool has_codec() const noexcept = 0;
    virtual void encode_order(std::size_t index, std::string& bytes) const = 0;
    virtual void encode_answer(std::size_t index, std::string& bytes) const = 0;
    virtual bool decode_answer(std::size_t index, std::string_view bytes) = 0;
  };

  /// With a 'tap' the executor uses neither the runtime's journal nor the faults of a simulated world.
  ExecutorBase(Scheduler& scheduler, ExecutorOptions options, ExecutorTap* tap);
  ~ExecutorBase();
  /// Adds the source and starts the threads. 'kind' makes the batches. Throws std::system_error when a thread cannot be started.
  void start(std::unique_ptr<Operations> kind);
  /// Joins the threads; applies or drops the remaining operations. No function of the executor's type is called after it.
  void end();
  void submit(std::size_t lane, std::unique_ptr<Operations> operations);
  const ExecutorOptions& options() const noexcept;

 private:
  friend class ExecutorTap;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

template <ExecutorOperation Operation>
class Executor final : public ExecutorBase {
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
      : Executor(scheduler, std::move(apply), std::move(options), std::move(codec), nullptr) {}
  /// For operations that are recorded in another way, or not at all. 'tap' must outlive the executor.
  Executor(Scheduler& scheduler, Apply apply, ExecutorOptions options, ExecutorTap& tap)
      : Executor(scheduler, std::move(apply), std::move(options), {}, &tap) {}
  /// Waits for the apply() calls that run. Then applies the remaining operations, or drops them (ExecutorOptions::at_end). Calls no
  /// callback.
  ~Executor() { end(); }

  /// Submits operations. A turn after the current one hands them over; small submissions of a lane then share a batch. Never blocks and
  /// never refuses. 'lane' must be below the number of lanes (asserted). 'done' may be empty.
  void submit(std::size_t lane, std::vector<Operation> operations, Done done) {
    if (operations.empty()) return;
    auto submission = std::make_unique<Vector>(*this);
    submission->operations = std::move(operations);
    submission->done = std::move(done);
    ExecutorBase::submit(lane, std::move(submission));
  }

 private:
  friend class ExecutorTap;
  class Vector final : public Operations {
   public:
    explicit Vector(Executor& executor) noexcept : executor_(executor) {}
    std::unique_ptr<Operations> make() const override { return std::make_unique<Vector>(executor_); }
    std::size_t size() const noexcept override { return operations.size(); }
    void take(Operations& from, std::size_t first, std::size_t count, std::size_t reserve) override {
      std::vector<Operation>& source = static_cast<Vector&>(from).operations;
      if (operations.empty() && first == 0 && count == source.size()) {  // Moves the whole vector instead of each operation.
        operations = std::move(source);
        return;
      }
      operations.reserve(reserve);
      const auto begin = source.begin() + static_cast<std::ptrdiff_t>(first);
      std::move(begin, begin + static_cast<std::ptrdiff_t>(count), std::back_inserter(operations));
      // Frees the memory now, because a submission lives until its last answer.
      if (first + count == source.size()) std::vector<Operation>{}.swap(source);
    }
    void apply(std::size_t first, std::size_t count) override {
      const std::span<Operation> part = std::span{operations}.subspan(first, count);
      try {
        executor_.apply_(part);
      } catch (const std::exception& error) {
        executor_.fail(part, error.what());
      } catch (...) {
        executor_.fail(part, "something that is no std::exception");
      }
    }
    std::size_t failures() const override {
      return static_cast<std::size_t>(
          std::count_if(operations.begin(), operations.end(), [](const Operation& o) { return !o.status.ok(); }));
    }
    Status& status(std::size_t index) override { return operations[index].status; }
    void deliver(Operations& batch, std::size_t first, std::size_t count) const override {
      if (done) done(std::span{static_cast<Vector&>(batch).operations}.subspan(first, count));
    }
    bool has_codec() const noexcept override { return executor_.codec_.encode_order != nullptr; }
    void encode_order(std::size_t index, std::string& bytes) const override { executor_.codec_.encode_order(operations[index], bytes); }
    void encode_answer(std::size_t index, std::string& bytes) const override { executor_.codec_.encode_answer(operations[index], bytes); }
    bool decode_answer(std::size_t index, std::string_view bytes) override {
      return executor_.codec_.decode_answer(bytes, operations[index]);
    }

    std::vector<Operation> operations;
    Done done;

   private:
    Executor& executor_;
  };

  Executor(Scheduler& scheduler, Apply apply, ExecutorOptions options, OperationCodec<Operation> codec, ExecutorTap* tap)
      : ExecutorBase(scheduler, std::move(options), tap), apply_(std::move(apply)), codec_(std::move(codec)) {
    const bool is_whole = codec_.encode_order && codec_.encode_answer && codec_.decode_answer;
    const bool is_none = !codec_.encode_order && !codec_.encode_answer && !codec_.decode_answer;
    RONDO_EXPECT(is_whole || is_none, "an OperationCodec was given some of its functions; give all three or none");
    start(std::make_unique<Vector>(*this));
  }
  /// It is unknown whether the operations were carried out, so each gets an error, and the thread continues.
  void fail(std::span<Operation> operations, const char* what) const {
    for (Operation& operation : operations) {
      if (operation.status.ok()) operation.status = Status{StatusCode::Internal, options().target + " threw: " + what};
    }
  }

  const Apply apply_;
  const OperationCodec<Operation> codec_;
};

}  // namespace rondo
