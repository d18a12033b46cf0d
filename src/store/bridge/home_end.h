// HomeEnd: the home thread's end of a bridge. It carries a worker's writes and questions to the home store, in order, answers them, and
// owns the pumps of the worker's subscriptions. The worker's end is BridgeStore.
//
// Threads: the home thread, except where a function says worker. Until threaded(true), and after threaded(false), both ends belong to the
// home thread, and a call of the worker's end is made at once.
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

#include "rondo/sched/scheduler.h"
#include "rondo/sched/source.h"
#include "rondo/store/store.h"
#include "store/bridge/link.h"
#include "store/bridge/pump.h"

namespace rondo::store::bridge {

struct Options {
  std::string name = "worker";
  Priority requests = Priority::p7;  // Of the source that carries writes to the home store.
  std::size_t lane_changes = limits::kWorkerLane;
  std::size_t requests_max = limits::kWorkerRequests;
  Duration call_wait = limits::kWorkerCallWait;
};

class HomeEnd final : public Source {
 public:
  /// Joins 'home'. Both must outlive it, or close() must be called before they go.
  HomeEnd(Scheduler& home, Store& store, Options options);
  ~HomeEnd() override;

  Result<Backlog> collect() override { return backlog(); }
  Turn run(const Budget& budget) override;
  bool has_backlog() const override;

  /// The worker is about to have a thread of its own, or has lost it.
  void threaded(bool is) noexcept { threaded_ = is; }
  /// Pumps take nothing more from the tables. For good.
  void pause();
  /// Handles every request and call there is, whatever the budget.
  void serve();
  /// What the worker does wakes wait_for_bell() from now on, and not only the scheduler. Before the home thread waits for the worker.
  void listen_to_bell() { bell_wanted_.store(true, std::memory_order_seq_cst); }
  /// Waits until the worker's end, or somebody else, has rung since the last wait. Blocks; for the end of a worker only.
  void wait_for_bell();
  /// Any thread. 'surely': also when nobody said yet that he listens.
  void ring_bell(bool surely = false);
  /// Serves what is left and leaves the home scheduler and store; whatever the worker asks from now on is Unavailable.
  void close();

  // --- Worker.
  Link& link() noexcept { return *link_; }
  const Options& options() const noexcept { return options_; }
  /// Hands a request over. False when the ring is full.
  bool request(Request&& request);
  /// The worker had to refuse a request before it came to request().
  void note_refused_request() noexcept { refused_requests_.fetch_add(1, std::memory_order_relaxed); }
  /// Makes a call on the home thread, after all requests handed over before, and waits for its end. Unavailable when the home end is
  /// closed, DeadlineExceeded after Options::call_wait; then 'what' has not been made, or 'undo' was, too.
  Status call(std::function<void(HomeEnd&)> what, std::function<void(HomeEnd&)> undo = {});
  /// The same without waiting: it is made before any later call. Nothing happens when the home end is closed.
  void post(std::function<void(HomeEnd&)> what);

  // --- Inside a call.
  Store& store() noexcept { return *store_; }
  Status open_lane(const std::shared_ptr<Lane>& lane, const SubscribeOptions& options, Priority priority);
  void close_lane(const Lane* lane);
  /// See Subscription: of a table that the worker consumes.
  void dealt_with(const TableSpec& table, const Change& change);
  void requeue(const TableSpec& table, std::string_view key);

  /// Writes that the store refused and whose writer did not ask. Any thread.
  std::uint64_t refused_writes() const noexcept { return refused_.load(std::memory_order_relaxed); }
  /// Requests that found no room, and calls that got no turn. Any thread.
  std::uint64_t refused_requests() const noexcept { return refused_requests_.load(std::memory_order_relaxed); }
  std::uint64_t late_calls() const noexcept { return late_calls_.load(std::memory_order_relaxed); }

 private:
  struct Call {
    std::uint64_t after = 0;  // Requests that come first.
    std::function<void(HomeEnd&)> what;
    std::function<void(HomeEnd&)> undo;
    bool done = false;       // Guarded by calls_mutex_.
    bool abandoned = false;  // Guarded by calls_mutex_.
  };
  void handle(Request&& request);
  void write(Request&& request);
  std::uint32_t handle_requests(std::uint32_t max);
  std::shared_ptr<Call> add_call(std::function<void(HomeEnd&)> what, std::function<void(HomeEnd&)> undo);
  void handle_calls();
  std::shared_ptr<Call> next_call();
  void finish(const std::shared_ptr<Call>& call);
  Backlog backlog();

  Options options_;
  Store* store_;
  std::shared_ptr<Link> link_;
  std::vector<std::unique_ptr<Pump>> pumps_;
  bool threaded_ = false;
  bool closed_ = false;
  bool paused_ = false;
  std::uint64_t handled_ = 0;
  std::uint64_t requested_ = 0;  // Worker's.
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> refused_requests_{0};
  std::atomic<std::uint64_t> late_calls_{0};

  mutable std::mutex calls_mutex_;
  std::condition_variable calls_changed_;    // For the worker: its call is done.
  std::deque<std::shared_ptr<Call>> calls_;  // Guarded by calls_mutex_.
  std::atomic<bool> bell_wanted_{false};
  std::mutex bell_mutex_;
  std::condition_variable bell_rung_;
  bool bell_ = false;  // Guarded by bell_mutex_.
};

}  // namespace rondo::store::bridge
