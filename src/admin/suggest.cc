// Edit distance (optimal string alignment) for rondo/admin/suggest.h.
#include "admin/suggest.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace rondo {
namespace {

constexpr std::size_t kLongestWord = 64;

std::size_t distance(std::string_view a, std::string_view b) {
  std::array<std::array<std::size_t, kLongestWord + 1>, kLongestWord + 1> cost{};
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[a.size()][b.size()];
}

/// An edit costs 3. Completing a word of fewer than 4 letters costs less, because an edit changes most of such a word ("st" is nearer to
/// "stats" than to "set"). Completing a longer one costs more ("--cont" is nearer to "--count" than to "--container").
constexpr std::size_t kEditCost = 3;

std::size_t completion_cost(std::string_view word) {
  return word.size() - std::min(word.find_first_not_of('-'), word.size()) < 4 ? kEditCost - 1 : kEditCost + 1;
}

}  // namespace

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.empty() || word.size() > kLongestWord) return {};
  std::string_view best;
  std::size_t best_cost = (std::max<std::size_t>(1, word.size() / 3) + 1) * kEditCost;
  for (const std::string_view candidate : candidates) {
    if (candidate.size() > kLongestWord) continue;
    const std::size_t cost = candidate.starts_with(word) ? completion_cost(word) : distance(word, candidate) * kEditCost;
    if (cost < best_cost) {
      best = candidate;
      best_cost = cost;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view near = nearest_name(word, candidates);
  if (near.empty()) return {};
  return std::string{"; did you mean '"}.append(near).append("'?");
}

}  // namespace rondo
