#include "journal/history.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "journal/reader.h"
#include "rondo/base/text.h"

namespace rondo::journal {

namespace {

/// Bytes of blocks that are read forward, before those in front of them.
constexpr std::size_t kSpan = std::size_t{1} << 20U;

/// Bytes of a value that are kept: a difference behind them is not seen.
constexpr std::size_t kValue = 1024;

class Search {
 public:
  Search(std::string_view table, std::string_view key) : table_(table), key_(key), row_(escape_text(table) + " " + escape_text(key)) {}

  /// The blocks from the reader's place to the offset 'end'.
  void read_span(JournalReader& reader, std::uint64_t end);
  std::vector<HistoryChange> changes;  // The newest first.

 private:
  void note_writer(std::string_view bytes);
  void note_time(std::string_view bytes, std::int64_t wall_offset);
  void add_change(std::string_view bytes, const Names& names);

  const std::string_view table_;
  const std::string_view key_;
  const std::string row_;  // How commands that write the row are recorded.
  JournalRecord record_;
  std::vector<HistoryChange> found_;  // In the span.
  std::string writer_;                // Who wrote the row, since the last change of it.
  bool is_used_ = false;              // 'writer_', by a change of this turn.
  std::optional<WallTime> now_;
};

/// "set ROUTE_TABLE 10.0.0.0/8", or with "token 'ci'" before it.
void Search::note_writer(std::string_view bytes) {
  if (!decode(bytes, record_)) return;
  for (const std::string_view command : {"set ", "del "}) {
    const std::string what = std::string{command} + row_;
    if (!record_.text.ends_with(what)) continue;
    const std::string_view who = record_.text.substr(0, record_.text.size() - what.size());
    if (!who.empty() && !who.ends_with(' ')) continue;
    writer_ = who.empty() ? "user " + std::to_string(record_.user) + " process " + std::to_string(record_.count)
                          : std::string{who.substr(0, who.size() - 1)};
    is_used_ = false;
  }
}

void Search::note_time(std::string_view bytes, std::int64_t wall_offset) {
  if (std::exchange(is_used_, false)) writer_.clear();
  if (!decode(bytes, record_)) return;
  const bool is_first = !now_;
  // A damaged or forged head may contain any value, so the sum is unsigned.
  const std::uint64_t wall = static_cast<std::uint64_t>(record_.time.nanoseconds()) + static_cast<std::uint64_t>(wall_offset);
  now_ = WallTime::from_nanoseconds(static_cast<std::int64_t>(wall));
  for (std::size_t i = 0; is_first && i < found_.size(); ++i) found_[i].wall = *now_;
}

void Search::add_change(std::string_view bytes, const Names& names) {
  if (bytes.find(key_) == std::string_view::npos || !decode(bytes, record_)) return;
  if (record_.text != key_ || record_.op == ChangeOp::Event || names.of(record_.table) != table_) return;
  HistoryChange change{.wall = now_.value_or(WallTime{}), .op = record_.op, .by = writer_};
  for (const Field& field : record_.fields)
    change.fields.push_back({.name = std::string{field.name}, .before = {}, .after = std::string{field.value.substr(0, kValue)}});
  is_used_ = true;
  found_.push_back(std::move(change));
}

void Search::read_span(JournalReader& reader, std::uint64_t end) {
  now_.reset();
  writer_.clear();
  is_used_ = false;
  for (RawRecord raw = reader.next(); !raw.bytes.empty() && raw.offset < end; raw = reader.next()) {
    const Kind kind = raw.kind();
    if (kind == Kind::Started || kind == Kind::Clocks || kind == Kind::Looked || kind == Kind::TurnBegins)
      note_time(raw.bytes, reader.wall_offset());
    if (kind == Kind::WrittenBy) note_writer(raw.bytes);
    if (kind == Kind::Changed) add_change(raw.bytes, reader.names());
  }
  // The write may be in this span, and its change in the one behind it.
  if (!changes.empty() && changes.back().by.empty() && !is_used_) changes.back().by = writer_;
  std::move(found_.rbegin(), found_.rend(), std::back_inserter(changes));
  found_.clear();
}

/// Adds what the fields were before, as far as older changes say it.
void add_before(std::vector<HistoryChange>& changes) {
  std::map<std::string, std::string, std::less<>> row;
  bool is_whole = false;  // The row has no further fields.
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (change->op == ChangeOp::Delete) {
      for (auto& [name, value] : row) change->fields.push_back({.name = name, .before = std::move(value), .after = {}});
      row.clear();
      is_whole = true;
      continue;
    }
    for (HistoryField& field : change->fields) {
      const auto known = row.find(field.name);
      if (known != row.end()) field.before = known->second;
      field.is_known = is_whole || known != row.end();
    }
    for (const HistoryField& field : change->fields) row.insert_or_assign(field.name, field.after.value_or(""));
  }
}

}  // namespace

Result<History> history_of(const std::vector<std::string>& files, std::string_view table, std::string_view key,
                           const HistoryLimits& limits) {
  History history;
  Search search(table, key);
  std::uint64_t left = limits.bytes;
  const auto is_over = [&] {
    if (history.stopped.empty() && limits.is_over && limits.is_over()) history.stopped = "the limit of time was reached";
    return !history.stopped.empty() || search.changes.size() > limits.changes;
  };
  for (std::size_t i = 0; i < files.size() && !is_over(); ++i) {
    Result<std::unique_ptr<JournalBytes>> bytes = JournalBytes::open(files[i]);
    if (!bytes && i > 0) continue;
    if (!bytes) return failure(bytes.error());
    if ((*bytes)->size() > left) {
      history.stopped = "the limit of bytes was reached";
      break;
    }
    if ((*bytes)->size() == 0) continue;  // It has just begun.
    left -= (*bytes)->size();
    (*bytes)->end_when(is_over);
    const Result<std::unique_ptr<JournalReader>> reader = JournalReader::open(files[i], *std::move(bytes));
    if (is_over()) break;
    if (!reader) history.is_damaged = true;  // Also if its first block is under way.
    if (!reader) continue;
    const std::vector<Block>& blocks = (**reader).blocks();
    for (std::size_t end = blocks.size(); end > 0 && !is_over();) {
      std::size_t begin = end;
      for (std::size_t size = 0; begin > 0 && size < kSpan;) size += blocks[--begin].head.payload_bytes;
      (**reader).go_to(begin);
      search.read_span(**reader, end < blocks.size() ? blocks[end].offset : UINT64_MAX);
      end = begin;
    }
    const auto is_torn = [](const Damage& damage) { return !damage.at_end; };  // The last block may be under way.
    history.is_damaged = history.is_damaged || std::ranges::any_of((**reader).damage(), is_torn);
    if (!(**reader).is_at_its_name()) ++i;  // It was renamed meanwhile: it has the next name.
  }
  history.changes = std::move(search.changes);
  add_before(history.changes);
  if (history.changes.size() > limits.changes) {
    history.changes.resize(limits.changes);
    history.stopped = "there are older changes";
  }
  return history;
}

}  // namespace rondo::journal
