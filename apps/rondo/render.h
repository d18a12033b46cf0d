// Results for people: aligned tables with a header, numbers to the right, nothing cut off. Knows shapes, not commands, except for those
// whose shape deserves better (get, why, log, commands, doctor). JSON for machines does not pass through here.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::cli {

/// Rows with named columns become lines. Widths are counted in characters, not bytes.
class TextTable {
 public:
  explicit TextTable(bool color) : color_(color) {}

  /// An object's members are cells under their names; anything else is a cell under "value". New columns appear as they come.
  void add(const boost::json::value& row);
  std::size_t rows() const noexcept { return rows_.size(); }
  /// Header and rows; "" when there is no row.
  std::string text() const;
  /// The same of the rows since the last call, without the header from the second call on: a long list is shown as it comes. Columns keep
  /// at least the width that they had.
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
  std::vector<std::size_t> widths_;  // Of what next_lines() has shown.
};

/// The answer of 'command' as text with a final newline, or "" when there is nothing to say.
std::string render_result(std::string_view command, const boost::json::object& result, bool color);

/// The sources, busiest first, in the seven columns that say who takes the time and who waits for it.
boost::json::array busiest_sources(boost::json::array rows);

/// Facts that rows wait for: the one with the most rows first, and of these the one that waits longest.
boost::json::array by_waiting_rows(boost::json::array facts);

/// 'row' in the words of an operator (plain_names.h).
boost::json::value plain_row(boost::json::value row);

/// "name=value ..." for each field of a row.
std::string fields_text(const boost::json::object& row);

/// One change of `watch` as a line: SET key field=value ...
std::string render_change(const boost::json::value& change);

/// One event of `trace` as a line: +12.345 ms  parked on nexthop-group 102
std::string render_event(const boost::json::value& event);

/// Characters of UTF-8 text.
std::size_t characters(std::string_view text) noexcept;

/// Color only on a terminal that wants it: not with NO_COLOR (https://no-color.org) or TERM=dumb.
bool wants_color(int fd);

}  // namespace rondo::cli
