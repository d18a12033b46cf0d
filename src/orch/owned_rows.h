// OwnedRows: the rows that one part of a program writes into tables that other programs write, too. Its user decides which rows there are
// and what each contains. OwnedRows writes them, repeats what the store refuses, finds the rows of an earlier run, and writes a row again
// that another program has changed or deleted.
//
// Owner: either each row names its owner itself, and the user reports what the consumer of the table takes (taken()). Or a table of owners
// has a record for each row. That record is stored before the row is written and deleted after the row, so a killed process leaves no row
// without its owner. A row of another program is never taken for ours: of what arrives later than it was read, whatever this process has
// deleted meanwhile is ignored (late_reports.h).
//
// Comparison: reads the written rows back, a page at a time. A row must differ in two reads, kSecondRead apart, because its consumer may
// have yet to apply it at the first one. Bound: of N rows and records each is read once in (N / kPage + 1) * kPeriod; pages follow each
// other faster while rows differ. Memory: a map of the rows with their content. Scheduler's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orch/late_reports.h"
#include "rondo/sched/priority.h"
#include "rondo/sched/scheduler.h"
#include "rondo/sched/timer.h"
#include "rondo/store/store.h"

namespace rondo {

/// The fields of a record of the table of owners: from what the row was made, and the names of its fields as they were last written, in
/// alphabetical order, separated by commas; "NULL" for none.
inline constexpr std::string_view kSourceField = "source";
inline constexpr std::string_view kFieldsField = "fields";

struct RowName {
  std::string table;
  std::string key;
  friend auto operator<=>(const RowName&, const RowName&) = default;
};

struct OwnedRowsOptions {
  std::string name;  // Its timers have it, too.
  Priority priority;
  /// Called when the user has to decide again whether there is such a row: it calls set() or remove() in any later turn.
  std::function<void(const RowName&)> again = {};
  /// Called when a row is gone.
  std::function<void(const RowName&)> freed = {};
  /// The table of owners, and what separates table and key in its keys. Empty: the rows name their owner themselves.
  std::string owners = {};
  char separator = '|';
  /// The tables of the rows. A record that names another one belongs to another program. Static storage; empty: any table.
  std::span<const std::string_view> tables = {};
  /// A row that has other fields than before is deleted and written in one step, so no field of another program remains.
  bool replaces = false;
  /// True if a field that another program adds to a row of this table is a change. Empty: no.
  std::function<bool(std::string_view table)> is_whole = {};
  /// A row that another program has changed belongs to it from then on: only missing rows are written again.
  bool yields = false;
  /// A key that another program gave another type is written again, too: the store refuses that, which trouble() reports.
  bool writes_over_types = false;
  /// Writes for put() and drop(). Empty: Store::write().
  std::function<Status(std::string_view table, Change change, WriteDone done)> write = {};
};

class OwnedRows {
 public:
  static constexpr Duration kPeriod = 1s;         // Between two pages of a comparison.
  static constexpr Duration kSecondRead = 200ms;  // Between two pages while rows differ.
  static constexpr Duration kFirstWait = 100ms;   // Before a refused write is repeated; then twice the time each,
  static constexpr Duration kLastWait = 5s;       // up to this.
  static constexpr std::size_t kPage = 256;

  struct Row {
    Record content;        // The wanted row. Empty: not known, because an earlier run wrote it.
    std::string source;    // The value of kSourceField.
    std::string fields;    // The value of kFieldsField; empty: not known.
    bool here = false;     // This process has written it. Otherwise an earlier run wrote it.
    bool stored = false;   // The table of owners has it.
    bool leaving = false;  // Its Delete is under way.
    enum class State : std::uint8_t { Unknown, UnderWay, Written } state = State::Unknown;
    std::uint64_t newest = 0;  // The number of its newest write.
  };

  /// Both must outlive it.
  OwnedRows(Scheduler& scheduler, Store& store, OwnedRowsOptions options);
  OwnedRows(const OwnedRows&) = delete;
  OwnedRows& operator=(const OwnedRows&) = delete;

  /// Writes the row unless it is written like this, and repeats that while the store refuses it.
  void set(const RowName& name, std::string_view source, Record content);
  /// Deletes the row if there is one, and repeats that while the store refuses it.
  void remove(const RowName& name);
  /// The same once, also if the row is written like this: 'done' is called with the end, or an error is returned.
  Status put(const RowName& name, std::string_view source, Record content, WriteDone done);
  Status drop(const RowName& name, WriteDone done);

  /// Begins to compare. Called once.
  void start_check();
  /// Finds the rows of an earlier run by the table of owners. 'done' is called once, in a later turn.
  void adopt(std::function<void(const Status&)> done) { adopt({}, std::move(done)); }
  /// The consumer of the table of owners takes the Set of a record: returns its row. Null if there is none, or this process has deleted it.
  const Row* adopt(std::string_view owner, const Fields& fields);
  /// It takes the Delete of a record: stores it again if its row is of this process.
  Status owner_taken(std::string_view key);
  /// The consumer of a table without owners takes this change of the row. 'is_ours': the row names us as its owner.
  void taken(const RowName& name, const Change& change, bool is_ours);
  /// The store has lost all rows.
  void rows_were_lost();

  const Row* find(const RowName& name) const;
  /// The key of the row's record in the table of owners, and the row of a record: without a key if it names none of these tables.
  std::string owner_key(const RowName& name) const { return name.table + options_.separator + name.key; }
  RowName name_of(std::string_view owner_key) const;
  const std::map<RowName, Row>& rows() const noexcept { return rows_; }
  /// Rows that were written again, because another program had changed or deleted them or the store had lost them; the newest one that was
  /// compared, for people.
  std::uint64_t repaired() const noexcept { return repaired_; }
  const std::string& last_repair() const noexcept { return last_repair_; }
  /// Writes that the store has refused, except those of put() and drop().
  std::uint64_t refused() const noexcept { return refused_count_; }
  /// Which rows the store refuses now, and why; empty: none.
  std::string trouble() const;

 private:
  using Rows = std::map<RowName, Row>;
  /// A row that the store has refused since it took it last.
  struct Refused {
    Duration wait{0};
    Instant due;
    Status why;
  };
  /// A row that is read back, or its record in the table of owners.
  struct Look {
    RowName name;
    bool is_owner = false;
    bool is_second = false;
    std::uint64_t write = 0;  // The newest one of the row when the read began.
  };

  Record owner_record(const RowName& name, const Row& row) const;
  Status send(std::string_view table, Change change, WriteDone done, bool is_users);
  Status write(const RowName& name, Row& row, const WriteDone& done);
  Status write_row(const RowName& name, Row& row, const WriteDone& done);
  WriteDone answered(const RowName& name, const Row& row, const WriteDone& done);
  void ended(const RowName& name, std::uint64_t number, const Status& status, const WriteDone& done);
  void owner_stored(const RowName& name, std::uint64_t number, const WriteDone& done);
  void forget(Rows::iterator row);
  void refuse(const RowName& name, const Status& why);
  void retry();
  void adopt(const std::string& cursor, std::function<void(const Status&)> done);
  void check();
  void read(Look look);
  void compare(const Look& look, const Result<Record>& found);
  std::string difference(const Look& look, const Row& row, const Result<Record>& found) const;
  void repair(const Look& look, const Row& row, const Result<Record>& found, const std::string& what);
  bool is_whole(std::string_view table) const { return options_.is_whole && options_.is_whole(table); }

  Scheduler& scheduler_;
  Store& store_;
  const OwnedRowsOptions options_;
  Rows rows_;
  std::map<RowName, Refused> refused_;
  LateReports reports_;
  std::uint64_t writes_ = 0;
  std::uint64_t refused_count_ = 0;
  std::uint64_t repaired_ = 0;
  std::string last_repair_;
  TimerSource retry_timer_;
  Instant retry_at_;
  TimerSource check_timer_;
  RowName cursor_;            // The comparison continues behind it.
  std::vector<Look> differ_;  // After their first read. At most a page.
  std::size_t unanswered_ = 0;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // Answers of the store may come after the end.
};

}  // namespace rondo
