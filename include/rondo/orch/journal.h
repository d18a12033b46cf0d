// Journal: the record of a runtime's day, in order: who had turns, what was taken from tables, what became of each change (done, parked on
// which facts, retried, rejected why), which facts were announced, what the data plane was ordered and answered, and the time between.
// Small binary records (docs/journal-format.md) go into a buffer on the hot path and are written by a thread of the journal's own; nothing
// waits for the disk. `rondo journal` reads it and writes the text forms of SONiC (swss.rec and retry.rec; seed 002, "Logging") from it;
// sim/replay.h runs it again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/clock.h"
#include "rondo/base/limits.h"
#include "rondo/base/result.h"
#include "rondo/dataplane/programmer.h"
#include "rondo/orch/constraint.h"
#include "rondo/sched/policy.h"
#include "rondo/sched/turn_watch.h"
#include "rondo/store/change.h"

namespace rondo {

class JournalSink;
struct LinkEvent;
struct NexthopEntry;

struct JournalOptions {
  /// The file that is appended to; its directory must exist. Empty: record nothing.
  std::string file = {};
  /// A file that has grown to this is renamed to FILE.1 (FILE.1 to FILE.2, and so on) and a new one begun. 0: never. While that fails it is
  /// tried again each second and the file grows on, to twice this; then records are lost.
  std::uint64_t file_bytes = 256 * 1024 * 1024;
  /// How many of the renamed files are kept.
  unsigned files = 4;
  /// Records waiting for the writer; beyond it they are dropped and counted, and the file says how many.
  std::size_t buffer_bytes = limits::kJournalBytes;
  /// The file is not touched before begin(): what is recorded waits in the buffer, and is forgotten if begin() never comes. For programs
  /// that may yet be refused.
  bool begin_later = false;
};

struct JournalStats {
  std::uint64_t records = 0;       // Taken into the buffer.
  std::uint64_t bytes = 0;         // Of these.
  std::uint64_t dropped = 0;       // Lost: the buffer was full, one was too large, or their write failed (these are in 'records', too).
  std::uint64_t write_errors = 0;  // Failed writes, renamings and reopenings.
  Status last_error = {};          // Why writing or renaming fails now; ok when the newest attempt of both went well.
};

/// Scheduler's thread, unless said otherwise. Every function that records is one branch when off, and under 100 ns for a change of one
/// field when on (bench/journal). Tables are given as the number that name() gave.
class Journal final : public TurnWatch, public OrderWatch {
 public:
  /// Records nothing.
  Journal();
  /// Into 'sink'. 'clock' must outlive it.
  Journal(std::unique_ptr<JournalSink> sink, const Clock& clock);
  /// Opens the file for appending; what is in it stays. 'clock' must outlive the journal. A Status that names the file when that fails;
  /// Unavailable when another journal, of this process or another, writes it: a journal holds a lock (flock) on the file that it appends
  /// to; InvalidArgument for what is no regular file, or has something in it that does not begin as a journal of a known version: nothing
  /// is appended to that.
  static Result<std::unique_ptr<Journal>> open(const JournalOptions& options, const Clock& clock);
  /// Writes what is buffered.
  ~Journal() override;
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  bool on() const noexcept { return sink_ != nullptr; }
  /// A number for 'text', the same for the same text. 0 when off.
  std::uint32_t name(std::string_view text);

  // --- The run.

  /// The first records: when the scheduler was made, and the policy that gives its turns.
  void started(Instant now, const PolicySettings& policy);
  /// A setting that decisions depend on.
  void note(std::string_view name, std::string_view text);

  // --- Turns.

  std::uint32_t source_added(Source& source) override;
  void source_removed(std::uint32_t source) override;
  void policy_changed(const PolicySettings& settings) override;
  void looked(Instant now) override { looked_ = now; }
  void woken(std::uint32_t source) override;
  bool timers_due() override;
  void turn_begins(std::uint32_t source, Instant now) override;
  bool time_is_up(bool by_clock) override;
  bool should_yield(bool by_state) override;
  void turn_ends(const Turn& turn, Instant now) override;

  // --- Tables.

  /// A subscription has something to take.
  void became_ready(std::uint32_t table) {
    if (on()) record_ready(table);
  }
  /// 'count' changes were taken, and each will be told; 'empty': nothing is left to take.
  void took(std::uint32_t table, std::size_t count, bool empty) {
    if (on()) record_took(table, count, empty);
  }
  /// One of them, and the ledger's row it is in.
  void changed(std::uint32_t table, std::uint32_t row, const Change& change) {
    if (on()) record_changed(table, row, change);
  }
  /// An event that was taken.
  void event(std::uint32_t table, const Change& event);
  void gap(std::uint32_t table);

  // --- Outcomes.

  void done(std::uint32_t table, std::uint32_t row) {
    if (on()) record_done(table, row);
  }
  void staged(std::uint32_t table, std::uint32_t row) {
    if (on()) record_staged(table, row);
  }
  /// Queued again at once.
  void again(std::uint32_t table, std::uint32_t row);
  void parked(std::uint32_t table, std::uint32_t row, const Change& change, std::span<const Constraint> facts) {
    if (on()) record_parked(table, row, change, facts);
  }
  void delayed(std::uint32_t table, std::uint32_t row, const Change& change, Duration delay, std::span<const Constraint> facts,
               const Status& why);
  void rejected(std::uint32_t table, std::uint32_t row, const Change& change, const Status& why);
  /// A row whose turn had come waits for 'fact' now.
  void still_parked(std::uint32_t table, std::uint32_t row, const Constraint& fact);
  /// What a row waited for came, and it is handled again.
  void retried(std::uint32_t table, std::uint32_t row, const Change& change) {
    if (on()) record_retried(table, row, change);
  }
  /// A new change of a parked row's key came, and it is handled again.
  void unparked(std::uint32_t table, std::uint32_t row, const Change& change);

  // --- What Orchs write into tables.

  void write_refused(const Status& why);
  /// 'number' counts the writes whose end is asked for.
  void write_ended(std::uint64_t number, const Status& end);

  // --- Facts.

  void announced(const Constraint& fact, std::size_t rows) {
    if (on()) record_announced(fact, rows);
  }
  void withdrawn(const Constraint& fact);

  // --- The data plane.

  void submitted(Lane lane, std::span<const Operation> ops) override;
  /// A whole batch came back.
  void answered(Lane lane, std::span<const Operation> ops) override;
  void link(const LinkEvent& event);
  /// What an earlier run left: how many objects, and of these the next hops and groups.
  void kernel_found(std::uint64_t objects, std::span<const NexthopEntry> nexthops);
  /// It was looked whether the restart is over: had the rows of before come?
  void restart_look(bool rows_have_come);
  /// What nobody asked for, about to be deleted.
  void unwanted(std::span<const Operation> deletes);

  // --- Files.

  /// Opens the file of a journal with JournalOptions::begin_later, as open() does else; nothing when it is open. Scheduler's thread.
  Status begin();
  /// Reopens the file by name (after SIGHUP, for logrotate). Any thread; the next write goes to the new file. When it cannot be opened, or
  /// another process writes it, the old one is kept, and the failure is counted as a write error.
  void rotate() noexcept;
  /// Blocks until everything recorded so far is written (to the kernel, not to the platter). For shutdown and tests. The newest error of a
  /// write or a reopening since the last flush; ok if there was none. Any thread, as long as none records.
  Status flush();
  /// Any thread.
  JournalStats stats() const;

 private:
  template <class Content>
  void put(std::size_t bound, const Content& content);
  void put_answer(std::uint8_t kind);
  void put_change(std::uint8_t kind, std::uint32_t table, std::uint32_t row, const Change& change);
  void put_time();
  std::uint32_t kind_name(ConstraintKind kind);
  void record_ready(std::uint32_t table);
  void record_took(std::uint32_t table, std::size_t count, bool empty);
  void record_changed(std::uint32_t table, std::uint32_t row, const Change& change);
  void record_done(std::uint32_t table, std::uint32_t row);
  void record_staged(std::uint32_t table, std::uint32_t row);
  void record_parked(std::uint32_t table, std::uint32_t row, const Change& change, std::span<const Constraint> facts);
  void record_retried(std::uint32_t table, std::uint32_t row, const Change& change);
  void record_announced(const Constraint& fact, std::size_t rows);

  struct KindName {
    ConstraintKind kind;
    std::uint32_t name;
  };

  std::unique_ptr<JournalSink> sink_;
  const Clock* clock_ = nullptr;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::vector<KindName> kinds_;  // A handful.
  std::uint32_t sources_ = 0;
  Instant looked_;           // What the scheduler read last between turns,
  Instant told_;             // the time that was recorded last,
  Instant turn_began_;       // and, in a turn, its beginning.
  std::uint64_t asked_ = 0;  // By the source of the turn, whether it should end.
  Instant clocks_due_;       // When both clocks are to be read again.
};

}  // namespace rondo
