// The implementation of Runtime, shared by runtime.cc, orch.cc and why.cc: its members, in the order of construction; they are destroyed
// last first.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "orch/consumer.h"
#include "orch/elsewhere.h"
#include "orch/fact_index.h"
#include "orch/fact_observer.h"
#include "orch/fact_port.h"
#include "orch/fact_sweep.h"
#include "orch/observers.h"
#include "orch/post_box.h"
#include "orch/replayed_run.h"
#include "orch/row_tap.h"
#include "orch/runtime_executors.h"
#include "orch/runtime_part.h"
#include "orch/standing_rows.h"
#include "rondo/base/assert.h"
#include "rondo/orch/runtime.h"
#include "rondo/orch/worker.h"
#include "store/bridge/bridge_store.h"

namespace rondo {

struct Runtime::Impl {
  /// From now on facts cross to and from the other members of 'shared'. Call it once.
  void join(std::shared_ptr<SharedFacts> shared);
  /// Reports that 'rows' rows that waited for 'fact' were queued.
  void resolved(const Fact& fact, std::size_t rows);
  void notify_fact_observers(const Fact& fact, bool holds);
  /// The sweep found a fact that its provider did not announce or withdraw.
  void found(const Fact& fact, bool holds);
  /// Passes a handler's exception to on_reject.
  void report_thrown(std::string_view where, const Change& change, const std::exception_ptr& thrown) const;
  void log_rejects();
  /// Logs each source that is quarantined, until the program sets Scheduler::on_quarantine(). 'to' must outlive the turns.
  void log_quarantines(Log& to);
  /// Writes for an Orch, and reports a refusal.
  Status write(std::string_view table, Change change, WriteDone done);
  /// Reports the store's answer to a write if it is a refusal, and returns it.
  Status reported(Status accepted) {
    if (!accepted.ok()) {
      for (RuntimeEvents* const one : observers) one->write_refused(accepted);
    }
    return accepted;
  }
  /// Asserts that Runtime::'function' is called on the runtime's thread.
  void expect_here(std::string_view function, std::string_view of = {}) const;
  /// Reports a table of this program in which changes wait, and that none of its Orchs consumes.
  void add_unconsumed(const std::string& table, bool is_of_worker, std::vector<std::string>& found) const;

  SystemClock system_clock;
  std::unique_ptr<Reactor> own_reactor;
  const Clock* clock = nullptr;
  std::unique_ptr<RuntimeObserver> observer;  // RuntimeOptions::observer.
  Observers observers;                        // It and, in simulation, the world.
  std::unique_ptr<RuntimeExecutors> executors;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Store> store;
  store::bridge::BridgeStore* bridge = nullptr;  // A worker's store, as its concrete type; null in a home runtime.
  std::unique_ptr<FactPort> port;                // Null until a worker is made.
  FactIndex facts;
  std::unique_ptr<FactSweep> sweep;
  ForgottenFacts forgotten;
  Consumer::OnReject on_reject;
  std::unique_ptr<Log> log;  // RuntimeOptions::log_rejects; null if it is false.
  /// Collects the errors of an Orch while it is being constructed.
  struct Adding {
    explicit Adding(Impl& of);
    ~Adding();
    Adding(const Adding&) = delete;
    Adding& operator=(const Adding&) = delete;
    void refuse(Status why) {
      if (refused.ok()) refused = std::move(why);
    }
    Impl& parts;
    Adding* const outer;
    Status refused;
  };
  Adding* adding = nullptr;
  std::uint64_t writes = 0;                           // The number of writes whose end an Orch asked for; counted only with an observer.
  std::set<std::string, std::less<>> written_tables;  // Tables that the store knows.
  Ticket current;                                     // The ticket of the change whose handler is running.
  std::map<std::string, Consumer*, std::less<>> consumers;         // By table.
  std::unique_ptr<StandingRows> standing;                          // Null until a consumer has ConsumeOptions::needs.
  std::vector<std::pair<FactKind, FactObserver*>> fact_observers;  // Few entries: a linear search is faster than a map.
  std::vector<FactKind> observed;                                  // The kinds that have observers.
  std::map<std::string, std::function<std::vector<FactOrigin>(std::string_view)>, std::less<>> origins;  // By kind of fact.
  /// The callbacks of explain_state().
  struct StateTeller {
    StateOf state_of;
    std::function<PlaneCounts()> counts;
  };
  std::map<std::string, StateTeller, std::less<>> states;  // By table.
  /// Functions in 'origins' and 'states' that the constructors of Orchs under way have set. They may refer to their Orch, so they go with
  /// it if it is not added.
  struct Explained {
    const Adding* by;
    bool is_state;
    std::string name;
  };
  std::vector<Explained> explained;
  std::map<std::string, std::string, std::less<>> reserved;  // By table: why commands may not write it.
  std::vector<Worker*> workers;                              // The workers whose home is this runtime.
  std::vector<std::unique_ptr<RuntimePart>> parts;
  std::unique_ptr<PostBox> posted;
  std::vector<std::unique_ptr<Orch>> orchs;
  std::set<std::string, std::less<>> orch_names;  // Names of all Orchs that were made, also if another object owns them.
  unsigned elsewhere_threads = 1;
  std::unique_ptr<Elsewhere> elsewhere;  // Null until it is first used.
  bool is_ending = false;
  bool is_replay = false;
};

/// The message of an assertion: 'call' was made on a wrong thread.
inline std::string from_elsewhere(std::string call) {
  return std::move(call) + " was called on another thread than the runtime's; use Runtime::post";
}

inline void Runtime::Impl::expect_here(std::string_view function, std::string_view of) const {
  RONDO_EXPECT(scheduler->is_here(),
               from_elsewhere("Runtime::" + std::string{function} + (of.empty() ? std::string{} : " of " + std::string{of})));
}

/// The workers known to be busy, for a caller with many questions.
struct Runtime::BusyWorkers {
  Instant until;  // Until this time all workers count as busy.
  std::vector<const Worker*> workers = {};
  bool is_late = false;  // True if a worker was not queried because 'until' had passed.

  /// True if 'worker' must not be queried.
  bool knows(const Worker& worker, const Clock& clock) {
    if (std::ranges::find(workers, &worker) != workers.end()) return true;
    if (clock.now() < until) return false;
    workers.push_back(&worker);
    is_late = true;
    return true;
  }
};

template <class Answer>
std::vector<Answer> Runtime::ask_workers(std::function<Answer(Runtime& worker)> question, BusyWorkers* busy) const {
  std::vector<Answer> answers;
  for (Worker* const worker : impl_->workers) {
    if (busy != nullptr && busy->knows(*worker, *impl_->clock)) continue;
    // Owned by the question too: an answer after the deadline is written here, and no thread reads it.
    const auto answer = std::make_shared<Answer>();
    if (worker->ask([answer, question](Runtime& runtime) { *answer = question(runtime); })) {
      answers.push_back(std::move(*answer));
    } else if (busy != nullptr) {
      busy->workers.push_back(worker);
    }
  }
  return answers;
}

}  // namespace rondo
