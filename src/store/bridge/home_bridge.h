// HomeBridge: the home thread's side of a bridge. It passes a worker's writes and reads to the home store, in order, and sends back the
// answers. It owns the forwarders of the worker's subscriptions. The worker's side is BridgeStore.
//
// Threads: the home thread, except for functions marked "worker". Until threaded(true), and after threaded(false), both sides belong to the
// home thread, and a call of the worker's side runs immediately.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rondo/base/limits.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/store/store.h"
#include "store/bridge/forwarder.h"
#include "store/bridge/link.h"

namespace rondo::store::bridge {

struct Options {
  std::string name = "worker";
  Priority requests = Priority::p7;  // The priority of the source that passes writes to the home store.
  std::size_t ring_changes = limits::kWorkerRing;
  std::size_t requests_max = limits::kWorkerRequests;
  Duration call_wait = limits::kWorkerCallWait;
};

class HomeBridge final : public Source {
 public:
  /// Joins 'home'. Both must outlive this object, unless close() is called before they are destroyed.
  HomeBridge(Scheduler& home, Store& store, Options options);
  ~HomeBridge() override;

  Result<Backlog> collect() override { return backlog(); }
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

  /// True before the worker gets a thread of its own; false after that thread has ended.
  void threaded(bool is) noexcept { threaded_ = is; }
  /// Stops the forwarders permanently: they take nothing more from the tables.
  void pause();
  /// Handles all pending requests and calls, whatever the budget.
  void serve();
  /// From now on signal() wakes wait_for_signal() as well as the scheduler. Call this before the home thread waits for the worker.
  void listen_for_signals() { signal_wanted_.store(true, std::memory_order_seq_cst); }
  /// Blocks until signal() has been called since the last wait. Only used while a worker ends.
  void wait_for_signal();
  /// Any thread. With 'surely' it wakes wait_for_signal() even if listen_for_signals() was not called yet.
  void signal(bool surely = false);
  /// Serves the pending requests, then leaves the home scheduler and store. Later calls of the worker return Unavailable.
  void close();

  /// True if the worker subscribes to 'table'.
  bool consumes(std::string_view table) const;

  // --- Worker.
  Link& link() noexcept { return *link_; }
  const Options& options() const noexcept { return options_; }
  /// Enqueues a request. False when the ring is full.
  bool request(Request&& request);
  /// Counts a request that the worker refused before it called request().
  void note_refused_request() noexcept { refused_requests_.fetch_add(1, std::memory_order_relaxed); }
  /// Runs 'what' on the home thread, after all requests enqueued before, and waits until it has ended. Unavailable when the home side is
  /// closed. DeadlineExceeded after Options::call_wait: then either 'what' does not run, or 'undo' runs after it.
  Status call(std::function<void(HomeBridge&)> what, std::function<void(HomeBridge&)> undo = {});
  /// Like call() without waiting; 'what' runs before any later call. Does nothing when the home side is closed.
  void post(std::function<void(HomeBridge&)> what);

  // --- Called from inside a call.
  Store& store() noexcept { return *store_; }
  Status open_ring(const std::shared_ptr<ChangeRing>& ring, const SubscribeOptions& options, Priority priority);
  void close_ring(const ChangeRing* ring);
  /// See Subscription. 'table' is a table that the worker consumes.
  void ack(const TableSpec& table, const Change& change);
  void requeue(const TableSpec& table, std::string_view key);

  /// Writes without a WriteDone that the store refused. Any thread.
  std::uint64_t refused_writes() const noexcept { return refused_.load(std::memory_order_relaxed); }
  /// refused_requests(): requests that found no room in the ring. late_calls(): calls that timed out before their turn. Any thread.
  std::uint64_t refused_requests() const noexcept { return refused_requests_.load(std::memory_order_relaxed); }
  std::uint64_t late_calls() const noexcept { return late_calls_.load(std::memory_order_relaxed); }

 private:
  struct Call {
    std::uint64_t after = 0;  // The call runs once this many requests have been handled.
    std::function<void(HomeBridge&)> what;
    std::function<void(HomeBridge&)> undo;
    bool done = false;       // Guarded by calls_mutex_.
    bool abandoned = false;  // Guarded by calls_mutex_.
  };
  void handle(Request&& request);
  void write(Request&& request);
  std::uint32_t handle_requests(std::uint32_t max);
  std::shared_ptr<Call> add_call(std::function<void(HomeBridge&)> what, std::function<void(HomeBridge&)> undo);
  void handle_calls();
  std::shared_ptr<Call> next_call();
  void finish(const std::shared_ptr<Call>& call);
  Backlog backlog();

  Options options_;
  Store* store_;
  std::shared_ptr<Link> link_;
  std::vector<std::unique_ptr<Forwarder>> forwarders_;
  bool threaded_ = false;
  bool closed_ = false;
  bool paused_ = false;
  std::uint64_t handled_ = 0;
  std::uint64_t requested_ = 0;  // Used by the worker only.
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> refused_requests_{0};
  std::atomic<std::uint64_t> late_calls_{0};

  mutable std::mutex calls_mutex_;
  std::condition_variable calls_changed_;    // Wakes the worker when its call is done.
  std::deque<std::shared_ptr<Call>> calls_;  // Guarded by calls_mutex_.
  std::atomic<bool> signal_wanted_{false};
  std::mutex signal_mutex_;
  std::condition_variable signal_changed_;
  bool signalled_ = false;  // Guarded by signal_mutex_.
};

}  // namespace rondo::store::bridge
