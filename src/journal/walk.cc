#include "journal/walk.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "rondo/base/text.h"

namespace rondo::journal {

JournalWalk::JournalWalk(const std::vector<std::unique_ptr<JournalReader>>& readers) {
  for (const auto& reader : readers) readers_.push_back(reader.get());
}

void JournalWalk::on_progress(OnRecords on_records) { on_records_ = std::move(on_records); }

bool JournalWalk::next() {
  if (turn_ended_) turn_source_ = 0;
  turn_ended_ = false;
  missing_ = 0;
  while (read()) {
    if (decode(raw_.bytes, record_)) {
      follow();
      if (++passed_ % kReportEach == 0 && on_records_) on_records_(passed_);
      return true;
    }
    ++missing_;  // The checksum matches, but the content is malformed.
  }
  return false;
}

void JournalWalk::go_on_with(JournalReader& next) {
  if (const std::uint64_t number = reader().next_number(); number != 0) next_number_ = number;
  raw_ = {};  // They refer to the file before.
  record_ = {};
  readers_[file_] = &next;
  next.follow_on(next_number_);
}

/// Reads the next record of this file, or of one behind it.
bool JournalWalk::read() {
  for (;;) {
    raw_ = reader().next();
    missing_ += reader().missing_before();
    if (!raw_.bytes.empty()) break;
    if (file_ + 1 == readers_.size()) return false;
    if (const std::uint64_t number = reader().next_number(); number != 0) next_number_ = number;
    ++file_;
    reader().follow_on(next_number_);
  }
  if (reader().run_changed()) begin_run();
  return true;
}

/// Another run begins, possibly without its first records.
void JournalWalk::begin_run() {
  sources_.clear();
  rows_.clear();
  turn_source_ = 0;
  wall_offset_ = 0;
  ++run_;
}

void JournalWalk::follow() {
  // The missing records may have ended the turn or given a row to another key.
  if (missing() > 0) {
    rows_.clear();
    turn_source_ = 0;
  }
  const bool first = passed_ == 0;
  switch (record_.kind) {
    case Kind::Started:
      // If the run's first records are the first of a block, the reader has reported the run already.
      if (!first && !reader().run_changed()) begin_run();
      [[fallthrough]];
    case Kind::Clocks:
      time_ = record_.time;
      wall_offset_ = record_.wall.nanoseconds() - record_.time.nanoseconds();
      break;
    case Kind::Looked: time_ = record_.time; break;
    case Kind::TurnBegins:
      time_ = record_.time;
      turn_source_ = record_.source;
      break;
    case Kind::TurnEnds:
      time_ = std::min(time_ + record_.span, Instant::from_nanoseconds(kTimeMost));
      turn_ended_ = true;
      break;
    case Kind::SourceAdded: sources_[record_.source] = std::string{record_.name}; break;
    case Kind::Redone:  // The ledger's row number may differ from the earlier one.
    case Kind::Changed:
      if (record_.row != kNoRow) rows_[record_.table][record_.row] = std::string{record_.text};
      break;
    default: break;
  }
}

WallTime JournalWalk::wall() const noexcept {
  // The head of a block has an offset too; a reading among the records is more recent.
  const std::int64_t offset = wall_offset_ != 0 ? wall_offset_ : reader().wall_offset();
  // A damaged or forged head may contain any value, so the sum is unsigned.
  return WallTime::from_nanoseconds(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(time_.nanoseconds()) + static_cast<std::uint64_t>(offset)));
}

std::string JournalWalk::source_name(std::uint32_t number) const {
  if (number == 0) return {};
  const auto found = sources_.find(number);
  return found == sources_.end() ? "#" + std::to_string(number) : found->second;
}

std::string JournalWalk::turn_of() const { return source_name(turn_source_); }
std::string JournalWalk::table() const { return record_.table == 0 ? std::string{} : names().of(record_.table); }
std::string JournalWalk::source() const { return source_name(record_.source); }

std::string JournalWalk::key() const {
  if (record_.has_change()) return std::string{record_.text};
  if (record_.row == kNoRow) return {};
  const auto rows = rows_.find(record_.table);
  if (rows == rows_.end()) return {};
  const auto row = rows->second.find(record_.row);
  return row == rows->second.end() ? std::string{} : row->second;
}

std::string JournalWalk::words() const {
  std::string text = to_string(record_, names());
  if (record_.source != 0 && record_.kind != Kind::SourceAdded) text.append(" '").append(source()).append("'");
  if (!record_.has_change() && record_.row != kNoRow) {
    if (const std::string of_row = key(); !of_row.empty()) text.append(" ").append(of_row);
  }
  return text;
}

// --- The text forms

namespace {

void append_escaped(std::string& out, std::string_view text) { out.append(escape_text(text, "|\\")); }

void append_change(std::string& out, const JournalWalk& walk) {
  const JournalRecord& record = walk.record();
  append_escaped(out, walk.table());
  out.push_back(':');
  append_escaped(out, record.text);
  out.push_back('|');
  append_escaped(out, record.op == ChangeOp::Event ? record.name : to_string(record.op));
  for (const Field& field : record.fields) {
    out.push_back('|');
    append_escaped(out, field.name);
    out.push_back(':');
    append_escaped(out, field.value);
  }
}

/// Returns a line with the number of records missing before this one.
std::string loss_lines(const JournalWalk& walk) {
  const std::uint64_t lost = walk.missing();
  return lost == 0 ? std::string{} : stamp(walk.wall()) + "|recording lost " + std::to_string(lost) + " records\n";
}

}  // namespace

std::string stamp(WallTime wall) {
  const std::int64_t ns = wall.nanoseconds();
  std::int64_t second = ns / 1'000'000'000;
  if (ns % 1'000'000'000 < 0) --second;
  const auto time = static_cast<std::time_t>(second);
  std::tm local{};
  std::array<char, 64> text{};
  // A year of five digits does not fit the form. Such a time and an invalid one are written as a date of zeros.
  const bool fits = ::localtime_r(&time, &local) != nullptr && std::strftime(text.data(), text.size(), "%Y-%m-%d.%H:%M:%S.", &local) == 20;
  const std::string micros = std::to_string((ns - second * 1'000'000'000) / 1000);
  return std::string{fits ? text.data() : "0000-00-00.00:00:00."} + std::string(6 - micros.size(), '0') + micros;
}

std::string swss_lines(const JournalWalk& walk) {
  std::string lines = loss_lines(walk);
  if (walk.record().kind == Kind::Started) lines.append(stamp(walk.wall())).append("|recording started\n");
  if (walk.record().kind != Kind::Changed) return lines;
  lines.append(stamp(walk.wall())).push_back('|');
  append_change(lines, walk);
  lines.push_back('\n');
  return lines;
}

std::string retry_lines(const JournalWalk& walk) {
  std::string lines = loss_lines(walk);
  const JournalRecord& record = walk.record();
  const bool parked = record.kind == Kind::Parked || record.kind == Kind::Delayed;
  if (parked || record.kind == Kind::Retried || record.kind == Kind::Unparked) {
    lines.append(stamp(walk.wall())).append(parked ? "| ++++ |" : "| ---- |");
    append_change(lines, walk);
    lines.push_back('\n');
  } else if (record.kind == Kind::Announced && record.count > 0) {
    lines.append(stamp(walk.wall())).append("| (");
    append_escaped(lines, walk.names().of(record.facts.front().kind));
    lines.append(", ");
    append_escaped(lines, record.facts.front().key);
    lines.append(") resolution notified -> ").append(std::to_string(record.count)).append(" tasks\n");
  }
  return lines;
}

}  // namespace rondo::journal
