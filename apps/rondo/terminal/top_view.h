// The lines of `rondo top`: the newest frame of the daemon, and the rates since the previous one. The first frame shows the averages since
// the daemon's start. Independent of the terminal.
#pragma once

#include <boost/json.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "arguments/options.h"

namespace rondo::cli {

class TopView {
 public:
  explicit TopView(SourceOrder order) : order_(order) {}

  /// Takes an answer of the daemon's command `top`, with its rows. A frame of a restarted daemon begins a new history.
  void take(boost::json::object frame);
  void sort_by(SourceOrder order) noexcept { order_ = order; }
  SourceOrder order() const noexcept { return order_; }

  /// Scrolls through the sources and the columns, up to their ends.
  enum class Move : unsigned char { Left, Right, Up, Down, PageUp, PageDown, First, Last };
  void move(Move move);

  struct Room {
    std::size_t lines = SIZE_MAX / 2;
    std::size_t columns = SIZE_MAX / 2;
  };
  /// Returns the lines that fit, and how many sources are omitted; shows at least one source. Of a table that is too wide it shows the
  /// first column and some whole ones, with < and > in the title if there are more. 'color': highlights titles.
  std::vector<std::string> lines(Room room, bool color, const std::string& note);

 private:
  using Rows = std::vector<std::vector<std::string>>;  // The first row contains the titles.
  std::vector<std::string> head() const;
  Rows tables() const;
  Rows facts() const;
  Rows sources() const;
  /// Returns the rows at the scroll position, so that they and the line about the omitted rows fit in 'most' lines.
  Rows page(Rows rows, std::size_t most, std::string& more);
  double seconds() const;
  /// The increase of 'name' per second between the frames, in 'now' and the previous object of the same name.
  double rate(const boost::json::object& now, const boost::json::object* before, std::string_view name) const;

  SourceOrder order_;
  boost::json::object before_;
  boost::json::object now_;
  std::size_t top_row_ = 0;      // The number of sources above the first visible one.
  std::size_t page_rows_ = 1;    // The number of visible sources.
  std::size_t skipped_ = 0;      // The number of columns skipped after the first.
  std::size_t skipped_max_ = 0;  // The largest value that keeps the last column of the widest table visible.
};

}  // namespace rondo::cli
