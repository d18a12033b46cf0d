// Replay: repeats a recorded run with the production scheduler and the production Orchs. The journal (journal/journal.h) holds the inputs:
// which foreign sources were ready and when, table contents, link events, answers of the data plane, and the clock. It also holds the
// decisions: the order of turns, what each handled, outcomes, facts, orders. A replay supplies the inputs and compares the decisions,
// record by record. docs/journal-format.md lists what is compared and what is not.
//   auto replay = replay::Replay::open({"rondo.journal"});
//   Runtime runtime(replay->runtime_options());
//   ... the same Orchs, made in the same order; data plane and programmer as below ...
//   const replay::ReplayReport report = replay->run(runtime);
// Threads: the caller's, and one that reads the files ahead and ends with the replay. The result does not depend on the speed of reading.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/dataplane/dataplane.h"
#include "rondo/orch/runtime.h"

namespace rondo {
class RecordedAnswers;
class RecordedRestart;
}  // namespace rondo

namespace rondo::replay {

/// The result of a replay.
struct ReplayReport {
  /// Every record was reproduced.
  bool same = false;
  std::uint64_t records = 0;  // Reproduced records. Replay::records() counts those of the run's end too, which removes its sources.
  std::uint64_t turns = 0;
  std::uint64_t outcomes = 0;
  Duration recorded{0};  // From the first record to the last one reproduced.
  // Times the reading thread was as far ahead as it may be (limits::kReplayBatchesAhead, limits::kReplayBytesAhead).
  std::uint64_t reading_pauses = 0;
  // The recorded sources that the program does not have, by name: their turns were given, and not compared. Sockets, connections and
  // posted functions belong here. A table of an Orch here was never taken from, and its Orch may be missing.
  std::vector<std::string> given_sources;
  // The first difference: the record's number in its run, from 1, and both records as text.
  std::uint64_t record = 0;
  std::string expected;
  std::string came;
};

struct DamagedPart;

class Replay {
 public:
  /// Opens the run with this number (from 1; 0: the last) in the files, oldest first, of one journal. DataLoss when a file is not a journal
  /// or the beginning of the run is missing; ResourceExhausted when no thread can be started; otherwise the error of reading. Damaged
  /// blocks are no error here: the report says where records are missing.
  static Result<std::unique_ptr<Replay>> open(const std::vector<std::string>& files, unsigned run = 0);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// The parts of the files that were skipped, found at open(), as text: "FILE: a block is cut off: 20 bytes at offset 4096". A run that
  /// lost only its end replays as the same up to that point.
  std::vector<std::string> damage() const;
  /// The text that Journal::note() recorded under 'name'.
  std::optional<std::string> note(std::string_view name) const;

  /// The recorded policy, clock and store, and a journal that compares. For one runtime, which must not outlive the replay.
  RuntimeOptions runtime_options();
  /// For a program that ends where its store refuses a table (Runtime::add): the replay reports a recorded refusal as a difference and
  /// grants the table. Without this call the program gets the recorded refusal, as Runtime::try_add() returns it. Before the runtime is
  /// made.
  void grant_tables() noexcept;
  /// A data plane without objects that reports the recorded link events.
  DataPlane& plane() noexcept;
  /// For SwitchAgentOptions::answers of the switch agent.
  RecordedAnswers& answers() noexcept;
  /// What the recorded run found in the data plane from an earlier run, and the end of its restart; for the switch agent's
  /// AgentOptions::restart.
  RecordedRestart& restart() noexcept;

  /// Number of records of the run, as found at open().
  std::uint64_t records() const noexcept;
  /// Gives the recorded turns until the end or the first difference. Call it once. 'on_records', if given, is called between turns with the
  /// number of completed records, each time after at least kReportEach of them.
  using OnRecords = std::function<void(std::uint64_t done)>;
  static constexpr std::uint64_t kReportEach = 4096;
  ReplayReport run(Runtime& runtime, const OnRecords& on_records = {});

 private:
  friend const std::vector<DamagedPart>& damaged_parts(const Replay& replay) noexcept;
  struct Impl;
  explicit Replay(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::replay
