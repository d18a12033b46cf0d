// Shared by the ledger's tests: a ledger with its wheel, and an index whose facts the test sets. Changes are written as short text such as
// "S k{a=1,b=2}" and "D k". Tests only.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "orch/fact_index.h"
#include "orch/inspection.h"
#include "orch/ledger.h"
#include "rondo/base/limits.h"

namespace rondo {

inline constexpr FactKind kFact{"fact"};

inline std::string text_of(const Change& change) {
  std::string text = (change.op() == ChangeOp::Delete ? "D " : "S ") + std::string{change.key()};
  if (change.op() == ChangeOp::Delete) return text;
  text += "{";
  for (const Field field : change.fields()) {
    if (text.back() != '{') text += ",";
    text += std::string{field.name} + "=" + std::string{field.value};
  }
  return text + "}";
}

class LedgerFixture {
 public:
  explicit LedgerFixture(bool set_replaces_delete = false)
      : ledger(
            wheel, [this] { ++wakes; }, set_replaces_delete) {
    index.provide(kFact, "test", [this](std::string_view key) { return holding.contains(std::string{key}); });
  }
  ~LedgerFixture() { index.forget_ledger(ledger); }

  Ledger::Merged set(std::string_view key, FieldList fields) { return merge(Change::set(key, fields)); }
  Ledger::Merged remove(std::string_view key) { return merge(Change::remove(key)); }
  Ledger::Merged merge(Change change) { return ledger.merge(std::move(change), now, index); }

  static std::vector<Fact> facts(const std::vector<std::string>& keys) {
    std::vector<Fact> all;
    for (const std::string& key : keys) all.push_back({kFact, key});
    return all;
  }
  /// Takes the oldest queued row, which must exist.
  Ledger::Task take() {
    auto task = ledger.take_new();
    EXPECT_TRUE(task.has_value());
    return task.value_or(Ledger::Task{});
  }
  bool park(std::uint32_t row, const std::vector<std::string>& keys) { return ledger.park(row, facts(keys), 0, now, index); }
  bool park_until(std::uint32_t row, Duration delay) { return ledger.park_until(row, now + delay, "later", now); }
  std::size_t announce(const std::string& key) {
    holding.insert(key);
    return index.announce({kFact, key});
  }
  void pass(Duration time) {
    now = now + time;
    while (wheel.next_expiry() <= now) wheel.expire(now, limits::kTimersPerTurn);
  }
  /// Takes the oldest resolved row that may run and parks again those that may not. Empty if there is none.
  std::optional<Ledger::Task> take_resolved() {
    while (ledger.has_resolved()) {
      const std::uint32_t row = ledger.peek_resolved();
      const std::uint32_t missing = ledger.first_missing(row, index);
      if (missing == Ledger::kNone) return ledger.take_resolved(row, now, index);
      ledger.park_again(row, missing, index);
    }
    return std::nullopt;
  }
  /// Applies all ready rows, new rows first, and returns what it applied.
  std::vector<std::string> run_ready() {
    std::vector<std::string> applied;
    for (;;) {
      std::optional<Ledger::Task> task = ledger.take_new();
      if (!task) task = take_resolved();
      if (!task) return applied;
      applied.push_back(text_of(task->change));
      ledger.settle(task->row);
    }
  }
  /// Asserts that every row is in one place and that the index lists the waiting rows.
  void check() const {
    const Status agree = Inspection(ledger, index).check();
    ASSERT_TRUE(agree.ok()) << agree.to_string();
  }

  Instant now = Instant::from_nanoseconds(1'000'000'000);
  std::set<std::string> holding;
  int wakes = 0;
  FactIndex index;
  TimerWheel wheel{now};
  Ledger ledger;
};

}  // namespace rondo
