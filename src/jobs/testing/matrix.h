// The dimensions of the job matrix: each kind of schedule, each misfire rule, each overlap rule, each result of the attempts and each end
// of the process. The values come from the enumerations themselves, so a new one is part of the matrix, and matrix_model.h does not compile
// without its rule. Tests only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "rondo/calendar/schedule.h"
#include "rondo/jobs/job.h"

namespace rondo::jobs::test {

/// The alternatives of calendar::Schedule::when, in their order.
enum class ScheduleKind : std::uint8_t { TriggerOnly, Cron, FixedRate, FixedDelay, OneShot };
constexpr std::array<std::string_view, 5> kScheduleKinds{"trigger-only", "cron", "fixed-rate", "fixed-delay", "one-shot"};
static_assert(std::variant_size_v<decltype(calendar::Schedule::when)> == kScheduleKinds.size(), "a kind of schedule is not in the matrix");

/// How the first process ends. A firing has three steps that have an effect: its run is stored (the plan), its handler is called, and its
/// end is stored.
enum class Ending : std::uint8_t {
  Terminated,         // Orderly, while a run is under way.
  KilledBeforePlan,   // The transaction that stores the run has not been committed.
  KilledAfterPlan,    // It has been committed, and the process does not know it.
  KilledBeforeCall,   // The run is due; its handler has not been called.
  KilledAfterCall,    // The handler has been called, and the process did nothing after that.
  KilledBeforeEnd,    // The run has ended; the transaction that stores the end has not been committed.
  KilledAfterEnd,     // It has been committed, and the process does not know it.
  KilledAndLostFile,  // The database is gone, while a run is under way.
};
constexpr std::array<std::string_view, 8> kEndings{"Terminated",      "KilledBeforePlan", "KilledAfterPlan", "KilledBeforeCall",
                                                   "KilledAfterCall", "KilledBeforeEnd",  "KilledAfterEnd",  "KilledAndLostFile"};
static_assert(static_cast<std::size_t>(Ending::KilledAndLostFile) + 1 == kEndings.size());

/// What the attempts of all runs come to. A job whose attempts fail has one retry.
enum class Attempts : std::uint8_t { Succeed, Fail };
constexpr std::array<std::string_view, 2> kAttempts{"succeed", "fail"};
static_assert(static_cast<std::size_t>(Attempts::Fail) + 1 == kAttempts.size());

/// The steps at which a kill may be.
enum class Step : std::uint8_t { Plan, Call, End };

struct MatrixCell {
  ScheduleKind kind;
  Misfire misfire;
  Overlap overlap;
  Ending ending;
  Attempts attempts;
  std::string name() const {
    return std::string{kScheduleKinds[static_cast<std::size_t>(kind)]} + ", " + std::string{to_string(misfire)} + ", " +
           std::string{to_string(overlap)} + ", attempts " + std::string{kAttempts[static_cast<std::size_t>(attempts)]} + ", " +
           std::string{kEndings[static_cast<std::size_t>(ending)]};
  }
};

/// All values of an enumeration whose values begin at 0: those that have a name.
template <class Enum>
std::vector<Enum> named_values() {
  std::vector<Enum> values;
  for (std::uint8_t value = 0; !to_string(static_cast<Enum>(value)).empty(); ++value) values.push_back(static_cast<Enum>(value));
  return values;
}

/// All cells of an ending.
inline std::vector<MatrixCell> cells_of(Ending ending) {
  std::vector<MatrixCell> cells;
  for (std::size_t kind = 0; kind < kScheduleKinds.size(); ++kind) {
    for (const Misfire misfire : named_values<Misfire>()) {
      for (const Overlap overlap : named_values<Overlap>()) {
        for (const Attempts attempts : {Attempts::Succeed, Attempts::Fail})
          cells.push_back({static_cast<ScheduleKind>(kind), misfire, overlap, ending, attempts});
      }
    }
  }
  return cells;
}

/// The story of each cell, in milliseconds after a whole second of the wall clock. The first process ends; the second one begins at
/// kSecondBegins and runs until all is done. Cycles, instants and ends of runs never coincide.
using Ms = std::int64_t;
constexpr Ms kFirstBegins = -550;
constexpr Ms kQuietEnd = 4'300;  // Of an ending that is not at a step.
constexpr Ms kSecondBegins = 12'450;
constexpr Ms kUntil = 16'000;  // The end of the validity.
constexpr Ms kPeriod = 1'000;  // Of "cron" and "every", and between triggers.
constexpr Ms kDelay = 500;
constexpr Ms kOneShot = 4'000;
constexpr Ms kWindow = 1'000;
constexpr Ms kGrace = 2'000;
constexpr Ms kCycle = 500;
constexpr Ms kTakes = 2'730;    // A call of the handler.
constexpr Ms kBackoff = 1'310;  // From the end of an attempt that failed to the next one.
constexpr std::uint32_t kConcurrency = 2;
constexpr std::uint32_t kFireLast = 3;

/// The number of the firing at whose step the process is killed.
constexpr unsigned killed_firing(ScheduleKind kind) { return kind == ScheduleKind::OneShot ? 1 : 2; }

}  // namespace rondo::jobs::test
