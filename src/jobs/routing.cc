#include "jobs/routing.h"

#include <algorithm>
#include <utility>

#include "rondo/base/assert.h"
#include "rondo/jobs/limits.h"

namespace rondo::jobs {

namespace {

// The numbers of xxl-job.
constexpr Duration kClearEvery = 24h;
constexpr std::uint64_t kFirstCounts = 100;
constexpr std::uint64_t kLastCount = 1'000'000;

/// The index of a healthy candidate, counted from 0. There must be as many.
std::size_t healthy_at(std::span<const Candidate> candidates, std::uint64_t number) {
  std::size_t index = 0;
  for (; !candidates[index].is_healthy || number > 0; ++index) {
    if (candidates[index].is_healthy) --number;
  }
  return index;
}

std::optional<std::size_t> first_idle(std::span<const Candidate> candidates) {
  const auto idle = std::ranges::find_if(candidates, [](const Candidate& one) { return one.is_healthy && one.is_idle; });
  if (idle == candidates.end()) return std::nullopt;
  return static_cast<std::size_t>(idle - candidates.begin());
}

}  // namespace

std::optional<std::size_t> Router::choose(Route route, std::int64_t job, std::span<const Candidate> candidates, Instant now) {
  RONDO_ASSERT(route != Route::ShardingBroadcast);
  candidates = candidates.first(std::min(candidates.size(), limits::kRouteCandidates));
  const auto healthy = static_cast<std::uint64_t>(std::ranges::count_if(candidates, &Candidate::is_healthy));
  if (healthy == 0) return std::nullopt;
  clear_old(now);
  switch (route) {
    case Route::First:
    case Route::Failover: return healthy_at(candidates, 0);
    case Route::Last: return healthy_at(candidates, healthy - 1);
    case Route::Default:
    case Route::Round: return healthy_at(candidates, next_count(job) % healthy);
    case Route::Random: return healthy_at(candidates, random_.below(healthy));
    case Route::ConsistentHash: return ring_.find(job, candidates);
    case Route::LeastFrequentlyUsed:
    case Route::LeastRecentlyUsed: return least_used(route, job, candidates);
    case Route::Busyover: return first_idle(candidates);
    case Route::ShardingBroadcast: break;
  }
  return std::nullopt;
}

void Router::clear_old(Instant now) {
  const bool is_full = counts_.size() + uses_kept_ + numbers_.size() > limits::kRouteKept;
  if (now < clear_at_ && !is_full) return;
  clear_at_ = now + kClearEvery;
  counts_.clear();
  frequent_.clear();
  recent_.clear();
  numbers_.clear();
  uses_kept_ = 0;
}

std::uint64_t Router::next_count(std::int64_t job) {
  const auto [count, is_new] = counts_.try_emplace(job, 0);
  if (is_new || count->second > kLastCount) count->second = random_.below(kFirstCounts);
  return ++count->second;
}

std::size_t Router::least_used(Route route, std::int64_t job, std::span<const Candidate> candidates) {
  const bool is_by_count = route == Route::LeastFrequentlyUsed;
  std::vector<Use>& uses = (is_by_count ? frequent_ : recent_)[job];
  std::vector<Use> present;
  present.reserve(candidates.size());
  for (const Candidate& candidate : candidates) {
    const std::uint32_t name = number_of(candidate.name);
    const auto same_place = uses.begin() + static_cast<std::ptrdiff_t>(std::min(present.size(), uses.size()));
    auto known = std::ranges::find(same_place, uses.end(), name, &Use::name);
    if (known == uses.end()) known = std::ranges::find(uses, name, &Use::name);
    const bool is_known = known != uses.end() && !(is_by_count && known->value > kLastCount);
    const auto first_value = [&] { return is_by_count ? random_.below(candidates.size()) : ++last_choice_; };
    present.push_back({name, is_known ? known->value : first_value()});
  }
  uses_kept_ += present.size();
  uses_kept_ -= uses.size();
  uses = std::move(present);
  std::size_t least = healthy_at(candidates, 0);
  for (std::size_t index = least; index < uses.size(); ++index) {
    if (candidates[index].is_healthy && uses[index].value < uses[least].value) least = index;
  }
  uses[least].value = is_by_count ? uses[least].value + 1 : ++last_choice_;
  return least;
}

std::uint32_t Router::number_of(std::string_view name) {
  const auto found = numbers_.find(name);
  if (found != numbers_.end()) return found->second;
  const auto number = static_cast<std::uint32_t>(numbers_.size());
  numbers_.emplace(name, number);
  return number;
}

}  // namespace rondo::jobs
