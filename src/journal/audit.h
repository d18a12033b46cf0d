// audit() compares every wait of a recorded run with the bound that the policy promises (rondo/sched/policy.h), from the recorded
// turns. A run is split where the policy changed or records are missing. Each part is read twice. The first pass finds the longest turns
// and how many sources each priority had; the second checks every wait against the bound they allow. One thread. Memory: O(sources).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "journal/files.h"
#include "journal/walk.h"
#include "rondo/base/result.h"
#include "rondo/base/time.h"

namespace rondo::journal {

/// A wait that exceeded its bound.
struct LongWait {
  std::uint64_t record = 0;  // The number of the turn's record, in its run.
  WallTime wall;
  std::string source;
  unsigned priority = 0;
  Duration waited{0};
  Duration bound{0};
};

struct AuditReport {
  std::uint64_t runs = 0;
  std::uint64_t parts = 0;
  std::uint64_t waits = 0;      // Compared with a bound.
  std::uint64_t unbounded = 0;  // Waits under a policy that promises no bound to the source.
  std::uint64_t unknown = 0;    // Waits whose beginning is in another part, or missing.
  std::uint64_t missing = 0;    // Missing records, as far as their number is known.
  double worst = 0;             // The greatest wait divided by its bound; 0 if none waited.
  std::string worst_source;
  std::uint64_t violations = 0;
  std::optional<LongWait> first;
};

/// Audits whole blocks of the files. The files themselves report damage and gaps between them. 'on_records' receives the number of records
/// read so far, of twice the number of records.
AuditReport audit(const JournalFiles& files, const JournalWalk::OnRecords& on_records = {});
/// 'paths' are the files of one journal, in any order (JournalFiles). Returns DataLoss if one is not a journal, otherwise the error of
/// reading.
Result<AuditReport> audit(const std::vector<std::string>& paths);

}  // namespace rondo::journal
