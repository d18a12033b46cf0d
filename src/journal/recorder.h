// JournalRecorder: the implementation of every Journal. It observes a runtime with its turns, executors and data plane, and encodes records
// into the room that a JournalSink returns. Scheduler's thread, unless a function states otherwise. A function that records costs one
// branch when the journal is off, and under 100 ns for a change of one field when it is on (bench/journal.cc). The functions that record
// an event of a row take the table as the number that name() returned.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/drift_kind.h"
#include "dataplane/order_records.h"
#include "dataplane/programmer.h"
#include "journal/format.h"
#include "orch/runtime_events.h"
#include "rondo/journal/journal.h"
#include "rondo/orch/fact.h"
#include "rondo/sched/policy.h"
#include "rondo/store/change.h"
#include "sched/executor_host.h"
#include "sched/turn_observer.h"

namespace rondo {

class JournalSink;
class Runtime;
struct LinkEvent;
struct NexthopEntry;

class JournalRecorder final : public Journal, public RuntimeEvents, public TurnObserver, public OrderObserver, public ExecutorJournal {
 public:
  /// Records nothing.
  JournalRecorder();
  /// Records into 'sink'. 'clock' must outlive it.
  JournalRecorder(std::unique_ptr<JournalSink> sink, const Clock& clock);
  /// Writes the buffered records.
  ~JournalRecorder() override;
  /// See Journal::open.
  static Result<std::unique_ptr<JournalRecorder>> open(const JournalOptions& options, const Clock& clock);
  /// Its files, the newest first; they need not exist. Empty: it writes none.
  const std::vector<std::string>& files() const noexcept { return files_; }
  /// The recorder of the runtime's observer; null if it is no journal, or one that is off.
  static JournalRecorder* of(const Runtime& runtime) noexcept;

  bool on() const noexcept override { return sink_ != nullptr; }
  /// Returns a number for 'text', always the same for the same text. 0 when the journal is off.
  std::uint32_t name(std::string_view text);

  // --- The run.

  void started(Instant now, const PolicySettings& policy) override;
  RuntimeEvents& events() noexcept override { return *this; }
  TurnObserver* turn_observer() override { return on() ? this : nullptr; }
  ExecutorJournal* executor_journal() override { return on() ? this : nullptr; }
  void note(std::string_view name, std::string_view text) override;
  void written_by(std::uint32_t user, std::int32_t process, std::string_view what) override;

  // --- Turns.

  std::uint32_t source_added(Source& source) override;
  void source_removed(std::uint32_t source) override;
  void policy_changed(const PolicySettings& settings) override;
  void clock_read(Instant now) override { read_time_ = now; }
  void woken(std::uint32_t source) override;
  void timers_fire() override;
  void turn_begins(std::uint32_t source, Instant now) override;
  void time_checked(bool is_up) override;
  void yield_checked(bool yields) override;
  void turn_ends(const Turn& turn, Instant now) override;

  // --- Tables, as the runtime reports them: by the runtime's number of the table.

  void table_added(std::uint32_t table, std::string_view name) override;
  void table_refused(const Status& why) override {
    if (on()) record_refused(true, why);
  }
  void table_ready(std::uint32_t table) override { became_ready(tables_[table]); }
  void changes_taken(std::uint32_t table, std::size_t count, bool is_empty) override { took(tables_[table], count, is_empty); }
  void event_taken(std::uint32_t table, const Change& taken) override { event(tables_[table], taken); }
  void gap(std::uint32_t table) override;
  void row(const RowEvent& event) override;

  // --- Rows and events.

  /// A subscription has changes to take.
  void became_ready(std::uint32_t table) {
    if (on()) record_ready(table);
  }
  /// 'count' changes were taken, and a changed() for each follows; 'empty': nothing is left to take.
  void took(std::uint32_t table, std::size_t count, bool empty) {
    if (on()) record_took(table, count, empty);
  }
  /// One of the taken changes, and its row in the ledger.
  void changed(std::uint32_t table, std::uint32_t row, const Change& change) {
    if (on()) record_changed(table, row, change);
  }
  /// An event that was taken.
  void event(std::uint32_t table, const Change& event);

  // --- Outcomes.

  void done(std::uint32_t table, std::uint32_t row) {
    if (on()) record_done(table, row);
  }
  void staged(std::uint32_t table, std::uint32_t row) {
    if (on()) record_staged(table, row);
  }
  /// Queued again immediately.
  void again(std::uint32_t table, std::uint32_t row);
  void parked(std::uint32_t table, std::uint32_t row, const Change& change, std::span<const Fact> facts) {
    if (on()) record_parked(table, row, change, facts);
  }
  void delayed(std::uint32_t table, std::uint32_t row, const Change& change, Duration delay, std::span<const Fact> facts,
               const Status& why);
  void rejected(std::uint32_t table, std::uint32_t row, const Change& change, const Status& why);
  /// A row whose turn had come now waits for 'fact'.
  void still_parked(std::uint32_t table, std::uint32_t row, const Fact& fact);
  /// The fact or time that a row waited for came, and the row is handled again.
  void retried(std::uint32_t table, std::uint32_t row, const Change& change) {
    if (on()) record_retried(table, row, change);
  }
  /// A new change of a parked row's key came, and it is handled again.
  void unparked(std::uint32_t table, std::uint32_t row, const Change& change);

  /// Done for as long as 'facts' hold.
  void done_while(std::uint32_t table, std::uint32_t row, std::span<const Fact> facts);
  /// A fact ended that a done row depends on, and the row is handled again.
  void redone(std::uint32_t table, std::uint32_t row, const Change& change);

  // --- What the store answers.

  void write_refused(const Status& why) override {
    if (on()) record_refused(false, why);
  }
  void write_ended(std::uint64_t number, const Status& end) override;

  // --- Facts.

  void announced(const Fact& fact, std::size_t rows) override {
    if (on()) record_announced(fact, rows);
  }
  void withdrawn(const Fact& fact) override;

  // --- The data plane.

  void submitted(std::size_t lane, std::span<const Operation> ops) override;
  /// A whole batch came back.
  void answered(std::size_t lane, std::span<const Operation> ops) override;
  void link(const LinkEvent& event);
  /// The objects that an earlier run left: their number, and the next hops and groups among them.
  void kernel_found(std::uint64_t objects, std::span<const NexthopEntry> nexthops);
  /// The runtime checked whether the restart is over: whether the rows of before had come and were handled.
  void restart_look(bool rows_are_handled);
  /// Objects that no row asked for and that are about to be deleted.
  void unwanted(std::span<const DeleteOrder> deletes);
  /// Objects that differ from the ordered state and are about to be repaired, named by the orders that would delete them.
  void drifted(DriftKind kind, std::span<const DeleteOrder> objects);

  // --- Executors.

  void ordered(std::string_view executor, std::size_t lane, const executor::Texts& orders) override;
  void order_answers(std::string_view executor, std::size_t lane, std::uint64_t first, const executor::Texts& answers) override;
  void room_changed(std::string_view executor, bool has_room) override;
  void called(std::string_view component, std::string_view call) override;

  // --- Files. See Journal.

  Status begin() override;
  void rotate() noexcept override;
  Status flush() override;
  JournalStats stats() const override;

 private:
  template <class Content>
  void put(std::size_t bound, const Content& content);
  void put_answer(std::uint8_t kind);
  void put_change(std::uint8_t kind, std::uint32_t table, std::uint32_t row, const Change& change);
  void put_time();
  /// 'first' is written for answers only.
  void put_texts(std::uint8_t kind, std::string_view executor, std::size_t lane, std::uint64_t first, const executor::Texts& texts);
  std::uint32_t kind_name(FactKind kind);
  void record_ready(std::uint32_t table);
  void record_took(std::uint32_t table, std::size_t count, bool empty);
  void record_changed(std::uint32_t table, std::uint32_t row, const Change& change);
  void record_done(std::uint32_t table, std::uint32_t row);
  void record_staged(std::uint32_t table, std::uint32_t row);
  void record_parked(std::uint32_t table, std::uint32_t row, const Change& change, std::span<const Fact> facts);
  void record_retried(std::uint32_t table, std::uint32_t row, const Change& change);
  void record_refused(bool is_table, const Status& why);
  void record_announced(const Fact& fact, std::size_t rows);

  struct KindName {
    FactKind kind;
    std::uint32_t name;
  };

  std::unique_ptr<JournalSink> sink_;
  std::vector<std::string> files_;
  const Clock* clock_ = nullptr;
  std::map<std::string, std::uint32_t, std::less<>> names_;
  std::vector<std::uint32_t> tables_ = {0};  // Their names, by the runtime's number of the table.
  std::vector<KindName> kinds_;              // Few entries.
  std::uint32_t sources_ = 0;
  bool is_started_ = false;
  std::vector<std::pair<std::string, std::string>> early_notes_;  // Noted before the run was started: they follow its start.
  Instant read_time_;                                             // The time that the scheduler last read between turns.
  Instant recorded_time_;                                         // The time that was last recorded.
  Instant turn_began_;                                            // The beginning of the present turn.
  std::uint64_t asked_ = 0;  // How often the source of the present turn has checked whether it should end.
  Instant clocks_due_;       // When both clocks must be read again.
};

}  // namespace rondo
