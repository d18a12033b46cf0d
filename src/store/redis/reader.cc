#include "store/redis/reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "store/redis/end.h"

namespace rondo::redis {

namespace {
constexpr std::size_t kRestsMax = 64;
constexpr std::size_t kScanLow = 64;
constexpr std::size_t kScanHigh = 512;

bool is_number(std::string_view text, std::uint64_t& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && stop == text.data() + text.size();
}
}  // namespace

/// 'on_reply' sees the last of 'answers' only if there is one, else each.
void Reader::ask(std::size_t answers, std::function<void(const Reply&)> on_reply, std::function<void(const Status&)> on_lost) {
  const std::uint64_t number = next_++;
  owed_.emplace(number, std::move(on_lost));
  commands_.expect_each(answers, [this, number, left = answers, on_reply = std::move(on_reply)](const Reply& reply, const Status&) mutable {
    if (--left == 0) owed_.erase(number);
    on_reply(reply);
  });
}

void Reader::lost(const Status& why) {
  for (const auto& [number, on_lost] : std::exchange(owed_, {})) on_lost(why);
}

void Reader::get(const Target& target, std::string_view key, GetDone done) {
  if (!commands_.is_connected()) return completions_.post(std::move(done), failure(commands_.trouble()));
  commands_.out().begin(2).word("HGETALL").word(target.keys.rows, key);
  ask(
      1,
      [this, key = std::string{key}, done](const Reply& reply) {
        Result<Record> record = reply.is_error() ? Result<Record>{failure(status_of(reply, "row " + quoted(key)))} : record_of(key, reply);
        completions_.post(done, std::move(record));
      },
      [this, done](const Status& why) { completions_.post(done, failure(why)); });
}

Status Reader::resume(std::string_view cursor, Scan& scan) {
  const Status bad{Code::InvalidArgument, quoted(cursor) + " is not a cursor of a scan, or no longer one"};
  std::uint64_t number = 0;
  if (cursor.empty()) {
    scan.cursor = "start";
  } else if (cursor.front() != 'r') {
    if (!is_number(cursor, number)) return bad;
    scan.cursor = cursor;
  } else {
    const auto rest = is_number(cursor.substr(1), number) ? rests_.extract(number) : std::map<std::uint64_t, Rest>::node_type{};
    if (rest.empty()) return bad;
    scan.cursor = std::move(rest.mapped().cursor);
    scan.keys = std::move(rest.mapped().keys);
  }
  return {};
}

void Reader::scan(const Target& target, std::string_view cursor, std::size_t max, ScanDone done) {
  if (!commands_.is_connected()) return completions_.post(std::move(done), failure(commands_.trouble()));
  const auto scan = std::make_shared<Scan>();
  scan->prefix = target.keys.rows;
  for (const char c : scan->prefix) {
    if (c == '*' || c == '?' || c == '[' || c == ']' || c == '\\') scan->pattern.push_back('\\');
    scan->pattern.push_back(c);
  }
  scan->pattern.push_back('*');
  scan->max = std::max<std::size_t>(1, max);
  scan->done = std::move(done);
  if (Status bad = resume(cursor, *scan); !bad.ok()) return completions_.post(std::move(scan->done), failure(std::move(bad)));
  go_on(scan);
}

void Reader::go_on(const std::shared_ptr<Scan>& scan) {
  if (!scan->keys.empty()) return read_page(scan);
  if (scan->cursor == "0") return finish(scan);
  const std::string count = std::to_string(std::clamp(scan->max, kScanLow, kScanHigh));
  commands_.out().command({"SCAN", scan->cursor == "start" ? "0" : scan->cursor, "MATCH", scan->pattern, "COUNT", count});
  ask(
      1, [this, scan](const Reply& reply) { scanned(scan, reply); },
      [this, scan](const Status& why) { completions_.post(scan->done, failure(why)); });
}

void Reader::scanned(const std::shared_ptr<Scan>& scan, const Reply& reply) {
  if (reply.is_error()) return completions_.post(scan->done, failure(status_of(reply, "scan")));
  scan->cursor = reply.items()[0].text();
  for (const Reply& key : reply.items()[1].items()) scan->keys.emplace_back(key.text().substr(scan->prefix.size()));
  go_on(scan);
}

void Reader::read_page(const std::shared_ptr<Scan>& scan) {
  const std::size_t count = std::min(scan->keys.size(), scan->max);
  for (std::size_t i = 0; i < count; ++i) commands_.out().begin(2).word("HGETALL").word(scan->prefix, scan->keys[i]);
  ask(
      count,
      [this, scan, count, next = std::size_t{0}, failed = Status{}](const Reply& reply) mutable {
        Result<Record> row = row_of(scan->keys[next++], reply);
        if (!row && failed.ok()) failed = row.error();
        if (row && *row) scan->page.rows.push_back(std::move(*row));
        if (next < count) return;
        if (!failed.ok()) return completions_.post(scan->done, failure(std::move(failed)));
        scan->keys.erase(scan->keys.begin(), scan->keys.begin() + static_cast<std::ptrdiff_t>(count));
        if (scan->page.rows.empty()) return go_on(scan);  // They went in the meantime, or hold no hash.
        finish(scan);
      },
      [this, scan](const Status& why) { completions_.post(scan->done, failure(why)); });
}

void Reader::finish(const std::shared_ptr<Scan>& scan) {
  if (!scan->keys.empty()) {
    while (rests_.size() >= kRestsMax) rests_.erase(rests_.begin());  // Scans that nobody goes on with.
    const std::uint64_t number = next_++;
    rests_.emplace(number, Rest{scan->cursor, std::move(scan->keys)});
    scan->page.next = "r" + std::to_string(number);
  } else if (scan->cursor != "0") {
    scan->page.next = scan->cursor;
  }
  completions_.post(scan->done, std::move(scan->page));
}

}  // namespace rondo::redis
