#include "top_view.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string_view>
#include <utility>

#include "render.h"

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

/// The object of 'name' in a list of objects, by its member 'member'.
const json::object* named(const json::array& all, std::string_view member, const std::string& name) {
  for (const json::value& one : all) {
    if (one.is_object() && word(one.get_object(), member) == name) return &one.get_object();
  }
  return nullptr;
}

/// 1,234,567
std::string whole(double value) {
  std::string digits = std::to_string(static_cast<std::int64_t>(std::max(value, 0.0) + 0.5));
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits;
}

/// Three figures and a unit: 1.23 ms.
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

/// A table whose cells are texts already; those of the columns from 'first_right' on stand to the right.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows, std::size_t first_right) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], characters(row[i]));
  }
  std::vector<std::string> out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string gap(widths[i] - characters(row[i]), ' ');
      line.append(i == 0 ? "" : "  ").append(i < first_right ? row[i] + gap : gap + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out.push_back(std::move(line));
  }
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
  return {"rondo top   up " + time_text(number(now_, "at_us")) + ", " + whole(number(now_, "rss_bytes") / 1048576) + " MiB, store " +
              word(now_, "store"),
          "turns       " + whole(rate(now_, &before_, "turns")) + "/s, longest " + time_text(number(now_, "longest_turn_us")) + ", " +
              whole(number(now_, "long_turns")) + " long, " + whole(number(now_, "sweep_rescues")) + " rescues, " +
              whole(number(now_, "quarantined")) + " quarantined",
          "data plane  " + word(now, "kind") + ": " + whole(rate(now, &before, "applied")) + " orders/s, " +
              whole(number(now, "in_flight")) + " in flight, " + whole(number(now, "failed")) + " failed, busy " +
              percent(rate(now, &before, "busy_us") / 1e6)};
}

std::vector<std::string> TopView::tables() const {
  std::vector<std::vector<std::string>> rows{{"TABLE", "QUEUED", "PARKED", "IN FLIGHT", "TAKEN/s", "DONE/s", "REJECTED"}};
  for (const json::value& value : list(now_, "tables")) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    const json::object* const old = named(list(before_, "tables"), "table", word(one, "table"));
    rows.push_back({word(one, "table"), whole(number(one, "queued")), whole(number(one, "parked")), whole(number(one, "in_flight")),
                    whole(rate(one, old, "taken")), whole(rate(one, old, "done")), whole(number(one, "rejected"))});
  }
  return aligned(rows, 1);
}

std::vector<std::string> TopView::facts() const {
  std::vector<std::vector<std::string>> rows{{"WAITS FOR (" + whole(number(now_, "awaited_facts")) + " facts)", "TABLE", "ROWS", "OLDEST"}};
  for (const json::value& value : list(now_, "facts")) {
    if (!value.is_object()) continue;
    const json::object& one = value.get_object();
    const json::value* const provided = one.if_contains("has_provider");
    const bool nobody = provided != nullptr && provided->is_bool() && !provided->get_bool();
    rows.push_back({word(one, "kind") + " " + word(one, "key") + (nobody ? " (nobody provides it)" : ""), word(one, "table"),
                    whole(number(one, "rows")), time_text(1000 * number(one, "oldest_ms"))});
  }
  if (rows.size() == 1) return {};
  return aligned(rows, 2);
}

std::vector<std::string> TopView::sources() const {
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
  std::vector<std::vector<std::string>> rows{
      {"SOURCE", "PRIORITY", "STATE", "TURNS/s", "ITEMS/s", "SHARE", "A TURN", "LONGEST", "DEPTH", "WAITING", "BOUND", "BUSY"}};
  for (Line& line : all) rows.push_back(std::move(line.cells));
  return aligned(rows, 3);
}

std::vector<std::string> TopView::lines(std::size_t most, bool color, const std::string& note) const {
  std::vector<std::string> all = head();
  all.push_back(note);
  const auto add = [&](std::vector<std::string> part, std::size_t room) {
    if (part.empty() || room < 2) return;
    if (part.size() > room) part.resize(room);
    if (color) part.front() = "\x1b[7m" + part.front() + "\x1b[0m";
    all.insert(all.end(), part.begin(), part.end());
    all.emplace_back();
  };
  // Two lines at least are for the sources; facts have a third of what is left.
  const auto left = [&] { return most > all.size() + 3 ? most - all.size() - 3 : 0; };
  add(tables(), left());
  add(facts(), left() / 3 + 1);
  add(sources(), std::max<std::size_t>(2, most > all.size() ? most - all.size() : 0));
  all.pop_back();
  return all;
}

}  // namespace rondo::cli
