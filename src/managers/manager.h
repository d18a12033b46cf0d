// Manager: the common part of the managers. A manager consumes tables of CONFIG_DB and makes rows of APPL_DB from them, as SONiC's daemons
// portmgrd, intfmgrd and bgpcfgd do. It owns the rows that it makes (managed_rows.h): it writes them whole, and what another producer wrote
// under such a key is replaced. It touches no other row.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "managers/managed_rows.h"
#include "rondo/orch/orch.h"

namespace rondo::managers {

class Manager : public Orch {
 protected:
  /// 'rows' must outlive the manager.
  Manager(Runtime& runtime, std::string name, Priority priority, ManagedRows& rows)
      : Orch(runtime, std::move(name), priority), rows_(rows) {}

  /// Called first by each handler of Sets: notes that 'source' exists. Returns an outcome if the row has to wait.
  std::optional<Outcome> begin(const std::string& source);
  /// Makes the row, for the Set that is being handled. 'then' is called when the row is written, and returns the outcome.
  Outcome put(const std::string& source, const Target& target, std::span<const Field> fields, std::function<Outcome()> then);
  /// Deletes the row if 'source' has made it, for the Delete or the Set that is being handled. 'then' is called when there is no such row.
  Outcome drop(const std::string& source, const Target& target, std::function<Outcome()> then);
  /// The same for a Delete: notes that 'source' is gone.
  Outcome source_deleted(const std::string& source, const Target& target, std::function<Outcome()> then);

  /// Makes `why`, `get` and `show` of a row of 'table' tell what became of the row that was made of it: `why` goes on with that row while
  /// it is not installed. 'target_of' returns the row that a key makes; nothing for a key that makes none.
  void explain_made(std::string_view table, std::function<std::optional<Target>(std::string_view key)> target_of);

 private:
  WriteDone settles(std::function<Outcome()> then);

  ManagedRows& rows_;
  std::shared_ptr<char> life_ = std::make_shared<char>();  // Answers of the store may come after the manager's end.
};

}  // namespace rondo::managers
