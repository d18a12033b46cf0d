// change_text(): what a call changes, as a log has it: the fields that differ before and after it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rondo/store/change.h"

namespace rondo::commands {

struct ChangeText {
  std::string before;
  std::string after;
};

/// Values by the names of their fields; empty: there is no such row or job.
using FieldValues = std::optional<std::map<std::string, std::string>>;

/// The fields of which the values differ, such as "mtu=1500" and "mtu=9000"; "(none)" where there is no row. Without secrets
/// (admin/secrets.h), safe to display (rondo/base/text.h), at most some 250 bytes each: a long value is cut, and further fields are
/// counted. O(fields).
ChangeText change_text(const FieldValues& before, const FieldValues& after);

FieldValues values_of(const Record& row);
/// The row after 'changes' of it, in order.
FieldValues values_after(FieldValues row, const std::vector<Change>& changes);

}  // namespace rondo::commands
