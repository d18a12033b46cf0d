#include "jobs/sqlite/retention.h"

#include <algorithm>
#include <charconv>
#include <iterator>
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

Result<bool> RunRetention::remove(std::size_t kept, std::size_t max) {
  std::vector<std::int64_t> ids;
  Status status = choose(kept, max, ids);
  if (status.ok() && !ids.empty()) {
    status = database_.transaction([&] {
      for (const std::int64_t id : ids) {
        if (Status removed = remove_.bind(id).run(); !removed.ok()) return removed;
      }
      return Status{};
    });
  }
  if (status.ok()) return is_in_pass_;
  // What was chosen is not removed: the next pass looks at each job again.
  first_look_ = 0;
  has_looked_at_all_ = false;
  return failure(std::move(status));
}

Status RunRetention::choose(std::size_t kept, std::size_t max, std::vector<std::int64_t>& ids) {
  if (!is_in_pass_) {
    if (Status begun = begin_pass(kept); !begun.ok()) return begun;
  }
  std::size_t budget = kEntriesOfCall;
  while (is_in_pass_ && ids.size() < max && budget > 0) {
    if (trimmed_.job_id == 0) {
      if (Status found = find_trimmed(kept, budget); !found.ok()) return found;
      continue;
    }
    const auto page = page_of_trimmed(max - ids.size());
    if (!page) return page.error();
    budget -= std::min(budget, page->size());
    std::ranges::copy_if(*page, std::back_inserter(ids), [this](std::int64_t id) { return !needed_.contains(id); });
    page->empty() ? trimmed_.job_id = 0 : trimmed_.after = page->back();
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
  is_in_pass_ = !chosen_.empty() || !has_looked_at_all_;
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
  if (has_looked_at_all_) return 0;
  const Result<bool> row = next_with_runs_.bind(first_look_).step();
  if (!row) return failure(row.error());
  const std::int64_t job_id = next_with_runs_.integer(0);  // Of NULL: 0.
  next_with_runs_.reset();
  has_looked_at_all_ = job_id == 0;
  if (!has_looked_at_all_) first_look_ = job_id;
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

Result<std::vector<std::int64_t>> RunRetention::page_of_trimmed(std::size_t max) {
  ended_.bind(trimmed_.job_id).bind(trimmed_.after).bind(trimmed_.until).bind(static_cast<std::int64_t>(max));
  std::vector<std::int64_t> ids;
  for (Result<bool> row = ended_.step(); !row || *row; row = ended_.step()) {
    if (!row) return failure(row.error());
    ids.push_back(ended_.integer(0));
  }
  ended_.reset();
  return ids;
}

}  // namespace rondo::jobs::sqlite
