// A line on standard error with the progress of a long command. Shown only on a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "rondo/base/clock.h"

namespace rondo::cli {

class Progress {
 public:
  /// 'total' is the expected number of rows, or of 'unit'. 'clock' and 'unit' must outlive this.
  Progress(const Clock& clock, std::string what, std::uint64_t total, bool shown, std::string_view unit = "rows");
  /// Ends the line, or removes it.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Removes the line at the end, so that only the answer remains.
  void leave_nothing() { leaves_nothing_ = true; }
  /// Sets the number completed. Draws at most ten times a second; reads the clock.
  void update(std::uint64_t done);

  /// The line for 'done' of 'total' after 'elapsed', without control characters, in at most 'columns' characters. Shows the end of a long
  /// 'what', and truncates the rest.
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

/// True if standard error is a terminal that can redraw a line.
bool can_show_progress();

}  // namespace rondo::cli
