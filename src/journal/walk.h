// JournalWalk: iterates over the records of a journal's files. At each record it knows the time, the source whose turn it is, and the key
// of each row number. Where records are missing it forgets the keys, because row numbers are reused. One thread. Memory: the keys of the
// rows of ledgers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "journal/reader.h"

namespace rondo::journal {

class JournalWalk {
 public:
  /// Walks one file. 'reader' must outlive it.
  explicit JournalWalk(JournalReader& reader) : readers_{&reader} {}
  /// Walks the files of one journal, in order (JournalFiles). They must outlive it.
  explicit JournalWalk(const std::vector<std::unique_ptr<JournalReader>>& readers);

  /// If set, next() calls 'on_records' with the number of records read, after every kReportEach of them.
  using OnRecords = std::function<void(std::uint64_t done)>;
  static constexpr std::uint64_t kReportEach = 4096;
  void on_progress(OnRecords on_records);

  /// Moves to the next record. Returns false at the end; JournalReader::check_again() may find more.
  bool next();
  /// Call it at the end of the last file: continues with 'reader', and the last file is not needed any more.
  void go_on_with(JournalReader& reader);

  const RawRecord& raw() const noexcept { return raw_; }
  const JournalRecord& record() const noexcept { return record_; }
  const Names& names() const noexcept { return reader().names(); }
  /// The index of the file that contains the record.
  std::size_t file() const noexcept { return file_; }
  /// Missing records: before this one, reported by this one (Lost), or unreadable.
  std::uint64_t missing() const noexcept { return missing_ + (record_.kind == Kind::Lost ? record_.count : 0); }
  /// The number of the run among those seen, from 0. A run of which only the end is present counts.
  std::uint64_t run() const noexcept { return run_; }
  /// When the event happened; for an event in a turn, when that turn began.
  Instant time() const noexcept { return time_; }
  WallTime wall() const noexcept;
  /// The table or the source of the record; empty if it has none.
  std::string table() const;
  std::string source() const;
  /// The source whose turn it is; empty between turns.
  std::string turn_of() const;
  /// The key of the record's change or row; empty if it is unknown.
  std::string key() const;
  /// The record as text, with names in place of numbers.
  std::string words() const;

 private:
  JournalReader& reader() const noexcept { return *readers_[file_]; }
  bool read();
  void begin_run();
  void follow();
  std::string source_name(std::uint32_t number) const;

  using Rows = std::unordered_map<std::uint32_t, std::string>;  // The key in each row of a ledger.

  std::vector<JournalReader*> readers_;  // At least one.
  std::size_t file_ = 0;
  std::uint64_t next_number_ = 0;  // The number that the record behind the files before this one would have.
  std::uint64_t missing_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t passed_ = 0;  // Records that were read.
  OnRecords on_records_;
  RawRecord raw_;
  JournalRecord record_;
  Instant time_;
  std::int64_t wall_offset_ = 0;
  std::uint32_t turn_source_ = 0;
  bool turn_ended_ = false;
  std::unordered_map<std::uint32_t, std::string> sources_;
  std::map<std::uint32_t, Rows> rows_;  // By table.
};

/// Local time in the format of SONiC's records, "2024-09-11.18:55:38.383953".
std::string stamp(WallTime wall);

/// The lines of swss.rec and of retry.rec for a record, newlines included; most records have none. Control characters, '|' and '\' inside
/// keys, names and values are written as \xHH, so that a line is one record (SONiC does not escape).
///   swss.rec    2024-09-11.18:55:37.120411|recording started                                        a run begins
///               2024-09-11.18:55:38.383953|ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1
///   retry.rec   2024-09-11.18:55:38.383953| ++++ |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1      parked
///               2024-09-11.18:56:22.144220| ---- |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1      back
///               2024-09-11.18:56:22.144100| (nexthop-group, 1) resolution notified -> 800000 tasks
std::string swss_lines(const JournalWalk& walk);
std::string retry_lines(const JournalWalk& walk);

}  // namespace rondo::journal
