// history_of(): the newest changes of one row in the files of a journal. It finds the blocks of a file (JournalReader), and reads them from
// the last one on. One thread, any.
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

namespace rondo::journal {

struct HistoryField {
  std::string name;
  std::optional<std::string> before;  // Empty: the row did not have the field; or see is_known.
  std::optional<std::string> after;   // Empty: it has it no more.
  bool is_known = true;               // False: what was read does not say what it was before.
};

/// A change as the consumer of the table took it: with the fields that were written, or with the whole row.
struct HistoryChange {
  WallTime wall;
  ChangeOp op = ChangeOp::Set;
  std::string by;  // The caller of the admin socket that wrote it: "token 'ci'", "user 0 process 17". Empty: not recorded.
  std::vector<HistoryField> fields = {};  // The first KiB of each value.
};

struct History {
  std::vector<HistoryChange> changes = {};  // The newest first.
  std::string stopped = {};                 // Why older ones were not searched; empty: the files have none.
  bool is_damaged = false;                  // Damaged blocks were left out.
};

struct HistoryLimits {
  std::size_t changes = 20;
  std::uint64_t bytes = 0;             // Files are read up to so many bytes.
  std::function<bool()> is_over = {};  // Asked at least once a MiB; empty: never.
};

/// 'files': the newest first; those behind it that do not exist are left out. An error of the first one.
Result<History> history_of(const std::vector<std::string>& files, std::string_view table, std::string_view key,
                           const HistoryLimits& limits);

}  // namespace rondo::journal
