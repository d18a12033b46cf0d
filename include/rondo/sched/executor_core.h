// executor_core.h: the part of an Executor that does not depend on the type of its operations. User code includes rondo/sched/executor.h
// and uses ExecutorOptions and ExecutorStats of this file; the namespace rondo::executor is internal to Executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/base/metrics.h"
#include "rondo/base/status.h"
#include "rondo/base/time.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/source.h"

namespace rondo {

class Scheduler;

enum class ExecutorMode : std::uint8_t {
  Thread,  // apply() runs on threads of the executor.
  Inline,  // apply() runs in turns of the executor's source: for tests, and for targets that do not block.
};

/// What the destructor of an executor does with the operations whose apply() has not begun.
enum class ExecutorEnd : std::uint8_t { Apply, Drop };

struct ExecutorOptions {
  /// Names the executor's source, and its records in a journal. Two executors of a runtime need different names for a replay.
  std::string name = "executor";
  /// For messages: the name of what apply() calls.
  std::string target = "the target";
  ExecutorMode mode = ExecutorMode::Thread;
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

namespace executor {

/// The operations of one submit(), and its callback.
struct Lot {
  Lot() = default;
  Lot(const Lot&) = delete;
  Lot& operator=(const Lot&) = delete;
  virtual ~Lot();
  Instant submitted;
  std::size_t size = 0;
  std::size_t taken = 0;  // Operations that were moved into batches.
};

/// The part of a batch that belongs to one lot.
struct Share {
  std::size_t count = 0;
  bool is_last = false;  // The lot ends with this share.
  std::shared_ptr<Lot> lot;
};

/// The operations of one apply(), from one or more lots.
struct Batch {
  Batch() = default;
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  virtual ~Batch();
  std::size_t size = 0;
  std::vector<Share> shares;
  std::size_t lane = 0;
  std::uint64_t first = 0;  // The number of its first operation in its lane, counted from 0; the others follow it.
  std::uint64_t failed = 0;
  Duration busy{0};
};

/// Operations or answers in the encoding of a codec.
struct Texts {
  std::string bytes;
  std::vector<std::size_t> ends;  // End of each text in 'bytes'.
  /// 'append' must append the next text to the string that it receives.
  template <class Append>
  void add(const Append& append) {
    append(bytes);
    ends.push_back(bytes.size());
  }
  std::size_t size() const noexcept { return ends.size(); }
  std::string_view operator[](std::size_t index) const noexcept {
    const std::size_t begin = index == 0 ? 0 : ends[index - 1];
    return std::string_view{bytes}.substr(begin, ends[index] - begin);
  }
};

/// Appends the code, errno and message of a status; it is the beginning of an answer's bytes.
void append_status(const Status& status, std::string& to);
/// Removes a status from the beginning of 'from'. False if there is none.
bool take_status(std::string_view& from, Status& status);

/// Interface of the core to the Executor that knows the type. One call per lot or batch. Scheduler's thread, unless a comment says
/// otherwise.
class Typed {
 public:
  virtual ~Typed() = default;
  virtual std::unique_ptr<Batch> make_batch() const = 0;
  /// Moves the next 'count' operations of 'lot' to the end of 'batch', which will have at most 'reserve' operations. Does not change
  /// Lot::taken and Batch::size.
  virtual void move(Lot& lot, std::size_t count, Batch& batch, std::size_t reserve) const = 0;
  /// Applies operations of a batch; does not throw. Called on a thread of the executor.
  virtual void apply(Batch& batch, std::size_t first, std::size_t count) = 0;
  virtual std::size_t failures_of(const Batch& batch) const = 0;
  virtual void set_status(Batch& batch, std::size_t index, Status status) const = 0;
  /// Calls the callback of 'lot' with operations of 'batch'.
  virtual void deliver(Lot& lot, Batch& batch, std::size_t first, std::size_t count) = 0;
  virtual bool is_recorded() const = 0;
  virtual void record_submitted(std::size_t lane, const Lot& lot) = 0;
  virtual void record_answered(const Batch& batch) = 0;

  // The following functions replace apply() in a replay.

  virtual bool is_replayed() const = 0;
  virtual void attach(Source& source) = 0;
  /// Value for 'first': the batch has the oldest operations of its lane.
  static constexpr std::uint64_t kOldest = UINT64_MAX;
  /// The next recorded batch whose answers are due: its lane, the number of its first operation (Batch::first) or kOldest, and the number
  /// of its operations. False if none is due yet.
  virtual bool next_answered(std::size_t& lane, std::uint64_t& first, std::size_t& count) = 0;
  /// Moves the operations of 'from' to the end of 'to'. Does not change the members of executor::Batch.
  virtual void join(Batch& to, Batch& from) const = 0;
  /// Writes the recorded answers of that batch into 'batch', which has fewer operations if this run submitted fewer.
  virtual void fill(Batch& batch) = 0;
  virtual Backlog recorded_backlog() = 0;
};

/// Lanes, batches, threads and the source that delivers answers.
class Core {
 public:
  /// 'typed' must outlive it. 'uses_host': the executor uses the scheduler's ExecutorHost for its journal, replay or simulated world.
  Core(Scheduler& scheduler, ExecutorOptions options, Typed& typed, bool uses_host);
  ~Core();
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  /// Adds the source and starts the threads. Throws std::system_error when a thread cannot be started.
  void start();
  Status pin(std::span<const unsigned> cpus);
  void submit(std::size_t lane, std::shared_ptr<Lot> lot);
  bool has_room() const noexcept;
  void on_room(std::function<void()> wake);
  std::size_t in_flight() const noexcept;
  const ExecutorStats& stats() const noexcept;
  const ExecutorOptions& options() const noexcept;

  // The journal and the replay of the host, for an Executor with a codec.

  bool has_journal() const noexcept;
  void record_orders(std::size_t lane, const Texts& orders);
  void record_answers(std::size_t lane, std::uint64_t first, const Texts& answers);
  bool is_replayed() const noexcept;
  /// The views are valid until the next call of the core.
  bool next_recorded(std::size_t& lane, std::uint64_t& first, std::vector<std::string_view>& answers);
  Backlog recorded_backlog();
  /// Ends the replay because an answer cannot be decoded.
  void refuse_recorded(std::string_view why);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace executor
}  // namespace rondo
