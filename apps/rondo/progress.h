// A line on standard error that says how far something long is. Only on a terminal; elsewhere it says nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/clock.h"

namespace rondo::cli {

class Progress {
 public:
  /// 'total' rows will come, or what 'unit' names. 'clock' and 'unit' outlive this.
  Progress(const Clock& clock, std::string what, std::uint64_t total, bool shown, std::string_view unit = "rows");
  /// Ends the line, or takes it away.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Nothing is left of the line at the end: of interest is only the answer.
  void leave_nothing() { leaves_nothing_ = true; }
  /// So many are through. Draws at most ten times a second; reads the clock.
  void update(std::uint64_t done);

  /// The line for 'done' of 'total' after 'elapsed', without control characters, in at most 'columns' characters: of a long 'what' the end
  /// is shown, and what still does not fit is cut off.
  static std::string line(const std::string& what, std::uint64_t done, std::uint64_t total, Duration elapsed, std::size_t columns = 79,
                          std::string_view unit = "rows");

 private:
  void draw(std::uint64_t done);

  const Clock& clock_;
  const std::string what_;
  const std::uint64_t total_;
  const bool shown_;
  const std::string_view unit_;
  bool leaves_nothing_ = false;
  const Instant start_;
  Instant drawn_;
  std::uint64_t last_done_ = 0;
};

/// Standard error is a terminal that can redraw a line.
bool can_show_progress();

}  // namespace rondo::cli
