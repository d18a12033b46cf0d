#include "jobs/run_retention.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace rondo::jobs {

namespace {

/// Entries of the index of runs that one call reads, beyond those of the last job: some milliseconds.
constexpr std::size_t kEntriesOfCall = 50'000;
/// The entries that a search for the next job counts for.
constexpr std::size_t kEntriesOfSearch = 20;

/// A job is checked when it may have so many runs more than remain: a check reads as many entries as remain.
std::size_t slack_of(std::size_t kept) { return std::max<std::size_t>(kept / 10, 1); }

}  // namespace

Result<bool> RunRetention::remove_before(WallTime before, std::size_t max) {
  const bool is_first_page = aged_to_.ended == EndPlace{}.ended;
  auto rows = queries_.ended_before(aged_to_, before, max);
  if (!rows) return failure(std::move(rows.error()));
  const bool has_more = rows->size() == max;
  aged_to_ = has_more ? EndPlace{rows->back().ended, rows->back().id} : EndPlace{};
  Status status = is_first_page && !rows->empty() ? read_needed() : Status{};
  std::erase_if(*rows, [this](const EndedRun& row) { return !may_go(row); });
  if (status.ok()) status = remove_all(*rows);
  if (status.ok()) return has_more;
  begin_again();
  return failure(std::move(status));
}

Result<bool> RunRetention::remove_beyond(std::size_t kept, std::size_t max) {
  std::vector<EndedRun> rows;
  Status status = choose(kept, max, rows);
  if (status.ok()) status = remove_all(rows);
  if (status.ok()) return is_in_pass_;
  begin_again();
  return failure(std::move(status));
}

Status RunRetention::remove_all(const std::vector<EndedRun>& rows) {
  if (rows.empty()) return {};
  RetentionQueries::Removal removal;
  for (const EndedRun& row : rows) {
    removal.runs.push_back(row.id);
    if (!row.instant) continue;
    auto& [first, last] = removal.instants.try_emplace(row.job_id, *row.instant, *row.instant).first->second;
    first = std::min(first, *row.instant);
    last = std::max(last, *row.instant);
  }
  return queries_.remove(removal);
}

void RunRetention::begin_again() {
  first_check_ = 0;
  has_checked_all_ = false;
  aged_to_ = {};
}

Status RunRetention::choose(std::size_t kept, std::size_t max, std::vector<EndedRun>& rows) {
  if (!is_in_pass_) {
    if (Status begun = begin_pass(kept); !begun.ok()) return begun;
  }
  std::size_t budget = kEntriesOfCall;
  while (is_in_pass_ && rows.size() < max && budget > 0) {
    if (trimmed_.job_id == 0) {
      if (Status found = find_trimmed(kept, budget); !found.ok()) return found;
      continue;
    }
    const auto page = queries_.ended_of(trimmed_.job_id, trimmed_.after, trimmed_.until, max - rows.size());
    if (!page) return page.error();
    budget -= std::min(budget, page->size());
    std::ranges::copy_if(*page, std::back_inserter(rows), [this](const EndedRun& row) { return may_go(row); });
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
  const auto newest = queries_.newest_run();
  if (!newest) return newest.error();
  newest_ = *newest;
  return queries_.read_parents([this](const std::string& text) {
    for (const char *at = text.data(), *const end = at + text.size(); at < end; ++at) {
      std::int64_t id = 0;
      at = std::from_chars(at, end, id).ptr;
      needed_.insert(id);
    }
  });
}

Result<std::int64_t> RunRetention::next_job() {
  if (!chosen_.empty()) {
    const std::int64_t job_id = chosen_.front();
    chosen_.pop_front();
    return job_id;
  }
  if (has_checked_all_) return 0;
  auto job_id = queries_.next_job_with_runs(first_check_);
  if (!job_id) return job_id;
  has_checked_all_ = *job_id == 0;
  if (!has_checked_all_) first_check_ = *job_id;
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
    const auto newest = queries_.newest_runs(*job_id, kept);
    if (!newest) return newest.error();
    budget -= std::min(budget, newest->count + kEntriesOfSearch);
    if (newest->count < kept) continue;
    trimmed_ = {.job_id = *job_id, .after = 0, .until = std::min(newest->oldest, newest_ + 1)};
    return {};
  }
  return {};
}

}  // namespace rondo::jobs
