#include "jobs/sqlite/retention.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace rondo::jobs::sqlite {

namespace {

/// Entries of the index of runs that one call reads, beyond those of the last job: some milliseconds.
constexpr std::size_t kEntriesOfCall = 50'000;
/// The entries that a search for the next job counts for.
constexpr std::size_t kEntriesOfSearch = 20;

/// A job is looked at when it may have so many runs more than remain: a look reads as many entries as remain.
std::size_t slack_of(std::size_t kept) { return std::max<std::size_t>(kept / 10, 1); }

}  // namespace

Result<bool> RunRetention::remove_before(WallTime before, std::size_t max) {
  const bool is_first_page = aged_to_.ended == EndPlace{}.ended;
  aged_.bind(aged_to_.ended).bind(aged_to_.id).bind(before).bind(static_cast<std::int64_t>(max));
  Result<std::vector<Row>> rows = rows_of(aged_);
  if (!rows) return failure(std::move(rows.error()));
  const bool has_more = rows->size() == max;
  aged_to_ = has_more ? EndPlace{rows->back().ended, rows->back().id} : EndPlace{};
  Status status = is_first_page && !rows->empty() ? read_needed() : Status{};
  std::erase_if(*rows, [this](const Row& row) { return !may_go(row); });
  if (status.ok()) status = remove_all(*rows);
  if (status.ok()) return has_more;
  begin_again();
  return failure(std::move(status));
}

Result<bool> RunRetention::remove_beyond(std::size_t kept, std::size_t max) {
  std::vector<Row> rows;
  Status status = choose(kept, max, rows);
  if (status.ok()) status = remove_all(rows);
  if (status.ok()) return is_in_pass_;
  begin_again();
  return failure(std::move(status));
}

Status RunRetention::remove_all(const std::vector<Row>& rows) {
  if (rows.empty()) return {};
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> instants;  // By job: the first and the last one.
  for (const Row& row : rows) {
    if (!row.instant) continue;
    auto& [first, last] = instants.try_emplace(row.job_id, *row.instant, *row.instant).first->second;
    first = std::min(first, *row.instant);
    last = std::max(last, *row.instant);
  }
  return database_.transaction([&] {
    for (const Row& row : rows) {
      if (Status removed = remove_.bind(row.id).run(); !removed.ok()) return removed;
    }
    for (const auto& [job_id, span] : instants) {
      if (Status noted = note_removed_.bind(job_id).bind(span.first).bind(span.second).run(); !noted.ok()) return noted;
    }
    return Status{};
  });
}

void RunRetention::begin_again() {
  first_check_ = 0;
  has_checked_all_ = false;
  aged_to_ = {};
}

Status RunRetention::choose(std::size_t kept, std::size_t max, std::vector<Row>& rows) {
  if (!is_in_pass_) {
    if (Status begun = begin_pass(kept); !begun.ok()) return begun;
  }
  std::size_t budget = kEntriesOfCall;
  while (is_in_pass_ && rows.size() < max && budget > 0) {
    if (trimmed_.job_id == 0) {
      if (Status found = find_trimmed(kept, budget); !found.ok()) return found;
      continue;
    }
    ended_.bind(trimmed_.job_id).bind(trimmed_.after).bind(trimmed_.until).bind(static_cast<std::int64_t>(max - rows.size()));
    const auto page = rows_of(ended_);
    if (!page) return page.error();
    budget -= std::min(budget, page->size());
    std::ranges::copy_if(*page, std::back_inserter(rows), [this](const Row& row) { return may_go(row); });
    page->empty() ? trimmed_.job_id = 0 : trimmed_.after = page->back().id;
  }
  return {};
}

Status RunRetention::begin_pass(std::size_t kept) {
  const std::size_t slack = slack_of(kept);
  for (auto at = added_.begin(); at != added_.end();) {
    if (at->second < slack) {
      ++at;
      continue;
    }
    chosen_.push_back(at->first);
    at = added_.erase(at);
  }
  is_in_pass_ = !chosen_.empty() || !has_checked_all_;
  return is_in_pass_ ? read_needed() : Status{};
}

Status RunRetention::read_needed() {
  needed_.clear();
  const Result<bool> newest = newest_id_.step();
  if (!newest) return newest.error();
  newest_ = newest_id_.integer(0);
  newest_id_.reset();
  for (Result<bool> row = parents_.step(); !row || *row; row = parents_.step()) {
    if (!row) return row.error();
    const std::string text = parents_.text(0);
    for (const char *at = text.data(), *const end = at + text.size(); at < end; ++at) {
      std::int64_t id = 0;
      at = std::from_chars(at, end, id).ptr;
      needed_.insert(id);
    }
  }
  parents_.reset();
  return {};
}

Result<std::int64_t> RunRetention::next_job() {
  if (!chosen_.empty()) {
    const std::int64_t job_id = chosen_.front();
    chosen_.pop_front();
    return job_id;
  }
  if (has_checked_all_) return 0;
  const Result<bool> row = next_with_runs_.bind(first_check_).step();
  if (!row) return failure(row.error());
  const std::int64_t job_id = next_with_runs_.integer(0);  // Of NULL: 0.
  next_with_runs_.reset();
  has_checked_all_ = job_id == 0;
  if (!has_checked_all_) first_check_ = job_id;
  return job_id;
}

Status RunRetention::find_trimmed(std::size_t kept, std::size_t& budget) {
  while (budget > 0) {
    const Result<std::int64_t> job_id = next_job();
    if (!job_id) return job_id.error();
    if (*job_id == 0) {
      is_in_pass_ = false;
      return {};
    }
    const Result<bool> row = newest_runs_.bind(*job_id).bind(static_cast<std::int64_t>(kept)).step();
    if (!row) return row.error();
    const auto count = static_cast<std::size_t>(newest_runs_.integer(0));
    const std::int64_t oldest_kept = newest_runs_.integer(1);
    newest_runs_.reset();
    budget -= std::min(budget, count + kEntriesOfSearch);
    if (count < kept) continue;
    trimmed_ = {.job_id = *job_id, .after = 0, .until = std::min(oldest_kept, newest_ + 1)};
    return {};
  }
  return {};
}

Result<std::vector<RunRetention::Row>> RunRetention::rows_of(Statement& statement) {
  std::vector<Row> rows;
  for (Result<bool> row = statement.step(); !row || *row; row = statement.step()) {
    if (!row) return failure(row.error());
    rows.push_back({.id = statement.integer(0),
                    .job_id = statement.integer(1),
                    .ended = statement.integer(2),
                    .is_last = statement.integer(4) != 0,
                    .instant = statement.is_null(3) ? std::nullopt : std::optional{statement.integer(3)}});
  }
  statement.reset();
  return rows;
}

}  // namespace rondo::jobs::sqlite
