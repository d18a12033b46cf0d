// See render.h.
#include "output/render.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "output/json_text.h"
#include "output/print.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// The widest cell that the other rows of its column are padded to. Only its own row is longer: one key of 3,000 characters must not push
/// the figures of all rows out of sight.
constexpr std::size_t kPaddedMost = 64;

/// The width of a column after a cell of 'cell' characters is added to one of width 'width'.
std::size_t padded_width(std::size_t width, std::size_t cell) { return cell > kPaddedMost ? width : std::max(width, cell); }

std::string_view view(const json::string& text) noexcept { return {text.data(), text.size()}; }

std::string real_text(double value) {
  char buffer[64];
  const auto plain = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed, 2);
  if (plain.ec == std::errc{}) return {buffer, plain.ptr};
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};  // The shortest form always has room.
}

/// A value as one cell: text unchanged, {kind, key} facts as "kind key", lists joined.
std::string cell_text(const json::value& value) {
  switch (value.kind()) {
    case json::kind::null: return "-";
    case json::kind::bool_: return value.get_bool() ? "yes" : "no";
    case json::kind::int64: return std::to_string(value.get_int64());
    case json::kind::uint64: return std::to_string(value.get_uint64());
    case json::kind::double_: return real_text(value.get_double());
    case json::kind::string: return std::string{view(value.get_string())};
    case json::kind::array: {
      std::string text;
      for (const json::value& part : value.get_array()) text.append(text.empty() ? "" : ", ").append(cell_text(part));
      return text;
    }
    case json::kind::object: {
      std::string text;
      for (const auto& member : value.get_object()) {
        if (!text.empty()) text += ' ';
        if (member.key() != "kind" && member.key() != "key") text.append(member.key().data(), member.key().size()).append("=");
        text.append(cell_text(member.value()));
      }
      return text;
    }
  }
  return {};
}

std::string text_member(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  return value == nullptr ? std::string{} : cell_text(*value);
}

/// A member that is a count or an index; empty if the daemon's value cannot be one.
std::optional<std::size_t> size_member(const json::object& object, std::string_view name) {
  const json::value* const value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  boost::system::error_code fault;
  const auto size = value->to_number<std::size_t>(fault);
  return fault ? std::nullopt : std::optional{size};
}

/// The quantiles beside a histogram tell people more.
bool is_for_programs(std::string_view member) noexcept { return member.ends_with("_histogram"); }

/// Flattens nested members to dotted names; lists of objects are kept as separate tables.
void flatten(const std::string& path, const json::object& object, json::object& scalars,
             std::vector<std::pair<std::string, const json::array*>>& tables) {
  for (const auto& member : object) {
    if (is_for_programs({member.key().data(), member.key().size()})) continue;
    const std::string name = path.empty() ? std::string{member.key()} : path + "." + std::string{member.key()};
    const json::array* const list = member.value().if_array();
    if (const json::object* const inner = member.value().if_object()) {
      flatten(name, *inner, scalars, tables);
    } else if (list != nullptr && !list->empty() && list->front().is_object()) {
      tables.emplace_back(name, list);
    } else {
      scalars[name] = member.value();
    }
  }
}

std::string render_rows(const json::array& rows, bool color) {
  TextTable table(color);
  for (const json::value& row : rows) table.add(row);
  return table.text();
}

std::string render_object(const json::object& result, bool color) {
  json::object scalars;
  std::vector<std::pair<std::string, const json::array*>> tables;
  flatten({}, result, scalars, tables);
  std::string out;
  std::size_t width = 0;
  for (const auto& scalar : scalars) width = padded_width(width, characters({scalar.key().data(), scalar.key().size()}));
  for (const auto& scalar : scalars) {
    const std::string_view name{scalar.key().data(), scalar.key().size()};
    out.append(name).append(std::max(width, characters(name)) - characters(name) + 2, ' ').append(cell_text(scalar.value())).append("\n");
  }
  for (const auto& [name, rows] : tables) {
    if (!out.empty()) out += '\n';
    out.append(color ? kBold : "").append(name).append(color ? kPlain : "").append("\n").append(render_rows(*rows, color));
  }
  return out;
}

/// Prints each of these lists of texts with one element a line, and the rest like any object.
std::string render_health(json::object result, bool color) {
  std::string lists;
  for (const std::string_view name : {"troubles", "notes"}) {
    const json::value* const list = result.if_contains(name);
    if (list == nullptr || !list->is_array()) continue;
    if (list->get_array().empty()) continue;
    lists.append("\n").append(color ? kBold : "").append(name).append(color ? kPlain : "").append("\n");
    for (const json::value& one : list->get_array()) lists.append("  ").append(cell_text(one)).append("\n");
    result.erase(name);
  }
  return render_object(result, color) + lists;
}

std::string render_get(const json::object& result, bool color) {
  const json::value* const fields = result.if_contains("fields");
  if (fields == nullptr || !fields->is_array()) return render_object(result, color);
  json::array rows;
  for (const json::value& field : fields->get_array()) {
    const json::array* const pair = field.if_array();
    if (pair != nullptr && pair->size() == 2) rows.push_back(json::object{{"field", (*pair)[0]}, {"value", (*pair)[1]}});
  }
  const std::string told = rows.empty() ? "(the row has no fields)\n" : render_rows(rows, color);
  const std::string plane = text_member(result, "plane");
  const std::string state = plane.empty() ? text_member(result, "state") : plane;
  if (state.empty()) return told;  // The answer is about a file, or from an older daemon.
  const std::string note = text_member(result, "note");
  return told + "\n" + state + (note.empty() ? "" : ": " + note) + "\n";
}

/// Returns ", waits for a 1, b 2": the missing facts, or all facts if the daemon does not report which are missing.
std::string waits_for(const json::object& link) {
  const json::value* const given = link.if_contains("facts");
  if (given == nullptr || !given->is_array() || given->get_array().empty()) return {};
  const json::array& facts = given->get_array();
  const std::size_t shown = size_member(link, "missing").value_or(facts.size());
  if (shown == 0) return ", what it waited for is there";
  std::string line = ", waits for ";
  for (std::size_t i = 0; i < std::min(shown, facts.size()); ++i) line.append(i == 0 ? "" : ", ").append(cell_text(facts[i]));
  const std::size_t others = facts.size() - std::min(shown, facts.size());
  if (others == 1) line.append(" (").append(cell_text(facts[shown])).append(" is there)");
  if (others > 1) line.append(" (").append(std::to_string(others)).append(" other facts are there)");
  return line;
}

std::string why_line(const json::object& link) {
  const std::string table = text_member(link, "table");
  const std::string any_of = text_member(link, "any_of");
  std::string line = any_of.empty() ? "" : "any of " + any_of + ": ";
  line.append(table.empty() ? "(no row is known)" : table + " " + text_member(link, "key"));
  const std::string plane = text_member(link, "plane");
  const std::string pending = text_member(link, "state");
  const bool is_refused = pending == "parked" && plane == "refused";
  const std::string state = (pending == "done" && !plane.empty()) || is_refused ? plane : pending;
  const std::string note = text_member(link, "note");
  // The note on a refusal begins with the refused operation: "SET rejected: ...".
  if (state == "rejected" && note.find("rejected") != std::string::npos) return line + ": " + note;
  const std::string op = text_member(link, "op");
  line.append(": ").append(op == "DEL" ? "DEL " : "").append(state).append(waits_for(link));
  const std::string provider = text_member(link, "provider");
  if (!provider.empty()) line.append(" (provided by ").append(provider).append(")");
  if (!note.empty()) line.append(": ").append(note);
  return line;
}

/// A link of the chain, as a node of the tree that the parents form.
struct Branch {
  std::size_t parent = 0;
  std::size_t depth = 0;
  bool is_last = true;  // It is its parent's last child.
};

/// If the daemon names no parents, each link's parent is the previous link.
std::vector<Branch> branches_of(const json::array& chain) {
  std::vector<Branch> all;
  std::vector<std::size_t> last_child(chain.size());
  for (const json::value& link : chain) {
    const std::size_t at = all.size();
    const std::optional<std::size_t> named = link.is_object() ? size_member(link.get_object(), "parent") : std::nullopt;
    const std::size_t parent = named.value_or(at - (at == 0 ? 0 : 1));
    const bool is_root = parent >= at;
    all.push_back({is_root ? at : parent, is_root ? 0 : all[parent].depth + 1});
    if (is_root) continue;
    if (last_child[parent] != 0) all[last_child[parent]].is_last = false;
    last_child[parent] = at;
  }
  return all;
}

/// Returns "│ └ ": the vertical line connects to a later child of the same parent.
std::string branch_text(const std::vector<Branch>& branches, std::size_t at) {
  if (branches[at].depth == 0) return {};
  std::string text = branches[at].is_last ? "└ " : "├ ";
  for (at = branches[at].parent; branches[at].depth != 0; at = branches[at].parent) text.insert(0, branches[at].is_last ? "  " : "│ ");
  return text;
}

std::string render_why(const json::object& result, bool color) {
  const json::value* const chain = result.if_contains("chain");
  if (chain == nullptr || !chain->is_array()) return render_object(result, color);
  std::string out;
  const std::vector<Branch> branches = branches_of(chain->get_array());
  for (std::size_t at = 0; at < branches.size(); ++at) {
    const json::object* const object = chain->get_array()[at].if_object();
    if (object == nullptr) return render_object(result, color);
    out.append(branch_text(branches, at)).append(why_line(*object)).append("\n");
  }
  const json::value* const cut_short = result.if_contains("cut_short");
  if (cut_short != nullptr && cut_short->is_bool() && cut_short->get_bool()) {
    out.append("There is more: why reads only so many rows and facts.\n");
  }
  const json::value* const cycle = result.if_contains("cycle");
  if (cycle != nullptr && cycle->is_bool() && cycle->get_bool()) {
    out.append(color ? kBold : "").append("These rows wait for each other: a cycle.").append(color ? kPlain : "").append("\n");
  }
  return out;
}

/// Prints the lines of the daemon's log, whose own escapes are not escaped again.
std::string render_log(const json::array& rows) {
  std::string out;
  for (const json::value& row : rows) {
    if (row.is_object()) out.append(visible_text(unescape_text(text_member(row.get_object(), "line")))).append("\n");
  }
  return out;
}

/// Prints each finding on a line, with its meaning and remedy below; findings without a problem are only named.
std::string render_doctor(const json::array& findings, bool color) {
  std::string out;
  for (const json::value& value : findings) {
    const json::object* const finding = value.if_object();
    if (finding == nullptr) continue;
    const std::string level = text_member(*finding, "level");
    const bool fine = level == "ok";
    out.append(color && level == "problem" ? kBold : "").append(level).append(8 - std::min<std::size_t>(level.size(), 7), ' ');
    out.append(text_member(*finding, "setting")).append(" = ").append(text_member(*finding, "value"));
    out.append(color && level == "problem" ? kPlain : "").append("\n");
    if (fine) continue;
    out.append("        ").append(text_member(*finding, "meaning")).append("\n");
    const std::string remedy = text_member(*finding, "remedy");
    if (!remedy.empty()) out.append("        -> ").append(remedy).append("\n");
  }
  return out;
}

double number_member(const json::value& row, std::string_view name) {
  const json::value* const value = row.is_object() ? row.get_object().if_contains(name) : nullptr;
  return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
}

/// Sorts "Ethernet8" before "Ethernet16": digits compare as a number.
bool is_before(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto number_of = [&is_digit](std::string_view& rest) {
    const std::size_t end = std::min(rest.size(), static_cast<std::size_t>(std::ranges::find_if_not(rest, is_digit) - rest.begin()));
    std::string_view digits = rest.substr(0, end);
    digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
    rest.remove_prefix(end);
    return std::pair{digits.size(), digits};
  };
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const auto first = number_of(a);
      const auto second = number_of(b);
      if (first != second) return first < second;
      continue;
    }
    if (a.front() != b.front()) return a.front() < b.front();
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.size() < b.size();
}

json::array by_number(json::array ports) {
  const auto name_of = [](const json::value& port) { return port.is_object() ? text_member(port.get_object(), "name") : std::string{}; };
  std::ranges::stable_sort(ports, is_before, name_of);
  return ports;
}

std::string render_commands(const json::array& rows, bool color) {
  json::array lines;
  for (const json::value& row : rows) {
    const json::object* const object = row.if_object();
    if (object == nullptr) continue;
    std::string arguments;
    const json::value* const list = object->if_contains("arguments");
    if (list != nullptr && list->is_array()) {
      for (const json::value& argument : list->get_array()) {
        const json::object* const one = argument.if_object();
        if (one == nullptr) continue;
        const bool required = text_member(*one, "required") == "yes";
        arguments.append(arguments.empty() ? "" : " ")
            .append(required ? "" : "[")
            .append(text_member(*one, "name"))
            .append(required ? "" : "]");
      }
    }
    lines.push_back(
        json::object{{"command", text_member(*object, "name")}, {"arguments", arguments}, {"help", text_member(*object, "help")}});
  }
  return render_rows(lines, color);
}

}  // namespace

std::size_t characters(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0U) != 0x80U; }));
}

std::size_t TextTable::column(std::string_view name) {
  const auto place = std::ranges::find(columns_, name);
  if (place != columns_.end()) return static_cast<std::size_t>(place - columns_.begin());
  columns_.emplace_back(name);
  return columns_.size() - 1;
}

void TextTable::add(const json::value& row) {
  std::vector<Cell> cells(columns_.size());
  const auto put = [&](std::string_view name, const json::value& value) {
    const std::size_t at = column(name);
    if (cells.size() <= at) cells.resize(at + 1);
    cells[at] = {cell_text(value), value.is_number()};
  };
  if (const json::object* const object = row.if_object()) {
    for (const auto& member : *object) {
      const std::string_view name{member.key().data(), member.key().size()};
      if (!is_for_programs(name)) put(name, member.value());
    }
  } else {
    put("value", row);
  }
  rows_.push_back(std::move(cells));
}

void TextTable::append_line(std::string& out, const std::vector<Cell>& cells, const std::vector<std::size_t>& widths) const {
  const std::size_t start = out.size();
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const Cell cell = i < cells.size() ? cells[i] : Cell{};
    const std::size_t own = characters(cell.text);
    const std::size_t gap = std::max(widths[i], own) - own;
    if (i != 0) out.append("  ");
    if (cell.number) out.append(gap, ' ');
    out.append(cell.text);
    if (!cell.number) out.append(gap, ' ');
  }
  const std::size_t last = out.find_last_not_of(' ');
  out.resize(last == std::string::npos || last < start ? start : last + 1);
}

std::string TextTable::lines(bool header, std::vector<std::size_t>& widths) const {
  std::vector<Cell> titles;
  widths.resize(columns_.size());
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::string shown = columns_[i];
    std::ranges::replace(shown, '_', ' ');
    widths[i] = padded_width(widths[i], characters(shown));
    titles.push_back({std::move(shown), false});
  }
  for (const std::vector<Cell>& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = padded_width(widths[i], characters(row[i].text));
      if (row[i].number) titles[i].number = true;  // The title is aligned with its numbers.
    }
  }
  std::string out;
  if (header) {
    out.append(color_ ? kDim : "");
    append_line(out, titles, widths);
    out.append(color_ ? kPlain : "").append("\n");
  }
  for (const std::vector<Cell>& row : rows_) {
    append_line(out, row, widths);
    out += '\n';
  }
  return out;
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  return rows_.empty() ? std::string{} : lines(true, widths);
}

std::string TextTable::next_lines() {
  if (rows_.empty()) return {};
  const bool is_first = widths_.empty();
  std::string out = lines(is_first, widths_);
  rows_.clear();
  return out;
}

json::array worker_lines(json::array rows) {
  for (json::value& row : rows) {
    if (!row.is_object()) continue;
    const json::object& worker = row.get_object();
    const auto member = [&worker](std::string_view name) {
      const json::value* const value = worker.if_contains(name);
      return value == nullptr ? json::value(nullptr) : *value;
    };
    const json::value worker_trouble = member("trouble");
    std::string commands;
    if (const json::value offers = member("commands"); offers.is_object()) {
      for (const auto& [command, places] : offers.get_object())
        commands.append(commands.empty() ? "" : " ").append(command).append(":").append(json_text(places));
    }
    row = json::object{{"worker", member("worker")},     {"connected", member("connected")}, {"since", member("since")},
                       {"runs", member("runs")},         {"free", member("free")},           {"heard_ms", member("heard_ms")},
                       {"commands", std::move(commands)}};
    if (worker_trouble.is_string()) row.as_object()["trouble"] = worker_trouble;
  }
  return rows;
}

json::array turn_lines(json::array rows, double at_us) {
  for (json::value& row : rows) {
    if (!row.is_object()) continue;
    json::object line{{"ago_ms", (at_us - number_member(row, "start_us")) / 1000}};
    for (const std::string_view name : {"source", "priority", "turns", "items", "ran_us", "waited_us", "more"}) {
      if (const json::value* const value = row.get_object().if_contains(name)) line[name] = *value;
    }
    row = std::move(line);
  }
  return rows;
}

json::array busiest_sources(json::array rows) {
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const json::value& row) { return number_member(row, "ran_us"); });
  for (json::value& row : rows) {
    if (!row.is_object()) continue;
    json::object narrow;
    for (const std::string_view name : {"name", "priority", "state", "turns", "ran_us", "depth", "longest_wait_us"}) {
      if (const json::value* const value = row.get_object().if_contains(name)) narrow[name] = *value;
    }
    row = std::move(narrow);
  }
  return rows;
}

json::array by_waiting_rows(json::array facts) {
  std::ranges::stable_sort(facts, std::ranges::greater{}, [](const json::value& fact) {
    return std::pair{number_member(fact, "rows"), number_member(fact, "oldest_ms")};
  });
  return facts;
}

std::string fields_text(const json::object& row) {
  std::string line;
  const json::value* const fields = row.if_contains("fields");
  if (fields == nullptr || !fields->is_array()) return line;
  for (const json::value& field : fields->get_array()) {
    const json::array* const pair = field.if_array();
    if (pair == nullptr || pair->size() != 2) continue;
    line.append(line.empty() ? "" : " ").append(cell_text((*pair)[0])).append("=").append(cell_text((*pair)[1]));
  }
  return line;
}

namespace {

/// The fields with a blank before them, if there are any.
std::string fields_behind(const json::object& row) {
  const std::string fields = fields_text(row);
  return fields.empty() ? fields : " " + fields;
}

/// The rows of `history`, where the fields of each are one text: "mtu: 1500 -> 9000, index: 3". A '?' is not known.
json::array history_rows(const json::array& changes) {
  json::array rows = changes;
  for (json::value& change : rows) {
    json::object* const row = change.if_object();
    const json::value* const fields = row == nullptr ? nullptr : row->if_contains("fields");
    if (fields == nullptr || !fields->is_array()) continue;
    std::string text;
    for (const json::value& value : fields->get_array()) {
      const json::object* const field = value.if_object();
      if (field == nullptr) continue;
      const json::value* const before = field->if_contains("before");
      text.append(text.empty() ? "" : ", ").append(text_member(*field, "name")).append(": ");
      if (before == nullptr || !before->is_null()) text.append(before == nullptr ? "?" : cell_text(*before)).append(" -> ");
      text += text_member(*field, "after");
    }
    (*row)["fields"] = json::string{text};
  }
  return rows;
}

}  // namespace

std::string render_result(std::string_view command, const json::object& result, bool color) {
  if (command == "get") return render_get(result, color);
  if (command == "why") return render_why(result, color);
  if (command == "health") return render_health(result, color);
  const json::value* const rows = result.if_contains("rows");
  if (rows == nullptr || !rows->is_array()) return render_object(result, color);
  if (command == "log") return render_log(rows->get_array());
  if (command == "commands") return render_commands(rows->get_array(), color);
  if (command == "doctor") return render_doctor(rows->get_array(), color);
  json::object rest = result;
  rest.erase("rows");
  const json::array shown = command == "ports"     ? by_number(rows->get_array())
                            : command == "history" ? history_rows(rows->get_array())
                                                   : rows->get_array();
  const std::string table = render_rows(shown, color);
  const std::string others = render_object(rest, color);
  return table + (table.empty() || others.empty() ? "" : "\n") + others;
}

std::string render_change(const json::value& change) {
  const json::object* const object = change.if_object();
  if (object == nullptr) return cell_text(change) + "\n";
  std::string line = text_member(*object, "op") + " " + text_member(*object, "key");
  line.append(fields_behind(*object));
  if (const std::string missed = text_member(*object, "missed"); !missed.empty()) line.append(missed).append(" changes were missed");
  if (const std::string bytes = text_member(*object, "bytes"); !bytes.empty()) line.append(" (").append(bytes).append(" bytes)");
  return line + "\n";
}

std::string render_event(const json::value& event) {
  const json::object* const object = event.if_object();
  if (object == nullptr) return cell_text(event) + "\n";
  const json::value* const at = object->if_contains("at_us");
  char time[40];
  std::snprintf(time, sizeof time, "+%.3f ms", at != nullptr && at->is_number() ? at->to_number<double>() / 1000 : 0.0);
  const std::string what = text_member(*object, "what");
  std::string line = std::string(14 - std::min<std::size_t>(13, std::string_view{time}.size()), ' ') + time + "  " + what;
  if (what == "gap") return line + ": " + text_member(*object, "missed") + " events were missed\n";
  if (const json::value* const changes = object->if_contains("changes"); changes != nullptr && changes->is_array()) {
    for (const json::value& change : changes->get_array()) line.append(" #").append(cell_text(change));
  }
  if (const std::string op = text_member(*object, "op"); !op.empty()) line.append(" ").append(op);
  line.append(fields_behind(*object));
  if (const std::string facts = text_member(*object, "facts"); !facts.empty()) {
    line.append(what == "resolved"     ? " "
                : what == "gave-way"   ? " to the SET behind it, would wait for "
                : what == "superseded" ? " by a newer change, would wait for "
                                       : ", waits for ")
        .append(facts);
  }
  if (const std::string provider = text_member(*object, "provider"); !provider.empty()) line.append(" by ").append(provider);
  if (const std::string delay = text_member(*object, "delay_ms"); !delay.empty()) line.append(", again in ").append(delay).append(" ms");
  if (const std::string why = text_member(*object, "why"); !why.empty()) line.append(": ").append(why);
  return line + "\n";
}

bool wants_color(int fd) {
  const char* const refused = std::getenv("NO_COLOR");
  if (refused != nullptr && *refused != '\0') return false;
  const char* const terminal = std::getenv("TERM");
  if (terminal == nullptr || std::string_view{terminal} == "dumb") return false;
  return ::isatty(fd) == 1;
}

}  // namespace rondo::cli
