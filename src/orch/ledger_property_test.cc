// The ledger against a plain model, over many seeds: random merges, turns with random outcomes, announcements and passing time. After
// every step both must have the same rows and the same order of ready rows. At the end every written change has been applied, in order for
// each key.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/testing/sanitized.h"
#include "orch/ledger_fixture.h"

namespace rondo {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

struct Write {
  bool is_delete = false;
  Pairs fields;
};

/// The merge rule of sonic-swss addToSync: new fields overwrite and move to the back; unchanged old fields stay in front in their order.
Pairs overlaid(const Pairs& older, const Pairs& newer) {
  Pairs result;
  for (const auto& field : older) {
    if (std::ranges::none_of(newer, [&](const auto& n) { return n.first == field.first; })) result.push_back(field);
  }
  result.insert(result.end(), newer.begin(), newer.end());
  return result;
}

std::string text_of(const std::string& key, const Write& write) {
  std::string text = (write.is_delete ? "D " : "S ") + key;
  if (write.is_delete) return text;
  text += "{";
  for (const auto& [name, value] : write.fields) text += (text.back() == '{' ? "" : ",") + name + "=" + value;
  return text + "}";
}

/// The ledger's behaviour without its speed: linear searches in vectors.
class Model {
 public:
  enum class Where { Queued, Parked, Resolved, InFlight };
  struct Row {
    bool has_delete = false;
    std::optional<Pairs> set;
    std::optional<Write> flight;
    Where where = Where::Queued;
    std::vector<std::string> facts;  // Listed under the first, unless it waits for a time.
    std::optional<Instant> due;
    bool looks_at_facts = false;  // True if several facts must be checked when it is resolved.
  };

  explicit Model(bool set_cancels) : set_cancels_(set_cancels) {}

  /// Returns true if a Delete was dropped for a Set, as in park().
  bool merge(const std::string& key, const Write& write) {
    const auto [it, is_new] = rows.try_emplace(key);
    Row& row = it->second;
    const bool only_set = row.set.has_value() && !row.has_delete;
    const bool may_be_begun = (row.where == Where::Parked && row.due) || (row.where == Where::Resolved && !row.looks_at_facts);
    const bool stays = may_be_begun || row.where == Where::InFlight;
    const bool cancels = set_cancels_ && !write.is_delete && row.has_delete && !stays;
    if (cancels) row.has_delete = false;
    if (write.is_delete) {
      row.has_delete = true;
      row.set.reset();
    } else {
      row.set = overlaid(row.set.value_or(Pairs{}), write.fields);
    }
    if (is_new) queue.push_back(key);
    if (!only_set && !cancels) return false;
    if (row.where == Where::Resolved) row.looks_at_facts = false;
    if (row.where == Where::Parked) {
      std::erase(parked, key);
      enqueue(key);
    }
    return cancels;
  }

  std::optional<std::string> take_new() {
    if (queue.empty()) return std::nullopt;
    return start(queue);
  }

  std::optional<std::string> take_resolved(const std::set<std::string>& holding) {
    while (!resolved.empty()) {
      Row& row = rows[resolved.front()];
      const auto missing = std::ranges::find_if(row.facts, [&](const std::string& fact) { return !holding.contains(fact); });
      if (!row.looks_at_facts || missing == row.facts.end()) return start(resolved);
      std::iter_swap(row.facts.begin(), missing);
      row.where = Where::Parked;
      row.due.reset();
      parked.push_back(resolved.front());
      resolved.pop_front();
    }
    return std::nullopt;
  }

  void settle(const std::string& key) {
    Row& row = rows[key];
    row.flight.reset();
    if (row.has_delete || row.set) {
      enqueue(key);
    } else {
      rows.erase(key);
    }
  }

  void requeue(const std::string& key) {
    put_back(rows[key]);
    enqueue(key);
  }

  bool park(const std::string& key, const std::vector<std::string>& facts, std::optional<Instant> due) {
    Row& row = rows[key];
    if (set_cancels_ && row.flight->is_delete && row.set && !due) {
      settle(key);
      return true;
    }
    const bool obsolete = !row.flight->is_delete && (row.has_delete || row.set);
    put_back(row);
    if (obsolete) {
      enqueue(key);
      return false;
    }
    row.where = Where::Parked;
    row.facts = facts;
    row.due = due;
    row.looks_at_facts = facts.size() > 1;
    parked.push_back(key);
    return false;
  }

  void announce(const std::string& fact) {
    resolve_if([&](const Row& row) { return !row.due && row.facts.front() == fact; });
  }

  void pass(Instant now) {
    std::ranges::stable_sort(parked, {}, [&](const std::string& key) { return rows[key].due.value_or(Instant::never()); });
    resolve_if([&](const Row& row) { return row.due && *row.due <= now; });
  }

  std::map<std::string, Row> rows;
  std::deque<std::string> queue;
  std::deque<std::string> resolved;
  std::vector<std::string> parked;  // Sorted by the time of parking; rows of one fact, and rows with a time, keep this order.

 private:
  const bool set_cancels_;

  void enqueue(const std::string& key) {
    rows[key].where = Where::Queued;
    queue.push_back(key);
  }
  std::string start(std::deque<std::string>& from) {
    std::string key = from.front();
    from.pop_front();
    Row& row = rows[key];
    row.where = Where::InFlight;
    if (row.has_delete) {
      row.flight = Write{true, {}};
      row.has_delete = false;
    } else {
      row.flight = Write{false, *row.set};
      row.set.reset();
    }
    return key;
  }
  static void put_back(Row& row) {
    const Write flight = *row.flight;
    row.flight.reset();
    if (flight.is_delete) {
      row.has_delete = true;
    } else if (!row.has_delete) {
      row.set = overlaid(flight.fields, row.set.value_or(Pairs{}));
    }
  }
  template <class Rule>
  void resolve_if(const Rule& rule) {
    std::vector<std::string> left;
    for (const std::string& key : parked) {
      if (rule(rows[key])) {
        rows[key].where = Where::Resolved;
        resolved.push_back(key);
      } else {
        left.push_back(key);
      }
    }
    parked = std::move(left);
  }
};

class Simulation : public LedgerFixture {
 public:
  Simulation(std::uint64_t seed, bool set_cancels) : LedgerFixture(set_cancels), random_(seed), model_(set_cancels) {}

  void steps(int count) {
    for (int i = 0; i < count && !testing::Test::HasFailure(); ++i) {
      step();
      agree();
    }
  }

  /// Applies all remaining changes and compares the world with what was written.
  void finish() {
    for (const auto& [key, task] : std::map{in_flight_}) settle_done(key);
    for (char fact = 'p'; fact < 'p' + kFacts; ++fact) tell(std::string(1, fact));
    time_passes(1s);
    while (turn(/*always_done=*/true)) {
    }
    agree();
    EXPECT_EQ(ledger.size(), 0U);
    EXPECT_EQ(index.size(), 0U);
    EXPECT_EQ(wheel.size(), 0U);
    EXPECT_EQ(world_, truth_);
  }

 private:
  static constexpr int kKeys = 6;
  static constexpr int kFacts = 4;
  using World = std::map<std::string, std::map<std::string, std::string>>;

  std::uint32_t draw(std::uint32_t below) { return static_cast<std::uint32_t>(random_() % below); }
  std::string draw_fact() { return std::string(1, static_cast<char>('p' + draw(kFacts))); }

  void step() {
    switch (draw(10)) {
      case 0:
      case 1:
      case 2:
      case 3: write(); break;
      case 4:
      case 5:
      case 6: turn(false); break;
      case 7: settle_one(); break;
      case 8:
        if (draw(2) == 0) {
          holding.erase(draw_fact());
        } else {
          tell(draw_fact());
        }
        break;
      default: time_passes(Duration{2ms} * draw(10)); break;
    }
  }

  static void apply(World& world, const std::string& key, const Write& write) {
    if (write.is_delete) {
      world.erase(key);
      return;
    }
    for (const auto& [name, value] : write.fields) world[key][name] = value;
    world.try_emplace(key);
  }

  void write() {
    const std::string key(1, static_cast<char>('a' + draw(kKeys)));
    Write write{draw(3) == 0, {}};
    std::vector<Field> fields;
    if (!write.is_delete) {
      for (const char* name : {"f", "g", "h"}) {
        if (draw(2) == 0) write.fields.emplace_back(name, std::to_string(++writes_));
      }
      for (const auto& [name, value] : write.fields) fields.push_back({name, value});
    }
    merge(write.is_delete ? Change::remove(key) : Change::set(key, fields));
    if (model_.merge(key, write)) world_.erase(key);  // Its handler treats the Set as the whole row.
    apply(truth_, key, write);
  }

  void tell(const std::string& fact) {
    announce(fact);
    model_.announce(fact);
  }

  void time_passes(Duration time) {
    pass(time);
    model_.pass(now);
  }

  bool turn(bool always_done) {
    const bool resolved_first = draw(2) == 0;
    auto task = resolved_first ? take_resolved() : ledger.take_new();
    auto key = resolved_first ? model_.take_resolved(holding) : model_.take_new();
    if (!task && !key) {
      task = resolved_first ? ledger.take_new() : take_resolved();
      key = resolved_first ? model_.take_new() : model_.take_resolved(holding);
    }
    EXPECT_EQ(task.has_value(), key.has_value());
    if (!task || !key) return false;
    EXPECT_EQ(rondo::text_of(task->change), text_of(*key, *model_.rows[*key].flight));
    in_flight_.emplace(*key, *task);
    if (always_done) {
      settle_done(*key);
    } else {
      answer(*key, task->row);
    }
    return true;
  }

  void answer(const std::string& key, std::uint32_t row) {
    switch (draw(6)) {
      case 0: return;  // Staged: settled in a later step, or at the end.
      case 1: settle_done(key); return;
      case 2:
        ledger.requeue(row);
        model_.requeue(key);
        break;
      case 3: {
        std::vector<std::string> facts = draw_facts();
        if (facts.empty()) facts.push_back("p");
        park(row, facts);
        if (model_.park(key, facts, std::nullopt)) world_.erase(key);
        break;
      }
      case 4: {
        const Duration delay = draw_delay();
        park_until(row, delay);
        model_.park(key, {}, now + delay);
        break;
      }
      default: settle_done(key); return;
    }
    in_flight_.erase(key);
  }

  std::vector<std::string> draw_facts() {
    std::vector<std::string> facts;
    for (char fact = 'p'; fact < 'p' + kFacts; ++fact) {
      if (draw(3) == 0) facts.emplace_back(1, fact);
    }
    std::ranges::shuffle(facts, random_);
    return facts;
  }

  /// An odd number of milliseconds, not used before, because the order of equal times is unspecified.
  Duration draw_delay() {
    Duration delay = 1ms + Duration{2ms} * draw(20);
    while (!dues_.insert((now + delay).nanoseconds()).second) delay += 2ms;
    return delay;
  }

  void settle_one() {
    if (in_flight_.empty()) return;
    auto it = in_flight_.begin();
    std::advance(it, draw(static_cast<std::uint32_t>(in_flight_.size())));
    const std::string key = it->first;
    if (draw(2) == 0) {
      settle_done(key);
      return;
    }
    answer(key, it->second.row);
  }

  void settle_done(const std::string& key) {
    const Ledger::Task task = in_flight_.at(key);
    in_flight_.erase(key);
    EXPECT_TRUE(ledger.is_current(task.row, task.generation));
    apply(world_, key, *model_.rows[key].flight);
    ledger.settle(task.row);
    EXPECT_FALSE(ledger.is_current(task.row, task.generation));
    model_.settle(key);
  }

  void agree() const {
    check();
    ASSERT_EQ(ledger.size(), model_.rows.size());
    ASSERT_EQ(ledger.queued(), model_.queue.size() + model_.resolved.size());
    ASSERT_EQ(ledger.parked(), model_.parked.size());
    for (const auto& [key, row] : model_.rows) {
      const std::uint32_t at = ledger.find(key);
      ASSERT_NE(at, Ledger::kNone) << key;
      ASSERT_EQ(ledger.state(at) == Ledger::State::InFlight, row.where == Model::Where::InFlight) << key;
      ASSERT_EQ(ledger.state(at) == Ledger::State::Queued, row.where == Model::Where::Queued) << key;
      ASSERT_EQ(ledger.is_resolved(at), row.where == Model::Where::Resolved) << key;
      if (row.where == Model::Where::Parked && !row.facts.empty()) {
        ASSERT_EQ(ledger.facts_of(at, index).front().key, row.facts.front()) << key;
      }
    }
  }

  std::mt19937_64 random_;
  Model model_;
  std::map<std::string, Ledger::Task> in_flight_;
  std::set<std::int64_t> dues_;
  World world_;  // The state as applied, one outcome Done after another.
  World truth_;  // The state as written.
  int writes_ = 0;
};

TEST(LedgerProperty, NothingIsLostLastWriteWinsAndEveryKeyStaysInOrder) {
  for (std::uint64_t seed = 1; seed <= plain_or_sanitized(5000U, 1000U) && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Simulation run(seed, /*set_cancels=*/seed % 2 == 0);
    run.steps(200);
    if (!testing::Test::HasFailure()) run.finish();
  }
}

}  // namespace
}  // namespace rondo
