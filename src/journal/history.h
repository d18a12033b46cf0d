// history_of(): the newest changes of one row in the files of a journal. It finds the blocks of a file (JournalReader) and reads the last
// ones first. Any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/result.h"
#include "rondo/base/time.h"
#include "rondo/store/change.h"
#include "rondo/store/store.h"

namespace rondo::journal {

struct HistoryField {
  std::string name;
  std::optional<std::string> before;  // Empty: the row did not have the field, or is_known is false.
  std::optional<std::string> after;   // Empty: the change removed the field.
  bool is_known = true;               // False: the records that were read do not contain the value before the change.
  std::size_t hash = 0;               // Hash of the whole value that 'after' is the beginning of.
};

/// A change as the consumer of the table took it.
struct HistoryChange {
  WallTime wall;
  ChangeOp op = ChangeOp::Set;
  std::string by;  // The caller of the admin socket that wrote it: "token 'ci'", "user 0 process 17". Empty: not known.
  std::vector<HistoryField> fields = {};  // Without fields that kept their value. Values are cut to their first KiB.
  bool follows_gap = false;               // The row before it is not known: a run began, or records are missing.
};

struct History {
  std::vector<HistoryChange> changes = {};  // The newest first.
  std::string stopped = {};                 // Why older changes were not searched; empty: the files have none.
  bool is_damaged = false;                  // Records are missing: they are in damaged blocks, or no file has them.
};

struct HistoryLimits {
  std::size_t changes = 20;
  std::uint64_t bytes = 0;             // The most bytes of files that are read.
  std::function<bool()> is_over = {};  // Called at least once a MiB. Once it returns true, the search ends. Empty: it has no such end.
};

/// Searches 'files', which the caller gives newest first. Fails with the error of opening the first file, and leaves out older files that
/// cannot be opened. 'rows' is Whole if each Set of the table has the whole row, as the Sets of Watched tables have.
Result<History> history_of(const std::vector<std::string>& files, std::string_view table, std::string_view key, Rows rows,
                           const HistoryLimits& limits);

}  // namespace rondo::journal
