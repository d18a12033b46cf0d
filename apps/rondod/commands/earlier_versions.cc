#include "rondod/commands/earlier_versions.h"

#include <algorithm>
#include <utility>

#include "orch/parked.h"
#include "switch_agent/priorities.h"

namespace rondo::daemon {

namespace {
/// Few at a time, because the turn's time is checked between them.
constexpr std::size_t kStep = 16;
/// A wait of a row that changes is no trouble for this long: its neighbour is resolved, or its group comes.
constexpr Duration kMoment = 5s;
/// Between two looks at all rows that wait, and at least this many times as long as the last one took.
constexpr Duration kBetweenLooks = 2s;
constexpr int kPauseFactor = 20;
}  // namespace

EarlierVersions::EarlierVersions(Runtime& runtime, const switch_agent::SwitchAgent* agent)
    : Source("earlier versions", switch_agent::kAdmin),
      runtime_(runtime),
      agent_(agent),
      look_timer_("earlier versions look", switch_agent::kAdmin, [this] { look(); }) {
  runtime.scheduler().add(*this);
  runtime.scheduler().add(look_timer_);
  if (agent != nullptr) look_timer_.arm_at(runtime.scheduler().now() + kBetweenLooks);
}

void EarlierVersions::look() {
  count([](const std::vector<Count>&) {});
}

void EarlierVersions::count(Done done) {
  asked_.push_back(std::move(done));
  wake();
}

void EarlierVersions::begin() {
  answering_ = std::exchange(asked_, {});
  began_ = runtime_.scheduler().now();
  counts_.clear();
  for (const ConsumerStats& consumer : runtime_.consumers()) {
    if (agent_ != nullptr && consumer.parked + consumer.rejected_rows != 0) counts_.push_back({consumer.table});
  }
  table_ = 0;
  place_ = 0;
  after_.reset();
}

Turn EarlierVersions::run(const Budget& budget) {
  if (answering_.empty()) begin();
  Turn turn;
  bool more = true;
  for (; more && turn.items < budget.items && !time_is_up(budget); ++turn.items) more = step();
  if (!more) end();
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

void EarlierVersions::end() {
  std::erase_if(counts_, [](const Count& count) { return count.waiting + count.rejected == 0; });
  outdated_.clear();
  for (const Count& count : counts_) {
    if (count.outdated != 0) outdated_.push_back({count.table, count.outdated, count.first_outdated});
  }
  const Instant now = runtime_.scheduler().now();
  if (agent_ != nullptr) look_timer_.arm_at(now + std::max<Duration>(kBetweenLooks, (now - began_) * kPauseFactor));
  for (const Done& done : std::exchange(answering_, {})) done(counts_);
}

/// False at the end.
bool EarlierVersions::step() {
  if (table_ == counts_.size()) return false;
  Count& count = counts_[table_];
  if (place_ != kNoPlace) {
    for (const ParkedRow& row : parked_rows(runtime_, count.table, kStep, place_)) {
      if (!is_earlier(count.table, row.key)) continue;
      ++count.waiting;
      if (row.op != ChangeOp::Set || row.facts.empty() || row.waited < kMoment) continue;
      if (count.outdated++ == 0) count.first_outdated = row.key;
    }
    return true;
  }
  const std::vector<RejectedRow> rows = rejected_rows(runtime_, count.table, kStep, after_);
  for (const RejectedRow& row : rows) count.rejected += is_earlier(count.table, row.key) ? 1U : 0U;
  if (!rows.empty()) {
    after_ = rows.back().key;
    return true;
  }
  ++table_;
  place_ = 0;
  after_.reset();
  return true;
}

bool EarlierVersions::is_earlier(const std::string& table, const std::string& key) const {
  return agent_->row_states().state_of(table, key).state == PlaneState::Installed;
}

}  // namespace rondo::daemon
