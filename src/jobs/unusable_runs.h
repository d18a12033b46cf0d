// UnusableRuns: the numbers of runs whose rows cannot be used, for JobStore::unusable_rows(). Knows limits::kUnusableRuns of them. One
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "jobs/named_few.h"
#include "rondo/base/result.h"
#include "rondo/jobs/job.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

class UnusableRuns {
 public:
  bool is_full() const noexcept { return runs_.size() >= limits::kUnusableRuns; }
  void note(std::int64_t run) {
    if (!is_full()) runs_.insert(run);
  }
  /// Names the first ones; empty: none is known. 'wrong_with' returns what is wrong with a run; one with an empty text is dropped.
  Result<std::string> text(const std::function<Result<std::string>(std::int64_t run)>& wrong_with) {
    NamedFew named;
    for (auto id = runs_.begin(); id != runs_.end() && named.names_more();) {
      const Result<std::string> wrong = wrong_with(*id);
      if (!wrong) return wrong;
      if (!wrong->empty()) named.add(*wrong);
      id = wrong->empty() ? runs_.erase(id) : std::next(id);
    }
    if (runs_.empty()) return std::string{};
    return "runs that cannot be used: " + std::to_string(runs_.size()) + (named.count() == 1 ? ", the oldest is: " : ", the oldest are: ") +
           named.named();
  }

 private:
  std::set<std::int64_t> runs_;
};

/// Names started jobs that never become due: 'found' are the first ones, and 'count' returns how many there are.
inline Result<std::string> text_of_never_due(const std::vector<StoredJob>& found, const std::function<Result<std::int64_t>()>& count) {
  NamedFew named;
  for (const StoredJob& one : found) named.add("job '" + one.job.name.substr(0, limits::kJobName) + "': " + one.set_aside);
  if (!named.names_more()) {
    const Result<std::int64_t> all = count();
    if (!all) return failure(all.error());
    named.add_unnamed(std::max(static_cast<std::size_t>(*all), named.count()) - named.count());
  }
  return named.text("more job never becomes due", "more jobs never become due");
}

}  // namespace rondo::jobs
