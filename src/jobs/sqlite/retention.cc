#include "jobs/sqlite/retention.h"

#include <optional>

namespace rondo::jobs::sqlite {

Result<std::vector<EndedRun>> SqliteRetention::ended_before(EndPlace after, WallTime before, std::size_t max) {
  return rows_of(aged_.bind(after.ended).bind(after.id).bind(before).bind(static_cast<std::int64_t>(max)));
}

Result<std::vector<EndedRun>> SqliteRetention::ended_of(std::int64_t job_id, std::int64_t after, std::int64_t until, std::size_t max) {
  return rows_of(ended_.bind(job_id).bind(after).bind(until).bind(static_cast<std::int64_t>(max)));
}

Status SqliteRetention::read_parents(const std::function<void(const std::string& parents)>& use) {
  for (Result<bool> row = parents_.step(); !row || *row; row = parents_.step()) {
    if (!row) return row.error();
    use(parents_.text(0));
  }
  parents_.reset();
  return {};
}

Result<RetentionQueries::Newest> SqliteRetention::newest_runs(std::int64_t job_id, std::size_t max) {
  const Result<bool> row = newest_runs_.bind(job_id).bind(static_cast<std::int64_t>(max)).step();
  if (!row) return failure(row.error());
  const Newest newest{static_cast<std::size_t>(newest_runs_.integer(0)), newest_runs_.integer(1)};
  newest_runs_.reset();
  return newest;
}

Status SqliteRetention::remove(const Removal& removal) {
  return database_.transaction([&] {
    for (const std::int64_t run : removal.runs) {
      if (Status removed = remove_.bind(run).run(); !removed.ok()) return removed;
    }
    for (const auto& [job_id, span] : removal.instants) {
      if (Status noted = note_removed_.bind(job_id).bind(span.first).bind(span.second).run(); !noted.ok()) return noted;
    }
    return Status{};
  });
}

Result<std::int64_t> SqliteRetention::number(Statement& statement) {
  const Result<bool> row = statement.step();
  if (!row) return failure(row.error());
  const std::int64_t value = statement.integer(0);
  statement.reset();
  return value;
}

Result<std::vector<EndedRun>> SqliteRetention::rows_of(Statement& statement) {
  std::vector<EndedRun> rows;
  for (Result<bool> row = statement.step(); !row || *row; row = statement.step()) {
    if (!row) return failure(row.error());
    rows.push_back({.id = statement.integer(0),
                    .job_id = statement.integer(1),
                    .ended = statement.integer(2),
                    .is_last = statement.integer(4) != 0,
                    .instant = statement.is_null(3) ? std::nullopt : std::optional{statement.integer(3)}});
  }
  statement.reset();
  return rows;
}

}  // namespace rondo::jobs::sqlite
