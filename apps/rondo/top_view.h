// What `rondo top` shows, as lines: of the newest frame of the daemon, and of what happened since the one before. The first frame shows the
// averages since the daemon's start. Knows no terminal.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "options.h"

namespace rondo::cli {

class TopView {
 public:
  explicit TopView(SourceOrder order) : order_(order) {}

  /// An answer of the daemon's command `top`, with its rows. One of a daemon that was started anew begins again.
  void take(boost::json::object frame);
  void sort_by(SourceOrder order) noexcept { order_ = order; }
  SourceOrder order() const noexcept { return order_; }

  /// Another part of the sources and of the columns is shown; what is beyond an end stays at it.
  enum class Move : unsigned char { Left, Right, Up, Down, PageUp, PageDown, First, Last };
  void move(Move move);

  struct Room {
    std::size_t lines = SIZE_MAX / 2;
    std::size_t columns = SIZE_MAX / 2;
  };
  /// As much as there is room for, and how much more there is; one source is shown at least. Of a table that is too wide the first column
  /// and some whole ones, with < and > in its title where there are more. 'color': titles are set off.
  std::vector<std::string> lines(Room room, bool color, const std::string& note);

 private:
  using Rows = std::vector<std::vector<std::string>>;  // The first is the titles.
  std::vector<std::string> head() const;
  Rows tables() const;
  Rows facts() const;
  Rows sources() const;
  /// Scrolls 'rows' to what moves have asked for, so that they and what is said of the others fit 'most' lines.
  Rows page(Rows rows, std::size_t most, std::string& more);
  double seconds() const;
  /// How much 'name' grew a second between the frames, in 'now' and the object of the same name before it.
  double rate(const boost::json::object& now, const boost::json::object* before, std::string_view name) const;

  SourceOrder order_;
  boost::json::object before_;
  boost::json::object now_;
  std::size_t top_row_ = 0;      // Sources above the first that is shown.
  std::size_t page_rows_ = 1;    // Sources shown.
  std::size_t skipped_ = 0;      // Columns left of those that are shown, without the first.
  std::size_t skipped_max_ = 0;  // As many as leave the last column in sight, in the widest table.
};

}  // namespace rondo::cli
