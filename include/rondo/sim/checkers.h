// The standard checkers: the promises of the runtime that hold for every program, whatever its Orchs do. World adds them all to each run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rondo/orch/runtime.h"
#include "rondo/sim/checker.h"

namespace rondo::sim {

/// No change is lost, and the last write of a key wins: at rest, what handlers have done for a key is what was last written to it, unless
/// its consumer still owes it an outcome, or refused it. After a crash the rows are told anew, so this is about what the living process
/// did.
class NothingLost final : public Checker {
 public:
  NothingLost();
  ~NothingLost() override;
  std::string_view name() const noexcept override { return "nothing-lost"; }
  Status see(const World& world, const Event& event) override;
  Status at_rest(const World& world) override;

 private:
  struct Book;
  std::unique_ptr<Book> book_;
};

/// Each key's changes stay in order: a handler is asked about one change of a key at a time, and that is what the merging rules
/// (src/orch/ledger.h) make of the changes that were taken, oldest first. Compared with a model of the ledger at every call; at rest the
/// ledger owes exactly what the model says.
class OrderPerKey final : public Checker {
 public:
  OrderPerKey();
  ~OrderPerKey() override;
  std::string_view name() const noexcept override { return "order-per-key"; }
  Status see(const World& world, const Event& event) override;
  Status at_rest(const World& world) override;

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

/// No handler is asked before what it waits for holds: a change that waits for several facts is not taken up again before all of them hold;
/// one that waits for a single fact, not before that was announced; one that waits for a time, not before that has come. A newer Set of the
/// key ends the wait.
class NoHandlerTooEarly final : public Checker {
 public:
  NoHandlerTooEarly();
  ~NoHandlerTooEarly() override;
  std::string_view name() const noexcept override { return "no-handler-too-early"; }
  Status see(const World& world, const Event& event) override;

 private:
  struct Waits;
  std::unique_ptr<Waits> waits_;
};

/// Ledgers and the index of constraints agree, with each other and with themselves: see src/orch/inspection.h. Looked at every 'period'
/// turns and at rest.
class LedgersAgree final : public Checker {
 public:
  explicit LedgersAgree(std::uint64_t period = 256) : period_(period) {}
  std::string_view name() const noexcept override { return "ledgers-agree"; }
  Status after_turn(const World& world) override;
  Status at_rest(const World& world) override;

 private:
  std::uint64_t period_;
  std::uint64_t turns_ = 0;
};

/// Budgets and bounds hold: no turn handles more items than its budget; a source that is told that its time is up ends its turn; none waits
/// for longer than the policy promises (Scheduler::bound()); no ledger owes more rows than its limit; no source is quarantined; and no
/// wake-up is lost (the sweep rescues nobody).
class BoundsHold final : public Checker {
 public:
  std::string_view name() const noexcept override { return "bounds-hold"; }
  Status after_turn(const World& world) override;
};

/// Every parked row waits for something that can be told: what it is listed under does not hold (else its announcement was forgotten), and
/// either an Orch provides facts of that kind, or Runtime::parked_constraints() reports that none does. Checked at rest: an observer may
/// announce in a turn of its own what began to hold in an earlier one. After each turn: the sweep has found no forgotten announcement or
/// withdrawal (Runtime::forgotten_facts).
class ParkedRowsAreExplained final : public Checker {
 public:
  using Report = std::function<std::vector<ParkedConstraint>(const Runtime&)>;
  /// 'report' instead of parked_constraints(), if given.
  explicit ParkedRowsAreExplained(Report report = {}) : report_(std::move(report)) {}
  std::string_view name() const noexcept override { return "parked-rows-are-explained"; }
  Status after_turn(const World& world) override;
  Status at_rest(const World& world) override;

 private:
  Report report_;
};

/// Every fact that was announced and not withdrawn since holds: a provider that removes a row withdraws its fact, so that the rows which
/// depend on it are handled again. Checked at rest.
class EndedFactsAreWithdrawn final : public Checker {
 public:
  std::string_view name() const noexcept override { return "ended-facts-are-withdrawn"; }
  Status see(const World& world, const Event& event) override;
  Status at_rest(const World& world) override;

 private:
  std::map<std::string, Constraint, std::less<>> announced_;  // By Constraint::to_string().
};

/// One of each.
std::vector<std::unique_ptr<Checker>> standard_checkers();

}  // namespace rondo::sim
