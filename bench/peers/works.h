// The works that all loops run, each in its own file. Rounds alternate between the loops, so that a noisy moment affects all alike. Each
// measurement has its own process; a figure is the best of its rounds. Each work prints a table whose last lines compare ours with the
// best peer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "peers/loop.h"

namespace rondo::bench {

struct Settings {
  int rounds = 5;
  Duration part = 1s;  // The duration of a flood.
  std::string only;    // Runs only candidates whose name contains this; empty: all.
};

/// Dispatch: the cost of handling N descriptors of mixed priorities that are all ready.
void dispatch(const Settings& settings);
/// A million messages queued for eight priorities and then handled, and one that sends itself again.
void local_messages(const Settings& settings);
/// Messages from another thread.
void hand_over(const Settings& settings);
/// How long an urgent message waits while a hundred descriptors flood the lowest priority.
void flood(const Settings& settings);
/// The share of the lowest priority while all others flood.
void starvation(const Settings& settings);

/// The chosen candidates of 'work'.
Candidates chosen(unsigned work, const Settings& settings);

/// A table with a row for each candidate, and our ratio to the best peer.
class Table {
 public:
  /// An absent figure.
  static constexpr double kNothing = -1;
  /// Which figure is kept over several rounds: the best with our ratio to the best peer; the best alone; or the latest.
  enum class Keeps : std::uint8_t { Compared, Best, Latest };
  struct Column {
    std::string name;
    int decimals = 0;
    Keeps keeps = Keeps::Compared;
    bool lower_is_best = true;
  };
  Table(const Candidates& candidates, std::vector<Column> columns);
  /// Adds the figures of one round to a row, from the left.
  void add(std::size_t row, const std::vector<double>& figures);
  void add(std::size_t row, std::size_t column, double value);
  double at(std::size_t row, std::size_t column) const { return rows_[row][column]; }
  bool has(std::size_t row, std::size_t column) const { return rows_[row][column] != kNothing; }
  void print() const;

 private:
  bool is_better(std::size_t column, double a, double b) const { return columns_[column].lower_is_best ? a < b : a > b; }
  std::size_t best_peer(std::size_t column) const;
  void print_comparison() const;
  const Candidates& candidates_;
  std::vector<Column> columns_;
  std::vector<std::vector<double>> rows_;
};

}  // namespace rondo::bench
