// The policies that a user can choose, as settings of budgeted frames; their names, and the validation of settings.
#include "rondo/sched/policy.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "rondo/base/limits.h"
#include "sched/frames_policy.h"

namespace rondo {

namespace {

constexpr std::int64_t kInfinite = PolicySettings::kInfinite;

Status check(const PolicySettings& settings) {
  const std::string policy = "policy " + std::string{to_string(settings.name)} + ": ";
  if (settings.batch == 0) return {StatusCode::InvalidArgument, policy + "batch must be at least 1 item a turn"};
  if (settings.turn <= Duration{0}) return {StatusCode::InvalidArgument, policy + "the time of a turn must be more than 0"};
  if (settings.tie > Tie::ConsumedTime || settings.name > PolicySettings::Name::QuotedRoundRobin) {
    return {StatusCode::InvalidArgument, policy + "the tie or the name is none"};
  }
  const std::int64_t most = settings.in_items ? std::numeric_limits<std::uint32_t>::max() : limits::kBudgetMost.count();
  for (unsigned p = 0; p < limits::kPriorities; ++p) {
    const std::int64_t budget = settings.budgets[p];
    if (budget >= 1 && (budget <= most || budget == kInfinite)) continue;
    const std::string which = std::string{settings.in_items ? "quota" : "budget"} + " of priority " + std::to_string(p);
    if (budget < 1) return {StatusCode::InvalidArgument, policy + "the " + which + " must be above 0"};
    return {StatusCode::InvalidArgument,
            policy + "the " + which + " must be at most " + std::to_string(limits::kBudgetMost / 1s) + " s, or none"};
  }
  return {};
}

Result<PolicySettings> checked(const PolicySettings& settings) {
  if (Status bad = check(settings); !bad.ok()) return failure(std::move(bad));
  return settings;
}

Result<PolicySettings> resolve(const BudgetedFrames& options) {
  PolicySettings settings{
      .name = PolicySettings::Name::Frames, .tie = options.tie, .batch = options.batch, .turn = options.turn, .budgets = {}};
  if (options.lowest <= Duration{0} || options.highest < options.lowest || options.highest > limits::kBudgetMost) {
    return failure(StatusCode::InvalidArgument,
                   "policy frames: the lowest budget must be above 0, and the highest not below it nor above " +
                       std::to_string(limits::kBudgetMost / 1s) + " s");
  }
  const double ratio = static_cast<double>(options.highest.count()) / static_cast<double>(options.lowest.count());
  for (unsigned p = 0; p < limits::kPriorities; ++p) {
    const double factor = std::pow(ratio, p / double{limits::kPriorities - 1});
    settings.budgets[p] = std::llround(static_cast<double>(options.lowest.count()) * factor);
  }
  for (const auto& [priority, budget] : options.budgets) settings.budgets[priority.level()] = budget.count();
  return checked(settings);
}

Result<PolicySettings> resolve(const StrictPriority& options) {
  PolicySettings settings{
      .name = PolicySettings::Name::Strict, .tie = options.tie, .batch = options.batch, .turn = options.turn, .budgets = {}};
  settings.budgets.fill(kInfinite);
  return checked(settings);
}

Result<PolicySettings> resolve(const StrictlyOrdered& options) {
  PolicySettings settings{.name = PolicySettings::Name::StrictlyOrdered,
                          .item_by_item = true,
                          .tie = Tie::Arrival,
                          .batch = options.batch,
                          .turn = options.turn,
                          .budgets = {}};
  settings.budgets.fill(kInfinite);
  return checked(settings);
}

Result<PolicySettings> resolve(const QuotedRoundRobin& options) {
  const bool in_items = options.unit == QuotaUnit::Items;
  PolicySettings settings{.name = PolicySettings::Name::QuotedRoundRobin,
                          .in_items = in_items,
                          .one_way = true,
                          .item_by_item = true,
                          .tie = Tie::Arrival,
                          .batch = options.batch,
                          .turn = options.turn,
                          .budgets = {}};
  const auto budget = [in_items](std::uint32_t quota) { return in_items ? std::int64_t{quota} : std::int64_t{quota} * 1000; };
  settings.budgets.fill(budget(options.quota));
  for (const auto& [priority, quota] : options.raised) settings.budgets[priority.level()] = budget(quota);
  return checked(settings);
}

Result<PolicySettings> resolve(const PolicySettings& settings) { return checked(settings); }

std::string text(std::int64_t budget, bool in_items) {
  if (budget == kInfinite) return "no end";
  return std::to_string(in_items ? budget : budget / 1000) + (in_items ? (budget == 1 ? " item" : " items") : " us");
}

/// "10 items", or "500 us at priority 0 to 16000 us at 63".
std::string budgets_text(const PolicySettings& settings) {
  const auto [low, high] = std::ranges::minmax_element(settings.budgets);
  const auto at = [&](auto place) { return std::to_string(place - settings.budgets.begin()); };
  if (*low == *high) return text(*low, settings.in_items);
  return text(*low, settings.in_items) + " at priority " + at(low) + " to " + text(*high, settings.in_items) + " at " + at(high);
}

/// The priorities for which 'holds' is true, as a subject with one of two verbs: "priority 3 has", "priorities 3, 7 to 9 have". Empty if
/// there is none.
template <class Holds>
std::string priorities_text(const Holds& holds, const std::string& one, const std::string& several) {
  std::string all;
  unsigned count = 0;
  for (unsigned p = 0; p < limits::kPriorities; ++p) {
    if (!holds(p)) continue;
    const unsigned first = p;
    while (p + 1 < limits::kPriorities && holds(p + 1)) ++p;
    count += p - first + 1;
    all += (all.empty() ? "" : ", ") + std::to_string(first);
    if (p > first) all += " to " + std::to_string(p);
  }
  if (count == 0) return all;
  return count == 1 ? "priority " + all + " " + one : "priorities " + all + " " + several;
}

}  // namespace

std::string_view to_string(PolicySettings::Name name) noexcept {
  switch (name) {
    case PolicySettings::Name::Frames: return "frames";
    case PolicySettings::Name::Strict: return "strict";
    case PolicySettings::Name::StrictlyOrdered: return "strictly-ordered";
    case PolicySettings::Name::QuotedRoundRobin: return "quoted-round-robin";
  }
  return "unknown";
}

std::string describe(const PolicySettings& settings) {
  std::string policy;
  switch (settings.name) {
    case PolicySettings::Name::Frames: policy = "budgeted frames, " + budgets_text(settings); break;
    case PolicySettings::Name::Strict: policy = "strict priority"; break;
    case PolicySettings::Name::StrictlyOrdered: policy = "strictly ordered"; break;
    case PolicySettings::Name::QuotedRoundRobin: policy = "quoted round robin, " + budgets_text(settings); break;
  }
  const char* const tie = settings.tie == Tie::LeastRecentlyServed ? "least recently served first"
                          : settings.tie == Tie::Arrival           ? "in order of arrival"
                                                                   : "least consumed time first";
  return policy + ", " + tie + ", " + std::to_string(settings.batch) + (settings.batch == 1 ? " item" : " items") + " or " +
         std::to_string(settings.turn / 1us) + " us a turn";
}

std::vector<std::string> policy_warnings(const PolicySettings& settings) {
  std::vector<std::string> warnings;
  const auto is_infinite = [&](unsigned p) { return settings.budgets[p] == kInfinite; };
  const std::string infinite = priorities_text(is_infinite, "has no budget: while it", "have no budget: while one of them");
  if (!infinite.empty()) {
    warnings.push_back(infinite + " has work, no wait of a source of another priority that comes after has a bound");
  }
  if (settings.in_items) return warnings;
  Duration frame{0};
  for (unsigned p = 0; p < limits::kPriorities; ++p) {
    if (!is_infinite(p)) frame += Duration{settings.budgets[p]} + std::min(Duration{settings.budgets[p]}, settings.turn);
  }
  if (frame > limits::kFrameTime) {
    warnings.push_back("the budgets and longest turns of all priorities are " + std::to_string(frame / 1ms) + " ms a frame, above " +
                       std::to_string(limits::kFrameTime / 1ms) + " ms: a priority may wait for longer than a second");
  }
  return warnings;
}

std::vector<std::string> Policy::warnings() const {
  std::vector<std::string> warnings = policy_warnings(settings());
  if (settings().in_items) return warnings;
  const auto is_over = [this](unsigned p) { return uses()[p].longest.count() > settings().budgets[p]; };
  std::string over = priorities_text(is_over, "had turns longer than its budget: after one it waits for several frames",
                                     "had turns longer than their budget: after one they wait for several frames");
  if (!over.empty()) warnings.push_back(std::move(over));
  return warnings;
}

Result<PolicySettings> resolve_policy(const PolicyOptions& options) {
  return std::visit([](const auto& chosen) { return resolve(chosen); }, options);
}

Result<std::unique_ptr<Policy>> make_policy(const PolicyOptions& options) {
  const Result<PolicySettings> settings = resolve_policy(options);
  if (!settings) return failure(settings.error());
  return std::make_unique<FramesPolicy<FrameRules>>(*settings);
}

}  // namespace rondo
