// Replay::Impl: the state of a replay, and the interfaces through which production code meets the records: see replay.cc. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dataplane/order_records.h"
#include "dataplane/recorded_restart.h"
#include "journal/recorder.h"
#include "orch/replayed_run.h"
#include "replay/record_reader.h"
#include "replay/seams.h"
#include "replay/stand_in.h"
#include "rondo/replay/replay.h"
#include "rondo/sched/scheduler.h"
#include "sched/executor_host.h"
#include "sched/sim_reactor.h"
#include "sched/turn_overrides.h"

namespace rondo::replay {

using journal::JournalRecord;
using journal::Kind;

struct Replay::Impl final : ReplaySeams, RecordedAnswers, RecordedRestart, ExecutorRecords, TurnOverrides {
  explicit Impl(std::unique_ptr<RecordReader> its_records) : reader(std::move(its_records)), clock(*this), plane(*this) {}

  // --- The comparison.

  const ReplayedRun replayed{.turns = this, .executors = this};
  bool over() const noexcept { return different || ended; }
  class Comparison;
  void compare(std::string_view came);
  void compare_with_rest(std::string_view came);
  void pass();
  void differ(std::string came);
  void differ_from(std::string_view came);
  std::string words(std::string_view bytes) const;
  bool is_recorded_time(std::string_view bytes) const;
  bool is_other_note(std::string_view bytes);

  // --- Inputs from outside.

  struct GivenSource {
    std::uint64_t record;  // The number of the record that added it.
    std::string words;     // The text of that record.
  };

  /// Limited like a recorded time, so that differences of the times of a forged run never overflow.
  Instant turn_end() { return std::min(turn_began + record(0).span, Instant::from_nanoseconds(journal::kTimeMost)); }
  bool is_next(Kind kind) { return over() || reader->kind() == kind; }
  /// True if this check of the turn returned true.
  bool was_answered(Kind kind) {
    ++checks;
    feed_wakes();
    if (over() || reader->kind() != kind) return over();
    return record(0).count == checks;
  }
  void number(Source& source);

  bool feed();
  bool give();
  bool feed_wake();
  void feed_wakes();
  bool feed_source();
  bool change_policy();
  void add_stand_in();
  bool remove_stand_in();
  std::string orch_without(std::string_view source) const;
  void check_given(const std::string& name, const GivenSource& given);
  bool poll();
  bool fire_timers();
  bool wait_for_answers(Source* executor);
  bool repeat_call();
  Turn stand_in_turn();
  /// Advances the record reader past a record that needs no comparison.
  void skip() { reader->advance(); }

  // --- The run.

  bool step();
  void check_rest();

  // ReplaySeams
  Kind kind() override {
    feed_wakes();
    return over() ? Kind::Lost : reader->kind();
  }
  JournalRecord record(std::size_t ahead) override;
  Kind kind(std::size_t ahead) override;
  bool change(std::size_t ahead, Change& change) override { return !over() && reader->take_change(ahead, change); }
  Instant now() override;
  WallTime wall() override;
  bool is_write_refused() override { return !over() && reader->kind() == Kind::WriteRefused; }
  void take_effect(std::string_view table) override;
  void end() override { ended = true; }
  void refuse(std::size_t ahead) override;
  std::string table_of(const JournalRecord& record) override { return reader->names().of(record.table); }

  // RecordedAnswers
  void attach(Source& source) override { programmer = &source; }
  bool next(std::size_t& lane, std::size_t& count) override;
  void answer(std::span<Operation> orders) override;
  Backlog backlog() override;

  // ExecutorRecords
  void joined(std::string_view executor, Source& source) override { executors.insert_or_assign(std::string{executor}, &source); }
  void left(std::string_view executor) override { executors.erase(std::string{executor}); }
  bool next(std::string_view executor, std::size_t& lane, std::uint64_t& first, std::vector<std::string_view>& answers) override;
  bool next_room(std::string_view executor, bool& has_room) override;
  void refuse(std::string_view why) override { differ(std::string{why}); }
  void calls_joined(std::string_view component, std::function<bool(std::string_view call)> repeat) override {
    callers.insert_or_assign(std::string{component}, std::move(repeat));
  }
  void calls_left(std::string_view component) override { callers.erase(std::string{component}); }
  void repeat_calls() override {
    while (kind() == Kind::Called && feed()) {
    }
  }
  bool is_next_call(std::string_view component, std::string_view call) override;

  // TurnOverrides
  void before_source(Source& source) override { number(source); }
  bool timers_due() override { return is_next(Kind::Timers); }
  bool time_is_up() override { return was_answered(Kind::TimeUp); }
  bool should_yield() override { return was_answered(Kind::Yields); }

  // RecordedRestart
  std::uint64_t found() override { return objects_found; }
  std::vector<NexthopEntry> nexthops() override { return nexthops_found; }
  std::string note(std::string_view name) override {
    const auto found = notes.find(name);
    return found == notes.end() ? std::string{} : found->second;
  }
  bool rows_are_handled() override { return kind() == Kind::RestartLook && record(0).flag; }
  void on_drift(OnDrift handler) override { plane.on_drift(std::move(handler)); }
  std::vector<DeleteOrder> unwanted() override { return kind() == Kind::Unwanted ? record(0).orders : std::vector<DeleteOrder>{}; }

  std::unique_ptr<RecordReader> reader;
  ReplayClock clock;
  ReplayPlane plane;
  SimClock unused_clock;
  SimReactor reactor{unused_clock};  // It watches no descriptors.
  Scheduler* scheduler = nullptr;
  ReplayStore* store = nullptr;
  Source* programmer = nullptr;
  std::map<std::string, Source*, std::less<>> executors;  // By name.
  /// Makes a recorded call of a component again, by the component's name.
  std::map<std::string, std::function<bool(std::string_view call)>, std::less<>> callers;
  JournalRecorder* journal = nullptr;  // The runtime's journal.
  PolicySettings policy;
  std::map<std::string, std::string, std::less<>> notes;
  bool tables_are_granted = false;
  std::uint64_t objects_found = 0;
  std::vector<NexthopEntry> nexthops_found;
  std::uint32_t sources_added = 0;
  std::map<std::uint32_t, Source*> sources;  // All sources, by number.
  std::map<std::uint32_t, std::unique_ptr<StandIn>> stand_ins;
  std::vector<std::unique_ptr<StandIn>> removed;
  StandIn* adding = nullptr;
  std::map<std::string, GivenSource> given_sources;  // All that had a stand-in, by name: the first of each.
  const Runtime* runtime = nullptr;                  // Null before run().
  bool polling = false;
  bool giving_turn = false;  // True in Scheduler::turn(), which must not poll, also where a forged run ends the turn early.
  bool in_turn = false;
  bool in_own_turn = false;  // True in a turn of a production source.
  bool waking = false;       // True in feed_wake().
  bool is_effect = false;    // True in take_effect().
  unsigned feed_depth = 0;   // The nesting of feed() in feed().
  std::uint64_t checks = 0;  // How often a source of the present turn has checked whether it should end.
  Instant time;
  WallTime wall_time;
  Instant turn_began;
  bool different = false;
  bool ended = false;
  bool is_leaving = false;  // The run's own sources were removed.
  ReplayReport report;
  Instant began;
};

}  // namespace rondo::replay
