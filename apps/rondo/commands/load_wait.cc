#include "commands/load_wait.h"

#include <algorithm>
#include <string_view>
#include <thread>

#include "output/exit_code.h"
#include "output/json_text.h"
#include "output/print.h"
#include "rondo/base/clock.h"
#include "rondo/base/text.h"

namespace rondo::cli {
namespace {

namespace json = boost::json;

/// The polling interval. The daemon cannot announce that all tables are idle.
constexpr Duration kAsk = 50ms;
/// If more rows of a table than this were written, all its rows are read in one answer.
constexpr std::size_t kReadOneByOne = 256;
/// The most reasons printed, so that they fit on a screen.
constexpr std::size_t kReasons = 5;

std::string text_of(const json::object& row, std::string_view name) {
  const json::value* const value = row.if_contains(name);
  return value == nullptr || !value->is_string() ? std::string{} : std::string{value->get_string()};
}

/// Returns the number of changes queued or under way in all tables: a row of one can wait for a row of another that is under way.
/// 'untaken' gets the tables with changes that their consumer has not taken.
Result<std::int64_t> pending_changes(Backend& backend, std::set<std::string>& untaken) {
  std::int64_t pending = 0;
  untaken.clear();
  const auto add = [&](const json::value& row) {
    const json::value* const count = row.as_object().if_contains("pending");  // A table without a consumer has no such member.
    if (count == nullptr) return;
    const json::value* const staged = row.as_object().if_contains("staged");
    const std::int64_t waiting = staged == nullptr ? 0 : staged->to_number<std::int64_t>();
    if (waiting != 0) untaken.insert(unescape_text(text_of(row.as_object(), "table")));
    pending += count->to_number<std::int64_t>() + waiting;
  };
  const Result<json::object> answer = backend.call("tables", {}, add);
  if (!answer) return failure(answer.error());
  return pending;
}

/// The word for the state of a row.
std::string word_of(const json::object& row) {
  const std::string state = text_of(row, "state");
  const std::string plane = text_of(row, "plane");
  if (state == "parked" && plane != "foreign" && plane != "refused") return "waiting";
  if (state == "queued" || state == "in-flight") return "pending";
  if (state == "rejected" || plane.empty()) return state.empty() ? "done" : state;
  return plane;
}

bool is_as_asked(std::string_view word) { return word == "installed" || word == "done" || word == "deleted"; }

void add_row(RowEnds& ends, const std::string& table, const std::string& key, const json::object& row) {
  const std::string word = word_of(row);
  ++ends.counts[word];
  if (is_as_asked(word) || ends.reasons.size() >= kReasons) return;
  const std::string note = text_of(row, "note");
  ends.reasons.push_back(escape_text(table + " " + key) + " is " + word + (note.empty() ? "" : ": " + visible_text(note)));
}

Status read_one(Backend& backend, RowEnds& ends, const std::string& table, const std::string& key, std::string_view absent) {
  const Result<json::object> row = backend.call("get", {{"table", escape_text(table)}, {"key", escape_text(key)}}, {});
  if (row) add_row(ends, table, key, *row);
  if (row) return {};
  if (row.error().code() != StatusCode::NotFound) return row.error();
  ++ends.counts[std::string{absent}];
  return {};
}

/// 'absent' is the word for a row that the table does not have.
Status read_table(Backend& backend, RowEnds& ends, const std::string& table, std::set<std::string>& keys, std::string_view absent) {
  if (keys.size() > kReadOneByOne) {
    const auto take = [&](const json::value& row) {
      const auto found = keys.find(unescape_text(std::string{row.at("key").as_string()}));
      if (found == keys.end()) return;
      add_row(ends, table, *found, row.as_object());
      keys.erase(found);
    };
    const Result<json::object> answer = backend.call("show", {{"table", escape_text(table)}}, take);
    if (!answer) return answer.error();
    ends.counts[std::string{absent}] += keys.size();
    return {};
  }
  for (const std::string& key : keys) {
    if (Status read = read_one(backend, ends, table, key, absent); !read.ok()) return read;
  }
  return {};
}

}  // namespace

int RowEnds::exit_code() const {
  const auto has = [this](std::string_view word) {
    const auto found = counts.find(std::string{word});
    return found != counts.end() && found->second != 0;
  };
  if (has("rejected") || has("refused") || has("lost")) return kExitFailed;
  if (has("pending")) return kExitTryAgain;
  return has("waiting") || has("withdrawn") || has("foreign") ? kExitParked : kExitDone;
}

std::string RowEnds::text() const {
  std::string text;
  for (const auto& [word, count] : counts) {
    if (count != 0) text.append(text.empty() ? "" : ", ").append(std::to_string(count)).append(" ").append(word);
  }
  return text;
}

json::object RowEnds::json() const {
  json::object states;
  for (const auto& [word, count] : counts) {
    if (count != 0) states[word] = count;
  }
  json::array list;
  for (const std::string& reason : reasons) list.push_back(json::string{reason});
  return {{"states", std::move(states)}, {"reasons", std::move(list)}};
}

Result<RowEnds> wait_for_rows(Backend& backend, const RowNames& rows, Duration most) {
  const SystemClock clock;
  const Instant deadline = clock.now() + most;
  std::set<std::string> untaken;
  for (;;) {
    const Result<std::int64_t> pending = pending_changes(backend, untaken);
    if (!pending) return failure(pending.error());
    const Instant now = clock.now();
    if (*pending == 0 || now >= deadline) break;
    std::this_thread::sleep_for(std::min(kAsk, deadline - now));
  }
  RowEnds ends;
  std::map<std::string, std::set<std::string>> by_table;
  for (const auto& [table, key] : rows) by_table[table].insert(key);
  for (auto& [table, keys] : by_table) {
    // A row that its consumer has not taken is not shown, and need not be deleted.
    const std::string_view absent = untaken.contains(table) ? "pending" : "deleted";
    if (Status read = read_table(backend, ends, table, keys, absent); !read.ok())
      return failure(read.with_context("reading what became of the rows"));
  }
  return ends;
}

}  // namespace rondo::cli
