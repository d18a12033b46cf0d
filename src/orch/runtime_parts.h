// The inside of Runtime, shared by runtime.cc, orch.cc and why.cc: who owns what, in the order in which it must be destroyed (last first).
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "orch/constraint_index.h"
#include "orch/consumer.h"
#include "orch/elsewhere.h"
#include "orch/executor_seats.h"
#include "orch/fact_port.h"
#include "orch/fact_sweep.h"
#include "orch/journal_recorder.h"
#include "orch/observer.h"
#include "orch/post_box.h"
#include "rondo/base/log.h"
#include "rondo/orch/runtime.h"
#include "rondo/orch/worker.h"
#include "store/bridge/bridge_store.h"

namespace rondo {

struct Runtime::Parts {
  /// Facts cross to and from the other members of 'board' from now on. Once.
  void join(std::shared_ptr<FactBoard> board);
  /// Records and tells that 'rows' that waited for 'fact' were queued.
  void resolved(const Constraint& fact, std::size_t rows);
  void tell_observers(const Constraint& fact, bool holds);
  /// A handler of a message threw.
  void tell_fault(const MessageFault& fault) const noexcept;
  /// The sweep found a fact that its provider forgot to announce or to withdraw.
  void found(const Constraint& fact, bool holds);
  /// What a handler threw goes to on_reject.
  void tell_thrown(std::string_view where, const Change& change, const std::exception_ptr& thrown) const;
  void log_rejects();
  /// A write by an Orch, on the record.
  Status write(std::string_view table, Change change, WriteDone done);
  /// What the store said of a write, on the record.
  Status told(Status accepted) {
    if (!accepted.ok()) journal->write_refused(accepted);
    return accepted;
  }
  ParkedRow parked_row(const Consumer& consumer, std::uint32_t row) const;

  SystemClock system_clock;
  std::unique_ptr<Reactor> own_reactor;
  const Clock* clock = nullptr;
  std::unique_ptr<JournalRecorder> journal;
  std::unique_ptr<ExecutorSeats> executors;
  std::unique_ptr<Scheduler> scheduler;
  std::unique_ptr<Store> store;
  store::bridge::BridgeStore* bridge = nullptr;  // A worker's store, seen as what it is.
  std::unique_ptr<FactPort> port;                // None until a worker is made.
  ConstraintIndex constraints;
  std::unique_ptr<FactSweep> sweep;
  ForgottenFacts forgotten;
  Consumer::OnReject on_reject;
  std::unique_ptr<Log> log;  // Of on_reject, as long as the program has given none.
  Adding* adding = nullptr;
  std::uint64_t writes = 0;                                     // Of Orchs, whose end they asked for; counted while there is a journal.
  Witness* witness = nullptr;                                   // In simulation.
  std::set<std::string, std::less<>> written_tables;            // Known to the store.
  Ticket current;                                               // Of the change that a handler is being asked about.
  std::map<std::string, Consumer*, std::less<>> consumers;      // By table.
  std::vector<std::pair<ConstraintKind, Observer*>> observers;  // A handful: a search of it beats a map.
  std::vector<ConstraintKind> observed;                         // Kinds with observers.
  std::map<std::string, std::function<std::vector<FactOrigin>(std::string_view)>, std::less<>> origins;  // By kind of fact.
  /// What explain_state() was given.
  struct StateTeller {
    StateOf state_of;
    std::function<PlaneCounts()> counts;
  };
  std::map<std::string, StateTeller, std::less<>> states;  // By table.
  std::vector<Worker*> workers;                            // Of which this is the home.
  AgentsOptions agents_options;
  std::unique_ptr<Agents> agents;  // None until somebody asks.
  Agents* known_agents = nullptr;  // The same, which those that finish may ask for while it ends.
  std::unique_ptr<PostBox> posted;
  std::vector<std::unique_ptr<Orch>> orchs;
  unsigned elsewhere_threads = 1;
  std::unique_ptr<Elsewhere> elsewhere;  // None until somebody asks.
  bool is_ending = false;
};

/// For the message of an assertion: 'call' was made by a wrong thread.
inline std::string from_elsewhere(std::string call) {
  return std::move(call) + " was called on another thread than the runtime's; use Runtime::post";
}

/// What who asks many questions knows of the workers.
struct Runtime::BusyWorkers {
  Instant until;  // Then all are busy.
  std::vector<const Worker*> workers = {};
  bool is_late = false;  // One was not asked because it was over.

  /// Whether 'worker' is not to be asked.
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
  for (Worker* const worker : parts_->workers) {
    if (busy != nullptr && busy->knows(*worker, *parts_->clock)) continue;
    const auto answer = std::make_shared<Answer>();  // A late one goes here, and nobody looks.
    if (worker->ask([answer, question](Runtime& runtime) { *answer = question(runtime); })) {
      answers.push_back(std::move(*answer));
    } else if (busy != nullptr) {
      busy->workers.push_back(worker);
    }
  }
  return answers;
}

}  // namespace rondo
