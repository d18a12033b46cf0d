#include "journal/history.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <utility>

#include "journal/reader.h"
#include "rondo/base/text.h"

namespace rondo::journal {

namespace {

/// Bytes of blocks that are read forward, before those in front of them.
constexpr std::size_t kSpan = std::size_t{1} << 20U;

/// Bytes of a value that are kept.
constexpr std::size_t kValue = 1024;

/// Nanoseconds within which a change follows the call that wrote it. A refused call has no change, and a later one is not its change.
constexpr std::uint64_t kSoon = 1'000'000'000;

class Search {
 public:
  Search(std::string_view table, std::string_view key) : table_(table), key_(key), row_(escape_text(table) + " " + escape_text(key)) {}

  /// Reads the blocks from the reader's place to the offset 'end'. Finds nothing if the reading was ended before.
  void read_span(JournalReader& reader, std::uint64_t end);
  /// Records are missing in front of the changes that were found, or a run begins there.
  void note_gap() {
    if (!changes.empty()) changes.back().follows_gap = true;
  }
  std::vector<HistoryChange> changes;  // The newest first.
  bool has_lost = false;               // Records are missing.

 private:
  void note_writer(std::string_view bytes);
  void note_time(std::string_view bytes, std::int64_t wall_offset);
  void add_change(std::string_view bytes, const Names& names);
  void name_writer(HistoryChange& change);

  const std::string_view table_;
  const std::string_view key_;
  const std::string row_;  // How commands that write the row are recorded.
  JournalRecord record_;
  std::vector<HistoryChange> found_;  // In the span.
  HistoryChange call_;                // The last call that wrote the row, since the last change of the row; 'by' is empty if there is none.
  bool has_gap_ = false;              // Records in front of the next change of the row are missing, or a run began there.
  std::optional<WallTime> now_;
};

/// "set ROUTE_TABLE 10.0.0.0/8", or with "token 'ci'" before it.
void Search::note_writer(std::string_view bytes) {
  if (!decode(bytes, record_)) return;
  for (const ChangeOp op : {ChangeOp::Set, ChangeOp::Delete}) {
    const std::string what = (op == ChangeOp::Set ? "set " : "del ") + row_;
    if (!record_.text.ends_with(what)) continue;
    const std::string_view who = record_.text.substr(0, record_.text.size() - what.size());
    if (!who.empty() && !who.ends_with(' ')) continue;
    call_ = {.wall = now_.value_or(WallTime{}), .op = op, .by = std::string{who.substr(0, std::max<std::size_t>(who.size(), 1) - 1)}};
    if (who.empty()) call_.by = "user " + std::to_string(record_.user) + " process " + std::to_string(record_.count);
  }
}

/// Names the caller if its call may have written 'change', and forgets the call, which has written no other change.
void Search::name_writer(HistoryChange& change) {
  HistoryChange call = std::exchange(call_, {});
  // Forged times may contain any value, so the difference is unsigned. The offsets of the wall time of two blocks differ a little.
  const auto after = static_cast<std::uint64_t>(change.wall.nanoseconds()) - static_cast<std::uint64_t>(call.wall.nanoseconds());
  if (call.op == change.op && after + kSoon <= 2 * kSoon) change.by = std::move(call.by);
}

void Search::note_time(std::string_view bytes, std::int64_t wall_offset) {
  if (!decode(bytes, record_)) return;
  const bool is_first = !now_;
  // A damaged or forged head may contain any value, so the sum is unsigned.
  const std::uint64_t wall = static_cast<std::uint64_t>(record_.time.nanoseconds()) + static_cast<std::uint64_t>(wall_offset);
  now_ = WallTime::from_nanoseconds(static_cast<std::int64_t>(wall));
  if (is_first) call_.wall = *now_;
  for (std::size_t i = 0; is_first && i < found_.size(); ++i) found_[i].wall = *now_;
}

void Search::add_change(std::string_view bytes, const Names& names) {
  if (bytes.find(key_) == std::string_view::npos || !decode(bytes, record_)) return;
  if (record_.text != key_ || record_.op == ChangeOp::Event || names.of(record_.table) != table_) return;
  HistoryChange change{.wall = now_.value_or(WallTime{}), .op = record_.op, .by = {}, .follows_gap = std::exchange(has_gap_, false)};
  name_writer(change);
  for (const Field& field : record_.fields) {
    change.fields.push_back({.name = std::string{field.name},
                             .before = {},
                             .after = std::string{field.value.substr(0, kValue)},
                             .hash = std::hash<std::string_view>{}(field.value)});
  }
  found_.push_back(std::move(change));
}

void Search::read_span(JournalReader& reader, std::uint64_t end) {
  now_.reset();
  call_ = {};
  has_gap_ = false;
  bool is_first = true;  // The reader does not know what is missing directly before the first record.
  for (RawRecord raw = reader.next(); !raw.bytes.empty(); raw = reader.next()) {
    const Kind kind = raw.kind();
    const bool is_lost = kind == Kind::Lost || (!is_first && reader.missing_before() != 0);
    has_lost = has_lost || is_lost;
    if (is_lost || kind == Kind::Started || reader.run_changed()) {
      has_gap_ = true;
      call_ = {};
    }
    is_first = false;
    if (raw.offset >= end) break;
    if (kind == Kind::Started || kind == Kind::Clocks || kind == Kind::Looked || kind == Kind::TurnBegins)
      note_time(raw.bytes, reader.wall_offset());
    if (kind == Kind::WrittenBy) note_writer(raw.bytes);
    if (kind == Kind::Changed) add_change(raw.bytes, reader.names());
  }
  std::vector<HistoryChange> found = std::exchange(found_, {});
  if (reader.is_ended()) return;
  if (has_gap_) note_gap();
  // The write may be in this span, and its change in the one behind it.
  if (!changes.empty() && !changes.back().follows_gap && changes.back().by.empty()) name_writer(changes.back());
  std::move(found.rbegin(), found.rend(), std::back_inserter(changes));
}

/// Adds what the fields were before, as far as older changes say it, and leaves out the fields that kept their value.
void add_before(std::vector<HistoryChange>& changes, Rows rows) {
  std::map<std::string, std::pair<std::string, std::size_t>> row;  // The beginning and the hash of each value.
  bool is_whole = false;                                           // The row has no further fields.
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    if (change->follows_gap) {
      row.clear();
      is_whole = false;
    }
    auto old = std::exchange(row, {});
    for (HistoryField& field : std::exchange(change->fields, {})) {
      auto before = old.extract(field.name);
      const auto& now = row[field.name] = {field.after.value_or(""), field.hash};
      if (!before.empty() && before.mapped() == now) continue;
      field.is_known = is_whole || !before.empty();
      if (!before.empty()) field.before = std::move(before.mapped().first);
      change->fields.push_back(std::move(field));
    }
    if (change->op == ChangeOp::Set && rows != Rows::Whole) {
      row.merge(old);
      continue;
    }
    for (auto& [name, value] : old) change->fields.push_back({.name = name, .before = std::move(value.first), .after = {}});
    is_whole = true;
  }
}

}  // namespace

Result<History> history_of(const std::vector<std::string>& files, std::string_view table, std::string_view key, Rows rows,
                           const HistoryLimits& limits) {
  History history;
  Search search(table, key);
  std::uint64_t left = limits.bytes;
  std::uint64_t newer = 0;  // The number of the first record of the file that is newer than the present one; 0: there is none.
  std::uint64_t lost = 0;   // How many records of its run that file says are lost before it.
  const auto note_lost = [&](std::uint64_t before) {
    if (lost <= before) return;
    search.note_gap();
    search.has_lost = true;
  };
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
    if (newer != 0 && (**reader).next_number() != newer) {
      search.note_gap();
      search.has_lost = search.has_lost || newer != 1;  // The first record of a run follows no other.
    }
    if (const Block* const first = (**reader).first_records(); first != nullptr) newer = first->head.first_record;
    const std::vector<Block>& blocks = (**reader).blocks();
    note_lost(blocks.back().head.lost_before);
    lost = blocks.front().head.lost_before;
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
  if (history.stopped.empty() && search.changes.size() <= limits.changes) note_lost(0);
  history.changes = std::move(search.changes);
  history.is_damaged = history.is_damaged || search.has_lost;
  add_before(history.changes, rows);
  if (history.changes.size() > limits.changes) {
    history.changes.resize(limits.changes);
    history.stopped = "there are older changes";
  }
  return history;
}

}  // namespace rondo::journal
