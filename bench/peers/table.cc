// The table of a work.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "peers/works.h"

namespace rondo::bench {

namespace {
constexpr int kNameWidth = 26;
constexpr int kWidth = 12;
void print_name(std::string_view name) { std::printf("  %-*.*s", kNameWidth, static_cast<int>(name.size()), name.data()); }
}  // namespace

Candidates chosen(unsigned work, const Settings& settings) {
  Candidates all = candidates(work);
  std::erase_if(all, [&](const Candidate& candidate) { return candidate.name.find(settings.only) == std::string::npos; });
  return all;
}

Table::Table(const Candidates& candidates, std::vector<Column> columns)
    : candidates_(candidates), columns_(std::move(columns)), rows_(candidates.size(), std::vector<double>(columns_.size(), kNothing)) {}

void Table::add(std::size_t row, const std::vector<double>& figures) {
  for (std::size_t column = 0; column < figures.size(); ++column) {
    if (figures[column] != kNothing) add(row, column, figures[column]);
  }
}

void Table::add(std::size_t row, std::size_t column, double value) {
  double& held = rows_[row][column];
  if (held == kNothing || columns_[column].keeps == Keeps::Latest || is_better(column, value, held)) held = value;
}

std::size_t Table::best_peer(std::size_t column) const {
  std::size_t best = candidates_.size();
  for (std::size_t row = 0; row < candidates_.size(); ++row) {
    if (candidates_[row].side != Side::Peer || !has(row, column)) continue;
    if (best == candidates_.size() || is_better(column, at(row, column), at(best, column))) best = row;
  }
  return best;
}

void Table::print() const {
  if (candidates_.empty()) {
    std::printf("  no row of this work has such a name\n");
    return;
  }
  print_name("");
  for (const Column& column : columns_) std::printf("%*s", kWidth, column.name.c_str());
  std::printf("\n");
  for (std::size_t row = 0; row < candidates_.size(); ++row) {
    print_name(candidates_[row].name);
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      if (has(row, column)) {
        std::printf("%*.*f", kWidth, columns_[column].decimals, at(row, column));
      } else {
        std::printf("%*s", kWidth, "-");
      }
    }
    std::printf("\n");
  }
  print_comparison();
  std::fflush(stdout);
}

void Table::print_comparison() const {
  const auto ours = static_cast<std::size_t>(
      std::ranges::find_if(candidates_, [](const Candidate& candidate) { return candidate.side == Side::Ours; }) - candidates_.begin());
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    const std::size_t best = best_peer(column);
    if (columns_[column].keeps != Keeps::Compared || best == candidates_.size() || ours == candidates_.size()) continue;
    std::printf("  %s: best peer %s, %.*f", columns_[column].name.c_str(), candidates_[best].name.c_str(), columns_[column].decimals,
                at(best, column));
    if (at(best, column) > 0 && has(ours, column)) std::printf("; ours is %.2f of it", at(ours, column) / at(best, column));
    std::printf("\n");
  }
}

}  // namespace rondo::bench
