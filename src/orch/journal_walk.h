// JournalWalk: goes through the files of a journal and knows at each record when it was, in whose turn, and which key a row number means.
// Where records are missing it forgets the keys: row numbers are used again. One thread. Memory: the keys of the rows of ledgers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "orch/journal_reader.h"

namespace rondo::journal {

class JournalWalk {
 public:
  /// Of one file. 'reader' must outlive it.
  explicit JournalWalk(JournalReader& reader) : readers_{&reader} {}
  /// Of the files of one journal, in order (JournalFiles). They must outlive it.
  explicit JournalWalk(const std::vector<std::unique_ptr<JournalReader>>& readers);

  /// 'on_records', if any, hears from next() how many records are through, each kTellEach of them.
  using OnRecords = std::function<void(std::uint64_t done)>;
  static constexpr std::uint64_t kTellEach = 4096;
  void tell(OnRecords on_records);

  /// Goes to the next record. False at the end; there may be more after JournalReader::look_again().
  bool next();
  /// At the end of the last file: it goes on with 'reader', and the last file is not needed any more.
  void go_on_with(JournalReader& reader);

  const RawRecord& raw() const noexcept { return raw_; }
  const JournalRecord& record() const noexcept { return record_; }
  const Names& names() const noexcept { return reader().names(); }
  /// Of the files, which one the record is in.
  std::size_t file() const noexcept { return file_; }
  /// Records that are missing before this one, or as this one (Lost) says, or cannot be read.
  std::uint64_t missing() const noexcept { return missing_ + (record_.kind == Kind::Lost ? record_.count : 0); }
  /// Which run of those that were seen, from 0; a run of which only the end is there counts.
  std::uint64_t run() const noexcept { return run_; }
  /// When it happened; in a turn, when that began.
  Instant time() const noexcept { return time_; }
  WallTime wall() const noexcept;
  /// The table it is about, or the source; empty if it is about neither.
  std::string table() const;
  std::string source() const;
  /// The source whose turn it is; empty between turns.
  std::string turn_of() const;
  /// The key it is about, of the change or of the row; empty if that is not known.
  std::string key() const;
  /// The record in words, with names in place of numbers.
  std::string words() const;

 private:
  JournalReader& reader() const noexcept { return *readers_[file_]; }
  bool read();
  void begin_run();
  void follow();
  std::string source_name(std::uint32_t number) const;

  using Rows = std::unordered_map<std::uint32_t, std::string>;  // The key in each row of a ledger.

  std::vector<JournalReader*> readers_;  // One at least.
  std::size_t file_ = 0;
  std::uint64_t next_number_ = 0;  // Of the record that would follow the files before.
  std::uint64_t missing_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t passed_ = 0;  // Records that were seen.
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

/// Local time as SONiC's records have it, "2024-09-11.18:55:38.383953".
std::string stamp(WallTime wall);

/// The lines of swss.rec and of retry.rec that a record makes, newlines included; most make none. Control characters, '|' and '\' inside
/// keys, names and values are written as \xHH, so that a line is one record (SONiC does not escape).
///   swss.rec    2024-09-11.18:55:37.120411|recording started                                        a run begins
///               2024-09-11.18:55:38.383953|ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1
///   retry.rec   2024-09-11.18:55:38.383953| ++++ |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1      parked
///               2024-09-11.18:56:22.144220| ---- |ROUTE_TABLE:5.5.78.31/32|SET|nexthop_group:1      back
///               2024-09-11.18:56:22.144100|(nexthop-group, 1) resolution notified -> 800000 tasks
std::string swss_lines(const JournalWalk& walk);
std::string retry_lines(const JournalWalk& walk);

}  // namespace rondo::journal
