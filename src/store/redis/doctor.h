// Checks of `rondo doctor` for a Redis: whether the server is fit to hold tables, what could be lost and when, and which commands change
// that. It judges collected facts and talks to no server, so it can also examine a report from another machine.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rondo/base/time.h"
#include "rondo/store/redis_address.h"

namespace rondo {

/// Facts about a server. Everything except 'info' may be missing; findings that need a missing fact say so or are left out.
struct RedisFacts {
  /// The reply to INFO.
  std::string info{};
  /// The reply to CONFIG GET *, by name; absent if the server refused it.
  std::optional<std::map<std::string, std::string>> config{};
  /// The first element of the reply to ROLE; if empty, INFO is used.
  std::string role{};
  /// The server refused CLIENT KILL.
  bool kill_refused = false;
  /// The address that was used; the remedies contain it.
  RedisAddress address{};
  /// True if programs built on the stock swss-common share its tables. Some settings matter to them only.
  bool stock_peers = false;
  /// Durations of some round trips without work, in any order.
  std::vector<Duration> round_trips{};
  /// The texts of vm/overcommit_memory and of transparent_hugepage/enabled on its machine, if known.
  std::optional<std::string> overcommit_memory{};
  std::optional<std::string> transparent_hugepage{};
};

/// Ok: needs no change. Advice: works, but something could be lost or slow unnecessarily. Problem: tables are lost or do not work.
enum class FindingLevel : std::uint8_t { Ok, Advice, Problem };
/// "ok", "advice" or "problem". Static storage.
std::string_view to_string(FindingLevel level) noexcept;

struct RedisFinding {
  FindingLevel level = FindingLevel::Ok;
  /// The name of the setting in CONFIG GET or INFO, and its current value. Never a password.
  std::string setting{};
  std::string value{};
  /// The consequence for tables.
  std::string meaning{};
  /// A shell command, or an instruction in words; empty when nothing needs to be done.
  std::string remedy{};
  friend bool operator==(const RedisFinding&, const RedisFinding&) = default;
};

/// The findings: problems first, then advice, then Ok. Never empty. Text that is not the reply to INFO is itself a problem. O(length of
/// facts). Sources: the documentation of Redis 7.0, and the sizes in Debian's redis.conf.
std::vector<RedisFinding> examine_redis(const RedisFacts& facts);

}  // namespace rondo
