// Managers: the Orchs that make rows of APPL_DB from CONFIG_DB, in the place of SONiC's portmgrd, teammgrd, intfmgrd and of the static
// routes of bgpcfgd. The tables of CONFIG_DB are Watched. docs/guide/from-sonic.md describes them for users.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "managers/managed_rows.h"
#include "managers/subnets.h"
#include "rondo/base/result.h"
#include "rondo/orch/runtime.h"

namespace rondo::managers {

/// The note of a journal that has what a replay of the managers needs. Earlier ones have the note "yes".
inline constexpr std::string_view kManagersNote = "managers";
inline constexpr std::string_view kManagersRecorded = "calls";

/// The tables of CONFIG_DB that the managers read.
std::vector<std::string> config_tables();

class Managers {
 public:
  /// Adds the Orchs to 'runtime', which must end before this object. Returns the error of a table that the store refuses.
  static Result<std::unique_ptr<Managers>> open(Runtime& runtime, ManagersOptions options);

  /// Rows of APPL_DB that the managers have made.
  std::size_t managed() const noexcept { return rows_->rows().rows().size(); }
  bool has_read_config() const noexcept;
  /// Rows that another program changed or deleted, and that were written again; and the newest of them, for people.
  std::uint64_t repaired() const noexcept;
  const std::string& last_repair() const noexcept;

 private:
  Managers() = default;
  Subnets subnets_;
  ManagedRows* rows_ = nullptr;
};

}  // namespace rondo::managers
