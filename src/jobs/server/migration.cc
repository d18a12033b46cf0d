#include "jobs/server/migration.h"

#include <cstdint>
#include <string>

namespace rondo::jobs::server {

Status Migration::migrate(Database& database, const std::function<Status(const std::function<Status()>& take_steps)>& locked) const {
  const auto version = version_of(database);
  if (!version) return version.error();
  if (*version == steps.size()) return {};
  return locked([&] { return take_steps(database); }).with_context("migrating the database of jobs");
}

Result<std::size_t> Migration::version_of(Database& database) const {
  const auto tables = database.number(count_tables);
  if (!tables) return failure(tables.error());
  if (*tables > 0) return failure(StatusCode::FailedPrecondition, foreign);
  if (*tables == 0) return 0;
  const auto version = database.number(read_version);
  if (!version) return failure(version.error());
  if (*version >= 0 && *version <= static_cast<std::int64_t>(steps.size())) return static_cast<std::size_t>(*version);
  return failure(StatusCode::FailedPrecondition, "the database of jobs has the version " + std::to_string(*version) +
                                                     "; this program knows up to " + std::to_string(steps.size()));
}

Status Migration::take_steps(Database& database) const {
  const auto version = version_of(database);  // Another program may have taken them while this one waited.
  if (!version) return version.error();
  for (const auto& step : steps.subspan(*version)) {
    for (const char* const statement : step) {
      if (Status done = database.execute(statement); !done.ok()) return done;
    }
  }
  return database.execute(write_version, Values{}.add(static_cast<std::int64_t>(steps.size())));
}

}  // namespace rondo::jobs::server
