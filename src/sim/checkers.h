// The standard checkers: guarantees of the runtime for every program, whatever its Orchs do. World adds all of them to each run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orch/parked.h"
#include "rondo/orch/runtime.h"
#include "rondo/sim/checker.h"

namespace rondo::sim {

/// No change is lost, and the last write of a key wins. At rest, the handlers' result for a key equals the last write, unless its consumer
/// has an unsettled change of it or rejected it. After a crash the rows are delivered again, so the checker covers the current process
/// only.
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

/// The changes of each key stay in order. A handler receives one change of a key at a time: the result of the merging rules
/// (src/orch/ledger.h) for the taken changes, oldest first. Each call is compared with a model of the ledger; at rest the unsettled changes
/// equal the model's.
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

/// No handler is called too early. A change that waits for several facts is retried only after all of them hold; one that waits for a
/// single fact, only after its announcement; one that waits for a time, only after that time. A newer Set of the key ends the wait.
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

/// The ledgers and the index of facts are consistent with each other and with themselves: see src/orch/inspection.h. Checked every
/// 'period' turns and at rest.
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

/// Budgets and bounds hold. No turn handles more items than its budget. A source ends its turn when its time is over. None waits longer
/// than the policy's bound (Scheduler::bound()). No ledger has more rows than its limit. No source is quarantined. No wake-up is lost (the
/// sweep counts no rescue).
class BoundsHold final : public Checker {
 public:
  std::string_view name() const noexcept override { return "bounds-hold"; }
  Status after_turn(const World& world) override;
};

/// Every parked row has an explicable wait. The fact under which it is indexed does not hold (otherwise its announcement was forgotten).
/// Either an Orch provides facts of that kind, or Runtime::parked_facts() reports that there is no provider. Checked at rest, because
/// an observer may announce a fact in a later turn than the one in which it began to hold. After each turn: the sweep has found no
/// forgotten announcement or withdrawal (Runtime::forgotten_facts).
class ParkedRowsAreExplained final : public Checker {
 public:
  using Report = std::function<std::vector<ParkedFact>(const Runtime&)>;
  /// Uses 'report' instead of parked_facts(), if given.
  explicit ParkedRowsAreExplained(Report report = {}) : report_(std::move(report)) {}
  std::string_view name() const noexcept override { return "parked-rows-are-explained"; }
  Status after_turn(const World& world) override;
  Status at_rest(const World& world) override;

 private:
  Report report_;
};

/// Every fact that was announced and not withdrawn since holds. A provider that removes a row withdraws its fact, so that the rows that
/// depend on it are handled again. Checked at rest.
class EndedFactsAreWithdrawn final : public Checker {
 public:
  std::string_view name() const noexcept override { return "ended-facts-are-withdrawn"; }
  Status see(const World& world, const Event& event) override;
  Status at_rest(const World& world) override;

 private:
  std::map<std::string, Fact, std::less<>> announced_;  // Key: Fact::to_string().
};

/// One of each standard checker.
std::vector<std::unique_ptr<Checker>> standard_checkers();

}  // namespace rondo::sim
