#include "rondod/commands/earlier_versions.h"

#include <utility>

#include "switch_agent/priorities.h"

namespace rondo::daemon {

namespace {
/// Few at a time, because the turn's time is checked between them.
constexpr std::size_t kStep = 16;
}  // namespace

EarlierVersions::EarlierVersions(Runtime& runtime, const switch_agent::Agent* agent)
    : Source("earlier versions", switch_agent::kAdmin), runtime_(runtime), agent_(agent) {
  runtime.scheduler().add(*this);
}

void EarlierVersions::count(Done done) {
  asked_.push_back(std::move(done));
  wake();
}

void EarlierVersions::begin() {
  answering_ = std::exchange(asked_, {});
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
  if (!more) {
    std::erase_if(counts_, [](const Count& count) { return count.waiting + count.rejected == 0; });
    for (const Done& done : std::exchange(answering_, {})) done(counts_);
  }
  turn.backlog = has_backlog() ? Backlog::More : Backlog::Empty;
  return turn;
}

/// False at the end.
bool EarlierVersions::step() {
  if (table_ == counts_.size()) return false;
  Count& count = counts_[table_];
  if (place_ != Runtime::kNoPlace) {
    for (const ParkedRow& row : runtime_.parked_rows(count.table, kStep, place_))
      count.waiting += is_earlier(count.table, row.key) ? 1U : 0U;
    return true;
  }
  const std::vector<RejectedRow> rows = runtime_.rejected_rows(count.table, kStep, after_);
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
