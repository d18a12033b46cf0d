// JournalAudit: holds every wait of a recorded day against the bound that the policy promises (rondo/sched/policy.h), from the recorded
// turns. A run is cut where the policy changed or records are missing; each part is read twice: first what the longest turns were and how
// many sources a priority had, then whether a wait was longer than they allow. One thread. Memory: the sources.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orch/journal_files.h"
#include "orch/journal_walk.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::journal {

/// A wait that was too long.
struct LongWait {
  std::uint64_t record = 0;  // The turn's, in its run.
  WallTime wall;
  std::string source;
  unsigned priority = 0;
  Duration waited{0};
  Duration bound{0};
};

struct AuditReport {
  std::uint64_t runs = 0;
  std::uint64_t parts = 0;
  std::uint64_t waits = 0;      // Held against a bound.
  std::uint64_t unbounded = 0;  // Under a policy that promises nothing to the source.
  std::uint64_t unknown = 0;    // Their beginning is in another part, or missing.
  std::uint64_t missing = 0;    // Records that are not there, as far as is known.
  double worst = 0;             // The greatest wait divided by its bound; 0 if none waited.
  std::string worst_source;
  std::uint64_t violations = 0;
  std::optional<LongWait> first;
};

/// What the files have, whole blocks of them: that damage was found, and where files do not follow on each other, they say themselves.
/// 'on_records' hears how many records are through, of twice as many as there are.
AuditReport audit(const JournalFiles& files, const JournalWalk::OnRecords& on_records = {});
/// 'paths' are the files of one journal, in any order (JournalFiles). DataLoss if one is no journal; else the error of reading.
Result<AuditReport> audit(const std::vector<std::string>& paths);

}  // namespace rondo::journal
