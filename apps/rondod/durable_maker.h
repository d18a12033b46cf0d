// Stores that come back from a file, as far as this program was built with them: durable_maker.cc, or else no_durable.cc.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "rondo/base/result.h"
#include "rondod/redis_maker.h"

namespace rondo::daemon {

struct DurableHooks {
  /// It could not be opened; what was made instead is not to be used.
  std::function<void(const Status& why)> on_failure = {};
  /// Rows came back: for people, where from, how many, and what was lost.
  std::function<void(const std::string& file, std::uint64_t rows)> on_restored = {};
  std::function<void(const std::string& file, const std::string& kept_as, const std::string& lost)> on_damage = {};
};

/// "file:///PATH", see parse_durable_address().
bool is_durable(std::string_view url);
/// Whether a write there counts only when it is on the disk.
bool waits_for_disk(std::string_view url);
/// A store whose tables come back from the file at 'url'.
Result<StoreMaker> durable_maker(const std::string& url, DurableHooks hooks);

}  // namespace rondo::daemon
