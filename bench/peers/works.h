// The works that all loops do, each in a file of its own. Rounds alternate between the loops, so that a noisy moment hits all alike, and
// each measurement has a process of its own; a figure is the best of its rounds. Each work prints a table whose last lines set ours beside
// the best peer.
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
  Duration part = 1s;  // How long a flood lasts.
  std::string only;    // Candidates whose name has this in it; all if empty.
};

/// Dispatch: what it costs to handle N descriptors of mixed priorities that are all ready.
void dispatch(const Settings& settings);
/// A million messages queued over eight priorities and then handled, and one that sends itself again.
void local_messages(const Settings& settings);
/// Messages from another thread.
void hand_over(const Settings& settings);
/// How long an urgent message waits while a hundred descriptors flood the lowest priority.
void flood(const Settings& settings);
/// What is left for the lowest priority while all others flood.
void starvation(const Settings& settings);

/// Those of 'work' that take part.
Candidates chosen(unsigned work, const Settings& settings);

/// A table with a row for each candidate, and our ratio to the best peer.
class Table {
 public:
  /// A figure that there is not.
  static constexpr double kNothing = -1;
  /// Of several rounds: the best figure, with our ratio to the best peer; the best figure alone; or the latest.
  enum class Keeps : std::uint8_t { Compared, Best, Latest };
  struct Column {
    std::string name;
    int decimals = 0;
    Keeps keeps = Keeps::Compared;
    bool lower_is_best = true;
  };
  Table(const Candidates& candidates, std::vector<Column> columns);
  /// A round's figures of a row, from the left.
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
