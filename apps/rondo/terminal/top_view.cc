#include "terminal/top_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include "output/render.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

double number(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

std::string word(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_string() ? std::string{value->get_string()} : std::string{};
}

const json::array& list(const json::object& object, std::string_view name) {
  static const json::array kNone;
  const json::value* const value = object.if_contains(name);
  return value != nullptr && value->is_array() ? value->get_array() : kNone;
}

/// Finds the object called 'name' in a list of objects, by its member 'member'.
const json::object* named(const json::array& all, std::string_view member, const std::string& name) {
  for (const json::value& one : all) {
    if (one.is_object() && word(one.get_object(), member) == name) return &one.get_object();
  }
  return nullptr;
}

/// 1,234,567
std::string whole(double value) {
  // Larger numbers, which no daemon has, do not fit the integer.
  std::string digits = std::to_string(static_cast<std::int64_t>(std::clamp(value, 0.0, 1e18) + 0.5));
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// Three digits and a unit: 1.23 ms.
std::string time_text(double us) {
  if (us <= 0) return "-";
  const auto [value, unit] = us < 1e3    ? std::pair{us, "us"}
                             : us < 1e6  ? std::pair{us / 1e3, "ms"}
                             : us < 6e7  ? std::pair{us / 1e6, "s"}
                             : us < 36e8 ? std::pair{us / 6e7, "min"}
                                         : std::pair{us / 36e8, "h"};
  char text[32];
  std::snprintf(text, sizeof text, value < 10 ? "%.2f %s" : value < 100 ? "%.1f %s" : "%.0f %s", value, unit);
  return text;
}

std::string percent(double part) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * part);
  return text;
}

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kGap = 2;
constexpr std::size_t kMarks = 4;  // "  <>" at the end of the title.

std::vector<std::size_t> widths_of(const Rows& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  return widths;
}

/// The number of columns after the first to skip so that the last is visible; at most all but the last.
std::size_t most_skipped(const std::vector<std::size_t>& widths, std::size_t columns) {
  std::size_t need = widths.front();
  for (std::size_t i = 1; i < widths.size(); ++i) need += kGap + widths[i];
  if (need <= columns) return 0;
  need += kMarks;
  std::size_t skipped = 0;
  while (need > columns && skipped + 2 < widths.size()) need -= kGap + widths[++skipped];
  return skipped;
}

/// Formats a table of texts; columns from 'first_right' on are right-aligned. Omits 'skipped' columns after the first, and those that do
/// not fit.
std::vector<std::string> aligned(const Rows& rows, std::size_t first_right, std::size_t skipped, std::size_t columns) {
  const std::vector<std::size_t> widths = widths_of(rows);
  const std::size_t most = most_skipped(widths, columns);
  skipped = std::min(skipped, most);
  std::size_t used = widths.front() + (most == 0 ? 0 : kMarks);
  std::size_t end = 1 + skipped;
  // Shows at least one column, even if truncated.
  while (end < widths.size() && (end == 1 + skipped || used + kGap + widths[end] <= columns)) used += kGap + widths[end++];
  std::vector<std::string> out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < std::min(end, row.size()); ++i) {
      if (i != 0 && i <= skipped) continue;
      const std::string gap(widths[i] - characters(row[i]), ' ');
      line.append(i == 0 ? 0 : kGap, ' ').append(i < first_right ? row[i] + gap : gap + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.push_back(std::move(line));
  }
  if (most != 0) out.front().append("  ").append(skipped > 0 ? "<" : "").append(end < widths.size() ? ">" : "");
  return out;
}

}  // namespace

void TopView::take(json::object frame) {
  const bool anew = number(frame, "at_us") < number(now_, "at_us");
  before_ = anew ? json::object{} : std::move(now_);
  now_ = std::move(frame);
}

double TopView::seconds() const { return std::max((number(now_, "at_us") - number(before_, "at_us")) / 1e6, 1e-6); }

double TopView::rate(const json::object& now, const json::object* before, std::string_view name) const {
  const double grown = number(now, name) - (before == nullptr ? 0 : number(*before, name));
  return std::max(grown, 0.0) / seconds();
}

std::vector<std::string> TopView::head() const {
  static const json::object kNone;
  const auto plane = [](const json::object& frame) -> const json::object& {
    const json::value* const value = frame.if_contains("dataplane");
    return value != nullptr && value->is_object() ? value->get_object() : kNone;
  };
  const json::object& now = plane(now_);
  const json::object& before = plane(before_);
  std::vector<std::string> lines{"rondo top   up " + time_text(number(now_, "at_us")) + ", " + whole(number(now_, "rss_bytes") / 1048576) +
                                     " MiB, store " + word(now_, "store"),
                                 "turns       " + whole(rate(now_, &before_, "turns")) + "/s, longest " +
                                     time_text(number(now_, "longest_turn_us")) + ", " + whole(number(now_, "long_turns")) + " long, " +
                                     whole(number(now_, "sweep_rescues")) + " rescues, " + whole(number(now_, "quarantined")) +
                                     " quarantined"};
  if (now.empty()) return lines;  // The program has no data plane of this kind.
  lines.push_back("data plane  " + word(now, "kind") + ": " + whole(rate(now, &before, "applied")) + " orders/s, " +
                  whole(number(now, "in_flight")) + " in flight, " + whole(number(now, "failed")) + " failed, busy " +
                  percent(rate(now, &before, "busy_us") / 1e6));
  return lines;
}

TopView::Rows TopView::tables() const {
  Rows rows{{"TABLE", "QUEUED", "PARKED", "IN FLIGHT", "TAKEN/s", "DONE/s", "REJECTED"}};
  for (const json::value& value : list(now_, "tables")) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    const json::object* const old = named(list(before_, "tables"), "table", word(one, "table"));
    rows.push_back({word(one, "table"), whole(number(one, "queued")), whole(number(one, "parked")), whole(number(one, "in_flight")),
                    whole(rate(one, old, "taken")), whole(rate(one, old, "done")), whole(number(one, "rejected"))});
  }
  return rows;
}

TopView::Rows TopView::facts() const {
  const double awaited = number(now_, "awaited_facts");
  Rows rows{{"WAITS FIRST FOR (" + whole(awaited) + (awaited == 1 ? " fact)" : " facts)"), "TABLE", "ROWS", "OLDEST"}};
  for (const json::value& value : list(now_, "facts")) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    const json::value* const provided = one.if_contains("has_provider");
    const bool is_unprovided = provided != nullptr && provided->is_bool() && !provided->get_bool();
    rows.push_back({word(one, "kind") + " " + word(one, "key") + (is_unprovided ? " (no Orch provides it)" : ""), word(one, "table"),
                    whole(number(one, "rows")), time_text(1000 * number(one, "oldest_ms"))});
  }
  if (rows.size() == 1) return {};
  return rows;
}

TopView::Rows TopView::sources() const {
  struct Line {
    double by;
    std::string name;
    std::vector<std::string> cells;
  };
  std::vector<Line> all;
  for (const json::value& value : list(now_, "rows")) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    const std::string name = word(one, "name");
    const json::object* const old = named(list(before_, "rows"), "name", name);
    const double turns = rate(one, old, "turns");
    const double share = rate(one, old, "ran_us") / 1e6;
    const std::array<double, 7> by{
        0, turns, share, number(one, "longest_us"), number(one, "depth"), number(one, "waiting_us"), number(one, "busy_us")};
    all.push_back({by[static_cast<std::size_t>(order_)],
                   name,
                   {name, whole(number(one, "priority")), word(one, "state"), whole(turns), whole(rate(one, old, "items")), percent(share),
                    turns > 0 ? time_text(share * 1e6 / turns) : "-", time_text(number(one, "longest_us")), whole(number(one, "depth")),
                    time_text(number(one, "waiting_us")), time_text(number(one, "wait_bound_us")), time_text(number(one, "busy_us"))}});
  }
  std::ranges::stable_sort(all, [](const Line& a, const Line& b) { return a.by != b.by ? a.by > b.by : a.name < b.name; });
  Rows rows{{"SOURCE", "PRIORITY", "STATE", "TURNS/s", "ITEMS/s", "SHARE", "A TURN", "LONGEST", "DEPTH", "WAITING", "BOUND", "BUSY"}};
  for (Line& line : all) rows.push_back(std::move(line.cells));
  return rows;
}

void TopView::move(Move move) {
  const auto back = [](std::size_t& place, std::size_t by) { place -= std::min(place, by); };
  switch (move) {
    case Move::Left: return back(skipped_, 1);
    case Move::Right: skipped_ = std::min(skipped_ + 1, skipped_max_); return;
    case Move::Up: return back(top_row_, 1);
    case Move::Down: ++top_row_; return;  // page() keeps the last row visible.
    case Move::PageUp: return back(top_row_, page_rows_);
    case Move::PageDown: top_row_ += page_rows_; return;
    case Move::First: top_row_ = 0; return;
    case Move::Last: top_row_ = SIZE_MAX / 2; return;
  }
}

TopView::Rows TopView::page(Rows rows, std::size_t most, std::string& more) {
  const std::size_t all = rows.size() - 1;
  // The titles, and a line for the omitted rows.
  page_rows_ = all < most ? all : std::max<std::size_t>(1, most > 2 ? most - 2 : 1);
  top_row_ = std::min(top_row_, all - std::min(page_rows_, all));
  const std::size_t below = all - std::min(all, top_row_ + page_rows_);
  if (below > 0) more = whole(static_cast<double>(below)) + " more";
  if (top_row_ > 0) more.append(more.empty() ? "" : ", ").append(whole(static_cast<double>(top_row_)) + " above");
  Rows shown{std::move(rows.front())};
  for (std::size_t i = 0; i < std::min(page_rows_, all); ++i) shown.push_back(std::move(rows[1 + top_row_ + i]));
  return shown;
}

std::vector<std::string> TopView::lines(Room room, bool color, const std::string& note) {
  std::vector<std::string> all = head();
  all.push_back(note);
  skipped_max_ = 0;
  const auto add = [&](const Rows& rows, std::size_t first_right, const std::string& more) {
    skipped_max_ = std::max(skipped_max_, most_skipped(widths_of(rows), room.columns));
    std::vector<std::string> part = aligned(rows, first_right, skipped_, room.columns);
    if (color) part.front() = "\x1b[7m" + part.front() + "\x1b[0m";
    all.insert(all.end(), part.begin(), part.end());
    if (!more.empty()) all.push_back("... " + more);
    all.emplace_back();
  };
  // The frame may contain only the first of 'all_rows' (which includes the titles).
  const auto add_first = [&](Rows rows, std::size_t first_right, std::size_t most, std::size_t all_rows) {
    if (rows.size() < 2 || most < 2) return;
    const bool says_more = most > 2 && all_rows > std::min(rows.size(), most);
    const std::size_t shown = std::min(rows.size(), most - (says_more ? 1 : 0));
    const std::string more = says_more ? whole(static_cast<double>(all_rows - shown)) + " more" : "";
    rows.resize(shown);
    add(rows, first_right, more);
  };
  // At least two lines are for the sources; facts get a third of the rest.
  const auto left = [&] { return room.lines > all.size() + 3 ? room.lines - all.size() - 3 : 0; };
  const Rows of_tables = tables();
  add_first(of_tables, 1, left(), of_tables.size());
  add_first(facts(), 2, left() / 3 + 1, 1 + static_cast<std::size_t>(number(now_, "awaited_facts")));
  std::string more;
  const std::size_t most = std::max<std::size_t>(2, room.lines > all.size() ? room.lines - all.size() : 0);
  const Rows shown = page(sources(), most, more);
  add(shown, 3, most < 3 ? std::string{} : more);
  all.pop_back();
  skipped_ = std::min(skipped_, skipped_max_);
  return all;
}

}  // namespace rondo::cli
