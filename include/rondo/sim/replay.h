// Replay: a recorded run, run again by the production scheduler and the production Orchs. The journal (orch/journal.h) holds what came from
// outside (which sources that are not ours were ready and when, what was in the tables, link events, the data plane's answers, the clock)
// and what was decided (the order of turns, what each handled, outcomes, facts, orders). A replay gives the first and compares the second,
// record by record. docs/journal-format.md says what is and what is not compared.
//   auto replay = sim::Replay::open({"rondo.journal"});
//   Runtime runtime(replay->runtime_options());
//   ... the same Orchs, made in the same order; data plane and programmer as below ...
//   const sim::ReplayReport report = replay->run(runtime);
// Threads: the caller's, and one of its own that reads the files ahead and ends with the replay; what comes of it is the same however fast
// it is.
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
#include "rondo/dataplane/programmer.h"
#include "rondo/dataplane/recorded_restart.h"
#include "rondo/orch/runtime.h"

namespace rondo::sim {

/// What came of a replay.
struct ReplayReport {
  /// Every record was reproduced.
  bool same = false;
  std::uint64_t records = 0;  // Reproduced.
  std::uint64_t turns = 0;
  std::uint64_t outcomes = 0;
  Duration recorded{0};  // From the first record to the last one reproduced.
  // Times the thread that reads was as far ahead as it may be (limits::kReplayBatchesAhead, limits::kReplayBytesAhead).
  std::uint64_t reading_pauses = 0;
  // The first difference: the record's number in its run, from 1, and both in words.
  std::uint64_t record = 0;
  std::string expected;
  std::string came;
};

/// A part of a journal's file that is no whole block: of a file that a crash cut off, its end.
struct DamagedPart {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason;  // For people: "a block is cut off".
  bool at_end = false;
};

class Replay {
 public:
  /// The run with this number (from 1; 0: the last) in the files, oldest first, of one journal. DataLoss when a file is none or the run's
  /// beginning is missing; ResourceExhausted when there can be no more threads; else the error of reading. Damaged blocks are no error
  /// here: the report says where records are missing.
  static Result<std::unique_ptr<Replay>> open(const std::vector<std::string>& files, unsigned run = 0);
  ~Replay();
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// What was left out of the files, as they were when they were opened. A run whose end alone was lost is the same, as far as it is there.
  const std::vector<DamagedPart>& damage() const noexcept;
  /// What Journal::note() said.
  std::optional<std::string> note(std::string_view name) const;

  /// The recorded policy, clock and store, and a journal that compares. For one runtime, which must not outlive the replay.
  RuntimeOptions runtime_options();
  /// For a program that ends where its store refuses a table (Runtime::add): the replay reports a recorded refusal as a difference and
  /// grants the table. Without this call the program gets the recorded refusal, as Runtime::try_add() returns it. Before the runtime is
  /// made.
  void grant_tables() noexcept;
  /// Holds nothing, and tells the recorded link events.
  DataPlane& plane() noexcept;
  /// For Programmer::Options::answers.
  RecordedAnswers& answers() noexcept;
  /// What the run found of an earlier one in the data plane, and the end of its restart; for the switch agent's AgentOptions::restart.
  RecordedRestart& restart() noexcept;

  /// Records of the run, as far as the files told when they were opened.
  std::uint64_t records() const noexcept;
  /// Gives the recorded turns, to the end or the first difference. Once. 'on_records', if any, hears between turns how many records are
  /// through, each time after kTellEach of them or more.
  using OnRecords = std::function<void(std::uint64_t done)>;
  static constexpr std::uint64_t kTellEach = 4096;
  ReplayReport run(Runtime& runtime, const OnRecords& on_records = {});

 private:
  struct Impl;
  explicit Replay(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondo::sim
