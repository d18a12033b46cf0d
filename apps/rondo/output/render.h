// Formats results as text: aligned tables with a header, numbers right-aligned, nothing truncated. It formats by the shape of the data,
// except for a few commands with a layout of their own (get, why, log, commands, doctor). JSON output does not use it.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::cli {

/// Formats rows with named columns as lines. Widths are counted in characters, not bytes.
class TextTable {
 public:
  explicit TextTable(bool color) : color_(color) {}

  /// Adds a row: an object's members are cells under their names; any other value is a cell under "value". A new name adds a column.
  void add(const boost::json::value& row);
  std::size_t rows() const noexcept { return rows_.size(); }
  /// Returns header and rows; "" if there is no row.
  std::string text() const;
  /// Returns the rows since the last call; only the first call includes the header. So a long list can be shown as it arrives. Columns
  /// never become narrower.
  std::string next_lines();

 private:
  struct Cell {
    std::string text;
    bool number = false;
  };
  std::size_t column(std::string_view name);
  std::string lines(bool header, std::vector<std::size_t>& widths) const;
  void append_line(std::string& out, const std::vector<Cell>& cells, const std::vector<std::size_t>& widths) const;

  bool color_;
  std::vector<std::string> columns_;
  std::vector<std::vector<Cell>> rows_;
  std::vector<std::size_t> widths_;  // The widths used by next_lines().
};

/// Returns the answer of 'command' as text with a final newline, or "" if the answer is empty.
std::string render_result(std::string_view command, const boost::json::object& result, bool color);

/// The workers, each in one line.
boost::json::array worker_lines(boost::json::array rows);

/// The sources, busiest first, in seven columns that show which use the time and which wait for it.
boost::json::array busiest_sources(boost::json::array rows);

/// The newest turns, with the time from their start to 'at_us', the time of the answer.
boost::json::array turn_lines(boost::json::array rows, double at_us);

/// Facts that rows wait for: those with the most rows first; of equal ones, the longest waiting first.
boost::json::array by_waiting_rows(boost::json::array facts);

/// Returns "name=value ..." for each field of a row.
std::string fields_text(const boost::json::object& row);

/// One change of `watch` as a line: SET key field=value ...
std::string render_change(const boost::json::value& change);

/// One event of `trace` as a line: +12.345 ms  parked on nexthop-group 102
std::string render_event(const boost::json::value& event);

/// The number of characters of UTF-8 text.
std::size_t characters(std::string_view text) noexcept;

/// True on a terminal that supports color, unless NO_COLOR (https://no-color.org) or TERM=dumb is set.
bool wants_color(int fd);

}  // namespace rondo::cli
