#include "store/redis/reader.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "store/redis/remote_subscription.h"
#include "store/redis/scripts.h"

namespace rondo::redis {

namespace {
constexpr std::size_t kPlacesMax = 64;
constexpr std::size_t kScanLow = 64;
constexpr std::size_t kScanHigh = 512;
/// The keys of one script: less than a millisecond of the server.
constexpr std::size_t kWrittenKeys = 256;
/// The script also ends after this time.
constexpr std::string_view kWrittenSeconds = "0.001";

bool is_number(std::string_view text, std::uint64_t& number) {
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && stop == text.data() + text.size();
}

/// The row as it will be when the waiting changes are popped; 'waits' is the number from kReadWritten.
Record written_row(std::string_view key, std::int64_t waits, const Reply& row, const Reply& staged) {
  Record now = record_of(key, row);
  Record newer = record_of(key, staged);
  if (now && newer) return Record::merged(now, newer);
  if (newer) return newer;
  if (now || waits % kOtherType != 1) return now;
  return Record::make(key, {});  // A Set without fields, as a stock producer stages it.
}

/// Appends the command that reads a row.
void ask_row(Commands& out, const Target& target, std::string_view key) {
  const TableKeys& keys = target.keys;
  out.begin(2).word("HGETALL").word(target.spec.kind == TableKind::Queue ? keys.queue_rows(key) : keys.rows, key);
}
}  // namespace

/// 'on_reply' receives each of the answers. 'on_lost' is called if the connection is lost before the last one.
void Reader::ask(std::size_t answers, const Shape& shape, std::function<void(const Reply&)> on_reply,
                 std::function<void(const Status&)> on_lost) {
  const std::uint64_t number = next_++;
  pending_.emplace(number, std::move(on_lost));
  commands_.expect_each(answers, shape,
                        [this, number, left = answers, on_reply = std::move(on_reply)](const Reply& reply, const Status&) mutable {
                          if (--left == 0) pending_.erase(number);
                          on_reply(reply);
                        });
}

void Reader::lost(const Status& why) {
  std::erase_if(places_, [](const auto& place) { return place.second.written; });
  for (const auto& [number, on_lost] : std::exchange(pending_, {})) on_lost(why);
}

void Reader::get(const Target& target, std::string_view key, GetDone done) {
  if (!commands_.is_connected()) return completions_.post(std::move(done), failure(commands_.trouble()));
  ask_row(commands_.out(), target, key);
  ask(
      1, shape::kRow,
      [this, key = std::string{key}, table = target.spec.name, name = target.keys.rows + std::string{key}, done](const Reply& reply) {
        if (is_of_other_type(reply)) return completions_.post(done, failure(not_a_row(name, table)));
        if (reply.is_error()) return completions_.post(done, failure(status_of(reply, "HGETALL of row " + quoted(key))));
        completions_.post(done, record_of(key, reply));
      },
      [this, done](const Status& why) { completions_.post(done, failure(why)); });
}

void Reader::scan(const Target& target, std::string_view cursor, std::size_t max, ScanDone done) {
  start(target, {}, cursor, max, std::move(done));
}

void Reader::scan_written(const Target& target, std::string_view cursor, std::size_t max, ScanDone done) {
  const Place from{.written = true, .pending = target.spec.kind == TableKind::Staged, .keys = {}};
  start(target, from, cursor, max, std::move(done));
}

void Reader::start(const Target& target, Place from, std::string_view cursor, std::size_t max, ScanDone done) {
  if (!commands_.is_connected()) return completions_.post(std::move(done), failure(commands_.trouble()));
  const auto scan = std::make_shared<Scan>(scan_keys_max_);
  scan->target = &target;
  scan->at = std::move(from);
  scan->max = std::max<std::size_t>(1, max);
  scan->done = std::move(done);
  if (Status bad = resume(cursor, scan->at); !bad.ok()) return completions_.post(std::move(scan->done), failure(std::move(bad)));
  go_on(scan);
}

/// The cursors of scan_written() have our own form ("r" and a number) and are valid for one connection. On another server, or after a
/// restart of the same one, a cursor of Redis would skip rows.
Status Reader::resume(std::string_view cursor, Place& place) {
  const Status bad{StatusCode::InvalidArgument, quoted(cursor) + " is not a cursor of this scan, or no longer one"};
  if (cursor.empty()) return {};
  std::uint64_t number = 0;
  if (cursor.front() != 'r') {
    if (place.written || !is_number(cursor, number)) return bad;
    place.cursor = cursor;
    return {};
  }
  if (!is_number(cursor.substr(1), number)) return bad;
  if (const auto used = used_.find(number); used != used_.end() && !place.written) {
    place = used->second;
    return {};
  }
  const auto known = places_.find(number);
  if (known == places_.end() || known->second.written != place.written) return bad;
  place = std::move(known->second);
  places_.erase(known);
  if (place.written) return {};
  if (used_.size() >= kPlacesMax) used_.erase(used_.begin());
  used_.emplace(number, place);
  return {};
}

void Reader::go_on(const std::shared_ptr<Scan>& scan) {
  Place& at = scan->at;
  const TableKeys& keys = scan->target->keys;
  if (!at.keys.empty()) return at.written && scan->target->spec.kind == TableKind::Staged ? read_written(scan) : read_rows(scan);
  if (at.cursor == "0") {
    if (!at.pending) return finish(scan);
    at.pending = false;
    at.cursor = "start";
  }
  const std::string count = std::to_string(std::clamp(scan->max, kScanLow, kScanHigh));
  const std::string_view from = at.cursor == "start" ? "0" : std::string_view{at.cursor};
  if (at.pending) {
    commands_.out().command({"SSCAN", keys.pending, from, "COUNT", count});
  } else {
    commands_.out().command({"SCAN", from, "MATCH", literal(keys.rows) + "*", "COUNT", count});
  }
  ask(
      1, shape::kPage, [this, scan](const Reply& reply) { scanned(scan, reply); },
      [this, scan](const Status& why) { completions_.post(scan->done, failure(why)); });
}

void Reader::scanned(const std::shared_ptr<Scan>& scan, const Reply& reply) {
  if (reply.is_error()) return completions_.post(scan->done, failure(status_of(reply, "SCAN")));
  if (Status endless = scan->bound.add(reply.items()[1].items().size(), scan->target->spec); !endless.ok()) {
    return completions_.post(scan->done, failure(std::move(endless)));
  }
  Place& at = scan->at;
  const bool is_queue = scan->target->spec.kind == TableKind::Queue;
  if (is_queue && at.cursor == "start") at.keys.emplace_back();  // The pattern does not match the row of the empty key.
  at.cursor = reply.items()[0].text();
  const std::size_t prefix = at.pending ? 0 : scan->target->keys.rows.size();
  for (const Reply& name : reply.items()[1].items()) {
    const std::string_view key = name.text().substr(std::min(prefix, name.text().size()));
    if (!is_queue || !key.empty()) at.keys.emplace_back(key);  // "T:" is not a row of a Queue.
  }
  go_on(scan);
}

void Reader::read_rows(const std::shared_ptr<Scan>& scan) {
  const std::size_t count = std::min(scan->at.keys.size(), scan->max);
  for (std::size_t i = 0; i < count; ++i) ask_row(commands_.out(), *scan->target, scan->at.keys[i]);
  ask(
      count, shape::kRow,
      [this, scan, count, next = std::size_t{0}, failed = Status{}](const Reply& reply) mutable {
        Result<Record> row = row_of(scan->at.keys[next++], reply);
        if (!row && failed.ok()) failed = row.error();
        if (row && *row) scan->page.rows.push_back(std::move(*row));
        if (next < count) return;
        if (!failed.ok()) return completions_.post(scan->done, failure(std::move(failed)));
        page_read(scan, count);
      },
      [this, scan](const Status& why) { completions_.post(scan->done, failure(why)); });
}

void Reader::read_written(const std::shared_ptr<Scan>& scan) {
  const TableKeys& keys = scan->target->keys;
  const std::size_t count = std::min({scan->at.keys.size(), scan->max, kWrittenKeys});
  Commands& out = commands_.out();
  out.begin(8 + count).word("EVAL").word(kReadWritten).word("2").word(keys.pending).word(keys.deleted).word(keys.rows).word(keys.staging);
  out.word(kWrittenSeconds);
  for (std::size_t i = 0; i < count; ++i) out.word(scan->at.keys[i]);
  ask(
      1, shape::kWritten,
      [this, scan, count](const Reply& reply) {
        const std::span<const Reply> items = reply.items();
        const std::size_t answered = items.size() / 3;
        if (items.size() % 3 != 0 || answered == 0 || answered > count) {
          return completions_.post(scan->done, failure(status_of(reply, "scan")));
        }
        for (std::size_t i = 0; i < answered; ++i) {
          Record row = written_row(scan->at.keys[i], items[3 * i].integer(), items[3 * i + 1], items[3 * i + 2]);
          if (row) scan->page.rows.push_back(std::move(row));
        }
        page_read(scan, answered);
      },
      [this, scan](const Status& why) { completions_.post(scan->done, failure(why)); });
}

void Reader::page_read(const std::shared_ptr<Scan>& scan, std::size_t keys) {
  scan->at.keys.erase(scan->at.keys.begin(), scan->at.keys.begin() + static_cast<std::ptrdiff_t>(keys));
  if (scan->page.rows.empty()) return go_on(scan);  // The rows were deleted meanwhile, or are not hashes.
  finish(scan);
}

void Reader::finish(const std::shared_ptr<Scan>& scan) {
  Place& at = scan->at;
  const bool ended = at.keys.empty() && at.cursor == "0" && !at.pending;
  if (!at.keys.empty() || (at.written && !ended)) {
    while (places_.size() >= kPlacesMax) places_.erase(places_.begin());  // Drops positions of abandoned scans.
    const std::uint64_t number = next_++;
    places_.emplace(number, std::move(at));
    scan->page.next = "r" + std::to_string(number);
  } else if (!ended) {
    scan->page.next = at.cursor;
  }
  completions_.post(scan->done, std::move(scan->page));
}

}  // namespace rondo::redis
