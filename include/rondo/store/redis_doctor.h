// What `rondo doctor` knows about a Redis: is this server fit to hold tables, what would be lost and when, and what to type to change it.
// Judges what others asked for: nothing here talks to a server, so a report sent by somebody else can be examined as well.
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

/// What was found out about a server. Everything but 'info' may be missing; what cannot be judged then is said or left out.
struct RedisFacts {
  /// The reply to INFO.
  std::string info{};
  /// The reply to CONFIG GET *, by name; none when the server refused it.
  std::optional<std::map<std::string, std::string>> config{};
  /// The first element of the reply to ROLE; empty: as INFO says.
  std::string role{};
  /// CLIENT KILL was refused.
  bool kill_refused = false;
  /// How it was reached: for the commands to type.
  RedisAddress address{};
  /// Do programs built on the stock swss-common share its tables? Some settings matter to them only.
  bool stock_peers = false;
  /// Times of some bare round trips, in any order.
  std::vector<Duration> round_trips{};
  /// The texts of vm/overcommit_memory and of transparent_hugepage/enabled of its machine, when that is known.
  std::optional<std::string> overcommit_memory{};
  std::optional<std::string> transparent_hugepage{};
};

/// Ok: as it should be. Advice: works, and something would be lost or slow that need not be. Problem: tables are lost or do not work.
enum class FindingLevel : std::uint8_t { Ok, Advice, Problem };
/// "ok", "advice" or "problem". Static storage.
std::string_view to_string(FindingLevel level) noexcept;

struct RedisFinding {
  FindingLevel level = FindingLevel::Ok;
  /// The name of the setting, as CONFIG GET or INFO has it, and what it is now. Never a password.
  std::string setting{};
  std::string value{};
  /// What that means for tables.
  std::string meaning{};
  /// A line for a shell, or what to do in words; empty when nothing needs to be done.
  std::string remedy{};
  friend bool operator==(const RedisFinding&, const RedisFinding&) = default;
};

/// The findings, problems first, then advice, then what is in order. Never empty. Text that is no INFO is itself a problem. O(length of
/// facts). Sources: the documentation of Redis 7.0, and the sizes of Debian's redis.conf.
std::vector<RedisFinding> examine_redis(const RedisFacts& facts);

}  // namespace rondo
